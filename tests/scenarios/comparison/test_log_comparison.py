"""`isrlab compare`: two logs agree if leaders, ISRs, and brokers do, at times that can be the same; otherwise the worst difference comes first."""

from __future__ import annotations

import json
from pathlib import Path

import attrs
import pytest

from core.kafka.ids import TopicPartition
from core.sim.units import SECOND
from scenarios.comparison.comparison_lines import comparison_data, comparison_lines
from scenarios.comparison.log_comparison import Verdict, compare_logs
from scenarios.comparison.log_history import Change, Changes, Leadership, LogHistory
from scenarios.errors import InputError
from tui.cli import main

P0 = TopicPartition("orders", 0)
P1 = TopicPartition("orders", 1)
START = (0, 1, (1, 2, 3))
Row = tuple[float, int, tuple[int, ...]]


def changes(rows: list[Row], resolution: int = 0, epoch: int = 0) -> Changes:
    """The changes of a partition: times in seconds, leaders, and ISRs. Every leader that is new has the next epoch."""
    made = [Change(0, 0, None, first=True)]
    before = rows[0][1]
    for seconds, leader, isr in rows:
        epoch, before = epoch + (leader != before), leader
        time = int(seconds * SECOND)
        made.append(Change(max(0, time - resolution), time, Leadership(leader, isr), epoch))
    return made


def history(
    *partitions: list[Row], down: tuple[float, ...] = (), every: float = 0, end: float = 60, name: str = "a.jsonl", epoch: int = 0
) -> LogHistory:
    """A log whose partitions changed as given, and whose broker 1 went down, up, and so on at the given times in seconds."""
    resolution = int(every * SECOND)
    made = LogHistory(name, "4.3", resolution, bool(every), int(end * SECOND))
    made.partitions = {TopicPartition("orders", at): changes(rows, resolution, epoch) for at, rows in enumerate(partitions)}
    times = [int(each * SECOND) for each in down]
    made.brokers[1] = [Change(0, 0, True, first=True), *(Change(time - resolution, time, bool(at % 2)) for at, time in enumerate(times))]
    return made


def moved(rows: list[Row], seconds: float) -> list[Row]:
    return [rows[0], *((time + seconds, leader, isr) for time, leader, isr in rows[1:])]


FAILOVER: list[Row] = [START, (10, 2, (2, 3)), (30, 2, (1, 2, 3))]
SHRINK: list[Row] = [(0, 2, (1, 2, 3)), (10, 2, (2, 3)), (30.5, 2, (1, 2, 3))]


def test_a_shifted_log_is_aligned_at_the_first_broker_that_both_lose() -> None:
    a = history(FAILOVER, SHRINK, down=(10, 29))
    b = history(moved(FAILOVER, 7), moved(SHRINK, 7), down=(17, 36), epoch=40, end=50)
    compared = compare_logs(a, b)
    assert compared.agree
    assert (compared.alignment.at, compared.alignment.shift) == ("b1 goes", 7 * SECOND)
    assert (compared.start, compared.end) == (0, 43 * SECOND)
    assert next(comparison_lines(compared)).startswith("2 of 2 partitions and 1 of 1 broker agree: the same leaders")
    # Without a broker that goes in both, the first new leader that both have is the same moment.
    b.brokers[1] = b.brokers[1][:1]
    assert compare_logs(a, b).alignment.at == "orders-0 gets the leader b2"
    # By hand, the times are a second off.
    by_hand = compare_logs(a, b, by_hand=(10 * SECOND, 18 * SECOND))
    assert by_hand.partitions[P0].verdict is Verdict.OTHER_TIMES
    assert [each.later for each in by_hand.partitions[P0].differences] == [-SECOND, -SECOND]
    assert compare_logs(a, b, SECOND, (10 * SECOND, 18 * SECOND)).partitions[P0].verdict is Verdict.AGREES
    with pytest.raises(InputError, match="no time in common"):
        compare_logs(a, b, by_hand=(0, 55 * SECOND))


def test_another_leader_is_named_first() -> None:
    other: list[Row] = [START, (10, 3, (2, 3)), (30, 3, (1, 2, 3))]
    compared = compare_logs(history(SHRINK, FAILOVER, down=(10,)), history(moved(SHRINK, 4), other, FAILOVER, down=(10,)))
    assert not compared.agree
    assert [each.verdict for each in compared.partitions.values()] == [Verdict.OTHER_TIMES, Verdict.OTHER_LEADER, Verdict.ONLY_ONE]
    lines = list(comparison_lines(compared))
    assert lines[0] == (
        "0 of 3 partitions and 1 of 1 broker agree: 1 partition ends with another leader, 1 partition is in one log only, "
        "1 partition changes at other times"
    )
    told = [line for line in lines if line.startswith("orders")]
    assert told == [
        "orders-1: ends with another leader: leader b2 in A, leader b3 in B",
        "orders-0: has the same changes at other times, up to 4s apart",
        "orders: 1 partition only in B",
    ]
    assert "     00:10.000     00:10.000  leader b2, ISR [2,3] in A, leader b3, ISR [2,3] in B" in lines
    data = json.loads(json.dumps(comparison_data(compared)))
    assert data["partitions"]["orders-1"]["verdict"] == "other-leader"
    assert data["partitions"]["orders-0"]["differences"][0]["later"] == 4 * SECOND


def test_what_can_be_missed_between_two_readings_is_no_difference() -> None:
    exact: list[Row] = [START, (10, 1, (1, 3)), (10.4, 1, (1,)), (20, 2, (1,)), (20.3, 1, (1,)), (40, 1, (1, 2))]
    seen: list[Row] = [START, (11, 1, (1,)), (40.9, 1, (1, 2))]
    simulated, watched = history(exact, down=(10,)), history(seen, down=(11,), every=1)
    watched.partitions[P0][2] = attrs.evolve(watched.partitions[P0][2], epoch=2)
    watched.partitions[P0][3] = attrs.evolve(watched.partitions[P0][3], epoch=2)
    for a, b in ((simulated, watched), (watched, simulated)):
        agreeing = compare_logs(a, b)
        assert (agreeing.agree, agreeing.partitions[P0].unseen, agreeing.partitions[P0].matched) == (True, 3, 3)
    # Two logs without such gaps have other changes, and a state that lasted longer cannot be missed.
    assert compare_logs(simulated, history(seen, down=(10,))).partitions[P0].verdict is Verdict.OTHER_CHANGES
    longer = [*exact[:3], (20, 2, (1,)), (22, 1, (1,)), *exact[5:]]
    compared = compare_logs(history(longer, down=(10,)), watched)
    assert compared.partitions[P0].verdict is Verdict.OTHER_CHANGES
    assert sum(line.endswith("only in A") for line in comparison_lines(compared)) == 2
    # An election that the states do not show is in the epochs.
    watched.partitions[P0][3] = attrs.evolve(watched.partitions[P0][3], epoch=4)
    assert compare_logs(simulated, watched).partitions[P0].verdict is Verdict.OTHER_EPOCH


def test_times_differ_only_beyond_the_resolutions() -> None:
    late = moved(FAILOVER, 0.9)
    watched = history(late, down=(10.2,), every=1)
    assert compare_logs(history(FAILOVER, down=(10,)), watched).agree
    late[2] = (33, *late[2][1:])
    compared = compare_logs(history(FAILOVER, down=(10,)), history(late, down=(10.2,), every=1)).partitions[P0]
    assert compared.verdict is Verdict.OTHER_TIMES
    assert [(each.later, each.unexplained) for each in compared.differences] == [(2_800_000, 1_800_000)]


def test_only_the_time_that_both_logs_have_is_compared() -> None:
    longer = history([*FAILOVER, (100, 3, (1, 2, 3))], [START], down=(10, 29, 99), end=200)
    compared = compare_logs(longer, history(FAILOVER, [START], down=(10, 29), end=60))
    assert (compared.agree, compared.outside) == (True, (2, 0))
    # The other log began later: what happened before is its state at the beginning.
    began = history([(0, 2, (2, 3)), (10, 2, (1, 2, 3))], [START], down=(9,), end=40)
    began.brokers[1] = [Change(0, 0, False, first=True), Change(9 * SECOND, 9 * SECOND, True)]
    compared = compare_logs(longer, began)
    assert (compared.alignment.at, compared.start, compared.agree) == ("b1 comes", 20 * SECOND, True)
    assert "  compared: 40s, from 00:20.000 in A on; outside of it: 4 changes of A" in list(comparison_lines(compared))


def test_very_many_differences_are_counted() -> None:
    a, b = history(*[FAILOVER] * 80, down=(10,)), history(*[moved(FAILOVER, 5)] * 80, down=(10,))
    b.partitions |= {TopicPartition(f"topic{number}", part): changes([START]) for number in range(60) for part in range(2)}
    lines = list(comparison_lines(compare_logs(a, b)))
    assert sum(line.startswith("orders-") for line in lines) == sum(line.endswith(": 2 partitions only in B") for line in lines) == 50
    assert lines[-1] == "50 more differ; --json lists them"


def test_very_many_changes_are_compared_in_time() -> None:
    flapping: list[Row] = [(second, 1, (1, 2) if second % 2 else (1, 2, 3)) for second in range(4_000)]
    fewer = flapping[:1_000] + flapping[1_002:]
    compared = compare_logs(history(flapping, end=4_000), history(fewer, end=4_000))
    assert compared.partitions[P0].verdict is Verdict.OTHER_CHANGES
    assert len(list(comparison_lines(compared))) < 30


@pytest.fixture(scope="module")
def logs(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """The logs of a scenario under two seeds."""
    folder = tmp_path_factory.mktemp("logs")
    made = {seed: folder / f"{seed}.jsonl" for seed in ("1", "2")}
    for seed, path in made.items():
        assert main(["run", "f2-min-isr-2-two-down", "-q", "--seed", seed, "--log", str(path)]) == 0
    return made


def test_the_command(logs: dict[str, Path], tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    one, two = str(logs["1"]), str(logs["2"])
    capsys.readouterr()
    assert main(["compare", one, one]) == 0
    assert capsys.readouterr().out.startswith("1 of 1 partition and 3 of 3 brokers agree: the same leaders, ISRs, and brokers")
    assert main(["compare", one, two]) == 1
    printed = capsys.readouterr().out
    assert "  aligned at kill b2: 00:05.000 in A, 00:05.000 in B" in printed
    assert "orders-0: has the same changes at other times" in printed
    assert main(["compare", one, two, "--within", "3s"]) == 0
    capsys.readouterr()
    assert main(["compare", one, two, "--json", "--align", "0s", "0s"]) == 1
    assert json.loads(capsys.readouterr().out)["brokers"]["3"]["verdict"] == "other-times"
    # What this version has no word for is counted.
    lines = logs["1"].read_text("utf-8").splitlines()
    end = json.loads(lines[-1])
    strange = json.dumps({"seq": end["events"] + 1, "t": end["t"], "cause": 0, "kind": "comet-seen"})
    newer = tmp_path / "newer.jsonl"
    newer.write_text("\n".join([*lines[:-1], strange, json.dumps(end | {"events": end["events"] + 1})]) + "\n", "utf-8")
    assert main(["compare", one, str(newer)]) == 0
    seen = capsys.readouterr()
    assert "1 event of kinds that isrlab does not know" in seen.out
    assert "comet-seen (1)" in seen.err
    for wrong in (["nothing.jsonl"], [two, "--align", "0s", "55m"], [two, "--within", "soon"]):
        assert main(["compare", one, *wrong]) == 2
        assert capsys.readouterr().err

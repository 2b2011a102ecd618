"""The worked examples of BookKeeper, with their numbers. Each name cites the example. Bookie i of the examples is n(i+1) in Q-09."""

from __future__ import annotations

from contextlib import suppress
from itertools import combinations
from random import Random
from typing import Any

import pytest

from core.models import acts, tolerance
from core.models.account import FAIL, OK, UNKNOWN
from core.models.bookkeeper.settings import BookKeeperSettings
from core.models.bookkeeper.system import BookKeeper
from core.models.catalogue import sentence
from core.models.client import Client, WriteLoop
from core.sim.errors import ActRefused
from core.sim.units import SECOND
from core.sim.units import US_PER_MS as MS

STRIPED = BookKeeperSettings(bookies=5, ensemble=5, write_quorum=3, ack_quorum=2)


def opened(settings: BookKeeperSettings | None = None, sink: Any = lambda event: None) -> tuple[BookKeeper, Client]:
    system = BookKeeper(settings, sink=sink)
    system.open_first()
    return system, system.add_client("c")


def after(system: BookKeeper, ms: float) -> None:
    system.run_until(system.now + int(ms * MS))


def written(system: BookKeeper, client: Client, count: int) -> None:
    """Write entries one after the other."""
    for _ in range(count):
        client.write("k", "w1")
        after(system, 5)
    assert all(each.outcome == OK for each in system.account.writes)


def test_q08_a_write_takes_as_long_as_the_second_bookie() -> None:
    system, client = opened()
    system.do(acts.SlowDisk("n3", 800 * MS))
    client.write("k")
    after(system, 1_000)
    (write,) = system.account.writes
    assert (write.outcome, write.ended - write.invoked) == (OK, 3 * MS)
    assert len(list(system.bookie("n3").stored_rows())) == 1


@pytest.mark.parametrize("lost", [1, 2])
def test_q08_recovery_needs_two_answers(lost: int) -> None:
    """Entry 10 is on bookies 1 and 2, but not on 3. Then the writer dies, and with it bookie 1, or bookies 1 and 2."""
    system, client = opened()
    written(system, client, 10)
    system.do(acts.Cut("w1", "n3"))
    client.write("k", "w1")
    after(system, 4)
    assert system.account.acked["k"] == 11
    for name in ("w1", "n1", "n2")[: lost + 1]:
        system.do(acts.Kill(name))
    system.do(acts.HealAll())
    system.do(acts.Promote("w2"))
    after(system, 3_000)
    recovery = system.writer("w2").recovery
    if lost == 1:
        assert recovery is None
        assert system.bookie("n3").entries[0, 10].version == 11, "the entry is written again to bookie 3"
        assert (system.writer("w2").engine.read("k").version, system.authority()) == (11, "")
        ledger = next(server for server in system.servers.values() if server.address == "metadata").ledgers[0]  # type: ignore[attr-defined]
        assert (ledger.state, ledger.last) == ("closed", 10)
        system.do(acts.Restart("n1"))
        after(system, 2_000)
        assert system.authority() == "w2", "a new ledger needs three bookies"
    else:
        assert recovery is not None
        assert not recovery.is_covered, "one answer of two: the recovery cannot finish"
        assert system.authority() == ""
        system.do(acts.Restart("n2"))
        after(system, 3_000)
        assert system.writer("w2").engine.read("k").version == 11
    report = system.settle()
    assert (report.lost, report.acked) == (0, 11)


def test_q09_entries_are_striped() -> None:
    system, client = opened(STRIPED)
    written(system, client, 10)
    for entry in range(10):
        holders = {number for number in range(5) if (0, entry) in system.bookie(f"n{number + 1}").entries}
        assert holders == {entry % 5, (entry + 1) % 5, (entry + 2) % 5}
    assert {number for number in range(5) if (0, 7) in system.bookie(f"n{number + 1}").entries} == {2, 3, 4}


def test_q09_an_acknowledged_entry_survives_one_loss_and_not_surely_two() -> None:
    """Entry 7 is acknowledged by two of its three bookies. Any one loss keeps it; the loss of these two does not."""
    outcomes = {}
    for lost in [*combinations(range(5), 1), (2, 3), (2, 4), (3, 4)]:
        system, client = opened(STRIPED)
        written(system, client, 7)
        system.do(acts.Cut("w1", "n5"))
        client.write("k", "w1")
        after(system, 4)
        assert system.account.acked["k"] == 8
        system.do(acts.Kill("w1"))
        for number in lost:
            system.do(acts.Kill(f"n{number + 1}"))
            system.dead_for_good.add(f"n{number + 1}")
        system.do(acts.HealAll())
        system.do(acts.Promote("w2"))
        after(system, 3_000)
        outcomes[lost] = (system.writer("w2").engine.read("k").version, system.authority())
    assert all(outcomes[(number,)] == (8, "w2") for number in range(5))
    assert outcomes[2, 3] == (0, ""), "one answer is not enough to tell that entry 7 was never acknowledged: unavailable for ever"
    assert outcomes[2, 4][0] == outcomes[3, 4][0] == 0, "the entry is left on one bookie, but a write set has one answer of two"


def test_q09_writes_go_on_while_a_write_quorum_of_bookies_is_alive() -> None:
    system, client = opened(STRIPED)
    written(system, client, 5)
    for alive in (4, 3):
        system.do(acts.Kill(f"n{alive + 1}"))
        after(system, 10)
        written(system, client, 5)
        ledger = system.writer("w1").ledger
        assert ledger is not None
        assert ledger.fragments[-1].ensemble == tuple(f"n{number + 1}" for number in range(alive))
    system.do(acts.Kill("n3"))
    after(system, 10)
    client.write("k", "w1", limit=3 * SECOND)
    after(system, 4_000)
    assert system.account.writes[-1].outcome == UNKNOWN
    report = system.settle()
    assert (report.lost, report.acked, report.unknown_present) == (0, 15, 1)


def test_the_tolerance_of_these_settings() -> None:
    assert tolerance.bookkeeper(5, 3, 2) == tolerance.Tolerance(write=2, keep=1)


def test_a_bookie_is_replaced_by_a_spare_one() -> None:
    events: list[Any] = []
    system, client = opened(BookKeeperSettings(bookies=4), events.append)
    written(system, client, 3)
    system.do(acts.Cut("w1", "n2"))
    client.write("k", "w1")
    after(system, 5)
    system.do(acts.Cut("w1", "n1"))
    client.write("k", "w1")
    after(system, 10_000)
    ledger = system.writer("w1").ledger
    assert ledger is not None
    assert [each.outcome for each in system.account.writes] == [OK] * 4
    assert system.settle().lost == 0
    assert all(sentence(event) for event in events if event[3].startswith("bk-"))


def test_the_former_writer_is_fenced() -> None:
    """w1 is cut off only from w2, so it continues to write until the bookies refuse its entries."""
    system, client = opened()
    written(system, client, 3)
    system.do(acts.Promote("w2"))
    after(system, 50)
    client.write("k", "w1")
    after(system, 50)
    assert system.account.writes[-1].outcome in (UNKNOWN, FAIL)
    assert system.writer("w1").ledger is None
    client.write("k", "w2")
    after(system, 10)
    assert system.account.writes[-1].outcome == OK
    report = system.settle()
    assert (report.lost, report.acked, report.unknown_present) == (0, 4, 0)
    with pytest.raises(ActRefused, match="already owns a ledger"):
        system.do(acts.Promote("w2"))
    with pytest.raises(ActRefused, match="only a writer can take over"):
        system.do(acts.Promote("n1"))


def random_run(seed: int) -> tuple[int, int, int]:
    """Run random faults, after which everything except one bookie comes back. Return the numbers of acknowledged writes, lost writes, and
    refused writes that are present.
    """
    random = Random(seed)
    system = BookKeeper(random.choice((BookKeeperSettings(), BookKeeperSettings(bookies=4), STRIPED)), seed)
    system.open_first()
    bookies = [name for name in system.servers if name.startswith("n")]
    for number in range(3):
        loop = WriteLoop(f"k{number}", random.choice((3, 7, 20)) * MS, until=8 * SECOND, limit=SECOND)
        system.add_client(f"c{number}", random.choice((("w1",), ("w2",), ("w1", "w2")))).start(loop)
    for moment in sorted(random.randrange(8 * SECOND) for _ in range(random.randrange(2, 9))):
        system.run_until(max(moment, system.now))
        server = random.choice([*bookies, "w1", "w2"])
        act = random.choice((
            acts.Kill(server), acts.Restart(server), acts.Cut(random.choice(("w1", "w2")), random.choice(bookies)), acts.HealAll(), acts.Promote(),
            acts.Pause(server), acts.Resume(server), acts.SlowDisk(server, random.choice((1, 30, 300)) * MS), acts.PowerLoss((server,)),
        ))  # fmt: skip
        with suppress(ActRefused):
            system.do(act)
    if random.random() < 0.5:
        system.dead_for_good.add(bookies[0])
        with suppress(ActRefused):
            system.do(acts.Kill(bookies[0]))
    system.repair()
    if not system.authority():
        system.do(acts.Promote())
    report = system.settle(30 * SECOND)
    assert report.authority or len(bookies) - len(system.dead_for_good) < 3
    return report.acked, report.lost, report.phantom


def test_random_faults_lose_nothing_that_was_acknowledged() -> None:
    runs = [random_run(seed) for seed in range(12)]
    assert sum(acked for acked, _, _ in runs) > 3_000
    assert all(run[1:] == (0, 0) for run in runs)

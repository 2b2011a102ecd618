"""Replays of all recorded drills: the model does what the real cluster did."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, Final

import pytest

from core.kafka.ids import NO_EPOCH, TopicPartition
from core.kafka.release import RELEASES, Release, Truncation
from core.sim.units import SECOND
from tests.fidelity import __main__ as program
from tests.fidelity.aligning import aligned
from tests.fidelity.comparison import best_replay, compare
from tests.fidelity.explained import DIFFERENT, EXPLAINED
from tests.fidelity.kinds import kind_of
from tests.fidelity.recording import State, read_recording
from tests.fidelity.rejoining import entered, same_order, without_races
from tests.fidelity.replay import replay
from tests.fidelity.table import Table

HERE: Final = Path(__file__).parent

DRILLS: Final = [file for file in sorted(HERE.rglob("*.json")) if kind_of(file) == "drills"]

EVERYWHERE: Final = {
    "acts", "leader", "leader epoch", "replicas", "ISR", "ISR in order", "log end offset", "epoch entries", "high watermark", "log start",
    "checkpointed high watermark", "acknowledged", "describe text", "filtered describe text",
}  # fmt: skip
"""The measures that every recording has."""


def drill(name: str) -> Path:
    """Return the file of a recorded drill."""
    return next(file for file in DRILLS if file.stem == name)


@pytest.mark.parametrize("file", DRILLS, ids=lambda file: file.stem)
def test_the_model_does_what_the_real_cluster_did(file: Path) -> None:
    recording = read_recording(file)
    table = Table()
    table.add(recording.version, best_replay(recording).comparisons)
    assert bool(table.differing) == (recording.name in DIFFERENT), [one.difference for one in table.differing]
    assert [one.name for one in table.explained] == [name for name in EXPLAINED if f": {recording.name} " in name]
    measures = {measure for _, measure in table.counts}
    without = {"epoch entries"} if recording.release.truncation is Truncation.HIGH_WATERMARK else set()
    if not recording.lists_dead_replicas:
        without |= {"replicas", "high watermark", "log start"}
    assert measures >= EVERYWHERE - without | ({"committed states"} if recording.control_plane == "kraft" else set())
    assert ("ELR" in measures) == recording.release.elr_feature
    assert ("znode version" in measures) == any(point.znodes for point in recording.points)
    assert table.total().compared > 600


def test_all_recordings_are_replayed() -> None:
    assert len(DRILLS) >= 60


@pytest.mark.parametrize("release", [release for release in RELEASES.values() if release.patch], ids=lambda release: release.name)
def test_a_release_names_the_version_of_its_recordings(release: Release) -> None:
    recorded = [file for file in DRILLS if file.stem.startswith(f"{release.patch}-")]
    assert len(recorded) >= 2
    assert {read_recording(file).release for file in recorded} == {release}


def test_each_version_with_recordings_belongs_to_a_release() -> None:
    others = {"3.5.2"}  # between two releases of the table
    assert {file.stem.partition("-")[0] for file in DRILLS} == {release.patch for release in RELEASES.values() if release.patch} | others


def test_a_recording_says_how_many_replays_were_tried() -> None:
    best = best_replay(read_recording(drill("4.1.1-101")))
    assert (best.replays, best.of) == (1, 24)
    assert best.line.endswith("1 of 24 replays tried")


def test_a_dead_broker_keeps_the_log_of_a_replica_that_was_removed() -> None:
    """Logs are compared on the model's disks: the partition's replicas no longer contain broker 1."""
    recording = read_recording(drill("2.4.1-k28"))
    tp, number = TopicPartition("t-c", 0), [point.after for point in recording.points].index(8)
    point, model = recording.points[number], replay(recording, controller="b2").points[number]
    assert 1 not in point.live
    assert 1 not in {replica.broker for replica in model.view.partition(tp).replica_views}
    assert model.disks[1][tp].leo == point.disks[1][tp].leo == 6


def test_a_log_that_only_one_of_the_two_has_is_a_difference(tmp_path: Path) -> None:
    raw = json.loads(drill("4.1.1-101").read_text("utf-8"))
    del raw["points"][0]["disk"]["1"]["t-a-0"]
    assert differing(raw, tmp_path, "4.1.1-101") == ["log end offset: 4.1.1-101 point 0 b1 t-a-0"]


def test_the_time_of_a_start_comes_from_the_recording() -> None:
    """Broker 1 of the drill was unfenced 1.6 s after its start."""
    recording = read_recording(drill("2.4.1-901"))
    act = next(act for act in recording.acts if act.op == "start")
    assert act.running_after == 1_610_645
    after = next(point for point in recording.points if recording.acts[point.after] is act)
    assert after.at - act.at > 4
    raw = json.loads(drill("2.4.1-901").read_text("utf-8"))
    raw["points"] = [dict(raw["points"][0], k=0), dict(raw["points"][0], k=4, t=act.at + 2, end=act.at + 3)]
    changed = read_raw(raw, recording.name)
    unfenced = [broker.id for broker in replay(changed, controller="b2").points[1].view.brokers if not broker.fenced]
    assert 1 in unfenced


def test_a_leader_epoch_that_the_response_does_not_contain_is_not_compared() -> None:
    recording = read_recording(drill("2.4.1-513"))
    unknown = [
        f"leader epoch: {recording.name} point {point.after} {tp}"
        for point in recording.points
        for tp, part in point.partitions.items()
        if part.epoch == NO_EPOCH
    ]
    assert unknown
    compared = {one.name for one in compare(recording, replay(recording, controller="b1"))}
    assert not compared.intersection(unknown)


def test_a_changed_znode_is_found(tmp_path: Path) -> None:
    raw = json.loads(drill("1.1.1-k43").read_text("utf-8"))
    raw["points"] = raw["points"][:1]
    assert differing(raw, tmp_path, "1.1.1-k43") == []
    raw["points"][0]["zk"]["t-a-0"].update(zversion=9, leader_epoch=8)
    assert differing(raw, tmp_path, "1.1.1-k43") == ["leader epoch: 1.1.1-k43 point 0 t-a-0", "znode version: 1.1.1-k43 point 0 t-a-0"]


def test_after_a_step_that_differs_the_course_is_compared_again(tmp_path: Path) -> None:
    """A state that only the recording has is one difference, and the states after it agree."""
    raw = json.loads(drill("4.1.1-101").read_text("utf-8"))
    changes = [record for record in raw["metadata"] if record[1] == "PARTITION_CHANGE_RECORD" and record[2] == "t-a-0"]
    assert len(changes) > 2
    second = raw["metadata"].index(changes[1])
    raw["metadata"][second:second] = [
        [changes[1][0] - 0.01, "PARTITION_CHANGE_RECORD", "t-a-0", {"leader": 9}],
        [changes[1][0] - 0.005, "PARTITION_CHANGE_RECORD", "t-a-0", {"leader": changes[0][3].get("leader", 1)}],
    ]
    found = [name for name in differing(raw, tmp_path, "4.1.1-101") if name.startswith("committed states")]
    assert 1 <= len(found) <= 2


def test_steps_are_paired_again_after_a_race() -> None:
    assert list(aligned("abcde", "abxcde")) == [*zip("ab", "ab", strict=True), (None, "x"), *zip("cde", "cde", strict=True)]
    assert list(aligned("abcde", "aXYde")) == [("a", "a"), ("b", "X"), ("c", "Y"), ("d", "d"), ("e", "e")]


def test_an_act_that_is_not_known_is_refused() -> None:
    raw = json.loads(drill("4.1.1-101").read_text("utf-8"))
    raw["acts"][1]["op"] = "levitate"
    with pytest.raises(ValueError, match="not known: levitate"):
        replay(read_raw(raw, "4.1.1-101"))


def read_raw(raw: dict[str, Any], name: str) -> Any:
    """Return the recording with the given content."""
    from tests.fidelity.recording import _recording

    return _recording(name, raw)


def differing(raw: dict[str, Any], folder: Path, name: str) -> list[str]:
    """Return the values that differ if a recording has the given content."""
    changed = folder / f"{name}.json"
    changed.write_text(json.dumps(raw), "utf-8")
    recording = read_recording(changed)
    found = compare(recording, replay(recording, controller="" if recording.controller is None else f"b{recording.controller}"))
    return [one.name for one in found if not one.agrees]


@pytest.mark.parametrize(
    ("measure", "change"),
    [
        ("leader", lambda part: part.update(leader=part["leader"] + 1)),
        ("leader epoch", lambda part: part.update(epoch=part["epoch"] + 1)),
        ("ISR in order", lambda part: part.update(isr=part["isr"][::-1])),
        ("ISR", lambda part: part.update(isr=part["isr"][:-1])),
        ("ELR", lambda part: part.update(elr=[1])),
        ("LastKnownElr", lambda part: part.update(lkelr=[3])),
    ],
)
def test_a_changed_value_is_found(measure: str, change: object, tmp_path: Path) -> None:
    raw = json.loads(drill("4.1.1-1").read_text("utf-8"))
    change(raw["points"][0]["parts"]["t-a-0"])  # type: ignore[operator]
    changed = tmp_path / "4.1.1-1.json"
    changed.write_text(json.dumps(raw), "utf-8")
    recording = read_recording(changed)
    table = Table()
    table.add(recording.version, compare(recording, replay(recording)))
    assert [one.where for one in table.differing if one.measure == measure] == [f"{recording.name} point 0 t-a-0"]


# --- the program -----------------------------------------------------------------------------------------------------


def test_folders_are_searched_and_files_are_recognized_by_their_content(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """A recording that cannot be played is a line in the table, and the others are played."""
    one, other = tmp_path / "one" / "deep", tmp_path / "other"
    one.mkdir(parents=True)
    other.mkdir()
    (one / "x.json").write_bytes((HERE / "drills-groups" / "4.1.1-kill-member-consumer.json").read_bytes())
    (one / "y.json").write_bytes((HERE / "drills-transactions" / "a-basic-tv0.json").read_bytes())
    (one / "wrong.json").write_text("{}", "utf-8")
    (other / "4.1.1-104.json").write_bytes(drill("4.1.1-104").read_bytes())
    raw = json.loads(drill("4.1.1-104").read_text("utf-8"))
    raw["acts"][1]["op"] = "levitate"
    (other / "unknown.json").write_text(json.dumps(raw), "utf-8")
    monkeypatch.setattr("sys.argv", ["fidelity", str(tmp_path / "one"), str(other)])
    assert program.main() == 2
    printed = capsys.readouterr().out
    assert "x (consumer protocol)" in printed
    assert f"{one / 'wrong.json'}: cannot be played: not a recording of a drill" in printed
    assert f"{other / 'unknown.json'}: cannot be played: an act of a drill is not known: levitate" in printed
    totals = [line.split() for line in printed.splitlines() if line.startswith("all ")]
    assert [line[3] for line in totals[:3]] == ["100.000"] * 3


def test_a_folder_without_recordings_is_an_error(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("sys.argv", ["fidelity", str(tmp_path)])
    assert program.main() == 2
    assert "there is no recording" in capsys.readouterr().err


# --- races of followers ----------------------------------------------------------------------------------------------


def states(*isrs: tuple[int, tuple[int, ...]]) -> list[tuple[int, State]]:
    """Return committed states of a partition that broker 1 leads: (second, ISR)."""
    return [(seconds * SECOND, State(1, isr, (), ())) for seconds, isr in isrs]


def test_followers_that_rejoin_within_seconds_are_interchangeable() -> None:
    since = entered(states((0, (1, 2, 3)), (10, (1,)), (20, (1, 2)), (22, (1, 2, 3))))
    assert same_order((1, 3, 2), (1, 2, 3), since)
    assert not same_order((2, 1, 3), (1, 2, 3), since)
    assert not same_order((1, 2), (1, 2, 3), since)


def test_followers_that_rejoin_one_after_the_other_are_not() -> None:
    since = entered(states((0, (1, 2, 3)), (10, (1,)), (20, (1, 2)), (40, (1, 2, 3))))
    assert not same_order((1, 3, 2), (1, 2, 3), since)


def test_members_from_the_beginning_are_not() -> None:
    assert not same_order((2, 1, 3), (1, 2, 3), entered(states((0, (1, 2, 3)))))


def test_a_race_counts_as_one_step() -> None:
    one = states((0, (1, 2, 3)), (10, (1,)), (20, (1, 2)), (22, (1, 2, 3)))
    other = states((0, (1, 2, 3)), (10, (1,)), (20, (1, 3)), (22, (1, 3, 2)))
    slow = states((0, (1, 2, 3)), (10, (1,)), (20, (1, 3)), (42, (1, 3, 2)))
    assert without_races(one) == without_races(other)
    assert without_races(one) != without_races(slow)

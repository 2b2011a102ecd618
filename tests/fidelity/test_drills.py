"""Replays of all recorded drills: the model does what the real cluster did."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Final

import pytest

from core.sim.units import SECOND
from tests.fidelity.__main__ import main
from tests.fidelity.comparison import EXPLAINED, MEASURES, best_replay, compare
from tests.fidelity.recording import State, read_recording
from tests.fidelity.rejoining import entered, same_order, without_races
from tests.fidelity.replay import replay
from tests.fidelity.table import Table

DRILLS: Final = sorted((Path(__file__).parent / "drills").glob("*.json"))


@pytest.mark.parametrize("file", DRILLS, ids=lambda file: file.stem)
def test_the_model_does_what_the_real_cluster_did(file: Path) -> None:
    recording = read_recording(file)
    table = Table()
    table.add(recording.version, best_replay(recording))
    assert table.differing == []
    assert [one.name for one in table.explained] == [name for name in EXPLAINED if f": {recording.name} " in name]
    measures = {measure for _, measure in table.counts}
    expected = set(MEASURES) if recording.control_plane == "kraft" else set(MEASURES) - {"ELR", "LastKnownElr", "committed states"}
    assert measures == expected
    assert table.total().compared > 600


def test_all_recordings_are_replayed() -> None:
    assert len(DRILLS) == 24


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
    raw = json.loads(DRILLS[5].read_text("utf-8"))
    change(raw["points"][0]["parts"]["t-a-0"])  # type: ignore[operator]
    changed = tmp_path / DRILLS[5].name
    changed.write_text(json.dumps(raw), "utf-8")
    recording = read_recording(changed)
    table = Table()
    table.add(recording.version, compare(recording, replay(recording)))
    assert [one.where for one in table.differing if one.measure == measure] == [f"{recording.name} point 0 t-a-0"]


def test_what_is_no_recording_is_named(tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "wrong.json").write_text("{}", "utf-8")
    monkeypatch.setattr("sys.argv", ["fidelity", str(tmp_path)])
    assert main() == 2
    assert "wrong.json: not a recording of a drill" in capsys.readouterr().err


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

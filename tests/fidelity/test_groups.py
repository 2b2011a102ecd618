"""Replays of the recordings of groups of the classic protocol: the model does what the real cluster did."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from functools import cache
from pathlib import Path
from typing import Any, Final

import attrs
import pytest

from tests.fidelity.comparison import Comparison
from tests.fidelity.groups.comparison import GROUP_MEASURES, TOLERANCE, best_comparison, compare_groups
from tests.fidelity.groups.explained import GROUPS_DIFFERENT, GROUPS_EXPLAINED
from tests.fidelity.groups.recording import has_classic_groups, read_groups

FOLDER: Final = Path(__file__).parent / "drills-groups"

DRILLS: Final = [file for file in sorted(FOLDER.glob("*.json")) if has_classic_groups(file)]

COMPARED: Final = 1_250
"""The minimum number of values in all recordings that are compared."""


def known_differences(file: Path) -> set[str]:
    name = read_groups(file).name
    return {each for each in {**GROUPS_EXPLAINED, **GROUPS_DIFFERENT} if f" {name} " in each}


@cache
def compared(file: Path) -> Sequence[Comparison]:
    """Return the comparisons of a recording with its replay."""
    recording = read_groups(file)
    return compare_groups(recording) if known_differences(file) else best_comparison(recording).comparisons


@pytest.mark.parametrize("file", DRILLS, ids=lambda file: file.stem)
def test_the_model_does_what_the_real_cluster_did(file: Path) -> None:
    assert {one.name for one in compared(file) if not one.agrees} <= known_differences(file)


def test_everything_is_compared() -> None:
    every = [one for file in DRILLS for one in compared(file)]
    assert {one.measure for one in every} == set(GROUP_MEASURES)
    assert len(every) >= COMPARED


def _later_generation(raw: dict[str, Any]) -> None:
    raw["coordinator_log"] = [
        [at, broker, text.replace("generation 2 with", "generation 3 with")] for at, broker, text in raw["coordinator_log"]
    ]


def _later_eviction(raw: dict[str, Any]) -> None:
    raw["coordinator_log"] = [[at + 2 * TOLERANCE * (at > 20), broker, text] for at, broker, text in raw["coordinator_log"]]


def _other_assignment(raw: dict[str, Any]) -> None:
    event = next(event for event in raw["events"] if event.get("ev") == "assigned")
    event["parts"] = event["parts"][1:]


def _other_offset(raw: dict[str, Any]) -> None:
    for record in raw["offsets_records"]:
        record[-1] = record[-1].replace('"offset":16', '"offset":17')


@pytest.mark.parametrize(
    ("change", "measure"),
    [
        (_later_generation, "generations"),
        (_later_eviction, "times"),
        (_other_assignment, "assignments"),
        (_other_offset, "committed offsets"),
    ],
)
def test_a_changed_recording_does_not_agree(change: Callable[[dict[str, Any]], None], measure: str, tmp_path: Path) -> None:
    name = "4.1.1-kill-member-classic.json"
    raw = json.loads((FOLDER / name).read_text(encoding="utf-8"))
    change(raw)
    changed = tmp_path / name
    changed.write_text(json.dumps(raw), encoding="utf-8")
    assert measure in {one.measure for one in compare_groups(read_groups(changed)) if not one.agrees}


def test_a_request_that_came_late_in_the_recording_comes_late_in_the_model() -> None:
    """c2 got nothing in generation 2, and c2, c3, and c4 got nothing in generation 6: the next generation began within a second."""
    recording = read_groups(FOLDER / "2.8.2-assignor-cooperative-sticky.json")
    assert recording.late == {("c2", 2), ("c2", 6), ("c3", 6), ("c4", 6)}
    assert [one.difference for one in compare_groups(recording) if not one.agrees] == []
    on_time = compare_groups(attrs.evolve(recording, late=frozenset()))
    assert len([one for one in on_time if not one.agrees]) > 5


def test_no_request_is_late_where_every_member_was_told_its_partitions() -> None:
    late = {file.stem: read_groups(file).late for file in DRILLS}
    assert {name for name, members in late.items() if members} == {"2.8.2-assignor-cooperative-sticky"}


def test_after_a_difference_in_the_number_of_rebalances_generations_are_compared_by_their_order() -> None:
    """The recorded members got their partitions in generation 263, the model's in another one."""
    comparisons = compare_groups(read_groups(FOLDER / "2.8.2-offsets-below-min-isr.json"))
    assert {one.measure for one in comparisons if not one.agrees} == {"generations"}


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda raw: raw["acts"][0].update(op="levitate"), "an act is not known: levitate"),
        (lambda raw: raw["acts"][-1].update(op="set", who="c1", args=["volume", 11]), r"an act is not known: set \['volume', 11\]"),
        (
            lambda raw: next(act for act in raw["acts"] if act["op"] == "join")["config"].update({"fetch.min.bytes": "9"}),
            "not known: fetch.min.bytes",
        ),
    ],
)
def test_an_act_or_a_setting_that_is_not_known_is_refused(change: Callable[[dict[str, Any]], None], message: str, tmp_path: Path) -> None:
    name = "4.1.1-kill-member-classic.json"
    raw = json.loads((FOLDER / name).read_text(encoding="utf-8"))
    change(raw)
    changed = tmp_path / name
    changed.write_text(json.dumps(raw), encoding="utf-8")
    with pytest.raises(ValueError, match=message):
        compare_groups(read_groups(changed))

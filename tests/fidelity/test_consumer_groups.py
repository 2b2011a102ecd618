"""Replays of the recordings of groups of the consumer protocol: epochs, target assignments, removals, and callbacks are those of the real cluster."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any, Final

import pytest

from tests.fidelity.groups.consumer_comparison import CONSUMER_MEASURES, ConsumerReplay, best_of_consumer_groups
from tests.fidelity.groups.explained import GROUPS_DIFFERENT, GROUPS_EXPLAINED
from tests.fidelity.groups.recording import has_consumer_groups

FOLDER: Final = Path(__file__).parent / "drills-groups"

DRILLS: Final = [file for file in sorted(FOLDER.glob("*.json")) if has_consumer_groups(file)]


@pytest.mark.parametrize("file", DRILLS, ids=lambda file: file.stem)
def test_the_model_does_what_the_real_cluster_did(file: Path) -> None:
    comparisons = best_of_consumer_groups(file).comparisons
    assert {"group epochs", "assignments", "callbacks", "times"} <= {one.measure for one in comparisons} <= set(CONSUMER_MEASURES)
    known = {**GROUPS_EXPLAINED, **GROUPS_DIFFERENT}
    assert [(one.name, one.recorded, one.model) for one in comparisons if not one.agrees and one.name not in known] == []


def test_recordings_with_consumer_groups_are_found_by_their_content() -> None:
    """The names of these four do not say that they have groups of the consumer protocol."""
    names = {file.stem for file in DRILLS}
    assert len(DRILLS) >= 15
    assert names >= {"4.1.1-coordinator-killed", "4.1.1-group-max-size", "4.1.1-offset-retention", "4.1.1-offsets-below-min-isr"}


def _later_epoch(raw: dict[str, Any]) -> None:
    raw["coordinator_log"] = [
        [at, broker, text.replace("Bumped group epoch to 2", "Bumped group epoch to 3")] for at, broker, text in raw["coordinator_log"]
    ]


def _other_target(raw: dict[str, Any]) -> None:
    for record in raw["offsets_records"]:
        if isinstance(record, list):
            record[3] = record[3].replace('"partitions":[0,1,2]', '"partitions":[0,1]')


def _other_callback(raw: dict[str, Any]) -> None:
    event = next(event for event in raw["events"] if event.get("ev") == "revoked")
    event["parts"] = event["parts"][1:]


@pytest.mark.parametrize(
    ("change", "measure"), [(_later_epoch, "group epochs"), (_other_target, "assignments"), (_other_callback, "callbacks")]
)
def test_a_changed_recording_does_not_agree(change: Callable[[dict[str, Any]], None], measure: str, tmp_path: Path) -> None:
    name = "4.1.1-assignor-consumer-uniform.json"
    raw = json.loads((FOLDER / name).read_text(encoding="utf-8"))
    change(raw)
    changed = tmp_path / name
    changed.write_text(json.dumps(raw), encoding="utf-8")
    assert measure in {one.measure for one in ConsumerReplay(changed, 1).comparisons() if not one.agrees}


def test_the_order_of_heartbeats_decides_which_partitions_move_first() -> None:
    """If c2 and m2 send their heartbeats just before c4 and m4 join, m4 gets its second partition one heartbeat later than recorded."""
    differing = [one.name for one in ConsumerReplay(FOLDER / "4.1.1-assignor-consumer-uniform.json").comparisons() if not one.agrees]
    assert differing == ["callbacks: 4.1.1-assignor-consumer-uniform m4"]

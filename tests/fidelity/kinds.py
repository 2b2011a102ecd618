"""The kinds of recordings. The content of a file decides which kind it is."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any, Final

import attrs

from tests.fidelity.comparison import MEASURES, Best, best_replay
from tests.fidelity.explained import EXPLAINED
from tests.fidelity.groups.comparison import GROUP_MEASURES
from tests.fidelity.groups.comparison import best_comparison as best_of_groups
from tests.fidelity.groups.consumer_comparison import CONSUMER_MEASURES, best_of_consumer_groups
from tests.fidelity.groups.explained import GROUPS_EXPLAINED
from tests.fidelity.groups.recording import has_classic_groups, has_consumer_groups, read_groups
from tests.fidelity.recording import read_recording
from tests.fidelity.transactions.comparison import TRANSACTION_MEASURES
from tests.fidelity.transactions.comparison import best_comparison as best_of_transactions
from tests.fidelity.transactions.explained import TRANSACTIONS_EXPLAINED
from tests.fidelity.transactions.recording import read_transactions

Replays = Iterator[tuple[str, str, Best]]
"""For each replay of a recording: its name, the Kafka version, and the best replay."""


@attrs.frozen
class Kind:
    """A kind of recordings.

    Attributes:
        fields: the fields that only recordings of this kind have.
        replay: a function that replays a recording.
        measures: the compared measures, in the order of the table.
        reasons: the reasons why single values differ, by `measure: where`.
    """

    fields: frozenset[str]
    replay: Callable[[Path], Replays]
    measures: tuple[str, ...]
    reasons: Mapping[str, str]


def _drills(file: Path) -> Replays:
    recording = read_recording(file)
    yield recording.name, recording.version, best_replay(recording)


def _transactions(file: Path) -> Replays:
    recording = read_transactions(file)
    yield recording.name, recording.version, best_of_transactions(recording)


def _groups(file: Path) -> Replays:
    """Replay the groups of each protocol."""
    recording = read_groups(file)
    if has_classic_groups(file):
        yield recording.name, recording.version, best_of_groups(recording)
    if has_consumer_groups(file):
        yield f"{recording.name} (consumer protocol)", recording.version, best_of_consumer_groups(file)


KINDS: Final[dict[str, Kind]] = {
    "drills": Kind(frozenset({"control_plane", "initial", "points"}), _drills, MEASURES, EXPLAINED),
    "transactions": Kind(frozenset({"release", "acts", "notes"}), _transactions, TRANSACTION_MEASURES, TRANSACTIONS_EXPLAINED),
    "groups": Kind(
        frozenset({"groups", "events"}),
        _groups,
        (*GROUP_MEASURES, *(each for each in CONSUMER_MEASURES if each not in GROUP_MEASURES)),
        GROUPS_EXPLAINED,
    ),
}
"""The kinds of recordings, by name."""


def kind_of(file: Path) -> str:
    """Return the kind of a recording.

    Raises:
        ValueError: the file is not a recording.
    """
    try:
        raw: Any = json.loads(file.read_text("utf-8"))
    except (OSError, ValueError) as wrong:
        raise ValueError(f"not a recording of a drill ({wrong})") from wrong
    fields = raw.keys() if isinstance(raw, dict) else ()
    for name, kind in KINDS.items():
        if kind.fields <= frozenset(fields):
            return name
    raise ValueError("not a recording of a drill; see the README files in tests/fidelity")

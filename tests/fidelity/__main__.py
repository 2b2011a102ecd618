"""Replays recordings of drills on real clusters, and prints the agreement of the model: `python -m tests.fidelity [FOLDER]`.

The exit code is 0 if only known differences occur, 1 if there are other differences, and 2 if a file is not a recording.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Final

from tests.fidelity.comparison import best_replay
from tests.fidelity.groups.comparison import GROUP_MEASURES
from tests.fidelity.groups.comparison import best_comparison as best_of_groups
from tests.fidelity.groups.consumer_comparison import CONSUMER_DRILLS, CONSUMER_MEASURES, best_of_consumer_groups
from tests.fidelity.groups.explained import GROUPS_DIFFERENT, GROUPS_EXPLAINED
from tests.fidelity.groups.recording import classic_drills, read_groups
from tests.fidelity.recording import read_recording
from tests.fidelity.table import Table
from tests.fidelity.transactions.comparison import TRANSACTION_MEASURES, best_comparison
from tests.fidelity.transactions.explained import DIFFERENT, TRANSACTIONS_EXPLAINED
from tests.fidelity.transactions.recording import read_transactions

HERE: Final = Path(__file__).parent
"""The folder of this program."""


KNOWN: Final = {**DIFFERENT, **GROUPS_DIFFERENT}
"""The known differences between the model and real clusters, each with its explanation."""


def main() -> int:
    """Replay every recording in a folder, or all recordings."""
    parser = argparse.ArgumentParser(prog="make fidelity", description="Replays recordings of drills on real clusters.")
    parser.add_argument("folder", nargs="?", type=Path, help="folder of recordings (*.json); by default, all folders are replayed")
    parser.add_argument("--differences", type=int, default=20, help="the maximum number of differences to print")
    options = parser.parse_args()
    folders = (HERE / "drills", HERE / "drills-transactions", HERE / "drills-groups") if options.folder is None else (options.folder,)
    differing = 0
    for folder in folders:
        files = sorted(folder.glob("*.json"))
        if not files:
            print(f"{folder}: there is no recording (*.json) in this folder", file=sys.stderr)
            return 2
        try:
            table = READERS.get(folder.name, _drills)(files)
        except (OSError, ValueError) as wrong:
            print(wrong, file=sys.stderr)
            return 2
        _print(table, options.differences)
        differing += sum(one.name not in KNOWN for one in table.differing)
    return 1 if differing else 0


def _drills(files: Sequence[Path]) -> Table:
    table = Table()
    for file in files:
        recording = read_recording(file)
        table.add(recording.version, best_replay(recording))
    return table


def _transactions(files: Sequence[Path]) -> Table:
    """Replay recordings of transactions, and print the agreement of each recording."""
    table = Table(reasons=TRANSACTIONS_EXPLAINED, measures=TRANSACTION_MEASURES)
    for file in files:
        recording = read_transactions(file)
        comparisons = best_comparison(recording)
        table.add(recording.version, comparisons)
        print(f"{recording.name:40}{sum(one.agrees for one in comparisons):6} of{len(comparisons):6}")
    return table


def _groups(files: Sequence[Path]) -> Table:
    """Replay recordings of groups, and print the agreement of each recording."""
    table = Table(reasons=GROUPS_EXPLAINED, measures=(*GROUP_MEASURES, *(each for each in CONSUMER_MEASURES if each not in GROUP_MEASURES)))
    for file in classic_drills(files[0].parent):
        recording = read_groups(file)
        comparisons = best_of_groups(recording)
        table.add(recording.version, comparisons)
        print(f"{recording.name:40}{sum(one.agrees for one in comparisons):6} of{len(comparisons):6}")
    for file in files:
        if file.stem in CONSUMER_DRILLS:
            phase, comparisons = best_of_consumer_groups(file)
            table.add(file.stem.partition("-")[0], comparisons)
            agree = sum(one.agrees for one in comparisons)
            print(f"{file.stem + ' (consumer protocol)':60}{agree:6} of{len(comparisons):6} with heartbeats in phase {phase}")
    return table


READERS: Final = {"drills-transactions": _transactions, "drills-groups": _groups}
"""The functions that replay recordings, by folder. All other folders contain drills of replication."""


def _print(table: Table, differences: int) -> None:
    for line in table.lines():
        print(line)
    for one in table.explained:
        print(f"{one.name}: recorded {one.recorded}, model {one.model}: {table.reasons[one.name]}")
    for one in table.differing[:differences]:
        known = f": {KNOWN[one.name]}" if one.name in KNOWN else ""
        print(f"{one.name}: recorded {one.recorded}, model {one.model}{known}")
    if len(table.differing) > differences:
        print(f"… and {len(table.differing) - differences} more differences (--differences N)")


if __name__ == "__main__":
    sys.exit(main())

"""Replays recordings of drills on real clusters, and prints the agreement of the model: `python -m tests.fidelity [FOLDER …]`.

Folders are searched with their subfolders. The content of a file decides how it is replayed. The exit code is 0 if only known differences
occur, 1 if there are other differences, and 2 if a file is not a recording or cannot be played.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterable
from pathlib import Path
from typing import Final

from tests.fidelity.explained import DIFFERENT
from tests.fidelity.groups.explained import GROUPS_DIFFERENT
from tests.fidelity.kinds import KINDS, kind_of
from tests.fidelity.table import Table
from tests.fidelity.transactions.explained import DIFFERENT as TRANSACTIONS_DIFFERENT

HERE: Final = Path(__file__).parent
"""The folder of this program."""

KNOWN: Final = {**DIFFERENT, **TRANSACTIONS_DIFFERENT, **GROUPS_DIFFERENT}
"""The known differences between the model and real clusters, by recording or by `measure: where`, each with its explanation."""


def main() -> int:
    """Replay every recording in the given folders, or all recordings."""
    parser = argparse.ArgumentParser(prog="make fidelity", description="Replays recordings of drills on real clusters.")
    parser.add_argument(
        "folders", nargs="*", type=Path, help="recordings (*.json), or folders of recordings; by default, all recordings are replayed"
    )
    parser.add_argument("--differences", type=int, default=20, help="the maximum number of differences to print")
    options = parser.parse_args()
    folders = options.folders or sorted(HERE.glob("drills*"))
    tables = {name: Table(reasons=kind.reasons, measures=kind.measures) for name, kind in KINDS.items()}
    unknown = Table()
    for folder in folders:
        files = [folder] if folder.is_file() else sorted(folder.rglob("*.json"))
        if not files:
            print(f"{folder}: there is no recording (*.json) in this folder", file=sys.stderr)
            return 2
        for file in files:
            _replay(file, tables, unknown)
    return _print([table for table in (*tables.values(), unknown) if table.counts or table.unplayable], options.differences)


def _replay(file: Path, tables: dict[str, Table], unknown: Table) -> None:
    """Replay a recording, and add it to the table of its kind. A recording that cannot be replayed is a line in the table."""
    table = unknown
    try:
        name = kind_of(file)
        table = tables[name]
        for what, version, best in KINDS[name].replay(file):
            table.add(version, best.comparisons)
            print(f"{what:54}{best.line}", flush=True)
    except Exception as wrong:
        table.unplayable[str(file)] = str(wrong) if isinstance(wrong, ValueError) else f"{type(wrong).__name__}: {wrong}"


def _print(tables: Iterable[Table], differences: int) -> int:
    """Print the tables, and return the exit code."""
    unknown, unplayable = 0, False
    for table in tables:
        for line in table.lines():
            print(line)
        for one in table.explained:
            print(f"{one.difference}: {table.reasons[one.name]}")
        for one in table.differing[:differences]:
            print(f"{one.difference}{f': {known}' if (known := _known(one.name, one.where)) else ''}")
        if len(table.differing) > differences:
            print(f"… and {len(table.differing) - differences} more differences (--differences N)")
        unknown += sum(not _known(one.name, one.where) for one in table.differing)
        unplayable = unplayable or bool(table.unplayable)
    return 2 if unplayable else 1 if unknown else 0


def _known(name: str, where: str) -> str:
    """Return the explanation of a known difference; empty if it is not known."""
    return KNOWN.get(name) or KNOWN.get(where.partition(" ")[0], "")


if __name__ == "__main__":
    sys.exit(main())

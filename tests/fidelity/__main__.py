"""Replays recordings of drills on real clusters and prints how far the model agrees: `python -m tests.fidelity [FOLDER]`.

Exit code 0 if everything agrees, 1 if something differs, 2 if a file is no recording.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from tests.fidelity.comparison import EXPLAINED, best_replay
from tests.fidelity.recording import read_recording
from tests.fidelity.table import Table


def main() -> int:
    """Replay every recording of a folder."""
    parser = argparse.ArgumentParser(prog="make fidelity", description="Replays recordings of drills on real clusters.")
    parser.add_argument("folder", nargs="?", type=Path, default=Path(__file__).parent / "drills", help="folder of recordings (*.json)")
    parser.add_argument("--differences", type=int, default=20, help="how many differences to print")
    options = parser.parse_args()
    files = sorted(options.folder.glob("*.json"))
    if not files:
        print(f"{options.folder}: there is no recording (*.json) in this folder", file=sys.stderr)
        return 2
    table = Table()
    for file in files:
        try:
            recording = read_recording(file)
        except (OSError, ValueError) as wrong:
            print(wrong, file=sys.stderr)
            return 2
        table.add(recording.version, best_replay(recording))
    for line in table.lines():
        print(line)
    for one in table.explained:
        print(f"{one.name}: recorded {one.recorded}, model {one.model}: {EXPLAINED[one.name]}")
    for one in table.differing[: options.differences]:
        print(f"{one.name}: recorded {one.recorded}, model {one.model}")
    if len(table.differing) > options.differences:
        print(f"… and {len(table.differing) - options.differences} more differences (--differences N)")
    return 1 if table.differing else 0


if __name__ == "__main__":
    sys.exit(main())

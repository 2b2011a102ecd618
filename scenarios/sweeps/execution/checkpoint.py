"""Keeps finished chunks in a directory, so that a stopped sweep can continue.

Each chunk is one file, which appears only when it is complete. The directory records its grid and the version of the program, so that runs
from a different grid or a different version are never mixed in. A cell and a seed identify each run. The result therefore does not depend
on the number or kind of workers, or on how runs are divided into chunks.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable
from pathlib import Path
from typing import Final

from scenarios.io.output_files import write_atomically
from scenarios.sweeps.errors import SweepError
from scenarios.sweeps.grid.grid import Grid, Run
from scenarios.sweeps.simulation.runs import FinishedChunk, as_row, run_of

FORMAT: Final = 1
"""The version of the directory's format."""

MARK: Final = "sweep.json"
CHUNKS: Final = "chunks"
PACKAGES: Final = ("core", "scenarios/sweeps/grid", "scenarios/sweeps/simulation")
"""The packages on which the results of a run depend, in addition to the grid."""


def code_identity() -> str:
    """Return a digest of the parts of the program that runs depend on."""
    root = Path(__file__).resolve().parents[3]
    digest = hashlib.sha256()
    for package in PACKAGES:
        for path in sorted((root / package).rglob("*.py")):
            digest.update(f"{path.relative_to(root).as_posix()}\0".encode())
            digest.update(path.read_bytes())
    return digest.hexdigest()[:16]


class Checkpoint:
    """The directory in which a sweep keeps its finished chunks."""

    def __init__(self, directory: Path, grid: Grid) -> None:
        """Open the directory, or create it.

        Raises:
            SweepError: the directory cannot be used, or belongs to a different sweep.
        """
        self.directory = directory
        self._grid = grid
        self._runs: dict[tuple[int, int], Run] = {}
        mark = {"format": FORMAT, "sweep": grid.name, "grid": hashlib.sha256(grid.text.encode()).hexdigest()[:16], "code": code_identity()}
        try:
            (directory / CHUNKS).mkdir(parents=True, exist_ok=True)
            known = directory / MARK
            if known.exists():
                self._check(json.loads(known.read_text(encoding="utf-8")), mark)
            else:
                self._keep_grid(directory / "grid.yaml", grid.text)
                write_atomically(known, json.dumps(mark, indent=1) + "\n")
            for path in sorted((directory / CHUNKS).glob("*.jsonl")):
                self._read(path)
        except OSError as failure:
            raise SweepError(f"{directory}: cannot use this directory: {failure.strerror or failure}") from failure
        except ValueError as failure:
            raise SweepError(f"{directory / MARK}: this file is damaged ({failure}); name another directory") from failure

    def _keep_grid(self, path: Path, text: str) -> None:
        """Keep the grid next to its runs, so that the runs can be repeated. The grid's file already exists if the sweep is being continued,
        or if the grid was read from that file."""
        if not path.exists():
            write_atomically(path, text)
        elif path.read_text(encoding="utf-8-sig") != text:
            raise SweepError(f"{path}: this file contains a different grid; name another directory")

    def _check(self, found: object, mark: dict[str, object]) -> None:
        if not isinstance(found, dict):
            raise SweepError(f"{self.directory / MARK}: this file is damaged; name another directory")
        for part, what in (("format", "format"), ("grid", "grid"), ("code", "version of isrlab")):
            if found.get(part) != mark[part]:
                raise SweepError(
                    f"{self.directory}: this directory contains runs of a different {what}; name another directory, or empty this one"
                )

    def _read(self, path: Path) -> None:
        try:
            for line in path.read_text(encoding="utf-8").splitlines():
                run = run_of(self._grid, json.loads(line))
                self._runs[run.cell, run.seed] = run
        except (ValueError, TypeError) as failure:
            raise SweepError(f"{path}: this file is damaged ({failure}); delete it, and isrlab will repeat its runs") from failure

    def add(self, finished: FinishedChunk) -> None:
        """Write a finished chunk to the directory."""
        chunk = finished.chunk
        text = "".join(json.dumps(as_row(run), separators=(",", ":")) + "\n" for run in finished.runs)
        name = f"cell-{chunk.cell:04d}-seeds-{chunk.first:09d}-{chunk.last:09d}.jsonl"
        write_atomically(self.directory / CHUNKS / name, text)

    def kept(self) -> Iterable[Run]:
        """Return the runs that the directory contained when it was opened."""
        return self._runs.values()

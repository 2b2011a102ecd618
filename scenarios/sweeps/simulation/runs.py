"""Simulates runs: each is one cell of a grid with one seed, and becomes a row of numbers. Rows and chunks also have a form in JSON."""

from __future__ import annotations

import gc
import json
import time
from collections.abc import Iterable
from typing import Any

import attrs

from scenarios.sweeps.grid.grid import Grid, Run
from scenarios.sweeps.simulation.event_limit import EventLimitReached


@attrs.frozen
class Chunk:
    """The runs that a worker executes together: those of one cell with the seeds from `first` to `last` (inclusive)."""

    cell: int
    first: int
    last: int

    def __len__(self) -> int:
        return self.last - self.first + 1


@attrs.frozen
class FinishedChunk:
    """The result rows of a chunk, and the processor time, in seconds, that its runs took."""

    chunk: Chunk
    runs: tuple[Run, ...]
    seconds: float


class RunFailed(Exception):
    """A run failed because of a bug in the laboratory. The message names the cell, the seed, and the error."""


class RunStopped(Exception):
    """A run reached a limit. The message names the cell, the seed, and the limit."""


def simulate_chunk(grid: Grid, chunk: Chunk) -> FinishedChunk:
    """Simulate the runs of a chunk one after another.

    Raises:
        RunFailed: a run failed.
        RunStopped: a run reached a limit.
    """
    begun = time.process_time()
    runs: list[Run] = []
    for seed in range(chunk.first, chunk.last + 1):
        try:
            runs.append(grid.experiment.simulate(grid, grid.cell(chunk.cell), seed))
        except EventLimitReached as limit:
            raise RunStopped(f"cell {chunk.cell}, seed {seed}: {limit}") from None
        except Exception as failure:
            raise RunFailed(f"cell {chunk.cell}, seed {seed}: {type(failure).__name__}: {failure}") from failure
        # A cluster contains reference cycles. This call frees it now instead of at some later collection.
        gc.collect(1)
    return FinishedChunk(chunk, tuple(runs), time.process_time() - begun)


def fields_of(run_type: type[Any]) -> tuple[str, ...]:
    """Return the columns of the rows of a class, in order."""
    return tuple(field.name for field in attrs.fields(run_type))


def as_row(run: Run) -> list[Any]:
    """Return a run as plain data, in the order of its columns."""
    return [getattr(run, name) for name in fields_of(type(run))]


def run_of(grid: Grid, row: Iterable[Any]) -> Run:
    """Build a run from the values of a row. If the row was decoded from JSON, lists stand for tuples."""
    kind: type[Run] = grid.experiment.run_type
    return kind(**dict(zip(fields_of(kind), row, strict=True)))


def as_numbers(numbers: Iterable[int]) -> tuple[int, ...]:
    """Return a list of numbers as a tuple."""
    return tuple(numbers)


def as_values(numbers: Iterable[float]) -> tuple[float, ...]:
    """Return a list of measured values as a tuple."""
    return tuple(numbers)


def as_counts(pairs: Iterable[Iterable[int]]) -> tuple[tuple[int, int], ...]:
    """Return the counts of a histogram as tuples."""
    return tuple((bucket, count) for bucket, count in pairs)


def to_text(finished: FinishedChunk) -> str:
    """Encode a finished chunk as JSON."""
    chunk = finished.chunk
    data = {"chunk": [chunk.cell, chunk.first, chunk.last], "seconds": finished.seconds, "runs": [as_row(run) for run in finished.runs]}
    return json.dumps(data, separators=(",", ":"))


def from_text(grid: Grid, text: str) -> FinishedChunk:
    """Decode a finished chunk from JSON."""
    data: dict[str, Any] = json.loads(text)
    return FinishedChunk(Chunk(*data["chunk"]), tuple(run_of(grid, row) for row in data["runs"]), data["seconds"])

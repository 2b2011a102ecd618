"""Simulates one run, which is one cell of the grid with one seed, and returns a row of numbers."""

from __future__ import annotations

import gc
import json
import time
from collections.abc import Iterable
from typing import Any, Final

import attrs

from scenarios.sweeps.grid.grid import Cell, Grid
from scenarios.sweeps.grid.model_grid import ModelGrid
from scenarios.sweeps.simulation.episodes import episodes_of
from scenarios.sweeps.simulation.histogram import Histogram
from scenarios.sweeps.simulation.simulate_episode import simulate_episode
from scenarios.sweeps.simulation.simulate_model_run import ModelRun, model_run_of, simulate_model_run


@attrs.frozen
class Run:
    """The result of one cell with one seed, which becomes one row of the output.

    Attributes:
        cell, seed: the cell and the seed of the run.
        episodes: the number of simulated episodes.
        simulated_us: the total virtual time of the episodes, in µs.
        faults: the number of faults that began within the horizon.
        events: the number of events that the episodes recorded.
        acked, failed, duplicated: the numbers of acknowledged records, of records that producers gave up on, and of records that retries
            appended again.
        lost: the number of permanently lost records; each record counts once.
        lost_acknowledged, lost_read: the number of lost records that were acknowledged, and the number of lost records that a consumer has
            read.
        losing: the numbers of the episodes that lost acknowledged records.
        unclean: the number of unclean elections.
        read_down_us, write_down_us, stalled_us: the time without reads, the time without writes, and the time during which acks=all writes
            waited; `write_down_us` does not include `stalled_us`, and each value is the total for all partitions, in µs.
        not_whole: the number of episodes that ended before the cluster had recovered.
        unanswered: the number of records without an answer at the end of an episode.
        latencies: the produce latencies of acknowledged records, in µs, as pairs of bucket and count.
        waits: the waiting times of unacknowledged records until a producer gave up on them or the episode ended, in µs, as pairs of bucket
            and count.
    """

    cell: int
    seed: int
    episodes: int
    simulated_us: int
    faults: int
    events: int
    acked: int
    failed: int
    duplicated: int
    lost: int
    lost_acknowledged: int
    lost_read: int
    losing: tuple[int, ...]
    unclean: int
    read_down_us: int
    write_down_us: int
    stalled_us: int
    not_whole: int
    unanswered: int
    latencies: tuple[tuple[int, int], ...]
    waits: tuple[tuple[int, int], ...]


LOST: Final = ("lost", "lost_acknowledged", "lost_read")
"""The columns that count lost records."""

FIELDS: Final = tuple(field.name for field in attrs.fields(Run))
"""The columns of a row, in order."""


def simulate_run(grid: Grid, cell: Cell, seed: int) -> Run:
    """Simulate every episode of a run."""
    numbers = dict.fromkeys(("simulated_us", "faults", "events", "acked", "failed", "duplicated", *LOST), 0)
    unclean = read_down = write_down = stalled = not_whole = unanswered = 0
    losing = []
    latencies, waits = Histogram(), Histogram()
    episodes = episodes_of(grid, cell, seed)
    for episode in episodes:
        played = simulate_episode(grid, cell, episode)
        meter = played.meter
        numbers["simulated_us"] += played.end
        numbers["faults"] += episode.faults
        numbers["events"] += played.events
        numbers["acked"] += meter.acked
        numbers["failed"] += meter.failed
        numbers["duplicated"] += played.duplicated
        for name in LOST:
            numbers[name] += getattr(played, name)
        if played.lost_acknowledged:
            losing.append(episode.number)
        unclean += meter.unclean
        read_down += meter.read_down
        write_down += meter.write_down
        stalled += meter.stalled
        unanswered += meter.unanswered
        not_whole += not played.recovered
        latencies.merge(meter.latencies.counts)
        waits.merge(meter.waits.counts)
    return Run(
        cell=cell.number,
        seed=seed,
        episodes=len(episodes),
        losing=tuple(losing),
        unclean=unclean,
        read_down_us=read_down,
        write_down_us=write_down,
        stalled_us=stalled,
        unanswered=unanswered,
        not_whole=not_whole,
        latencies=tuple(sorted(latencies.counts.items())),
        waits=tuple(sorted(waits.counts.items())),
        **numbers,
    )


AnyGrid = Grid | ModelGrid
"""A grid of Kafka's settings, or a grid of replication models."""

AnyRun = Run | ModelRun
"""A result row for either kind of grid."""


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
    runs: tuple[AnyRun, ...]
    seconds: float


class RunFailed(Exception):
    """A run failed because of a bug in the laboratory. The message names the cell, the seed, and the error."""


def simulate_chunk(grid: AnyGrid, chunk: Chunk) -> FinishedChunk:
    """Simulate the runs of a chunk one after another.

    Raises:
        RunFailed: a run failed.
    """
    begun = time.process_time()
    runs: list[AnyRun] = []
    for seed in range(chunk.first, chunk.last + 1):
        try:
            if isinstance(grid, ModelGrid):
                runs.append(simulate_model_run(grid, grid.cell(chunk.cell), seed))
            else:
                runs.append(simulate_run(grid, grid.cell(chunk.cell), seed))
        except Exception as failure:
            raise RunFailed(f"cell {chunk.cell}, seed {seed}: {type(failure).__name__}: {failure}") from failure
        # A cluster contains reference cycles. This call frees it now instead of at some later collection.
        gc.collect(1)
    return FinishedChunk(chunk, tuple(runs), time.process_time() - begun)


def as_row(run: AnyRun) -> list[Any]:
    """Return a run as plain data, in the order of its columns."""
    return [getattr(run, field.name) for field in attrs.fields(type(run))]


def from_row(row: Iterable[Any]) -> Run:
    """Convert plain data to a run. The row can contain lists instead of tuples if it was decoded from JSON."""
    values = dict(zip(FIELDS, row, strict=True))
    values["losing"] = tuple(values["losing"])
    for name in ("latencies", "waits"):
        values[name] = tuple((bucket, count) for bucket, count in values[name])
    return Run(**values)


def run_of(grid: AnyGrid, row: Iterable[Any]) -> AnyRun:
    """Build a run from the values of a row, for either kind of grid."""
    return model_run_of(row) if isinstance(grid, ModelGrid) else from_row(row)


def to_text(finished: FinishedChunk) -> str:
    """Encode a finished chunk as JSON."""
    chunk = finished.chunk
    data = {"chunk": [chunk.cell, chunk.first, chunk.last], "seconds": finished.seconds, "runs": [as_row(run) for run in finished.runs]}
    return json.dumps(data, separators=(",", ":"))


def from_text(grid: AnyGrid, text: str) -> FinishedChunk:
    """Decode a finished chunk from JSON."""
    data: dict[str, Any] = json.loads(text)
    return FinishedChunk(Chunk(*data["chunk"]), tuple(run_of(grid, row) for row in data["runs"]), data["seconds"])

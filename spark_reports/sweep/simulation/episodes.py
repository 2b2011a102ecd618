"""Lays a seed's faults out in stretches of virtual time that are simulated one by one: episodes.

Between faults a cluster that is whole does nothing that could lose a record or keep anybody waiting. So of a long horizon
only the stretches around faults are simulated: from a warm-up before the first fault to some time after the end of the
last one; faults that come so close that their stretches touch share an episode, and meet in it as they would have. Each
episode begins with a whole cluster and empty logs.
"""

from __future__ import annotations

import random
from collections.abc import Iterator
from typing import Final

import attrs

from core.lab.acts import Load, StopLoad
from core.sim.units import SECOND, US_PER_MS
from spark_reports.sweep.grid.grid import Cell, FaultWindow, Grid, ProducerLoad
from spark_reports.sweep.simulation.draw_faults import DrawnFault, FaultAct, draw_faults

START_GRAIN: Final = 10 * SECOND
"""Episodes begin at multiples of this, and loads change at multiples of `LOAD_GRAIN`, so that a fault, which comes at any µs,
meets every phase of the producers' and brokers' periods."""

LOAD_GRAIN: Final = 10 * US_PER_MS

SOON_EVERY: Final = SECOND
"""Between batches while a cluster may still be dealing with a fault (`Around.soon`), unless the workload's are further apart anyway."""

MAX_DRAIN: Final = 10 * SECOND
"""Producers stop this long before an episode ends (or halfway from the last fault), so that what they sent is answered."""


@attrs.frozen
class Episode:
    """A stretch of a run.

    Attributes:
        number: from 1 within its run.
        seed: of the cluster.
        start: of the horizon, µs.
        end: how long it lasts, µs; longer if the cluster is not whole by then, unless `final`.
        deeds: what is done when, µs from its start.
        faults: how many begin in it.
        final: whether it ends at `end` whatever the cluster is like.
    """

    number: int
    seed: int
    start: int
    end: int
    deeds: tuple[tuple[int, FaultAct], ...]
    faults: int
    final: bool = False


def episodes_of(grid: Grid, cell: Cell, seed: int) -> list[Episode]:
    """The episodes of a run."""
    faults = draw_faults(grid.faults, cell.spec, seed, grid.horizon)
    if grid.around is None:
        deeds: list[tuple[int, FaultAct]] = [(0, _load(producing, producing.every)) for producing in cell.producers]
        deeds += [deed for drawn in faults for deed in drawn.deeds if deed[0] < grid.horizon]
        return [Episode(1, seed, 0, grid.horizon, tuple(sorted(deeds, key=_time)), len(faults), final=True)]
    around = grid.around
    found: list[Episode] = []
    for near in _together(faults, around.before + START_GRAIN + around.after):
        start = near[0].start // START_GRAIN * START_GRAIN - around.before
        end = max(drawn.end for drawn in near) - start + around.after
        number = len(found) + 1
        drain = min(MAX_DRAIN, around.after // 2)
        happening = [(time - start, deed) for drawn in near for time, deed in drawn.deeds]
        loads = [step for producing in cell.producers for step in _loads(producing, happening, around, end - drain)]
        found.append(Episode(number, _episode_seed(seed, number), start, end, tuple(sorted([*loads, *happening], key=_time)), len(near)))
    return found


def _time(deed: tuple[int, FaultAct]) -> int:
    return deed[0]


def _episode_seed(seed: int, number: int) -> int:
    """A seed of an episode's own: scripts hold seeds below 2⁶³."""
    return random.Random(f"{seed}:episode:{number}").getrandbits(62)


def _together(faults: list[DrawnFault], gap: int) -> Iterator[list[DrawnFault]]:
    """Faults in groups: less than `gap` lies between the end of one and the beginning of the next."""
    group: list[DrawnFault] = []
    until = 0
    for drawn in faults:
        if group and drawn.start - until >= gap:
            yield group
            group = []
        until = max(until, drawn.end) if group else drawn.end
        group.append(drawn)
    if group:
        yield group


def _load(producing: ProducerLoad, every: int) -> Load:
    return Load(
        producing.topic, producing.rate, producing.acks, every, producing.bytes, producing.name, idempotence=producing.idempotence
    )  # fmt: skip


def _loads(producing: ProducerLoad, happening: list[tuple[int, FaultAct]], around: FaultWindow, stop: int) -> list[tuple[int, FaultAct]]:
    """A producer's loads over an episode: fine-grained near what happens, coarser later, at the same rate.

    A coarser load begins half a period after the finer one ends: its first batch stands for the records of half a period
    on either side, so that on average no record is counted twice or forgotten.
    """
    fine = _union([(time - around.near, time + around.near) for time, _ in happening])
    medium = _union([(time - around.near, time + around.soon) for time, _ in happening])
    moments = sorted({0, *(edge for spell in (*fine, *medium) for edge in spell if 0 <= edge < stop)})
    deeds: list[tuple[int, FaultAct]] = []
    before = 0
    for moment, following in zip(moments, [*moments[1:], stop], strict=True):
        level = 0 if _within(fine, moment) else 1 if _within(medium, moment) else 2
        period = (producing.every, min(producing.between, max(producing.every, SOON_EVERY)), producing.between)[level]
        if period == before:
            continue
        begin = moment
        if period > before > 0:
            deeds.append((moment, StopLoad(producing.name)))
            begin += period // 2
        if begin < following:
            deeds.append((begin, _load(producing, period)))
            before = period
    return [*deeds, (stop, StopLoad(producing.name))]


def _union(spells: list[tuple[int, int]]) -> list[tuple[int, int]]:
    """Spells widened to multiples of `LOAD_GRAIN`, those that touch made one."""
    found: list[tuple[int, int]] = []
    for start, end in sorted(spells):
        begin, until = max(0, start) // LOAD_GRAIN * LOAD_GRAIN, -(-end // LOAD_GRAIN) * LOAD_GRAIN
        if found and begin <= found[-1][1]:
            found[-1] = (found[-1][0], max(found[-1][1], until))
        else:
            found.append((begin, until))
    return found


def _within(spells: list[tuple[int, int]], time: int) -> bool:
    return any(start <= time < end for start, end in spells)

"""Divides the horizon of a run into episodes: windows around faults, which are simulated one by one.

A healthy cluster loses no records and keeps no client waiting. Therefore, only the windows around faults are simulated if the horizon is
long. A window lasts from a warm-up before its first fault to some time after the end of its last fault. Adjacent windows form one episode,
in which their faults can interact. Each episode begins with a healthy cluster and empty logs.
"""

from __future__ import annotations

import random
from collections.abc import Iterator
from typing import Final

import attrs

from core.lab.acts import Load, StopLoad
from core.sim.units import SECOND, US_PER_MS
from scenarios.sweeps.grid.grid import Grid
from scenarios.sweeps.simulation.draw_faults import DrawnFault, FaultAct, draw_faults
from scenarios.sweeps.simulation.kafka.cell import FaultWindow, KafkaCell, ProducerLoad

START_GRAIN: Final = 10 * SECOND
"""Episodes begin at multiples of this time, in µs. Loads change at multiples of `LOAD_GRAIN`.

A fault can begin at any microsecond, so that faults occur in every phase of the periodic work of producers and brokers.
"""

LOAD_GRAIN: Final = 10 * US_PER_MS

SOON_EVERY: Final = SECOND
"""The interval, in µs, between batches while a cluster might still be handling a fault (`FaultWindow.soon`).

A longer interval in the workload takes precedence over `SOON_EVERY`.
"""

MAX_DRAIN: Final = 10 * SECOND
"""The maximum time, in µs, from the moment when producers stop to the end of an episode.

After the producers stop, the brokers can still respond to the last produce requests.
"""


@attrs.frozen
class Episode:
    """An episode: a window of a run that is simulated separately.

    Attributes:
        number: the number of the episode in its run; the first episode has the number 1.
        seed: the seed of the cluster.
        start: the start of the episode within the horizon, in µs.
        end: the duration of the episode, in µs; if the cluster has not recovered by then, the episode lasts longer, unless `final` is true.
        acts: the acts, each with its time from the start of the episode, in µs.
        faults: the number of faults that begin in the episode.
        final: whether the episode ends at `end` even if the cluster has not recovered.
    """

    number: int
    seed: int
    start: int
    end: int
    acts: tuple[tuple[int, FaultAct], ...]
    faults: int
    final: bool = False


def episodes_of(grid: Grid[KafkaCell], cell: KafkaCell, seed: int) -> list[Episode]:
    """Return the episodes of a run."""
    faults = draw_faults(grid.faults, cell.spec, seed, grid.horizon)
    around = cell.around
    if around is None:
        acts: list[tuple[int, FaultAct]] = [(0, load_act(load, load.every)) for load in cell.producers]
        acts += [act for fault in faults for act in fault.acts if act[0] < grid.horizon]
        return [Episode(1, seed, 0, grid.horizon, tuple(sorted(acts, key=_time)), len(faults), final=True)]
    return [episode_around(cell, group, seed, number) for number, group in enumerate(_groups(faults, gap_of(cell)), start=1)]


def gap_of(cell: KafkaCell) -> int:
    """Return the time in µs that is between the end of a fault and the begin of the next fault if they are in different episodes."""
    assert cell.around is not None
    return cell.around.before + START_GRAIN + cell.around.after


def episode_around(cell: KafkaCell, faults: list[DrawnFault], seed: int, number: int) -> Episode:
    """Return the episode that contains the given faults. `number` is its number in the run."""
    around = cell.around
    assert around is not None
    start = faults[0].start // START_GRAIN * START_GRAIN - around.before
    end = max(fault.end for fault in faults) - start + around.after
    drain = min(MAX_DRAIN, around.after // 2)
    acts_of_faults = [(time - start, act) for fault in faults for time, act in fault.acts]
    loads = [step for load in cell.producers for step in _loads(load, acts_of_faults, around, end - drain)]
    acts = tuple(sorted([*loads, *acts_of_faults], key=_time))
    return Episode(number, _episode_seed(seed, number), start, end, acts, len(faults))


def _time(act: tuple[int, FaultAct]) -> int:
    return act[0]


def _episode_seed(seed: int, number: int) -> int:
    """Return the seed of an episode. The seed is below 2⁶³, as scripts require."""
    return random.Random(f"{seed}:episode:{number}").getrandbits(62)


def _groups(faults: list[DrawnFault], gap: int) -> Iterator[list[DrawnFault]]:
    """Yield groups of faults that are close to each other in time.

    Within a group, the time from the end of all earlier faults to the beginning of the next fault is always less than `gap`.
    """
    group: list[DrawnFault] = []
    until = 0
    for fault in faults:
        if group and fault.start - until >= gap:
            yield group
            group = []
        until = max(until, fault.end) if group else fault.end
        group.append(fault)
    if group:
        yield group


def load_act(load: ProducerLoad, every: int) -> Load:
    """Return the act that starts a producer whose batches come at the given interval."""
    return Load(load.topic, load.rate, acks=load.acks, every=every, bytes=load.bytes, producer=load.name, idempotence=load.idempotence)


def _loads(load: ProducerLoad, acts_of_faults: list[tuple[int, FaultAct]], around: FaultWindow, stop: int) -> list[tuple[int, FaultAct]]:
    """Return the loads of a producer over an episode. Close to the time of an act, batches are small and frequent. Farther from acts,
    batches are larger and less frequent. The number of records per second is the same throughout the episode.

    A load with larger batches begins half a period after the previous load ends. The first batch of a load with larger batches stands for
    the records from half a period before the batch to half a period after it, so that on average no record is counted twice or left out.
    """
    fine = _merged([(time - around.near, time + around.near) for time, _ in acts_of_faults])
    medium = _merged([(time - around.near, time + around.soon) for time, _ in acts_of_faults])
    moments = sorted({0, *(edge for interval in (*fine, *medium) for edge in interval if 0 <= edge < stop)})
    acts: list[tuple[int, FaultAct]] = []
    before = 0
    for moment, following in zip(moments, [*moments[1:], stop], strict=True):
        level = 0 if _within(fine, moment) else 1 if _within(medium, moment) else 2
        period = (load.every, min(load.between, max(load.every, SOON_EVERY)), load.between)[level]
        if period == before:
            continue
        begin = moment
        if period > before > 0:
            acts.append((moment, StopLoad(load.name)))
            begin += period // 2
        if begin < following:
            acts.append((begin, load_act(load, period)))
            before = period
    return [*acts, (stop, StopLoad(load.name))]


def _merged(intervals: list[tuple[int, int]]) -> list[tuple[int, int]]:
    """Widen the intervals to multiples of `LOAD_GRAIN`, merge adjacent intervals, and return the result."""
    found: list[tuple[int, int]] = []
    for start, end in sorted(intervals):
        begin, until = max(0, start) // LOAD_GRAIN * LOAD_GRAIN, -(-end // LOAD_GRAIN) * LOAD_GRAIN
        if found and begin <= found[-1][1]:
            found[-1] = (found[-1][0], max(found[-1][1], until))
        else:
            found.append((begin, until))
    return found


def _within(intervals: list[tuple[int, int]], time: int) -> bool:
    return any(start <= time < end for start, end in intervals)

"""Draws many years of faults, and finds the windows in which several nodes are faulty at the same time.

Faults are drawn before a run is simulated and do not depend on it, and drawing them costs little. To see rare overlaps often, faults are
drawn as if they were more frequent, and each window gets a weight: its likelihood with the true frequency divided by its likelihood with
the drawn one. The sum of the weights of some windows is then an unbiased estimate of how many of them there are at the true frequency.

Faults form a Poisson process, and a window is a busy period: it begins when no fault is near, and ends when there has been no fault for some
time. If a kind of fault has the rate λ, and λ' when drawn, a window of length L with n of its faults has the weight (λ/λ')ⁿ·e^((λ'−λ)·(L+S)).
S is the mean time for which a fault keeps a window open; e^(−λ·S) is the probability that no fault is near (M/G/∞ queue). Rolling restarts
are regular, and are drawn as they are.
"""

from __future__ import annotations

import math
import random
from typing import Final

import attrs

from core.kafka.ids import broker_address
from core.lab.acts import Cut, Isolate, Kill, KillController, Pause, PowerLoss, Shutdown, SlowDisk
from core.lab.spec import ClusterSpec
from scenarios.sweeps.grid.fault_model import Fault, FaultKind
from scenarios.sweeps.grid.grid import Grid, Stratum
from scenarios.sweeps.simulation.draw_faults import Arrival, DrawnFault, draw_arrivals, faults_of
from scenarios.sweeps.simulation.kafka.cell import KafkaCell
from scenarios.sweeps.simulation.kafka.episodes import Episode, episode_around, gap_of

YEAR: Final = 365 * 86_400_000_000

BUSY: Final = 0.25
"""The mean number of windows that are open at the same time when faults are drawn.

More would show more overlaps, but long windows would get large weights.
"""

MARGIN: Final = 30
"""The time before the first and after the last window that counts, in multiples of the longest mean time for which a fault keeps a window open."""

ONE_BROKER: Final = (FaultKind.CRASH, FaultKind.POWER_LOSS, FaultKind.PAUSE, FaultKind.SLOW_DISK, FaultKind.ISOLATE)
"""The kinds of faults that affect one broker."""


@attrs.frozen
class Window:
    """A window that was drawn.

    Attributes:
        faults: its faults, in order of time.
        at_once: the greatest number of nodes that are faulty at the same moment.
        weight: the number of windows for which it stands.
    """

    faults: tuple[DrawnFault, ...]
    at_once: int
    weight: float


@attrs.frozen
class DrawnStratum:
    """The windows that a run has drawn with a number of nodes that are faulty at the same time, and the one of them that it simulates.

    Attributes:
        stratum: the weights of the windows.
        episode: a window that was chosen with a probability proportional to its weight; None if there is none.
    """

    stratum: Stratum
    episode: Episode | None


def draw_strata(grid: Grid[KafkaCell], cell: KafkaCell, seed: int) -> list[DrawnStratum]:
    """Draw the windows of a run, and choose one for each number of nodes that are faulty at the same time, from 1 to the replication factor.
    The last number also stands for all greater ones.
    """
    assert cell.rare is not None
    windows, years = draw_windows(grid.faults, cell.spec, seed, cell.rare.years * YEAR, gap_of(cell))
    last = number_of_strata(cell)
    found = []
    for at_once in range(1, last + 1):
        own = [window for window in windows if min(window.at_once, last) == at_once]
        weights = [window.weight / years for window in own]
        episode = None
        if own and at_once >= cell.rare.at_once:
            (chosen,) = random.Random(f"{seed}:window:{at_once}").choices(own, weights)
            episode = episode_around(cell, list(chosen.faults), seed, at_once)
        sums = (math.fsum(weights), math.fsum(weight * weight for weight in weights), max(weights, default=0.0))
        # Other machines can compute another last digit.
        found.append(DrawnStratum(Stratum(len(own), *(float(f"{value:.9g}") for value in sums)), episode))
    return found


def number_of_strata(cell: KafkaCell) -> int:
    """Return the largest replication factor of the topics that have a workload."""
    topics = {producing.topic for producing in cell.producers}
    return max(
        len(topic.assignment[0].replicas) if topic.assignment else topic.replication_factor
        for topic in cell.spec.topics
        if topic.name in topics
    )


def draw_windows(faults: tuple[Fault, ...], spec: ClusterSpec, seed: int, horizon: int, gap: int) -> tuple[list[Window], float]:
    """Draw as many faults as a horizon has on average. Return the windows, and the number of years in which they were drawn.

    Faults that are less than `gap` apart belong to the same window.
    """
    times = [_mean_length(fault, spec) + gap for fault in faults]
    random_ones = [fault for fault in faults if fault.kind is not FaultKind.ROLLING_RESTART]
    busy = sum(_count(fault, spec) * (fault.lasts.expected + gap) / fault.every for fault in random_ones)
    factor = max(1.0, BUSY / busy) if busy else 1.0
    drawn = tuple(fault if fault not in random_ones else attrs.evolve(fault, every=max(1, round(fault.every / factor))) for fault in faults)
    length, margin = round(horizon / factor), MARGIN * max(times, default=0)
    windows = []
    for group in _busy_periods(draw_arrivals(drawn, spec, seed, length + 2 * margin), spec, gap):
        if margin <= group[0].time < margin + length:
            own = tuple(faults_of(group, spec))
            windows.append(Window(own, most_at_once(own), _weight(group, faults, drawn, spec, gap)))
    return windows, length / YEAR


def most_at_once(faults: tuple[DrawnFault, ...]) -> int:
    """Return the greatest number of nodes that are faulty at the same moment. A cut link counts as one node."""
    changes = sorted(change for fault in faults for change in ((fault.start, 1, _node_of(fault)), (fault.end, -1, _node_of(fault))))
    faulty: dict[str, int] = {}
    most = 0
    for _, change, node in sorted(changes, key=lambda each: each[:2]):
        faulty[node] = faulty.get(node, 0) + change
        most = max(most, sum(count > 0 for count in faulty.values()))
    return most


def expected_overlaps(faults: tuple[Fault, ...], spec: ClusterSpec, at_once: int) -> float | None:
    """Return how often per year `at_once` brokers are faulty at the same time, to the first order; None if faults are not independent.

    Each of N brokers fails at the rate λ/N for the mean time m, so that k given brokers are faulty at the same time at the rate
    k·(λ/N)ᵏ·mᵏ⁻¹.
    """
    brokers = len(spec.brokers)
    alone = ONE_BROKER if len({broker.rack for broker in spec.brokers}) < brokers else (*ONE_BROKER, FaultKind.RACK_OUTAGE)
    if not all(fault.kind in alone for fault in faults):
        return None
    rate = sum(_count(fault, spec) / fault.every for fault in faults) * YEAR / brokers
    down = sum(_count(fault, spec) * fault.lasts.expected / fault.every for fault in faults) / brokers
    return math.comb(brokers, at_once) * at_once * rate * down ** (at_once - 1)


def _count(fault: Fault, spec: ClusterSpec) -> int:
    """Return the number of independent processes of a fault."""
    return len(spec.brokers) if fault.each_broker else 1


def _mean_length(fault: Fault, spec: ClusterSpec) -> int:
    """Return the mean time from the begin of a fault to the end of its last effect."""
    steps = len(spec.brokers) if fault.kind is FaultKind.ROLLING_RESTART else 1
    return steps * fault.lasts.expected + (steps - 1) * fault.gap


def _end_of(arrival: Arrival, spec: ClusterSpec) -> int:
    steps = len(spec.brokers) if arrival.fault.kind is FaultKind.ROLLING_RESTART else 1
    return arrival.time + steps * arrival.lasts + (steps - 1) * arrival.fault.gap


def _busy_periods(arrivals: list[Arrival], spec: ClusterSpec, gap: int) -> list[list[Arrival]]:
    """Return groups of arrivals: each is less than `gap` after the end of an earlier one. Arrivals without an effect count, too."""
    groups: list[list[Arrival]] = []
    until = 0
    for arrival in arrivals:
        if groups and arrival.time < until:
            groups[-1].append(arrival)
            until = max(until, _end_of(arrival, spec) + gap)
        else:
            groups.append([arrival])
            until = _end_of(arrival, spec) + gap
    return groups


def _weight(group: list[Arrival], faults: tuple[Fault, ...], drawn: tuple[Fault, ...], spec: ClusterSpec, gap: int) -> float:
    """Return the weight of a window (see the description of this module)."""
    length = max(_end_of(arrival, spec) for arrival in group) + gap - group[0].time
    exponent = 0.0
    for number, (fault, often) in enumerate(zip(faults, drawn, strict=True)):
        if fault.every != often.every:
            more = _count(fault, spec) * (1 / often.every - 1 / fault.every)
            seen = sum(arrival.order == number for arrival in group)
            exponent += more * (length + fault.lasts.expected + gap) - seen * math.log(fault.every / often.every)
    return math.exp(exponent)


def _node_of(fault: DrawnFault) -> str:
    act = fault.acts[0][1]
    match act:
        case Kill() | PowerLoss() | Shutdown() | Pause() | SlowDisk():
            return broker_address(act.broker)
        case Isolate() | KillController():
            return act.node
        case Cut():
            return act.between[0]
    raise ValueError(f"a fault does not begin with {act}")

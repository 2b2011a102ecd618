"""Draws random faults from a seed, and turns them into acts.

Each kind of fault has its own random streams, one for times and one for targets (`random.Random(f"{seed}:faults:…")`). Each fault uses the
same number of random draws, regardless of its target. Therefore, a seed has the same faults in every cell with the same number of
brokers, and nearly the same faults in other cells. If the target of a fault is already down, the fault has no effect. A rack outage,
however, can extend the downtime of a broker that is already down, because the outage affects whole machines.
"""

from __future__ import annotations

import random
from collections.abc import Iterable

import attrs

from core.kafka.ids import CONTROLLER, broker_address
from core.lab.acts import (
    Act,
    Cut,
    Heal,
    Isolate,
    Kill,
    KillController,
    Pause,
    PowerLoss,
    Resume,
    Shutdown,
    SlowDisk,
    Start,
    StartController,
)
from core.lab.spec import ClusterSpec
from scenarios.sweeps.grid.fault_model import Fault, FaultKind, exponential


@attrs.frozen
class HealLinks:
    """The end of an isolation: all cut links of a broker heal."""

    broker: int


FaultAct = Act | HealLinks
"""An act that is part of a fault."""


@attrs.frozen
class DrawnFault:
    """A fault that was drawn for a seed.

    Attributes:
        kind: the kind of fault.
        start: the time at which the fault begins, in µs from the start of the horizon.
        end: the time at which the fault ends.
        acts: the acts of the fault, each with its time.
    """

    kind: FaultKind
    start: int
    end: int
    acts: tuple[tuple[int, FaultAct], ...]


@attrs.define
class _Downtime:
    """An interval during which a broker's process is not running."""

    start: int
    end: int
    how: FaultKind
    act: Act


@attrs.define
class _BrokenParts:
    """The parts of a cluster that are broken at the current time, while faults are drawn in order of time."""

    spec: ClusterSpec
    down: dict[int, list[_Downtime]] = attrs.field(factory=dict)
    paused: dict[int, int] = attrs.field(factory=dict)
    slow: dict[int, int] = attrs.field(factory=dict)
    controllers: dict[str, int] = attrs.field(factory=dict)
    cut_until: dict[tuple[str, str], int] = attrs.field(factory=dict)
    others: list[DrawnFault] = attrs.field(factory=list)

    def is_down(self, broker: int, time: int) -> bool:
        """Whether the broker's process is down at the given time."""
        return any(interval.end > time for interval in self.down.get(broker, ())[-1:])

    def stop(self, broker: int, start: int, end: int, how: FaultKind, act: Act) -> None:
        """Stop a broker's process, unless the process is already down."""
        if not self.is_down(broker, start):
            self.down.setdefault(broker, []).append(_Downtime(start, end, how, act))
        elif how is FaultKind.RACK_OUTAGE:
            interval = self.down[broker][-1]
            interval.end = max(interval.end, end)


@attrs.frozen
class Arrival:
    """The arrival of a fault whose target is not known yet.

    Attributes:
        time: the time of the arrival, in µs from the start of the horizon.
        order: the place of the fault in the fault model.
        fault: the kind of fault.
        broker: the broker that is hit; None to select one.
        target, peer: numbers in [0, 1) that later select the target.
        lasts: the duration of the fault.
    """

    time: int
    order: int
    fault: Fault
    broker: int | None
    target: float
    peer: float
    lasts: int


def draw_faults(faults: tuple[Fault, ...], spec: ClusterSpec, seed: int, horizon: int) -> list[DrawnFault]:
    """Draw the faults of a seed, in order of time. Faults without an effect are left out.

    Args:
        faults: the fault model.
        spec: the cluster, which provides the brokers and racks.
        seed: the seed of the run.
        horizon: the time, in µs, before which all faults begin.
    """
    return faults_of(draw_arrivals(faults, spec, seed, horizon), spec)


def draw_arrivals(faults: tuple[Fault, ...], spec: ClusterSpec, seed: int, horizon: int) -> list[Arrival]:
    """Draw the arrivals of a seed, in order of time (see `draw_faults`)."""
    arrivals = [arrival for number, fault in enumerate(faults) for arrival in _draw_arrivals(fault, number, spec, seed, horizon)]
    return sorted(arrivals, key=lambda one: (one.time, one.order))


def faults_of(arrivals: Iterable[Arrival], spec: ClusterSpec) -> list[DrawnFault]:
    """Return the faults of arrivals that are in order of time. Faults without an effect are left out."""
    broken = _BrokenParts(spec)
    for arrival in arrivals:
        _apply(broken, arrival)
    found = broken.others + [
        DrawnFault(interval.how, interval.start, interval.end, ((interval.start, interval.act), (interval.end, Start(broker))))
        for broker, intervals in broken.down.items()
        for interval in intervals
    ]
    return sorted(found, key=lambda drawn: (drawn.start, drawn.end, str(drawn.acts)))


def dedicated_controllers(spec: ClusterSpec) -> list[str]:
    """Return the voters of the metadata quorum that have a process of their own. A voter that shares its process with a broker dies
    together with the broker."""
    return [name for name in spec.controllers if name.startswith("c")]


def _draw_arrivals(fault: Fault, number: int, spec: ClusterSpec, seed: int, horizon: int) -> list[Arrival]:
    """Draw the arrivals of faults of one kind, for the cluster or for each broker."""
    found = []
    for broker in [each.id for each in spec.brokers] if fault.each_broker else [None]:
        name = f"{seed}:faults:{fault.kind}" + ("" if broker is None else f":{broker}")
        when, whom = random.Random(f"{name}:when"), random.Random(f"{name}:whom")
        regular = fault.kind is FaultKind.ROLLING_RESTART
        time = round(when.random() * fault.every) if regular else round(exponential(when) * fault.every)
        while time < horizon:
            found.append(Arrival(time, number, fault, broker, whom.random(), whom.random(), fault.lasts.draw(when)))
            time += fault.every if regular else max(1, round(exponential(when) * fault.every))
    return found


def _apply(broken: _BrokenParts, arrival: Arrival) -> None:
    """Apply a fault. Its effect depends on the state in which earlier faults have left the cluster."""
    fault, time, end = arrival.fault, arrival.time, arrival.time + arrival.lasts
    brokers = [each.id for each in broken.spec.brokers]
    broker = brokers[int(arrival.target * len(brokers))] if arrival.broker is None else arrival.broker
    name = broker_address(broker)
    match fault.kind:
        case FaultKind.CRASH:
            broken.stop(broker, time, end, fault.kind, Kill(broker))
        case FaultKind.POWER_LOSS:
            broken.stop(broker, time, end, fault.kind, PowerLoss(broker))
        case FaultKind.RACK_OUTAGE:
            racks = list(dict.fromkeys(each.rack or name for each in broken.spec.brokers))
            rack = racks[int(arrival.target * len(racks))]
            for each in broken.spec.brokers:
                if each.rack == rack:
                    broken.stop(each.id, time, end, fault.kind, PowerLoss(each.id) if fault.power else Kill(each.id))
            zone = [node for zone in broken.spec.zones if zone.name == rack for node in zone.nodes]
            for name in dedicated_controllers(broken.spec):
                if name in zone:
                    _stop_controller(broken, name, arrival)
        case FaultKind.ROLLING_RESTART:
            for one in brokers:
                broken.stop(one, time, time + arrival.lasts, fault.kind, Shutdown(one))
                time += arrival.lasts + fault.gap
        case FaultKind.PAUSE:
            if not broken.is_down(broker, time) and broken.paused.get(broker, -1) < time:
                broken.paused[broker] = end
                broken.others.append(DrawnFault(fault.kind, time, end, ((time, Pause(broker)), (end, Resume(broker)))))
        case FaultKind.CONTROLLER_CRASH:
            dedicated = dedicated_controllers(broken.spec)
            _stop_controller(broken, dedicated[int(arrival.target * len(dedicated))], arrival)
        case FaultKind.SLOW_DISK:
            if broken.slow.get(broker, -1) < time:
                broken.slow[broker] = end
                broken.others.append(DrawnFault(fault.kind, time, end, ((time, SlowDisk(broker, fault.delay)), (end, SlowDisk(broker, 0)))))
        case FaultKind.CUT | FaultKind.ISOLATE:
            _cut(broken, arrival, broker, end)


def _stop_controller(broken: _BrokenParts, name: str, arrival: Arrival) -> None:
    """Kill a dedicated controller, unless it is already down."""
    time, end = arrival.time, arrival.time + arrival.lasts
    if broken.controllers.get(name, -1) < time:
        broken.controllers[name] = end
        broken.others.append(DrawnFault(arrival.fault.kind, time, end, ((time, KillController(name)), (end, StartController(name)))))


def _cut(broken: _BrokenParts, arrival: Arrival, broker: int, end: int) -> None:
    """Cut one link of a broker, or all of its links. If the broker or the selected peer is still affected by an earlier cut, do nothing."""
    name, time = broker_address(broker), arrival.time
    peers = [broker_address(each.id) for each in broken.spec.brokers if each.id != broker] if arrival.fault.brokers else []
    if arrival.fault.controller:
        peers.append(CONTROLLER)
    peer = "" if arrival.fault.kind is FaultKind.ISOLATE else peers[int(arrival.peer * len(peers))]
    busy = [pair for pair, until in broken.cut_until.items() if until >= time]
    if any(name in pair or peer in pair for pair in busy):
        return
    broken.cut_until[name, peer] = end
    first = Cut((name, peer)) if peer else Isolate(name)
    # A different broker might be the controller by then.
    last = Heal((name, peer)) if peer and peer != CONTROLLER else HealLinks(broker)
    broken.others.append(DrawnFault(arrival.fault.kind, time, end, ((time, first), (end, last))))

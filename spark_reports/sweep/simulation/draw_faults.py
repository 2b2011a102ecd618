"""Draws the faults of a seed, and turns them into acts.

Each kind of fault has random streams of its own, one for times and one for targets (`random.Random(f"{seed}:faults:…")`). Each fault
takes the same number of draws whatever it hits. So a seed has the same faults in every cell with the same number of brokers, and nearly
the same faults in other cells. If the target of a fault is already down, the fault does nothing. Only a rack outage, which takes the
machine, prolongs a downtime.
"""

from __future__ import annotations

import random
from typing import Final

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
from spark_reports.sweep.grid.fault_model import Fault, FaultKind, exponential

REJOIN: Final = "rejoin"


@attrs.frozen
class HealLinks:
    """The end of an isolation: every cut link of a broker heals, however many there are by then."""

    broker: int


FaultAct = Act | HealLinks
"""What is done at a moment."""


@attrs.frozen
class DrawnFault:
    """A fault of a seed: when it begins, what is done when (times are of the horizon, µs), and when it is over."""

    kind: FaultKind
    start: int
    end: int
    deeds: tuple[tuple[int, FaultAct], ...]


@attrs.define
class _Downtime:
    """A stretch in which a broker's process does not run."""

    start: int
    end: int
    how: FaultKind
    act: Act


@attrs.define
class _BrokenParts:
    """What is wrong with whom, while faults are drawn in order of time."""

    spec: ClusterSpec
    down: dict[int, list[_Downtime]] = attrs.field(factory=dict)
    stalled: dict[int, int] = attrs.field(factory=dict)
    slow: dict[int, int] = attrs.field(factory=dict)
    controllers: dict[str, int] = attrs.field(factory=dict)
    cut_until: dict[tuple[str, str], int] = attrs.field(factory=dict)
    others: list[DrawnFault] = attrs.field(factory=list)

    def is_down(self, broker: int, time: int) -> bool:
        """Whether its process does not run at a time."""
        return any(spell.end > time for spell in self.down.get(broker, ())[-1:])

    def take_down(self, broker: int, start: int, end: int, how: FaultKind, act: Act) -> None:
        """A process ends, unless it has already."""
        if not self.is_down(broker, start):
            self.down.setdefault(broker, []).append(_Downtime(start, end, how, act))
        elif how is FaultKind.RACK_OUTAGE:
            spell = self.down[broker][-1]
            spell.end = max(spell.end, end)


@attrs.frozen
class _Arrival:
    """A fault before it is known what it meets: `whom` and `other` pick the victim, both in [0, 1)."""

    time: int
    order: int
    fault: Fault
    broker: int | None
    whom: float
    other: float
    lasts: int


def draw_faults(faults: tuple[Fault, ...], spec: ClusterSpec, seed: int, horizon: int) -> list[DrawnFault]:
    """The faults of a seed in order of time; those that meet nothing to harm are left out.

    Args:
        faults: the model.
        spec: the cluster, for its brokers and racks.
        seed: of the run.
        horizon: faults begin before it, µs.
    """
    model = _BrokenParts(spec)
    moments = [moment for number, fault in enumerate(faults) for moment in _draw_arrivals(fault, number, spec, seed, horizon)]
    for moment in sorted(moments, key=lambda one: (one.time, one.order)):
        _apply(model, moment)
    found = model.others + [
        DrawnFault(spell.how, spell.start, spell.end, ((spell.start, spell.act), (spell.end, Start(broker))))
        for broker, spells in model.down.items()
        for spell in spells
    ]
    return sorted(found, key=lambda drawn: (drawn.start, drawn.end, str(drawn.deeds)))


def dedicated_controllers(spec: ClusterSpec) -> list[str]:
    """Voters of the metadata quorum with a process of their own; the others die with their brokers."""
    return [name for name in spec.controllers if name.startswith("c")]


def _draw_arrivals(fault: Fault, number: int, spec: ClusterSpec, seed: int, horizon: int) -> list[_Arrival]:
    """When faults of one kind come, over the cluster or for each broker."""
    found = []
    for broker in [each.id for each in spec.brokers] if fault.each_broker else [None]:
        name = f"{seed}:faults:{fault.kind}" + ("" if broker is None else f":{broker}")
        when, whom = random.Random(f"{name}:when"), random.Random(f"{name}:whom")
        regular = fault.kind is FaultKind.ROLLING_RESTART
        time = round(when.random() * fault.every) if regular else round(exponential(when) * fault.every)
        while time < horizon:
            found.append(_Arrival(time, number, fault, broker, whom.random(), whom.random(), fault.lasts.draw(when)))
            time += fault.every if regular else max(1, round(exponential(when) * fault.every))
    return found


def _apply(model: _BrokenParts, moment: _Arrival) -> None:
    """One fault meets the cluster as the ones before have left it."""
    fault, time, end = moment.fault, moment.time, moment.time + moment.lasts
    brokers = [each.id for each in model.spec.brokers]
    broker = brokers[int(moment.whom * len(brokers))] if moment.broker is None else moment.broker
    name = broker_address(broker)
    match fault.kind:
        case FaultKind.CRASH:
            model.take_down(broker, time, end, fault.kind, Kill(broker))
        case FaultKind.POWER_LOSS:
            model.take_down(broker, time, end, fault.kind, PowerLoss(broker))
        case FaultKind.RACK_OUTAGE:
            racks = list(dict.fromkeys(each.rack or name for each in model.spec.brokers))
            rack = racks[int(moment.whom * len(racks))]
            for each in model.spec.brokers:
                if each.rack == rack:
                    model.take_down(each.id, time, end, fault.kind, PowerLoss(each.id) if fault.power else Kill(each.id))
        case FaultKind.ROLLING_RESTART:
            for one in brokers:
                model.take_down(one, time, time + moment.lasts, fault.kind, Shutdown(one))
                time += moment.lasts + fault.gap
        case FaultKind.PAUSE:
            if not model.is_down(broker, time) and model.stalled.get(broker, -1) < time:
                model.stalled[broker] = end
                model.others.append(DrawnFault(fault.kind, time, end, ((time, Pause(broker)), (end, Resume(broker)))))
        case FaultKind.CONTROLLER_CRASH:
            dedicated = dedicated_controllers(model.spec)
            name = dedicated[int(moment.whom * len(dedicated))]
            if model.controllers.get(name, -1) < time:
                model.controllers[name] = end
                model.others.append(DrawnFault(fault.kind, time, end, ((time, KillController(name)), (end, StartController(name)))))
        case FaultKind.SLOW_DISK:
            if model.slow.get(broker, -1) < time:
                model.slow[broker] = end
                model.others.append(DrawnFault(fault.kind, time, end, ((time, SlowDisk(broker, fault.delay)), (end, SlowDisk(broker, 0)))))
        case FaultKind.CUT | FaultKind.ISOLATE:
            _cut(model, moment, broker, end)


def _cut(model: _BrokenParts, moment: _Arrival, broker: int, end: int) -> None:
    """Links of a broker are cut, unless a cut of one of the two ends is not healed yet."""
    name, time = broker_address(broker), moment.time
    peers = [broker_address(each.id) for each in model.spec.brokers if each.id != broker] if moment.fault.brokers else []
    if moment.fault.controller:
        peers.append(CONTROLLER)
    peer = "" if moment.fault.kind is FaultKind.ISOLATE else peers[int(moment.other * len(peers))]
    busy = [pair for pair, until in model.cut_until.items() if until >= time]
    if any(name in pair or peer in pair for pair in busy):
        return
    model.cut_until[name, peer] = end
    first = Cut((name, peer)) if peer else Isolate(name)
    # Who is controller may have changed by the end.
    last = Heal((name, peer)) if peer and peer != CONTROLLER else HealLinks(broker)
    model.others.append(DrawnFault(moment.fault.kind, time, end, ((time, first), (end, last))))

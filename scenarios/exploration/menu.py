"""The menu of a search: the faults that can happen to a cluster at a moment, and the acts that end them."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from itertools import combinations
from typing import Final

import attrs

from core.kafka.broker.broker_state import BrokerState
from core.kafka.ids import broker_address, broker_at
from core.lab.acts import (
    Act,
    Cut,
    CutZone,
    FailDir,
    FailZone,
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
from core.lab.cluster import Cluster
from core.sim.units import SECOND

SLOW: Final = 60 * SECOND
"""How long each write to a slow disk takes, in µs."""


@attrs.frozen
class Fault:
    """A kind of fault.

    Attributes:
        word: the name of the kind, as the option `--faults` takes it.
        does: what happens, in words.
        acts: a function that yields the acts of this kind that are possible in a cluster now.
        gradual: whether nodes go on serving clients while it takes effect, so that it matters which batches it meets.
    """

    word: str
    does: str
    acts: Callable[[Cluster], Iterator[Act]]
    gradual: bool = False


def _running(cluster: Cluster) -> list[int]:
    """Return the brokers whose processes run, and are not paused."""
    return [
        broker.id
        for broker in cluster.brokers.values()
        if broker.context.state in (BrokerState.RUNNING, BrokerState.STARTING) and broker.address not in cluster.paused
    ]


def _cut(cluster: Cluster) -> set[tuple[str, str]]:
    return {direction for direction, link in cluster.network.links.items() if link.cut}


def _isolations(cluster: Cluster) -> Iterator[Act]:
    cut = {node for direction in _cut(cluster) for node in direction}
    return (Isolate(broker_address(number)) for number in _running(cluster) if broker_address(number) not in cut)


def _cuts(cluster: Cluster) -> Iterator[Act]:
    cut = _cut(cluster)
    for pair in combinations(map(broker_address, _running(cluster)), 2):
        if pair not in cut:
            yield Cut(pair)


def _zone_failures(cluster: Cluster) -> Iterator[Act]:
    for zone in cluster.spec.zones:
        if any(cluster.network.alive.get(node) for node in zone.nodes if node not in cluster.clients):
            yield FailZone(zone.name, unflushed="lost")


def _zone_cuts(cluster: Cluster) -> Iterator[Act]:
    cut = {node for direction in _cut(cluster) for node in direction}
    return (CutZone(zone.name) for zone in cluster.spec.zones if not cut.intersection(zone.nodes))


FAULTS: Final[Mapping[str, Fault]] = {
    fault.word: fault
    for fault in (
        Fault("kill", "a broker's process dies (kill -9)", lambda cluster: map(Kill, _running(cluster))),
        Fault(
            "power-loss",
            "a broker's machine loses power, and everything that was not flushed",
            lambda cluster: (PowerLoss(number, unflushed="lost") for number in _running(cluster)),
        ),
        Fault("pause", "a broker's process pauses", lambda cluster: map(Pause, _running(cluster))),
        Fault("shutdown", "a broker is shut down cleanly", lambda cluster: map(Shutdown, _running(cluster)), gradual=True),
        Fault("isolate", "all links of a broker are cut", _isolations),
        Fault("cut", "the link between two brokers is cut", _cuts),
        Fault(
            "slow-disk",
            f"each write to a broker's disk takes {SLOW // SECOND} s",
            lambda cluster: (SlowDisk(number, SLOW) for number in _running(cluster) if not cluster.brokers[number].log_directories.slow),
        ),
        Fault(
            "fail-dir",
            "a log directory of a broker fails",
            lambda cluster: (
                FailDir(number, directory)
                for number in _running(cluster)
                for directory in range(1, len(cluster.brokers[number].disk.dirs) + 1)
                if directory not in cluster.brokers[number].disk.failed_dirs
            ),
        ),
        Fault(
            "kill-controller",
            "the process of a dedicated controller dies",
            lambda cluster: (KillController(name) for name in cluster.controllers if cluster.network.alive.get(name)),
        ),
        Fault("fail-zone", "all brokers and controllers of a zone lose power, and everything that was not flushed", _zone_failures),
        Fault("cut-zone", "all links between a zone and other nodes are cut", _zone_cuts),
    )
}
"""All kinds of faults, by word."""

USUAL: Final = ("kill", "power-loss", "pause", "isolate")
"""The kinds that a search tries unless others are named."""


def remedies(cluster: Cluster) -> Iterator[Act]:
    """Yield the acts that end a fault, which cost nothing: starting, resuming, healing, and restoring the speed of a disk."""
    for broker in cluster.brokers.values():
        if broker.context.state is BrokerState.STOPPED and len(broker.disk.failed_dirs) < len(broker.disk.dirs):
            yield Start(broker.id)
        elif broker.context.state is not BrokerState.STOPPED and broker.address in cluster.paused:
            yield Resume(broker.id)
        if broker.log_directories.slow and broker.context.state is not BrokerState.STOPPED:
            yield SlowDisk(broker.id, 0)
    if _cut(cluster):
        yield Heal()
    for name in cluster.controllers:
        if not cluster.network.alive.get(name):
            yield StartController(name)


def is_fault(act: Act) -> bool:
    """Return whether an act of a search is a fault; otherwise, it ends one."""
    return not (isinstance(act, (Start, Resume, Heal, StartController)) or (isinstance(act, SlowDisk) and not act.delay))


def brokers_of(act: Act) -> tuple[int, ...]:
    """Return the brokers that an act of a search names."""
    if isinstance(act, Cut):
        named = [broker_at(node) for node in act.between]
    else:
        named = [broker_at(act.node) if isinstance(act, Isolate) else getattr(act, "broker", None)]
    return tuple([each for each in named if each is not None])

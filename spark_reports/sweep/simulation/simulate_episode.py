"""Simulates one episode of a run, and measures it.

An act that is impossible when its time comes is left out: a broker that did not come back cannot crash again. `EpisodeResult.acts` lists
the acts that were executed, so that a scenario of them replays the episode exactly.
"""

from __future__ import annotations

from typing import Any

import attrs

from core.kafka.broker.broker_state import BrokerState
from core.kafka.health import is_offline, is_under_replicated
from core.kafka.ids import broker_address
from core.lab.acts import Act, Consume, Heal
from core.lab.cluster import Cluster
from core.sim.errors import ActRefused
from core.sim.journal import Sink
from core.sim.units import SECOND
from spark_reports.sweep.grid.grid import Cell, Grid
from spark_reports.sweep.simulation.draw_faults import FaultAct, HealLinks
from spark_reports.sweep.simulation.episode_meter import ACKS_ALL, Meter
from spark_reports.sweep.simulation.episodes import Episode

HEAL_STEP = 30 * SECOND
"""How much longer a stretch gets at a time while its cluster is not whole."""

MAX_HEAL = 900 * SECOND
"""How much longer it gets at most."""


@attrs.frozen
class EpisodeResult:
    """What an episode came to.

    Attributes:
        episode: which.
        end: virtual time at which it ended, µs.
        acts: what was done, with its time.
        events: of the journal.
        meter: what was measured.
        lost: records that are gone for good, acknowledged or read, each once; lost_acknowledged, lost_read: as in `core.lab.durability_account`.
        duplicated: records appended again by retries.
        whole: whether every partition had a leader and a full ISR at the end.
    """

    episode: Episode
    end: int
    acts: tuple[tuple[int, Act], ...]
    events: int
    meter: Meter
    lost: int
    lost_acknowledged: int
    lost_read: int
    duplicated: int
    whole: bool


def simulate_episode(grid: Grid, cell: Cell, episode: Episode, sink: Sink | None = None) -> EpisodeResult:
    """Run an episode to its end; `sink` sees its events."""
    topics: dict[str, bool] = {}
    for producing in cell.producers:
        topics[producing.topic] = topics.get(producing.topic, False) or producing.acks in ACKS_ALL
    clients = [producing.name for producing in cell.producers] + [f"reader-{topic}" for topic in grid.consumers]
    meter = Meter(topics, clients)

    def both(event: tuple[Any, ...]) -> None:
        assert sink is not None
        meter.sink(event)
        sink(event)

    cluster = Cluster(cell.spec, cell.release, episode.seed, meter.sink if sink is None else both)
    meter.begin(cluster)
    acts: list[tuple[int, Act]] = []
    for topic in grid.consumers:
        _do(cluster, Consume(topic, f"reader-{topic}"), acts)
    for time, deed in episode.deeds:
        meter.watch(cluster, time)
        for act in _acts_of(cluster, deed):
            _do(cluster, act, acts)
    end = episode.end
    meter.watch(cluster, end)
    while not (whole := _has_recovered(cluster)) and not episode.final and end < episode.end + MAX_HEAL:
        end += HEAL_STEP
        meter.watch(cluster, end)
    meter.finish(cluster)
    account = cluster.account
    return EpisodeResult(
        episode=episode,
        end=end,
        acts=tuple(acts),
        events=cluster.journal.seq,
        meter=meter,
        lost=account.lost,
        lost_acknowledged=account.lost_acknowledged,
        lost_read=account.lost_read,
        duplicated=account.duplicated,
        whole=whole,
    )


def _acts_of(cluster: Cluster, deed: FaultAct) -> list[Act]:
    if not isinstance(deed, HealLinks):
        return [deed]
    name = broker_address(deed.broker)
    pairs = [direction for direction, link in cluster.network.links.items() if link.cut and name in direction]
    return [Heal((name, peer)) for peer in dict.fromkeys(one if other == name else other for one, other in pairs)]


def _do(cluster: Cluster, act: Act, done: list[tuple[int, Act]]) -> None:
    try:
        cluster.do(act)
    except ActRefused:
        return
    done.append((cluster.now, act))


def _has_recovered(cluster: Cluster) -> bool:
    """Whether every broker runs and every partition has its leader and a full ISR."""
    return all(broker.state is BrokerState.RUNNING for broker in cluster.brokers.values()) and all(
        not is_offline(registration) and not is_under_replicated(registration)
        for registration in cluster.controller.replication.partitions.values()
    )

"""Simulates and measures one episode of a run.

If an act is not possible at its scheduled time, the simulation skips it. For example, the simulation skips the crash of a broker that has
not come back. `EpisodeResult.acts` lists the acts that were executed, so that a scenario with these acts replays the episode exactly.
"""

from __future__ import annotations

from typing import Any, Final

import attrs

from core.kafka.broker.broker_state import BrokerState
from core.kafka.clients.client_config import default_acks
from core.kafka.health import is_offline, is_under_replicated
from core.kafka.ids import broker_address
from core.lab.acts import Act, Consume, Heal
from core.lab.cluster import Cluster
from core.sim.errors import ActRefused
from core.sim.journal import Sink
from core.sim.units import SECOND
from scenarios.sweeps.simulation.draw_faults import FaultAct, HealLinks
from scenarios.sweeps.simulation.kafka.cell import KafkaCell
from scenarios.sweeps.simulation.kafka.episode_meter import ACKS_ALL, EpisodeMeter
from scenarios.sweeps.simulation.kafka.episodes import Episode

HEAL_STEP: Final = 30 * SECOND
"""The time, in µs, by which an episode is extended each time it ends before the cluster has recovered."""

MAX_HEAL: Final = 900 * SECOND
"""The maximum total time, in µs, by which an episode can be extended."""


@attrs.frozen
class EpisodeResult:
    """The result of an episode.

    Attributes:
        episode: the episode that was simulated.
        end: the virtual time at which the episode ended, in µs.
        acts: the acts that were executed, each with its time.
        events: the number of events that the episode recorded.
        meter: the meter that contains the measurements of the episode.
        lost: the number of permanently lost records; each record counts once.
        lost_acknowledged: the number of lost records that were acknowledged (`core.lab.accounts.durability_account`).
        lost_read: the number of lost records that a consumer has read (`core.lab.accounts.durability_account`).
        duplicated: the number of records that retries appended again.
        recovered: whether, at the end, all brokers are running and every partition has a leader and a full ISR.
    """

    episode: Episode
    end: int
    acts: tuple[tuple[int, Act], ...]
    events: int
    meter: EpisodeMeter
    lost: int
    lost_acknowledged: int
    lost_read: int
    duplicated: int
    recovered: bool


def simulate_episode(cell: KafkaCell, episode: Episode, sink: Sink | None = None) -> EpisodeResult:
    """Simulate an episode to its end, and pass its events to `sink`."""
    topics: dict[str, bool] = {}
    for producing in cell.producers:
        acks = default_acks(cell.spec.clients, cell.release) if producing.acks is None else producing.acks
        topics[producing.topic] = topics.get(producing.topic, False) or acks in ACKS_ALL
    clients = [producing.name for producing in cell.producers] + [f"reader-{topic}" for topic in cell.consumers]
    meter = EpisodeMeter(topics, clients)

    def both(event: tuple[Any, ...]) -> None:
        assert sink is not None
        meter.sink(event)
        sink(event)

    cluster = Cluster(cell.spec, cell.release, episode.seed, meter.sink if sink is None else both)
    meter.begin(cluster)
    executed: list[tuple[int, Act]] = []
    for topic in cell.consumers:
        _do(cluster, Consume(topic, f"reader-{topic}"), executed)
    for time, planned in episode.acts:
        meter.watch(cluster, time)
        for act in _acts_of(cluster, planned):
            _do(cluster, act, executed)
    end = episode.end
    meter.watch(cluster, end)
    while not (recovered := _has_recovered(cluster)) and not episode.final and end < episode.end + MAX_HEAL:
        end += HEAL_STEP
        meter.watch(cluster, end)
    meter.finish(cluster)
    account = cluster.account
    return EpisodeResult(
        episode=episode,
        end=end,
        acts=tuple(executed),
        events=cluster.journal.seq,
        meter=meter,
        lost=account.lost,
        lost_acknowledged=account.lost_acknowledged,
        lost_read=account.lost_read,
        duplicated=account.duplicated,
        recovered=recovered,
    )


def _acts_of(cluster: Cluster, act: FaultAct) -> list[Act]:
    if not isinstance(act, HealLinks):
        return [act]
    name = broker_address(act.broker)
    pairs = [direction for direction, link in cluster.network.links.items() if link.cut and name in direction]
    return [Heal((name, peer)) for peer in dict.fromkeys(one if other == name else other for one, other in pairs)]


def _do(cluster: Cluster, act: Act, done: list[tuple[int, Act]]) -> None:
    try:
        cluster.do(act)
    except ActRefused:
        return
    done.append((cluster.now, act))


def _has_recovered(cluster: Cluster) -> bool:
    """Whether every broker is running, and every partition has a leader and a full ISR."""
    return all(broker.context.state is BrokerState.RUNNING for broker in cluster.brokers.values()) and all(
        not is_offline(registration) and not is_under_replicated(registration)
        for registration in cluster.controller.registry.partitions.values()
    )

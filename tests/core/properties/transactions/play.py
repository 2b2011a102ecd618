"""Plays a timeline of the transactional swarm, and reports the harm that it does."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from typing import Final

import attrs

from core.kafka.broker.broker_state import BrokerState
from core.kafka.ids import broker_address
from core.kafka.release import Release
from core.lab import acts
from core.lab.cluster import Cluster
from core.sim.journal import null_sink
from core.sim.units import SECOND, US_PER_MS
from tests.core.properties.timelines import DEFAULT_LATENCY, attempt
from tests.core.properties.transactions.applications import SOURCE, Bank, Worker
from tests.core.properties.transactions.deeds import Deed, HoldClient, Lead, Lose, ReleaseHeld, Rest, TakeOver
from tests.core.properties.transactions.timeline import TransactionalTimeline
from tests.core.properties.transactions.verdict import HALF_PROCESSED, NEVER, TWICE, is_quiet, verdict

TICK: Final = 20 * US_PER_MS
"""How often applications look at their clients, in µs."""

QUIET_WITHIN: Final = 240 * SECOND
"""The virtual time after which a healed cluster must have ended all transactions: all timeouts are shorter."""

Sink = Callable[[tuple], None]


@attrs.define
class Session:
    """A run of a timeline: the cluster and its applications."""

    cluster: Cluster
    banks: list[Bank]
    worker: Worker

    def run(self, time: int) -> None:
        """Take the cluster to a time; the applications act on the way."""
        cluster = self.cluster
        while cluster.now < time:
            cluster.run_until(min(cluster.now + TICK, time))
            for bank in self.banks:
                bank.look(cluster)
            self.worker.look(cluster)

    def do(self, deed: Deed) -> None:
        """Do what a step says, if it is possible."""
        cluster = self.cluster
        match deed:
            case TakeOver(application):
                self.banks[application].take_over(cluster.now)
            case Lose(application):
                self.banks[application].lose(cluster)
            case Rest(application):
                self.banks[application].rest()
            case Lead(partition, broker):
                registration = cluster.controller.registry.partitions.get(partition)
                if registration is not None and broker in registration.replicas:
                    others = tuple(each for each in registration.replicas if each != broker)
                    attempt(cluster, acts.Reassign(partition, (broker, *others)))
                    self.run(cluster.now + 100 * US_PER_MS)
                    attempt(cluster, acts.Elect(partition=partition))
            case HoldClient(application, broker, requests):
                client, address = self.banks[application].instances[-1].name, broker_address(broker)
                attempt(cluster, acts.Hold((client, address) if requests else (address, client)))
            case ReleaseHeld(number):
                held = [direction for direction, link in cluster.network.links.items() if link.held]
                if held:
                    attempt(cluster, acts.Release(held[number % len(held)]))
            case _:
                attempt(cluster, deed)


def play(timeline: TransactionalTimeline, release: Release, sink: Sink | None = None) -> Session:
    """Play a timeline until its last step."""
    cluster = Cluster(timeline.spec(release), release, timeline.seed, sink)
    banks, worker = timeline.applications()
    session = Session(cluster, banks, worker)
    cluster.do(acts.Produce(SOURCE, 6, producer="input"))
    for bank in banks:
        bank.take_over(0)
    session.run(2 * SECOND)
    for wait, deed in timeline.steps:
        session.run(cluster.now + wait)
        session.do(deed)
    return session


def heal(session: Session) -> None:
    """Make everything work again, and let the applications end their work."""
    cluster = session.cluster
    for src, dst in [direction for direction, link in cluster.network.links.items() if link.held]:
        cluster.do(acts.Release((src, dst)))
    for src, dst in list(cluster.network.links):
        cluster.do(acts.Link((src, dst), latency=DEFAULT_LATENCY, jitter=0, loss_ppm=0))
    attempt(cluster, acts.Heal())
    for broker in cluster.brokers:
        attempt(cluster, acts.Resume(broker))
    end = cluster.now + QUIET_WITHIN
    session.worker.last = True
    for bank in session.banks:
        bank.finish(cluster.now)
    while cluster.now < end:
        for broker in cluster.brokers.values():
            if broker.context.state is BrokerState.STOPPED:
                attempt(cluster, acts.Start(broker.id))
        session.run(min(end, cluster.now + SECOND))
        if is_quiet(cluster, session.banks):
            return


def harms(
    timeline: TransactionalTimeline, release: Release, sink: Sink | None = None, ended: Callable[[Cluster], object] = null_sink
) -> Counter[str]:
    """Play a timeline, heal it, and return the harms by kind. `ended` receives the healed cluster."""
    events: Counter[str] = Counter()

    def count(event: tuple) -> None:
        events[event[3]] += 1
        if sink is not None:
            sink(event)

    session = play(timeline, release, count)
    heal(session)
    ended(session.cluster)
    found = verdict(session.cluster, session.banks)
    for kind in (TWICE, HALF_PROCESSED, NEVER):
        found[kind] += events[kind]
    return +found

"""Plays a timeline of the swarm of groups, lets everything come to rest, and returns the differences."""

from __future__ import annotations

from typing import Final

from core.kafka.broker.broker_state import BrokerState
from core.kafka.clients.producer.producer import Producer
from core.kafka.ids import NO_LEADER, TopicPartition
from core.kafka.transaction.transaction_log import GROUP_METADATA_TOPIC
from core.lab import acts
from core.lab.cluster import Cluster
from core.sim.journal import Sink, null_sink
from core.sim.units import SECOND
from tests.core.properties.groups.notebook import Notebook
from tests.core.properties.groups.timeline import CONSUMED, GROUP, MEMBERS, Deed, GroupTimeline, KillCoordinator, KillLeader
from tests.core.properties.timelines import attempt

QUIET_WITHIN: Final = 300 * SECOND
"""The virtual time after which everything must be at rest. All timeouts are shorter."""


def _do(cluster: Cluster, deed: Deed) -> None:
    match deed:
        case KillCoordinator():
            _kill_leader(cluster, TopicPartition(GROUP_METADATA_TOPIC, 0))
        case KillLeader(number):
            tps = [TopicPartition(topic, each) for topic, count in CONSUMED.items() for each in range(count)]
            _kill_leader(cluster, tps[number % len(tps)])
        case _:
            attempt(cluster, deed)


def _kill_leader(cluster: Cluster, tp: TopicPartition) -> None:
    registration = cluster.controller.registry.partitions.get(tp)
    if registration is not None and registration.leader != NO_LEADER:
        attempt(cluster, acts.Kill(registration.leader))


def play(timeline: GroupTimeline, sink: Sink = null_sink) -> tuple[Cluster, Notebook]:
    """Play a timeline, and let everything come to rest. `sink` also receives the events."""
    notebook = Notebook()

    def both(event: tuple) -> None:
        sink(event)
        notebook(event)

    cluster = Cluster(timeline.spec(), timeline.kafka, timeline.seed, both)
    notebook.attach(cluster)
    cluster.run_until(SECOND)
    for act in timeline.opening:
        cluster.do(act)
    cluster.run_until(2 * SECOND)
    for wait, deed in timeline.steps:
        cluster.run_until(cluster.now + wait)
        _do(cluster, deed)
    heal(cluster, timeline)
    return cluster, notebook


def heal(cluster: Cluster, timeline: GroupTimeline) -> None:
    """Repair and start everything, stop the producers, and wait until nothing is left to do."""
    attempt(cluster, acts.Heal())
    for broker in (1, 2, 3):
        attempt(cluster, acts.Resume(broker))
    for name in MEMBERS:
        attempt(cluster, acts.ThawConsumer(name))
    attempt(cluster, acts.FailProcessing(0))  # blocking retries would take minutes
    end = cluster.now + QUIET_WITHIN
    stopped = cluster.now + 20 * SECOND
    while cluster.now < end:
        for broker in cluster.brokers.values():
            if broker.context.state is BrokerState.STOPPED:
                attempt(cluster, acts.Start(broker.id))
        for service in ("delay", "app"):
            running = {worker.running for worker in cluster.clients.workers(service) if worker.does.membership is None}
            if running == {True, False}:  # a service whose workers are not members of groups starts again only as a whole
                attempt(cluster, acts.KillService(service))
        for act in timeline.opening:
            if isinstance(act, acts.JoinGroup | acts.StartDelayService | acts.StartRetryService | acts.StartProcess):
                attempt(cluster, act)
            elif isinstance(act, acts.Load) and cluster.now >= stopped:
                attempt(cluster, acts.StopLoad(act.producer))
        cluster.run_until(cluster.now + 2 * SECOND)
        if cluster.now > stopped + 10 * SECOND and not unfinished(cluster, timeline):
            cluster.run_until(cluster.now + 6 * SECOND)
            if not unfinished(cluster, timeline):
                return


def unfinished(cluster: Cluster, timeline: GroupTimeline) -> list[str]:
    """Return what is not at rest: partitions without an owner, and records that still have to be read or committed."""
    found = []
    logs = cluster.account.leader_logs()
    reports = {report.name: report for report in cluster.group_report()}
    if GROUP not in reports or reports[GROUP].state != "Stable":
        found.append(f"group {GROUP} is {reports[GROUP].state if GROUP in reports else 'unknown'}")
        return found
    members = [view for view in cluster.view().members if view.running]
    owned = sorted(tp for view in members for tp in view.owned)
    tps = [TopicPartition(topic, number) for topic, count in CONSUMED.items() for number in range(count)]
    if owned != tps:
        found.append(f"owned: {owned}")
    positions = {tp: at for view in members for tp, at in view.positions}
    found += [f"{tp} is read to {positions.get(tp)} of {logs[tp].leo}" for tp in tps if positions.get(tp) != logs[tp].leo]
    for client in cluster.clients.values():
        if isinstance(client, Producer) and client.sender.has_incomplete_batches():
            found.append(f"{client.name} has batches")
    found += [
        f"{worker.name} does not run" for service in ("delay", "app") for worker in cluster.clients.workers(service) if not worker.running
    ]
    for process in cluster.view().processes:
        if process.running and process.processed + process.never_processed + process.half_visible < process.input:
            found.append(f"{process.name} has processed {process.processed} of {process.input}")
    found += [f"{view.name} holds {view.held}" for view in cluster.view().services if view.held]
    found += [f"{view.name} has {view.waiting}" for view in cluster.view().retries if view.waiting]
    return found

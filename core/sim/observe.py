"""Takes the frozen views of `core.view` from a running cluster; looks at everything and changes nothing."""

from __future__ import annotations

from typing import TYPE_CHECKING

from core.broker.broker import Broker
from core.clients.consumer import Consumer
from core.clients.producer import Producer
from core.controller.registration import PartitionRegistration
from core.ids import NO_LEADER, TopicPartition
from core.settings import render_value
from core.view import (
    BrokerState,
    BrokerView,
    ClusterView,
    ConsumerView,
    PartitionStatus,
    PartitionView,
    ProducerView,
    ReplicaView,
    TopicView,
)

if TYPE_CHECKING:
    from core.sim.cluster import Cluster


def status_of(registration: PartitionRegistration, min_isr: int) -> PartitionStatus:
    """How well a partition is; `min_isr` is the effective one."""
    if registration.leader == NO_LEADER:
        return PartitionStatus.OFFLINE
    in_sync = len(registration.isr)
    if in_sync < min_isr:
        return PartitionStatus.UNDER_MIN_ISR
    if in_sync >= len(registration.replicas) - len(registration.adding):
        return PartitionStatus.HEALTHY
    return PartitionStatus.AT_MIN_ISR if in_sync == min_isr else PartitionStatus.UNDER_REPLICATED


def broker_view(cluster: Cluster, broker: Broker) -> BrokerView:
    """One broker."""
    controller = cluster.controller
    registration = controller.brokers.get(broker.id)
    state = broker.state
    if broker.address in cluster.paused and state is not BrokerState.STOPPED:
        state = BrokerState.PAUSED
    return BrokerView(
        id=broker.id,
        rack=broker.rack,
        state=state,
        fenced=registration is None or registration.fenced,
        broker_epoch=-1 if registration is None else registration.epoch,
        leaders=controller.replication.led.get(broker.id, 0),
        replicas=controller.replication.hosted.get(broker.id, 0),
        metadata_offset=broker.metadata_offset,
        silent_us=cluster.now - controller.last_contact.get(broker.id, 0),
        log_dirs=len(broker.disk.dirs),
        failed_dirs=broker.disk.failed_dirs,
    )


def _replica_view(cluster: Cluster, broker: Broker, tp: TopicPartition, registration: PartitionRegistration) -> ReplicaView:
    disk = broker.disk
    log = disk.logs.get(tp) or disk.offline.get(tp)
    partition = broker.partitions.get(tp)
    future = disk.futures.get(tp)
    alive = broker.state is not BrokerState.STOPPED
    caught_up = -1
    leads = cluster.brokers.get(registration.leader)
    if leads is not None:
        leading = leads.partitions.get(tp)
        replica = None if leading is None else leading.remotes.get(broker.id)
        if replica is not None and replica.caught_up_time() >= 0:
            caught_up = cluster.now - replica.caught_up_time()
    if partition is None:
        role = "offline"
    else:
        role = "leader" if partition.is_leader else "follower"
    return ReplicaView(
        broker=broker.id,
        role=role,
        leo=0 if log is None else log.leo,
        hw=0 if log is None else log.high_watermark,
        log_start=0 if log is None else log.log_start,
        in_isr=broker.id in registration.isr,
        alive=alive,
        fetch_state=broker.fetcher_manager.fetch_state(tp) if role == "follower" else "idle",
        caught_up_us=caught_up,
        epochs=() if log is None else log.epochs.entries(),
        believes_leader=NO_LEADER if partition is None else partition.leader,
        believes_epoch=-1 if partition is None else partition.leader_epoch,
        dir=disk.dir_of(tp),
        dir_online=disk.dirs[disk.dir_of(tp) - 1].online,
        moving_to=0 if future is None else future.dir,
        future_leo=-1 if future is None else future.leo,
    )


def partition_view(cluster: Cluster, tp: TopicPartition) -> PartitionView:
    """One partition with all its replicas."""
    replication = cluster.controller.replication
    registration = replication.partitions[tp]
    min_isr = replication.min_isr(tp)
    account = cluster.account.of(tp)
    leads = cluster.brokers.get(registration.leader)
    leading = None if leads is None else leads.partitions.get(tp)
    counts = None if leads is None else leads.disk.logs.get(tp)
    return PartitionView(
        tp=tp,
        leader=registration.leader,
        leader_epoch=registration.leader_epoch,
        partition_epoch=registration.partition_epoch,
        replicas=registration.replicas,
        isr=registration.isr,
        elr=registration.elr,
        last_known_elr=registration.last_known_elr,
        adding=registration.adding,
        removing=registration.removing,
        recovering=registration.recovering,
        min_isr=min_isr,
        status=status_of(registration, min_isr),
        copies=tuple(_replica_view(cluster, cluster.brokers[b], tp, registration) for b in registration.replicas if b in cluster.brokers),
        held_by=leading.least_leo()[1] if leading is not None and leading.is_leader else NO_LEADER,
        accepted=account.accepted,
        acked=account.acked_count,
        committed=0 if counts is None else counts.high_watermark,
        lost=account.lost_count,
        duplicated=account.duplicated,
        diverged=diverged(cluster, tp, registration),
        exposed=cluster.exposure.of(tp).count(),
    )


def diverged(cluster: Cluster, tp: TopicPartition, registration: PartitionRegistration) -> int:
    """Offsets below both high watermarks at which a live follower that fetches holds another record than its leader."""
    leads = cluster.brokers.get(registration.leader)
    leading = None if leads is None else leads.partitions.get(tp)
    if leading is None or not leading.is_leader:
        return 0
    total = 0
    for follower in registration.replicas:
        broker = cluster.brokers.get(follower)
        partition = None if broker is None else broker.partitions.get(tp)
        if partition is None or partition is leading or partition.leader_epoch != leading.leader_epoch:
            continue
        assert broker is not None
        if broker.fetcher_manager.fetch_state(tp) != "fetching":
            continue
        bound = min(partition.log.high_watermark, leading.log.high_watermark)
        total += sum(max(0, min(end, bound) - start) for start, end in partition.log.differences(leading.log))
    return total


def cluster_view(
    cluster: Cluster,
    partitions: tuple[PartitionView, ...] | None = None,
    diverged_in_all: int = 0,
    exposed_in_all: int = 0,
    state: int = -1,
) -> ClusterView:
    """Everything; with `partitions` whoever asks has looked at those already, and knows the sums and the state (`core.sim.glance`)."""
    account, network = cluster.account, cluster.network
    replication = cluster.controller.replication
    quorum = cluster.quorum
    if partitions is None:
        partitions = tuple(partition_view(cluster, tp) for tp in replication.partitions)
        diverged_in_all = sum(view.diverged for view in partitions)
        exposed_in_all = sum(view.exposed for view in partitions)
    producers = [client for client in cluster.clients.values() if isinstance(client, Producer)]
    consumers = [client for client in cluster.clients.values() if isinstance(client, Consumer)]
    return ClusterView(
        now=cluster.now,
        seq=cluster.journal.seq,
        release=cluster.release.name,
        controller=cluster.controller_address,
        brokers=tuple(broker_view(cluster, broker) for broker in cluster.brokers.values()),
        topics=tuple(_topic_view(cluster, name) for name in replication.topics),
        partitions=partitions,
        producers=tuple(
            ProducerView(
                name=producer.name,
                topic=producer.topic,
                acks=producer.acks,
                rate=producer.rate,
                sent=producer.sent,
                acked=producer.acked,
                failed=producer.failed,
                in_flight=len(producer.in_flight) + sum(len(queue) for queue in producer.queues.values()),
                retries=producer.retries,
                last_latency_us=producer.last_latency,
            )
            for producer in producers
        ),
        consumers=tuple(
            ConsumerView(
                consumer.name,
                consumer.topic,
                consumer.read,
                tuple((TopicPartition(consumer.topic, number), position) for number, position in enumerate(consumer.positions)),
            )
            for consumer in consumers
        ),
        cut_links=tuple(sorted(direction for direction, link in network.links.items() if link.cut)),
        held_links=tuple(sorted(direction for direction, link in network.links.items() if link.held)),
        accepted=account.accepted,
        acked=account.acked,
        lost=account.lost,
        duplicated=account.duplicated,
        diverged=diverged_in_all,
        unclean_elections=account.elections.get("unclean", 0) + account.elections.get("last-known", 0),
        isr_shrinks=sum(account.shrinks.values()),
        isr_expands=sum(account.expands.values()),
        exposed=exposed_in_all,
        controller_epoch=_controller_epoch(cluster),
        active_controllers=cluster.controller.active_count if quorum is None else quorum.active_count(),
        majority=quorum is None or quorum.has_majority(list(cluster.paused)),
        voters=() if quorum is None else quorum.views(),
        state=state,
    )


def _controller_epoch(cluster: Cluster) -> int:
    """The newest controller epoch; 0 where there is only ever one controller."""
    quorum = cluster.quorum
    if quorum is None:
        return cluster.controller.controller_epoch
    active = quorum.active()
    return max(voter.epoch for voter in quorum.voters.values()) if active is None else active.epoch


def _topic_view(cluster: Cluster, name: str) -> TopicView:
    """A topic's headline; `Configs` also shows a cluster-wide min.insync.replicas that differs from the default, as brokers report it."""
    replication = cluster.controller.replication
    topic = replication.topics[name]
    first = replication.partitions[topic.partitions[0]]
    config = dict(topic.config)
    if "min.insync.replicas" not in config:
        value = cluster.settings.get("min.insync.replicas")
        if value != 1:
            config["min.insync.replicas"] = render_value(value)
    return TopicView(name, topic.topic_id, len(topic.partitions), len(first.replicas) - len(first.adding), tuple(config.items()))

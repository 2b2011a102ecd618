"""Builds the frozen views of `core.lab.views.cluster_view`. The builder reads all nodes of a running cluster and changes nothing."""

from __future__ import annotations

from typing import TYPE_CHECKING

import attrs

from core.kafka.broker.broker import Broker
from core.kafka.broker.broker_state import BrokerState
from core.kafka.broker.partition import Partition
from core.kafka.clients.consumer.consumer import Consumer
from core.kafka.clients.producer.producer import Producer
from core.kafka.controller.quorum_controller import ELECT_UNCLEAN, QuorumController
from core.kafka.health import replication_factor
from core.kafka.ids import NO_LEADER, TopicPartition
from core.kafka.log.replica_log import ReplicaLog
from core.kafka.partition_registration import PartitionRegistration
from core.kafka.settings.settings import render_value
from core.lab.views.broker_view import BrokerView, LinkView, NetworkUse, VoterView
from core.lab.views.client_view import BatchingView, ConsumerView, ProducerView
from core.lab.views.cluster_view import ClusterView
from core.lab.views.group_views import consumption_views, group_views, member_views
from core.lab.views.partition_health import partition_health
from core.lab.views.partition_view import PartitionView, ReplicaView, TopicView
from core.lab.views.process_views import process_views
from core.lab.views.service_views import retry_views, service_views
from core.sim.limited_network import LimitedNetwork
from core.sim.repr_mixin import ReprMixin

if TYPE_CHECKING:
    from core.kafka.controller.quorum.metadata_quorum import MetadataQuorum
    from core.lab.cluster_nodes import ClusterNodes
    from core.sim.network import Network


def broker_view(cluster: ClusterNodes, broker: Broker) -> BrokerView:
    """Return the view of one broker."""
    controller = cluster.controller
    registration = controller.cluster_control.brokers.get(broker.id)
    state = broker.context.state
    if broker.address in cluster.paused and state is not BrokerState.STOPPED:
        state = BrokerState.PAUSED
    return BrokerView(
        id=broker.id,
        rack=broker.context.rack,
        state=state,
        fenced=registration is None or registration.fenced,
        broker_epoch=-1 if registration is None else registration.epoch,
        leaders=controller.registry.index.leader_counts.get(broker.id, 0),
        replicas=controller.registry.index.replica_counts.get(broker.id, 0),
        metadata_offset=broker.context.metadata_cache.offset,
        silent_us=cluster.now - controller.last_contact.get(broker.id, 0),
        log_dirs=len(broker.disk.dirs),
        failed_dirs=broker.disk.failed_dirs,
        disk_delay_us=broker.log_directories.slow,
        network=network_use(cluster, broker.address),
    )


def network_use(cluster: ClusterNodes, node: str) -> NetworkUse | None:
    """Return how a node uses its network interface; None if its bandwidth is not limited."""
    network = cluster.network
    if not isinstance(network, LimitedNetwork) or node not in network.rates:
        return None
    now = cluster.now
    passed, waiting = [], []
    for interfaces in (network.sending, network.receiving):
        interface = interfaces.get(node)
        passed.append(0 if interface is None else interface.last_second(now))
        waiting.append(0 if interface is None else interface.waiting(now))
    return NetworkUse(network.rates[node], *passed, *waiting)


def _replica_view(
    cluster: ClusterNodes, broker: Broker, tp: TopicPartition, registration: PartitionRegistration, leading: Partition | None
) -> ReplicaView:
    disk = broker.disk
    log = disk.logs.get(tp) or disk.offline.get(tp)
    partition = broker.partitions.get(tp)
    future = disk.futures.get(tp) if disk.futures else None
    caught_up = -1
    if leading is not None:
        replica = leading.replica(broker.id)
        if replica is not None and (cached := replica.caught_up_time()) >= 0:
            caught_up = cluster.now - cached
    if partition is None:
        role = "offline"
    else:
        role = "leader" if partition.is_leader else "follower"
    directory = disk.dir_of(tp)
    return ReplicaView(
        broker.id,
        role,
        0 if log is None else log.leo,
        0 if log is None else log.high_watermark,
        0 if log is None else log.log_start,
        broker.id in registration.isr,
        broker.context.state is not BrokerState.STOPPED,
        broker.fetcher_manager.fetch_state(tp) if role == "follower" else "idle",
        caught_up,
        () if log is None else log.epochs.entries(),
        NO_LEADER if partition is None else partition.leader,
        -1 if partition is None else partition.leader_epoch,
        directory,
        disk.dirs[directory - 1].online,
        0 if future is None else future.dir,
        -1 if future is None else future.leo,
    )


def partition_view(cluster: ClusterNodes, tp: TopicPartition) -> PartitionView:
    """Return the view of one partition with all its replicas."""
    brokers = cluster.brokers
    registration = cluster.controller.registry.partitions[tp]
    account = cluster.account.of(tp)
    leads = brokers.get(registration.leader)
    leading = None if leads is None else leads.partitions.get(tp)
    counts = None if leads is None else leads.disk.logs.get(tp)
    health = partition_health(cluster, tp, registration)
    return PartitionView(
        tp,
        registration.leader,
        registration.leader_epoch,
        registration.partition_epoch,
        registration.replicas,
        registration.isr,
        registration.elr,
        registration.last_known_elr,
        registration.adding,
        registration.removing,
        registration.recovering,
        health.min_isr,
        health.status,
        tuple([_replica_view(cluster, brokers[b], tp, registration, leading) for b in registration.replicas if b in brokers]),
        leading.slowest_replicas() if leading is not None and leading.is_leader else (),
        account.accepted,
        account.acked_count,
        0 if counts is None else counts.high_watermark,
        account.lost_count,
        account.duplicated,
        diverged(cluster, tp, registration),
        cluster.exposure.exposed_offsets(tp).count(),
        health.not_fetching,
        health.uncommitted_us,
        account.lost_acknowledged,
        account.lost_read,
        None if leading is None or not leading.is_leader else leading.held_back_at,
        0 if leading is None or not leading.is_leader or leading.log.producers is None else len(leading.log.producers.ongoing),
        0
        if leading is None or not leading.is_leader or leading.held_back_at is None
        else _age_at(leading.log, leading.held_back_at, cluster.now),
        account.out_of_order,
    )


def _age_at(log: ReplicaLog, offset: int, now: int) -> int:
    """Return the age of a record by its timestamp, in µs; 0 if its timestamp is in the future."""
    term = log.term_at(offset)
    batches = [] if term is None else term.batches_within(offset, offset + 1)
    return max(now - batches[0].timestamp, 0) if batches else 0


def lags(cluster: ClusterNodes) -> dict[int, float]:
    """Return the largest lag of each running broker: the largest number of records below a leader's high watermark that a replica on the
    broker lacks."""
    brokers = cluster.brokers
    found = {broker.id: 0.0 for broker in brokers.values() if broker.context.state is not BrokerState.STOPPED}
    for tp, registration in cluster.controller.registry.partitions.items():
        leads = brokers.get(registration.leader)
        led = None if leads is None else leads.disk.logs.get(tp)
        if led is not None:
            high_watermark = led.high_watermark
            for follower in registration.replicas:
                if follower in found:
                    disk = brokers[follower].disk
                    log = disk.logs.get(tp) or disk.offline.get(tp)
                    lag = high_watermark - (0 if log is None else log.leo)
                    if lag > found[follower]:
                        found[follower] = lag
    return found


def diverged(cluster: ClusterNodes, tp: TopicPartition, registration: PartitionRegistration) -> int:
    """Return the number of offsets below both high watermarks at which the leader and a fetching follower hold different records."""
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
        if not (differences := partition.log.differences(leading.log)):
            continue
        bound = min(partition.log.high_watermark, leading.log.high_watermark)
        total += sum(max(0, min(end, bound) - start) for start, end in differences)
    return total


@attrs.frozen(repr=False)
class CachedViews(ReprMixin):
    """Views of partitions and topics, with their totals, that a caller has already built (`core.lab.views.incremental_view`).

    Attributes:
        partitions, topics: the views of partitions and topics.
        counts: the totals of the durability account, in the order of `core.lab.views.incremental_view.Counts`.
        diverged, exposed: the sums of `PartitionView.diverged` and `PartitionView.exposed` over all partitions.
        version: the version of the views (see `ClusterView.version`).
    """

    partitions: tuple[PartitionView, ...]
    topics: tuple[TopicView, ...]
    counts: tuple[int, int, int, int, int, int]
    diverged: int
    exposed: int
    version: int


def _build_all(cluster: ClusterNodes) -> CachedViews:
    account = cluster.account
    partitions = tuple(partition_view(cluster, tp) for tp in cluster.controller.registry.partitions)
    return CachedViews(
        partitions,
        topic_views(cluster),
        (account.accepted, account.acked, account.lost, account.duplicated, account.lost_acknowledged, account.lost_read),
        sum(view.diverged for view in partitions),
        sum(view.exposed for view in partitions),
        -1,
    )


def cluster_view(cluster: ClusterNodes, cached: CachedViews | None = None) -> ClusterView:
    """Return the view of the whole cluster. If `cached` is given, the views of partitions and topics are not built again."""
    account, network = cluster.account, cluster.network
    if cached is None:
        cached = _build_all(cluster)
    accepted, acked, lost, duplicated, lost_acknowledged, lost_read = cached.counts
    quorum = cluster.quorum
    producers = [client for client in cluster.clients.values() if isinstance(client, Producer)]
    consumers = [client for client in cluster.clients.values() if isinstance(client, Consumer)]
    return ClusterView(
        now=cluster.now,
        seq=cluster.journal.seq,
        release=cluster.release.name,
        controller=cluster.controller_address,
        brokers=tuple(broker_view(cluster, broker) for broker in cluster.brokers.values()),
        topics=cached.topics,
        partitions=cached.partitions,
        producers=tuple(
            ProducerView(
                name=producer.name,
                topic=producer.topic,
                acks=producer.accumulator.acks,
                rate=producer.rate,
                sent=producer.metrics.sent,
                acked=producer.metrics.acked,
                failed=producer.metrics.failed,
                in_flight=len(unanswered),
                retries=producer.metrics.retries,
                last_latency_us=producer.metrics.last_latency,
                waits_us=tuple(sorted([cluster.now - batch.created for batch in unanswered], reverse=True)),
                batching=_batching_view(producer),
            )
            for producer in producers
            for unanswered in [producer.sender.incomplete_batches()]
        ),
        consumers=tuple(
            ConsumerView(
                consumer.name,
                consumer.topic,
                consumer.read,
                tuple((TopicPartition(consumer.topic, number), position) for number, position in enumerate(consumer.positions)),
                tuple((TopicPartition(consumer.topic, number), broker) for number, broker in consumer.preferred_read_replicas()),
            )
            for consumer in consumers
        ),
        cut_links=tuple(sorted(direction for direction, link in network.links.items() if link.cut)),
        held_links=tuple(sorted(direction for direction, link in network.links.items() if link.held)),
        accepted=accepted,
        acked=acked,
        lost=lost,
        duplicated=duplicated,
        diverged=cached.diverged,
        unclean_elections=account.elections.get("unclean", 0) + account.elections.get("last-known", 0),
        isr_shrinks=sum(account.shrinks.values()),
        isr_expands=sum(account.expands.values()),
        exposed=cached.exposed,
        lost_acknowledged=lost_acknowledged,
        lost_read=lost_read,
        controller_epoch=_controller_epoch(cluster),
        active_controllers=cluster.controller.active_count if quorum is None else quorum.active_count(),
        majority=quorum is None or quorum.has_majority(list(cluster.paused)),
        voters=() if quorum is None else _voter_views(quorum),
        changed_links=_changed_links(network),
        loss_ppm=network.loss_ppm,
        latency_us=network.latency,
        jitter_us=network.jitter,
        unclean_check_us=_unclean_check_us(cluster),
        groups=group_views(cluster),
        processes=process_views(cluster),
        members=member_views(cluster),
        consumption=consumption_views(cluster),
        services=service_views(cluster),
        retries=retry_views(cluster),
        zones=cluster.spec.zones,
        version=cached.version,
    )


def _batching_view(producer: Producer) -> BatchingView | None:
    """Return the view of a producer's batching; None if the producer does not collect records."""
    batching = producer.accumulator.batching
    if batching is None:
        return None
    return BatchingView(
        batching.batches,
        batching.batched_records,
        batching.wire_bytes,
        batching.queue_time // batching.batched_records if batching.batched_records else -1,
        batching.latency // batching.acked if batching.acked else -1,
        batching.available,
        producer.calls.waiting_records,
    )


def _voter_views(quorum: MetadataQuorum) -> tuple[VoterView, ...]:
    """Return the views of the voters of the metadata quorum."""
    return tuple(
        VoterView(
            voter.name, str(voter.role), voter.epoch, voter.leader, len(voter.log), voter.high_watermark,
            voter.active is not None and voter.active.claimed,
        )
        for voter in quorum.voters.values()
    )  # fmt: skip


def _changed_links(network: Network) -> tuple[LinkView, ...]:
    """Return the links whose latency, jitter, loss, duplication, or reordering differs from that of the network."""
    return tuple(
        LinkView(
            *direction,
            link.latency if link.latency > network.default_latency(*direction) else 0,
            link.jitter if link.jitter > network.jitter else 0,
            link.loss_ppm,
            link.duplicate_ppm,
            link.reorder_ppm,
            network.default_latency(*direction),
        )
        for direction, link in sorted(network.links.items())
        if not network.has_default_values(direction, link)
    )


def _unclean_check_us(cluster: ClusterNodes) -> int:
    """Return the time until the active KRaft controller's periodic check for unclean elections, in µs; -1 if the check is not scheduled."""
    controller = cluster.controller
    due = controller.scheduled.get(ELECT_UNCLEAN, -1) if isinstance(controller, QuorumController) else -1
    if cluster.quorum is not None:
        active = cluster.quorum.active()
        due = -1 if active is None or active.active is None else active.active.scheduled.get(ELECT_UNCLEAN, -1)
    return max(0, due - cluster.now) if due >= 0 else -1


def _controller_epoch(cluster: ClusterNodes) -> int:
    """Return the newest controller epoch; 0 in a cluster with a single controller that never fails."""
    quorum = cluster.quorum
    if quorum is None:
        return cluster.controller.controller_epoch
    active = quorum.active()
    return max(voter.epoch for voter in quorum.voters.values()) if active is None else active.epoch


def topic_views(cluster: ClusterNodes) -> tuple[TopicView, ...]:
    """Return the views of all topics."""
    return tuple(_topic_view(cluster, name) for name in cluster.controller.registry.topics)


def _topic_view(cluster: ClusterNodes, name: str) -> TopicView:
    """Return the view of one topic. As a broker does, the view reports a non-default cluster-wide min.insync.replicas as a topic config."""
    registry = cluster.controller.registry
    topic = registry.topics[name]
    first = registry.partitions[topic.partitions[0]]
    config = dict(topic.config)
    if "min.insync.replicas" not in config:
        value = cluster.settings.get("min.insync.replicas")
        if value != 1:
            config["min.insync.replicas"] = render_value(value)
    return TopicView(name, topic.topic_id, len(topic.partitions), replication_factor(first), tuple(config.items()))

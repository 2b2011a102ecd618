"""Computes Kafka's metrics from events: the meters that count events, and the gauges of brokers and the controller.

The observer reads the event tuples of a log or of a live session, so both result in the same metrics. The running system does not depend on
the observer. A broker without a process has no MBeans. When a broker restarts, its counts start at zero again.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, Final, NamedTuple, Protocol

from core.kafka import errors, events
from core.kafka.broker.follower.fetcher_manager import fetcher_id
from core.kafka.clients.client_config import DEFAULT
from core.kafka.health import effective_min_isr, is_at_min_isr, is_offline, is_under_min_isr, is_under_replicated
from core.kafka.ids import NO_LEADER, TopicPartition, broker_address
from core.kafka.release import Release
from core.kafka.settings.settings import Settings
from core.lab.metrics import CONTROLLER
from core.lab.metrics.meter import Meter
from core.lab.metrics.observed_partition import UNKNOWN, ObservedPartition
from core.lab.metrics.request_queue import COSTS, RequestCosts, ThreadPool
from core.lab.spec import ClusterSpec, ControlPlane
from core.sim.events import kind_of, time_of

REQUEST_BYTES: Final = 200
"""The size of a request or response without its records, in bytes, for the model of the request queue."""


class Sample(NamedTuple):
    """One MBean of one broker, or of the controller (`CONTROLLER`), with its attributes."""

    name: str
    broker: int
    attributes: tuple[tuple[str, float], ...]


class PartitionEvent(Protocol):
    """An event about a partition."""

    topic: str
    partition: int


class MetricsObserver:
    """The observer that computes the metrics of one session. The observer must receive every event, in order."""

    def __init__(self, spec: ClusterSpec, release: Release, costs: RequestCosts = COSTS) -> None:
        self._release = release
        self._costs = costs
        self._settings = Settings(release)
        for name, value in spec.settings:
            self._settings.set(name, value)
        for broker in spec.brokers:
            for name, value in broker.settings:
                self._settings.set(name, value, broker=broker.id)
        self._topic_configs = {topic.name: dict(topic.config) for topic in spec.topics}
        self._partitions: dict[TopicPartition, ObservedPartition] = {}
        self._meters: dict[tuple[str, int], Meter] = {}
        self._network_threads: dict[int, ThreadPool] = {}
        self._handler_threads: dict[int, ThreadPool] = {}
        self._started: dict[int, int] = {broker.id: 0 for broker in spec.brokers if broker.up}
        self._fenced: dict[int, bool] = {broker.id: not broker.up for broker in spec.brokers}
        self._timed_out = 0
        self._offline: dict[int, int] = {}  # by broker: the replicas that its process knows to be in failed directories
        self._producers: dict[str, None] = {}  # the producers with a producer id
        self._failed_partitions: dict[int, dict[TopicPartition, None]] = {}
        self._elections = 0  # elections of active controllers
        self._fetchers: dict[int, int] = {}  # num.replica.fetchers by broker, if already looked up
        self._active = self._controllers_at_start(spec)
        self._event_handlers: Final[dict[str, Callable[[int, Any], object]]] = {
            events.Appended.kind: self._append,
            events.AppendRefused.kind: self._append_refused,
            events.DuplicateDropped.kind: self._duplicate_dropped,
            events.FollowerAppended.kind: self._follower_append,
            events.FollowerFetched.kind: self._follower_fetched,
            events.BecameLeader.kind: self._role,
            events.BecameFollower.kind: self._role,
            events.Truncated.kind: self._truncated,
            events.FetchFailed.kind: self._fetch_failed,
            events.FetcherLags.kind: self._fetcher_lags,
            events.HighWatermarkAdvanced.kind: self._high_watermark,
            events.FollowerHighWatermark.kind: lambda now, event: self._of(event).known(event.broker),
            events.ProducerIdGiven.kind: self._producer_id_given,
            events.OfflineReplicaFound.kind: self._offline_replica_found,
            events.ControllerElected.kind: self._controller_elected,
            events.ControllerResigned.kind: lambda now, event: self._active.pop(event.controller, None),
            events.ControllerStopped.kind: lambda now, event: self._active.pop(event.controller, None),
            events.LeaderElected.kind: self._leader_elected,
            events.Consumed.kind: self._consumed,
            events.IsrShrunk.kind: lambda now, event: self._mark(
                "kafka.server:type=ReplicaManager,name=IsrShrinksPerSec", event.broker, now
            ),
            events.IsrExpanded.kind: lambda now, event: self._mark(
                "kafka.server:type=ReplicaManager,name=IsrExpandsPerSec", event.broker, now
            ),
            events.IsrChangeFailed.kind: lambda now, event: self._mark(
                "kafka.server:type=ReplicaManager,name=FailedIsrUpdatesPerSec", event.broker, now
            ),
            events.PartitionChanged.kind: self._partition_changed,
            events.TopicCreated.kind: self._topic_created,
            events.TopicDeleted.kind: self._topic_deleted,
            events.ReplicaDeleted.kind: self._replica_deleted,
            events.SettingChanged.kind: self._setting_changed,
            events.BrokerStopped.kind: self._stopped,
            events.BrokerStarted.kind: self._process_started,
            events.LogDirFailed.kind: self._dir_failed,
            events.BrokerRegistered.kind: self._registered,
            events.BrokerUnregistered.kind: lambda now, event: self._fenced.pop(event.broker, None),
            events.BrokerFenced.kind: self._broker_fenced,
            events.BrokerUnfenced.kind: self._unfenced,
        }

    def _controllers_at_start(self, spec: ClusterSpec) -> dict[str, None]:
        """Return the controllers that are active at the start of a session, before any event names a controller.

        The result is the controller that never fails or, with ZooKeeper, the first running broker. In a quorum, there is no active
        controller at the start.
        """
        if spec.controllers:
            return {}
        if not self._release.zookeeper or spec.control_plane is not ControlPlane.BY_RELEASE:
            return {"controller": None}
        return dict.fromkeys([broker_address(min(self._started))] if self._started else [])

    def on_event(self, event: events.EventTuple) -> None:
        """Handle an event."""
        handler = self._event_handlers.get(kind_of(event))
        if handler is not None:
            handler(time_of(event), events.decode(event))

    # --- events ----------------------------------------------------------------------------------------------------

    def _of(self, event: PartitionEvent) -> ObservedPartition:
        return self._partitions.setdefault(TopicPartition(event.topic, event.partition), ObservedPartition())

    def _mark(self, name: str, broker: int, now: int, amount: float = 1) -> None:
        meter = self._meters.get((name, broker))
        if meter is None:
            meter = self._meters[name, broker] = Meter(self._started.get(broker, 0))
        meter.mark(now, amount)

    def _topic_meter(self, name: str, event: PartitionEvent, broker: int, now: int, amount: float) -> None:
        """Mark an occurrence in a metric that Kafka keeps for all topics and for each topic (`BrokerTopicStats`)."""
        mbean = f"kafka.server:type=BrokerTopicMetrics,name={name}"
        self._mark(mbean, broker, now, amount)
        self._mark(f"{mbean},topic={event.topic}", broker, now, amount)

    def _request(self, broker: int, now: int, size: int) -> None:
        """Count the work of a broker's network and handler threads for a request whose records have this size."""
        costs, size = self._costs, size + REQUEST_BYTES
        since = self._started.get(broker, 0)
        for pools, setting, cost in (
            (self._network_threads, "num.network.threads", costs.network_request + costs.network_byte * size),
            (self._handler_threads, "num.io.threads", costs.handler_request + costs.handler_byte * size),
        ):
            pool = pools.get(broker)
            if pool is None:
                pool = pools[broker] = ThreadPool(self._settings.integer(setting, broker=broker), since)
            pool.work(now, cost)

    def _append(self, now: int, event: events.Appended) -> None:
        partition = self._of(event)
        partition.appended(event.from_offset, event.to_offset, event.bytes)
        partition.leo[event.broker] = event.to_offset
        if event.acks < 0:
            while partition.waiting and partition.waiting[0][1] <= now:
                partition.waiting.popleft()
            partition.waiting.append((event.to_offset, now + DEFAULT.request_timeout))
        if event.producer in self._producers:
            first, _ = partition.idempotent.get(event.producer, (event.to_offset, 0))
            partition.idempotent[event.producer] = (first, now)
        self._topic_meter("MessagesInPerSec", event, event.broker, now, event.to_offset - event.from_offset)
        self._topic_meter("BytesInPerSec", event, event.broker, now, event.bytes)
        self._topic_meter("TotalProduceRequestsPerSec", event, event.broker, now, 1)
        self._request(event.broker, now, event.bytes)

    def _append_refused(self, now: int, event: events.AppendRefused) -> None:
        self._topic_meter("TotalProduceRequestsPerSec", event, event.broker, now, 1)
        self._topic_meter("FailedProduceRequestsPerSec", event, event.broker, now, 1)
        self._request(event.broker, now, 0)

    def _duplicate_dropped(self, now: int, event: events.DuplicateDropped) -> None:
        """Count a retry whose batch is in the log already. The response waits for the high watermark like that to the first attempt."""
        partition = self._of(event)
        if partition.waits_at == event.broker and event.to_offset > partition.high_watermark:
            partition.waits(event.to_offset, now + DEFAULT.request_timeout)
        self._topic_meter("TotalProduceRequestsPerSec", event, event.broker, now, 1)
        self._request(event.broker, now, 0)

    def _follower_append(self, now: int, event: events.FollowerAppended) -> None:
        partition = self._of(event)
        size = partition.bytes_below(event.to_offset) - partition.bytes_below(event.from_offset)
        partition.leo[event.broker] = event.to_offset
        partition.known(event.broker)
        self._mark("kafka.server:type=BrokerTopicMetrics,name=ReplicationBytesInPerSec", event.broker, now, size)
        fetcher = self._fetcher(TopicPartition(event.topic, event.partition), event.broker, event.leader)
        self._mark(
            f"kafka.server:type=FetcherStats,name=BytesPerSec,{fetcher},brokerHost=b{event.leader},brokerPort=9092", event.broker, now, size
        )
        self._mark("kafka.server:type=BrokerTopicMetrics,name=ReplicationBytesOutPerSec", event.leader, now, size)
        if event.broker in partition.adding:
            self._mark("kafka.server:type=BrokerTopicMetrics,name=ReassignmentBytesInPerSec", event.broker, now, size)
            self._mark("kafka.server:type=BrokerTopicMetrics,name=ReassignmentBytesOutPerSec", event.leader, now, size)
        self._request(event.leader, now, size)

    def _follower_fetched(self, now: int, event: events.FollowerFetched) -> None:
        self._of(event).known(event.follower)
        self._request(event.broker, now, 0)

    def _fetcher_lags(self, now: int, event: events.FetcherLags) -> None:
        self._of(event).fetchers[event.broker] = (event.leader, event.high_watermark)

    def _role(self, now: int, event: events.BecameLeader | events.BecameFollower) -> None:
        partition = self._of(event)
        partition.leo[event.broker] = event.offset
        partition.fetchers.pop(event.broker, None)
        self._failed_partitions.get(event.broker, {}).pop(TopicPartition(event.topic, event.partition), None)
        if partition.waits_at == event.broker:
            partition.waiting.clear()
        if isinstance(event, events.BecameLeader):
            partition.waits_at = event.broker
            partition.waiting.clear()
        elif event.leader != NO_LEADER:
            partition.fetchers[event.broker] = (event.leader, UNKNOWN)

    def _truncated(self, now: int, event: events.Truncated) -> None:
        self._of(event).leo[event.broker] = event.from_offset

    def _high_watermark(self, now: int, event: events.HighWatermarkAdvanced) -> None:
        partition = self._partitions.get(TopicPartition(event.topic, event.partition))
        if partition is not None and partition.waits_at == event.broker:
            partition.high_watermark = new = event.new_offset
            while partition.waiting and partition.waiting[0][0] <= new:
                partition.waiting.popleft()

    def _fetch_failed(self, now: int, event: events.FetchFailed) -> None:
        if event.error == errors.CORRUPT_MESSAGE:
            return  # the leader does not know about the error
        if event.error == errors.FENCED_LEADER_EPOCH:
            self._of(event).fetchers.pop(event.broker, None)
            self._failed_partitions.setdefault(event.broker, {})[TopicPartition(event.topic, event.partition)] = None
        self._topic_meter("FailedFetchRequestsPerSec", event, event.leader, now, 1)
        self._request(event.leader, now, 0)

    def _consumed(self, now: int, event: events.Consumed) -> None:
        partition = self._of(event)
        size = partition.bytes_below(event.to_offset) - partition.bytes_below(event.from_offset)
        self._topic_meter("BytesOutPerSec", event, event.broker, now, size)
        self._topic_meter("TotalFetchRequestsPerSec", event, event.broker, now, 1)
        self._request(event.broker, now, size)

    def _partition_changed(self, now: int, event: events.PartitionChanged) -> None:
        partition = self._of(event)
        if partition.replicas and event.leader not in (NO_LEADER, partition.leader) and event.leader not in partition.isr:
            self._mark("kafka.controller:type=ControllerStats,name=UncleanLeaderElectionsPerSec", CONTROLLER, now)
        partition.leader, partition.replicas, partition.isr = event.leader, tuple(event.replicas), tuple(event.isr)
        partition.adding, partition.removing = tuple(event.adding), tuple(event.removing)
        for broker in [broker for broker in partition.fetchers if broker not in partition.replicas]:
            del partition.fetchers[broker]

    def _topic_created(self, now: int, event: events.TopicCreated) -> None:
        for name, value in self._topic_configs.get(event.topic, {}).items():
            self._set(name, value, topic=event.topic)

    def _topic_deleted(self, now: int, event: events.TopicDeleted) -> None:
        for tp in [tp for tp in self._partitions if tp.topic == event.topic]:
            del self._partitions[tp]

    def _replica_deleted(self, now: int, event: events.ReplicaDeleted) -> None:
        """If the partition's topic was deleted, forget the partition again, because its leader can report something after the deletion."""
        tp = TopicPartition(event.topic, event.partition)
        if tp in self._partitions and not self._partitions[tp].replicas:
            del self._partitions[tp]

    def _setting_changed(self, now: int, event: events.SettingChanged) -> None:
        self._fetchers.clear()
        subject = event.subject
        if subject[:1] == "b" and subject[1:].isdecimal() and int(subject[1:]) in self._fenced:
            broker = int(subject[1:])
            self._set(event.name, event.new, broker=broker)
        else:
            self._set(event.name, event.new, topic=subject or None)
        for pools, name in ((self._network_threads, "num.network.threads"), (self._handler_threads, "num.io.threads")):
            if name == event.name:
                for broker, pool in pools.items():
                    pool.advance(now)
                    pool.threads = self._settings.integer(name, broker=broker)

    def _set(self, name: str, value: str, *, broker: int | None = None, topic: str | None = None) -> None:
        try:
            self._settings.set(name, value, broker=broker, topic=topic)
        except ValueError:
            return  # a topic's setting that the laboratory keeps only for `describe`

    def _stopped(self, now: int, event: events.BrokerStopped) -> None:
        self._active.pop(broker_address(event.broker), None)
        self._started.pop(event.broker, None)
        for pools in (self._network_threads, self._handler_threads):
            pools.pop(event.broker, None)
        for key in [key for key in self._meters if key[1] == event.broker]:
            del self._meters[key]
        self._failed_partitions.pop(event.broker, None)
        for partition in self._partitions.values():
            partition.fetchers.pop(event.broker, None)
            if partition.waits_at == event.broker:
                partition.waiting.clear()

    def _process_started(self, now: int, event: events.BrokerStarted) -> None:
        self._started[event.broker] = now
        self._offline.pop(event.broker, None)

    def _dir_failed(self, now: int, event: events.LogDirFailed) -> None:
        self._offline[event.broker] = self._offline.get(event.broker, 0) + event.partitions

    def _offline_replica_found(self, now: int, event: events.OfflineReplicaFound) -> None:
        """Count a replica when a restarted process learns that the replica is in a failed directory.

        The replica counts as offline until the restarted process ends, even if the replica is reassigned.

        Kafka: `HostedPartition.Offline`.
        """
        self._offline[event.broker] = self._offline.get(event.broker, 0) + 1

    def _producer_id_given(self, now: int, event: events.ProducerIdGiven) -> None:
        self._producers[event.producer] = None

    def _controller_elected(self, now: int, event: events.ControllerElected) -> None:
        self._elections += 1
        self._active[event.controller] = None

    def _leader_elected(self, now: int, event: events.LeaderElected) -> None:
        if self._release.zookeeper:
            self._mark("kafka.controller:type=ControllerStats,name=LeaderElectionRateAndTimeMs", CONTROLLER, now)

    def _registered(self, now: int, event: events.BrokerRegistered) -> None:
        self._fenced[event.broker] = True

    def _broker_fenced(self, now: int, event: events.BrokerFenced) -> None:
        self._fenced[event.broker] = True
        self._timed_out += event.limit_us >= 0

    def _unfenced(self, now: int, event: events.BrokerUnfenced) -> None:
        self._fenced[event.broker] = False

    # --- what JMX shows --------------------------------------------------------------------------------------------

    def samples(self, now: int) -> list[Sample]:
        """Return all MBeans at a given time, by name and broker."""
        found = [Sample(name, broker, meter.attributes(now)) for (name, broker), meter in self._meters.items()]
        known = {(sample.name, sample.broker) for sample in found}
        for broker in self._started:
            for name in ("IsrShrinksPerSec", "IsrExpandsPerSec", "FailedIsrUpdatesPerSec"):
                mbean = f"kafka.server:type=ReplicaManager,name={name}"
                if (mbean, broker) not in known:
                    found.append(Sample(mbean, broker, Meter(self._started[broker]).attributes(now)))
            found.extend(Sample(name, broker, (("Value", value),)) for name, value in self._gauges(broker, now))
        unclean = "kafka.controller:type=ControllerStats,name=UncleanLeaderElectionsPerSec"
        if (unclean, CONTROLLER) not in known:
            found.append(Sample(unclean, CONTROLLER, Meter(0).attributes(now)))
        found.extend(Sample(name, CONTROLLER, (("Value", value),)) for name, value in self._controller_gauges())
        return sorted(found, key=lambda sample: (sample.name, sample.broker))

    def request_samples(self, now: int) -> list[Sample]:
        """Return the samples of requests and threads (meters, idle percentages). The cost of these samples does not depend on the number of
        partitions.
        """
        found = [Sample(name, broker, meter.attributes(now)) for (name, broker), meter in self._meters.items()]
        for broker in self._started:
            found.extend(Sample(name, broker, (("Value", value),)) for name, value in self._threads(broker, now))
        return found

    def min_isr(self, tp: TopicPartition) -> int:
        """Return the effective min.insync.replicas that the leader of a partition uses."""
        partition = self._partitions[tp]
        value = self._settings.integer("min.insync.replicas", broker=partition.leader, topic=tp.topic)
        return effective_min_isr(value, len(partition.replicas), capped=self._release.capped_min_isr)

    def _gauges(self, broker: int, now: int) -> Iterator[tuple[str, float]]:
        manager = "kafka.server:type=ReplicaManager,name="
        led = [(tp, partition) for tp, partition in self._partitions.items() if partition.leader == broker]
        under = {tp: is_under_replicated(p) for tp, p in led}
        under_min = {tp: is_under_min_isr(p, self.min_isr(tp)) for tp, p in led}
        at_min = {tp: is_at_min_isr(p, self.min_isr(tp)) for tp, p in led}
        yield manager + "LeaderCount", len(led)
        yield manager + "PartitionCount", sum(broker in partition.replicas for partition in self._partitions.values())
        yield manager + "OfflineReplicaCount", self._offline.get(broker, 0)
        yield manager + "UnderReplicatedPartitions", sum(under.values())
        yield manager + "UnderMinIsrPartitionCount", sum(under_min.values())
        yield manager + "AtMinIsrPartitionCount", sum(at_min.values())
        yield manager + "ReassigningPartitions", sum(bool(p.adding or p.removing) for _, p in led)
        yield manager + "ProducerIdCount", self._producer_ids(broker, now)
        worst = 0
        for tp, partition in self._partitions.items():
            leader, told = partition.fetchers.get(broker, (NO_LEADER, UNKNOWN))
            if told != UNKNOWN:
                lag = max(0, told - partition.leo.get(broker, 0))
                worst = max(worst, lag)
                fetcher = f"{self._fetcher(tp, broker, leader)},topic={tp.topic},partition={tp.partition}"
                yield f"kafka.server:type=FetcherLagMetrics,name=ConsumerLag,{fetcher}", lag
        fetchers = "kafka.server:type=ReplicaFetcherManager,name="
        yield fetchers + "MaxLag,clientId=Replica", worst
        yield fetchers + "FailedPartitionsCount,clientId=Replica", len(self._failed_partitions.get(broker, ()))
        yield fetchers + "DeadThreadCount,clientId=Replica", 0
        delayed = sum(deadline > now for _, partition in led if partition.waits_at == broker for _, deadline in partition.waiting)
        for name in ("PurgatorySize", "NumDelayedOperations"):
            yield f"kafka.server:type=DelayedOperationPurgatory,name={name},delayedOperation=Produce", delayed
        for tp, partition in led:
            cluster = f"topic={tp.topic},partition={tp.partition}"
            yield f"kafka.cluster:type=Partition,name=UnderReplicated,{cluster}", under[tp]
            yield f"kafka.cluster:type=Partition,name=UnderMinIsr,{cluster}", under_min[tp]
            yield f"kafka.cluster:type=Partition,name=AtMinIsr,{cluster}", at_min[tp]
            yield f"kafka.cluster:type=Partition,name=InSyncReplicasCount,{cluster}", len(partition.isr)
            yield f"kafka.cluster:type=Partition,name=ReplicasCount,{cluster}", len(partition.replicas)
        yield from self._threads(broker, now)

    def _fetcher(self, tp: TopicPartition, broker: int, leader: int) -> str:
        """Return the client ID of the fetcher with which a broker follows a leader."""
        fetchers = self._fetchers.get(broker)
        if fetchers is None:
            fetchers = self._fetchers[broker] = self._settings.integer("num.replica.fetchers", broker=broker)
        return f"clientId=ReplicaFetcherThread-{fetcher_id(tp, fetchers)}-{leader}"

    def _producer_ids(self, broker: int, now: int) -> int:
        """Return the number of producer IDs in a broker's logs. An ID counts once per log (`ReplicaManager#producerIdCount`)."""
        expiration = self._settings.us(self._release.producer_expiration_setting)
        return sum(
            first <= partition.leo[broker] and now - last < expiration
            for partition in self._partitions.values()
            if broker in partition.replicas and broker in partition.leo
            for first, last in partition.idempotent.values()
        )

    def _threads(self, broker: int, now: int) -> Iterator[tuple[str, float]]:
        network, handlers = self._network_threads.get(broker), self._handler_threads.get(broker)
        if network is not None:
            network.advance(now)
        yield "kafka.network:type=SocketServer,name=NetworkProcessorAvgIdlePercent", 1.0 if network is None else network.idle
        yield (
            "kafka.server:type=KafkaRequestHandlerPool,name=RequestHandlerAvgIdlePercent",
            1.0 if handlers is None else handlers.idle_rate(now),
        )
        waiting = 0 if handlers is None else handlers.backlog // max(self._costs.handler_request, 1)
        yield "kafka.network:type=RequestChannel,name=RequestQueueSize", waiting

    def _controller_gauges(self) -> Iterator[tuple[str, float]]:
        controller = "kafka.controller:type=KafkaController,name="
        partitions = self._partitions.values()
        yield controller + "ActiveControllerCount", len(self._active)
        yield controller + "ActiveBrokerCount", sum(not fenced for fenced in self._fenced.values())
        yield controller + "FencedBrokerCount", sum(self._fenced.values())
        yield controller + "GlobalTopicCount", len({tp.topic for tp in self._partitions})
        yield controller + "GlobalPartitionCount", len(self._partitions)
        yield controller + "OfflinePartitionsCount", sum(map(is_offline, partitions))
        yield (
            controller + "PreferredReplicaImbalanceCount",
            sum(bool(partition.replicas) and partition.leader != partition.replicas[0] for partition in partitions),
        )
        yield controller + "TimedOutBrokerHeartbeatCount", self._timed_out
        yield controller + "MetadataErrorCount", 0
        yield controller + "NewActiveControllersCount", self._elections

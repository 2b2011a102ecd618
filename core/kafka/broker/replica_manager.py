"""The replicas that a broker leads or follows, and the requests from followers and clients for these replicas (Kafka: `ReplicaManager`)."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Any, Final

from core.kafka import errors, events
from core.kafka.broker.broker_state import BrokerState
from core.kafka.broker.context import BrokerContext
from core.kafka.broker.follower.fetcher_manager import ReplicaFetcherManager
from core.kafka.broker.follower.fetcher_owner import FetcherOwner
from core.kafka.broker.hosted_partitions import HostedPartitions
from core.kafka.broker.leadership import make_follower, make_leader, mark_offline, stop_partition, why_not_leader
from core.kafka.broker.log_manager.log_directories import LogDirectories
from core.kafka.broker.log_manager.log_manager import LogManager
from core.kafka.broker.partition import Partition
from core.kafka.broker.purgatory.delayed_produce import AppendCompletion
from core.kafka.broker.purgatory.produce_response import refuse_produce
from core.kafka.broker.requests.consumer_fetch import DelayedConsumerFetch
from core.kafka.broker.requests.fetch_manager import FetchManager
from core.kafka.broker.requests.leader_append import append_as_coordinator, append_records_to_leader
from core.kafka.broker.requests.list_offsets import list_offsets
from core.kafka.broker.transactions.add_partitions_to_txn_manager import AddPartitionsToTxnManager
from core.kafka.broker.transactions.internal_topic_owner import InternalTopicOwner
from core.kafka.broker.transactions.write_txn_markers import write_txn_markers
from core.kafka.ids import NO_EPOCH, NO_LEADER, NO_OFFSET, TopicPartition, broker_address
from core.kafka.log.cleaner.compacted_term import single_records
from core.kafka.log.leader_term import Batch, BatchFields
from core.kafka.log.producer_state import NO_GUARD
from core.kafka.messages import (
    ConsumerFetchRequest,
    ListOffsetsRequest,
    ListOffsetsResponse,
    MetadataRequest,
    MetadataResponse,
    OffsetsForLeaderEpochRequest,
    OffsetsForLeaderEpochResponse,
    ProduceRequest,
)
from core.kafka.partition_registration import PartitionRegistration
from core.kafka.transaction.transaction_messages import WriteTxnMarkersRequest
from core.kafka.transaction.verification import TransactionalBatch, VerificationCompletion
from core.sim.disturbances import DEAD


class ReplicaManager:
    """The replicas of one broker.

    Attributes:
        partitions: the hosted partitions in working log directories.
        offline_partitions: the hosted partitions in failed log directories.
        consumer_fetches: the delayed fetches of consumers, by (consumer, correlation ID).
        fetch_manager: the component that serves followers' fetches.
        fetcher_manager: this broker's own fetchers, which fetch from other leaders.
        role_changes: the partitions whose roles a LeaderAndIsr request has changed, but whose coordinators have not been informed yet, each
            with the event that changed the role.
    """

    __slots__ = (
        "add_partitions_manager",
        "broker",
        "consumer_fetches",
        "coordinators",
        "fetch_manager",
        "fetcher_manager",
        "hosted",
        "log_directories",
        "log_manager",
        "offline_partitions",
        "partitions",
        "role_changes",
    )  # fmt: skip

    broker: Final[BrokerContext]
    log_manager: Final[LogManager]
    log_directories: Final[LogDirectories]
    hosted: Final[HostedPartitions]
    partitions: Final[dict[TopicPartition, Partition]]
    offline_partitions: Final[dict[TopicPartition, None]]
    consumer_fetches: Final[dict[tuple[str, int], DelayedConsumerFetch]]
    fetch_manager: Final[FetchManager]
    fetcher_manager: Final[ReplicaFetcherManager]
    role_changes: Final[list[tuple[Partition, int]]]

    def __init__(
        self,
        broker: BrokerContext,
        hosted: HostedPartitions,
        log_manager: LogManager,
        directories: LogDirectories,
        owner: FetcherOwner,
    ) -> None:
        self.broker = broker
        self.hosted = hosted
        self.log_manager = log_manager
        self.log_directories = directories
        self.partitions = self.hosted.online
        self.offline_partitions = self.hosted.offline
        self.consumer_fetches = {}
        self.fetch_manager = FetchManager(broker, self.hosted)
        self.fetcher_manager = ReplicaFetcherManager(broker, owner)
        self.add_partitions_manager = AddPartitionsToTxnManager(broker, self.hosted)
        self.coordinators: dict[str, InternalTopicOwner] = {}
        self.role_changes = []
        broker.node.handlers.update(
            {
                ProduceRequest: self._produce,
                OffsetsForLeaderEpochRequest: self._offsets_for_leader_epoch,
                ListOffsetsRequest: self._list_offsets,
                ConsumerFetchRequest: self._consumer_fetch,
                MetadataRequest: self._metadata,
                WriteTxnMarkersRequest: self._write_txn_markers,
            }
        )
        broker.node.timers.update(
            {
                "produce-expiry": self._produce_expired,
                "consumer-fetch-expiry": self._consumer_fetch_expired,
            }
        )

    def refresh_settings(self, *, timeout_changed: bool) -> None:
        """Read the settings again, because they might have changed. `timeout_changed` tells that replica.socket.timeout.ms has changed."""
        self.fetch_manager.refresh_settings()
        self.fetcher_manager.refresh_settings(timeout_changed=timeout_changed)
        for partition in self.partitions.values():
            partition.refresh_settings()

    def reset(self) -> None:
        """Forget all state except the disk, because the process has ended."""
        self.hosted.reset()
        self.broker.maybe_out_of_sync.clear()
        self.consumer_fetches.clear()
        self.role_changes.clear()
        self.fetch_manager.reset()
        self.fetcher_manager.reset()
        self.add_partitions_manager.reset()

    def disconnected(self, node: str, *, only_opened: bool) -> None:
        """Handle the end of a peer's process, or, with `only_opened`, the end of the broker's own connection to the peer."""
        if not only_opened:
            self.fetch_manager.disconnected(node)
        self.fetcher_manager.disconnected(node)
        if node[1:].isdecimal():
            self.add_partitions_manager.disconnected(int(node[1:]))

    # --- leadership ------------------------------------------------------------------------------------------------

    def apply(self, tp: TopicPartition, registration: PartitionRegistration) -> None:
        """Apply a partition's new state from the metadata (`ReplicaManager#applyDelta`)."""
        broker = self.broker
        if broker.id not in registration.replicas:
            self.stop_replica(tp, delete=True)
            return
        partition = self._get_or_create_partition(tp)
        if partition is None:
            return
        if registration.leader == broker.id:
            self.fetcher_manager.remove(tp)
            if make_leader(partition, registration):
                self._role_changed(partition)
            return
        keeps_fetching = self._keeps_fetching(partition, registration)
        new_epoch = make_follower(partition, registration)
        self._role_changed(partition)
        if broker.want_shutdown and (registration.leader == NO_LEADER or broker.id not in registration.isr):
            self.fetcher_manager.remove(
                tp
            )  # in a controlled shutdown, a broker stops catching up (`ReplicaManager#applyLocalFollowersDelta`)
        elif new_epoch:
            if keeps_fetching and self.fetcher_manager.continue_in_epoch(tp, registration.leader_epoch):
                return
            self.fetcher_manager.remove(tp)
            self.fetcher_manager.forget_failure(tp)
            if registration.leader != NO_LEADER:
                self.fetcher_manager.add(partition, registration.leader, registration.leader_epoch)

    def become_leader_or_follower(
        self, items: tuple[tuple[TopicPartition, PartitionRegistration, int], ...], live: tuple[int, ...]
    ) -> tuple[tuple[TopicPartition, str], ...]:
        """Apply a LeaderAndIsr request from a ZooKeeper controller whose epoch has been checked (`ReplicaManager#becomeLeaderOrFollower`).

        The broker first looks up or creates each partition, and ignores the request for a partition if the leader epoch in the request is
        not newer than the epoch that the broker knows. Then the broker stops fetching the partitions for which the request makes it the
        leader, and takes over their leadership. Finally, the broker fetches the partitions that it now follows from their new leaders. If a
        partition's new leader is not alive, or the partition has no leader, the broker keeps its log and its former role, even if that role
        is leader (`#makeFollowers`). A broker in shutdown does not fetch. Fetchers without partitions end. After that, the caller informs
        the coordinators (`announce_roles`).

        Returns:
            (partition, error) for each partition.
        """
        broker, journal = self.broker, self.broker.journal
        arrived = journal.cause
        to_lead: list[tuple[Partition, PartitionRegistration, int]] = []
        to_follow: list[tuple[Partition, PartitionRegistration, int]] = []
        answers: dict[TopicPartition, str] = {}
        for tp, registration, cause in items:
            partition = self._get_or_create_partition(tp)
            if partition is None:
                answers[tp] = errors.KAFKA_STORAGE_ERROR
                continue
            answers[tp] = errors.NONE if registration.leader_epoch > partition.leader_epoch else errors.STALE_CONTROLLER_EPOCH
            if registration.leader_epoch < partition.leader_epoch:
                journal.emit(
                    events.LeaderAndIsrIgnored.kind, broker.id, tp.topic, tp.partition, registration.leader_epoch, partition.leader_epoch
                )
            elif registration.leader_epoch > partition.leader_epoch:
                (to_lead if registration.leader == broker.id else to_follow).append((partition, registration, cause))
        for partition, _registration, _cause in to_lead:
            self.fetcher_manager.remove(partition.tp)
        last_change = broker.network.disturbances.last_change
        for partition, registration, cause in to_lead:
            journal.cause = cause or last_change(partition.tp) or arrived
            led_before = partition.is_leader
            make_leader(partition, registration)
            if not led_before:  # a new epoch of the same leader does not load a coordinator again (`ReplicaManager#makeLeaders`)
                self.role_changes.append((partition, journal.cause))
        to_fetch: list[tuple[Partition, PartitionRegistration, int]] = []
        for partition, registration, cause in to_follow:
            journal.cause = cause or last_change(partition.tp) or arrived
            tp = partition.tp
            if registration.leader not in live:
                dead = broker.network.disturbances.current(broker_address(registration.leader), DEAD)
                journal.cause = dead or last_change((tp, registration.leader, registration.leader_epoch)) or journal.cause
                journal.emit(
                    events.LeaderUnavailable.kind,
                    broker.id, tp.topic, tp.partition, registration.leader, registration.leader_epoch, partition.leader, partition.leader_epoch,
                )  # fmt: skip
                continue
            keeps_fetching = self._keeps_fetching(partition, registration)
            make_follower(partition, registration)
            self.role_changes.append((partition, journal.cause))
            if keeps_fetching and self.fetcher_manager.continue_in_epoch(tp, registration.leader_epoch):
                continue
            self.fetcher_manager.remove(tp)
            self.fetcher_manager.forget_failure(tp)
            to_fetch.append((partition, registration, cause))
        for partition, registration, cause in to_fetch:
            if broker.state is not BrokerState.STOPPING:
                journal.cause = cause or last_change(partition.tp) or arrived
                self.fetcher_manager.add(partition, registration.leader, registration.leader_epoch)
        journal.cause = arrived
        self.fetcher_manager.shut_down_idle_fetchers()
        return tuple(answers.items())

    def announce_roles(self) -> None:
        """Inform the coordinators of internal topics that a LeaderAndIsr request has changed roles (`onLeadershipChange`)."""
        journal = self.broker.journal
        arrived = journal.cause
        for partition, cause in self.role_changes:
            journal.cause = cause
            self._role_changed(partition)
        self.role_changes.clear()
        journal.cause = arrived

    def _role_changed(self, partition: Partition) -> None:
        """Inform the coordinator of an internal topic that this broker now leads, or no longer leads, a partition of the topic."""
        owner = self.coordinators.get(partition.tp.topic)
        if owner is not None:
            if partition.is_leader:
                owner.elected(partition.tp.partition, partition.leader_epoch)
            else:
                owner.resigned(partition.tp.partition)

    def append_internally(
        self,
        tp: TopicPartition,
        make: Callable[[int], BatchFields],
        deadline: int,
        completion: AppendCompletion,
        guard: int = NO_GUARD,
        *,
        below_min_isr: bool = False,
    ) -> None:
        """Append a batch to a partition of an internal topic with acks=all.

        Args:
            tp: the partition.
            make: a function that makes the batch for a given offset.
            deadline: the time at which the write times out, in µs.
            completion: the function to call with the error, or with NONE.
            guard: the verification number of a transactional batch; NO_GUARD if the batch needed no verification.
            below_min_isr: whether to append the batch even if the ISR is smaller than min.insync.replicas.
        """
        partition = self.partitions.get(tp)
        if partition is None or not partition.is_leader:
            completion.append_completed(self.hosted.missing_error(tp))
            return
        append_as_coordinator(partition, make(partition.log.leo), deadline, completion, guard, below_min_isr=below_min_isr)

    def verify_transaction(self, batch: TransactionalBatch, completion: VerificationCompletion) -> None:
        """Ask the transaction coordinator to verify or add the partition of a batch, if necessary."""
        partition = self.partitions.get(batch.tp)
        if partition is None or not partition.is_leader:
            completion.verified(self.hosted.missing_error(batch.tp), NO_GUARD)
        elif self.add_partitions_manager.needs_verification(batch):
            self.add_partitions_manager.verify(batch, completion)
        else:
            completion.verified(errors.NONE, NO_GUARD)

    def internal_batches(self, tp: TopicPartition) -> Iterator[Batch]:
        """Yield the batches in a partition of an internal topic, including markers, from the log start to the LEO.

        If the log holds only part of a batch, the yielded batch contains only that part. In the cleaned part of the log, each remaining
        record is yielded as a batch of its own.
        """
        for run in self.broker.disk.logs[tp].readable_runs():
            if run.term.compacted:
                yield from single_records(run.term, run.start, run.end)
                continue
            for batch in run.term.batches_within(run.start, run.end):
                low, high = max(run.start - batch.base, 0), min(run.end - batch.base, batch.records)
                if batch.marker is None and isinstance(batch.content, tuple) and high - low < batch.records:
                    yield batch._replace(base=batch.base + low, records=high - low, content=batch.content[low:high])
                else:
                    yield batch

    def contents(self, tp: TopicPartition) -> tuple[Any, ...]:
        """Return the contents of the records in a partition of an internal topic, from the log start to the LEO."""
        log = self.broker.disk.logs[tp]
        found: list[Any] = []
        for run in log.readable_runs():
            for batch in run.term.batches_within(run.start, run.end):
                if isinstance(batch.content, tuple) and batch.marker is None:
                    found += batch.content
        return tuple(found)

    def _keeps_fetching(self, partition: Partition, registration: PartitionRegistration) -> bool:
        """Return whether a follower keeps fetching in a new epoch of the same leader, without truncating.

        Kafka: `Partition#makeFollower` before KAFKA-7164. In 2.0, the follower keeps fetching without truncation only if the new epoch
        directly follows the known one, which means that the follower has not missed an epoch.
        """
        release = self.broker.release
        if registration.leader != partition.leader or registration.leader == NO_LEADER:
            return False
        if not release.truncate_on_epoch_change:
            return True
        return not release.truncate_in_next_epoch and registration.leader_epoch <= partition.leader_epoch + 1

    def _get_or_create_partition(self, tp: TopicPartition) -> Partition | None:
        """Return the partition, after creating it and its log if necessary; None if its log directory is offline (`#getOrCreatePartition`)."""
        partition = self.partitions.get(tp)
        if partition is None:
            broker = self.broker
            if tp in self.offline_partitions:
                return None
            log = broker.disk.logs.get(tp)
            if log is None:
                if tp in broker.disk.offline:
                    self.offline_partitions[tp] = None
                    broker.journal.emit(events.OfflineReplicaFound.kind, broker.id, tp.topic, tp.partition, broker.disk.dir_of(tp))
                    return None
                log = broker.disk.create(tp, self.log_manager.config_of(tp.topic), broker.release)
                self.log_directories.assign(tp)
            partition = self.partitions[tp] = Partition(tp, broker, log)
        return partition

    def stop_replica(self, tp: TopicPartition, *, delete: bool) -> None:
        """Stop fetching a partition (`ReplicaManager#stopReplicas`). If `delete` is true, also stop hosting the partition and delete its
        log, even if the current process has not opened the log (`#deleteStrayReplicas`)."""
        self.fetcher_manager.remove(tp)
        self.fetcher_manager.forget_failure(tp)
        if not delete:
            return
        partition = self.partitions.pop(tp, None)
        if partition is not None:
            for entry in partition.sessions:
                entry.unlink()
            partition.mark_to_send()
            stop_partition(partition)
            self._role_changed(partition)
            self.broker.disk.delete(tp)
            self.broker.account.log_unavailable(tp, self.broker.id, partition.log)
        elif tp in self.broker.disk.offline:
            broker = self.broker
            broker.journal.emit(
                events.OfflineReplicaDropped.kind,
                broker.id, tp.topic, tp.partition, broker.disk.dir_of(tp), tp in self.offline_partitions,
            )  # fmt: skip
            broker.disk.delete(tp)
        elif tp in self.broker.disk.logs:
            self.broker.account.log_unavailable(tp, self.broker.id, self.broker.disk.logs[tp])
            self.broker.disk.delete(tp)

    def delete_replicas(self, tps: Iterable[TopicPartition]) -> None:
        """Delete the replicas of a deleted topic, even those that the current process has not opened (`ReplicaManager#applyDelta`)."""
        broker = self.broker
        for tp in tps:
            log = broker.disk.logs.get(tp)
            self.stop_replica(tp, delete=True)
            if log is not None:
                broker.journal.emit(events.ReplicaDeleted.kind, broker.id, tp.topic, tp.partition, log.leo)

    def take_offline(self, tps: list[TopicPartition]) -> None:
        """Stop serving and following the partitions in a failed log directory (`ReplicaManager#handleLogDirFailure`)."""
        for tp in tps:
            self.offline_partitions[tp] = None
            partition = self.partitions.get(tp)
            if partition is not None:
                self.fetcher_manager.remove(tp)
                del self.partitions[tp]
                self.fetcher_manager.forget_failure(tp)
                for entry in partition.sessions:
                    entry.unlink()
                mark_offline(partition)
                self._role_changed(partition)
        self.fetcher_manager.shut_down_idle_fetchers()

    def out_of_sync_partitions(self) -> list[Partition]:
        """Return the partitions that this broker leads and that have a follower to remove from the ISR, in the order in which they were
        created.

        A follower is in sync while it is at the LEO and its session keeps fetching. A partition is skipped if all of its followers are in
        sync.
        """
        broker = self.broker
        oldest = broker.journal.now - broker.config.lag_max
        late: dict[TopicPartition, Partition] = {}
        for tp in list(broker.maybe_out_of_sync):
            partition = self.partitions.get(tp)
            if partition is None or not partition.is_leader or all(replica.caught_up_session is not None for replica in partition.remotes):
                del broker.maybe_out_of_sync[tp]
            elif partition.out_of_sync_replicas():
                late[tp] = partition
        for session in self.fetch_manager.sessions_without_fetch_since(oldest):
            for tp in session.partitions:
                partition = self.partitions.get(tp)
                if partition is not None and partition.is_leader and partition.out_of_sync_replicas():
                    late[tp] = partition
        return list(late.values()) if len(late) < 2 else [partition for tp, partition in self.partitions.items() if tp in late]

    # --- offsets ---------------------------------------------------------------------------------------------------

    def _offsets_for_leader_epoch(self, request: OffsetsForLeaderEpochRequest, sender: str) -> None:
        """Serve an OffsetsForLeaderEpoch request (`Partition#lastOffsetForLeaderEpoch`)."""
        answers = []
        fenced = self.broker.release.truncation_epoch_fencing
        for tp, leader_epoch, asked in request.partitions:
            partition = self.partitions.get(tp)
            error = (
                self.hosted.missing_error(tp) if partition is None else partition.check_leader_epoch(leader_epoch if fenced else NO_EPOCH)
            )
            if partition is None or error != errors.NONE:
                answers.append((tp, error, NO_EPOCH, NO_OFFSET))
            else:
                answers.append((tp, error, *partition.last_offset_for_leader_epoch(asked)))
        self.broker.node.reply(sender, OffsetsForLeaderEpochResponse(request.correlation, request.fetcher, tuple(answers)))

    def _list_offsets(self, request: ListOffsetsRequest, sender: str) -> None:
        """Serve a ListOffsets request (`ReplicaManager#fetchOffset`)."""
        partition = self.partitions.get(request.tp)
        fenced = self.broker.release.truncation_epoch_fencing
        error = (
            self.hosted.missing_error(request.tp)
            if partition is None
            else partition.check_leader_epoch(request.leader_epoch if fenced else NO_EPOCH)
        )
        if partition is None or error != errors.NONE:
            answer = ListOffsetsResponse(request.correlation, request.fetcher, request.tp, error, NO_OFFSET, NO_OFFSET)
        else:
            answer = list_offsets(partition, request)
        self.broker.node.reply(sender, answer)

    # --- clients ---------------------------------------------------------------------------------------------------

    def _produce(self, request: ProduceRequest, sender: str) -> None:
        """Serve a produce request for one partition (`ReplicaManager#appendRecords`)."""
        if request.acks not in (-1, 0, 1):
            refuse_produce(self.broker, sender, request, errors.INVALID_REQUIRED_ACKS, (), 0)
            return
        partition = self.partitions.get(request.tp)
        if partition is None or not partition.is_leader:
            why = why_not_leader(self.broker, request.tp) or (() if partition is None else (partition.changed_by,))
            refuse_produce(self.broker, sender, request, self.hosted.missing_error(request.tp), (), 0, why=why)
            return
        if request.transactional_id and self.add_partitions_manager.needs_verification(request):
            self.add_partitions_manager.verify_produce(sender, request)
            return
        append_records_to_leader(partition, sender, request)

    def _write_txn_markers(self, request: WriteTxnMarkersRequest, sender: str) -> None:
        """Serve a transaction coordinator's request to write markers."""
        write_txn_markers(self.broker, self.hosted, self.coordinators, sender, request)

    def _produce_expired(self, tp: object) -> None:
        partition = self.partitions.get(tp)  # type: ignore[call-overload]
        if partition is not None and partition.delayed is not None:
            partition.delayed.expire()

    def _consumer_fetch(self, request: ConsumerFetchRequest, sender: str) -> None:
        """Serve a consumer's fetch. If there is something to send, respond immediately; otherwise, delay the fetch."""
        waiting = DelayedConsumerFetch(self.broker, self.hosted, sender, request)
        answer = waiting.read()
        if request.max_wait <= 0 or waiting.is_enough(answer):
            self.broker.node.reply(sender, answer)
            return
        key = (sender, request.correlation)
        self.consumer_fetches[key] = waiting
        waiting.park()
        self.broker.node.timer(request.max_wait, "consumer-fetch-expiry", key)

    def _consumer_fetch_expired(self, key: object) -> None:
        waiting = self.consumer_fetches.pop(key, None)  # type: ignore[call-overload]
        if waiting is not None:
            waiting.complete()

    def _metadata(self, request: MetadataRequest, sender: str) -> None:
        """Serve a metadata request: return the leaders of topics, and the live brokers, according to this broker's metadata."""
        release, cache = self.broker.release, self.broker.metadata_cache
        others = tuple((topic, *self._topic_metadata(topic)) for topic in request.others)
        self.broker.node.reply(
            sender,
            MetadataResponse(
                request.correlation,
                request.topic,
                *self._topic_metadata(request.topic),
                others,
                cache.alive_brokers(),
                reliable_epochs=release.reliable_leader_epochs,
                topic_ids=release.metadata_topic_ids,
            ),
        )

    def _topic_metadata(self, topic: str) -> tuple[tuple[tuple[int, int], ...], str]:
        cache = self.broker.metadata_cache
        error = errors.UNKNOWN_TOPIC_OR_PARTITION if cache.is_deleted(topic) else errors.NONE
        return cache.topic_leaders(topic), error

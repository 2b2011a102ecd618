"""Which replicas a broker hosts, which it leads, which it follows, and the requests of followers and clients (Kafka: `ReplicaManager`)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from core import errors
from core.broker.consumer_fetch import DelayedConsumerFetch
from core.broker.fetch_session import FetchSession
from core.broker.fetcher import FOREVER, Fetcher
from core.broker.partition import Partition
from core.controller.registration import PartitionRegistration
from core.ids import NO_EPOCH, NO_LEADER, NO_OFFSET, TopicPartition
from core.journal import events
from core.log.term import Term
from core.messages import (
    ConsumerFetchRequest,
    EpochsRequest,
    EpochsResponse,
    FetchedPartition,
    FetchRequest,
    FetchResponse,
    MetadataRequest,
    MetadataResponse,
    OffsetsRequest,
    OffsetsResponse,
    ProduceRequest,
    ProduceResponse,
)
from core.release import Truncation
from core.view import BrokerState

if TYPE_CHECKING:
    from core.broker.broker import Broker


class ReplicaManager:
    """The replicas of one broker.

    Attributes:
        partitions: hosted partitions.
        offline_partitions: those in failed log directories (ordered set).
        failed_partitions: followed ones whose fetcher gave up until new metadata arrives (ordered set).
        sessions: fetch sessions of followers, by (follower, fetcher).
        fetchers: own fetchers, by (leader, fetcher).
        consumer_fetches: consumers' fetches that wait, by (consumer, correlation).
    """

    def __init__(self, broker: Broker) -> None:
        self.broker = broker
        self.partitions: dict[TopicPartition, Partition] = {}
        self.offline_partitions: dict[TopicPartition, None] = {}
        self.failed_partitions: dict[TopicPartition, None] = {}
        self.sessions: dict[tuple[int, int], FetchSession] = {}
        self.fetchers: dict[tuple[int, int], Fetcher] = {}
        self.consumer_fetches: dict[tuple[str, int], DelayedConsumerFetch] = {}
        broker.handlers |= {
            ProduceRequest: self._produce,
            FetchRequest: self._fetch,
            FetchResponse: self._fetched,
            EpochsRequest: self._epochs,
            EpochsResponse: self._epochs_answered,
            OffsetsRequest: self._offsets,
            OffsetsResponse: self._offsets_answered,
            ConsumerFetchRequest: self._consumer_fetch,
            MetadataRequest: self._metadata,
        }
        broker.timers |= {
            "fetch-expiry": self._fetch_expired,
            "produce-expiry": self._produce_expired,
            "consumer-fetch-expiry": self._consumer_fetch_expired,
            "fetcher-wake": self._fetcher_wake,
            "fetcher-watch": self._fetcher_watch,
        }

    def reset(self) -> None:
        """The process ended: all but the disk is gone."""
        self.partitions.clear()
        self.offline_partitions.clear()
        self.failed_partitions.clear()
        self.sessions.clear()
        self.fetchers.clear()
        self.consumer_fetches.clear()

    # --- roles -----------------------------------------------------------------------------------------------------

    def apply(self, tp: TopicPartition, registration: PartitionRegistration) -> None:
        """Take over a partition's state from the metadata (`ReplicaManager#applyDelta`)."""
        broker = self.broker
        if broker.id not in registration.replicas:
            self.stop_replica(tp, delete=True)
            return
        partition = self._hosted(tp)
        if partition is None:
            return
        if registration.leader == broker.id:
            self._unfollow(tp)
            partition.make_leader(registration)
            return
        before = partition.leader
        if partition.make_follower(registration):
            same = registration.leader == before != NO_LEADER
            if same and not broker.release.truncate_on_epoch_change and self._follow_on(tp, registration.leader_epoch):
                return
            self._unfollow(tp)
            self.failed_partitions.pop(tp, None)
            if registration.leader != NO_LEADER:
                self._fetcher_for(registration.leader, tp).add(partition, registration.leader_epoch)

    def become_leader_or_follower(
        self, items: tuple[tuple[TopicPartition, PartitionRegistration, int], ...], live: tuple[int, ...]
    ) -> None:
        """A ZooKeeper controller's LeaderAndIsr (`ReplicaManager#becomeLeaderOrFollower`), its epoch checked: three parts.

        First each partition is looked up or created, and roles of a leader epoch that is not newer are ignored. Then those
        to lead stop fetching and lead. Then those to follow stop fetching, and fetch from their new leader if it lives; a
        dead leader still leaves a log, and a broker that shuts down fetches no more.
        """
        broker, journal = self.broker, self.broker.journal
        arrived = journal.cause
        to_lead: list[tuple[Partition, PartitionRegistration, int]] = []
        to_follow: list[tuple[Partition, PartitionRegistration, int]] = []
        for tp, registration, cause in items:
            partition = self._hosted(tp)
            if partition is None:
                continue
            if registration.leader_epoch < partition.leader_epoch:
                journal.emit(
                    events.LeaderAndIsrIgnored.kind, broker.id, tp.topic, tp.partition, registration.leader_epoch, partition.leader_epoch
                )
            elif registration.leader_epoch > partition.leader_epoch:
                (to_lead if registration.leader == broker.id else to_follow).append((partition, registration, cause))
        for partition, _registration, _cause in to_lead:
            self._unfollow(partition.tp)
        for partition, registration, cause in to_lead:
            journal.cause = cause or arrived
            partition.make_leader(registration)
        for partition, registration, cause in to_follow:
            journal.cause = cause or arrived
            partition.make_follower(registration)
            self._unfollow(partition.tp)
            self.failed_partitions.pop(partition.tp, None)
        for partition, registration, cause in to_follow:
            if registration.leader in live and broker.state is not BrokerState.STOPPING:
                journal.cause = cause or arrived
                self._fetcher_for(registration.leader, partition.tp).add(partition, registration.leader_epoch)
        journal.cause = arrived
        self.shut_down_idle_fetchers()

    def _hosted(self, tp: TopicPartition) -> Partition | None:
        """The partition, created with its log if it is not there; None if its log directory is offline."""
        partition = self.partitions.get(tp)
        if partition is None:
            broker = self.broker
            log = broker.disk.logs.get(tp)
            if log is None:
                if tp in broker.disk.offline:
                    self.offline_partitions[tp] = None
                    return None
                keeps_epochs = broker.release.truncation >= Truncation.EPOCH
                log = broker.disk.create(tp, broker.log_config(tp.topic), keeps_epochs=keeps_epochs)
                broker.directories.assign(tp)
            partition = self.partitions[tp] = Partition(tp, broker, log)
        return partition

    def stop_replica(self, tp: TopicPartition, *, delete: bool) -> None:
        """Fetch a partition no more (`ReplicaManager#stopReplicas`); with `delete` it is hosted no more, and its log goes."""
        self._unfollow(tp)
        self.failed_partitions.pop(tp, None)
        if not delete:
            return
        partition = self.partitions.pop(tp, None)
        if partition is not None:
            for session in partition.sessions.values():
                session.dirty[tp] = None
            self.broker.disk.delete(tp)
        elif tp in self.offline_partitions:
            del self.offline_partitions[tp]
            self.broker.disk.delete(tp)

    def take_offline(self, tps: list[TopicPartition]) -> None:
        """Their log directory failed: nobody is served, nothing is followed (`ReplicaManager#handleLogDirFailure`)."""
        for tp in tps:
            self.offline_partitions[tp] = None
            partition = self.partitions.pop(tp, None)
            if partition is not None:
                self._unfollow(tp)
                self.failed_partitions.pop(tp, None)
                partition.mark_offline()
        self.shut_down_idle_fetchers()

    def missing_error(self, tp: TopicPartition) -> str:
        """What a request for a partition that is not served here is told (`ReplicaManager#getPartitionOrError`)."""
        return errors.KAFKA_STORAGE_ERROR if tp in self.offline_partitions else errors.NOT_LEADER_OR_FOLLOWER

    def _missing(self, tp: TopicPartition, offset: int) -> FetchedPartition:
        return FetchedPartition(tp, self.missing_error(tp), offset, (), NO_OFFSET, NO_OFFSET, NO_EPOCH, NO_OFFSET, 0)

    def delete_old_segments(self) -> None:
        """Retention of all logs (`LogManager#cleanupLogs`), leaders and followers alike, each by its own high watermark."""
        broker = self.broker
        now, disk, journal = broker.journal.now, broker.disk, broker.journal
        configs = broker.log_configs.values()
        if not any(config.retention_bytes >= 0 or 0 <= config.retention_us < now for config in configs) and not disk.log_starts_moved:
            return
        for tp, log in list(disk.logs.items()):
            if log.leo == log.first_offset:
                continue
            old = log.log_start
            for deleted in log.delete_old_segments(now):
                journal.emit(
                    events.SegmentsDeleted.kind,
                    broker.id, tp.topic, tp.partition, deleted.start, deleted.end, deleted.segments, deleted.rule,
                )  # fmt: skip
            if log.log_start != old:
                self.log_start_moved(tp)

    def log_start_moved(self, tp: TopicPartition) -> None:
        """Its checkpoint is due, and followers are to hear of it with their next answer."""
        disk = self.broker.disk
        disk.moved_starts[tp] = None
        disk.log_starts_moved = True
        partition = self.partitions.get(tp)
        if partition is not None:
            for session in partition.sessions.values():
                session.dirty[tp] = None

    def _fetcher_for(self, leader: int, tp: TopicPartition) -> Fetcher:
        key = (leader, fetcher_id(tp, self.broker.fetchers_per_leader))
        fetcher = self.fetchers.get(key)
        if fetcher is None:
            fetcher = self.fetchers[key] = Fetcher(self.broker, *key)
        return fetcher

    def _follow_on(self, tp: TopicPartition, leader_epoch: int) -> bool:
        """The same leader in a new epoch, for a broker that truncates only under another leader (before KAFKA-7164): fetch on.

        False if no fetcher is at it.
        """
        for fetcher in self.fetchers.values():
            if tp in fetcher.states:
                fetcher.next_epoch(tp, leader_epoch)
                return True
        return False

    def _unfollow(self, tp: TopicPartition) -> None:
        for fetcher in self.fetchers.values():
            if tp in fetcher.states:
                fetcher.remove(tp)

    def shut_down_idle_fetchers(self) -> None:
        """Stop fetchers that have no partition left (`AbstractFetcherManager#shutdownIdleFetcherThreads`)."""
        for key in [key for key, fetcher in self.fetchers.items() if not fetcher.states]:
            del self.fetchers[key]

    def fetch_state(self, tp: TopicPartition) -> str:
        """What the fetcher does with a followed partition: fetching, truncating, delayed, failed, or idle."""
        if tp in self.failed_partitions:
            return "failed"
        for fetcher in self.fetchers.values():
            state = fetcher.states.get(tp)
            if state is not None:
                return "delayed" if state.delayed_until > self.broker.journal.now else state.state
        return "idle"

    # --- fetches of followers --------------------------------------------------------------------------------------

    def _fetch(self, request: FetchRequest, sender: str) -> None:
        """A follower fetches (`ReplicaManager#fetchMessages`): answered at once if there is something to say, else it waits."""
        key = (request.follower, request.fetcher)
        session = self.sessions.get(key)
        if request.full:
            if session is not None:
                self._close(session)
            session = self.sessions[key] = FetchSession(sender, request.follower, request.fetcher)
        elif session is None:
            self.broker.reply(sender, FetchResponse(request.correlation, request.fetcher, errors.FETCH_SESSION_ID_NOT_FOUND, ()))
            return
        session.update(request)
        for tp in request.forgotten:
            partition = self.partitions.get(tp)
            if partition is not None and partition.sessions.get(request.follower) is session:
                del partition.sessions[request.follower]
                replica = partition.remotes.get(request.follower)
                if replica is not None:
                    replica.settle()  # further fetches of this session are no fetches of that partition
        parts: list[FetchedPartition] = []
        total = 0
        at_once = request.max_wait <= 0
        release = self.broker.release
        other_epochs = not release.fetch_epoch_fencing and release.hw_same_epoch
        for tp in list(session.dirty) if self.broker.leader_quota is None else self._within_quota(session, request):
            entry = session.partitions[tp]
            partition = self.partitions.get(tp)
            if partition is None:
                parts.append(self._missing(tp, entry.asked.offset))
                at_once = True
                continue
            partition.sessions[request.follower] = session
            part = partition.read_for_follower(entry, request, request.max_bytes - total)
            ignored = part.diverging_epoch != NO_EPOCH and release.ignores_diverging_fetch
            if other_epochs and entry.asked.leader_epoch != partition.leader_epoch:
                ignored = True
            if part.error == errors.NONE and not ignored:
                partition.update_follower_fetch_state(entry, session, request.broker_epoch)
            if part.error != errors.NONE or part.diverging_epoch != NO_EPOCH:
                at_once = True
            for stretch in part.records:
                total += stretch.bytes
            parts.append(part)
        session.last_fetch_time = self.broker.journal.now
        if at_once or total >= request.min_bytes:
            self._answer_fetch(session, request, parts)
            return
        session.parked = request
        if request.max_wait < FOREVER:
            session.deadline = self.broker.journal.now + request.max_wait
            if session.timer_due < 0:
                session.timer_due = session.deadline
                self.broker.timer(request.max_wait, "fetch-expiry", key)

    def _answer_fetch(self, session: FetchSession, request: FetchRequest, parts: list[FetchedPartition]) -> None:
        """Send the parts that are news to the follower; partitions that may have more stay dirty."""
        news = []
        for part in parts:
            tp = part.tp
            entry = session.partitions.get(tp)
            if entry is None:
                continue
            failed = part.error != errors.NONE
            diverged = part.diverging_epoch != NO_EPOCH
            if (
                part.records
                or failed
                or diverged
                or part.high_watermark != entry.told_high_watermark
                or part.log_start != entry.told_log_start
            ):
                news.append(part)
                entry.told_high_watermark = -1 if failed else part.high_watermark
                entry.told_log_start = part.log_start
            partition = self.partitions.get(tp)
            if partition is None or failed or diverged:
                session.dirty.pop(tp, None)
                continue
            log = partition.log
            if part.records and not self.broker.release.request_time_leo:
                partition.assume_fetched(session.follower, part.records[-1].end)
            waits = not part.records and part.offset < log.leo
            if waits or log.high_watermark != part.high_watermark or session.follower not in partition.maximal_isr:
                session.dirty[tp] = None
            else:
                session.dirty.pop(tp, None)
        quota = self.broker.leader_quota
        if quota is not None:
            for part in news:
                if part.records and self.broker.adds(part.tp, session.follower):
                    quota.record(self.broker.journal.now, sum(stretch.bytes for stretch in part.records))
        self.broker.reply(session.address, FetchResponse(request.correlation, request.fetcher, errors.NONE, tuple(news)))

    def _within_quota(self, session: FetchSession, request: FetchRequest | None) -> list[TopicPartition]:
        """The partitions with news that the leader's throttle lets through (`ReplicaManager#shouldLeaderThrottle`).

        Of one held back nothing is read, but that the follower asked counts; it stays dirty until the rate has fallen.
        """
        broker, follower = self.broker, session.follower
        quota = broker.leader_quota
        if quota is None or not quota.is_exceeded(broker.journal.now):
            return list(session.dirty)
        through = []
        for tp in list(session.dirty):
            partition = self.partitions.get(tp)
            entry = session.partitions[tp]
            if partition is None or not broker.adds(tp, follower):
                through.append(tp)
            elif request is not None:
                part = partition.read_for_follower(entry, request, 0)
                if part.error != errors.NONE or part.diverging_epoch != NO_EPOCH:
                    through.append(tp)
                else:
                    partition.sessions[follower] = session
                    partition.update_follower_fetch_state(entry, session, request.broker_epoch)
        return through

    def complete_fetch(self, session: FetchSession, max_records: int = 0) -> None:
        """A parked fetch leaves the purgatory (`DelayedFetch#onComplete`): log and HW are read now, the follower's state is not touched."""
        request = session.parked
        if request is None:
            return
        session.parked = None
        if max_records:
            request = request._replace(max_records=max_records)
        parts = []
        budget = request.max_bytes
        for tp in session.dirty if self.broker.leader_quota is None else self._within_quota(session, None):
            partition = self.partitions.get(tp)
            entry = session.partitions[tp]
            if partition is None:
                parts.append(self._missing(tp, entry.asked.offset))
                continue
            part = partition.read_for_follower(entry, request, budget)
            for stretch in part.records:
                budget -= stretch.bytes
            parts.append(part)
        self._answer_fetch(session, request, parts)

    def complete_fetch_if_enough(self, session: FetchSession) -> None:
        """New records came: answer a parked fetch once fetch.min.bytes wait (`DelayedFetch#tryComplete`)."""
        request = session.parked
        if request is None:
            return
        if request.min_bytes > 1:
            total = 0
            for tp in session.dirty:
                partition = self.partitions.get(tp)
                if partition is not None:
                    total += partition.log.bytes_between(session.partitions[tp].asked.offset, partition.log.leo)
            if total < request.min_bytes:
                return
        self.complete_fetch(session)

    def _fetch_expired(self, about: object) -> None:
        session = self.sessions.get(about)  # type: ignore[call-overload]
        if session is None:
            return
        session.timer_due = -1
        now = self.broker.journal.now
        if session.parked is None or session.parked.max_wait >= FOREVER:
            return
        if session.deadline <= now:
            self.complete_fetch(session)
        else:
            session.timer_due = session.deadline
            self.broker.timer(session.deadline - now, "fetch-expiry", about)

    def _close(self, session: FetchSession) -> None:
        session.parked = None
        for tp in session.partitions:
            partition = self.partitions.get(tp)
            if partition is not None and partition.sessions.get(session.follower) is session:
                del partition.sessions[session.follower]

    def _epochs(self, request: EpochsRequest, sender: str) -> None:
        """OffsetsForLeaderEpoch (`Partition#lastOffsetForLeaderEpoch`)."""
        answers = []
        fenced = self.broker.release.truncation_epoch_fencing
        for tp, leader_epoch, asked in request.partitions:
            partition = self.partitions.get(tp)
            error = self.missing_error(tp) if partition is None else partition.check_leader_epoch(leader_epoch if fenced else NO_EPOCH)
            if partition is None or error != errors.NONE:
                answers.append((tp, error, NO_EPOCH, NO_OFFSET))
            else:
                answers.append((tp, error, *partition.log.end_offset_for_epoch(asked)))
        self.broker.reply(sender, EpochsResponse(request.correlation, request.fetcher, tuple(answers)))

    def _offsets(self, request: OffsetsRequest, sender: str) -> None:
        """ListOffsets (`Partition#fetchOffsetForTimestamp`): clients wait while a new leader's HW is behind its epoch start (KIP-207)."""
        partition = self.partitions.get(request.tp)
        fenced = self.broker.release.truncation_epoch_fencing
        error = (
            self.missing_error(request.tp)
            if partition is None
            else partition.check_leader_epoch(request.leader_epoch if fenced else NO_EPOCH)
        )
        if partition is None or error != errors.NONE:
            answer = OffsetsResponse(request.correlation, request.fetcher, request.tp, error, NO_OFFSET, NO_OFFSET)
        elif request.replica >= 0:
            answer = OffsetsResponse(request.correlation, request.fetcher, request.tp, error, partition.log.log_start, partition.log.leo)
        else:
            # The earliest offset is right at any time; it goes along with the refusal to tell the latest.
            latest = partition.log.high_watermark
            if partition.leader_epoch_start_offset > latest:
                error, latest = errors.OFFSET_NOT_AVAILABLE, NO_OFFSET
            answer = OffsetsResponse(request.correlation, request.fetcher, request.tp, error, partition.log.log_start, latest)
        self.broker.reply(sender, answer)

    # --- own fetchers ----------------------------------------------------------------------------------------------

    def _fetched(self, response: FetchResponse, sender: str) -> None:
        fetcher = self._fetcher_from(sender, response.fetcher)
        if fetcher is not None:
            fetcher.fetched(response)

    def _epochs_answered(self, response: EpochsResponse, sender: str) -> None:
        fetcher = self._fetcher_from(sender, response.fetcher)
        if fetcher is not None:
            fetcher.epochs_answered(response)

    def _offsets_answered(self, response: OffsetsResponse, sender: str) -> None:
        fetcher = self._fetcher_from(sender, response.fetcher)
        if fetcher is not None:
            fetcher.offsets_answered(response)

    def _fetcher_from(self, sender: str, number: int) -> Fetcher | None:
        return self.fetchers.get((int(sender[1:]), number))

    def _fetcher_wake(self, about: object) -> None:
        fetcher = self.fetchers.get(about)  # type: ignore[call-overload]
        if fetcher is not None:
            fetcher.woken()

    def _fetcher_watch(self, about: object) -> None:
        fetcher = self.fetchers.get(about)  # type: ignore[call-overload]
        if fetcher is not None:
            fetcher.watch()

    def disconnected(self, node: str) -> None:
        """A peer's process is gone: its parked fetches with it, own fetches from it fail."""
        for session in self.sessions.values():
            if session.address == node:
                session.parked = None
        for fetcher in list(self.fetchers.values()):
            if fetcher.address == node:
                fetcher.disconnected(errors.NETWORK_EXCEPTION)

    # --- clients ---------------------------------------------------------------------------------------------------

    def _produce(self, request: ProduceRequest, sender: str) -> None:
        """A produce request for one partition (`ReplicaManager#appendRecords`)."""
        if request.acks not in (-1, 0, 1):
            self.refuse_produce(sender, request, errors.INVALID_REQUIRED_ACKS, (), 0)
            return
        partition = self.partitions.get(request.tp)
        if partition is None or not partition.is_leader:
            self.refuse_produce(sender, request, self.missing_error(request.tp), (), 0)
            return
        partition.append_records_to_leader(sender, request)

    def refuse_produce(self, sender: str, request: ProduceRequest, error: str, isr: tuple[int, ...], min_isr: int) -> None:
        """Nothing was appended: say so."""
        journal, tp = self.broker.journal, request.tp
        before = journal.cause
        journal.cause = journal.emit(
            events.AppendRefused.kind, self.broker.id, tp.topic, tp.partition, request.producer, request.records, error, isr, min_isr
        )
        self.answer_produce(sender, request, error, NO_OFFSET, None)
        journal.cause = before

    def answer_produce(self, sender: str, request: ProduceRequest, error: str, base: int, term: Term | None) -> None:
        """Answer a produce request; with acks=0 nobody listens."""
        if request.acks != 0:
            self.broker.reply(sender, ProduceResponse(request.correlation, request.tp, error, base, term))

    def _produce_expired(self, tp: object) -> None:
        partition = self.partitions.get(tp)  # type: ignore[call-overload]
        if partition is not None:
            partition.expire_delayed_produce()

    def _consumer_fetch(self, request: ConsumerFetchRequest, sender: str) -> None:
        """A consumer fetches: answered at once if there is something to say, else it waits."""
        waiting = DelayedConsumerFetch(self.broker, sender, request)
        if request.max_wait <= 0 or waiting.read():
            waiting.complete()
            return
        key = (sender, request.correlation)
        self.consumer_fetches[key] = waiting
        waiting.park()
        self.broker.timer(request.max_wait, "consumer-fetch-expiry", key)

    def _consumer_fetch_expired(self, key: object) -> None:
        waiting = self.consumer_fetches.pop(key, None)  # type: ignore[call-overload]
        if waiting is not None:
            waiting.complete()

    def _metadata(self, request: MetadataRequest, sender: str) -> None:
        """Who leads a topic, as far as this broker knows."""
        broker = self.broker
        broker.reply(sender, MetadataResponse(request.correlation, request.topic, broker.topic_leaders(request.topic)))


def fetcher_id(tp: TopicPartition, fetchers: int) -> int:
    """Which of a broker's fetchers follows a partition: 31·hash(topic)+partition, as `AbstractFetcherManager#getFetcherId`."""
    if fetchers == 1:
        return 0
    code = 0
    for char in tp.topic:
        code = (31 * code + ord(char)) & 0xFFFFFFFF
    code = (31 * code + tp.partition) & 0xFFFFFFFF
    return (code if code < 2**31 else 2**32 - code) % fetchers

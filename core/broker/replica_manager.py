"""Which replicas a broker hosts, which it leads, which it follows, and the requests of followers and clients (Kafka: `ReplicaManager`)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from core import errors
from core.broker import steady
from core.broker.consumer_fetch import DelayedConsumerFetch
from core.broker.fetch_session import FetchSession, SessionPartition
from core.broker.fetcher import FOREVER, Fetcher
from core.broker.partition import Partition
from core.broker.replica import Replica
from core.controller.registration import PartitionRegistration
from core.ids import NO_EPOCH, NO_LEADER, NO_OFFSET, TopicPartition
from core.journal import events
from core.log.term import Term
from core.messages import (
    ConsumerFetchRequest,
    EpochsRequest,
    EpochsResponse,
    FetchedPartition,
    FetchedRun,
    FetchRequest,
    FetchResponse,
    MetadataRequest,
    MetadataResponse,
    OffsetsRequest,
    OffsetsResponse,
    ProduceRequest,
    ProduceResponse,
    Timer,
)
from core.release import Truncation
from core.sim.quiet import round_order
from core.view import BrokerState

if TYPE_CHECKING:
    from core.broker.broker import Broker


class ReplicaManager:
    """The replicas of one broker.

    Attributes:
        partitions: hosted partitions.
        offline_partitions: those in failed log directories (ordered set).
        failed_partitions: followed ones whose fetcher gave up until new metadata arrives (ordered set).
        behind: those led here of which a follower may not be at the LEO in a running session (ordered set); only they, and those
            of sessions that stand still, can be out of sync.
        sessions: fetch sessions of followers, by (follower, fetcher).
        fetchers: own fetchers, by (leader, fetcher).
        consumer_fetches: consumers' fetches that wait, by (consumer, correlation).
        pushes_high_watermark: a fetch is answered when its follower was not sent the newest high watermark (2.4; by hand nothing answers itself).
    """

    def __init__(self, broker: Broker) -> None:
        self.broker = broker
        self.pushes_high_watermark = broker.release.hw_completes_fetch and not broker.by_hand
        self.partitions: dict[TopicPartition, Partition] = {}
        self.offline_partitions: dict[TopicPartition, None] = {}
        self.failed_partitions: dict[TopicPartition, None] = {}
        self.behind: dict[TopicPartition, None] = {}
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
        self.behind.clear()
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
        new_epoch = partition.make_follower(registration)
        if broker.want_shutdown and (registration.leader == NO_LEADER or broker.id not in registration.isr):
            self._unfollow(tp)  # in controlled shutdown it catches up no more (`ReplicaManager#applyLocalFollowersDelta`)
        elif new_epoch:
            same = registration.leader == before != NO_LEADER
            if same and not broker.release.truncate_on_epoch_change and self._follow_on(tp, registration.leader_epoch):
                return
            self._unfollow(tp)
            self.failed_partitions.pop(tp, None)
            if registration.leader != NO_LEADER:
                self._fetcher_for(registration.leader, tp).add(partition, registration.leader_epoch)

    def become_leader_or_follower(
        self, items: tuple[tuple[TopicPartition, PartitionRegistration, int], ...], live: tuple[int, ...]
    ) -> tuple[tuple[TopicPartition, str], ...]:
        """A ZooKeeper controller's LeaderAndIsr (`ReplicaManager#becomeLeaderOrFollower`), its epoch checked: three parts.

        First each partition is looked up or created, and roles of a leader epoch that is not newer are ignored. Then those
        to lead stop fetching and lead. Then those to follow stop fetching, and fetch from their new leader if it lives; a
        dead leader still leaves a log, and a broker that shuts down fetches no more.

        Returns (partition, error) for each.
        """
        broker, journal = self.broker, self.broker.journal
        arrived = journal.cause
        to_lead: list[tuple[Partition, PartitionRegistration, int]] = []
        to_follow: list[tuple[Partition, PartitionRegistration, int]] = []
        answers: dict[TopicPartition, str] = {}
        for tp, registration, cause in items:
            partition = self._hosted(tp)
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
        return tuple(answers.items())

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
            for entry in partition.sessions.values():
                entry.unlink()
                entry.session.dirty[tp] = entry
            partition.stop()
            self.broker.disk.delete(tp)
        elif tp in self.offline_partitions:
            del self.offline_partitions[tp]
            self.broker.disk.delete(tp)

    def take_offline(self, tps: list[TopicPartition]) -> None:
        """Their log directory failed: nobody is served, nothing is followed (`ReplicaManager#handleLogDirFailure`)."""
        for tp in tps:
            self.offline_partitions[tp] = None
            partition = self.partitions.get(tp)
            if partition is not None:
                self._unfollow(tp)
                del self.partitions[tp]
                self.failed_partitions.pop(tp, None)
                for entry in partition.sessions.values():
                    entry.unlink()
                partition.mark_offline()
        self.shut_down_idle_fetchers()

    def missing_error(self, tp: TopicPartition) -> str:
        """What a request for a partition that is not served here is told (`ReplicaManager#getPartitionOrError`)."""
        if tp in self.offline_partitions:
            return errors.KAFKA_STORAGE_ERROR
        return errors.NOT_LEADER_OR_FOLLOWER if self.broker.knows(tp) else errors.UNKNOWN_TOPIC_OR_PARTITION

    def _missing(self, tp: TopicPartition, offset: int) -> FetchedPartition:
        return FetchedPartition(tp, self.missing_error(tp), offset, (), NO_OFFSET, NO_OFFSET, NO_EPOCH, NO_OFFSET, 0)

    def delete_old_segments(self) -> None:
        """Retention of all logs (`LogManager#cleanupLogs`), leaders and followers alike, each by its own high watermark."""
        broker = self.broker
        now, disk, journal = broker.settings.clock.read(broker.journal.now), broker.disk, broker.journal
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
            for entry in partition.sessions.values():
                entry.session.dirty[tp] = entry

    def out_of_sync_partitions(self) -> list[Partition]:
        """The partitions led here that have a follower to drop from their ISR, in order of creation.

        A follower that is at the LEO in a session through which it still fetches is in sync: partitions where that is so of
        all of them are not looked at.
        """
        broker, sessions = self.broker, self.sessions
        oldest = broker.journal.now - broker.lag_max
        late: dict[TopicPartition, Partition] = {}
        for tp in list(self.behind):
            partition = self.partitions.get(tp)
            if partition is None or not partition.is_leader or all(map(self._keeps_up, partition.remotes.values())):
                del self.behind[tp]
            elif partition.out_of_sync_replicas():
                late[tp] = partition
        for session in sessions.values():
            if session.fetched_at() < oldest:
                for tp in session.partitions:
                    partition = self.partitions.get(tp)
                    if partition is not None and partition.is_leader and partition.out_of_sync_replicas():
                        late[tp] = partition
        return list(late.values()) if len(late) < 2 else [partition for tp, partition in self.partitions.items() if tp in late]

    def _keeps_up(self, replica: Replica) -> bool:
        session = replica.session
        return session is not None and self.sessions.get((session.follower, session.fetcher)) is session

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
        fetcher = self.partitions[tp].fetcher
        if fetcher is None:
            return False
        fetcher.next_epoch(tp, leader_epoch)
        return True

    def _unfollow(self, tp: TopicPartition) -> None:
        partition = self.partitions.get(tp)
        if partition is not None and partition.fetcher is not None:
            partition.fetcher.remove(tp)

    def shut_down_idle_fetchers(self) -> None:
        """Stop fetchers that have no partition left (`AbstractFetcherManager#shutdownIdleFetcherThreads`)."""
        for key in [key for key, fetcher in self.fetchers.items() if not fetcher.states]:
            del self.fetchers[key]

    def fetch_state(self, tp: TopicPartition) -> str:
        """What the fetcher does with a followed partition: fetching, truncating, delayed, failed, or idle."""
        if tp in self.failed_partitions:
            return "failed"
        partition = self.partitions.get(tp)
        if partition is None or partition.fetcher is None:
            return "idle"
        state = partition.fetcher.states[tp]
        return "delayed" if state.delayed_until > self.broker.journal.now else state.state

    # --- fetches of followers --------------------------------------------------------------------------------------

    def _fetch(self, request: FetchRequest, sender: str) -> None:
        """A follower fetches (`ReplicaManager#fetchMessages`): answered at once if there is something to say, else it waits."""
        key = (request.follower, request.fetcher)
        session = self.sessions.get(key)
        if request.full:
            if session is not None:
                self._close(session)
            session = self.sessions[key] = FetchSession(
                sender, request.follower, request.fetcher, round_order(request.follower, self.broker.id, request.fetcher)
            )
        elif session is None:
            self.broker.reply(sender, FetchResponse(request.correlation, request.fetcher, errors.FETCH_SESSION_ID_NOT_FOUND, ()))
            return
        session.update(request)
        for tp in request.forgotten:
            partition = self.partitions.get(tp)
            if partition is not None and self._leave(partition, session):
                replica = partition.remotes.get(request.follower)
                if replica is not None:
                    replica.settle()  # further fetches of this session are no fetches of that partition
                    self.behind[tp] = None
        news = steady.look_at_partitions(self, session, request)
        session.last_fetch_time = self.broker.journal.now
        if news is not None:
            self._answer(session, request, news)
            return
        session.parked = request
        if self.pushes_high_watermark and any(
            not entry.partition.is_high_watermark_sent(session.follower) for entry in session.dirty.values() if entry.partition is not None
        ):
            self.complete_fetch(session)  # this very fetch has raised it
            return
        if request.max_wait < FOREVER:
            session.deadline = self.broker.journal.now + request.max_wait
            if session.timer_due < 0:
                session.timer_due = session.deadline
                self._arm_expiry(session)

    def broker_epoch_is_stale(self, request: FetchRequest) -> bool:
        """Whether a fetch comes from a former process of its broker, as far as this broker knows (KIP-903)."""
        broker = self.broker
        if not broker.release.broker_epoch_in_isr or request.broker_epoch == -1:
            return False
        return broker.known_broker_epoch(request.follower) > request.broker_epoch

    def _leave(self, partition: Partition, session: FetchSession) -> bool:
        """A partition leaves a session; False if it was in another of that follower."""
        entry = partition.sessions.get(session.follower)
        if entry is None or entry.session is not session:
            return False
        entry.unlink()
        del partition.sessions[session.follower]
        return True

    def look_at_partition(
        self, session: FetchSession, entry: SessionPartition, request: FetchRequest, budget: int
    ) -> tuple[FetchedPartition, bool]:
        """One partition of a follower's fetch: what is read, then what the leader learns; and whether that is to be answered at once."""
        partition = self.partitions.get(entry.tp)
        if partition is None:
            return self._missing(entry.tp, entry.offset), True
        partition.link(entry)
        part = partition.read_for_follower(entry, request, budget)
        release = self.broker.release
        ignored = part.diverging_epoch != NO_EPOCH and release.ignores_diverging_fetch
        if not release.fetch_epoch_fencing and release.hw_same_epoch and entry.leader_epoch != partition.leader_epoch:
            ignored = True
        if part.error == errors.NONE and not ignored:
            partition.update_follower_fetch_state(entry, session, request.broker_epoch)
        if part.error != errors.NONE or part.diverging_epoch != NO_EPOCH:
            return part, True
        return part, self.pushes_high_watermark and partition.high_watermark_sent(session.follower, part.high_watermark)

    def tell(self, entry: SessionPartition, part: FetchedPartition | FetchedRun) -> bool:
        """A partition's part is ready to go: whether it is news to the follower; a partition that may have more stays dirty."""
        session, tp = entry.session, entry.tp
        if not isinstance(part, FetchedPartition):
            _, _, offset, _, high_watermark, log_start, end, _, _ = part
            news = end > offset or high_watermark != entry.told_high_watermark or log_start != entry.told_log_start
            entry.told_high_watermark, entry.told_log_start = high_watermark, log_start
            del session.dirty[tp]
            if self.partitions[tp].log.high_watermark != high_watermark:
                session.dirty[tp] = entry
            return news
        failed = part.error != errors.NONE
        diverged = part.diverging_epoch != NO_EPOCH
        news = (
            bool(part.records)
            or failed
            or diverged
            or part.high_watermark != entry.told_high_watermark
            or part.log_start != entry.told_log_start
        )
        if news:
            entry.told_high_watermark = -1 if failed else part.high_watermark
            entry.told_log_start = part.log_start
        partition = self.partitions.get(tp)
        if partition is None or failed or diverged:
            session.dirty.pop(tp, None)
            return news
        log = partition.log
        if part.records and not self.broker.release.request_time_leo:
            partition.assume_fetched(session.follower, part.records[-1].end)
        waits = not part.records and part.offset < log.leo
        if part.records:
            session.dirty.pop(tp, None)  # if there is more to say, the others come first (`FetchSession`)
        if (
            waits
            or log.high_watermark != part.high_watermark
            or session.follower not in partition.maximal_isr
            or (self.pushes_high_watermark and not partition.is_high_watermark_sent(session.follower))
        ):
            session.dirty[tp] = entry
        else:
            session.dirty.pop(tp, None)
        return news

    def _answer(self, session: FetchSession, request: FetchRequest, news: list[FetchedPartition | FetchedRun]) -> None:
        """Send the answer to a fetch."""
        response = FetchResponse(request.correlation, request.fetcher, errors.NONE, tuple(news))
        quota = self.broker.leader_quota
        if quota is not None:
            for part in response.parts():
                if part.records and self.broker.adds(part.tp, session.follower):
                    quota.record(self.broker.journal.now, sum(stretch.bytes for stretch in part.records))
        if news:
            self.broker.reply(session.address, response)
        else:
            journal, address = self.broker.journal, self.broker.address
            self.broker.network.send_in_order(session.order, address, session.address, response, journal.now, journal.cause, reply=True)

    def within_quota(self, session: FetchSession, request: FetchRequest | None) -> list[SessionPartition]:
        """The partitions with news that the leader's throttle lets through (`ReplicaManager#shouldLeaderThrottle`).

        Of one held back nothing is read, but that the follower asked counts; it stays dirty until the rate has fallen.
        """
        broker, follower = self.broker, session.follower
        quota = broker.leader_quota
        if quota is None or not quota.is_exceeded(broker.journal.now):
            return list(session.dirty.values())
        through = []
        for tp, entry in list(session.dirty.items()):
            partition = self.partitions.get(tp)
            if partition is None or not broker.adds(tp, follower):
                through.append(entry)
            elif request is not None:
                part = partition.read_for_follower(entry, request, 0)
                if part.error != errors.NONE or part.diverging_epoch != NO_EPOCH:
                    through.append(entry)
                else:
                    partition.link(entry)
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
        looked_at: list[tuple[SessionPartition, FetchedPartition | FetchedRun]] = []
        budget = request.max_bytes
        general = (
            request.max_records != 0
            or self.broker.leader_quota is not None
            or self.pushes_high_watermark
            or self.broker_epoch_is_stale(request)
        )
        for entry in self.within_quota(session, None):
            run = None if general else steady.read_run(entry, request, budget)
            if run is not None:
                budget -= run[-2]
                looked_at.append((entry, run))
                continue
            partition = self.partitions.get(entry.tp)
            if partition is None:
                looked_at.append((entry, self._missing(entry.tp, entry.offset)))
                continue
            part = partition.read_for_follower(entry, request, budget)
            for stretch in part.records:
                budget -= stretch.bytes
            looked_at.append((entry, part))
        self._answer(session, request, [part for entry, part in looked_at if self.tell(entry, part)])

    def complete_fetch_if_enough(self, session: FetchSession) -> None:
        """New records came: answer a parked fetch once fetch.min.bytes wait (`DelayedFetch#tryComplete`)."""
        request = session.parked
        if request is None:
            return
        if request.min_bytes > 1:
            total = 0
            for tp, entry in session.dirty.items():
                partition = self.partitions.get(tp)
                if partition is not None:
                    total += partition.log.bytes_between(entry.offset, partition.log.leo)
            if total < request.min_bytes:
                return
        self.complete_fetch(session)

    def _fetch_expired(self, about: object) -> None:
        session = self.sessions.get(about)  # type: ignore[call-overload]
        now = self.broker.journal.now
        if session is None or session.timer_due != now:
            return  # the timer of a former session
        session.timer_due = -1
        if session.parked is None or session.parked.max_wait >= FOREVER:
            return
        if session.deadline > now:
            session.timer_due = session.deadline
            self._arm_expiry(session)
        elif session.dirty or self.broker.quiet_rounds is None or not self.broker.quiet_rounds.begin(self.broker, session, session.parked):
            self.complete_fetch(session)

    def _arm_expiry(self, session: FetchSession) -> None:
        """A timer of its own order among what is due at the same time (`core.sim.quiet`)."""
        broker = self.broker
        expiry = Timer("fetch-expiry", (session.follower, session.fetcher))
        broker.network.scheduler.add_in_order(
            session.timer_due, session.order, broker.address, broker.address, broker.incarnation, expiry, broker.journal.cause
        )

    def _close(self, session: FetchSession) -> None:
        session.parked = None
        for tp in session.partitions:
            self.behind[tp] = None
            partition = self.partitions.get(tp)
            if partition is not None:
                self._leave(partition, session)

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
                answers.append((tp, error, *partition.last_offset_for_leader_epoch(asked)))
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
            if partition.leader_epoch_start_offset > latest and self.broker.release.hides_stale_hw:
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
        """Answer a produce request; with acks=0 nobody listens, so after an error the connection is closed (`KafkaApis#handleProduceRequest`)."""
        broker = self.broker
        if request.acks != 0:
            broker.reply(sender, ProduceResponse(request.correlation, request.tp, error, base, term))
        elif error != errors.NONE:
            broker.network.close(broker.address, sender, broker.journal.now, broker.journal.cause)

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

"""The part of a leader that serves followers' fetches. The fetch manager keeps the fetch sessions, builds the responses, and delays
fetches.

Kafka: `FetchManager`, `DelayedFetch`.
"""

from __future__ import annotations

from typing import Final

from core.kafka import errors, events
from core.kafka.broker.context import BrokerContext
from core.kafka.broker.follower.fetcher import FOREVER, tuple_of
from core.kafka.broker.hosted_partitions import HostedPartitions
from core.kafka.broker.partition import Partition
from core.kafka.broker.replication_quota import ReplicationQuota
from core.kafka.broker.requests.fetch_session import FetchSession, SessionPartition
from core.kafka.broker.requests.fetch_validation import check_fetch
from core.kafka.ids import NO_EPOCH, NO_OFFSET, TopicPartition
from core.kafka.log.leader_term import FetchedRecords, fetched_ranges
from core.kafka.messages import FetchedPartitionFields, FetchFailure, FetchRequest, FetchResponse
from core.sim.journal import Column, null_sink
from core.sim.messages import Timer

FETCHED: Final = events.FollowerFetched.kind
NONE: Final = errors.NONE


class FetchManager:
    """The fetch sessions of one broker's followers.

    Attributes:
        sessions: the fetch sessions, keyed by the follower's broker ID and the number of its fetcher.
        possibly_late: the sessions whose next fetch might arrive too late to keep the follower in the ISR.
    """

    __slots__ = ("broker", "hosted", "partitions", "possibly_late", "sessions")

    broker: Final[BrokerContext]
    hosted: Final[HostedPartitions]
    partitions: Final[dict[TopicPartition, Partition]]
    sessions: Final[dict[tuple[int, int], FetchSession]]
    possibly_late: Final[dict[tuple[int, int], FetchSession]]

    def __init__(self, broker: BrokerContext, hosted: HostedPartitions) -> None:
        self.broker = broker
        self.hosted = hosted
        self.partitions = hosted.online
        self.sessions = {}
        self.possibly_late = {}
        broker.handlers.update({FetchRequest: self._fetch})
        broker.timers.update({"fetch-expiry": self._fetch_expired})

    def reset(self) -> None:
        """Forget all sessions, because the process has ended."""
        self.sessions.clear()
        self.possibly_late.clear()

    def drop_parked(self) -> None:
        """Drop all delayed fetches. The followers whose fetches were dropped then send new fetches."""
        for session in self.sessions.values():
            session.parked = None

    def disconnected(self, node: str) -> None:
        """Drop the delayed fetches of a peer whose process has ended."""
        for session in self.sessions.values():
            if session.address == node:
                session.parked = None

    def _fetch(self, request: FetchRequest, sender: str) -> None:
        """Serve a follower's fetch (`ReplicaManager#fetchMessages`).

        If there is something to send, respond immediately; otherwise, delay the fetch.
        """
        correlation, follower, fetcher, _, full, changed, forgotten, max_wait, _, _, _, _ = request
        session = self.sessions.get((follower, fetcher))
        if full:
            if session is not None:
                self._close(session)
            poll = self.broker.fetches_between(follower, self.broker.id, fetcher)
            session = self.sessions[follower, fetcher] = FetchSession(self, sender, follower, fetcher, poll)
            poll.serve(session)
            self.mark_possibly_late(session)
        elif session is None:
            self.broker.reply(sender, FetchResponse(correlation, fetcher, errors.FETCH_SESSION_ID_NOT_FOUND, ()))
            return
        for tp in forgotten:
            self._remove_from_session(tp, session)
        session.update(changed, forgotten)
        journal = self.broker.journal
        taken = session.take_dirty()
        entries = taken if self.broker.leader_quota is None else self._within_quota(taken, session, request)
        news = self.read_from_log(session, taken, entries, request, arrives=True)
        session.last_fetch_time = journal.now
        if news is not None:
            self._answer(session, request, news)
            return
        if self.broker.pushes_high_watermark and any(
            entry.partition.follower_needs_hw_update(follower) for entry in session.dirty if entry.partition is not None
        ):
            session.parked = request
            self.complete_fetch(session)  # this fetch has advanced the high watermark
            return
        session.parked = request
        if session.dirty and self.broker.leader_quota is None and self._has_records(session):
            self.complete_fetch_if_enough(session)  # a coordinator has appended when this fetch advanced the high watermark
            if not session.is_parked():
                return
        session.cause = journal.cause
        if max_wait < FOREVER:
            session.deadline = journal.now + max_wait
            self.arm_expiry(session)
        self._update_silence(session)

    def _has_records(self, session: FetchSession) -> bool:
        """Return whether any dirty partition has records that have not been sent to the follower (`DelayedFetch#tryComplete`)."""
        return any(entry.partition is not None and entry.offset < entry.partition.log.leo for entry in session.dirty)

    def break_silence(self) -> None:
        """Record that every session might have something to send."""
        for session in self.sessions.values():
            session.poll.break_silence()

    def mark_possibly_late(self, session: FetchSession) -> None:
        """Watch a session from now on, because its fetches might arrive too late to keep the follower in the ISR."""
        self.possibly_late[session.follower, session.fetcher] = session

    def sessions_without_fetch_since(self, time: int) -> list[FetchSession]:
        """Return the sessions whose last fetch arrived before the given time, in µs.

        A session whose fetches are elided is not checked again until the elision ends, because elided fetches always count as having
        arrived in time.
        """
        late = []
        for key, session in list(self.possibly_late.items()):
            fetched_at = session.fetched_at()
            if fetched_at < time:
                late.append(session)
            elif session.poll.is_regular(within=self.broker.journal.now - time):
                del self.possibly_late[key]
        return late

    def broker_epoch_is_stale(self, request: FetchRequest) -> bool:
        """Return whether, according to this broker's metadata, a fetch comes from a previous process of a broker that is alive.

        Kafka: `Replica#updateFetchStateOrThrow` (KIP-903).
        """
        broker = self.broker
        if not broker.release.broker_epoch_in_isr or request.broker_epoch == -1:
            return False
        return broker.metadata_cache.alive_broker_epoch(request.follower) > request.broker_epoch

    def _remove_from_session(self, tp: TopicPartition, session: FetchSession) -> None:
        """Remove a partition from a session, unless another session of the same follower now contains the partition."""
        partition, entry, follower = self.partitions.get(tp), session.partitions.get(tp), session.follower
        if partition is None or entry is None:
            return
        left = entry in partition.sessions
        if left:
            entry.unlink()
            partition.sessions = tuple(each for each in partition.sessions if each is not entry)
        replica = partition.replica(follower)
        if replica is not None and (left or replica.session is session):
            replica.detach_session()
            self.broker.behind[tp] = None

    def _link(self, entry: SessionPartition) -> None:
        """If this broker hosts the partition of a session's entry, link the entry and the partition. Unlink the partition's entry in any
        other session of the same follower."""
        partition = self.partitions.get(entry.tp)
        if partition is not None:
            follower = entry.session.follower
            known = partition.session(follower)
            if known is None:
                partition.sessions = (*partition.sessions, entry)
            else:
                known.unlink()
                partition.sessions = tuple(entry if each is known else each for each in partition.sessions)
            entry.partition = partition
            entry.replica = partition.replica(follower) if partition.is_leader else None

    def read_from_log(
        self,
        session: FetchSession,
        taken: list[SessionPartition],
        entries: list[SessionPartition],
        request: FetchRequest,
        *,
        arrives: bool,
        sends: bool = True,
    ) -> list[FetchedPartitionFields] | None:
        """Read partitions for a follower, and update what the leader knows about the follower from its fetch
        (`ReplicaManager#readFromLog`).

        The steps are in the same order as in Kafka: read the log, update the follower's state, expand the ISR if possible (using the high
        watermark from before this fetch), and then raise the high watermark if possible. The response contains what is new to the follower
        (`CachedPartition#maybeUpdateResponseData`). A partition that has more records to send stays in the session's dirty list.

        Args:
            taken: the dirty partitions that were taken from the session.
            entries: those partitions in `taken` whose logs are read.
            arrives: True if the fetch has just arrived; False if a delayed fetch is being completed, in which case only the log is read,
                and the result is never None.
            sends: whether the response is sent to the follower. If the response is not sent, `sent_high_watermark` and `sent_log_start` of
                the partitions do not change.

        Returns:
            The parts of the response, or None if the fetch must wait.
        """
        broker, behind = self.broker, self.broker.behind
        journal, release = broker.journal, broker.release
        sink, recorded = journal.sink, journal.sink is not null_sink
        _, follower, _, broker_epoch, _, _, _, max_wait, min_bytes, left, partition_max_bytes, max_records = request
        me: Column = broker.id
        now: Column = journal.now
        arrived: Column = journal.cause
        follower_id: Column = follower
        as_of_last_fetch = release.caught_up_as_of_last_fetch
        pushes = broker.pushes_high_watermark
        stale = arrives and self.broker_epoch_is_stale(request)
        answered = max_wait <= 0 or not arrives or (min_bytes <= 0 and bool(entries))
        enough = left - min_bytes
        all_told = len(entries) == len(taken)
        news: list[FetchedPartitionFields] = []
        unconfirmed: list[tuple[SessionPartition, int, int]] = []  # what was last sent for these entries; restored if the fetch has to wait
        for entry in entries:
            partition, replica = entry.partition, entry.replica
            if replica is None:
                self._link(entry)
                partition, replica = entry.partition, entry.replica
            tp, asked_from, epoch, last_fetched_epoch, cause = entry.asked
            offset: int = asked_from  # for comparisons; messages and events get the original `Column`
            if partition is None:
                answered = True
                news.append(self.hosted.missing(tp, offset))
                if sends:
                    entry.sent_high_watermark = entry.sent_log_start = NO_OFFSET
                    entry.dirty = False
                continue
            # Partition#fetchRecords
            log = partition.log
            leo, log_start = log.leo, log.log_start
            high_watermark: Column = log.high_watermark
            failure: FetchFailure | None = None
            counts = arrives
            if (
                replica is None
                or stale
                or epoch != partition.leader_epoch
                or (last_fetched_epoch != epoch and last_fetched_epoch != NO_EPOCH)
                or offset > leo
                or offset < log_start
            ):  # otherwise, the follower's records belong to this leadership
                failure = check_fetch(partition, replica, entry.asked)
                if stale and failure is None:
                    failure = (errors.NOT_LEADER_OR_FOLLOWER, NO_EPOCH, NO_OFFSET)
                if failure is not None:
                    answered = True
                    counts = counts and failure[0] == NONE and not release.ignores_diverging_fetch
                elif epoch != partition.leader_epoch and release.hw_same_epoch and not release.fetch_epoch_fencing:
                    counts = False
            records: FetchedRecords | None = None
            if offset < leo and left > 0 and failure is None:
                records = log.read(asked_from, leo, partition_max_bytes if partition_max_bytes < left else left, max_records)
                if records is not None:
                    left -= records[3]
                    if left <= enough:
                        answered = True
            part = (tp, failure, asked_from, records, high_watermark, log_start, log.last_append)
            # Partition#updateFollowerFetchState
            if replica is not None and counts:
                old = replica.leo
                if replica.session is not None:
                    replica.detach_session()
                    behind[tp] = None
                replica.update_fetch_state(offset, log_start, now, leo, broker_epoch, as_of_last_fetch)
                if offset >= leo:
                    replica.session = session
                if offset != old:
                    journal.seq = seq = journal.seq + 1
                    if recorded:
                        sink((seq, now, cause or arrived, FETCHED, me, partition.topic, partition.number, follower_id, old, asked_from))
                    journal.cause = seq
                    if not replica.in_maximal_isr:
                        partition.maybe_expand_isr(replica)
                    partition.maybe_increment_leader_hw()
                    journal.cause = arrived
                elif not replica.in_maximal_isr:
                    partition.maybe_expand_isr(replica)
            # CachedPartition#maybeUpdateResponseData
            if not sends:
                news.append(part)
                continue
            if failure is not None:
                news.append(part)
                entry.sent_high_watermark = high_watermark if failure[0] == NONE else NO_OFFSET
                entry.sent_log_start = log_start
                entry.dirty = False
                continue
            if pushes and arrives and replica is not None and replica.update_last_sent_high_watermark(high_watermark):
                answered = True
            if records is not None or high_watermark != entry.sent_high_watermark or log_start != entry.sent_log_start:
                if not answered:
                    unconfirmed.append((entry, entry.sent_high_watermark, entry.sent_log_start))
                news.append(part)
                entry.sent_high_watermark = high_watermark
                entry.sent_log_start = log_start
            if (
                log.high_watermark == high_watermark
                and (records is not None or offset == leo)
                and replica is not None
                and replica.in_maximal_isr
                and not (pushes and partition.follower_needs_hw_update(follower))
            ):
                entry.dirty = False
            elif records is not None:
                session.dirty.append(entry)  # after the other partitions, so that no partition starves
            else:
                all_told = False
        if not sends:
            return news
        if not answered:
            for entry, sent_high_watermark, sent_log_start in unconfirmed:
                entry.sent_high_watermark, entry.sent_log_start = sent_high_watermark, sent_log_start
            for entry in taken:
                entry.dirty = True
            session.dirty.clear()
            session.put_back(taken)
            return None
        if not release.request_time_leo:
            for tp, _, _, records, _, _, _ in news:
                if records is not None:
                    self.partitions[tp].assume_fetched(follower, [*fetched_ranges(records)][-1].end)
        if not all_told:
            session.put_back(taken)
        return news

    def _answer(self, session: FetchSession, request: FetchRequest, news: list[FetchedPartitionFields], *, corrupt: bool = False) -> None:
        """Send the response to a fetch. If `corrupt` is true, the records in the response are corrupted in transit."""
        response = tuple_of(FetchResponse, (request.correlation, session.fetcher, NONE, tuple(news), corrupt))
        quota = self.broker.leader_quota
        if quota is not None:
            for part in response.parts():
                partition = self.partitions.get(part.tp)
                if part.records and partition is not None and quota.is_throttled(part.tp, reassigned=bool(partition.adding)):
                    quota.record(self.broker.journal.now, sum(fetched.bytes for fetched in part.records))
        journal, address = self.broker.journal, self.broker.address
        if news:
            self.broker.network.send(address, session.address, response, journal.now, journal.cause, reply=True)
        else:
            session.poll.answer(response)
        self._update_silence(session)

    def _update_silence(self, session: FetchSession) -> None:
        """Tell the network whether the leader has something to send in a fetch session. If there is nothing to send, the network can elide
        idle fetches, unless the leader is throttled."""
        poll = session.poll
        if session.dirty or self.broker.leader_quota is not None:
            if poll.silent:
                poll.break_silence()
        elif not poll.silent:
            poll.fall_silent()

    def _within_quota(self, entries: list[SessionPartition], session: FetchSession, request: FetchRequest | None) -> list[SessionPartition]:
        """Return the partitions that the leader's throttle allows the leader to send (`ReplicaManager#shouldLeaderThrottle`).

        A throttled partition is not read, but the fetch still updates its follower's state. The partition stays dirty until the replication
        rate falls below the quota.
        """
        quota = self.broker.leader_quota
        if quota is None or not quota.is_exceeded(self.broker.journal.now):
            return entries
        held = [entry for entry in entries if self._is_throttled(entry, quota)]
        if held and request is not None:
            parts = self.read_from_log(session, held, held, request._replace(max_bytes=0), arrives=True, sends=False) or []
            held = [entry for entry, part in zip(held, parts, strict=True) if part[1] is None]
        return [entry for entry in entries if entry not in held]

    def _is_throttled(self, entry: SessionPartition, quota: ReplicationQuota) -> bool:
        partition = self.partitions.get(entry.tp)
        if partition is None or entry.session.follower in partition.isr:
            return False
        return quota.is_throttled(entry.tp, reassigned=bool(partition.adding))

    def complete_fetch(self, session: FetchSession, max_records: int = 0, *, corrupt: bool = False) -> None:
        """Complete a delayed fetch with records from the current log and with the current HW, without updating the follower's state
        (`DelayedFetch#onComplete`).
        """
        request = session.parked
        if request is None:
            return
        session.parked = None
        if max_records:
            request = request._replace(max_records=max_records)
        taken = session.take_dirty()
        entries = taken if self.broker.leader_quota is None else self._within_quota(taken, session, None)
        news = self.read_from_log(session, taken, entries, request, arrives=False)
        self._answer(session, request, news or [], corrupt=corrupt)

    def complete_fetch_if_enough(self, session: FetchSession) -> None:
        """Complete a delayed fetch if the appended records amount to at least fetch.min.bytes (`DelayedFetch#tryComplete`)."""
        request = session.parked
        if request is None:
            return
        if request.min_bytes > 1:
            total = 0
            for entry in session.dirty:
                partition = self.partitions.get(entry.tp)
                if partition is not None:
                    total += partition.log.bytes_between(entry.offset, partition.log.leo)
            if total < request.min_bytes:
                return
        self.complete_fetch(session)

    def _fetch_expired(self, about: object) -> None:
        session = self.sessions.get(about)  # type: ignore[call-overload]
        now = self.broker.journal.now
        # The timer of a former session comes too early for this one. After a pause of the broker, its timers come late.
        if session is None or not 0 <= session.timer_due <= now:
            return
        session.timer_due = -1
        if session.parked is None or session.parked.max_wait >= FOREVER:
            return
        self.broker.journal.cause = session.cause
        if session.deadline > now:
            self.arm_expiry(session)
            return
        if not session.dirty:
            self._update_silence(session)
            if session.poll.elide_answer(session.parked):
                session.parked = None
                return
        self.complete_fetch(session)

    def arm_expiry(self, session: FetchSession) -> None:
        """Arm a timer that completes the delayed fetch at its deadline. If a timer is already armed for an earlier time, that timer arms
        the next one when it fires.
        """
        if session.timer_due < 0 or session.timer_due > session.deadline:
            session.timer_due = session.deadline
            expiry = Timer("fetch-expiry", (session.follower, session.fetcher))
            session.poll.server_timer(session.timer_due, self.broker.incarnation, expiry, session.cause)

    def _close(self, session: FetchSession) -> None:
        session.parked = None
        for tp in session.partitions:
            self._remove_from_session(tp, session)

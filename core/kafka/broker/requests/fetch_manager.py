"""The part of a leader that serves followers' fetches. The fetch manager keeps the fetch sessions, builds the responses, and delays
fetches.

Kafka: `FetchManager`, `DelayedFetch`.
"""

from __future__ import annotations

from typing import Final

from core.kafka import errors
from core.kafka.broker.context import BrokerContext
from core.kafka.broker.follower.fetcher import FOREVER, tuple_of
from core.kafka.broker.hosted_partitions import HostedPartitions
from core.kafka.broker.partition import Partition
from core.kafka.broker.replication_quota import ReplicationQuota
from core.kafka.broker.requests.fetch_session import CachedPartition, FetchedPartition, FetchSession, PartitionRead, without_epoch
from core.kafka.broker.requests.follower_fetch import check_fetch, update_follower_fetch_state
from core.kafka.ids import NO_EPOCH, NO_OFFSET, TopicPartition
from core.kafka.log.leader_term import SIZE, PackedRecords, fetched_ranges
from core.kafka.messages import FAILURE, RECORDS, FetchFailure, FetchRequest, FetchResponse
from core.sim.kernel_messages import Timer

NONE: Final = errors.NONE

STALE_BROKER_EPOCH_FAILURE: Final[FetchFailure] = (errors.NOT_LEADER_OR_FOLLOWER, NO_EPOCH, NO_OFFSET)
"""The reason why a leader returns no records to a former process of a broker that has registered again (KIP-903)."""


class FetchManager:
    """The fetch sessions of one broker's followers.

    Attributes:
        sessions: the fetch sessions, keyed by the follower's broker ID and the number of its fetcher.
        quota: the replication throttle of this broker as a leader.
        possibly_late: the sessions whose next fetch might arrive too late to keep the follower in the ISR.
    """

    __slots__ = ("broker", "hosted", "partitions", "possibly_late", "quota", "sessions")

    broker: Final[BrokerContext]
    hosted: Final[HostedPartitions]
    partitions: Final[dict[TopicPartition, Partition]]
    sessions: Final[dict[tuple[int, int], FetchSession]]
    possibly_late: Final[dict[tuple[int, int], FetchSession]]
    quota: Final[ReplicationQuota]

    def __init__(self, broker: BrokerContext, hosted: HostedPartitions) -> None:
        self.broker = broker
        self.hosted = hosted
        self.partitions = hosted.online
        self.sessions = {}
        self.possibly_late = {}
        self.quota = ReplicationQuota()
        broker.node.handlers.update({FetchRequest: self._fetch})
        broker.node.timers.update({"fetch-expiry": self._fetch_expired})

    def reset(self) -> None:
        """Forget all sessions, because the process has ended."""
        self.sessions.clear()
        self.possibly_late.clear()

    def refresh_settings(self) -> None:
        """Read the settings again, because they might have changed."""
        self.quota.refresh("leader", self.broker.settings, self.broker.id)

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
        broker, session = self.broker, self._session_of(request, sender)
        if session is None:
            broker.node.reply(sender, FetchResponse(request.correlation, request.fetcher, errors.FETCH_SESSION_ID_NOT_FOUND, ()))
            return
        taken = session.take_to_send()
        entries = self._hold_back_throttled(taken, session, request) if self.quota.limits else taken
        reads = self.read_from_log(entries, request, self.broker_epoch_is_stale(request))
        needs_high_watermark = update_follower_fetch_state(broker, session, reads, request.broker_epoch)
        session.last_fetch_time = broker.journal.now  # only now: a follower was caught up at the time of its previous fetch
        if needs_high_watermark or _is_satisfied(request, reads):
            self._answer(session, request, session.update_and_generate_response_data(taken, reads, broker.pushes_high_watermark))
        else:
            session.put_back(taken)
            self._delay(session, request)

    def _session_of(self, request: FetchRequest, sender: str) -> FetchSession | None:
        """Return the session of a fetch, updated with what the fetch says (`FetchManager#newContext`); None if this broker does not have
        the session.
        """
        _, follower, fetcher, _, full, changed, forgotten, _, _, _, _, _ = request
        session = self.sessions.get((follower, fetcher))
        if full:
            if session is not None:
                self._close(session)
            poll = self.broker.fetches_between(follower, self.broker.id, fetcher)
            keeps = self.broker.release.sessions_keep_epochs
            session = self.sessions[follower, fetcher] = FetchSession(self, sender, follower, fetcher, poll, keeps_epochs=keeps)
            poll.serve(session)
            self.mark_possibly_late(session)
        elif session is None:
            return None
        elif not session.keeps_epochs:
            session.forget_epochs()
            changed = tuple(map(without_epoch, changed))
        for tp in forgotten:
            self._remove_from_session(tp, session)
        session.update(changed, forgotten)
        return session

    def _delay(self, session: FetchSession, request: FetchRequest) -> None:
        """Delay a fetch until there is something to send, but not longer than its maximum wait (`DelayedFetch`)."""
        session.parked = request
        if self.broker.pushes_high_watermark and any(
            entry.partition.follower_needs_hw_update(session.follower) for entry in session.to_send if entry.partition is not None
        ):
            self.complete_fetch(session)  # this fetch has advanced the high watermark
            return
        if session.to_send and not self.quota.limits and self._has_records(session):
            self.complete_fetch_if_enough(session)  # a coordinator has appended when this fetch advanced the high watermark
            if not session.is_parked():
                return
        session.cause = self.broker.journal.cause
        if request.max_wait < FOREVER:
            session.deadline = self.broker.journal.now + request.max_wait
            self.arm_expiry(session)
        self._update_silence(session)

    def _has_records(self, session: FetchSession) -> bool:
        """Return whether any partition to send has records that have not been sent to the follower (`DelayedFetch#tryComplete`)."""
        return any(entry.partition is not None and entry.offset < entry.partition.log.leo for entry in session.to_send)

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
        if replica is not None and (left or replica.caught_up_session is session):
            replica.leave_caught_up_session()
            self.broker.maybe_out_of_sync[tp] = None

    def _link(self, entry: CachedPartition) -> None:
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

    def read_from_log(self, entries: list[CachedPartition], request: FetchRequest, stale: bool) -> list[PartitionRead]:
        """Read partitions for a follower (`ReplicaManager#readFromLog`, `Partition#fetchRecords`). Return what was read of each.

        Args:
            entries: the partitions that the follower asks for.
            request: the fetch.
            stale: whether the fetch comes from a former process of a broker that has registered again.
        """
        _, _, _, _, _, _, _, _, _, left, partition_max_bytes, max_records = request
        reads: list[PartitionRead] = []
        for entry in entries:
            if entry.replica is None:
                self._link(entry)
            partition = entry.partition
            tp, asked_from, epoch, last_fetched_epoch, _ = entry.asked
            offset: int = asked_from  # for comparisons; messages and events get the original `Column`
            if partition is None:
                reads.append((entry, self.hosted.missing(tp, offset)))
                continue
            log = partition.log
            leo, log_start = log.leo, log.log_start
            failure: FetchFailure | None = None
            if (
                entry.replica is None
                or stale
                or epoch != partition.leader_epoch
                or (last_fetched_epoch != epoch and last_fetched_epoch != NO_EPOCH)
                or offset > leo
                or offset < log_start
            ):  # otherwise, the follower's records belong to this leadership
                failure = check_fetch(partition, entry.replica, entry.asked)
                if stale and failure is None:
                    failure = STALE_BROKER_EPOCH_FAILURE
            records: PackedRecords | None = None
            if offset < leo and left > 0 and failure is None:
                records = log.records.read(offset, leo, partition_max_bytes if partition_max_bytes < left else left, max_records)
                if records is not None:
                    size: int = records[SIZE]
                    left -= size
            reads.append((entry, (tp, failure, asked_from, records, log.high_watermark, log_start, log.last_append_event)))
        return reads

    def _answer(self, session: FetchSession, request: FetchRequest, news: list[FetchedPartition], *, corrupt: bool = False) -> None:
        """Send the response to a fetch. If `corrupt` is true, the records in the response are corrupted in transit."""
        if not self.broker.release.request_time_leo:
            for tp, _, _, records, _, _, _ in news:
                if records is not None:
                    self.partitions[tp].assume_fetched(session.follower, [*fetched_ranges(records)][-1].end)
        response = tuple_of(FetchResponse, (request.correlation, session.fetcher, NONE, tuple(news), corrupt))
        quota = self.quota
        if quota.limits:
            for part in response.parts():
                partition = self.partitions.get(part.tp)
                if part.records and partition is not None and quota.is_throttled(part.tp, reassigned=bool(partition.adding)):
                    quota.record(self.broker.journal.now, sum(fetched.bytes for fetched in part.records))
        journal, address = self.broker.journal, self.broker.node.address
        if news:
            self.broker.network.send(address, session.address, response, journal.now, journal.cause, reply=True)
        else:
            session.poll.answer(response)
        self._update_silence(session)

    def _update_silence(self, session: FetchSession) -> None:
        """Tell the network whether the leader has something to send in a fetch session. If there is nothing to send, the network can elide
        idle fetches, unless the leader is throttled."""
        poll = session.poll
        if session.to_send or self.quota.limits:
            if poll.silent:
                poll.break_silence()
        elif not poll.silent:
            poll.fall_silent()

    def _hold_back_throttled(
        self, entries: list[CachedPartition], session: FetchSession, request: FetchRequest | None
    ) -> list[CachedPartition]:
        """Return the partitions that the leader's throttle allows the leader to send (`ReplicaManager#shouldLeaderThrottle`).

        A throttled partition is not read, but the fetch still updates its follower's state. The partition stays marked until the replication
        rate falls below the quota.
        """
        if not self.quota.is_exceeded(self.broker.journal.now):
            return entries
        held = [entry for entry in entries if self._may_be_held_back(entry)]
        if held and request is not None:
            reads = self.read_from_log(held, request._replace(max_bytes=0), self.broker_epoch_is_stale(request))
            update_follower_fetch_state(self.broker, session, reads, request.broker_epoch)
            held = [entry for entry, (_, failure, _, _, _, _, _) in reads if failure is None]
        return [entry for entry in entries if entry not in held]

    def _may_be_held_back(self, entry: CachedPartition) -> bool:
        partition = self.partitions.get(entry.tp)
        if partition is None or entry.session.follower in partition.isr:
            return False
        return self.quota.is_throttled(entry.tp, reassigned=bool(partition.adding))

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
        taken = session.take_to_send()
        entries = self._hold_back_throttled(taken, session, None) if self.quota.limits else taken
        reads = self.read_from_log(entries, request, False)
        news = session.update_and_generate_response_data(taken, reads, self.broker.pushes_high_watermark)
        self._answer(session, request, news, corrupt=corrupt)

    def complete_fetch_if_enough(self, session: FetchSession) -> None:
        """Complete a delayed fetch if the appended records amount to at least fetch.min.bytes (`DelayedFetch#tryComplete`)."""
        request = session.parked
        if request is None:
            return
        if request.min_bytes > 1:
            total = 0
            for entry in session.to_send:
                partition = self.partitions.get(entry.tp)
                if partition is not None:
                    total += partition.log.records.bytes_between(entry.offset, partition.log.leo)
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
        if not session.to_send:
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
            session.poll.server_timer(session.timer_due, self.broker.node.incarnation, expiry, session.cause)

    def _close(self, session: FetchSession) -> None:
        session.parked = None
        for tp in session.partitions:
            self._remove_from_session(tp, session)


def _is_satisfied(request: FetchRequest, reads: list[PartitionRead]) -> bool:
    """Return whether a fetch is answered immediately: it does not wait, an error or a diverging log has to be reported, or there are enough
    bytes (`ReplicaManager#fetchMessages`).
    """
    if request.max_wait <= 0:
        return True
    missing = request.min_bytes
    for _, part in reads:
        records = part[RECORDS]
        if records is not None:
            missing -= records[SIZE]
        if missing <= 0 or part[FAILURE] is not None:
            return True
    return False

"""Followers' fetches at a leader: their sessions, what each is answered, and those that wait for news.

Kafka: `FetchManager`, `DelayedFetch`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from core.kafka import errors
from core.kafka.broker import steady
from core.kafka.broker.fetch_session import FetchSession, SessionPartition
from core.kafka.broker.fetcher import FOREVER
from core.kafka.broker.follower_fetch import (
    assume_fetched,
    high_watermark_sent,
    is_high_watermark_sent,
    link,
    read_for_follower,
    update_follower_fetch_state,
)
from core.kafka.broker.partition import Partition
from core.kafka.broker.quiet import round_order
from core.kafka.ids import NO_EPOCH
from core.kafka.messages import FetchedPartition, FetchedRun, FetchRequest, FetchResponse
from core.sim.messages import Timer

if TYPE_CHECKING:
    from core.kafka.broker.broker import Broker
    from core.kafka.broker.replica_manager import ReplicaManager


class FetchManager:
    """The fetch sessions of one broker's followers.

    Attributes:
        sessions: by (follower, fetcher); played: those whose rounds are not quiet.
        partitions, behind: of the replica manager.
        pushes_high_watermark: a fetch is answered when its follower was not sent the newest high watermark (2.4; by hand nothing answers itself).
    """

    def __init__(self, broker: Broker, replicas: ReplicaManager) -> None:
        self.broker = broker
        self.replicas = replicas
        self.partitions = replicas.partitions
        self.behind = replicas.behind
        self.pushes_high_watermark = broker.release.hw_completes_fetch and not broker.by_hand
        self.sessions: dict[tuple[int, int], FetchSession] = {}
        self.played: dict[tuple[int, int], FetchSession] = {}
        broker.handlers |= {FetchRequest: self._fetch}
        broker.timers |= {"fetch-expiry": self._fetch_expired}

    def reset(self) -> None:
        """The process ended: no session outlives it."""
        self.sessions.clear()
        self.played.clear()

    def forget_waiting(self) -> None:
        """No fetch waits any more; whoever sent one asks anew."""
        for session in self.sessions.values():
            session.parked = None

    def disconnected(self, node: str) -> None:
        """A peer's process is gone: its parked fetches with it."""
        for session in self.sessions.values():
            if session.address == node:
                session.parked = None

    def _fetch(self, request: FetchRequest, sender: str) -> None:
        """A follower fetches (`ReplicaManager#fetchMessages`): answered at once if there is something to say, else it waits."""
        key = (request.follower, request.fetcher)
        session = self.sessions.get(key)
        if request.full:
            if session is not None:
                self._close(session)
            session = self.sessions[key] = self.played[key] = FetchSession(
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
        session.cause = self.broker.journal.cause
        if self.pushes_high_watermark and any(
            not is_high_watermark_sent(entry.partition, session.follower) for entry in session.dirty if entry.partition is not None
        ):
            self.complete_fetch(session)  # this very fetch has raised it
            return
        if request.max_wait < FOREVER:
            session.deadline = self.broker.journal.now + request.max_wait
            if session.timer_due < 0 or session.timer_due > session.deadline:
                session.timer_due = session.deadline
                self._arm_expiry(session)

    def broker_epoch_is_stale(self, request: FetchRequest) -> bool:
        """Whether a fetch comes from a former process of a broker that lives, as far as this broker knows.

        Kafka: `Replica#updateFetchStateOrThrow`, KIP-903.
        """
        broker = self.broker
        if not broker.release.broker_epoch_in_isr or request.broker_epoch == -1:
            return False
        return broker.alive_broker_epoch(request.follower) > request.broker_epoch

    def _leave(self, partition: Partition, session: FetchSession) -> bool:
        """A partition leaves a session; False if it was in another of that follower."""
        entry = partition.sessions.get(session.follower)
        if entry is None or entry.session is not session:
            return False
        entry.unlink()
        del partition.sessions[session.follower]
        return True

    def _read_and_fence(self, partition: Partition, entry: SessionPartition, request: FetchRequest, budget: int) -> FetchedPartition:
        """What a fetch that arrives gets: an error, if the leader would learn of the follower from a former process of it."""
        part = read_for_follower(partition, entry, request, budget)
        if part.error == errors.NONE and part.diverging_epoch == NO_EPOCH and self.broker_epoch_is_stale(request):
            return part._replace(error=errors.NOT_LEADER_OR_FOLLOWER, records=())
        return part

    def look_at_partition(
        self, session: FetchSession, entry: SessionPartition, request: FetchRequest, budget: int
    ) -> tuple[FetchedPartition, bool]:
        """One partition of a follower's fetch: what is read, then what the leader learns; and whether that is to be answered at once."""
        partition = self.partitions.get(entry.tp)
        if partition is None:
            return self.replicas.missing(entry.tp, entry.offset), True
        link(partition, entry)
        part = self._read_and_fence(partition, entry, request, budget)
        release = self.broker.release
        ignored = part.diverging_epoch != NO_EPOCH and release.ignores_diverging_fetch
        if not release.fetch_epoch_fencing and release.hw_same_epoch and entry.leader_epoch != partition.leader_epoch:
            ignored = True
        if part.error == errors.NONE and not ignored:
            update_follower_fetch_state(partition, entry, session, request.broker_epoch)
        if part.error != errors.NONE or part.diverging_epoch != NO_EPOCH:
            return part, True
        return part, self.pushes_high_watermark and high_watermark_sent(partition, session.follower, part.high_watermark)

    def tell(self, entry: SessionPartition, part: FetchedPartition | FetchedRun) -> bool:
        """A partition's part is ready to go: whether it is news to the follower; a partition that may have more stays dirty."""
        session, tp = entry.session, entry.tp
        if not isinstance(part, FetchedPartition):
            _, _, offset, _, high_watermark, log_start, end, _, _ = part
            news = end > offset or high_watermark != entry.told_high_watermark or log_start != entry.told_log_start
            entry.told_high_watermark, entry.told_log_start = high_watermark, log_start
            more = self.partitions[tp].log.high_watermark != high_watermark
            if end > offset or not more:
                entry.dirty = False  # see below
            if more:
                session.mark(entry)
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
            entry.dirty = False
            return news
        log = partition.log
        if part.records and not self.broker.release.request_time_leo:
            assume_fetched(partition, session.follower, part.records[-1].end)
        waits = not part.records and part.offset < log.leo
        more = (
            waits
            or log.high_watermark != part.high_watermark
            or session.follower not in partition.maximal_isr
            or (self.pushes_high_watermark and not is_high_watermark_sent(partition, session.follower))
        )
        if part.records or not more:
            entry.dirty = False  # if there is more to say, the others come first
        if more:
            session.mark(entry)
        return news

    def _answer(
        self, session: FetchSession, request: FetchRequest, news: list[FetchedPartition | FetchedRun], *, corrupt: bool = False
    ) -> None:
        """Send the answer to a fetch; `corrupt`: it does not arrive as it was sent."""
        response = FetchResponse(request.correlation, request.fetcher, errors.NONE, tuple(news), corrupt)
        quota = self.broker.leader_quota
        if quota is not None:
            for part in response.parts():
                partition = self.partitions.get(part.tp)
                if part.records and partition is not None and quota.is_throttled(part.tp, reassigned=bool(partition.adding)):
                    quota.record(self.broker.journal.now, sum(stretch.bytes for stretch in part.records))
        if news:
            self.broker.reply(session.address, response)
        else:
            journal, address = self.broker.journal, self.broker.address
            self.broker.network.send_in_order(session.order, address, session.address, response, journal.now, journal.cause, reply=True)

    def within_quota(self, entries: list[SessionPartition], session: FetchSession, request: FetchRequest | None) -> list[SessionPartition]:
        """Of partitions with news those that the leader's throttle lets through (`ReplicaManager#shouldLeaderThrottle`).

        Of one held back nothing is read, but that the follower asked counts; it stays dirty until the rate has fallen.
        """
        broker, follower = self.broker, session.follower
        quota = broker.leader_quota
        if quota is None or not quota.is_exceeded(broker.journal.now):
            return entries
        through = []
        for entry in entries:
            tp = entry.tp
            partition = self.partitions.get(tp)
            if partition is None or follower in partition.isr or not quota.is_throttled(tp, reassigned=bool(partition.adding)):
                through.append(entry)
            elif request is not None:
                part = self._read_and_fence(partition, entry, request, 0)
                if part.error != errors.NONE or part.diverging_epoch != NO_EPOCH:
                    through.append(entry)
                else:
                    link(partition, entry)
                    update_follower_fetch_state(partition, entry, session, request.broker_epoch)
        return through

    def complete_fetch(self, session: FetchSession, max_records: int = 0, *, corrupt: bool = False) -> None:
        """A parked fetch leaves the purgatory (`DelayedFetch#onComplete`): log and HW are read now, the follower's state is not touched."""
        request = session.parked
        if request is None:
            return
        session.parked = None
        if max_records:
            request = request._replace(max_records=max_records)
        looked_at: list[tuple[SessionPartition, FetchedPartition | FetchedRun]] = []
        budget = request.max_bytes
        general = request.max_records != 0 or self.broker.leader_quota is not None or self.pushes_high_watermark
        taken = session.take_dirty()
        entries = self.within_quota(taken, session, None)
        for entry in entries:
            run = None if general else steady.read_run(entry, request, budget)
            if run is not None:
                budget -= run[-2]
                looked_at.append((entry, run))
                continue
            partition = self.partitions.get(entry.tp)
            if partition is None:
                looked_at.append((entry, self.replicas.missing(entry.tp, entry.offset)))
                continue
            part = read_for_follower(partition, entry, request, budget)
            for stretch in part.records:
                budget -= stretch.bytes
            looked_at.append((entry, part))
        news = [part for entry, part in looked_at if self.tell(entry, part)]
        session.put_back(taken)
        self._answer(session, request, news, corrupt=corrupt)

    def complete_fetch_if_enough(self, session: FetchSession) -> None:
        """New records came: answer a parked fetch once fetch.min.bytes wait (`DelayedFetch#tryComplete`)."""
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
        if session is None or session.timer_due != now:
            return  # the timer of a former session
        session.timer_due = -1
        if session.parked is None or session.parked.max_wait >= FOREVER:
            return
        self.broker.journal.cause = session.cause
        if session.deadline > now:
            session.timer_due = session.deadline
            self._arm_expiry(session)
        elif (
            session.dirty
            or self.broker.quiet_rounds is None
            or not self.broker.quiet_rounds.begin_expired(self.broker, session, session.parked)
        ):
            self.complete_fetch(session)

    def _arm_expiry(self, session: FetchSession) -> None:
        """A timer of its own order among what is due at the same time (`core.kafka.broker.quiet`)."""
        broker = self.broker
        expiry = Timer("fetch-expiry", (session.follower, session.fetcher))
        broker.network.agenda.add_in_order(
            session.timer_due, session.order, broker.address, broker.address, broker.incarnation, expiry, session.cause
        )

    def _close(self, session: FetchSession) -> None:
        session.parked = None
        for tp in session.partitions:
            self.behind[tp] = None
            partition = self.partitions.get(tp)
            if partition is not None:
                self._leave(partition, session)

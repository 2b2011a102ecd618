"""A follower's fetcher thread (Kafka: `ReplicaFetcherThread`, `AbstractFetcherThread`): truncate first, then fetch, again and again.

One fetcher runs per leader and fetcher id and carries all partitions that this broker follows there. What it asks changes
only for partitions that have moved; the leader's fetch session keeps the rest.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Final, cast

from core import errors
from core.broker import steady
from core.ids import NO_EPOCH, TopicPartition, broker_address
from core.journal import events
from core.messages import (
    AskedPartition,
    EpochsRequest,
    EpochsResponse,
    FetchedPartition,
    FetchPartition,
    FetchRequest,
    FetchResponse,
    OffsetsRequest,
    OffsetsResponse,
    Timer,
)
from core.release import Truncation
from core.sim.quiet import WATCHES, round_order

if TYPE_CHECKING:
    from core.broker.broker import Broker
    from core.broker.partition import HighWatermarkWaiter, Partition
    from core.sim.quiet import QuietRound

TRUNCATING: Final = "truncating"
"""The fetcher must find the truncation point first."""

FETCHING: Final = "fetching"
"""Ready to fetch from the LEO."""

tuple_of: Final = tuple.__new__
"""Makes a NamedTuple of a tuple of its fields, in half the time that its own constructor takes."""

FOREVER: Final = 10**15
"""A wait and a size that nothing reaches: a by-hand fetch that parks."""


class PartitionFetchState:
    """One partition of a fetcher.

    Attributes:
        partition, topic, number: which; log: its log.
        leader_epoch: in which it fetches.
        state: TRUNCATING or FETCHING.
        asked_epoch: whose end it asks for, while it truncates.
        leader_high_watermark: the leader's as an answer last told it that could leave something behind; -1 before the first answer.
        sent_epoch: the leader epoch of the last request that named it; another than `leader_epoch` while that is still under way from
            a former epoch.
        delayed_until: until when it backs off, µs; 0 if it does not.
        out_of_range: it must ask for the bounds of the leader's log first.
        checked: the first records from this leader were compared for the durability account.
        steady: it fetches in the epoch that its last request named, does not back off, and has taken an answer of this leader's
            (`core.broker.steady`).
    """

    __slots__ = (
        "asked_epoch", "checked", "delayed_until", "leader_epoch", "leader_high_watermark", "log", "number", "out_of_range", "partition", "sent_epoch", "state",
        "steady", "topic",
    )  # fmt: skip

    def __init__(self, partition: Partition, leader_epoch: int) -> None:
        self.partition = partition
        self.log = partition.log
        self.topic = partition.topic
        self.number = partition.number
        self.leader_epoch = leader_epoch
        self.state = FETCHING
        self.asked_epoch = NO_EPOCH
        self.sent_epoch = NO_EPOCH
        self.delayed_until = 0
        self.out_of_range = False
        self.checked = False
        self.steady = False
        self.leader_high_watermark = -1

    @property
    def lag(self) -> int | None:
        """How many committed records the follower lacks, as far as answers have told it; None before the first (`FetcherLagMetrics#lag`).

        An answer that is taken the steady way reaches to the leader's LEO: past any high watermark that was told before.
        """
        return None if self.leader_high_watermark < 0 else max(0, self.leader_high_watermark - self.log.leo)


class Fetcher:
    """One fetcher thread of a follower.

    Attributes:
        leader, number: from whom, which of num.replica.fetchers.
        states: its partitions.
        in_flight: correlation of the request under way, 0 if none; sent at `sent_at` because of `sent_cause`.
        watch_at: when the armed timer looks whether that was too long ago; -1 if none is armed, as in a quiet round.
        preparing: partitions that must find their truncation point or the leader's log bounds first (ordered set).
        waking_at: when the armed timer ends a back-off, -1 if none is armed.
        unsent: partitions whose state the leader's session does not know yet, in order, each with what is to be asked of it if
            that is known already; prepared: for all it is.
        raised: consumers that wait on this broker for a high watermark that the answer in hand has moved, each with the event of that.
        order: of the entries of its empty rounds; quiet: set while they are not played (`core.sim.quiet`).
    """

    def __init__(self, broker: Broker, leader: int, number: int) -> None:
        self.broker = broker
        self.leader = leader
        self.number = number
        self.address = broker_address(leader)
        self.states: dict[TopicPartition, PartitionFetchState] = {}
        self.in_flight = 0
        self.sent_at = 0
        self.sent_cause = 0
        self.watch_at = -1
        self.waking_at = -1
        self.preparing: dict[TopicPartition, None] = {}
        self.unsent: dict[TopicPartition, AskedPartition | None] = {}
        self.prepared = True
        self.forgotten: dict[TopicPartition, None] = {}
        self.full = True
        self.raised: dict[HighWatermarkWaiter, int] = {}
        self.order = round_order(broker.id, leader, number)
        self.quiet: QuietRound | None = None

    # --- partitions ------------------------------------------------------------------------------------------------

    def add(self, partition: Partition, leader_epoch: int) -> None:
        """Follow a partition (`AbstractFetcherThread#addPartitions`): where to start depends on the release."""
        known = self.states.get(partition.tp)
        if known is not None and known.leader_epoch == leader_epoch:
            return
        self._be_heard()
        rule = self.broker.release.truncation
        log = partition.log
        state = PartitionFetchState(partition, leader_epoch)
        if rule is Truncation.HIGH_WATERMARK or (not log.epochs.entries() and rule < Truncation.ON_FETCH):
            self._truncate(partition, log.high_watermark, "high-watermark")
        elif rule is Truncation.ON_FETCH:
            if not log.epochs.entries():
                self._truncate(partition, log.high_watermark, "high-watermark")
        else:
            state.state = TRUNCATING
            state.asked_epoch = log.epochs.latest_epoch
        self.states[partition.tp] = state
        partition.fetcher = self
        self._prepare(state)
        self._changed(partition.tp)
        self.maybe_send()

    def next_epoch(self, tp: TopicPartition, leader_epoch: int) -> None:
        """Fetch on from the same leader in its next epoch, without truncating."""
        self._be_heard()
        state = self.states[tp]
        state.leader_epoch = leader_epoch
        state.checked = state.steady = False
        self._changed(tp)
        self.maybe_send()

    def remove(self, tp: TopicPartition) -> None:
        """Follow a partition no more."""
        state = self.states.pop(tp, None)
        if state is not None:
            self._be_heard()
            state.partition.fetcher = None
            self.preparing.pop(tp, None)
            self._leave_session(tp)

    def _be_heard(self) -> None:
        """What the next fetch asks is going to change: its rounds are played again."""
        if self.quiet is not None:
            self.quiet.end()

    def is_idle(self) -> bool:
        """Whether its next fetch, as far as it knows, will tell the leader nothing."""
        return bool(self.states) and not (self.full or self.unsent or self.forgotten or self.preparing) and self.waking_at < 0

    def _prepare(self, state: PartitionFetchState) -> None:
        if state.state is TRUNCATING or state.out_of_range:
            self.preparing[state.partition.tp] = None
        else:
            self.preparing.pop(state.partition.tp, None)

    def _changed(self, tp: TopicPartition) -> None:
        self.unsent[tp] = None
        self.prepared = False
        self.forgotten.pop(tp, None)

    def note(self, moved: list[AskedPartition]) -> None:
        """These partitions moved, and this is to be asked of them."""
        for asked in moved:
            self.unsent[asked[0]] = asked
        moved.clear()

    def _leave_session(self, tp: TopicPartition) -> None:
        self.unsent.pop(tp, None)
        self.forgotten[tp] = None

    def delay(self, state: PartitionFetchState) -> None:
        """Back off with a partition (`AbstractFetcherThread#delayPartitions`)."""
        self.broker.journal.stirred = True
        state.delayed_until = self.broker.journal.now + self.broker.fetch_backoff
        state.steady = False
        self._leave_session(state.partition.tp)
        if not self.broker.by_hand:
            self._wake_at(state.delayed_until)

    # --- requests --------------------------------------------------------------------------------------------------

    def maybe_send(self) -> None:
        """Send the next request unless one is under way (`AbstractFetcherThread#doWork`); by hand nothing goes by itself."""
        if not self.in_flight and not self.broker.by_hand:
            self.send_next(self.broker.fetch_wait, self.broker.fetch_min_bytes, 0)

    def send_next(self, max_wait: int, min_bytes: int, max_records: int, moved: list[AskedPartition] | None = None) -> bool:
        """Send what comes next: a question for truncation points, else a fetch. False if nothing is due.

        `moved`: what to ask of partitions beside those that are noted as unsent.
        """
        if moved:
            if not (self.unsent or self.preparing or self.full):
                self._send_fetch(tuple(moved), max_wait, min_bytes, max_records)
                return True
            self.note(moved)
        return self._send_noted(max_wait, min_bytes, max_records)

    def _send_noted(self, max_wait: int, min_bytes: int, max_records: int) -> bool:
        now = self.broker.journal.now
        asking = []
        lookup = None
        if self.preparing:
            self.broker.journal.stirred = True
        for tp in self.preparing:
            state = self.states[tp]
            if state.delayed_until > now:
                continue
            if state.state is TRUNCATING:
                state.sent_epoch = state.leader_epoch
                asking.append((tp, state.leader_epoch, state.asked_epoch))
            else:
                lookup = lookup or state
        if asking:
            correlation = self._sending()
            self.broker.send(self.address, EpochsRequest(correlation, self.broker.id, self.number, tuple(asking)))
            return True
        if lookup is not None:
            correlation = self._sending()
            lookup.sent_epoch = lookup.leader_epoch
            request = OffsetsRequest(correlation, self.broker.id, self.number, lookup.partition.tp, lookup.leader_epoch)
            self.broker.send(self.address, request)
            return True
        return self._fetch(max_wait, min_bytes, max_records)

    def _fetch(self, max_wait: int, min_bytes: int, max_records: int) -> bool:
        broker = self.broker
        now = broker.journal.now
        changed: list[AskedPartition] = []
        if self.prepared and not self.full:
            changed.extend(cast("Iterable[AskedPartition]", self.unsent.values()))
        else:
            for tp in self.states if self.full else self.unsent:
                state = self.states[tp]
                if state.delayed_until > now or state.state is TRUNCATING or state.out_of_range:
                    continue
                partition = state.partition
                log = partition.log
                epoch = log.epochs.latest_epoch if broker.release.truncation is Truncation.ON_FETCH else NO_EPOCH
                state.sent_epoch = state.leader_epoch
                broker.journal.moves(tp)
                changed.append(FetchPartition(tp, log.leo, state.leader_epoch, epoch, log.last_append))
        if not changed and (self.full or not any(state.delayed_until <= now for state in self.states.values())):
            return False
        self._send_fetch(tuple(changed), max_wait, min_bytes, max_records)
        return True

    def _send_fetch(self, changed: tuple[AskedPartition, ...], max_wait: int, min_bytes: int, max_records: int) -> None:
        """Send a fetch that tells what changed (`ReplicaFetcherThread#buildFetch`); afterwards the session knows all."""
        broker = self.broker
        forgotten = () if self.full else tuple(self.forgotten)
        correlation = self._sending()
        request = tuple_of(
            FetchRequest,
            (
                correlation, broker.id, self.number, broker.broker_epoch, self.full, changed, forgotten, max_wait, min_bytes,
                broker.fetch_response_bytes, broker.fetch_partition_bytes, max_records,
            ),
        )  # fmt: skip
        if not changed and not forgotten and not self.full:
            journal = broker.journal
            if broker.quiet_rounds is None or not broker.quiet_rounds.begin_sent(self):
                broker.network.send_in_order(self.order, broker.address, self.address, request, journal.now, journal.cause)
            return
        self.full = False
        self.unsent.clear()
        self.prepared = True
        self.forgotten.clear()
        broker.send(self.address, request)

    def empty_request(self) -> FetchRequest:
        """The fetch under way, of a quiet round."""
        broker = self.broker
        return FetchRequest(
            self.in_flight, broker.id, self.number, broker.broker_epoch, False, (), (), broker.fetch_wait, broker.fetch_min_bytes,
            broker.fetch_response_bytes, broker.fetch_partition_bytes, 0,
        )  # fmt: skip

    def _sending(self) -> int:
        broker = self.broker
        self.in_flight = broker.next_correlation()
        self.sent_at = broker.journal.now
        self.sent_cause = broker.journal.cause
        if self.watch_at < 0 and not broker.by_hand:
            self.keep_watch()
        return self.in_flight

    def woken(self) -> None:
        """A back-off is over."""
        self.waking_at = -1
        now = self.broker.journal.now
        later = -1
        for tp, state in self.states.items():
            if state.delayed_until > now:
                later = state.delayed_until if later < 0 else min(later, state.delayed_until)
            elif state.delayed_until:
                state.delayed_until = 0
                self._changed(tp)
        if later >= 0:
            self._wake_at(later)
        self.maybe_send()

    def end_back_offs(self) -> None:
        """By hand, whoever has the fetcher take a turn ends every back-off with it."""
        for tp, state in self.states.items():
            if state.delayed_until:
                state.delayed_until = 0
                self._changed(tp)

    def _wake_at(self, time: int) -> None:
        if self.waking_at < 0 or time < self.waking_at:
            self.waking_at = time
            self.broker.timer(time - self.broker.journal.now, "fetcher-wake", (self.leader, self.number))

    def keep_watch(self) -> None:
        """Look when the request under way has been out for replica.socket.timeout.ms.

        The timer has an order of its own, before all else at that time, so that it does not matter since when it is armed: in a
        quiet round, whose fetches are always answered in time, none is.
        """
        broker = self.broker
        self.watch_at = due = max(self.sent_at + broker.fetch_timeout, broker.journal.now + 1)
        timer = Timer("fetcher-watch", (self.leader, self.number))
        broker.network.scheduler.add_in_order(
            due, WATCHES + self.order, broker.address, broker.address, broker.incarnation, timer, self.sent_cause
        )

    def timeout_changed(self) -> None:
        """Another replica.socket.timeout.ms holds, for the request under way too."""
        self.watch_at = -1
        if self.in_flight and not self.broker.by_hand:
            self.keep_watch()

    def watch(self) -> None:
        """The request under way may have been out for too long (replica.socket.timeout.ms)."""
        broker = self.broker
        now, due = broker.journal.now, self.watch_at
        if not 0 <= due <= now:
            return  # the timer of a former fetcher, or timeout
        self.watch_at = -1
        if not self.in_flight or self.quiet is not None:
            return
        if now == due >= self.sent_at + broker.fetch_timeout:  # a process that stood still first takes what has come
            broker.journal.cause = self.sent_cause
            broker.network.disconnect(broker.address, self.address)
            self.disconnected(errors.REQUEST_TIMED_OUT)
        else:
            self.keep_watch()

    def disconnected(self, error: str) -> None:
        """The connection to the leader broke: all partitions back off, the session begins anew."""
        self.broker.journal.stirred = True
        self._be_heard()
        if not self.in_flight:
            self.full = True
            return
        self.abandon()
        waiting = [state for state in self.states.values() if not state.delayed_until]
        for state in waiting:
            self.delay(state)
        if waiting:
            self.broker.journal.emit(events.FetcherDisconnected.kind, self.broker.id, self.leader, len(waiting), error)
        self.maybe_send()

    def abandon(self) -> None:
        """Forget the request under way; the next fetch opens a new session."""
        self.in_flight = 0
        self.full = True

    # --- responses -------------------------------------------------------------------------------------------------

    def fetched(self, response: FetchResponse) -> None:
        """The leader answered a fetch (`AbstractFetcherThread#processFetchRequest`)."""
        if response.correlation != self.in_flight:
            return
        self.in_flight = 0
        if response.error != errors.NONE:
            self.full = True
        broker = self.broker
        if response.corrupt:
            response = self._refuse_corrupt(response)
        moved = steady.take_partitions(self, response)
        if self.raised:
            self._complete_consumers()
        if broker.follower_quota is not None:
            self.note(moved)
            self._throttle(response)
        if not broker.by_hand:
            self.send_next(broker.fetch_wait, broker.fetch_min_bytes, 0, moved)

    def _refuse_corrupt(self, response: FetchResponse) -> FetchResponse:
        """Records whose checksums are wrong are not appended, but fetched again after a back-off (`AbstractFetcherThread#processFetchRequest`)."""
        whole = []
        for part in response.parts():
            state = self.states.get(part.tp)
            if not part.records:
                whole.append(part)
            elif state is not None and self._awaits(state):
                self._tell_failure(part.tp, errors.CORRUPT_MESSAGE)
                self.delay(state)
        return response._replace(partitions=tuple(whole), corrupt=False)

    def _awaits(self, state: PartitionFetchState) -> bool:
        """Whether an answer to a fetch of the partition is to be taken at all."""
        return not (state.delayed_until or state.state is TRUNCATING or state.sent_epoch != state.leader_epoch)

    def _tell_failure(self, tp: TopicPartition, error: str) -> None:
        self.broker.journal.emit(events.FetchFailed.kind, self.broker.id, tp.topic, tp.partition, self.leader, error)

    def take_partition(self, part: FetchedPartition) -> None:
        """One partition of a leader's answer."""
        state = self.states.get(part.tp)
        if state is None or not self._awaits(state):
            return
        journal = self.broker.journal
        journal.cause = part.cause or journal.cause
        if part.error != errors.NONE:
            journal.stirred = True
            self._failed(state, part)
        elif part.offset == state.partition.log.leo:
            if part.diverging_epoch != NO_EPOCH:
                journal.stirred = True
                self._diverged(state, part)
            else:
                self._process(state, part)
                state.steady = (
                    state.state is FETCHING
                    and not state.out_of_range
                    and not self.broker.by_hand
                    and not state.partition.consumers
                    and part.tp not in self.broker.account.exposed
                )

    def take_one_by_one(self, tp: TopicPartition) -> None:
        """Somebody waits for what this broker appends, or for its high watermark: no answer is steady as long as somebody does."""
        self.states[tp].steady = False

    def _high_watermark_moved(self, partition: Partition, cause: int) -> None:
        for consumer in partition.consumers:
            self.raised.setdefault(consumer, cause)

    def _complete_consumers(self) -> None:
        """High watermarks moved, so consumers may be given more: once for all of an answer (`ReplicaFetcherThread#doWork`, KIP-392)."""
        journal = self.broker.journal
        arrived = journal.cause
        raised, self.raised = self.raised, {}
        for consumer, cause in raised.items():
            journal.cause = cause
            consumer.complete_if_enough()
        journal.cause = arrived

    def _throttle(self, response: FetchResponse) -> None:
        """Leave throttled partitions that lag out of the next fetches while more than the rate is used (`ReplicaFetcherThread#shouldFollowerThrottle`)."""
        broker = self.broker
        quota, now = broker.follower_quota, broker.journal.now
        assert quota is not None, "only a throttled follower comes here"
        throttled = []
        for part in response.parts():
            state = self.states.get(part.tp)
            if part.records and state is not None and quota.is_throttled(part.tp, reassigned=broker.id in state.partition.adding):
                quota.record(now, sum(stretch.bytes for stretch in part.records))
                throttled.append((state, part.high_watermark))
        if quota.is_exceeded(now):
            for state, high_watermark in throttled:
                if state.partition.log.leo < high_watermark and not state.delayed_until:
                    self.delay(state)

    def _process(self, state: PartitionFetchState, part: FetchedPartition) -> None:
        """Append, then take the high watermark the answer carries (`ReplicaFetcherThread#processPartitionData`)."""
        partition, broker = state.partition, self.broker
        log, tp, journal = partition.log, part.tp, broker.journal
        state.leader_high_watermark = part.high_watermark
        if not state.checked:
            state.checked = True
            broker.account.following(tp, broker.id, log, self.leader)
        if part.records:
            start = log.leo
            log.append_as_follower(part.records)
            moved = log.update_high_watermark(part.high_watermark)
            if moved:
                broker.disk.changed[tp] = None
            log.last_append = journal.emit(
                events.FollowerAppended.kind, broker.id, tp.topic, tp.partition, self.leader, start, log.leo, log.high_watermark
            )
            if moved:
                self._high_watermark_moved(partition, log.last_append)
            if part.high_watermark > log.leo:
                journal.emit(
                    events.FetcherLags.kind, broker.id, tp.topic, tp.partition, self.leader, log.leo, part.high_watermark
                )  # fmt: skip
            self._changed(tp)
            if part.log_start > log.log_start:
                self._follow_log_start(state, part)
            if tp in broker.account.exposed:
                journal.cause = log.last_append
                broker.account.look(tp)
            return
        old = log.high_watermark
        if log.update_high_watermark(part.high_watermark):
            broker.disk.changed[tp] = None
            learned = journal.emit(events.FollowerHighWatermark.kind, broker.id, tp.topic, tp.partition, old, log.high_watermark)
            self._high_watermark_moved(partition, learned)
        if part.log_start > log.log_start:
            self._follow_log_start(state, part)

    def _follow_log_start(self, state: PartitionFetchState, part: FetchedPartition) -> None:
        """The leader's log starts later than the own one (`UnifiedLog#maybeIncrementLogStartOffset` for LeaderOffsetIncremented)."""
        log, tp, broker = state.partition.log, part.tp, self.broker
        old, broker.journal.stirred = log.log_start, True
        log.maybe_increment_log_start(min(part.log_start, log.high_watermark))
        if log.log_start > old:
            broker.journal.emit(events.LogStartMoved.kind, broker.id, tp.topic, tp.partition, old, log.log_start, "leader")
            broker.replicas.log_start_moved(tp)

    def _diverged(self, state: PartitionFetchState, part: FetchedPartition) -> None:
        """The fetch was answered with a diverging epoch (KIP-595): cut there and ask again; nothing else is taken over."""
        partition = state.partition
        target, _ = truncation_point(partition, part.diverging_epoch, part.diverging_end)
        self._truncate(partition, target, "diverging-epoch")
        self._changed(part.tp)

    def _failed(self, state: PartitionFetchState, part: FetchedPartition) -> None:
        tp = part.tp
        self._tell_failure(tp, part.error)
        if part.error == errors.OFFSET_OUT_OF_RANGE:
            state.out_of_range, state.steady = True, False
            self._prepare(state)
        elif part.error == errors.FENCED_LEADER_EPOCH:
            self.remove(tp)
            self.broker.failed_partitions[tp] = None
        else:
            self.delay(state)

    def epochs_answered(self, response: EpochsResponse) -> None:
        """The leader told where epochs end (`AbstractFetcherThread#maybeTruncateToEpochEndOffsets`)."""
        if response.correlation != self.in_flight:
            return
        self.in_flight = 0
        broker = self.broker
        for tp, error, epoch, end in response.partitions:
            state = self.states.get(tp)
            if state is None or state.state is not TRUNCATING or state.sent_epoch != state.leader_epoch:
                continue
            self._changed(tp)
            if error != errors.NONE:
                self._tell_failure(tp, error)
                if error == errors.FENCED_LEADER_EPOCH:
                    self.remove(tp)
                    broker.failed_partitions[tp] = None
                else:
                    self.delay(state)
                continue
            partition = state.partition
            before = broker.journal.cause
            broker.journal.cause = broker.journal.emit(
                events.EpochAnswered.kind, broker.id, tp.topic, tp.partition, self.leader, state.asked_epoch, epoch, end
            )
            told = epoch if broker.release.truncation >= Truncation.EPOCH_ROUNDS else NO_EPOCH
            target, ask_again = truncation_point(partition, told, end)
            self._truncate(partition, target, "leader-epoch")
            broker.journal.cause = before
            if ask_again != NO_EPOCH:
                state.asked_epoch = ask_again
            else:
                state.state = FETCHING
                self._prepare(state)
        self.maybe_send()

    def offsets_answered(self, response: OffsetsResponse) -> None:
        """The leader told its log's bounds after OFFSET_OUT_OF_RANGE (`AbstractFetcherThread#fetchOffsetAndTruncate`)."""
        if response.correlation != self.in_flight:
            return
        self.in_flight = 0
        state = self.states.get(response.tp)
        if state is not None and state.out_of_range:
            self._changed(response.tp)
            partition = state.partition
            log = partition.log
            state.out_of_range = False
            self._prepare(state)
            if response.error == errors.FENCED_LEADER_EPOCH and state.sent_epoch == state.leader_epoch:
                self.remove(response.tp)
                self.broker.failed_partitions[response.tp] = None
            elif response.error != errors.NONE:
                self.delay(state)  # and fetch again: by then the offset may be in range
            else:
                if response.latest < log.leo:
                    if self._may_not_truncate(response.tp):
                        self.broker.stop("exited")
                        return
                    self._truncate(partition, response.latest, "out-of-range")
                elif response.earliest > log.leo:
                    self._restart(partition, response.earliest)
        self.maybe_send()

    def _may_not_truncate(self, tp: TopicPartition) -> bool:
        """To 1.1 a broker rather ends than cut a log that its leader's is shorter than, where unclean election is not allowed (`ReplicaFetcherThread#handleOffsetOutOfRange`)."""
        broker = self.broker
        return broker.release.halts_on_truncation and not broker.settings.flag(
            "unclean.leader.election.enable", broker=broker.id, topic=tp.topic
        )

    def _restart(self, partition: Partition, start: int) -> None:
        """The own log ends below the leader's log start: drop it, go on from there."""
        log, tp, broker = partition.log, partition.tp, self.broker
        old = log.leo
        log.truncate_fully_and_start_at(start)
        broker.disk.changed[tp] = None
        broker.replicas.log_start_moved(tp)
        log.last_append = broker.journal.emit(events.LogRestarted.kind, broker.id, tp.topic, tp.partition, self.leader, old, log.leo)

    def _truncate(self, partition: Partition, target: int, rule: str) -> None:
        log, tp, broker = partition.log, partition.tp, self.broker
        old = log.leo
        held = log.runs() if target < old else ()
        if log.truncate_to(target):
            broker.disk.changed[tp] = None
            log.last_append = broker.journal.emit(
                events.Truncated.kind, broker.id, tp.topic, tp.partition, self.leader, log.leo, old, log.high_watermark, rule
            )
            broker.account.cut(tp, broker.id, held, old, log.leo, log.last_append)


def truncation_point(partition: Partition, leader_epoch: int, leader_end: int) -> tuple[int, int]:
    """Where a follower cuts, given the leader's (epoch, end offset); and the epoch to ask for next, -1 when done.

    Kafka: `AbstractFetcherThread#getOffsetTruncationState`. An undefined end means the own high watermark; an undefined
    epoch (KIP-101's answer) the end itself; an epoch the follower lacks means to cut below it and ask again (KIP-279).
    """
    log = partition.log
    if leader_end < 0:
        return log.high_watermark, NO_EPOCH
    if leader_epoch == NO_EPOCH:
        return min(leader_end, log.leo), NO_EPOCH
    epoch, end = log.end_offset_for_epoch(leader_epoch)
    if end < 0:
        return min(leader_end, log.leo), NO_EPOCH
    if epoch != leader_epoch:
        return min(end, log.leo), epoch
    return min(end, leader_end, log.leo), NO_EPOCH

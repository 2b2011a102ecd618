"""A partition on one broker (Kafka: `Partition`): how the ISR and the high watermark move when it leads, and its changes of role.

Read top to bottom this is the protocol: a leader appends; followers' fetches tell it how far each has come; the high
watermark is the least of those that count; a follower that lags leaves the ISR, one that reaches the high watermark may
come back; every change of the ISR is the controller's to commit.
"""

from __future__ import annotations

from collections import deque
from typing import TYPE_CHECKING, Final, NamedTuple, Protocol

from core import errors
from core.broker.fetch_session import FetchSession, SessionPartition
from core.broker.replica import Replica
from core.controller.registration import PartitionRegistration
from core.ids import NO_EPOCH, NO_LEADER, NO_OFFSET, TopicPartition
from core.journal import events
from core.journal.recorder import nobody
from core.log.producer_state import ProducerStateManager
from core.log.replica_log import ReplicaLog
from core.log.term import Batch, Term
from core.messages import AlterPartitionItem, FetchedPartition, FetchRequest, ProduceRequest
from core.release import HighWatermarkRule, Truncation

if TYPE_CHECKING:
    from core.account import PartitionAccount
    from core.broker.broker import Broker
    from core.broker.fetcher import Fetcher

EXPAND = "expand"
"""A pending ISR change that adds a follower."""

SHRINK = "shrink"
"""A pending ISR change that drops followers."""

APPENDED: Final = events.Appended.kind

tuple_of: Final = tuple.__new__
"""Makes a NamedTuple of a tuple of its fields, in half the time that its own constructor takes."""

NEVER_STEADY: Final = -2
"""The `steady_epoch` of a partition whose fetches go the general way; no fetch names that leader epoch."""

_STAY_PENDING = frozenset(
    {
        errors.UNKNOWN_TOPIC_OR_PARTITION,
        errors.UNKNOWN_TOPIC_ID,
        errors.FENCED_LEADER_EPOCH,
        errors.INVALID_UPDATE_VERSION,
        errors.INVALID_REQUEST,
        errors.NEW_LEADER_ELECTED,
    }
)
"""Answers to an ISR proposal after which the leader waits for new metadata, still pending."""

_REVERT = frozenset({errors.OPERATION_NOT_ATTEMPTED, errors.INELIGIBLE_REPLICA})
"""Answers after which the leader goes back to the committed ISR."""


class DelayedProduce(NamedTuple):
    """An acks=all write that waits for the high watermark (Kafka: `DelayedProduce`)."""

    required_offset: int
    deadline: int
    sender: str
    request: ProduceRequest
    base: int
    term: Term


class HighWatermarkWaiter(Protocol):
    """Somebody who waits for the high watermark to move, a consumer's fetch for one (Kafka: the fetch purgatory)."""

    def complete_if_enough(self) -> None:
        """The high watermark moved."""

    def complete(self) -> None:
        """This broker's part in the partition changed: wait no longer."""


class Partition:
    """One partition on one broker.

    Attributes:
        tp, topic, number, broker, log: which, where, its log; account: of the durability account, of a leader.
        leader: broker that leads as this one believes; leader_epoch, partition_epoch, replicas likewise.
        isr: the committed ISR (of a follower: empty).
        maximal_isr: with a pending expansion its candidate too; never without those of a pending shrink.
        pending: "", EXPAND or SHRINK while a change is at the controller; proposal is that change.
        remotes: the leader's view of the followers.
        leader_epoch_start_offset: the LEO when it became leader in this epoch.
        under_min_isr: the committed ISR is smaller than the effective min.insync.replicas.
        has_quiet_followers: a follower may be at the LEO in a session (`Replica.session`).
        may_be_behind: it was, and since then nobody has looked whether the high watermark can rise.
        sessions: its entries in followers' fetch sessions, by follower.
        steady_epoch: the leader epoch that this broker leads in, as long as every follower is in the maximal ISR and nothing holds
            the high watermark but their LEOs; otherwise NEVER_STEADY (`core.broker.steady`).
        delayed: acks=all writes that wait, in order of offset.
        producers: of a leader that idempotent producers write to: their state, made from the log when it is first needed.
        consumers: who else waits for the high watermark (ordered set).
        fetcher: the own fetcher that follows it, if one does.
    """

    __slots__ = (
        "account", "broker", "consumers", "delayed", "fetcher", "has_quiet_followers", "isr", "last_append",
        "last_high_watermark", "leader", "leader_epoch", "leader_epoch_start_offset", "log",
        "maximal_isr", "may_be_behind", "min_isr", "number", "partition_epoch", "pending", "produce_timer_due", "producers", "proposal", "remotes", "replicas", "sessions", "steady_epoch", "term", "topic", "tp",
        "under_min_isr",
    )  # fmt: skip

    def __init__(self, tp: TopicPartition, broker: Broker, log: ReplicaLog) -> None:
        self.tp = tp
        self.topic, self.number = tp
        self.broker = broker
        self.log = log
        self.leader = NO_LEADER
        self.leader_epoch = NO_EPOCH
        self.partition_epoch = -1
        self.replicas: tuple[int, ...] = ()
        self.isr: tuple[int, ...] = ()
        self.maximal_isr: tuple[int, ...] = ()
        self.pending = ""
        self.proposal: AlterPartitionItem | None = None
        self.remotes: dict[int, Replica] = {}
        self.leader_epoch_start_offset = 0
        self.sessions: dict[int, SessionPartition] = {}
        self.delayed: deque[DelayedProduce] | None = (
            None  # made by the first write that waits: an empty one takes more memory than all else here
        )
        self.fetcher: Fetcher | None = None
        self.consumers: dict[HighWatermarkWaiter, None] = {}
        self.produce_timer_due = -1
        self.producers: ProducerStateManager | None = None
        self.min_isr = 1
        self.under_min_isr = False
        self.steady_epoch = NEVER_STEADY
        self.may_be_behind = False
        self.has_quiet_followers = False
        self.account: PartitionAccount | None = None
        self.term: Term | None = None
        self.last_append = 0
        self.last_high_watermark = 0
        self.refresh_settings()

    @property
    def is_leader(self) -> bool:
        """Whether this broker leads it, as it believes."""
        return self.leader == self.broker.id

    def refresh_settings(self) -> None:
        """Take min.insync.replicas anew."""
        self.min_isr = self.broker.settings.integer("min.insync.replicas", broker=self.broker.id, topic=self.tp.topic)
        was_under = self.under_min_isr
        self._judge_min_isr()
        if was_under:  # the high watermark may have to catch up, at the next fetch that moves
            self.steady_epoch, self.may_be_behind = NEVER_STEADY, True

    # --- roles -----------------------------------------------------------------------------------------------------

    def make_leader(self, registration: PartitionRegistration) -> bool:
        """The controller says this broker leads (`Partition#makeLeader`); True if a new leader epoch began."""
        if registration.partition_epoch < self.partition_epoch:
            return False
        broker, log, me = self.broker, self.log, self.broker.id
        now = broker.journal.now
        was_leader = self.leader == me
        new_epoch = registration.leader_epoch > self.leader_epoch
        self._adopt(registration)
        if new_epoch:
            self.leader_epoch_start_offset = log.leo
            if log.keeps_epochs and broker.release.epoch_at_start:
                log.epochs.assign(self.leader_epoch, log.leo)
            self.term = Term(self.leader_epoch, me)
            self.producers = None
        broker.replicas.behind[self.tp] = None
        for follower in list(self.remotes):
            if follower not in registration.replicas:
                del self.remotes[follower]
        for follower in registration.replicas:
            if follower == me:
                continue
            replica = self.remotes.get(follower)
            known = replica is not None
            if replica is None:
                replica = self.remotes[follower] = Replica(follower)
            if new_epoch:
                replica.reset(now, log.leo, new_leader=not (was_leader and known), in_isr=follower in registration.isr)
        self.isr = self.maximal_isr = registration.isr
        self.pending = ""
        self._judge_min_isr()
        for follower, entry in self.sessions.items():
            entry.unlink()
            if follower not in self.isr:
                entry.session.dirty[self.tp] = entry  # each of its fetches may bring it back
        if new_epoch:
            self._fetches_must_look()
            journal = broker.journal
            before = journal.cause
            journal.cause = journal.emit(
                events.BecameLeader.kind, me, self.tp.topic, self.tp.partition, self.leader_epoch, log.leo, log.high_watermark, self.isr
            )
            broker.account.became_leader(self.tp, me, self.leader_epoch, log)
            self.account = broker.account.of(self.tp)
            self.maybe_increment_leader_hw()
            journal.cause = before
        else:
            self.maybe_increment_leader_hw()
        return new_epoch

    def make_follower(self, registration: PartitionRegistration) -> bool:
        """The controller says another broker leads, or none (`Partition#makeFollower`); True if a new leader epoch began."""
        if registration.partition_epoch < self.partition_epoch:
            return False
        new_epoch = registration.leader_epoch > self.leader_epoch
        if self.is_leader:
            self.broker.account.leadership_ends(self.tp, self.log)
        self._adopt(registration)
        self.isr = self.maximal_isr = ()
        self.pending = ""
        self.remotes.clear()
        for entry in self.sessions.values():
            entry.unlink()
        self._judge_min_isr()
        self.term = None
        self.producers = None
        if new_epoch:
            broker, log = self.broker, self.log
            broker.journal.emit(
                events.BecameFollower.kind,
                broker.id, self.tp.topic, self.tp.partition, self.leader, self.leader_epoch, log.leo, log.high_watermark,
            )  # fmt: skip
            self._leadership_lost()
        return new_epoch

    def _adopt(self, registration: PartitionRegistration) -> None:
        self.leader = registration.leader
        self.leader_epoch = registration.leader_epoch
        self.partition_epoch = registration.partition_epoch
        self.replicas = registration.replicas

    def _leadership_lost(self) -> None:
        """Finish what waits on this broker as leader: writes fail, fetches are told to look elsewhere."""
        delayed, self.delayed = self.delayed, None
        for waiting in delayed or ():
            self.broker.answer_produce(waiting.sender, waiting.request, errors.NOT_LEADER_OR_FOLLOWER, NO_OFFSET, None)
        self._fetches_must_look()

    def stop(self) -> None:
        """It is hosted here no more (`ReplicaManager#completeDelayedOperationsWhenNotPartitionLeader`): what waits on it as leader is finished."""
        if self.is_leader:
            self.broker.account.leadership_ends(self.tp, self.log)
            self.leader = NO_LEADER
            self._leadership_lost()

    def mark_offline(self) -> None:
        """Its log directory failed: nothing that waits here can be answered any more (`Partition#markOffline`)."""
        if self.is_leader:
            self.broker.account.leadership_ends(self.tp, self.log)
        delayed, self.delayed = self.delayed, None
        for waiting in delayed or ():
            self.broker.answer_produce(waiting.sender, waiting.request, errors.KAFKA_STORAGE_ERROR, NO_OFFSET, None)
        self.leader = NO_LEADER
        self._judge_min_isr()
        self._fetches_must_look()

    def delete_records(self, offset: int) -> None:
        """DeleteRecords: records below an offset (-1: the high watermark) may no longer be read (`Partition#deleteRecordsOnLeader`)."""
        log, tp, journal, me = self.log, self.tp, self.broker.journal, self.broker.id
        target = log.high_watermark if offset == -1 else offset
        old = log.log_start
        try:
            if target < 0:
                raise errors.KafkaError(errors.OFFSET_OUT_OF_RANGE, f"The offset {target} for partition {tp} is not valid")
            moved = log.maybe_increment_log_start(target)
        except errors.KafkaError as refusal:
            journal.emit(events.DeleteRecordsRefused.kind, me, tp.topic, tp.partition, target, log.high_watermark, refusal.code)
            return
        if moved:
            journal.emit(events.LogStartMoved.kind, me, tp.topic, tp.partition, old, log.log_start, "delete-records")
            self.broker.replicas.log_start_moved(tp)

    def _fetches_must_look(self) -> None:
        """Parked fetches of a former leadership are answered, and find out by their epoch."""
        for entry in list(self.sessions.values()):
            entry.session.dirty[self.tp] = entry
            self.broker.complete_fetch(entry.session)
        for consumer in list(self.consumers):
            consumer.complete()

    # --- epochs ----------------------------------------------------------------------------------------------------

    def check_leader_epoch(self, epoch: int) -> str:
        """Is a request that names a leader epoch (-1: none) at the right leader (`Partition#checkCurrentLeaderEpoch`)?"""
        if epoch != NO_EPOCH:
            if epoch < self.leader_epoch:
                return errors.FENCED_LEADER_EPOCH
            if epoch > self.leader_epoch:
                return errors.UNKNOWN_LEADER_EPOCH
        return errors.NONE if self.is_leader else errors.NOT_LEADER_OR_FOLLOWER

    def last_offset_for_leader_epoch(self, epoch: int) -> tuple[int, int]:
        """(epoch, end offset) of the largest epoch up to the asked one (`Partition#lastOffsetForLeaderEpoch`)."""
        log = self.log
        if not self.broker.release.epoch_at_start and len(log.epochs) and epoch < log.epochs.entries()[0][0]:
            return NO_EPOCH, NO_OFFSET
        return log.end_offset_for_epoch(epoch)

    # --- produce ---------------------------------------------------------------------------------------------------

    def effective_min_isr(self) -> int:
        """min.insync.replicas, capped by the replication factor since 3.7 (`Partition#effectiveMinIsr`)."""
        if self.broker.release.capped_min_isr:
            return min(self.min_isr, len(self.remotes) + 1)
        return self.min_isr

    def _judge_min_isr(self) -> None:
        """Note whether the committed ISR is too small (`Partition#isUnderMinIsr`); called whenever one of the two, or the role, changes."""
        self.under_min_isr = self.is_leader and len(self.isr) < self.effective_min_isr()
        self._judge_steady()

    def _judge_steady(self) -> None:
        """Note whether followers' fetches are plain progress; called whenever something that `steady_epoch` says changes."""
        release = self.broker.release
        steady = (
            self.is_leader
            and len(self.maximal_isr) == len(self.remotes) + 1
            and release.request_time_leo
            and not (release.strict_min_isr and self.under_min_isr)
            and not self.may_be_behind
        )
        self.steady_epoch = self.leader_epoch if steady else NEVER_STEADY

    def append_records_to_leader(self, sender: str, request: ProduceRequest) -> None:
        """A produce request (`Partition#appendRecordsToLeader`, `ReplicaManager#appendRecords`): append or refuse, answer or wait."""
        broker, log = self.broker, self.log
        journal, tp = broker.journal, self.tp
        acks, producer_id = request.acks, request.producer_id
        if acks == -1 and self.under_min_isr:
            broker.refuse_produce(sender, request, errors.NOT_ENOUGH_REPLICAS, self.isr, self.effective_min_isr())
            return
        if request.bytes > log.config.max_message_bytes * request.records:
            broker.refuse_produce(sender, request, errors.MESSAGE_TOO_LARGE, self.isr, self.effective_min_isr())
            return
        if producer_id >= 0 and not self._takes_sequence(sender, request):
            return
        term, account = self.term, self.account
        assert term is not None, "a leader has a term"
        assert account is not None, "and an account"
        base, now, records, size, producer = log.leo, journal.now, request.records, request.bytes, request.producer
        if self.has_quiet_followers:
            self._settle_followers()
        made = now if request.timestamp < 0 else term.stamp(request.timestamp)
        fields = (base, records, size, producer, request.batch_id, made, producer_id, request.producer_epoch, request.first_sequence)
        batch = tuple_of(Batch, fields)
        end = base + records
        if term is log.tail and end < log.flush_at:
            term.batches.append(batch)
            term.ends.append(end)
            term.totals.append(term.totals[-1] + size)
            log.leo = end
        else:
            log.append_as_leader(term, batch)
        if producer_id >= 0 and self.producers is not None:
            self.producers.update(batch)
        arrived = journal.cause
        journal.seq = journal.cause = self.last_append = seq = journal.seq + 1
        if journal.sink is not nobody:
            journal.sink(
                (seq, now, arrived, APPENDED, broker.id, self.topic, self.number, self.leader_epoch, base, end, size, producer, acks)
            )
        account.accepted += records
        if acks:
            self._promise(sender, request, base, end)
        elif broker.account.repeats:
            broker.account.appended(tp, broker.id, term, base, request, log)
        if self.steady_epoch < 0 or (base == log.high_watermark and not self._is_held_back(base)):
            self.maybe_increment_leader_hw()
            journal.cause = seq
        for entry in self.sessions.values():
            session = entry.session
            session.dirty[tp] = entry
            if session.parked is not None:
                broker.complete_fetch_if_enough(session)
        journal.cause = arrived

    def _promise(self, sender: str, request: ProduceRequest, base: int, end: int) -> None:
        """A batch was appended whose producer waits for an answer: at once with acks=1, else when it is committed."""
        broker, tp, term = self.broker, self.tp, self.term
        assert term is not None, "a leader has a term"
        broker.account.appended(tp, broker.id, term, base, request, self.log)
        if request.acks == 1:
            broker.answer_produce(sender, request, errors.NONE, base, term)
            return
        deadline = broker.journal.now + request.timeout
        if self.delayed is None:
            self.delayed = deque()
        self.delayed.append(DelayedProduce(end, deadline, sender, request, base, term))
        self._expire_produce_at(deadline)

    def _is_held_back(self, high_watermark: int) -> bool:
        """Whether a follower of a steady partition is not past the high watermark, so that it cannot rise."""
        held = False
        for replica in self.remotes.values():
            held = held or replica.leo <= high_watermark
        return held

    def _settle_followers(self) -> None:
        """The LEO is going to move: followers that had all are no more there."""
        self.has_quiet_followers = False
        self.broker.replicas.behind[self.tp] = None
        for replica in self.remotes.values():
            if replica.session is not None:
                replica.settle()

    def _takes_sequence(self, sender: str, request: ProduceRequest) -> bool:
        """Whether an idempotent producer's batch is to be appended (`UnifiedLog#analyzeAndValidateProducerState`).

        A duplicate is answered with its first offsets, for acks=all once they are committed; one out of turn is refused.
        """
        broker, log, now = self.broker, self.log, self.broker.journal.now
        if self.producers is None:
            self.producers = ProducerStateManager.of_log(log, now)
        producers = self.producers
        producers.remove_expired_if_due(now)
        known = producers.duplicate(request.producer_id, request.producer_epoch, request.first_sequence, request.records)
        if known is None:
            error = producers.validate(request.producer_id, request.producer_epoch, request.first_sequence)
            if error != errors.NONE:
                broker.refuse_produce(sender, request, error, self.isr, self.effective_min_isr())
            return error == errors.NONE
        base, end = known.first_offset, known.last_offset + 1
        broker.journal.emit(
            events.DuplicateDropped.kind, broker.id, self.tp.topic, self.tp.partition, request.producer, base, end, request.first_sequence
        )
        term = log.term_at(base)
        if request.acks != -1 or end <= log.high_watermark:
            broker.answer_produce(sender, request, errors.NONE, base, term)
            return False
        assert term is not None, "the state holds what the log holds"
        waiting = DelayedProduce(end, now + request.timeout, sender, request, base, term)
        if self.delayed is None:
            self.delayed = deque()
        at = len(self.delayed)
        while at and self.delayed[at - 1].required_offset > end:
            at -= 1
        self.delayed.insert(at, waiting)
        self._expire_produce_at(waiting.deadline)
        return False

    def complete_delayed_produce(self) -> None:
        """Answer the writes that the high watermark has reached (`Partition#checkEnoughReplicasReachOffset`)."""
        high_watermark, delayed = self.log.high_watermark, self.delayed
        while delayed and delayed[0].required_offset <= high_watermark:
            waiting = delayed.popleft()
            if self.effective_min_isr() <= len(self.maximal_isr):
                self.broker.answer_produce(waiting.sender, waiting.request, errors.NONE, waiting.base, waiting.term)
            else:
                self.broker.answer_produce(
                    waiting.sender, waiting.request, errors.NOT_ENOUGH_REPLICAS_AFTER_APPEND, waiting.base, waiting.term
                )

    def expire_delayed_produce(self) -> None:
        """Time out the writes whose request timeout is over (`DelayedProduce#onExpiration`), each by its own."""
        now, delayed = self.broker.journal.now, self.delayed
        if self.produce_timer_due > now:
            return  # armed anew for an earlier deadline, which has passed
        self.produce_timer_due = -1
        if not delayed:
            return
        self.delayed = left = deque(waiting for waiting in delayed if waiting.deadline > now)
        for waiting in delayed:
            if waiting.deadline <= now:
                self.broker.answer_produce(waiting.sender, waiting.request, errors.REQUEST_TIMED_OUT, NO_OFFSET, None)
        if left:
            self._expire_produce_at(min(waiting.deadline for waiting in left))

    def _expire_produce_at(self, deadline: int) -> None:
        """Have writes that wait timed out at a deadline, unless that is arranged for earlier already."""
        if not 0 <= self.produce_timer_due <= deadline:
            self.produce_timer_due = deadline
            self.broker.timer(deadline - self.broker.journal.now, "produce-expiry", self.tp)

    # --- fetches of followers --------------------------------------------------------------------------------------

    def link(self, entry: SessionPartition) -> None:
        """A session's entry is looked at; one of another session of that follower is left behind."""
        follower = entry.session.follower
        known = self.sessions.get(follower)
        if known is not entry:
            if known is not None:
                known.unlink()
            self.sessions[follower] = entry
        entry.partition, entry.replica = self, self.remotes.get(follower)

    def read_for_follower(self, entry: SessionPartition, request: FetchRequest, budget: int) -> FetchedPartition:
        """What a follower's fetch gets now (`Partition#fetchRecords`): records, a diverging epoch, or an error; with the HW as it stands."""
        asked, log, tp = entry, self.log, self.tp
        error = self.check_leader_epoch(asked.leader_epoch if self.broker.release.fetch_epoch_fencing else NO_EPOCH)
        if error == errors.NONE:
            replica = self.remotes.get(request.follower)
            if replica is None:
                named = self.broker.release.fetch_epoch_fencing and asked.leader_epoch != NO_EPOCH
                error = errors.UNKNOWN_LEADER_EPOCH if named else errors.NOT_LEADER_OR_FOLLOWER
            elif self.broker.replicas.broker_epoch_is_stale(request):
                error = errors.NOT_LEADER_OR_FOLLOWER
        diverging = diverging_end = -1
        if error == errors.NONE:
            if self.broker.release.truncation >= Truncation.ON_FETCH and asked.last_fetched_epoch != NO_EPOCH:
                epoch, end = log.end_offset_for_epoch(asked.last_fetched_epoch)
                if epoch == NO_EPOCH or asked.offset < log.log_start:
                    error = errors.OFFSET_OUT_OF_RANGE
                elif epoch < asked.last_fetched_epoch or end < asked.offset:
                    diverging, diverging_end = epoch, end
            elif not log.log_start <= asked.offset <= log.leo:
                error = errors.OFFSET_OUT_OF_RANGE
        records: tuple = ()
        if error == errors.NONE and diverging == -1 and asked.offset < log.leo and budget > 0:
            records = log.read(asked.offset, log.leo, min(request.partition_max_bytes, budget), request.max_records)
            term, end = records[-1].term, records[-1].end
            entry.sent_end, entry.sent_total = (end, term.bytes_before(end)) if term is self.term else (-1, 0)
        return FetchedPartition(
            tp, error, asked.offset, records, log.high_watermark, log.log_start, diverging, diverging_end, self.last_append
        )

    def update_follower_fetch_state(self, entry: SessionPartition, session: FetchSession, broker_epoch: int) -> None:
        """A follower's fetch arrived and was read without error (`Partition#updateFollowerFetchState`).

        In Kafka's order: its state, the ISR (with the high watermark of before), then the high watermark.
        """
        replica = self.remotes[session.follower]
        asked, log, journal = entry, self.log, self.broker.journal
        replica.settle()
        old = replica.leo
        replica.update_fetch_state(asked.offset, log.log_start, journal.now, log.leo, broker_epoch)
        arrived = journal.cause
        if asked.offset != old:
            journal.cause = asked.cause or arrived
            journal.cause = journal.emit(
                events.FollowerFetched.kind,
                self.broker.id, self.tp.topic, self.tp.partition, session.follower, old, asked.offset,
            )  # fmt: skip
        if session.follower not in self.maximal_isr:
            self.maybe_expand_isr(replica)
        if asked.offset != old:
            self.maybe_increment_leader_hw()
            journal.cause = arrived
        if asked.offset >= log.leo:
            replica.session = session
            self.has_quiet_followers = True
        else:
            self.broker.replicas.behind[self.tp] = None

    def assume_fetched(self, follower: int, end: int) -> None:
        """The mistake that Kafka does not make (guard `request-time-leo` off): take what was sent for what the follower has."""
        replica = self.remotes[follower]
        if end > replica.leo:
            replica.leo = end
            if self.maybe_increment_leader_hw():
                self.broker.account.look(self.tp)

    # --- the ISR ---------------------------------------------------------------------------------------------------

    def is_replica_isr_eligible(self, replica: Replica) -> bool:
        """May this follower join (`Partition#isReplicaIsrEligible`): not fenced, not shutting down, no stale broker epoch."""
        if not self.broker.release.isr_eligibility:
            return True
        return self.broker.is_isr_eligible(replica.broker, replica.broker_epoch)

    def maybe_expand_isr(self, replica: Replica) -> None:
        """Ask for a follower that has reached the high watermark (`Partition#maybeExpandIsr`)."""
        if (
            self.pending
            or replica.broker in self.isr
            or not self._is_follower_in_sync(replica)
            or not self.is_replica_isr_eligible(replica)
        ):
            return
        proposed = tuple(sorted((*self.isr, replica.broker)))
        self.pending = EXPAND
        if self.broker.release.maximal_isr:
            self.maximal_isr = proposed
            self._judge_steady()
        self.broker.journal.emit(
            events.IsrExpandProposed.kind,
            self.broker.id, self.tp.topic, self.tp.partition, replica.broker, proposed, replica.leo, self.log.high_watermark,
        )  # fmt: skip
        self._submit(proposed)

    def _is_follower_in_sync(self, replica: Replica) -> bool:
        """LEO at or past the high watermark, and (since 2.0) past the start of this epoch (`Partition#isFollowerInSync`)."""
        return replica.leo >= self.log.high_watermark and (
            not self.broker.release.expand_needs_epoch_start or replica.leo >= self.leader_epoch_start_offset
        )

    def out_of_sync_replicas(self) -> tuple[int, ...]:
        """ISR members that have not caught up in time (`Partition#getOutOfSyncReplicas`).

        Before 0.9 the union of two sets: those that have not fetched in time, and those that lack too many records.
        """
        if self.pending:
            return ()
        now, lag_max, leo = self.broker.journal.now, self.broker.lag_max, self.log.leo
        counts_lag, lag_messages = self.broker.release.counts_lag, self.broker.lag_max_messages
        spared = self.broker.release.shrink_spares_equal_leo
        out = []
        for follower in self.isr:
            replica = self.remotes.get(follower)
            if replica is None:
                continue
            if counts_lag:
                late = now - replica.fetched_time() > lag_max or (0 <= replica.leo < leo - lag_messages)
            else:
                late = now - replica.caught_up_time() > lag_max
            if late and not (spared and replica.leo == leo):
                out.append(follower)
        return tuple(out)

    def maybe_shrink_isr(self) -> None:
        """Ask to drop followers that lag (`Partition#maybeShrinkIsr`); the high watermark waits until that is committed."""
        if not self.is_leader:
            return
        out = self.out_of_sync_replicas()
        if not out:
            return
        broker = self.broker
        now = broker.journal.now
        if broker.release.counts_lag:
            lag = max(now - max(self.remotes[follower].fetched_time(), 0) for follower in out)
            if lag <= broker.lag_max:
                self._propose_without(out, max(self.log.leo - self.remotes[follower].leo for follower in out))
                return
        else:
            lag = max(now - max(self.remotes[follower].caught_up_time(), 0) for follower in out)
        proposed = tuple(sorted(member for member in self.isr if member not in out))
        self.pending = SHRINK
        broker.journal.emit(events.IsrShrinkProposed.kind, broker.id, self.tp.topic, self.tp.partition, proposed, out, lag, broker.lag_max)
        self._submit(proposed)

    def _propose_without(self, out: tuple[int, ...], missing: int) -> None:
        """Before 0.9: ask to drop followers that fetch in time, and yet lack more than replica.lag.max.messages."""
        broker = self.broker
        proposed = tuple(sorted(member for member in self.isr if member not in out))
        self.pending = SHRINK
        broker.journal.emit(
            events.IsrShrinkByCount.kind, broker.id, self.tp.topic, self.tp.partition, proposed, out, missing, broker.lag_max_messages
        )
        self._submit(proposed)

    def _submit(self, isr: tuple[int, ...]) -> None:
        broker = self.broker
        broker_epochs = tuple(
            broker.broker_epoch if b == broker.id else self.remotes[b].broker_epoch if b in self.remotes else -1 for b in isr
        )
        item = AlterPartitionItem(self.tp, self.leader_epoch, self.partition_epoch, isr, broker_epochs, broker.journal.seq)
        self.proposal = item
        if not broker.alter_partition.submit(item):
            self._revert()

    def _revert(self) -> None:
        self.pending = ""
        self.maximal_isr = self.isr
        self._judge_steady()

    def _stands(self, item: AlterPartitionItem) -> bool:
        """Whether an answer is to the change that is pending, not to one that new metadata have overtaken (`#submitAlterPartition`)."""
        return bool(self.pending) and item is self.proposal

    def alter_partition_succeeded(self, item: AlterPartitionItem, registration: PartitionRegistration) -> None:
        """The controller committed a proposal (`Partition#handleAlterPartitionUpdate`); stale answers are ignored."""
        if not self.is_leader or registration.leader_epoch != self.leader_epoch or registration.partition_epoch < self.partition_epoch:
            return
        if not self._stands(item):
            return
        broker, tp, old = self.broker, self.tp, self.isr
        self.isr = self.maximal_isr = registration.isr
        self.partition_epoch = registration.partition_epoch
        self.pending = ""
        self._judge_min_isr()
        self.report_isr_change(old)
        self.maybe_increment_leader_hw()
        for entry in self.sessions.values():
            entry.session.dirty[tp] = entry
        if self.delayed:
            self.complete_delayed_produce()
        broker.account.isr_changed(broker.id, old, self.isr)
        broker.account.look(tp)

    def report_isr_change(self, old: tuple[int, ...]) -> None:
        """Tell the journal what the committed ISR gained or lost by this leader's proposal."""
        broker, tp = self.broker, self.tp
        joined = tuple(b for b in self.isr if b not in old)
        out = tuple(b for b in old if b not in self.isr)
        journal = broker.journal
        if out:
            journal.cause = journal.emit(events.IsrShrunk.kind, broker.id, tp.topic, tp.partition, self.isr, out, self.partition_epoch)
        if joined:
            journal.cause = journal.emit(events.IsrExpanded.kind, broker.id, tp.topic, tp.partition, self.isr, joined, self.partition_epoch)

    def alter_partition_failed(self, item: AlterPartitionItem, error: str) -> None:
        """The controller refused a proposal (`Partition#handleAlterPartitionError`): revert, wait for metadata, or send it again."""
        if not self.is_leader or item.leader_epoch != self.leader_epoch or not self._stands(item):
            return
        broker, tp = self.broker, self.tp
        broker.journal.emit(events.IsrChangeFailed.kind, broker.id, tp.topic, tp.partition, item.isr, error)
        if error in _REVERT:
            self._revert()
        elif error not in _STAY_PENDING:
            broker.alter_partition.submit(item)

    # --- the high watermark ----------------------------------------------------------------------------------------

    def maybe_increment_leader_hw(self) -> bool:
        """Raise the high watermark to the least LEO of those that count (`Partition#maybeIncrementLeaderHW`); True if it rose.

        Who counts: the (maximal) ISR, and by release those outside it that are caught up, so that they can join without
        the high watermark overtaking them. Since 3.7 nothing moves while the ISR is below min.insync.replicas.
        """
        broker, log = self.broker, self.log
        release = broker.release
        if release.strict_min_isr and self.under_min_isr:
            return False
        candidate, held_by = self.least_leo()
        if self.may_be_behind:
            self.may_be_behind = False
            self._judge_steady()
        if candidate <= log.high_watermark:
            return False
        old, log.high_watermark = log.high_watermark, candidate
        broker.disk.changed[self.tp] = None
        journal, tp = broker.journal, self.tp
        before = journal.cause
        journal.cause = self.last_high_watermark = journal.emit(
            events.HighWatermarkAdvanced.kind, broker.id, tp.topic, tp.partition, self.leader_epoch, old, candidate, held_by
        )
        for entry in self.sessions.values():
            entry.session.dirty[tp] = entry
        self.complete_waiting()
        journal.cause = before
        return True

    def complete_waiting(self) -> None:
        """The high watermark rose: whoever waits for it here (`Partition#tryCompleteDelayedRequests`)."""
        if self.broker.replicas.pushes_high_watermark:
            for entry in list(self.sessions.values()):
                self.broker.complete_fetch(entry.session)
        if self.delayed:
            self.complete_delayed_produce()
        for consumer in list(self.consumers):
            consumer.complete_if_enough()

    def high_watermark_sent(self, follower: int, high_watermark: int) -> bool:
        """A follower's fetch was read with that high watermark; True if it had been sent an older one (`Replica#lastSentHighWatermark`, 2.4)."""
        replica = self.remotes[follower]
        stale = replica.last_sent_high_watermark < high_watermark
        replica.last_sent_high_watermark = high_watermark
        return stale

    def is_high_watermark_sent(self, follower: int) -> bool:
        """Whether the newest high watermark was there when a follower's last fetch was read."""
        replica = self.remotes.get(follower)
        return replica is None or replica.last_sent_high_watermark >= self.log.high_watermark

    def _counts_outside_isr(self, replica: Replica) -> bool:
        release = self.broker.release
        if release.high_watermark is HighWatermarkRule.ISR:
            return False
        now, lag_max = self.broker.journal.now, self.broker.lag_max
        if release.high_watermark is HighWatermarkRule.ISR_OR_RECENT:
            return now - replica.caught_up_time() <= lag_max
        return replica.is_caught_up(self.log.leo, now, lag_max) and (not release.hw_needs_eligible or self.is_replica_isr_eligible(replica))

    def least_leo(self) -> tuple[int, int]:
        """The least LEO of the replicas that count for the high watermark, and whose it is; this leader's own if all have all."""
        candidate, held_by = self.log.leo, self.broker.id
        for replica in self.remotes.values():
            if replica.leo < candidate and (replica.broker in self.maximal_isr or self._counts_outside_isr(replica)):
                candidate, held_by = replica.leo, replica.broker
        return candidate, held_by

    def counts_for_high_watermark(self, replica: Replica) -> bool:
        """Whether the high watermark waits for this follower now."""
        return replica.broker in self.maximal_isr or self._counts_outside_isr(replica)

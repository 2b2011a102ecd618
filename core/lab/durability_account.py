"""The durability account of a cluster: which records were accepted, acknowledged, duplicated, and lost, and how long partitions were available.

The account is exact, record by record. It only observes the nodes: it reads all logs, but nothing that it knows flows back into
the protocol. A record is identified by its term and its offset (`core.kafka.log.leader_term`).

There are two levels of harm:

- A committed record is *exposed* while a replica that can be elected lacks it (`core.lab.exposed_records`).
- A record that was acknowledged, or that a consumer has read, is *lost* if the log of a newer leader lacks it. If a replica that
  kept the record leads again, the record counts as recovered.

`lost` counts each lost record once. `lost_acknowledged` counts those that were acknowledged to their producer (acks 1 or all).
`lost_read` counts those that a consumer has read. A record can count in both totals.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Iterable, Mapping
from typing import Final, NamedTuple

import attrs

from core.kafka import events
from core.kafka.clients.group_consumer import PolledRecords
from core.kafka.durability_observer import ForwardTimes, RecordObserver, Tried
from core.kafka.health import is_offline, is_under_replicated
from core.kafka.ids import NO_LEADER, TopicPartition
from core.kafka.log.leader_term import FetchedRange, Run, Term
from core.kafka.log.offset_set import OffsetSet
from core.kafka.log.replica_log import ReplicaLog
from core.kafka.messages import ProduceRequest
from core.kafka.partition_registration import PartitionRegistration
from core.lab.consumption_account import ConsumptionAccount, RecordsInHand
from core.lab.processing_account import Processing, ProcessingAccount
from core.lab.retry_account import RetryAccount
from core.lab.service_account import ServiceAccount
from core.sim.journal import Journal
from core.sim.state.append_only_list import AppendOnlyList


class RemovedRecords(NamedTuple):
    """The offsets [start, end) of a term, and the sequence number of the event that removed them from a log."""

    term: Term
    start: int
    end: int
    event: int


class Loss(NamedTuple):
    """The lost offsets [start, end) of one producer.

    Attributes:
        tp: the partition.
        producer: the name of the producer.
        epoch: the leader epoch in which the records were written.
        start: the first offset.
        end: the offset after the last one.
        acknowledged: whether the records were acknowledged to the producer.
        read: whether a consumer has read them.
        event: the sequence number of the event that caused the loss. If the log of the newer leader once had the records, the event is the
            truncation or power loss that removed them. Otherwise, the event is the election of that leader.
    """

    tp: TopicPartition
    producer: str
    epoch: int
    start: int
    end: int
    acknowledged: bool
    read: bool
    event: int


def _ignore(*_: object) -> None:
    """Do nothing, because the account has no cluster."""


def _no_members(_: str) -> tuple[RecordsInHand, ...]:
    return ()


def _none(_: str) -> tuple[PolledRecords, ...]:
    """Return no records, because the account has no cluster."""
    return ()


@attrs.define(slots=True, eq=False)
class Losses:
    """The records that one partition has lost or might have lost.

    Attributes:
        lost: the offsets that were acknowledged or read but are not in the leader's log, by term.
        cuts: the records that truncation or power loss removed from each broker's log.
        shortened: the former log end of each broker whose log was cut. Until a log reaches that end again, a leader can overestimate
            its length.
        loss_causes: ranges of lost records, each with the event that removed them, as found by comparisons with a leader's log; newest last.
    """

    lost: Final[dict[Term, OffsetSet]] = attrs.field(factory=dict)
    cuts: Final[dict[int, list[RemovedRecords]]] = attrs.field(factory=dict)
    shortened: Final[dict[int, int]] = attrs.field(factory=dict)
    loss_causes: Final[list[RemovedRecords]] = attrs.field(factory=list)


@attrs.define(slots=True, eq=False)
class PartitionAccount:
    """The account of one partition. Counts are numbers of records, and times are in µs.

    Attributes:
        accepted: the number of records that a leader appended.
        acked: the acknowledged offsets, by term.
        read: the offsets that a consumer has read, by term.
        lost: the lost offsets, by term.
        aborted: the offsets of aborted transactions, by term. These records are never lost, because nobody needs them.
        committed: the committed offsets, by term, as of the last `add_committed`. Offsets that a later leader's log lacks are left out.
        committed_end: the end of `committed`.
        losses: the records that the partition has lost or might have lost; None if there are none.
        registered_leader: the leader according to the controller.
        elected_by: the sequence number of the event of the last election.
        acked_count, lost_count, lost_acknowledged, lost_read, duplicated: the totals.
        leader: the newest leader that has taken up its role.
        leader_epoch: the leader epoch of that leader.
        log: the log of that leader.
        under_since: the time since which the partition has been under-replicated; -1 if it is not.
        under_total: the time that the partition was under-replicated before `under_since`.
        offline_since: the time since which the partition has had no leader; -1 if it has one.
        offline_total: the time that the partition had no leader before `offline_since`.
    """

    accepted: int = 0
    acked: Final[dict[Term, OffsetSet]] = attrs.field(factory=dict)
    read: Final[dict[Term, OffsetSet]] = attrs.field(factory=dict)
    aborted: Final[dict[Term, OffsetSet]] = attrs.field(factory=dict)
    committed: Final[dict[Term, OffsetSet]] = attrs.field(factory=dict)
    committed_end: int = 0
    losses: Losses | None = None
    registered_leader: int = NO_LEADER
    elected_by: int = 0
    acked_count: int = 0
    lost_count: int = 0
    lost_acknowledged: int = 0
    lost_read: int = 0
    duplicated: int = 0
    leader: int = NO_LEADER
    leader_epoch: int = -1
    log: ReplicaLog | None = None
    under_since: int = -1
    under_total: int = 0
    offline_since: int = -1
    offline_total: int = 0

    @property
    def lost(self) -> Mapping[Term, OffsetSet]:
        """The offsets that were acknowledged or read but are not in the leader's log, by term."""
        return {} if self.losses is None else self.losses.lost

    @property
    def shortened(self) -> Mapping[int, int]:
        """The former log ends of brokers whose logs were cut (`Losses.shortened`)."""
        return {} if self.losses is None else self.losses.shortened

    def note_losses(self) -> Losses:
        """Return the losses of the partition, which are created if there are none."""
        if self.losses is None:
            self.losses = Losses()
        return self.losses

    def add_committed(self) -> None:
        """Add the records that are committed now: those in the leader's log below its high watermark."""
        log = self.log
        if log is None or log.high_watermark <= log.log_start:
            return
        for run in log.runs():
            if run.start >= log.high_watermark:
                break
            held = self.committed.get(run.term)
            if held is None:
                held = self.committed[run.term] = OffsetSet()
            held.add(run.start, min(run.end, log.high_watermark))
        self.committed_end = max(self.committed_end, log.high_watermark)

    def observed(self) -> dict[Term, OffsetSet]:
        """Return the offsets, by term, that have been observed outside the cluster: those acknowledged or read."""
        both = dict(self.acked)
        for term, read in self.read.items():
            acked = both.get(term)
            both[term] = read if acked is None else acked.union(read)
        return both

    def holds_all_committed(self, log: ReplicaLog | None) -> bool:
        """Return whether a log holds all committed records because it equals the leader's log.

        If False, the log might still hold them; only a comparison can tell.
        """
        mine = self.log
        if mine is log:
            return mine is not None
        if mine is None or log is None or log.leo < self.committed_end:
            return False
        return log.starts == mine.starts and log.terms == mine.terms

    def missing_from(self, log: ReplicaLog | None) -> dict[Term, OffsetSet]:
        """Return the committed offsets that a log lacks, by term. Records that retention has deleted do not count."""
        mine = self.log
        if mine is None or not self.committed or self.holds_all_committed(log):
            return {}
        start = max(mine.log_start, 0 if log is None else log.log_start)
        present = {} if log is None else _offsets_by_term(log)
        found: dict[Term, OffsetSet] = {}
        for term, committed in self.committed.items():
            missing = committed.minus(present.get(term, OffsetSet()))
            if start:
                missing = missing.minus(OffsetSet.of([(0, start)]))
            if missing:
                found[term] = missing
        return found


def _offsets_by_term(log: ReplicaLog) -> dict[Term, OffsetSet]:
    present: dict[Term, OffsetSet] = {}
    for run in log.runs():
        present.setdefault(run.term, OffsetSet()).add(run.start, run.end)
    return present


class DurabilityAccount:
    """The durability account of a cluster. `core.kafka.durability_observer.DurabilityObserver` lists what nodes report to it.

    Attributes:
        partitions: the account of each partition.
        elections: the number of elections of each kind: clean, unclean, preferred, eligible, last-known.
        shrinks, expands: the number of committed ISR changes, by leader.
        latencies: the produce latencies of acknowledged batches, µs, by (topic, acks), in order of acknowledgment.
        exposed: the brokers that can be elected and lack committed records, by partition, as last recorded in the journal.
        check_exposure: the function to call when committed records of a partition might have become exposed or safe.
        electable_brokers_changed: the function to call when the set of electable brokers might have changed, for any partition.
        requests_may_repeat: whether a proxy can repeat requests of producers.
        processing: the account of processes.
        consumption: the account of groups with members.
        services: the account of delay services.
        retries: the account of retry services.
        records_in_hand: the function that returns the records that the running processes of a group have polled but not finished.
        polled_by_members: the function that returns the records that the running members of a group have polled but not processed.
        record_observer: the observer of batches and reads, such as an audit or a trace; None if nobody asks for them.
    """

    __slots__ = (
        "_pending_batches", "check_exposure", "consumption", "electable_brokers_changed", "elections", "expands", "exposed", "journal", "latencies",
        "partitions", "polled_by_members", "processing", "record_observer", "records_in_hand", "requests_may_repeat", "retries", "services", "shrinks",
    )  # fmt: skip

    journal: Final[Journal]
    partitions: Final[dict[TopicPartition, PartitionAccount]]
    elections: Final[dict[str, int]]
    shrinks: Final[dict[int, int]]
    expands: Final[dict[int, int]]
    latencies: Final[dict[tuple[str, int], AppendOnlyList[int]]]
    exposed: Final[dict[TopicPartition, dict[int, None]]]
    processing: Final[ProcessingAccount]
    consumption: Final[ConsumptionAccount]
    services: Final[ServiceAccount]
    retries: Final[RetryAccount]
    _pending_batches: Final[dict[tuple[str, int], tuple[Term, int]]]

    def __init__(self, journal: Journal) -> None:
        self.journal = journal
        self.partitions = {}
        self.elections = {}
        self.shrinks = {}
        self.expands = {}
        self.latencies = {}
        self.exposed = {}
        self.check_exposure: Callable[[TopicPartition], None] = _ignore
        self.electable_brokers_changed: Callable[[], None] = _ignore
        self.requests_may_repeat = False
        self.processing = ProcessingAccount(journal)
        self.consumption = ConsumptionAccount(journal)
        self.services = ServiceAccount()
        self.retries = RetryAccount(journal)
        self.records_in_hand: Callable[[str], tuple[PolledRecords, ...]] = _none
        self.polled_by_members: Callable[[str], tuple[RecordsInHand, ...]] = _no_members
        self.record_observer: RecordObserver | None = None
        self._pending_batches = {}

    def of(self, tp: TopicPartition) -> PartitionAccount:
        """Return the account of one partition."""
        account = self.partitions.get(tp)
        if account is None:
            account = self.partitions[tp] = PartitionAccount()
        return account

    # --- totals ----------------------------------------------------------------------------------------------------

    @property
    def accepted(self) -> int:
        """The number of records that leaders appended."""
        return sum(account.accepted for account in self.partitions.values())

    @property
    def acked(self) -> int:
        """The number of records that were acknowledged to producers."""
        return sum(account.acked_count for account in self.partitions.values())

    @property
    def lost(self) -> int:
        """The number of records that were acknowledged or read and that the current leader's log lacks. Each record counts once."""
        return sum(account.lost_count for account in self.partitions.values())

    @property
    def lost_acknowledged(self) -> int:
        """The number of lost records that were acknowledged to their producer."""
        return sum(account.lost_acknowledged for account in self.partitions.values())

    @property
    def lost_read(self) -> int:
        """The number of lost records that a consumer has read, acknowledged or not."""
        return sum(account.lost_read for account in self.partitions.values())

    @property
    def duplicated(self) -> int:
        """The number of records that a retry appended again."""
        return sum(account.duplicated for account in self.partitions.values())

    def losses(self) -> list[Loss]:
        """Return the records that are lost now, by partition, offset, producer, and the event that caused the loss."""
        found: list[Loss] = []
        for tp, account in self.partitions.items():
            for term, lost in sorted(account.lost.items(), key=lambda each: (each[0].epoch, each[0].leader)):
                acked, read = account.acked.get(term, OffsetSet()), account.read.get(term, OffsetSet())
                unread = lost.minus(read)
                parts = ((True, False, unread), (True, True, lost.common(read).common(acked)), (False, True, lost.minus(acked)))
                for acknowledged, was_read, part in parts:
                    for low, high in part:
                        found.extend(self._by_producer(tp, account, term, low, high, acknowledged, was_read))
        return sorted(found, key=lambda loss: (loss.tp, loss.start, loss.epoch))

    def _by_producer(
        self, tp: TopicPartition, account: PartitionAccount, term: Term, start: int, end: int, acknowledged: bool, read: bool
    ) -> list[Loss]:
        found: list[Loss] = []
        at, i = start, bisect_right(term.ends, start)
        while at < end and i < len(term.written):
            batch, stop = term.batch(i), min(end, term.ends[i])
            event, until = 0, stop
            for cause in () if account.losses is None else account.losses.loss_causes:
                if cause.term is term and cause.start <= at < cause.end:
                    event, until = cause.event, min(stop, cause.end)
            last = found[-1] if found else None
            if last is not None and last.end == at and last.producer == batch.producer and last.event == event:
                found[-1] = last._replace(end=until)
            else:
                found.append(Loss(tp, batch.producer, term.epoch, at, until, acknowledged, read, event))
            at = until
            i += at >= term.ends[i]
        return found

    def under_replicated_us(self, tp: TopicPartition) -> int:
        """Return how long a partition has been under-replicated while it had a leader, µs."""
        account = self.of(tp)
        return account.under_total + (self.journal.now - account.under_since if account.under_since >= 0 else 0)

    def offline_us(self, tp: TopicPartition) -> int:
        """Return how long a partition has had no leader, µs."""
        account = self.of(tp)
        return account.offline_total + (self.journal.now - account.offline_since if account.offline_since >= 0 else 0)

    # --- what nodes report -----------------------------------------------------------------------------------------

    def appended(self, tp: TopicPartition, broker: int, term: Term, base: int, request: ProduceRequest, log: ReplicaLog) -> None:
        """Record that a leader appended a batch whose producer waits for a response. `PartitionAccount.accepted` already includes its records."""
        key = (request.producer, request.batch_id)
        first = self._pending_batches.get(key)
        if first is None:
            self._pending_batches[key] = (term, base)
        elif log.term_at(first[1]) is first[0]:
            self.of(tp).duplicated += request.records
            self.journal.emit(events.RecordsDuplicated.kind, tp.topic, tp.partition, broker, request.producer, base, base + request.records)

    def batch_closed(self, producer: str, batch_id: int, tp: TopicPartition, records: int, created: int, timestamp: int) -> None:
        """Record that a producer sends a batch for the first time, or gives it up unsent."""
        if self.record_observer is not None:
            self.record_observer.batch_closed(producer, batch_id, tp, records, created, timestamp)

    def batch_failed(self, producer: str, batch_id: int, sent_at: int, event: int) -> None:
        """Record that an attempt to produce a batch failed. `sent_at` is -1 if the batch was never sent."""
        if self.record_observer is not None:
            self.record_observer.batch_failed(producer, batch_id, sent_at, event)

    def acknowledged(
        self, tp: TopicPartition, acks: int, term: Term, base: int, count: int, latency: int, producer: str, batch_id: int, node: str
    ) -> None:
        """Record that a producer received the acknowledgment of a batch from a broker."""
        if self.record_observer is not None:
            self.record_observer.batch_acknowledged(producer, batch_id, tp, FetchedRange(base, base + count, term, 0), node)
        account = self.of(tp)
        held = account.acked.get(term)
        if held is None:
            held = account.acked[term] = OffsetSet()
        if term in account.lost:
            for start, end in account.lost[term].within(base, base + count).minus(held):
                account.lost_acknowledged += end - start
                self.journal.emit(events.LostRecordsSeen.kind, tp.topic, tp.partition, term.epoch, start, end, end - start, 0)
        held.add(base, base + count)
        account.acked_count += count
        self.latencies.setdefault((tp.topic, acks), AppendOnlyList()).append(latency)
        if account.log is not None and term.epoch < account.leader_epoch:
            self._compare_with_leader(tp, account)

    def consumed(self, tp: TopicPartition, records: tuple[FetchedRange, ...], consumer: str) -> None:
        """Record that a consumer received records."""
        if self.record_observer is not None:
            self.record_observer.records_consumed(consumer, tp, records)
        account = self.of(tp)
        for part in records:
            held = account.read.get(part.term)
            if held is None:
                held = account.read[part.term] = OffsetSet()
            if part.term in account.lost:
                for start, end in account.lost[part.term].within(part.start, part.end).minus(held):
                    account.lost_read += end - start
                    self.journal.emit(events.LostRecordsSeen.kind, tp.topic, tp.partition, part.term.epoch, start, end, 0, end - start)
            held.add(part.start, part.end)
            log = account.log
            if log is not None and not log.term_at(part.start) is log.term_at(part.end - 1) is part.term:
                self._compare_with_leader(tp, account)

    def transaction_aborted(self, tp: TopicPartition, records: tuple[FetchedRange, ...]) -> None:
        """Record that a leader appended the marker that aborts some records."""
        aborted = self.of(tp).aborted
        for each in records:
            held = aborted.get(each.term)
            if held is None:
                held = aborted[each.term] = OffsetSet()
            held.add(each.start, each.end)

    def log_truncated(self, tp: TopicPartition, broker: int, before: tuple[Run, ...], old: int, leo: int, event: int) -> None:
        """Record that truncation or a power loss cut a broker's log from the end `old` to `leo`. `before` is the log's former content."""
        losses = self.of(tp).note_losses()
        cuts = losses.cuts.setdefault(broker, [])
        removed = tuple(run._replace(start=max(run.start, leo)) for run in before if run.end > leo)
        cuts.extend(RemovedRecords(run.term, run.start, run.end, event) for run in removed)
        if self.record_observer is not None:
            self.record_observer.log_cut(tp, broker, removed)
        losses.shortened[broker] = max(old, losses.shortened.get(broker, 0))
        self.check_exposure(tp)

    def log_unavailable(self, tp: TopicPartition, broker: int, log: ReplicaLog) -> None:
        """Record that a broker's log is gone, because its directory failed or the replica was deleted."""
        shortened = self.of(tp).note_losses().shortened
        shortened[broker] = max(log.leo, shortened.get(broker, 0))
        self.check_exposure(tp)

    def leadership_ended(self, tp: TopicPartition, log: ReplicaLog) -> None:
        """Record that a leader resigned or stopped. Add the records that it knew to be committed."""
        account = self.of(tp)
        if account.log is log:
            account.add_committed()

    def batch_completed(self, producer: str, batch_id: int) -> None:
        """Record that a producer will not send a batch again.

        Unless a proxy repeats requests, no more retries of the batch need to be recognized.
        """
        if not self.requests_may_repeat:
            self._pending_batches.pop((producer, batch_id), None)

    def became_leader(self, tp: TopicPartition, broker: int, leader_epoch: int, log: ReplicaLog) -> None:
        """Record that a broker became leader. From now on, its log counts, unless a newer leader is known."""
        account = self.of(tp)
        if leader_epoch >= account.leader_epoch:
            account.add_committed()
            account.leader, account.leader_epoch, account.log = broker, leader_epoch, log
            if self.record_observer is not None:
                self.record_observer.leader_changed(tp, log)
            if account.committed or account.acked or account.read:
                self._compare_with_leader(tp, account)
            elif not leader_epoch:
                return
            self.check_exposure(tp)

    def started_following(self, tp: TopicPartition, broker: int, log: ReplicaLog, leader: int) -> None:
        """Record that a follower received its first response from a leader. The follower's log should now be a prefix of the leader's log."""
        account = self.of(tp)
        if account.log is None or account.leader != leader or account.log is log:
            return
        for start, end in log.differences(account.log):
            self.journal.emit(events.RecordsDiverged.kind, tp.topic, tp.partition, broker, leader, start, end)

    def leader_elected(self, election: str) -> None:
        """Record that the controller elected a leader."""
        self.elections[election] = self.elections.get(election, 0) + 1

    def isr_changed(self, broker: int, old: tuple[int, ...], new: tuple[int, ...]) -> None:
        """Record that an ISR change that a leader proposed was committed."""
        if len(new) < len(old):
            self.shrinks[broker] = self.shrinks.get(broker, 0) + 1
        elif len(new) > len(old):
            self.expands[broker] = self.expands.get(broker, 0) + 1

    def partition_changed(self, tp: TopicPartition, registration: PartitionRegistration) -> None:
        """Record that the controller committed a new state of a partition."""
        account, now = self.of(tp), self.journal.now
        under = is_under_replicated(registration)
        if under and account.under_since < 0:
            account.under_since = now
        elif not under and account.under_since >= 0:
            account.under_total += now - account.under_since
            account.under_since = -1
        offline = is_offline(registration)
        if offline and account.offline_since < 0:
            account.offline_since = now
        elif not offline and account.offline_since >= 0:
            account.offline_total += now - account.offline_since
            account.offline_since = -1
        if registration.leader != account.registered_leader:
            account.registered_leader = registration.leader
            if registration.leader != NO_LEADER:
                account.elected_by = self.journal.cause
        if account.log is not None:
            self.check_exposure(tp)

    def offset_committed(self, group: str, tp: TopicPartition, offset: int, event: int) -> None:
        """Record that a group coordinator committed an offset."""
        self.processing.offset_committed(group, tp, offset, event)
        self.consumption.offset_committed(group, tp, offset, event)

    def records_processed(self, group: str, client: str, tp: TopicPartition, start: int, end: int, epoch: int) -> None:
        """Record that the application of a member processed the records [start, end) of a leader epoch."""
        if self.record_observer is not None:
            for term, read in self.of(tp).read.items():
                if term.epoch == epoch and read.count_within(start, end):
                    self.record_observer.records_processed(group, tp, FetchedRange(start, end, term, 0))
        self.consumption.records_processed(group, client, tp, start, end, epoch)

    def records_forwarded(self, service: str, worker: str, tp: TopicPartition, end: int, records: int, times: ForwardTimes) -> None:
        """Record that a worker of a delay service sent records, and that the broker has acknowledged them."""
        self.services.records_forwarded(worker, tp, end, records, times)

    def records_tried(self, service: str, number: int, records: int, failed: bool) -> None:
        """Record that a worker of a retry service tried records."""
        self.retries.records_tried(service, number, records, failed)

    def records_done(self, service: str, tried: Tried) -> None:
        """Record that a worker of a retry service is done with records."""
        self.retries.records_done(service, tried)

    def retries_checked(self, service: str, group: str, source: str) -> None:
        """Report the records that a worker of a retry service has dropped."""
        in_hand = self.records_in_hand(group)
        logs = self.leader_logs()
        for (owner, tp), commits in self.processing.commits.items():
            if owner == group and tp.topic == source and tp in logs:
                self.retries.check(service, group, tp, commits, self.processing.visible(tp, logs[tp]), in_hand)

    def position_set(self, group: str, tp: TopicPartition, position: int, event: int, *, committed: bool) -> None:
        """Record that a member got a position in a partition."""
        self.consumption.position_set(group, tp, position, event, committed=committed)

    def group_checked(self, group: str, tps: Iterable[TopicPartition]) -> None:
        """Report the records that a group has skipped in some partitions."""
        logs = {tp: log for tp in tps if (log := self.of(tp).log) is not None}
        if logs:
            self.consumption.check(group, logs, self.polled_by_members(group))

    def process_checked(self, group: str, source: str, output: str, copies: int) -> None:
        """Report the input of a group that was processed twice, only in part, or never."""
        self.processing.check(Processing(group, source, output, copies), self.leader_logs(), self.records_in_hand(group))

    def leader_logs(self) -> dict[TopicPartition, ReplicaLog]:
        """Return the log of the newest leader of each partition."""
        return {tp: account.log for tp, account in self.partitions.items() if account.log is not None}

    def _compare_with_leader(self, tp: TopicPartition, account: PartitionAccount) -> None:
        """Compare the acknowledged or read records with the leader's log, and report lost and recovered records.

        Records that the log lacks are removed from `committed`.
        """
        log = account.log
        assert log is not None
        present = _offsets_by_term(log)
        for term, relied_on in account.observed().items():
            missing = relied_on.minus(present.get(term, OffsetSet()))
            if term in account.aborted:
                missing = missing.minus(account.aborted[term])
            before = account.lost.get(term, OffsetSet())
            if log.log_start:  # deleted on purpose; records that were lost before that stay lost
                missing = missing.minus(OffsetSet.of([(0, log.log_start)]).minus(before))
            acked, read = account.acked.get(term, OffsetSet()), account.read.get(term, OffsetSet())
            for start, end in missing.minus(before):
                caused_by = self._record_loss_cause(account, term, start, end)
                acknowledged, seen = acked.within(start, end).count(), read.within(start, end).count()
                account.lost_acknowledged += acknowledged
                account.lost_read += seen
                self.journal.emit(
                    events.RecordsLost.kind,
                    tp.topic, tp.partition, account.leader, term.epoch, start, end, account.leader_epoch, caused_by, acknowledged, seen,
                )  # fmt: skip
            for start, end in before.minus(missing):
                acknowledged, seen = acked.within(start, end).count(), read.within(start, end).count()
                account.lost_acknowledged -= acknowledged
                account.lost_read -= seen
                self.journal.emit(
                    events.RecordsRecovered.kind,
                    tp.topic, tp.partition, account.leader, term.epoch, start, end, account.leader_epoch, acknowledged, seen,
                )  # fmt: skip
            account.lost_count += missing.count() - before.count()
            if missing:
                account.note_losses().lost[term] = missing
            elif before:
                del account.note_losses().lost[term]
        for term, committed in list(account.committed.items()):
            left = committed.minus(committed.minus(present.get(term, OffsetSet())))
            if left:
                account.committed[term] = left
            else:
                del account.committed[term]
        account.committed_end = max((held.ends[-1] for held in account.committed.values()), default=0)

    def _record_loss_cause(self, account: PartitionAccount, term: Term, start: int, end: int) -> int:
        """Record which events removed newly lost records.

        Returns:
            The sequence number of the event that removed the first of them.
        """
        losses = account.note_losses()
        losses.loss_causes.append(RemovedRecords(term, start, end, account.elected_by))
        first = account.elected_by
        for gone in losses.cuts.get(account.leader, ()):
            low, high = max(gone.start, start), min(gone.end, end)
            if gone.term is term and low < high:
                losses.loss_causes.append(RemovedRecords(term, low, high, gone.event))
                if low == start:
                    first = gone.event
        return first

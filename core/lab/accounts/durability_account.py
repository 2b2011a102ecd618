"""The durability account of a cluster: which records were accepted, acknowledged, duplicated, and lost, and how long partitions were available.

The account is exact for each individual record. The account only observes the nodes: it reads all logs, but the protocol never uses
anything from the account. A record is identified by its term and its offset (`core.kafka.log.leader_term`).

The account distinguishes two levels of harm to records:

- A committed record is *exposed* while a replica that can be elected lacks it (`core.lab.accounts.exposed_records`).
- A record that was acknowledged, or that a consumer has read, is *lost* if the log of a newer leader lacks it. If a replica that kept the
  lost record becomes the leader again, the record counts as recovered.

`lost` counts each lost record once. `lost_acknowledged` counts the lost records that were acknowledged to their producer (acks 1 or all).
`lost_read` counts the lost records that a consumer has read. Both `lost_acknowledged` and `lost_read` can count the same record.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Final

from core.kafka import events
from core.kafka.clients.consumer.group_consumer import PolledRecords
from core.kafka.durability_observer import ForwardTimes, RecordObserver, Tried
from core.kafka.health import is_offline, is_under_replicated
from core.kafka.ids import NO_LEADER, TopicPartition
from core.kafka.log.leader_term import FetchedRange, Run, Term
from core.kafka.log.offset_set import OffsetSet
from core.kafka.log.replica_log import ReplicaLog
from core.kafka.messages import ProduceRequest
from core.kafka.partition_registration import PartitionRegistration
from core.lab.accounts.consumption_account import Consumption, ConsumptionAccount, visible_within
from core.lab.accounts.leader_comparison import compare_with_leader
from core.lab.accounts.losses import Loss, current_losses
from core.lab.accounts.missed_records import DELETED, REASONS, TRUNCATED, Missed, RecordsInHand
from core.lab.accounts.partition_account import PartitionAccount, RemovedRecords
from core.lab.accounts.processing_account import Processing, ProcessingAccount
from core.lab.accounts.retry_account import RetryAccount
from core.lab.accounts.service_account import ServiceAccount
from core.sim.journal import Journal


def _ignore(*_: object) -> None:
    """Do nothing, because the account has no cluster."""


def _no_members(_: str) -> tuple[RecordsInHand, ...]:
    return ()


def _nobody(_: TopicPartition, __: int) -> tuple[int, ...]:
    return ()


def _none(_: str) -> tuple[PolledRecords, ...]:
    """Return no records, because the account has no cluster."""
    return ()


class DurabilityAccount:
    """The durability account of a cluster. `core.kafka.durability_observer.DurabilityObserver` lists what nodes report to it.

    Attributes:
        partitions: the account of each partition.
        elections: the number of elections of each kind: clean, unclean, preferred, eligible, last-known.
        shrinks, expands: the number of committed ISR changes, by leader.
        exposed: the brokers that can be elected and lack committed records, by partition, as last recorded in the journal.
        check_exposure: the function to call when committed records of a partition might have become exposed or safe.
        electable_brokers_changed: the function to call when the set of electable brokers might have changed, for any partition.
        requests_may_repeat: whether a proxy can repeat requests from producers.
        processing: the account of the output of processes.
        consumption: the account of what the members of groups have processed.
        services: the account of delay services.
        retries: the account of retry services.
        records_in_hand: the function that returns the records that the running processes of a group have polled but not finished.
        polled_by_members: the function that returns the records that a group's running members have polled but not processed.
        followers_behind: the function that returns the followers whose fetches the high watermark of a partition waits for on a broker.
        record_observer: the observer of batches and reads, such as an audit or a trace; None if there is no observer.
    """

    __slots__ = (
        "_first_failures", "_pending_batches", "check_exposure", "consumption", "electable_brokers_changed", "elections", "expands", "exposed", "followers_behind", "journal",
        "partitions", "polled_by_members", "processing", "record_observer", "records_in_hand", "requests_may_repeat", "retries", "services", "shrinks",
    )  # fmt: skip

    journal: Final[Journal]
    partitions: Final[dict[TopicPartition, PartitionAccount]]
    elections: Final[dict[str, int]]
    shrinks: Final[dict[int, int]]
    expands: Final[dict[int, int]]
    exposed: Final[dict[TopicPartition, dict[int, None]]]
    processing: Final[ProcessingAccount]
    consumption: Final[ConsumptionAccount]
    services: Final[ServiceAccount]
    retries: Final[RetryAccount]
    _pending_batches: Final[dict[tuple[str, int], tuple[Term, int]]]
    _first_failures: Final[dict[tuple[str, int], int]]

    def __init__(self, journal: Journal) -> None:
        self.journal = journal
        self.partitions = {}
        self.elections = {}
        self.shrinks = {}
        self.expands = {}
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
        self.followers_behind: Callable[[TopicPartition, int], tuple[int, ...]] = _nobody
        self.record_observer: RecordObserver | None = None
        self._pending_batches = {}
        self._first_failures = {}

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
        """The number of acknowledged or read records that the current leader's log lacks. Each record counts once."""
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
    def out_of_order(self) -> int:
        """The number of records that partitions hold in another order than they were sent."""
        return sum(account.out_of_order for account in self.partitions.values())

    @property
    def duplicated(self) -> int:
        """The number of records that a leader appended again because a producer retried."""
        return sum(account.duplicated for account in self.partitions.values())

    def losses(self) -> list[Loss]:
        """Return the ranges of offsets that are lost now, each with its partition, its producer, and the event that caused the loss."""
        return current_losses(self.partitions)

    def losses_by_partition(self, tps: Iterable[TopicPartition] | None = None) -> dict[TopicPartition, list[Loss]]:
        """Return the ranges of offsets that are lost now, by partition, for the given partitions or for all."""
        chosen = self.partitions if tps is None else tps
        found: dict[TopicPartition, list[Loss]] = {}
        for loss in current_losses({tp: account for tp in chosen if (account := self.of(tp)).lost}):
            found.setdefault(loss.tp, []).append(loss)
        return found

    def missed(self, group: str) -> tuple[Missed, ...]:
        """Return the records that a group never gets, each with the reason."""
        return self.consumption.missed(group, self.leader_logs(), self.losses_by_partition(), self.polled_by_members(group))

    def consumption_counts(self, group: str) -> dict[TopicPartition, Consumption]:
        """Return the record counts for a group, by partition."""
        return self.consumption.counts(group, self.leader_logs(), self.losses_by_partition(), self.polled_by_members(group))

    def under_replicated_us(self, tp: TopicPartition) -> int:
        """Return how long a partition has been under-replicated while it had a leader, in µs."""
        account = self.of(tp)
        return account.under_total + (self.journal.now - account.under_since if account.under_since >= 0 else 0)

    def offline_us(self, tp: TopicPartition) -> int:
        """Return the total time for which a partition has had no leader, in µs."""
        account = self.of(tp)
        return account.offline_total + (self.journal.now - account.offline_since if account.offline_since >= 0 else 0)

    # --- what nodes report -----------------------------------------------------------------------------------------

    def appended(self, tp: TopicPartition, broker: int, term: Term, base: int, request: ProduceRequest, log: ReplicaLog) -> None:
        """Record that a leader appended a batch whose producer is waiting for a response. `PartitionAccount.accepted` already includes the
        records of this batch.
        """
        key = (request.producer, request.batch_id)
        first = self._pending_batches.get(key)
        if first is None:
            self._pending_batches[key] = (term, base)
            self._check_order(tp, broker, term, base, request, log)
        elif log.term_at(first[1]) is not first[0]:
            self._check_order(tp, broker, term, base, request, log)
        else:
            self.of(tp).duplicated += request.records
            failed = self._first_failures.get(key, 0)
            self.journal.emit_because(
                failed, events.RecordsDuplicated.kind, tp.topic, tp.partition, broker, request.producer, base, base + request.records
            )

    def _check_order(self, tp: TopicPartition, broker: int, term: Term, base: int, request: ProduceRequest, log: ReplicaLog) -> None:
        """Report a batch that follows a batch that its producer created later."""
        account = self.of(tp)
        newest = account.newest_batches.get(request.producer)
        if newest is None or newest[0] < request.batch_id or log.term_at(newest[2]) is not newest[1]:
            account.newest_batches[request.producer] = (request.batch_id, term, base)
            return
        account.out_of_order += request.records
        self.journal.emit(events.RecordsOutOfOrder.kind, tp.topic, tp.partition, broker, request.producer, base, base + request.records)

    def batch_closed(self, producer: str, batch_id: int, tp: TopicPartition, records: int, created: int, timestamp: int) -> None:
        """Record that a producer sends a batch for the first time, or gives up on a batch without having sent it."""
        if self.record_observer is not None:
            self.record_observer.batch_closed(producer, batch_id, tp, records, created, timestamp)

    def batch_failed(self, producer: str, batch_id: int, sent_at: int, event: int) -> None:
        """Record that an attempt to produce a batch failed. `sent_at` is -1 if the batch was never sent."""
        if (producer, batch_id) in self._pending_batches:
            self._first_failures.setdefault((producer, batch_id), event)
        if self.record_observer is not None:
            self.record_observer.batch_failed(producer, batch_id, sent_at, event)

    def acknowledged(self, tp: TopicPartition, term: Term, base: int, count: int, producer: str, batch_id: int, node: str) -> None:
        """Record that a producer received the acknowledgment for a batch from a broker."""
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
        if account.log is not None and term.epoch < account.leader_epoch:
            compare_with_leader(self.journal, tp, account)

    def consumed(self, tp: TopicPartition, records: tuple[FetchedRange, ...], consumer: str) -> None:
        """Record that a consumer received records."""
        if self.record_observer is not None:
            self.record_observer.records_consumed(consumer, tp, records)
        account = self.of(tp)
        if records and (consumer, tp) not in self.consumption.beginnings:
            self.reading_began(consumer, tp, records[0].start)
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
                compare_with_leader(self.journal, tp, account)

    def transaction_aborted(self, tp: TopicPartition, records: tuple[FetchedRange, ...]) -> None:
        """Record that a leader appended the marker that aborts some records."""
        aborted = self.of(tp).aborted
        for each in records:
            held = aborted.get(each.term)
            if held is None:
                held = aborted[each.term] = OffsetSet()
            held.add(each.start, each.end)

    def log_truncated(self, tp: TopicPartition, broker: int, before: tuple[Run, ...], old: int, leo: int, event: int) -> None:
        """Record that truncation or a power loss shortened a broker's log from the end offset `old` to `leo`. `before` is the log's former
        content.
        """
        losses = self.of(tp).note_losses()
        cuts = losses.cuts.setdefault(broker, [])
        removed = tuple(run._replace(start=max(run.start, leo)) for run in before if run.end > leo)
        cuts.extend(RemovedRecords(run.term, run.start, run.end, event) for run in removed)
        if self.record_observer is not None:
            self.record_observer.log_cut(tp, broker, removed)
        losses.shortened[broker] = max(old, losses.shortened.get(broker, 0))
        self.check_exposure(tp)

    def log_unavailable(self, tp: TopicPartition, broker: int, log: ReplicaLog) -> None:
        """Record that a broker no longer has a log, because the log directory failed or the replica was deleted."""
        shortened = self.of(tp).note_losses().shortened
        shortened[broker] = max(log.leo, shortened.get(broker, 0))
        self.check_exposure(tp)

    def log_start_moved(self, tp: TopicPartition, log: ReplicaLog, before: tuple[Run, ...], old: int, event: int) -> None:
        """Record that retention or DeleteRecords moved the start of a log from the offset `old`. `before` is the log's former content. If the
        log belongs to the newest leader, the groups that have not read the records never get them."""
        if self.of(tp).log is log:
            self._records_deleted(tp, before, old, log.log_start, event)

    def _records_deleted(self, tp: TopicPartition, before: tuple[Run, ...], start: int, end: int, event: int) -> None:
        self.consumption.records_deleted(tp, visible_within(before, start, end, self.of(tp).aborted), event)
        self._check_readers(tp)

    def _check_readers(self, tp: TopicPartition) -> None:
        """Report the records of a partition that groups never get, because they were deleted or truncated."""
        for group in self.consumption.readers(tp):
            self._check_group(group, (tp,), reasons=(DELETED, TRUNCATED))

    def leadership_ended(self, tp: TopicPartition, log: ReplicaLog) -> None:
        """Record that a leader resigned or stopped. Count the records that this leader knew to be committed."""
        account = self.of(tp)
        if account.log is log:
            account.add_committed()

    def batch_completed(self, producer: str, batch_id: int) -> None:
        """Record that a producer will not send a batch again.

        Unless a proxy repeats requests, the account no longer needs to recognize retries of the batch.
        """
        if not self.requests_may_repeat:
            self._pending_batches.pop((producer, batch_id), None)
            self._first_failures.pop((producer, batch_id), None)

    def became_leader(self, tp: TopicPartition, broker: int, leader_epoch: int, log: ReplicaLog) -> None:
        """Record that a broker became leader. From now on, the account compares records with the log of this broker, unless a newer leader
        is known."""
        account = self.of(tp)
        if account.deleted:
            account.forget_records()  # again, because records of the deleted topic were possibly acknowledged later
            account.deleted = False
        if leader_epoch >= account.leader_epoch:
            account.add_committed()
            former = account.log
            if former is not None and former is not log and former.log_start < log.log_start:
                self._records_deleted(tp, former.readable_runs(), former.log_start, log.log_start, self.journal.seq)
            account.leader, account.leader_epoch, account.log = broker, leader_epoch, log
            if self.record_observer is not None:
                self.record_observer.leader_changed(tp, log)
            if account.committed or account.acked or account.read:
                compare_with_leader(self.journal, tp, account)
                self._check_readers(tp)
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
        if not account.replicas:
            account.created_by = self.journal.cause
        account.replicas = registration.replicas
        if registration.isr != account.registered_isr:
            if not set(account.registered_isr) <= set(registration.isr):
                account.shrunk_by = self.journal.cause
            account.registered_isr = registration.isr
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
                account.elected_by, account.elected_at = self.journal.cause, now
        if account.log is not None:
            self.check_exposure(tp)

    def replicas_of(self, tp: TopicPartition) -> tuple[int, ...]:
        """Return the brokers that have a replica of a partition."""
        return self.of(tp).replicas

    def creation(self, tp: TopicPartition) -> int:
        """Return the event that created a partition; 0 if there is none."""
        return self.of(tp).created_by

    def last_election(self, tp: TopicPartition) -> tuple[int, int, int]:
        """Return the leader that the controller registered last, the event of its election, and the time of the election."""
        account = self.of(tp)
        return account.registered_leader, account.elected_by, account.elected_at

    def last_shrink(self, tp: TopicPartition) -> int:
        """Return the event that last removed a replica from the ISR of a partition; 0 if there is none."""
        return self.of(tp).shrunk_by

    def last_move(self, tp: TopicPartition) -> int:
        """Return the act that last asked for a reassignment of a partition; 0 if there is none."""
        return self.of(tp).moved_by

    def holding_back(self, tp: TopicPartition) -> tuple[int, ...]:
        """Return the followers whose fetches the high watermark of a partition waits for, as far as its newest leader knows."""
        return self.followers_behind(tp, self.of(tp).leader)

    def partition_deleted(self, tp: TopicPartition) -> None:
        """Record that the topic of a partition was deleted. After the deletion of the topic, no further records of the partition can be
        lost.
        """
        account = self.of(tp)
        if self.record_observer is not None and account.log is not None:
            self.record_observer.partition_deleted(tp, account.log)
        account.topic_deleted(self.journal.now)
        self.consumption.partition_deleted(tp)
        self.check_exposure(tp)

    def offset_committed(self, group: str, tp: TopicPartition, offset: int, event: int) -> None:
        """Record that a group coordinator committed an offset."""
        self.processing.offset_committed(group, tp, offset, event)
        self.consumption.offset_committed(group, tp, offset, event, self.of(tp).leader_epoch)

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
        self._sent_on(service, tp, end - records, end, dead=False)

    def records_dead_lettered(self, service: str, tp: TopicPartition, start: int, end: int) -> None:
        """Record that a worker of a delay service sent records to the dead-letter topic, and that the broker has acknowledged them."""
        self._sent_on(service, tp, start, end, dead=True)

    def _sent_on(self, service: str, tp: TopicPartition, start: int, end: int, *, dead: bool) -> None:
        """Tell the observer which records a service sent on. If an offset was read in several terms, report the record of the newest
        term."""
        if self.record_observer is None:
            return
        missing = OffsetSet.of([(start, end)])
        for term, read in sorted(self.of(tp).read.items(), key=lambda each: each[0].epoch, reverse=True):
            for low, high in missing.common(read):
                self.record_observer.records_sent_on(service, tp, FetchedRange(low, high, term, 0), dead=dead)
            missing = missing.minus(read)

    def records_tried(self, service: str, number: int, records: int, failed: bool) -> None:
        """Record that a worker of a retry service tried records."""
        self.retries.records_tried(service, number, records, failed)

    def records_done(self, service: str, tried: Tried) -> None:
        """Record that a worker of a retry service has finished with records."""
        self.retries.records_done(service, tried)

    def retries_checked(self, service: str, group: str, source: str) -> None:
        """Report the records that a worker of a retry service has dropped."""
        in_hand = self.records_in_hand(group)
        logs = self.leader_logs()
        for (owner, tp), commits in self.processing.commits.items():
            if owner == group and tp.topic == source and tp in logs:
                self.retries.check(service, group, tp, commits, logs, self.processing.visible(tp, logs[tp]), in_hand)

    def position_set(self, group: str, tp: TopicPartition, position: int, event: int, *, committed: bool) -> None:
        """Record the position from which a member will read a partition. If auto.offset.reset gave the position, report the records below it
        that the group never gets."""
        epoch, partitions = self.of(tp).leader_epoch, self._partitions_of(tp.topic)
        self.consumption.position_set(group, tp, position, event, committed=committed, epoch=epoch, partitions=partitions)
        if not committed:
            self._check_group(group, (tp,), below=position)

    def reading_began(self, consumer: str, tp: TopicPartition, position: int) -> None:
        """Record that a consumer got a position in a partition. The first such position is where the consumer begins."""
        self.consumption.reading_began(consumer, tp, position, self._partitions_of(tp.topic))

    def _partitions_of(self, topic: str) -> Iterable[int]:
        return (each.partition for each in self.partitions if each.topic == topic)

    def group_checked(self, group: str, tps: Iterable[TopicPartition], below: int | None = None) -> None:
        """Report the records that a group has skipped in some partitions; if `below` is given, report only the records at offsets below it."""
        self._check_group(group, tps, below=below)

    def _check_group(
        self, group: str, tps: Iterable[TopicPartition], *, below: int | None = None, reasons: tuple[str, ...] = REASONS
    ) -> None:
        logs = {tp: log for tp in tps if (log := self.of(tp).log) is not None}
        if logs:
            self.consumption.check(group, logs, self.losses_by_partition(logs), self.polled_by_members(group), below, reasons)

    def process_checked(self, group: str, source: str, output: str, copies: int, other_outputs: tuple[str, ...] = ()) -> None:
        """Report which input of a group was processed twice, only in part, or never."""
        self.processing.check(Processing(group, source, output, copies, other_outputs), self.leader_logs(), self.records_in_hand(group))

    def leader_logs(self) -> dict[TopicPartition, ReplicaLog]:
        """Return the log of the newest leader of each partition."""
        return {tp: account.log for tp, account in self.partitions.items() if account.log is not None}

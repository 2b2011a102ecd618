"""The durability account: of every record, exactly, whether it was accepted, acknowledged, duplicated, lost; and when partitions were up.

An observer beside the nodes: it sees all logs, and nothing it knows flows back into the protocol. A record is known by its
term and offset (`core.log.term`). An acknowledged record is *lost* from the moment a newer leader's log lacks it: from
then on the committed history goes on without it. Should a replica that kept it lead again, it is counted as recovered.
"""

from __future__ import annotations

import attrs

from core.controller.registration import PartitionRegistration
from core.ids import NO_LEADER, TopicPartition
from core.intervals import Intervals
from core.journal import events
from core.journal.recorder import Journal
from core.log.replica_log import ReplicaLog
from core.log.term import Term
from core.messages import ProduceRequest


@attrs.define(slots=True, eq=False)
class PartitionAccount:
    """One partition's account; counts of records, times in µs.

    Attributes:
        accepted: records appended by a leader.
        acked, lost: offsets by term.
        acked_count, lost_count, duplicated: totals.
        leader, leader_epoch, log: the newest leadership seen, and the log that counts.
        under_since, offline_since: when the present bad state began, -1 if it is not in it; with the totals before that.
    """

    accepted: int = 0
    acked: dict[Term, Intervals] = attrs.field(factory=dict)
    lost: dict[Term, Intervals] = attrs.field(factory=dict)
    acked_count: int = 0
    lost_count: int = 0
    duplicated: int = 0
    leader: int = NO_LEADER
    leader_epoch: int = -1
    log: ReplicaLog | None = None
    under_since: int = -1
    under_total: int = 0
    offline_since: int = -1
    offline_total: int = 0


class Account:
    """The account of a cluster.

    Attributes:
        partitions: by partition.
        elections: how many of each kind: clean, unclean, preferred, eligible, last-known.
        shrinks, expands: ISR changes committed for a leader, by broker.
        latencies: acknowledged batches by (topic, acks): produce latency in µs, in order of acknowledgement.
    """

    def __init__(self, journal: Journal) -> None:
        self.journal = journal
        self.partitions: dict[TopicPartition, PartitionAccount] = {}
        self.elections: dict[str, int] = {}
        self.shrinks: dict[int, int] = {}
        self.expands: dict[int, int] = {}
        self.latencies: dict[tuple[str, int], list[int]] = {}
        self._open: dict[tuple[str, int], tuple[Term, int]] = {}

    def of(self, tp: TopicPartition) -> PartitionAccount:
        """One partition's account."""
        account = self.partitions.get(tp)
        if account is None:
            account = self.partitions[tp] = PartitionAccount()
        return account

    # --- totals ----------------------------------------------------------------------------------------------------

    @property
    def accepted(self) -> int:
        """Records appended by leaders."""
        return sum(account.accepted for account in self.partitions.values())

    @property
    def acked(self) -> int:
        """Records acknowledged to producers."""
        return sum(account.acked_count for account in self.partitions.values())

    @property
    def lost(self) -> int:
        """Acknowledged records that the log that counts lacks now."""
        return sum(account.lost_count for account in self.partitions.values())

    @property
    def duplicated(self) -> int:
        """Records appended again by a retry."""
        return sum(account.duplicated for account in self.partitions.values())

    def under_replicated_us(self, tp: TopicPartition) -> int:
        """How long a partition has been under-replicated with a leader, until now, µs."""
        account = self.of(tp)
        return account.under_total + (self.journal.now - account.under_since if account.under_since >= 0 else 0)

    def offline_us(self, tp: TopicPartition) -> int:
        """How long a partition has been without a leader, until now, µs."""
        account = self.of(tp)
        return account.offline_total + (self.journal.now - account.offline_since if account.offline_since >= 0 else 0)

    # --- what nodes report -----------------------------------------------------------------------------------------

    def appended(self, tp: TopicPartition, broker: int, term: Term, base: int, request: ProduceRequest, log: ReplicaLog) -> None:
        """A leader appended a batch."""
        account = self.of(tp)
        account.accepted += request.records
        if request.acks == 0:
            return
        key = (request.producer, request.batch_id)
        first = self._open.get(key)
        if first is None:
            self._open[key] = (term, base)
        elif log.term_at(first[1]) is first[0]:
            account.duplicated += request.records
            self.journal.emit(events.RecordsDuplicated.kind, tp.topic, tp.partition, broker, request.producer, base, base + request.records)

    def acknowledged(self, tp: TopicPartition, acks: int, term: Term, base: int, count: int, latency: int) -> None:
        """A producer was told that a batch is in."""
        account = self.of(tp)
        held = account.acked.get(term)
        if held is None:
            held = account.acked[term] = Intervals()
        held.add(base, base + count)
        account.acked_count += count
        self.latencies.setdefault((tp.topic, acks), []).append(latency)
        if account.log is not None and term.epoch < account.leader_epoch:
            self._compare(tp, account)

    def settled(self, producer: str, batch_id: int) -> None:
        """A producer will not send a batch again."""
        self._open.pop((producer, batch_id), None)

    def became_leader(self, tp: TopicPartition, broker: int, leader_epoch: int, log: ReplicaLog) -> None:
        """A broker leads: its log is what counts, unless a newer leader is known."""
        account = self.of(tp)
        if leader_epoch >= account.leader_epoch:
            account.leader, account.leader_epoch, account.log = broker, leader_epoch, log
            self._compare(tp, account)

    def following(self, tp: TopicPartition, broker: int, log: ReplicaLog, leader: int) -> None:
        """A follower takes its first answer from a leader: by now its log should be a prefix of the leader's."""
        account = self.of(tp)
        if account.log is None or account.leader != leader or account.log is log:
            return
        for start, end in log.differences(account.log):
            self.journal.emit(events.RecordsDiverged.kind, tp.topic, tp.partition, broker, leader, start, end)

    def leader_elected(self, election: str) -> None:
        """The controller elected a leader."""
        self.elections[election] = self.elections.get(election, 0) + 1

    def isr_changed(self, broker: int, old: tuple[int, ...], new: tuple[int, ...]) -> None:
        """A leader's ISR proposal was committed."""
        if len(new) < len(old):
            self.shrinks[broker] = self.shrinks.get(broker, 0) + 1
        elif len(new) > len(old):
            self.expands[broker] = self.expands.get(broker, 0) + 1

    def partition_changed(self, tp: TopicPartition, registration: PartitionRegistration) -> None:
        """The controller committed a partition's state."""
        account, now = self.of(tp), self.journal.now
        under = registration.leader != NO_LEADER and len(registration.isr) < len(registration.replicas) - len(registration.adding)
        if under and account.under_since < 0:
            account.under_since = now
        elif not under and account.under_since >= 0:
            account.under_total += now - account.under_since
            account.under_since = -1
        offline = registration.leader == NO_LEADER
        if offline and account.offline_since < 0:
            account.offline_since = now
        elif not offline and account.offline_since >= 0:
            account.offline_total += now - account.offline_since
            account.offline_since = -1

    def _compare(self, tp: TopicPartition, account: PartitionAccount) -> None:
        """Hold what was acknowledged against the log that counts."""
        log = account.log
        assert log is not None
        present: dict[Term, Intervals] = {}
        for run in log.runs():
            present.setdefault(run.term, Intervals()).add(run.start, run.end)
        for term, acked in account.acked.items():
            missing = acked.minus(present.get(term, Intervals()))
            if log.log_start:
                missing = missing.minus(Intervals.of([(0, log.log_start)]))
            before = account.lost.get(term, Intervals())
            for kind, intervals in (
                (events.RecordsLost.kind, missing.minus(before)),
                (events.RecordsRecovered.kind, before.minus(missing)),
            ):
                for start, end in intervals:
                    self.journal.emit(kind, tp.topic, tp.partition, account.leader, term.epoch, start, end, account.leader_epoch)
            account.lost_count += missing.count() - before.count()
            if missing:
                account.lost[term] = missing
            else:
                account.lost.pop(term, None)

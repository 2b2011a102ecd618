"""The durability account: of every record, exactly, whether it was accepted, acknowledged, duplicated, lost; and when partitions were up.

An observer beside the nodes: it sees all logs, and nothing it knows flows back into the protocol. A record is known by its
term and offset (`core.kafka.log.term`). DurabilityReport has two grades. A committed record is *exposed* while a replica that may be elected
lacks it (`core.lab.exposure`). A record that was acknowledged, or that a consumer has read, is *lost* from the moment a
newer leader's log lacks it: from then on the history goes on without it. Should a replica that kept it lead again, it is
counted as recovered. `lost` counts each such record once. `lost_acknowledged` counts those that were acknowledged to their
producer (acks 1 or all), `lost_read` those that a consumer has read, acknowledged or not; a record can be in both.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Mapping
from typing import Final, NamedTuple

import attrs

from core.kafka import events
from core.kafka.health import is_offline, is_under_replicated
from core.kafka.ids import NO_LEADER, TopicPartition
from core.kafka.log.intervals import Intervals
from core.kafka.log.replica_log import ReplicaLog
from core.kafka.log.term import Run, Stretch, Term
from core.kafka.messages import ProduceRequest
from core.kafka.registration import PartitionRegistration
from core.sim.growing import Growing
from core.sim.journal import Journal


class RemovedRecords(NamedTuple):
    """Offsets [start, end) of a term, and the seq of the event that took them."""

    term: Term
    start: int
    end: int
    event: int


class Loss(NamedTuple):
    """Lost offsets [start, end) of one producer, written in leader epoch `epoch`.

    `acknowledged` says whether they were acknowledged to that producer, `read` whether a consumer has read them.

    `event` is the seq of the event that doomed them: the truncation or the power loss that took them from the log of the
    leader that went on without them, or, where that log never had them, the election that made it leader.
    """

    tp: TopicPartition
    producer: str
    epoch: int
    start: int
    end: int
    acknowledged: bool
    read: bool
    event: int


def _nobody_looks(*_: object) -> None:
    """An account without a cluster around it."""


@attrs.define(slots=True, eq=False)
class Losses:
    """What one partition has lost, or may have.

    Attributes:
        lost: offsets that somebody relies on and the log that counts lacks, by term.
        cuts: what a broker's log has lost by truncation or power loss.
        shortened: brokers whose logs were cut, each with the end it had had: until it is as long again, a leader may take it for longer.
        dooms: what took the records that were lost when a leader was compared, newest last.
    """

    lost: Final[dict[Term, Intervals]] = attrs.field(factory=dict)
    cuts: Final[dict[int, list[RemovedRecords]]] = attrs.field(factory=dict)
    shortened: Final[dict[int, int]] = attrs.field(factory=dict)
    dooms: Final[list[RemovedRecords]] = attrs.field(factory=list)


@attrs.define(slots=True, eq=False)
class PartitionAccount:
    """One partition's account; counts of records, times in µs.

    Attributes:
        accepted: records appended by a leader.
        acked, read, committed: offsets by term; `committed` of the history that counts, as far as it was `fold`ed in.
        committed_end: where `committed` ends.
        losses: None as long as nothing of it was cut, or out of reach, or found missing.
        elected_by: seq of the event of the newest election.
        acked_count, lost_count, lost_acknowledged, lost_read, duplicated: totals.
        leader, leader_epoch, log: the newest leadership seen, and the log that counts.
        under_since, offline_since: when the present bad state began, -1 if it is not in it; with the totals before that.
    """

    accepted: int = 0
    acked: Final[dict[Term, Intervals]] = attrs.field(factory=dict)
    read: Final[dict[Term, Intervals]] = attrs.field(factory=dict)
    committed: Final[dict[Term, Intervals]] = attrs.field(factory=dict)
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
    def lost(self) -> Mapping[Term, Intervals]:
        """Offsets that somebody relies on and the log that counts lacks, by term."""
        return {} if self.losses is None else self.losses.lost

    @property
    def shortened(self) -> Mapping[int, int]:
        """`Losses.shortened`."""
        return {} if self.losses is None else self.losses.shortened

    def note_losses(self) -> Losses:
        """Where to note what is lost, or may be."""
        if self.losses is None:
            self.losses = Losses()
        return self.losses

    def fold(self) -> None:
        """Take in what is committed by now: the leader's log below its high watermark."""
        log = self.log
        if log is None or log.high_watermark <= log.log_start:
            return
        for run in log.runs():
            if run.start >= log.high_watermark:
                break
            held = self.committed.get(run.term)
            if held is None:
                held = self.committed[run.term] = Intervals()
            held.add(run.start, min(run.end, log.high_watermark))
        self.committed_end = max(self.committed_end, log.high_watermark)

    def seen(self) -> dict[Term, Intervals]:
        """What somebody outside relies on: acknowledged or read."""
        both = dict(self.acked)
        for term, read in self.read.items():
            acked = both.get(term)
            both[term] = read if acked is None else acked.union(read)
        return both

    def has_all(self, log: ReplicaLog | None) -> bool:
        """Whether a log that is like the one that counts holds all that is committed; False: it has to be looked at."""
        mine = self.log
        if mine is log:
            return mine is not None
        if mine is None or log is None or log.leo < self.committed_end:
            return False
        return log.starts == mine.starts and log.terms == mine.terms

    def lacks(self, log: ReplicaLog | None) -> dict[Term, Intervals]:
        """The committed records that a log does not hold; what retention has removed is not missed."""
        mine = self.log
        if mine is None or not self.committed or self.has_all(log):
            return {}
        start = max(mine.log_start, 0 if log is None else log.log_start)
        present = {} if log is None else _present(log)
        found: dict[Term, Intervals] = {}
        for term, committed in self.committed.items():
            missing = committed.minus(present.get(term, Intervals()))
            if start:
                missing = missing.minus(Intervals.of([(0, start)]))
            if missing:
                found[term] = missing
        return found


def _present(log: ReplicaLog) -> dict[Term, Intervals]:
    present: dict[Term, Intervals] = {}
    for run in log.runs():
        present.setdefault(run.term, Intervals()).add(run.start, run.end)
    return present


class DurabilityAccount:
    """The account of a cluster.

    Attributes:
        partitions: by partition.
        elections: how many of each kind: clean, unclean, preferred, eligible, last-known.
        shrinks, expands: ISR changes committed for a leader, by broker.
        latencies: acknowledged batches by (topic, acks): produce latency in µs, in order of acknowledgement.
        exposed: brokers that may be elected and lack committed records, by partition, as last told in the journal.
        look: called when a partition's committed records may have become exposed, or safe.
        electable_changed: called when other brokers than before may be elected, for whatever partition.
    """

    __slots__ = (
        "_open", "electable_changed", "elections", "expands", "exposed", "journal", "latencies", "look", "partitions", "repeats", "shrinks",
    )  # fmt: skip

    journal: Final[Journal]
    partitions: Final[dict[TopicPartition, PartitionAccount]]
    elections: Final[dict[str, int]]
    shrinks: Final[dict[int, int]]
    expands: Final[dict[int, int]]
    latencies: Final[dict[tuple[str, int], Growing[int]]]
    exposed: Final[dict[TopicPartition, dict[int, None]]]
    _open: Final[dict[tuple[str, int], tuple[Term, int]]]

    def __init__(self, journal: Journal) -> None:
        self.journal = journal
        self.partitions = {}
        self.elections = {}
        self.shrinks = {}
        self.expands = {}
        self.latencies = {}
        self.exposed = {}
        self.look: Callable[[TopicPartition], None] = _nobody_looks
        self.electable_changed: Callable[[], None] = _nobody_looks
        self.repeats = False
        self._open = {}

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
        """Records acknowledged or read that the log that counts lacks now, each once."""
        return sum(account.lost_count for account in self.partitions.values())

    @property
    def lost_acknowledged(self) -> int:
        """Those of them that were acknowledged to their producer."""
        return sum(account.lost_acknowledged for account in self.partitions.values())

    @property
    def lost_read(self) -> int:
        """Those of them that a consumer has read, acknowledged or not."""
        return sum(account.lost_read for account in self.partitions.values())

    @property
    def duplicated(self) -> int:
        """Records appended again by a retry."""
        return sum(account.duplicated for account in self.partitions.values())

    def losses(self) -> list[Loss]:
        """What is lost now, by producer and batch, with the event that doomed it; in order of partition and offset."""
        found: list[Loss] = []
        for tp, account in self.partitions.items():
            for term, lost in sorted(account.lost.items(), key=lambda each: (each[0].epoch, each[0].leader)):
                acked, read = account.acked.get(term, Intervals()), account.read.get(term, Intervals())
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
            for doom in () if account.losses is None else account.losses.dooms:
                if doom.term is term and doom.start <= at < doom.end:
                    event, until = doom.event, min(stop, doom.end)
            last = found[-1] if found else None
            if last is not None and last.end == at and last.producer == batch.producer and last.event == event:
                found[-1] = last._replace(end=until)
            else:
                found.append(Loss(tp, batch.producer, term.epoch, at, until, acknowledged, read, event))
            at = until
            i += at >= term.ends[i]
        return found

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
        """A leader appended a batch whose producer waits for an answer (its records count as accepted already)."""
        key = (request.producer, request.batch_id)
        first = self._open.get(key)
        if first is None:
            self._open[key] = (term, base)
        elif log.term_at(first[1]) is first[0]:
            self.of(tp).duplicated += request.records
            self.journal.emit(events.RecordsDuplicated.kind, tp.topic, tp.partition, broker, request.producer, base, base + request.records)

    def acknowledged(self, tp: TopicPartition, acks: int, term: Term, base: int, count: int, latency: int) -> None:
        """A producer was told that a batch is in."""
        account = self.of(tp)
        held = account.acked.get(term)
        if held is None:
            held = account.acked[term] = Intervals()
        if term in account.lost:
            for start, end in account.lost[term].within(base, base + count).minus(held):
                account.lost_acknowledged += end - start
                self.journal.emit(events.LostRecordsSeen.kind, tp.topic, tp.partition, term.epoch, start, end, end - start, 0)
        held.add(base, base + count)
        account.acked_count += count
        self.latencies.setdefault((tp.topic, acks), Growing()).append(latency)
        if account.log is not None and term.epoch < account.leader_epoch:
            self._compare(tp, account)

    def consumed(self, tp: TopicPartition, stretches: tuple[Stretch, ...]) -> None:
        """A consumer was given records."""
        account = self.of(tp)
        for stretch in stretches:
            held = account.read.get(stretch.term)
            if held is None:
                held = account.read[stretch.term] = Intervals()
            if stretch.term in account.lost:
                for start, end in account.lost[stretch.term].within(stretch.start, stretch.end).minus(held):
                    account.lost_read += end - start
                    self.journal.emit(events.LostRecordsSeen.kind, tp.topic, tp.partition, stretch.term.epoch, start, end, 0, end - start)
            held.add(stretch.start, stretch.end)
            log = account.log
            if log is not None and not log.term_at(stretch.start) is log.term_at(stretch.end - 1) is stretch.term:
                self._compare(tp, account)

    def cut(self, tp: TopicPartition, broker: int, before: tuple[Run, ...], old: int, leo: int, event: int) -> None:
        """A broker's log was cut from an old end to a new one by truncation or power loss; `before` is what it held."""
        losses = self.of(tp).note_losses()
        cuts = losses.cuts.setdefault(broker, [])
        cuts.extend(RemovedRecords(run.term, max(run.start, leo), run.end, event) for run in before if run.end > leo)
        losses.shortened[broker] = max(old, losses.shortened.get(broker, 0))
        self.look(tp)

    def out_of_reach(self, tp: TopicPartition, broker: int, log: ReplicaLog) -> None:
        """A broker's log is gone: its directory failed, or the replica was deleted."""
        shortened = self.of(tp).note_losses().shortened
        shortened[broker] = max(log.leo, shortened.get(broker, 0))
        self.look(tp)

    def leadership_ends(self, tp: TopicPartition, log: ReplicaLog) -> None:
        """A leader steps down or dies: what it knows to be committed is kept in mind."""
        account = self.of(tp)
        if account.log is log:
            account.fold()

    def settled(self, producer: str, batch_id: int) -> None:
        """A producer will not send a batch again; nobody will, unless a proxy repeats requests."""
        if not self.repeats:
            self._open.pop((producer, batch_id), None)

    def became_leader(self, tp: TopicPartition, broker: int, leader_epoch: int, log: ReplicaLog) -> None:
        """A broker leads: its log is what counts, unless a newer leader is known."""
        account = self.of(tp)
        if leader_epoch >= account.leader_epoch:
            account.fold()
            account.leader, account.leader_epoch, account.log = broker, leader_epoch, log
            if account.committed or account.acked or account.read:
                self._compare(tp, account)
            elif not leader_epoch:
                return
            self.look(tp)

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
            self.look(tp)

    def _compare(self, tp: TopicPartition, account: PartitionAccount) -> None:
        """Hold what was acknowledged or read against the log that counts; what that log lacks is no more part of the committed history."""
        log = account.log
        assert log is not None
        present = _present(log)
        for term, relied_on in account.seen().items():
            missing = relied_on.minus(present.get(term, Intervals()))
            before = account.lost.get(term, Intervals())
            if log.log_start:  # deleted on purpose; what was lost before that stays lost
                missing = missing.minus(Intervals.of([(0, log.log_start)]).minus(before))
            acked, read = account.acked.get(term, Intervals()), account.read.get(term, Intervals())
            for start, end in missing.minus(before):
                doomed_by = self._doom(account, term, start, end)
                acknowledged, seen = acked.within(start, end).count(), read.within(start, end).count()
                account.lost_acknowledged += acknowledged
                account.lost_read += seen
                self.journal.emit(
                    events.RecordsLost.kind,
                    tp.topic, tp.partition, account.leader, term.epoch, start, end, account.leader_epoch, doomed_by, acknowledged, seen,
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
            left = committed.minus(committed.minus(present.get(term, Intervals())))
            if left:
                account.committed[term] = left
            else:
                del account.committed[term]
        account.committed_end = max((held.ends[-1] for held in account.committed.values()), default=0)

    def _doom(self, account: PartitionAccount, term: Term, start: int, end: int) -> int:
        """Find, and note, what took newly lost records; returns the event that took the first of them."""
        losses = account.note_losses()
        losses.dooms.append(RemovedRecords(term, start, end, account.elected_by))
        first = account.elected_by
        for gone in losses.cuts.get(account.leader, ()):
            low, high = max(gone.start, start), min(gone.end, end)
            if gone.term is term and low < high:
                losses.dooms.append(RemovedRecords(term, low, high, gone.event))
                if low == start:
                    first = gone.event
        return first

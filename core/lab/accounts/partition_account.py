"""The durability account of one partition: what was acknowledged, read, committed, and lost, and how long the partition was available."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final, NamedTuple

import attrs

from core.kafka.ids import NO_LEADER
from core.kafka.log.leader_term import Term
from core.kafka.log.offset_set import OffsetSet
from core.kafka.log.replica_log import ReplicaLog


class RemovedRecords(NamedTuple):
    """The offsets [start, end) in a term, and the sequence number of the event that removed them from a log."""

    term: Term
    start: int
    end: int
    event: int


@attrs.define(slots=True, eq=False)
class Losses:
    """The records that one partition has lost or might have lost.

    Attributes:
        lost: the offsets that were acknowledged or read but are not in the leader's log, by term.
        cuts: the records that truncation or power loss removed from each broker's log.
        shortened: the former log end of each broker whose log was cut. Until a log reaches its former end again, a leader can overestimate
            the length of the log.
        loss_causes: ranges of lost records, each with the event that removed them, as found by comparisons with a leader's log; the newest
            range is last.
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
        read: the offsets of the records that a consumer has read, by term.
        lost: the lost offsets, by term.
        aborted: the offsets of the records of aborted transactions, by term. These records never count as lost, because no consumer needs
            them.
        committed: the committed offsets, by term, as of the last `add_committed`. Offsets that a later leader's log lacks are left out.
        committed_end: the offset after the last offset in `committed`.
        losses: the records that the partition has lost or might have lost; None if there are none.
        newest_batches: by producer, the appended batch that the producer created last, as (batch ID, term, first offset).
        out_of_order: the number of records that were appended after records that their producer sent later.
        replicas: the brokers that have a replica.
        created_by: the sequence number of the event that created the partition.
        registered_isr: the ISR that the controller has registered.
        shrunk_by: the sequence number of the event that last removed a replica from the ISR; 0 before the first.
        registered_leader: the leader that the controller has registered.
        elected_by, elected_at: the sequence number of the last election event, and its time; 0 before the first.
        moved_by: the sequence number of the act that last asked for a reassignment; 0 before the first.
        acked_count, lost_count, lost_acknowledged, lost_read, duplicated: the total numbers of records that were acknowledged, lost, lost
            after the acknowledgment, lost after a consumer read them, and duplicated.
        leader: the newest leader that has started to lead.
        leader_epoch: the leader epoch of `leader`.
        log: the log of `leader`.
        under_since: the time at which the partition became under-replicated; -1 if it is not under-replicated.
        under_total: the total time for which the partition was under-replicated before `under_since`.
        offline_since: the time at which the partition last lost its leader; -1 if it has a leader.
        offline_total: the total time for which the partition had no leader before `offline_since`.
        deleted: whether the partition's topic was deleted, and no broker has led the partition of a new topic of this name since then.
    """

    accepted: int = 0
    acked: Final[dict[Term, OffsetSet]] = attrs.field(factory=dict)
    read: Final[dict[Term, OffsetSet]] = attrs.field(factory=dict)
    aborted: Final[dict[Term, OffsetSet]] = attrs.field(factory=dict)
    committed: Final[dict[Term, OffsetSet]] = attrs.field(factory=dict)
    committed_end: int = 0
    losses: Losses | None = None
    replicas: tuple[int, ...] = ()
    created_by: int = 0
    registered_isr: tuple[int, ...] = ()
    shrunk_by: int = 0
    registered_leader: int = NO_LEADER
    elected_by: int = 0
    elected_at: int = 0
    moved_by: int = 0
    acked_count: int = 0
    lost_count: int = 0
    lost_acknowledged: int = 0
    lost_read: int = 0
    duplicated: int = 0
    newest_batches: Final[dict[str, tuple[int, Term, int]]] = attrs.field(factory=dict)
    out_of_order: int = 0
    leader: int = NO_LEADER
    leader_epoch: int = -1
    log: ReplicaLog | None = None
    under_since: int = -1
    under_total: int = 0
    offline_since: int = -1
    offline_total: int = 0
    deleted: bool = False

    def forget_records(self) -> None:
        """Because the partition's topic was deleted, forget its records that are not lost. The totals do not change."""
        lost = self.lost
        for held in (self.acked, self.read):
            for term, offsets in list(held.items()):
                if term in lost:
                    held[term] = offsets.common(lost[term])
                else:
                    del held[term]
        self.aborted.clear()
        self.committed.clear()
        self.newest_batches.clear()
        self.committed_end = 0
        if self.losses is not None:
            self.losses.cuts.clear()
            self.losses.shortened.clear()

    def topic_deleted(self, now: int) -> None:
        """Forget everything except the losses and the totals, because the partition's topic was deleted at the time `now`."""
        self.forget_records()
        if self.under_since >= 0:
            self.under_total += now - self.under_since
        if self.offline_since >= 0:
            self.offline_total += now - self.offline_since
        self.under_since = self.offline_since = -1
        self.registered_leader, self.leader, self.leader_epoch, self.log, self.deleted = NO_LEADER, NO_LEADER, -1, None, True

    @property
    def lost(self) -> Mapping[Term, OffsetSet]:
        """The offsets that were acknowledged or read but are not in the leader's log, by term."""
        return {} if self.losses is None else self.losses.lost

    @property
    def shortened(self) -> Mapping[int, int]:
        """The former log end offsets of brokers whose logs were cut (`Losses.shortened`)."""
        return {} if self.losses is None else self.losses.shortened

    def note_losses(self) -> Losses:
        """Return the losses of the partition. If there is no `Losses` object yet, create it."""
        if self.losses is None:
            self.losses = Losses()
        return self.losses

    def add_committed(self) -> None:
        """Add the records that are committed now, which are the records below the high watermark in the leader's log."""
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
        """Return the offsets, by term, of the records that clients know, because they were acknowledged or read."""
        both = dict(self.acked)
        for term, read in self.read.items():
            acked = both.get(term)
            both[term] = read if acked is None else acked.union(read)
        return both

    def holds_all_committed(self, log: ReplicaLog | None) -> bool:
        """Return whether a log equals the leader's log and therefore holds all committed records.

        If the result is False, the log might still hold all committed records; only a comparison can tell.
        """
        mine = self.log
        if mine is log:
            return mine is not None
        if mine is None or log is None or log.leo < self.committed_end:
            return False
        return log.records.starts == mine.records.starts and log.records.terms == mine.records.terms

    def missing_from(self, log: ReplicaLog | None) -> dict[Term, OffsetSet]:
        """Return the committed offsets that a log lacks, by term. Records that retention has deleted do not count."""
        mine = self.log
        if mine is None or not self.committed or self.holds_all_committed(log):
            return {}
        start = max(mine.log_start, 0 if log is None else log.log_start)
        present = {} if log is None else offsets_by_term(log)
        found: dict[Term, OffsetSet] = {}
        for term, committed in self.committed.items():
            missing = committed.minus(present.get(term, OffsetSet()))
            if start:
                missing = missing.minus(OffsetSet.of([(0, start)]))
            if missing:
                found[term] = missing
        return found


def offsets_by_term(log: ReplicaLog) -> dict[Term, OffsetSet]:
    """Return the offsets in a log, by term."""
    present: dict[Term, OffsetSet] = {}
    for run in log.runs():
        present.setdefault(run.term, OffsetSet()).add(run.start, run.end)
    return present

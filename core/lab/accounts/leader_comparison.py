"""The comparison that finds lost and recovered records: it compares observed records with the leader's log."""

from __future__ import annotations

from core.kafka import events
from core.kafka.ids import TopicPartition
from core.kafka.log.leader_term import Term
from core.kafka.log.offset_set import OffsetSet
from core.lab.accounts.partition_account import PartitionAccount, RemovedRecords, offsets_by_term
from core.sim.journal import Journal


def compare_with_leader(journal: Journal, tp: TopicPartition, account: PartitionAccount) -> None:
    """Compare the acknowledged or read records with the leader's log, and report lost and recovered records.

    Records that the leader's log lacks are removed from `account.committed`.
    """
    log = account.log
    assert log is not None
    present = offsets_by_term(log)
    for term, relied_on in account.observed().items():
        missing = relied_on.minus(present.get(term, OffsetSet()))
        if term in account.aborted:
            missing = missing.minus(account.aborted[term])
        before = account.lost.get(term, OffsetSet())
        if log.log_start:  # deleted on purpose; records that were lost before that stay lost
            missing = missing.minus(OffsetSet.of([(0, log.log_start)]).minus(before))
        acked, read = account.acked.get(term, OffsetSet()), account.read.get(term, OffsetSet())
        for start, end in missing.minus(before):
            caused_by = _record_loss_cause(account, term, start, end)
            acknowledged, seen = acked.within(start, end).count(), read.within(start, end).count()
            account.lost_acknowledged += acknowledged
            account.lost_read += seen
            journal.emit_because(
                caused_by, events.RecordsLost.kind,
                tp.topic, tp.partition, account.leader, term.epoch, start, end, account.leader_epoch, caused_by, acknowledged, seen,
            )  # fmt: skip
        for start, end in before.minus(missing):
            acknowledged, seen = acked.within(start, end).count(), read.within(start, end).count()
            account.lost_acknowledged -= acknowledged
            account.lost_read -= seen
            journal.emit(
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


def _record_loss_cause(account: PartitionAccount, term: Term, start: int, end: int) -> int:
    """Record which events removed the newly lost records.

    Returns:
        The sequence number of the event that removed the first of the newly lost records.
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

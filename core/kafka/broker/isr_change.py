"""A change of a partition's ISR on its way: proposed by the leader, then committed or refused by the controller.

Kafka: `PendingPartitionChange`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from core.kafka import errors, events
from core.kafka.broker.delayed_produce import complete_delayed_produce
from core.kafka.controller.registration import PartitionRegistration
from core.kafka.messages import AlterPartitionItem

if TYPE_CHECKING:
    from core.kafka.broker.partition import Partition

EXPAND: Final = "expand"
"""A pending ISR change that adds a follower."""

SHRINK: Final = "shrink"
"""A pending ISR change that drops followers."""

_STAY_PENDING: Final = frozenset(
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

_REVERT: Final = frozenset({errors.OPERATION_NOT_ATTEMPTED, errors.INELIGIBLE_REPLICA})
"""Answers after which the leader goes back to the committed ISR."""


def submit(partition: Partition, isr: tuple[int, ...]) -> None:
    """Propose an ISR to the controller (`Partition#submitAlterPartition`); one that cannot be taken is proposed no more."""
    broker, remotes = partition.broker, partition.remotes
    broker_epochs = tuple(broker.broker_epoch if b == broker.id else remotes[b].broker_epoch if b in remotes else -1 for b in isr)
    item = AlterPartitionItem(partition.tp, partition.leader_epoch, partition.partition_epoch, isr, broker_epochs, broker.journal.seq)
    partition.proposal = item
    if not broker.alter_partition.submit(item):
        _revert(partition)


def _revert(partition: Partition) -> None:
    partition.pending = ""
    partition.maximal_isr = partition.isr


def _stands(partition: Partition, item: AlterPartitionItem) -> bool:
    """Whether an answer is to the change that is pending, not to one that new metadata have overtaken (`#submitAlterPartition`)."""
    return bool(partition.pending) and item is partition.proposal


def alter_partition_succeeded(partition: Partition, item: AlterPartitionItem, registration: PartitionRegistration) -> None:
    """The controller committed a proposal (`Partition#handleAlterPartitionUpdate`); stale answers are ignored."""
    if not partition.is_leader or registration.leader_epoch != partition.leader_epoch:
        return
    if registration.partition_epoch < partition.partition_epoch or not _stands(partition, item):
        return
    broker, tp, old = partition.broker, partition.tp, partition.isr
    partition.isr = partition.maximal_isr = registration.isr
    partition.partition_epoch = registration.partition_epoch
    partition.pending = ""
    partition.judge_min_isr()
    _report_isr_change(partition, old)
    partition.maybe_increment_leader_hw()
    for entry in partition.sessions.values():
        entry.session.mark(entry)
    if partition.delayed:
        complete_delayed_produce(partition)
    broker.account.isr_changed(broker.id, old, partition.isr)
    broker.account.look(tp)


def _report_isr_change(partition: Partition, old: tuple[int, ...]) -> None:
    """Tell the journal what the committed ISR gained or lost by this leader's proposal."""
    broker, tp, isr, epoch = partition.broker, partition.tp, partition.isr, partition.partition_epoch
    joined = tuple(b for b in isr if b not in old)
    out = tuple(b for b in old if b not in isr)
    journal = broker.journal
    if out:
        journal.cause = journal.emit(events.IsrShrunk.kind, broker.id, tp.topic, tp.partition, isr, out, epoch)
    if joined:
        journal.cause = journal.emit(events.IsrExpanded.kind, broker.id, tp.topic, tp.partition, isr, joined, epoch)


def alter_partition_failed(partition: Partition, item: AlterPartitionItem, error: str) -> None:
    """The controller refused a proposal (`Partition#handleAlterPartitionError`): revert, wait for metadata, or send it again."""
    if not partition.is_leader or item.leader_epoch != partition.leader_epoch or not _stands(partition, item):
        return
    broker, tp = partition.broker, partition.tp
    broker.journal.emit(events.IsrChangeFailed.kind, broker.id, tp.topic, tp.partition, item.isr, error)
    if error in _REVERT:
        _revert(partition)
    elif error not in _STAY_PENDING:
        broker.alter_partition.submit(item)

"""The offset at which a follower truncates its log to agree with its leader's log, and the truncation itself."""

from __future__ import annotations

from core.kafka import events
from core.kafka.broker.partition import Partition
from core.kafka.ids import NO_EPOCH


def truncate(partition: Partition, leader: int, target: int, rule: str) -> None:
    """Truncate the log to an offset if the log ends after that offset (`AbstractFetcherThread#truncate`). `rule` says how the offset was
    determined.
    """
    log, tp, broker = partition.log, partition.tp, partition.broker
    old = log.leo
    held = log.runs() if target < old else ()
    if log.truncate_to(target):
        before = broker.journal.cause
        broker.disk.truncate_cleaner_checkpoint(tp, target)
        broker.journal.blame(tuple(dict.fromkeys(cause for cause in (partition.changed_by, before) if cause)))
        log.last_append_event = broker.journal.emit(
            events.Truncated.kind, broker.id, tp.topic, tp.partition, leader, log.leo, old, log.high_watermark, rule
        )
        broker.account.log_truncated(tp, broker.id, held, old, log.leo, log.last_append_event)
        broker.journal.cause = before


def truncation_point(partition: Partition, leader_epoch: int, leader_end: int) -> tuple[int, int]:
    """Return the offset to truncate to, and the epoch to ask for next (-1 if none). The arguments are the epoch and end offset that the
    leader returned.

    Kafka: `AbstractFetcherThread#getOffsetTruncationState`. If the end offset is undefined, the result is the follower's own high watermark.
    If the epoch is undefined, as in the response that KIP-101 defines, the result is the end offset. If the follower lacks the epoch, it
    truncates below that epoch and asks again (KIP-279).
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

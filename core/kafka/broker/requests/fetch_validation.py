"""Validates a follower's fetch against the leader's epoch and log."""

from __future__ import annotations

from core.kafka import errors
from core.kafka.broker.partition import Partition
from core.kafka.broker.replica import Replica
from core.kafka.ids import NO_EPOCH, NO_OFFSET
from core.kafka.messages import FetchFailure, FetchPartitionFields
from core.kafka.release import Truncation


def check_fetch(partition: Partition, replica: Replica | None, asked: FetchPartitionFields) -> FetchFailure | None:
    """Validate a follower's fetch. Return None if the fetch is valid; otherwise, return an error or the offset at which the logs diverge.

    Kafka: `Partition#localLogWithEpochOrThrow`, `#followerReplicaOrThrow`, `#readRecords`.
    """
    _, offset, epoch, last_fetched_epoch, _ = asked
    release, log = partition.broker.release, partition.log
    error = partition.check_leader_epoch(epoch if release.fetch_epoch_fencing else NO_EPOCH)
    if error == errors.NONE and replica is None:
        named = release.fetch_epoch_fencing and epoch != NO_EPOCH
        error = errors.UNKNOWN_LEADER_EPOCH if named else errors.NOT_LEADER_OR_FOLLOWER
    if error == errors.NONE:
        if release.truncation >= Truncation.ON_FETCH and last_fetched_epoch != NO_EPOCH:
            known, end = log.end_offset_for_epoch(last_fetched_epoch)
            if known == NO_EPOCH or offset < log.log_start:
                error = errors.OFFSET_OUT_OF_RANGE
            elif known < last_fetched_epoch or end < offset:
                return errors.NONE, known, end
        elif not log.log_start <= offset <= log.leo:
            error = errors.OFFSET_OUT_OF_RANGE
    return None if error == errors.NONE else (error, NO_EPOCH, NO_OFFSET)

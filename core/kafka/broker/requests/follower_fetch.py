"""What a leader checks in a follower's fetch, and what it then knows about the follower (Kafka: `Partition#updateFollowerFetchState`)."""

from __future__ import annotations

from typing import Final

from core.kafka import errors, events
from core.kafka.broker.context import BrokerContext
from core.kafka.broker.partition import Partition
from core.kafka.broker.replica import Replica
from core.kafka.broker.requests.fetch_session import FetchSession, PartitionRead
from core.kafka.ids import NO_EPOCH, NO_OFFSET
from core.kafka.messages import FAILURE, HIGH_WATERMARK, FetchFailure, FetchPartitionFields
from core.kafka.release import Release, Truncation
from core.sim.journal import Column, null_sink

FETCHED: Final = events.FollowerFetched.kind
NONE: Final = errors.NONE


def check_fetch(partition: Partition, replica: Replica | None, asked: FetchPartitionFields) -> FetchFailure | None:
    """Validate a follower's fetch. Return None if the fetch is valid; otherwise, return an error or the offset at which the logs diverge.

    Kafka: `Partition#localLogWithEpochOrThrow`, `#followerReplicaOrThrow`, `#readRecords`.
    """
    _, offset, epoch, last_fetched_epoch, _ = asked
    release, log = partition.broker.release, partition.log
    error = partition.check_leader_epoch(epoch if release.fetch_epoch_fencing else NO_EPOCH)
    if error == NONE and replica is None:
        named = release.fetch_epoch_fencing and epoch != NO_EPOCH
        error = errors.UNKNOWN_LEADER_EPOCH if named else errors.NOT_LEADER_OR_FOLLOWER
    if error == NONE:
        if release.truncation >= Truncation.ON_FETCH and last_fetched_epoch != NO_EPOCH:
            known, end = log.end_offset_for_epoch(last_fetched_epoch)
            if known == NO_EPOCH or offset < log.log_start:
                error = errors.OFFSET_OUT_OF_RANGE
            elif known < last_fetched_epoch or end < offset:
                return NONE, known, end
        elif not log.log_start <= offset <= log.leo:
            error = errors.OFFSET_OUT_OF_RANGE
    return None if error == NONE else (error, NO_EPOCH, NO_OFFSET)


def update_follower_fetch_state(broker: BrokerContext, session: FetchSession, reads: list[PartitionRead], broker_epoch: int) -> bool:
    """Remember that a follower has fetched, and thus has all records below the offsets that it asks for: expand ISRs if the follower has
    caught up, and then raise high watermarks if possible (`Partition#updateFollowerFetchState`).

    Whether the follower can join an ISR depends on the high watermark from before this fetch.

    Args:
        broker: this broker.
        session: the follower's fetch session.
        reads: what was read for the follower.
        broker_epoch: the follower's broker epoch.

    Returns:
        Whether the follower's last response carried an older high watermark (`Partition#followerNeedsHwUpdate`).
    """
    journal, release, maybe_out_of_sync = broker.journal, broker.release, broker.maybe_out_of_sync
    sink, recorded = journal.sink, journal.sink is not null_sink
    as_of_last_fetch, pushes = release.caught_up_as_of_last_fetch, broker.pushes_high_watermark
    me: Column = broker.id
    now: Column = journal.now
    arrived: Column = journal.cause
    follower: Column = session.follower
    needs_high_watermark = False
    for entry, part in reads:
        partition, replica = entry.partition, entry.replica
        if partition is None or replica is None:
            continue
        tp, asked_from, epoch, _, cause = entry.asked
        failure: FetchFailure | None = part[FAILURE]
        if (failure is not None or epoch != partition.leader_epoch) and not _counts(release, failure):
            continue
        offset: int = asked_from
        log = partition.log
        old, leo = replica.leo, log.leo
        if replica.caught_up_session is not None:
            replica.leave_caught_up_session()
            maybe_out_of_sync[tp] = None
        replica.update_fetch_state(offset, log.log_start, now, leo, broker_epoch, as_of_last_fetch)
        if offset >= leo:
            replica.caught_up_session = session
        if offset != old:
            journal.seq = seq = journal.seq + 1
            if recorded:
                sink((seq, now, cause or arrived, FETCHED, me, partition.topic, partition.number, follower, old, asked_from))
            journal.cause = seq
            if not replica.in_maximal_isr:
                partition.maybe_expand_isr(replica)
            partition.maybe_increment_leader_hw()
            journal.cause = arrived
        elif not replica.in_maximal_isr:
            partition.maybe_expand_isr(replica)
        if pushes and failure is None and replica.update_last_sent_high_watermark(part[HIGH_WATERMARK]):
            needs_high_watermark = True
    return needs_high_watermark


def _counts(release: Release, failure: FetchFailure | None) -> bool:
    """Return whether a fetch that failed, or that is from another leader epoch, changes what the leader knows about the follower.

    A refused fetch does not. A fetch whose log diverges does in some releases. Before leaders fence fetches by epoch, a fetch from another
    epoch does not if the release only raises the high watermark within an epoch.
    """
    if failure is not None:
        error, _, _ = failure
        return error == NONE and not release.ignores_diverging_fetch
    return release.fetch_epoch_fencing or not release.hw_same_epoch

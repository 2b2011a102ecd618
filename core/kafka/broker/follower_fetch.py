"""One partition of a follower's fetch at its leader: what is read (`Partition#fetchRecords`), and what the leader learns of the follower by it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from core.kafka import errors, events
from core.kafka.broker.fetch_session import FetchSession, SessionPartition
from core.kafka.ids import NO_EPOCH
from core.kafka.messages import FetchedPartition, FetchRequest
from core.kafka.release import Truncation

if TYPE_CHECKING:
    from core.kafka.broker.partition import Partition


def link(partition: Partition, entry: SessionPartition) -> None:
    """A session's entry is looked at; one of another session of that follower is left behind."""
    follower = entry.session.follower
    known = partition.sessions.get(follower)
    if known is not entry:
        if known is not None:
            known.unlink()
        partition.sessions[follower] = entry
    entry.partition = partition


def read_for_follower(partition: Partition, entry: SessionPartition, request: FetchRequest, budget: int) -> FetchedPartition:
    """What a follower's fetch gets now (`Partition#fetchRecords`): records, a diverging epoch, or an error; with the HW as it stands."""
    asked, log, tp = entry, partition.log, partition.tp
    error = partition.check_leader_epoch(asked.leader_epoch if partition.broker.release.fetch_epoch_fencing else NO_EPOCH)
    if error == errors.NONE:
        replica = partition.remotes.get(request.follower)
        if replica is None:
            named = partition.broker.release.fetch_epoch_fencing and asked.leader_epoch != NO_EPOCH
            error = errors.UNKNOWN_LEADER_EPOCH if named else errors.NOT_LEADER_OR_FOLLOWER
    diverging = diverging_end = -1
    if error == errors.NONE:
        if partition.broker.release.truncation >= Truncation.ON_FETCH and asked.last_fetched_epoch != NO_EPOCH:
            epoch, end = log.end_offset_for_epoch(asked.last_fetched_epoch)
            if epoch == NO_EPOCH or asked.offset < log.log_start:
                error = errors.OFFSET_OUT_OF_RANGE
            elif epoch < asked.last_fetched_epoch or end < asked.offset:
                diverging, diverging_end = epoch, end
        elif not log.log_start <= asked.offset <= log.leo:
            error = errors.OFFSET_OUT_OF_RANGE
    records: tuple = ()
    if error == errors.NONE and diverging == -1 and asked.offset < log.leo and budget > 0:
        records = log.read(asked.offset, log.leo, min(request.partition_max_bytes, budget), request.max_records)
        term, end = records[-1].term, records[-1].end
        entry.sent_end, entry.sent_total = (end, term.bytes_before(end)) if term is partition.term else (-1, 0)
    return FetchedPartition(tp, error, asked.offset, records, log.high_watermark, log.log_start, diverging, diverging_end, log.last_append)


def update_follower_fetch_state(partition: Partition, entry: SessionPartition, session: FetchSession, broker_epoch: int) -> None:
    """A follower's fetch arrived and was read without error (`Partition#updateFollowerFetchState`).

    In Kafka's order: its state, the ISR (with the high watermark of before), then the high watermark.
    """
    replica = entry.replica = partition.remotes[session.follower]
    asked, log, journal = entry, partition.log, partition.broker.journal
    replica.settle()
    old = replica.leo
    as_of_last_fetch = partition.broker.release.caught_up_as_of_last_fetch
    replica.update_fetch_state(asked.offset, log.log_start, journal.now, log.leo, broker_epoch, as_of_last_fetch=as_of_last_fetch)
    arrived = journal.cause
    if asked.offset != old:
        journal.cause = asked.cause or arrived
        journal.cause = journal.emit(
            events.FollowerFetched.kind,
            partition.broker.id, partition.tp.topic, partition.tp.partition, session.follower, old, asked.offset,
        )  # fmt: skip
    if session.follower not in partition.maximal_isr:
        partition.maybe_expand_isr(replica)
    if asked.offset != old:
        partition.maybe_increment_leader_hw()
        journal.cause = arrived
    if asked.offset >= log.leo:
        replica.session = session
        partition.has_quiet_followers = True
    else:
        partition.broker.replicas.behind[partition.tp] = None


def assume_fetched(partition: Partition, follower: int, end: int) -> None:
    """The mistake that Kafka does not make (guard `request-time-leo` off): take what was sent for what the follower has."""
    replica = partition.remotes[follower]
    if end > replica.leo:
        replica.leo = end
        if partition.maybe_increment_leader_hw():
            partition.broker.account.look(partition.tp)


def high_watermark_sent(partition: Partition, follower: int, high_watermark: int) -> bool:
    """A follower's fetch was read with that high watermark; True if it had been sent an older one.

    Kafka: `Replica#lastSentHighWatermark`, 2.4.
    """
    replica = partition.remotes[follower]
    stale = replica.last_sent_high_watermark < high_watermark
    replica.last_sent_high_watermark = high_watermark
    return stale


def is_high_watermark_sent(partition: Partition, follower: int) -> bool:
    """Whether the newest high watermark was there when a follower's last fetch was read."""
    replica = partition.remotes.get(follower)
    return replica is None or replica.last_sent_high_watermark >= partition.log.high_watermark

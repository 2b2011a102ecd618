"""A follower's handling of a fetch response, partition by partition.

The follower appends the records and then updates the high watermark. If records are corrupt, the follower fetches them again. If the leader
returns an error for a partition, the follower backs off or truncates its log. Once per response, the follower completes the delayed fetches
of consumers that were waiting for its high watermark to advance.
"""

from __future__ import annotations

from typing import Final

from core.kafka import errors, events
from core.kafka.broker.follower.fetcher import Fetcher
from core.kafka.broker.follower.offset_responses import truncate_on_fetch_response
from core.kafka.broker.follower.partition_fetch_state import PartitionFetchState
from core.kafka.ids import NO_EPOCH, NO_OFFSET
from core.kafka.messages import FetchedPartitionFields, FetchResponse
from core.sim.journal import Column, null_sink

NONE: Final = errors.NONE
APPENDED: Final = events.FollowerAppended.kind
LEARNED: Final = events.FollowerHighWatermark.kind


def handle_fetch_response(fetcher: Fetcher, response: FetchResponse) -> None:
    """Handle the leader's response to a fetch, and send the next fetch."""
    if response.correlation != fetcher.in_flight:
        return
    fetcher.in_flight = 0
    if response.error != NONE:
        fetcher.full = True
    broker = fetcher.broker
    process_fetch_request(fetcher, response)
    if fetcher.raised:
        complete_consumers(fetcher)
    if fetcher.quota.limits:
        record_throttled_bytes(fetcher, response)
    if not broker.by_hand:
        fetcher.send_next(broker.config.fetch_wait, broker.config.fetch_min_bytes, 0)


def process_fetch_request(fetcher: Fetcher, response: FetchResponse) -> None:
    """Process a leader's response to a fetch. For each partition, append the records, and then update the high watermark.

    Kafka: `AbstractFetcherThread#processFetchRequest`, `ReplicaFetcherThread#processPartitionData`.
    """
    broker, states, asked, sends_epoch = fetcher.broker, fetcher.states, fetcher.moved, fetcher.sends_epoch
    journal, exposed = broker.journal, broker.account.exposed
    sink, recorded = journal.sink, journal.sink is not null_sink
    me: Column = broker.id
    leader: Column = fetcher.leader
    now: Column = journal.now
    arrived: Column = journal.cause
    _, _, _, parts, corrupt = response
    if corrupt:
        parts = tuple(map(_corrupted, parts))
    for tp, failure, start, records, leader_hw, log_start, cause in parts:
        state = states.get(tp)
        if state is None or state.sent_epoch != state.leader_epoch:
            continue  # the response is outdated
        log = state.log
        why = cause or arrived
        offset: int = start  # typed for comparison; events get the original `Column`
        if failure is not None or offset != log.leo:
            if failure is not None:
                journal.cause = why
                error, diverging_epoch, diverging_end = failure
                if error != NONE:
                    _handle_error(fetcher, state, error)
                elif offset == log.leo:
                    truncate_on_fetch_response(fetcher, state, diverging_epoch, diverging_end)
            continue
        high_watermark: int = leader_hw
        state.leader_high_watermark = high_watermark
        if not state.checked:
            state.checked = True
            journal.cause = why
            broker.account.started_following(tp, broker.id, log, fetcher.leader)
        old = log.high_watermark
        end: Column = start if records is None else log.append_as_follower(records)
        moved = log.update_high_watermark(high_watermark)
        if moved and state.partition.consumers:
            for consumer in state.partition.consumers:
                fetcher.raised.setdefault(consumer, journal.seq + 1)
        if records is not None:
            tail = log.records.tail
            journal.seq = seq = journal.seq + 1
            event: Column = seq
            log.last_append_event = event
            asked.append((tp, end, state.leader_epoch, tail.epoch if sends_epoch and tail is not None else NO_EPOCH, event))
            if recorded:
                sink((event, now, why, APPENDED, me, state.topic, state.number, leader, start, end, log.high_watermark))
            if high_watermark > log.leo:
                journal.cause = why
                journal.emit(events.FetcherLags.kind, broker.id, tp.topic, tp.partition, fetcher.leader, log.leo, high_watermark)
        elif moved:
            journal.seq = seq = journal.seq + 1
            if recorded:
                sink((seq, now, why, LEARNED, me, state.topic, state.number, old, log.high_watermark))
        if log_start > log.log_start:
            journal.cause = why
            _follow_log_start(fetcher, state, log_start)
        if exposed and records is not None and tp in exposed:
            journal.cause = log.last_append_event
            broker.account.check_exposure(tp)
    journal.cause = arrived


def _follow_log_start(fetcher: Fetcher, state: PartitionFetchState, log_start: int) -> None:
    """Raise the follower's log start to the leader's log start (`UnifiedLog#maybeIncrementLogStartOffset` for LeaderOffsetIncremented)."""
    log, tp, broker = state.log, state.partition.tp, fetcher.broker
    old = log.log_start
    log.maybe_increment_log_start(min(log_start, log.high_watermark))
    if log.log_start > old:
        broker.journal.emit(events.LogStartMoved.kind, broker.id, tp.topic, tp.partition, old, log.log_start, "leader")
        state.partition.log_start_moved()


def _corrupted(part: FetchedPartitionFields) -> FetchedPartitionFields:
    """Return what the follower makes of a part of a corrupt response: every checksum fails, so no records are appended."""
    tp, _, start, records, high_watermark, log_start, _ = part
    if records is None:
        return part
    return tp, (errors.CORRUPT_MESSAGE, NO_EPOCH, NO_OFFSET), start, records, high_watermark, log_start, 0


def _handle_error(fetcher: Fetcher, state: PartitionFetchState, error: str) -> None:
    tp = state.partition.tp
    fetcher.record_failure(tp, error)
    if error == errors.OFFSET_OUT_OF_RANGE:
        state.out_of_range = True
        fetcher.update_preparing(state)
    elif error == errors.FENCED_LEADER_EPOCH:
        fetcher.on_partition_fenced(tp)
    else:
        fetcher.delay(state)


def complete_consumers(fetcher: Fetcher) -> None:
    """Complete the delayed fetches of consumers that were waiting for a high watermark that has now advanced
    (`ReplicaFetcherThread#doWork`, KIP-392).

    `complete_consumers` runs once per fetch response.
    """
    journal = fetcher.broker.journal
    arrived = journal.cause
    raised = [*fetcher.raised.items()]
    fetcher.raised.clear()
    for consumer, cause in raised:
        journal.cause = cause
        consumer.complete_if_enough()
    journal.cause = arrived


def record_throttled_bytes(fetcher: Fetcher, response: FetchResponse) -> None:
    """Count the fetched bytes of throttled partitions toward the follower's quota, whether or not the follower is in sync
    (`ReplicaFetcherThread#processPartitionData`)."""
    broker, quota = fetcher.broker, fetcher.quota
    for part in response.parts():
        state = fetcher.states.get(part.tp)
        if part.records and state is not None and quota.is_throttled(part.tp, reassigned=broker.id in state.partition.adding):
            quota.record(broker.journal.now, sum(fetched.bytes for fetched in part.records))

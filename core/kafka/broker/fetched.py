"""What a follower takes from a leader's answer to its fetch, one partition at a time; `core.kafka.broker.steady` does the plain case for many at once.

Records are appended, and then the high watermark is taken over. Records that are not whole are fetched again, an error is
backed off from or looked into, and who waits here for a high watermark is told once per answer.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from core.kafka import errors, events
from core.kafka.broker.fetch_state import FETCHING, TRUNCATING, PartitionFetchState
from core.kafka.broker.partition import Partition
from core.kafka.broker.truncating import diverged
from core.kafka.ids import NO_EPOCH
from core.kafka.messages import FetchedPartition, FetchResponse

if TYPE_CHECKING:
    from core.kafka.broker.fetcher import Fetcher


def take_partition(fetcher: Fetcher, part: FetchedPartition) -> None:
    """One partition of a leader's answer."""
    state = fetcher.states.get(part.tp)
    if state is None or not _awaits(state):
        return
    journal = fetcher.broker.journal
    journal.cause = part.cause or journal.cause
    if part.error != errors.NONE:
        _failed(fetcher, state, part)
    elif part.offset == state.partition.log.leo:
        if part.diverging_epoch != NO_EPOCH:
            diverged(fetcher, state, part)
        else:
            _process(fetcher, state, part)
            state.steady = (
                state.state is FETCHING
                and not state.out_of_range
                and not fetcher.broker.by_hand
                and not state.partition.consumers
                and part.tp not in fetcher.broker.account.exposed
            )


def _awaits(state: PartitionFetchState) -> bool:
    """Whether an answer to a fetch of the partition is to be taken at all."""
    return not (state.delayed_until or state.state is TRUNCATING or state.sent_epoch != state.leader_epoch)


def _process(fetcher: Fetcher, state: PartitionFetchState, part: FetchedPartition) -> None:
    """Append, then take the high watermark the answer carries (`ReplicaFetcherThread#processPartitionData`)."""
    partition, broker = state.partition, fetcher.broker
    log, tp, journal = partition.log, part.tp, broker.journal
    state.leader_high_watermark = part.high_watermark
    if not state.checked:
        state.checked = True
        broker.account.following(tp, broker.id, log, fetcher.leader)
    if part.records:
        start = log.leo
        log.append_as_follower(part.records)
        moved = log.update_high_watermark(part.high_watermark)
        if moved:
            broker.disk.changed[tp] = None
        log.last_append = journal.emit(
            events.FollowerAppended.kind, broker.id, tp.topic, tp.partition, fetcher.leader, start, log.leo, log.high_watermark
        )
        if moved:
            _high_watermark_moved(fetcher, partition, log.last_append)
        if part.high_watermark > log.leo:
            journal.emit(
                events.FetcherLags.kind, broker.id, tp.topic, tp.partition, fetcher.leader, log.leo, part.high_watermark
            )  # fmt: skip
        fetcher.changed(tp)
        if part.log_start > log.log_start:
            _follow_log_start(fetcher, state, part)
        if tp in broker.account.exposed:
            journal.cause = log.last_append
            broker.account.look(tp)
        return
    old = log.high_watermark
    if log.update_high_watermark(part.high_watermark):
        broker.disk.changed[tp] = None
        learned = journal.emit(events.FollowerHighWatermark.kind, broker.id, tp.topic, tp.partition, old, log.high_watermark)
        _high_watermark_moved(fetcher, partition, learned)
    if part.log_start > log.log_start:
        _follow_log_start(fetcher, state, part)


def _follow_log_start(fetcher: Fetcher, state: PartitionFetchState, part: FetchedPartition) -> None:
    """The leader's log starts later than the own one (`UnifiedLog#maybeIncrementLogStartOffset` for LeaderOffsetIncremented)."""
    log, tp, broker = state.partition.log, part.tp, fetcher.broker
    old = log.log_start
    log.maybe_increment_log_start(min(part.log_start, log.high_watermark))
    if log.log_start > old:
        broker.journal.emit(events.LogStartMoved.kind, broker.id, tp.topic, tp.partition, old, log.log_start, "leader")
        broker.replicas.log_start_moved(tp)


def _failed(fetcher: Fetcher, state: PartitionFetchState, part: FetchedPartition) -> None:
    tp = part.tp
    fetcher.tell_failure(tp, part.error)
    if part.error == errors.OFFSET_OUT_OF_RANGE:
        state.out_of_range, state.steady = True, False
        fetcher.prepare(state)
    elif part.error == errors.FENCED_LEADER_EPOCH:
        fetcher.give_up(tp)
    else:
        fetcher.delay(state)


def refuse_corrupt(fetcher: Fetcher, response: FetchResponse) -> FetchResponse:
    """Records whose checksums are wrong are not appended, but fetched again after a back-off (`AbstractFetcherThread#processFetchRequest`)."""
    whole = []
    for part in response.parts():
        state = fetcher.states.get(part.tp)
        if not part.records:
            whole.append(part)
        elif state is not None and _awaits(state):
            fetcher.tell_failure(part.tp, errors.CORRUPT_MESSAGE)
            fetcher.delay(state)
    return response._replace(partitions=tuple(whole), corrupt=False)


def _high_watermark_moved(fetcher: Fetcher, partition: Partition, cause: int) -> None:
    for consumer in partition.consumers:
        fetcher.raised.setdefault(consumer, cause)


def complete_consumers(fetcher: Fetcher) -> None:
    """High watermarks moved, so consumers may be given more: once for all of an answer (`ReplicaFetcherThread#doWork`, KIP-392)."""
    journal = fetcher.broker.journal
    arrived = journal.cause
    raised = [*fetcher.raised.items()]
    fetcher.raised.clear()
    for consumer, cause in raised:
        journal.cause = cause
        consumer.complete_if_enough()
    journal.cause = arrived


def throttle(fetcher: Fetcher, response: FetchResponse) -> None:
    """Leave throttled partitions that lag out of the next fetches while more than the rate is used (`ReplicaFetcherThread#shouldFollowerThrottle`)."""
    broker = fetcher.broker
    quota, now = broker.follower_quota, broker.journal.now
    assert quota is not None, "only a throttled follower comes here"
    throttled = []
    for part in response.parts():
        state = fetcher.states.get(part.tp)
        if part.records and state is not None and quota.is_throttled(part.tp, reassigned=broker.id in state.partition.adding):
            quota.record(now, sum(stretch.bytes for stretch in part.records))
            throttled.append((state, part.high_watermark))
    if quota.is_exceeded(now):
        for state, high_watermark in throttled:
            if state.partition.log.leo < high_watermark and not state.delayed_until:
                fetcher.delay(state)

"""How a follower handles responses that carry offsets: the ends of leader epochs, or the bounds of the leader's log.

The follower truncates its log according to the offsets in the response. Depending on the release, a follower finds the truncation point
from its own high watermark, from a request for the ends of leader epochs, or from a fetch response that contains the diverging epoch. A
follower whose fetch offset is outside the leader's log continues at the start or the end of the leader's log.
"""

from __future__ import annotations

from core.kafka import errors, events
from core.kafka.broker.follower.fetcher import Fetcher
from core.kafka.broker.follower.partition_fetch_state import FETCHING, TRUNCATING, PartitionFetchState
from core.kafka.broker.follower.truncation import truncate, truncation_point
from core.kafka.broker.partition import Partition
from core.kafka.ids import NO_EPOCH, TopicPartition
from core.kafka.messages import ListOffsetsResponse, OffsetsForLeaderEpochResponse
from core.kafka.release import Truncation


def handle_epoch_end_offsets(fetcher: Fetcher, response: OffsetsForLeaderEpochResponse) -> None:
    """Truncate the log according to the epoch ends in the leader's response (`AbstractFetcherThread#maybeTruncateToEpochEndOffsets`)."""
    if response.correlation != fetcher.in_flight:
        return
    fetcher.in_flight = 0
    broker = fetcher.broker
    for tp, error, epoch, end in response.partitions:
        state = fetcher.states.get(tp)
        if state is None or state.state is not TRUNCATING or state.sent_epoch != state.leader_epoch:
            continue
        fetcher.mark_unsent(tp)
        if error != errors.NONE:
            fetcher.record_failure(tp, error)
            if error == errors.FENCED_LEADER_EPOCH:
                fetcher.on_partition_fenced(tp)
            else:
                fetcher.delay(state)
            continue
        partition = state.partition
        before = broker.journal.cause
        leader_epoch = epoch if broker.release.truncation >= Truncation.EPOCH_ROUNDS else NO_EPOCH
        broker.journal.cause = broker.journal.emit(
            events.EpochAnswered.kind, broker.id, tp.topic, tp.partition, fetcher.leader, state.asked_epoch, leader_epoch, end
        )
        target, ask_again = truncation_point(partition, leader_epoch, end)
        truncate(partition, fetcher.leader, target, "high-watermark" if end < 0 else "leader-epoch")
        broker.journal.cause = before
        if ask_again != NO_EPOCH:
            state.asked_epoch = partition.log.epochs.latest_epoch
            fetcher.asks_again = True
            fetcher.leave_session(tp)
        else:
            state.state = FETCHING
            fetcher.update_preparing(state)
    fetcher.maybe_send()


def handle_offsets_response(fetcher: Fetcher, response: ListOffsetsResponse) -> None:
    """After OFFSET_OUT_OF_RANGE, truncate or restart the log if it is outside the bounds of the leader's log
    (`AbstractFetcherThread#fetchOffsetAndTruncate`)."""
    if response.correlation != fetcher.in_flight:
        return
    fetcher.in_flight = 0
    state = fetcher.states.get(response.tp)
    if state is not None and state.out_of_range:
        fetcher.mark_unsent(response.tp)
        partition = state.partition
        log = partition.log
        state.out_of_range = False
        fetcher.update_preparing(state)
        if response.error == errors.FENCED_LEADER_EPOCH and state.sent_epoch == state.leader_epoch:
            fetcher.on_partition_fenced(response.tp)
        elif response.error != errors.NONE:
            fetcher.delay(state)  # the follower fetches again later, when the offset might be in range
        else:
            if response.latest < log.leo:
                if _must_halt(fetcher, response.tp):
                    fetcher.owner.stop("exited")
                    return
                truncate(partition, fetcher.leader, response.latest, "out-of-range")
            elif response.earliest > log.leo:
                _restart(fetcher, partition, response.earliest)
    fetcher.maybe_send()


def _must_halt(fetcher: Fetcher, tp: TopicPartition) -> bool:
    """Return whether the broker must exit instead of truncating its log (`ReplicaFetcherThread#handleOffsetOutOfRange`).

    Up to 1.1, a broker exits if the leader's log is shorter than its own and unclean election is disabled.
    """
    broker = fetcher.broker
    return broker.release.halts_on_truncation and not broker.settings.flag(
        "unclean.leader.election.enable", broker=broker.id, topic=tp.topic
    )


def truncate_on_fetch_response(fetcher: Fetcher, state: PartitionFetchState, epoch: int, end: int) -> None:
    """Truncate the log after a fetch response that contains a diverging epoch (KIP-595), and fetch again. A response with a diverging epoch
    contains no records.

    Kafka: `AbstractFetcherThread#truncateOnFetchResponse`.
    """
    partition = state.partition
    target, _ = truncation_point(partition, epoch, end)
    truncate(partition, fetcher.leader, target, "diverging-epoch")
    fetcher.mark_unsent(partition.tp)


def _restart(fetcher: Fetcher, partition: Partition, start: int) -> None:
    """Drop the contents of the follower's log, which ends below the leader's log start. The follower's log is then empty, and begins at the
    leader's log start."""
    log, tp, broker = partition.log, partition.tp, fetcher.broker
    old = log.leo
    log.truncate_fully_and_start_at(start)
    log.last_append_event = broker.journal.emit(events.LogRestarted.kind, broker.id, tp.topic, tp.partition, fetcher.leader, old, log.leo)
    partition.log_start_moved()

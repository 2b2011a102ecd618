"""ListOffsets: the earliest offset, the latest offset, or the offset of the first record at or after a timestamp.

Kafka: `Partition#fetchOffsetForTimestamp`.

A client sees only committed records or, with the isolation level read_committed, only records below the last stable offset. A replica sees
the whole log. The high watermark of a new leader can be below the last high watermark of its predecessor. Until the new leader's high
watermark passes the start of its leader epoch, the leader refuses requests whose result could be lower than an earlier result (KIP-207).
"""

from __future__ import annotations

from core.kafka import errors
from core.kafka.broker.partition import Partition
from core.kafka.ids import NO_OFFSET
from core.kafka.messages import LATEST, ListOffsetsRequest, ListOffsetsResponse


def list_offsets(partition: Partition, request: ListOffsetsRequest) -> ListOffsetsResponse:
    """Return a leader's response. `request.replica` is -1 for a client that reads uncommitted records."""
    log, client = partition.log, request.replica < 0
    bound = log.leo if not client else log.last_stable_offset() if request.read_committed else log.high_watermark
    stale = client and partition.broker.release.hides_stale_hw and partition.leader_epoch_start_offset > log.high_watermark
    error, latest, found = errors.NONE, bound, NO_OFFSET
    if request.timestamp != LATEST:
        found = log.offset_for_timestamp(request.timestamp)
        if not 0 <= found < bound:
            found = NO_OFFSET
            error = errors.OFFSET_NOT_AVAILABLE if stale else errors.NONE
    elif stale:
        error = errors.OFFSET_NOT_AVAILABLE
    # The earliest offset is always correct, so it is sent even if the latest one is refused.
    return ListOffsetsResponse(
        request.correlation, request.fetcher, request.tp, error, log.log_start, NO_OFFSET if stale else latest, found
    )

"""The sizes of messages on the network: the bytes of the records that they carry."""

from __future__ import annotations

from core.kafka.log.leader_term import SIZE
from core.kafka.messages import RECORDS, ConsumerFetchResponse, FetchResponse, ProduceRequest


def size_of(message: object) -> int:
    """Return the size of the records in a message, in bytes. Requests and responses without records are so small that they count as 0."""
    if isinstance(message, ProduceRequest):
        return message.bytes
    if isinstance(message, FetchResponse):
        return sum(part[RECORDS][SIZE] for part in message.partitions if part[RECORDS] is not None)
    if isinstance(message, ConsumerFetchResponse):
        return sum(fetched.bytes for part in message.partitions for fetched in part.records)
    return 0

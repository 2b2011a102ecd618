"""The offset index and the time index of one segment, built from its batches (Kafka: `LogSegment#append`, `LogSegment#recover`).

A broker appends index entries while it appends batches. isrlab derives the entries from the batches when the index is first read, as if
each batch had been appended on its own. When a broker recovers a segment, it also derives the index entries from the batches.
"""

from __future__ import annotations

from typing import Final

from core.kafka.log.index.offset_index import OffsetIndex
from core.kafka.log.index.time_index import NO_TIMESTAMP, TimeIndex
from core.kafka.log.log_config import LogConfig
from core.sim.units import US_PER_MS


class SegmentIndexes:
    """The indexes of a segment.

    Attributes:
        offsets: the offset index.
        times: the time index.
        size: the total size of the batches that the segment contains so far, in bytes.
        max_timestamp: the largest timestamp so far, in ms.
        offset_of_max: the last offset of the batch that has the largest timestamp.
    """

    __slots__ = ("_bytes_since_entry", "_interval", "max_timestamp", "offset_of_max", "offsets", "size", "times")

    offsets: Final[OffsetIndex]
    times: Final[TimeIndex]

    def __init__(self, base: int, config: LogConfig) -> None:
        self.offsets = OffsetIndex(base, config.segment_index_bytes)
        self.times = TimeIndex(base, config.segment_index_bytes)
        self.size = 0
        self.max_timestamp = NO_TIMESTAMP
        self.offset_of_max = base
        self._interval = config.index_interval_bytes
        self._bytes_since_entry = 0

    @property
    def is_full(self) -> bool:
        """Whether one of the indexes is full, in which case the next batch starts a new segment."""
        return self.offsets.is_full or self.times.is_full

    def append(self, last_offset: int, timestamp_us: int, size: int) -> None:
        """Add a batch. If more than index.interval.bytes have been appended since the last entry, the batch gets an entry in each index.

        The entry in the offset index contains the last offset of the batch and the position of its first byte. If an index is full because
        segment.index.bytes was reduced, the batch gets no entries.
        """
        timestamp = timestamp_us // US_PER_MS
        if timestamp > self.max_timestamp:
            self.max_timestamp, self.offset_of_max = timestamp, last_offset
        if self._bytes_since_entry > self._interval and not self.is_full:
            self.offsets.append(last_offset, self.size)
            self.times.maybe_append(self.max_timestamp, self.offset_of_max)
            self._bytes_since_entry = 0
        self._bytes_since_entry += size
        self.size += size

    def close(self) -> None:
        """Close the segment: the time index gets its last entry, and the files are trimmed to their entries (`LogSegment#onBecomeInactiveSegment`)."""
        if self.times.entries < self.times.max_entries:
            self.times.maybe_append(self.max_timestamp, self.offset_of_max, skip_full_check=True)
        self.offsets.trim_to_valid_size()
        self.times.trim_to_valid_size()

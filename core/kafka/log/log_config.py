"""The settings of a topic's logs on a broker: segments and their indexes, flushes, retention, and compaction (Kafka: `LogConfig`)."""

from __future__ import annotations

from typing import Final

import attrs

from core.kafka.settings.setting import MAX_LONG
from core.kafka.settings.settings import Settings
from core.sim.repr_mixin import ReprMixin
from core.sim.units import US_PER_MS


@attrs.frozen(repr=False)
class LogConfig(ReprMixin):
    """The settings, in the units that the log uses. All logs of a topic on a broker share one `LogConfig` object.

    Attributes:
        segment_bytes: the maximum size of a segment; a batch that would exceed it starts the next segment.
        segment_us: the maximum time between a segment's first and last batch, in µs.
        flush_messages: the number of unflushed records at which a log is flushed.
        flush_us: how long a log can go without a flush before the flush scheduler flushes it, in µs.
        retention_us: the maximum age of the newest record in a segment, in µs. Segments whose newest record is older than `retention_us`
            are deleted. -1 means no limit.
        retention_bytes: the size to which retention reduces a log. Retention deletes the oldest segments as long as the rest of the log has
            at least this size. -1 means no limit.
        max_message_bytes: the maximum size of a record that a producer sends.
        index_interval_bytes: the number of bytes that are appended to a segment between two entries in its offset index.
        segment_index_bytes: the size of the active segment's offset index and of its time index. When the offset index or the time index is
            full, the next segment starts.
        compact: whether cleanup.policy contains `compact`.
        delete: whether cleanup.policy contains `delete`, in which case retention applies.
        min_cleanable_ratio: the fraction of dirty bytes above which a log is cleaned.
        delete_retention_us: the minimum time for which a tombstone or a marker stays in the cleaned part of a log, in µs.
        min_compaction_lag_us: the minimum age at which a record can be cleaned, in µs.
        max_compaction_lag_us: the age at which a record becomes due for cleaning even if few bytes are dirty, in µs.
        log_append_time: whether records get their timestamps from the leader's clock (message.timestamp.type, KIP-32).
    """

    segment_bytes: int = 1_073_741_824
    segment_us: int = 604_800_000 * US_PER_MS
    flush_messages: int = MAX_LONG
    flush_us: int = MAX_LONG
    retention_us: int = 604_800_000 * US_PER_MS
    retention_bytes: int = -1
    max_message_bytes: int = 1_048_588
    index_interval_bytes: int = 4_096
    segment_index_bytes: int = 10_485_760
    compact: bool = False
    delete: bool = True
    min_cleanable_ratio: float = 0.5
    delete_retention_us: int = 86_400_000 * US_PER_MS
    min_compaction_lag_us: int = 0
    max_compaction_lag_us: int = MAX_LONG
    log_append_time: bool = False

    @property
    def index_can_fill(self) -> bool:
        """Whether an index can become full before the segment reaches segment.bytes. With the default settings, a segment always reaches
        segment.bytes before an index is full.
        """
        return min(self.segment_index_bytes // 8, self.segment_index_bytes // 12 - 1) <= self.segment_bytes // (
            self.index_interval_bytes + 1
        )

    @staticmethod
    def of(settings: Settings, broker: int, topic: str) -> LogConfig:
        """Return the settings of a topic's logs on a broker."""
        retention_ms = settings.integer("retention.ms", broker=broker, topic=topic)
        policies = str(settings.get("cleanup.policy", broker=broker, topic=topic)).split(",")
        return LogConfig(
            segment_bytes=settings.integer("segment.bytes", broker=broker, topic=topic),
            segment_us=settings.integer("segment.ms", broker=broker, topic=topic) * US_PER_MS,
            flush_messages=settings.integer("flush.messages", broker=broker, topic=topic),
            flush_us=min(settings.integer("flush.ms", broker=broker, topic=topic) * US_PER_MS, MAX_LONG),
            retention_us=-1 if retention_ms < 0 else retention_ms * US_PER_MS,
            retention_bytes=settings.integer("retention.bytes", broker=broker, topic=topic),
            max_message_bytes=settings.integer("max.message.bytes", broker=broker, topic=topic),
            index_interval_bytes=settings.integer("index.interval.bytes", broker=broker, topic=topic),
            segment_index_bytes=settings.integer("segment.index.bytes", broker=broker, topic=topic),
            compact="compact" in policies,
            delete="delete" in policies,
            min_cleanable_ratio=settings.ratio("min.cleanable.dirty.ratio", broker=broker, topic=topic),
            delete_retention_us=settings.integer("delete.retention.ms", broker=broker, topic=topic) * US_PER_MS,
            min_compaction_lag_us=settings.integer("min.compaction.lag.ms", broker=broker, topic=topic) * US_PER_MS,
            max_compaction_lag_us=min(settings.integer("max.compaction.lag.ms", broker=broker, topic=topic) * US_PER_MS, MAX_LONG),
            log_append_time=settings.get("message.timestamp.type", broker=broker, topic=topic) == "LogAppendTime",
        )


DEFAULT: Final = LogConfig()
"""Kafka's defaults."""

"""The settings of one topic's logs on one broker: when a segment is full, when the log is flushed, what is retained.

Kafka: `LogConfig`.
"""

from __future__ import annotations

from typing import Final

import attrs

from core.kafka.settings import MAX_LONG, Settings
from core.sim.repr_mixin import ReprMixin
from core.sim.units import US_PER_MS


@attrs.frozen(repr=False)
class LogConfig(ReprMixin):
    """Settings as the log uses them; one object is shared by all logs of a topic.

    Attributes:
        segment_bytes: a batch that would make the active segment larger begins the next one.
        segment_us: so does a batch that is younger than the segment's first by more than this.
        flush_messages: a log is flushed when so many records are not.
        flush_us: or when it was not for so long, at the flush scheduler's next look.
        retention_us: a segment whose youngest record is older goes; -1: never.
        retention_bytes: the oldest segments go while the log is at least this large without them; -1: never.
        max_message_bytes: the largest record that a producer may write.
    """

    segment_bytes: int = 1_073_741_824
    segment_us: int = 604_800_000 * US_PER_MS
    flush_messages: int = MAX_LONG
    flush_us: int = MAX_LONG
    retention_us: int = 604_800_000 * US_PER_MS
    retention_bytes: int = -1
    max_message_bytes: int = 1_048_588

    @staticmethod
    def of(settings: Settings, broker: int, topic: str) -> LogConfig:
        """What holds for a topic's logs on a broker."""
        retention_ms = settings.integer("retention.ms", broker=broker, topic=topic)
        return LogConfig(
            segment_bytes=settings.integer("segment.bytes", broker=broker, topic=topic),
            segment_us=settings.integer("segment.ms", broker=broker, topic=topic) * US_PER_MS,
            flush_messages=settings.integer("flush.messages", broker=broker, topic=topic),
            flush_us=min(settings.integer("flush.ms", broker=broker, topic=topic) * US_PER_MS, MAX_LONG),
            retention_us=-1 if retention_ms < 0 else retention_ms * US_PER_MS,
            retention_bytes=settings.integer("retention.bytes", broker=broker, topic=topic),
            max_message_bytes=settings.integer("max.message.bytes", broker=broker, topic=topic),
        )


DEFAULT: Final = LogConfig()
"""Kafka's defaults."""

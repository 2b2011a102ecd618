"""The interface through which a partition completes the operations that are waiting for it (Kafka: `DelayedOperations`)."""

from __future__ import annotations

from typing import Protocol


class HighWatermarkWaiter(Protocol):
    """An operation that is waiting for the high watermark, such as a consumer's fetch (Kafka: `DelayedFetch`)."""

    def complete_if_enough(self) -> None:
        """Complete the operation if the high watermark has advanced far enough."""

    def complete(self) -> None:
        """Complete the operation, because this broker's role in the partition changed."""

"""Who waits at a partition for news, as the partition sees them."""

from __future__ import annotations

from typing import Protocol


class HighWatermarkWaiter(Protocol):
    """Somebody who waits for the high watermark to move, a consumer's fetch for one (Kafka: the fetch purgatory)."""

    def complete_if_enough(self) -> None:
        """The high watermark moved."""

    def complete(self) -> None:
        """This broker's part in the partition changed: wait no longer."""

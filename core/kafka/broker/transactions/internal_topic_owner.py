"""A coordinator as the replica manager sees it."""

from __future__ import annotations

from typing import Protocol


class InternalTopicOwner(Protocol):
    """The coordinator whose state is in an internal topic."""

    def elected(self, partition: int, coordinator_epoch: int, /) -> None:
        """Handle that this broker leads a partition of the topic."""

    def resigned(self, partition: int, /) -> None:
        """Handle that this broker does not lead a partition of the topic."""

    def transaction_completed(self, partition: int, producer_id: int, *, commit: bool) -> None:
        """Handle that the marker of a transaction on a partition of the topic is committed."""

"""The interface through which the replica manager notifies a coordinator."""

from __future__ import annotations

from typing import Protocol


class InternalTopicOwner(Protocol):
    """A coordinator that keeps its state in an internal topic."""

    def elected(self, partition: int, coordinator_epoch: int, /) -> None:
        """Handle this broker's election as the leader of a partition of the topic."""

    def resigned(self, partition: int, /) -> None:
        """Handle the end of this broker's leadership for a partition of the topic."""

    def transaction_completed(self, partition: int, producer_id: int, *, commit: bool) -> None:
        """Handle the commit of a transaction's marker on a partition of the topic."""

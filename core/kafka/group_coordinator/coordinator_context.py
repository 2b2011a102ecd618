"""The part of a broker's interface that the group coordinator uses."""

from __future__ import annotations

from typing import Protocol

from core.kafka.durability_observer import DurabilityObserver
from core.kafka.transaction.coordinator_context import CoordinatorContext


class GroupCoordinatorContext(CoordinatorContext, Protocol):
    """The part of the broker's interface that the group coordinator uses."""

    @property
    def account(self) -> DurabilityObserver:
        """The durability account."""

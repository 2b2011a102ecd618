"""Who waits at a partition for news, as the partition sees them."""

from __future__ import annotations

from abc import ABCMeta, abstractmethod
from typing import Final, Protocol


class SessionEntry(metaclass=ABCMeta):
    """The partition's place in the fetch session of a `follower`; `dirty` while there is news of it that the follower has not been told."""

    __slots__ = ("dirty", "follower")

    follower: Final[int]

    def __init__(self, follower: int) -> None:
        self.follower = follower
        self.dirty = False

    @abstractmethod
    def mark_dirty(self) -> None:
        """There is news: records, another high watermark, another log start."""

    @abstractmethod
    def records_appended(self) -> None:
        """There is news, and a fetch that waits may have enough."""

    @abstractmethod
    def unlink(self) -> None:
        """The leader, its epoch or its view of the followers is another: look the partition up again."""

    @abstractmethod
    def complete(self) -> None:
        """Have a fetch that waits answered."""


class HighWatermarkWaiter(Protocol):
    """Somebody who waits for the high watermark to move, a consumer's fetch for one (Kafka: the fetch purgatory)."""

    def complete_if_enough(self) -> None:
        """The high watermark moved."""

    def complete(self) -> None:
        """This broker's part in the partition changed: wait no longer."""

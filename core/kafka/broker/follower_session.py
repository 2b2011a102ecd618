"""A follower's fetch session and its entries, as its leader's partitions see them (`core.kafka.broker.requests.fetch_session`)."""

from __future__ import annotations

from abc import ABCMeta, abstractmethod
from typing import Final

from core.kafka.messages import FetchRequest


class FollowerSession(metaclass=ABCMeta):
    """A follower's fetch session, as its leader's partitions see it.

    Attributes:
        follower: who fetches.
        parked: the fetch that waits in the purgatory; None if none does.
    """

    __slots__ = ("follower", "parked")

    follower: Final[int]

    def __init__(self, follower: int) -> None:
        self.follower = follower
        self.parked: FetchRequest | None = None

    @abstractmethod
    def fetched_at(self) -> int:
        """When its last fetch arrived, µs."""

    @abstractmethod
    def expires_at(self) -> int:
        """When the fetch that waits in the purgatory is answered at the latest, µs; -1 if none waits."""

    @abstractmethod
    def mark_dirty(self, entry: SessionEntry) -> None:
        """There is news of a partition: records, another high watermark, another log start."""

    @abstractmethod
    def records_appended(self, entry: SessionEntry) -> None:
        """There are records to hand out; a fetch that waits may have enough."""

    @abstractmethod
    def complete(self) -> None:
        """Have a fetch that waits answered."""


class SessionEntry(metaclass=ABCMeta):
    """The partition's place in a follower's fetch session; `dirty` while there is news of it that the follower has not been told."""

    __slots__ = ("dirty", "session")

    session: Final[FollowerSession]

    def __init__(self, session: FollowerSession) -> None:
        self.session = session
        self.dirty = False

    @abstractmethod
    def unlink(self) -> None:
        """The leader, its epoch or its view of the followers is another: look the partition up again."""

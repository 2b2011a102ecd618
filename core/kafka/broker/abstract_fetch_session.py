"""The interfaces through which a leader's partitions use a follower's fetch session and its entries
(`core.kafka.broker.requests.fetch_session`)."""

from __future__ import annotations

from abc import ABCMeta, abstractmethod
from typing import Final

from core.kafka.messages import FetchRequest


class AbstractFetchSession(metaclass=ABCMeta):
    """The interface through which a leader's partitions use a follower's fetch session.

    Attributes:
        follower: the broker ID of the follower.
        parked: the delayed fetch; None if there is none.
        has_epochs: whether the fetches carry leader epochs. In releases whose sessions forget epochs, only the first fetch does.
    """

    __slots__ = ("follower", "has_epochs", "parked")

    follower: Final[int]

    def __init__(self, follower: int) -> None:
        self.follower = follower
        self.parked: FetchRequest | None = None
        self.has_epochs = True

    def is_parked(self) -> bool:
        """Return whether a fetch is delayed. The result can be False even right after a fetch was delayed, because the fetch itself can
        cause the leader to complete it, for example by raising the high watermark.
        """
        return self.parked is not None

    @abstractmethod
    def fetched_at(self) -> int:
        """Return the time when the follower's last fetch arrived, in µs."""

    @abstractmethod
    def expires_at(self) -> int:
        """Return the deadline of the delayed fetch, in µs; -1 if no fetch is delayed."""

    @abstractmethod
    def mark_to_send(self, entry: AbstractCachedPartition) -> None:
        """Mark a partition for the next response because it has new records, a new high watermark, or a new log start."""

    @abstractmethod
    def records_appended(self, entry: AbstractCachedPartition) -> None:
        """Record that a partition has new records, which might be enough to complete the delayed fetch."""

    @abstractmethod
    def complete(self) -> None:
        """Complete the delayed fetch if there is one."""


class AbstractCachedPartition(metaclass=ABCMeta):
    """A partition's entry in a follower's fetch session. `must_respond` is set while the leader has something new to send (Kafka: `mustRespond`)."""

    __slots__ = ("must_respond", "session")

    session: Final[AbstractFetchSession]

    def __init__(self, session: AbstractFetchSession) -> None:
        self.session = session
        self.must_respond = False

    @abstractmethod
    def unlink(self) -> None:
        """Look up the partition again at the next fetch, because its leader, epoch, or followers have changed."""

"""The interface through which a transaction coordinator uses its broker."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Protocol

from core.kafka.ids import TopicPartition
from core.kafka.log.leader_term import BatchFields
from core.kafka.metadata_cache import MetadataCache
from core.kafka.release import Release
from core.kafka.settings.settings import Settings
from core.sim.journal import Journal


class Completion(Protocol):
    """A callback for the result of an append."""

    def append_completed(self, error: str, /) -> None:
        """Handle the result of an append; NONE means that the records are committed."""


class CoordinatorContext(Protocol):
    """The interface through which a transaction coordinator uses its broker."""

    by_hand: bool
    request_timeout: int

    @property
    def id(self) -> int:
        """The broker ID."""

    @property
    def journal(self) -> Journal:
        """The journal."""

    @property
    def settings(self) -> Settings:
        """The settings of the broker."""

    @property
    def release(self) -> Release:
        """The rules of the simulated Kafka release."""

    @property
    def metadata_cache(self) -> MetadataCache:
        """What the broker knows of the cluster."""

    @property
    def handlers(self) -> dict[type, Callable[[Any, str], None]]:
        """The message handlers, by message type."""

    @property
    def timers(self) -> dict[str, Callable[[Any], None]]:
        """The timer functions, by timer name."""

    def send(self, node: str, message: object, /) -> None:
        """Send a message to another node."""

    def reply(self, node: str, message: object, /) -> None:
        """Respond to a request."""

    def timer(self, delay: int, name: str, about: object = None, /) -> None:
        """Call a timer function after a delay, given in µs."""

    def why_silent(self, peer: str, since: int, /) -> tuple[int, ...]:
        """Return the events because of which this broker has received nothing from a peer since a virtual time."""

    def next_correlation(self) -> int:
        """Return a new correlation ID."""

    def append_internally(self, tp: TopicPartition, make: Callable[[int], BatchFields], timeout: int, completion: Completion, /) -> None:
        """Append a batch, with acks=all, to a partition that this broker leads. `make` creates the batch for a given offset."""

    def contents(self, tp: TopicPartition, /) -> tuple[Any, ...]:
        """Return the contents of the records in a partition of an internal topic, from the log start to the LEO."""

    def generate_producer_id(self) -> int:
        """Return a new producer ID, or -1 while the broker is waiting for a block of IDs."""

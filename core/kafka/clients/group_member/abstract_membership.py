"""The parts of a consumer's membership that the classic and the consumer protocol share: the coordinator lookup, and the partitions that
the consumer owns.

Kafka: `AbstractCoordinator`, `AbstractMembershipManager`, and the callbacks of `ConsumerRebalanceListener`.
"""

from __future__ import annotations

from typing import Any, Final, Protocol

from core.kafka import events
from core.kafka.clients.group_member.coordinator_calls import CallingClient, CoordinatorCalls
from core.kafka.clients.group_member.member_config import MemberConfig
from core.kafka.group_coordinator.classic.messages import Partitions
from core.kafka.ids import TopicPartition
from core.kafka.release import Release
from core.kafka.transaction.messages import FindCoordinatorResponse

NO_DEADLINE: Final = 10**15
"""A deadline that virtual time never reaches, µs."""


class Application(CallingClient, Protocol):
    """The part of the consumer's interface that the membership uses."""

    @property
    def handlers(self) -> dict[type, Any]:
        """The message handlers, by message type."""

    @property
    def timers(self) -> dict[str, Any]:
        """The timer functions, by timer name."""

    @property
    def incarnation(self) -> int:
        """The number of the consumer's current process."""

    @property
    def is_polling(self) -> bool:
        """Whether the application is in poll()."""

    @property
    def calls_consumer(self) -> bool:
        """Whether the application is in a call to the consumer that reads from the network, such as poll() or commitSync()."""

    def poll_fails(self, error: str, /) -> None:
        """Make poll() fail with an exception."""

    def partition_counts(self, topics: tuple[str, ...], /) -> dict[str, int] | None:
        """The number of partitions of each given topic; None if the metadata for any of these topics is missing."""

    def partitions_gone(self, tps: Partitions, /) -> None:
        """Stop reading the given partitions."""

    def partitions_added(self, tps: Partitions, /) -> None:
        """Begin to read the given partitions."""

    def left(self) -> None:
        """Continue after the response to LeaveGroup."""


class AbstractMembership:
    """The membership of one consumer, in either protocol.

    Attributes:
        client: the consumer.
        does: the configuration of the consumer.
        release: the rules of the consumer's release.
        calls: the requests to the coordinator.
        owned: the partitions that the consumer owns, in assignment order.
        heartbeats: whether the thread that sends heartbeats is enabled.
    """

    __slots__ = ("calls", "client", "does", "heartbeats", "owned", "release")

    client: Final[Application]
    does: Final[MemberConfig]
    release: Final[Release]
    calls: Final[CoordinatorCalls]
    owned: Final[dict[TopicPartition, None]]

    def __init__(self, client: Application, does: MemberConfig, release: Release) -> None:
        self.client = client
        self.does = does
        self.release = release
        self.calls = CoordinatorCalls(client, does.group)
        self.owned = {}
        self.heartbeats = False
        client.handlers[FindCoordinatorResponse] = self.handle_coordinator
        client.timers.update({"find-coordinator": self._find_again, "call-timeout": self.calls.timed_out})

    def emit(self, kind: str, *columns: object) -> None:
        """Record an event of this member, and make it the cause of the events that follow."""
        journal = self.client.journal
        journal.cause = journal.emit(kind, self.client.name, self.does.group, *columns)

    def do_nothing(self, _: object) -> None:
        """Do nothing here, because the consumer continues with its poll() after each timer."""

    # --- the network -----------------------------------------------------------------------------------------------

    @property
    def reads_network(self) -> bool:
        """Whether a thread is reading from the network: the application's thread in a call to the consumer, or the heartbeat thread."""
        return self.client.calls_consumer or (self.release.background_heartbeats and self.heartbeats)

    # --- the coordinator -------------------------------------------------------------------------------------------

    def handle_coordinator(self, response: FindCoordinatorResponse, _: str) -> None:
        """Handle the response to a coordinator lookup."""
        if self.calls.found(response):
            self.coordinator_found()

    def coordinator_found(self) -> None:
        """Continue after the coordinator has been found. By default, do nothing, because the next call to poll() does what is necessary."""

    def _find_again(self, _: object) -> None:
        self.calls.search_again()

    # --- the partitions --------------------------------------------------------------------------------------------

    def lose_all(self) -> None:
        """Give up all partitions, which might already belong to other members (`onPartitionsLost`)."""
        tps = tuple(self.owned)
        if tps:
            self.emit(events.PartitionsLost.kind, ", ".join(map(str, tps)))
            self._give_up(tps)

    def revoke(self, generation: int, tps: Partitions, *, always: bool = False) -> None:
        """Give up some partitions (`onPartitionsRevoked`). If `always` is true, the callback runs even if there are no partitions to give
        up."""
        if tps or always:
            self.emit(events.PartitionsRevoked.kind, generation, ", ".join(map(str, tps)))
            self._give_up(tps)

    def _give_up(self, tps: Partitions) -> None:
        for tp in tps:
            self.owned.pop(tp, None)
        self.client.partitions_gone(tps)

    def own(self, generation: int, assignment: Partitions) -> None:
        """Adopt an assignment: own exactly its partitions, and begin to read the new ones (`onPartitionsAssigned`)."""
        added = tuple(tp for tp in assignment if tp not in self.owned)
        self.owned.clear()
        self.owned.update(dict.fromkeys(assignment))
        self.emit(events.PartitionsAssigned.kind, generation, ", ".join(map(str, added)))
        self.client.partitions_added(added)

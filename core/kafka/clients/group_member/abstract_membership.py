"""The parts of a consumer's membership that the classic protocol and the consumer protocol share: the coordinator lookup, and the
partitions that the consumer owns.

Kafka: `AbstractCoordinator`, `AbstractMembershipManager`, and the callbacks of `ConsumerRebalanceListener`.
"""

from __future__ import annotations

from typing import Any, Final, Protocol

from core.kafka import errors, events
from core.kafka.clients.group_member.coordinator_calls import CallingClient, CoordinatorCalls
from core.kafka.clients.group_member.member_config import MemberConfig
from core.kafka.group_coordinator.classic_group.classic_group_messages import Partitions
from core.kafka.group_coordinator.group_requests import GroupMembership, OffsetToCommit
from core.kafka.ids import TopicPartition
from core.kafka.release import Release
from core.kafka.transaction.transaction_messages import FindCoordinatorResponse

NO_DEADLINE: Final = 10**15
"""A deadline that virtual time never reaches, in µs."""


FATAL: Final = {
    errors.FENCED_INSTANCE_ID: "FencedInstanceIdException",
    errors.INCONSISTENT_GROUP_PROTOCOL: "InconsistentGroupProtocolException",
    errors.INVALID_SESSION_TIMEOUT: "InvalidSessionTimeoutException",
    errors.INVALID_GROUP_ID: "InvalidGroupIdException",
    errors.GROUP_MAX_SIZE_REACHED: "GroupMaxSizeReachedException",
}
"""The errors that make poll() fail, and the exceptions that it throws."""

REBALANCE_IN_PROGRESS: Final = "RebalanceInProgressException"
COMMIT_FAILED: Final = "CommitFailedException"


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
        """The number that distinguishes the consumer's current process from its earlier ones."""

    def why_slow(self, since: int, /) -> tuple[int, ...]:
        """The events because of which the application has not done its work since a virtual time."""

    def last_change(self, what: str, /) -> int:
        """The event that last changed something that several nodes know, such as a topic; 0 if there is none."""

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
        """Finish leaving the group, after the coordinator has responded to LeaveGroup."""


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

    # --- poll() ----------------------------------------------------------------------------------------------------

    def must_prepare(self) -> bool:
        """Whether the next poll() must prepare for a rebalance before it does anything else for the group."""
        raise NotImplementedError

    def must_revoke(self) -> bool:
        """Whether the next poll() takes partitions away from the consumer."""
        raise NotImplementedError

    def prepare_join(self) -> None:
        """Prepare for a rebalance. If the application must commit its offsets first, it does so before this call."""
        raise NotImplementedError

    def ensure_active_group(self) -> None:
        """Join the group if necessary, and apply a new assignment."""
        raise NotImplementedError

    def poll(self) -> None:
        """Perform the group-related part of poll() (`ConsumerCoordinator#poll`). A member that has given up partitions joins again in the
        same call (`#joinGroupIfNeeded`). If it must first commit its offsets, because it would give up more partitions, it joins in the next
        call."""
        if self.must_prepare():
            self.prepare_join()
        self.ensure_active_group()
        while self.must_prepare() and not self.must_revoke():
            self.prepare_join()
            self.ensure_active_group()

    def request_rejoin(self, reason: str) -> None:
        """Join again in the next poll(). In the consumer protocol, do nothing, because the coordinator tells each member what to do."""

    def check_metadata(self) -> None:
        """Check whether the partitions must be assigned again. In the consumer protocol, do nothing, because the coordinator assigns the
        partitions."""

    # --- commits ---------------------------------------------------------------------------------------------------

    def generation_refused(self, membership: object, error: str) -> None:
        """Handle a commit that was refused because of its member ID or generation. In the consumer protocol, do nothing, because the next
        heartbeat will also be refused."""

    def commit_refused(self, membership: GroupMembership, error: str) -> str:
        """Handle a commit that was refused. Return the exception that the commit throws if it contained a wrong membership; otherwise, an
        empty string.

        Kafka: `ConsumerCoordinator.OffsetCommitResponseHandler`.
        """
        if error == errors.REBALANCE_IN_PROGRESS:
            self.request_rejoin("its commit was refused, because the group rebalances")
            return REBALANCE_IN_PROGRESS
        if error in (errors.UNKNOWN_MEMBER_ID, errors.ILLEGAL_GENERATION):
            self.generation_refused(membership, error)
            return COMMIT_FAILED
        return FATAL.get(error, "")

    def commit_failed(self, offsets: tuple[OffsetToCommit, ...], error: str) -> None:
        """Record that a commit failed."""
        self.emit(events.CommitFailed.kind, error, ", ".join(f"{tp}@{offset}" for tp, offset, _ in offsets))

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

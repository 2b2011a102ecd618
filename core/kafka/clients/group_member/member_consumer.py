"""The consumer of a process that can be a member of a group: the group coordinator assigns some partitions of the topic to it, and can take
them away.

Kafka: `KafkaConsumer#subscribe`, `ConsumerRebalanceListener`. Without a membership, the consumer reads all partitions of the topic
(`KafkaConsumer#assign`).
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final, Protocol

from core.kafka import errors
from core.kafka.clients.client_context import ClientContext
from core.kafka.clients.consumer.group_consumer import GroupCall, GroupConsumer, Owner
from core.kafka.clients.group_member.abstract_membership import COMMIT_FAILED, FATAL
from core.kafka.clients.group_member.member_config import MemberConfig
from core.kafka.clients.group_member.membership import Membership, new_membership
from core.kafka.group_coordinator.classic_group.classic_group_messages import Partitions
from core.kafka.group_coordinator.group_requests import (
    NOT_A_MEMBER,
    GroupMembership,
    OffsetCommitRequest,
    OffsetFetchRequest,
    OffsetToCommit,
)
from core.kafka.ids import NO_OFFSET, TopicPartition
from core.kafka.release import Release
from core.kafka.transaction.transaction_messages import FindCoordinatorRequest, FindCoordinatorResponse
from core.sim.kernel_messages import Timer


class MemberOwner(Owner, Protocol):
    """The part of a process's interface that the process's consumer uses."""

    @property
    def is_polling(self) -> bool:
        """Whether the application is in poll()."""

    @property
    def calls_consumer(self) -> bool:
        """Whether the application is in a call to the consumer that reads from the network."""

    def poll_fails(self, error: str, /) -> None:
        """Make poll() fail with an exception."""

    def partitions_revoked(self, partitions: tuple[int, ...], /) -> None:
        """Forget all state of partitions that the process no longer owns."""

    def partitions_assigned(self) -> None:
        """Start at the committed offsets of the partitions that were just assigned."""

    def left_group(self) -> None:
        """Continue after the process has left the group."""


class MemberConsumer(GroupConsumer):
    """A consumer that can be a member of a group.

    Attributes:
        process: the process that the consumer belongs to.
        member: the membership; None if the consumer reads all partitions of its topic.
        assigned: the partitions that a member owns.
        initializing: the owned partitions whose committed offset is not known yet.
        initialized: the partitions whose committed offset has become known since the process last requested such partitions.
        commits_as: the membership (member ID and generation) that the consumer's last commit request contained.
        in_poll: whether the membership considers the application to be in poll().
        unread: the messages that arrived while no thread was reading from the network.
    """

    __slots__ = ("assigned", "commits_as", "in_poll", "initialized", "initializing", "member", "process", "unread")

    process: Final[MemberOwner]
    member: Final[Membership | None]
    assigned: Final[dict[int, None]]
    initializing: Final[dict[int, None]]
    initialized: Final[dict[int, None]]
    unread: Final[list[tuple[object, str]]]

    def __init__(
        self,
        process: MemberOwner,
        name: str,
        topic: str,
        group: str,
        reset: str,
        membership: MemberConfig | None,
        release: Release,
        context: ClientContext,
    ) -> None:
        super().__init__(process, name, topic, group, reset, context)
        self.process = process
        self.assigned = {}
        self.initializing = {}
        self.initialized = {}
        self.in_poll = True
        self.unread = []
        self.member = None if membership is None else new_membership(self, membership, release)
        self.commits_as = NOT_A_MEMBER
        if membership is not None:
            self.handlers[FindCoordinatorResponse] = self._handle_either_lookup

    # --- the group -------------------------------------------------------------------------------------------------

    @property
    def assigns_itself(self) -> bool:
        """Whether the consumer assigns all partitions of its topic to itself, because it is not a member of the group."""
        return self.member is None

    @property
    def membership(self) -> GroupMembership:
        """The current membership, which is part of each request to commit offsets in a transaction."""
        return NOT_A_MEMBER if self.member is None else self.member.membership

    @property
    def can_commit(self) -> bool:
        """Whether the consumer is in a stable generation or is not a member of a group."""
        if self.member is None:
            return True
        membership = self.member.commit_membership()
        return membership is not None and membership.generation > 0

    @property
    def owns_nothing(self) -> bool:
        """Whether the consumer is a member to which no partition is assigned."""
        return self.member is not None and not self.assigned

    def leave(self) -> bool:
        """Give up all partitions and leave the group. Return whether the process must wait for a response."""
        if self.member is None or self.member.is_leaving:
            return self.member is not None
        self.member.revoke_all()
        return self.member.close()

    # --- poll() ----------------------------------------------------------------------------------------------------

    @property
    def is_polling(self) -> bool:
        """Whether the application is in poll()."""
        return self.process.is_polling

    @property
    def calls_consumer(self) -> bool:
        """Whether the application is in a call to the consumer that reads from the network."""
        return self.process.calls_consumer

    def application_moved(self) -> bool:
        """Tell the membership whether the application is in poll(), and handle the messages that no thread has read yet. Return whether
        there were unread messages."""
        member = self.member
        if member is None:
            return False
        if self.in_poll != self.is_polling:
            self.in_poll = self.is_polling
            if self.in_poll:
                member.poll_began()
            else:
                member.poll_ended()
        reads = bool(self.unread) and member.reads_network
        while self.unread and member.reads_network:
            super().handle(*self.unread.pop(0))
        return reads

    def handle(self, message: object, sender: str) -> None:
        """Handle a message as soon as a thread reads it from the network."""
        if self.member is None or isinstance(message, Timer) or self.member.reads_network:
            super().handle(message, sender)
        else:
            self.unread.append((message, sender))

    def metadata_updated(self) -> None:
        """Apply new metadata: initialize the positions of new partitions, continue the call that was waiting for the metadata, and send
        fetches."""
        self._learn_partitions()
        super().metadata_updated()

    def _learn_partitions(self) -> None:
        """If the consumer is a member of a group, initialize the positions of new partitions. If the member leads its group, also check
        whether the number of partitions of any topic has changed.
        """
        if self.member is not None:
            while len(self.positions) < len(self.leaders):
                self.positions.append(NO_OFFSET)
            self.member.check_metadata()

    def tp(self, partition: int) -> TopicPartition:
        """Return the topic's partition that has the given number."""
        return TopicPartition(self.topic, partition)

    def partitions_to_read(self) -> Iterable[int]:
        """Return the partitions that the consumer owns."""
        partitions = super().partitions_to_read()
        if self.member is None:
            return partitions
        return [number for number in partitions if number in self.assigned and number not in self.initializing]

    def _is_fetchable(self, partition: int) -> bool:
        return (self.member is None or partition in self.assigned) and super()._is_fetchable(partition)

    def connection_lost(self, node: str) -> None:
        """Drop the requests to a broker."""
        if self.member is not None:
            self.member.calls.disconnected(node)
        super().connection_lost(node)

    def _handle_either_lookup(self, response: FindCoordinatorResponse, sender: str) -> None:
        """Handle the response to a coordinator lookup, either for the membership or for a commit or fetch of offsets."""
        if response.correlation == self.correlation:
            self._handle_coordinator(response, sender)
        elif self.member is not None:
            self.member.handle_coordinator(response, sender)

    # --- offsets ---------------------------------------------------------------------------------------------------

    def commit_offsets(self, offsets: tuple[OffsetToCommit, ...], texts: tuple[str, ...] = ()) -> None:
        """Commit offsets as a member of the group."""
        self.commits_as = NOT_A_MEMBER
        if self.can_commit:
            super().commit_offsets(offsets, texts)
        else:
            self.call, self.offsets = GroupCall.COMMIT_OFFSETS, offsets
            self._end(COMMIT_FAILED)

    def fetch_offsets(self) -> None:
        """Return to the committed offsets of all partitions."""
        self.initializing.update(self.assigned)
        super().fetch_offsets()

    def fetch_new_offsets(self) -> None:
        """Request the committed offsets of the partitions whose committed offset is not known yet. The consumer continues at its positions
        in the other partitions."""
        if self.initializing.keys() == self.assigned.keys():
            self.fetch_offsets()
        else:
            self._begin(GroupCall.FETCH_OFFSETS)

    def take_initialized(self) -> list[tuple[int, int]]:
        """Return the positions of the partitions whose committed offset has become known since the last call."""
        known = range(len(self.positions)) if self.member is None else tuple(self.initialized)
        self.initialized.clear()
        return [(number, self.positions[number]) for number in known]

    def _request(self) -> FindCoordinatorRequest | OffsetFetchRequest | OffsetCommitRequest:
        request = super()._request()
        if self.member is None:
            return request
        if isinstance(request, OffsetFetchRequest):
            return request._replace(partitions=tuple(self.tp(number) for number in self.initializing))
        if isinstance(request, OffsetCommitRequest):
            self.commits_as = self.member.commit_membership() or self.commits_as
            return request._replace(membership=self.commits_as)
        return request

    def _start_at(self, partition: int, offset: int, epoch: int, text: str | None) -> None:
        if self.member is None:
            super()._start_at(partition, offset, epoch, text)
        elif self.initializing.pop(partition, self) is not self:
            super()._start_at(partition, offset, epoch, text)
            self.initialized[partition] = None

    def _failed(self, error: str) -> None:
        """Repeat a commit that contained an old member epoch, because the membership has received a newer epoch."""
        if error == errors.STALE_MEMBER_EPOCH and self.can_commit:
            self._repeat()
        else:
            super()._failed(error)

    def _end(self, error: str) -> None:
        """End the application's call that is in progress. If the call was a commit that the coordinator refused, the member learns that it
        has lost its generation."""
        if self.member is not None and error != errors.NONE and self.call is GroupCall.COMMIT_OFFSETS:
            self.member.commit_failed(self.offsets, error)
            self.membership_refused(self.commits_as, error)
        super()._end(error)

    def membership_refused(self, membership: GroupMembership, error: str) -> None:
        """Handle a commit that was refused because of its member ID, generation, or member epoch. The commit can be part of a
        transaction."""
        if self.member is not None:
            exception = self.member.commit_refused(membership, error)
            if error in FATAL:
                self.poll_fails(exception)

    # --- what the membership needs ---------------------------------------------------------------------------------

    def poll_fails(self, error: str) -> None:
        """Make poll() fail with an exception."""
        self.process.poll_fails(error)

    def partition_counts(self, topics: tuple[str, ...]) -> dict[str, int] | None:
        """Return a dict with the number of partitions of the topic; an empty dict if the topic was deleted, and None if there is no
        metadata yet."""
        if not self.leaders:
            return {} if self.topic_deleted else None
        return dict.fromkeys(topics, len(self.leaders))

    def partitions_gone(self, tps: Partitions) -> None:
        """Stop reading the given partitions, and forget their records."""
        for tp in tps:
            self.assigned.pop(tp.partition, None)
            self.initializing.pop(tp.partition, None)
            self.initialized.pop(tp.partition, None)
            self._resetting.pop(tp.partition, None)
            self._validating.pop(tp.partition, None)
            self.positions[tp.partition] = NO_OFFSET
        self.fetched[:] = [each for each in self.fetched if each.tp not in tps]
        self.process.partitions_revoked(tuple(tp.partition for tp in tps))

    def partitions_added(self, tps: Partitions) -> None:
        """Begin to read the given partitions."""
        for tp in tps:
            self.assigned[tp.partition] = self.initializing[tp.partition] = None
            while len(self.positions) <= tp.partition:
                self.positions.append(NO_OFFSET)
        if tps:
            self.process.partitions_assigned()

    def left(self) -> None:
        """Finish leaving the group, after the coordinator has responded to LeaveGroup."""
        self.process.left_group()

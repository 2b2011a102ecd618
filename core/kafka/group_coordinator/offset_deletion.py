"""Requests from administrators: OffsetDelete removes committed offsets of a group, and DeleteGroups removes a whole group.

Kafka: `OffsetMetadataManager#deleteOffsets`, `GroupMetadataManager#createGroupTombstoneRecords`.
"""

from __future__ import annotations

from typing import Final

from core.kafka import errors, events
from core.kafka.group_coordinator.classic_group.group_state import GroupState
from core.kafka.group_coordinator.coordinator_context import GroupCoordinatorContext
from core.kafka.group_coordinator.group_metadata import GroupMetadata
from core.kafka.group_coordinator.group_metadata_manager import GroupMetadataManager
from core.kafka.group_coordinator.group_requests import (
    DeleteGroupsRequest,
    DeleteGroupsResponse,
    OffsetDeleteRequest,
    OffsetDeleteResponse,
)
from core.kafka.group_coordinator.offset_tombstones import OffsetTombstones
from core.kafka.ids import TopicPartition


class Deletion:
    """A request whose tombstones are being written. `response` is the response to send when the tombstones are committed."""

    __slots__ = ("broker", "response", "sender")

    broker: Final[GroupCoordinatorContext]
    sender: Final[str]
    response: Final[OffsetDeleteResponse | DeleteGroupsResponse]

    def __init__(self, broker: GroupCoordinatorContext, sender: str, response: OffsetDeleteResponse | DeleteGroupsResponse) -> None:
        self.broker = broker
        self.sender = sender
        self.response = response

    def removed(self, error: str) -> None:
        """Respond."""
        self.broker.node.reply(self.sender, self.response._replace(error=error))


def is_subscribed(group: GroupMetadata, topic: str) -> bool:
    """Return whether members of a group subscribe to a topic. If the subscriptions are not known, a consumer group counts as subscribed to
    every topic.
    """
    if group.consumer is not None:
        return topic in group.consumer.subscribers
    topics = group.classic.subscribed_topics()
    return bool(group.classic.members) if topics is None else topic in topics


class OffsetDeletion:
    """Serves OffsetDelete and DeleteGroups requests on one broker."""

    __slots__ = ("broker", "groups")

    broker: Final[GroupCoordinatorContext]
    groups: Final[GroupMetadataManager]

    def __init__(self, broker: GroupCoordinatorContext, groups: GroupMetadataManager) -> None:
        self.broker = broker
        self.groups = groups
        broker.node.handlers.update({OffsetDeleteRequest: self._delete_offsets, DeleteGroupsRequest: self._delete_group})

    def _group(self, name: str) -> GroupMetadata | None:
        cache = self.groups.cache_of(name)
        return None if cache is None else cache.groups.get(name)

    def _error_of(self, group: str) -> str:
        """If this broker does not coordinate or know the group that a request names, return the error; otherwise, return NONE."""
        error = self.groups.error_of(group)
        return errors.GROUP_ID_NOT_FOUND if error == errors.NONE and self._group(group) is None else error

    def _refuse(self, group: str, request: str, error: str) -> None:
        self.broker.journal.emit(events.GroupRequestRefused.kind, self.broker.id, group, request, error)

    def _remove(self, name: str, tps: tuple[TopicPartition, ...], deletion: Deletion, *, deletes_group: bool) -> None:
        cache = self.groups.cache_of(name)
        assert cache is not None, "checked"
        OffsetTombstones(
            self.broker, self.groups, cache, cache.groups[name], tps, deletes_group, events.OffsetRemoved.kind, deletion
        ).start()

    def _delete_offsets(self, request: OffsetDeleteRequest, sender: str) -> None:
        """Delete the offsets of partitions that no member subscribes to."""
        error, group = self._error_of(request.group), self._group(request.group)
        if error == errors.NONE and group is not None:
            classic = group.classic
            if group.consumer is None and classic.state is not GroupState.EMPTY and classic.protocol_type != "consumer":
                error = errors.NON_EMPTY_GROUP
        if error != errors.NONE or group is None:
            self._refuse(request.group, "OffsetDelete", error)
            self.broker.node.reply(sender, OffsetDeleteResponse(request.correlation, error, ()))
            return
        results = tuple(
            (tp, errors.GROUP_SUBSCRIBED_TO_TOPIC if is_subscribed(group, tp.topic) else errors.NONE) for tp in request.partitions
        )
        if any(each != errors.NONE for _, each in results):
            self._refuse(request.group, "OffsetDelete", errors.GROUP_SUBSCRIBED_TO_TOPIC)
        pending = {tp for offsets in group.pending_transactional.values() for tp in offsets}
        tps = tuple(tp for tp, each in results if each == errors.NONE and (tp in group.offsets or tp in pending))
        response = OffsetDeleteResponse(request.correlation, errors.NONE, results)
        if tps:
            self._remove(request.group, tps, Deletion(self.broker, sender, response), deletes_group=False)
        else:
            self.broker.node.reply(sender, response)

    def _delete_group(self, request: DeleteGroupsRequest, sender: str) -> None:
        """Delete a group that has no members, together with its offsets."""
        error, group = self._error_of(request.group), self._group(request.group)
        if error == errors.NONE and group is not None:
            members = group.classic.state is not GroupState.EMPTY if group.consumer is None else bool(group.consumer.members)
            error = errors.NON_EMPTY_GROUP if members else errors.NONE
        response = DeleteGroupsResponse(request.correlation, error)
        if error != errors.NONE or group is None:
            self._refuse(request.group, "DeleteGroups", error)
            self.broker.node.reply(sender, response)
        else:
            self._remove(request.group, tuple(group.offsets), Deletion(self.broker, sender, response), deletes_group=True)

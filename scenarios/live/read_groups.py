"""Reads consumer groups: their members, assignments, and committed offsets.

The coordinator of a group is the broker that lists it. FindCoordinator is not asked, because it can create `__consumer_offsets`.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, Final

import attrs

from core.kafka.ids import NO_EPOCH, TopicPartition
from scenarios.groups.facts import CLASSIC, CONSUMER, Committed, Group, Member
from scenarios.live.facts import LiveBroker
from scenarios.live.network.cluster_client import ClusterClient
from scenarios.live.network.messages import assigned_partitions
from scenarios.live.network.reading_apis import Api
from scenarios.live.unknowns import Unknowns

GROUPS_AT_ONCE: Final = 100
"""The most groups that are described in one request."""

_CONSUMERS: Final = ("consumer", "")
"""The protocol types of groups that `kafka-consumer-groups` shows; empty for a group that only stores offsets."""

_OFFSETS_BY_GROUP: Final = 8
"""The first version of OffsetFetch that takes several groups."""

_ALL_TOPICS: Final = 2
"""The first version of OffsetFetch that returns the offsets of all topics."""

_UPGRADED: Final = 1
"""The member type of a member that uses the consumer protocol."""


def read_groups(client: ClusterClient, unknown: Unknowns, brokers: Mapping[int, LiveBroker], alive: Iterable[int]) -> tuple[Group, ...]:
    """Return the consumer groups."""
    found: dict[str, Group] = {}
    for broker in alive:
        answer = unknown.ask("groups", Api.LIST_GROUPS, {}, broker)
        listed = [each for each in (() if answer is None else answer.groups or ()) if str(each.protocol_type) in _CONSUMERS]
        by_kind: dict[bool, list[str]] = {True: [], False: []}
        for each in listed:
            by_kind[str(getattr(each, "group_type", "")).lower() == CONSUMER.lower()].append(str(each.group_id))
        home = f"{brokers[broker].host}:{brokers[broker].port}"
        groups = [
            *_consumer_groups(unknown, broker, home, by_kind[True]),
            *_classic_groups(unknown, broker, home, by_kind[False]),
        ]
        offsets = _offsets(client, unknown, broker, [group.name for group in groups])
        found.update({group.name: attrs.evolve(group, offsets=offsets.get(group.name, {})) for group in groups})
    return tuple(found[name] for name in sorted(found))


def _classic_groups(unknown: Unknowns, broker: int, home: str, names: list[str]) -> Iterable[Group]:
    for some in (names[start : start + GROUPS_AT_ONCE] for start in range(0, len(names), GROUPS_AT_ONCE)):
        answer = unknown.ask("groups", Api.DESCRIBE_GROUPS, {"groups": list(some)}, broker)
        for each in () if answer is None else answer.groups or ():
            name = str(each.group_id)
            if unknown.code("group", Api.DESCRIBE_GROUPS, each.error_code, name):
                continue
            members = tuple(
                Member(
                    str(member.member_id),
                    str(member.client_id),
                    str(member.client_host),
                    tuple(TopicPartition(topic, number) for topic, number in assigned_partitions(member.member_assignment or b"")),
                    str(getattr(member, "group_instance_id", None) or ""),
                )
                for member in each.members or ()
            )
            yield Group(name, str(each.group_state), home, broker, CLASSIC, str(each.protocol_data or ""), members)


def _consumer_groups(unknown: Unknowns, broker: int, home: str, names: list[str]) -> Iterable[Group]:
    for some in (names[start : start + GROUPS_AT_ONCE] for start in range(0, len(names), GROUPS_AT_ONCE)):
        answer = unknown.ask("groups", Api.CONSUMER_GROUP_DESCRIBE, {"group_ids": list(some)}, broker)
        for each in () if answer is None else answer.groups or ():
            name = str(each.group_id)
            if unknown.code("group", Api.CONSUMER_GROUP_DESCRIBE, each.error_code, name):
                continue
            members = tuple(_member(member, int(each.assignment_epoch)) for member in each.members or ())
            yield Group(
                name,
                str(each.group_state),
                home,
                broker,
                CONSUMER,
                str(each.assignor_name or ""),
                members,
                epoch=int(each.group_epoch),
                assignment_epoch=int(each.assignment_epoch),
            )


def _member(member: Any, target_epoch: int) -> Member:
    kind = int(getattr(member, "member_type", -1))
    return Member(
        str(member.member_id),
        str(member.client_id),
        str(member.client_host),
        _partitions(member.assignment),
        str(member.instance_id or ""),
        int(member.member_epoch),
        target_epoch,
        _partitions(member.target_assignment),
        None if kind < 0 else kind == _UPGRADED,
    )


def _partitions(assignment: Any) -> tuple[TopicPartition, ...]:
    return tuple(
        TopicPartition(str(each.topic_name), int(number)) for each in assignment.topic_partitions or () for number in each.partitions or ()
    )


def _offsets(client: ClusterClient, unknown: Unknowns, broker: int, names: list[str]) -> dict[str, dict[TopicPartition, Committed]]:
    """Return the committed offsets of a coordinator's groups."""
    version = client.version(Api.OFFSET_FETCH)
    if version is None or version < _ALL_TOPICS:
        for name in names:
            unknown.add("committed offsets", Api.OFFSET_FETCH, "the release does not tell them without naming every topic", name)
        return {}
    found = {}
    together = GROUPS_AT_ONCE if version >= _OFFSETS_BY_GROUP else 1
    for some in (names[start : start + together] for start in range(0, len(names), together)):
        fields = {
            "group_id": some[0],
            "topics": None,
            "groups": [{"group_id": name, "topics": None} for name in some],
            "require_stable": False,
        }
        answer = unknown.ask("committed offsets", Api.OFFSET_FETCH, fields, broker, ", ".join(some))
        if answer is None:
            continue
        if version < _OFFSETS_BY_GROUP:
            found[some[0]] = _committed(unknown, some[0], answer.topics)
        for each in answer.groups or () if version >= _OFFSETS_BY_GROUP else ():
            name = str(each.group_id)
            if not unknown.code("committed offsets", Api.OFFSET_FETCH, each.error_code, name):
                found[name] = _committed(unknown, name, each.topics)
    return found


def _committed(unknown: Unknowns, group: str, topics: Iterable[Any] | None) -> dict[TopicPartition, Committed]:
    found = {}
    for topic in topics or ():
        for each in topic.partitions or ():
            tp = TopicPartition(str(topic.name), int(each.partition_index))
            if not unknown.code("committed offsets", Api.OFFSET_FETCH, each.error_code, f"{group} on {tp}") and each.committed_offset >= 0:
                epoch = getattr(each, "committed_leader_epoch", NO_EPOCH)
                found[tp] = Committed(int(each.committed_offset), NO_EPOCH if epoch is None else int(epoch))
    return found

"""Reads the groups that exist at the start, with their committed offsets.

In `{billing: {orders-0: 1200, orders-1: {offset: 900, leader-epoch: 3}}}`, the group `billing` has committed the offset 1200 for orders-0,
and the offset 900 with the leader epoch 3 for orders-1.
"""

from __future__ import annotations

from functools import partial
from typing import Any

from core.kafka.ids import NO_EPOCH, TopicPartition
from core.kafka.topic_spec import MAX_LEADER_EPOCH, MAX_OFFSET
from core.lab.spec import GroupSpec
from scenarios.language.nodes import Fields, Node
from scenarios.language.values import as_fields, as_int, as_partition


def read_groups(node: Node) -> tuple[GroupSpec, ...]:
    """Read a mapping from group names to committed offsets.

    Raises:
        ScriptError: the groups contain mistakes.
    """
    fields = as_fields(node, "write the committed offsets by group, for example {billing: {orders-0: 1200}}")
    with node.document.together():
        found = [fields.tried(partial(_read_group, name=name), None) for name in fields.values]
    return tuple(group for group in found if group is not None)


def _read_group(groups: Fields, name: str) -> GroupSpec:
    fields = as_fields(groups.values[name], "write the committed offsets by partition, for example {orders-0: 1200}")
    with fields.document.together():
        found = [fields.tried(partial(_read_offset, name=each), None) for each in fields.values]
    return GroupSpec(name, tuple(each for each in found if each is not None))


def _read_offset(offsets: Fields, name: str) -> tuple[TopicPartition, int, int]:
    tp, node = as_partition(offsets.key_node(name)), offsets.values[name]
    if not isinstance(node, Fields):
        return tp, as_int(node, 0, MAX_OFFSET), NO_EPOCH
    with node.document.together():
        node.only("offset", "leader-epoch")
        offset = node.read_needed(
            "offset", "write the committed offset, for example 'offset: 1200'", lambda one: as_int(one, 0, MAX_OFFSET), 0
        )
        return tp, offset, node.read("leader-epoch", lambda one: as_int(one, 0, MAX_LEADER_EPOCH), NO_EPOCH)


def groups_as_data(groups: tuple[GroupSpec, ...], flow: Any) -> dict[str, Any]:
    """Convert groups to data in the notation of scripts. `flow` creates a mapping that is written on one line."""
    return {
        group.name: flow(
            (str(tp), offset if epoch == NO_EPOCH else flow({"offset": offset, "leader-epoch": epoch}))
            for tp, offset, epoch in group.offsets
        )
        for group in groups
    }

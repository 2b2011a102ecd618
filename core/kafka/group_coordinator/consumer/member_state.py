"""The states of consumer groups and of their members (Kafka: `ConsumerGroup.ConsumerGroupState`, `MemberState`)."""

from __future__ import annotations

import enum


class ConsumerGroupState(enum.Enum):
    """The states of a group of the consumer protocol."""

    EMPTY = "Empty"
    """The group has no members."""
    ASSIGNING = "Assigning"
    """The group epoch is newer than the target assignment."""
    RECONCILING = "Reconciling"
    """A member has not reached the target assignment."""
    STABLE = "Stable"
    """All members have their target assignment."""


class MemberState(enum.Enum):
    """The states of a member on its way to its target assignment."""

    STABLE = "Stable"
    """The member has its target assignment."""
    UNREVOKED_PARTITIONS = "UnrevokedPartitions"
    """The member must give up partitions, and has not yet reported that it did."""
    UNRELEASED_PARTITIONS = "UnreleasedPartitions"
    """The member is waiting for partitions that other members have not given up yet."""

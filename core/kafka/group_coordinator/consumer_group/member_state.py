"""The states of consumer groups and of their members (Kafka: `ConsumerGroup.ConsumerGroupState`, `MemberState`)."""

from __future__ import annotations

import enum


class ConsumerGroupState(enum.Enum):
    """The states of a group that uses the consumer protocol."""

    EMPTY = "Empty"
    """The group has no members."""
    ASSIGNING = "Assigning"
    """The group epoch is newer than the target assignment."""
    RECONCILING = "Reconciling"
    """At least one member has not reached its target assignment."""
    STABLE = "Stable"
    """All members have their target assignment."""


class MemberState(enum.Enum):
    """The states that a member goes through until it has its target assignment."""

    STABLE = "Stable"
    """The member has its target assignment."""
    UNREVOKED_PARTITIONS = "UnrevokedPartitions"
    """The member must give up partitions, and has not yet reported that it has done so."""
    UNRELEASED_PARTITIONS = "UnreleasedPartitions"
    """The member is waiting for partitions that other members have not given up yet."""

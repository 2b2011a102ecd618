"""The states of a classic group, and the transitions between them (Kafka: `ClassicGroupState`)."""

from __future__ import annotations

import enum
from collections.abc import Mapping
from typing import Final


class GroupState(enum.Enum):
    """The states of a group."""

    EMPTY = "Empty"
    """The group has no members."""
    PREPARING_REBALANCE = "PreparingRebalance"
    """The coordinator is waiting until all members have joined."""
    COMPLETING_REBALANCE = "CompletingRebalance"
    """The coordinator is waiting for the assignment from the leader."""
    STABLE = "Stable"
    """All members have an assignment."""
    DEAD = "Dead"
    """The group was deleted, or another broker coordinates it."""


VALID_PREVIOUS_STATES: Final[Mapping[GroupState, frozenset[GroupState]]] = {
    GroupState.EMPTY: frozenset({GroupState.PREPARING_REBALANCE}),
    GroupState.PREPARING_REBALANCE: frozenset({GroupState.STABLE, GroupState.COMPLETING_REBALANCE, GroupState.EMPTY}),
    GroupState.COMPLETING_REBALANCE: frozenset({GroupState.PREPARING_REBALANCE}),
    GroupState.STABLE: frozenset({GroupState.COMPLETING_REBALANCE}),
    GroupState.DEAD: frozenset(GroupState),
}
"""For each state of a group, the states from which the group can enter it."""

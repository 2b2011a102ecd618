"""`kafka-consumer-groups --list`, with `--state` and `--type` (`ConsumerGroupCommand#listGroups`)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from core.kafka.release import GroupsTool
from scenarios.groups.columns import Column, table
from scenarios.groups.facts import CLASSIC, CONSUMER, Group
from scenarios.groups.row_order import groups_in_hash_order

LEAST: Final = 15
"""The minimum width of the column GROUP."""

CLASSIC_STATES: Final = ("PreparingRebalance", "CompletingRebalance", "Stable", "Dead", "Empty")
"""The states that `--state` accepts, in the order in which its error message lists them."""

ALL_STATES: Final = ("Empty", "Stable", "Reconciling", "Dead", "PreparingRebalance", "CompletingRebalance", "Assigning")
"""The states that `--state` accepts since the introduction of the consumer protocol (4.0)."""

TYPES: Final = (CONSUMER, CLASSIC)
"""The types that `--type` accepts."""


def states_named(tool: GroupsTool, text: str) -> frozenset[str]:
    """Return the states that the option `--state` selects. The Java version of the tool ignores the case of the words.

    Raises:
        ValueError: the value of `--state` has a word that is not a state.
    """
    known = ALL_STATES if tool >= GroupsTool.EPOCHS else CLASSIC_STATES
    words = [word.strip() for word in text.split(",")]
    by_word = {state: state for state in known}
    if tool >= GroupsTool.JAVA:
        words, by_word = [word.lower() for word in words], {state.lower(): state for state in known}
    if any(word not in by_word for word in words):
        raise ValueError(f"Invalid state list '{text}'. Valid states are: {', '.join(known)}")
    return frozenset(by_word[word] for word in words)


def types_named(text: str) -> frozenset[str]:
    """Return the types that the option `--type` selects.

    Raises:
        ValueError: the value of `--type` has a word that is not a type.
    """
    by_word = {each.lower(): each for each in TYPES}
    words = [word.strip().lower() for word in text.split(",")]
    if any(word not in by_word for word in words):
        raise ValueError(f"Invalid types list '{text}'. Valid types are: {', '.join(TYPES)}")
    return frozenset(by_word[word] for word in words)


def list_text(
    tool: GroupsTool,
    groups: Sequence[Group],
    states: frozenset[str] | None = None,
    types: frozenset[str] | None = None,
    *,
    with_states: bool = False,
    with_types: bool = False,
) -> str:
    """Return what `--list` prints.

    Args:
        tool: the version of Kafka's tool, which determines the output format.
        groups: all groups of the cluster.
        states: the states of the groups to list; None for all.
        types: the types of the groups to list; None for all.
        with_states: whether to print each group's state.
        with_types: whether to print each group's type.
    """
    by_name = {
        group.name: group for group in groups if (states is None or group.state in states) and (types is None or group.kind in types)
    }
    names = groups_in_hash_order(by_name)
    if not with_states and not with_types:
        return "".join(f"{name}\n" for name in names)
    java = tool >= GroupsTool.JAVA
    widest = max([LEAST, *map(len, names)])
    columns = [
        Column("GROUP", widest + 10 if java else widest),
        *([Column("TYPE", 20, after=" " if with_states else "")] if with_types else []),
        *([Column("STATE", 20, after="") if java else Column("STATE")] if with_states else []),
    ]
    rows = [(name, *((by_name[name].kind,) if with_types else ()), *((by_name[name].state,) if with_states else ())) for name in names]
    return table(columns, rows)

"""`kafka-consumer-groups --describe`: offsets, members, and states of groups, in the output format of a release
(`ConsumerGroupCommand#describeGroups`).
"""

from __future__ import annotations

import enum
from collections.abc import Iterable, Sequence
from typing import Final

from core.kafka.ids import NO_EPOCH, TopicPartition
from core.kafka.release import GroupsTool
from scenarios.groups.columns import MISSING, Column, or_missing, table
from scenarios.groups.errors import leaderless
from scenarios.groups.facts import CONSUMER, REBALANCING, Brokers, Committed, Group, Member, Printed
from scenarios.groups.row_order import by_number_of_partitions, members_in_order, owned_in_order, unowned_in_order

LEAST: Final = 15
"""The minimum width of most columns."""

NO_MEMBER: Final = Member("", "", "")
"""The text that is printed in the owner column if a partition has no owner."""


class View(enum.Enum):
    """The view of a group that `--describe` prints."""

    OFFSETS = "offsets"
    MEMBERS = "members"
    STATE = "state"


def describe(tool: GroupsTool, groups: Sequence[Group], brokers: Brokers, view: View = View.OFFSETS, *, verbose: bool = False) -> Printed:
    """Return what `--describe` prints for groups.

    Args:
        tool: the version of Kafka's tool, which determines the output format.
        groups: the groups to describe, which the tool prints in the order of their names.
        brokers: the offsets that the brokers report for the partitions.
        view: the kind of information to print.
        verbose: the option `--verbose`.
    """
    out, err = "", ""
    ordered = sorted(groups, key=lambda group: group.name)
    if view is View.OFFSETS and tool < GroupsTool.SORTED:
        without = sorted(tp for group in ordered for tp in partitions_of(group) if brokers.log_ends.get(tp) is None)
        if without:
            return leaderless(tool, without)
    for group in ordered:
        if tool >= GroupsTool.VIEWS and group.state == "Empty":
            err += f"{_break(tool)}Consumer group '{group.name}' has no active members.\n"
        elif group.state in REBALANCING:
            err += f"{_break(tool)}Warning: Consumer group '{group.name}' is rebalancing.\n"
        if view is View.OFFSETS:
            text = _offsets(tool, group, brokers, verbose=verbose)
            if tool is GroupsTool.JAVA:
                text = text.removesuffix("\n")  # it breaks the line before each row of this table, not after it
        elif view is View.MEMBERS:
            text = _members(tool, group, verbose=verbose)
        else:
            text = _state(tool, group, verbose=verbose)
        out += text and "\n" * (tool >= GroupsTool.FIXED_WIDTHS) + text
    return Printed(out, err)


def partitions_of(group: Group) -> dict[TopicPartition, None]:
    """Return the partitions for which the table has a row: the partitions that are assigned to members, and the partitions with a committed
    offset.
    """
    return dict.fromkeys([*(tp for member in group.members for tp in member.assignment), *group.offsets])


def _break(tool: GroupsTool) -> str:
    return "\n" if tool >= GroupsTool.GROUP_COLUMN else ""


# --- the offsets -----------------------------------------------------------------------------------------------------


def _owners(tool: GroupsTool, group: Group) -> list[tuple[Member, TopicPartition]]:
    """Return the rows: the partitions of the members, and then the partitions that have a committed offset but no owner."""
    rows = [
        (member, tp) for member in by_number_of_partitions(members_in_order(tool, group)) for tp in owned_in_order(tool, member.assignment)
    ]
    owned = {tp for _, tp in rows}
    return [*rows, *((NO_MEMBER, tp) for tp in unowned_in_order(tool, [tp for tp in group.offsets if tp not in owned]))]


def _offsets(tool: GroupsTool, group: Group, brokers: Brokers, *, verbose: bool) -> str:
    rows = [(member, tp, group.offsets.get(tp), brokers.log_ends.get(tp)) for member, tp in _owners(tool, group)]
    if tool is GroupsTool.COMMAS:
        return _with_commas(group, rows)
    if not rows:
        return ""
    measured = tool >= GroupsTool.VIEWS
    epochs = verbose and tool >= GroupsTool.EPOCHS
    columns = [
        *([Column("GROUP", LEAST, grows=True)] if tool >= GroupsTool.GROUP_COLUMN else []),
        Column("TOPIC", LEAST if measured else 30, grows=measured),
        Column("PARTITION", 10),
        *([Column("LEADER-EPOCH", LEAST)] if epochs else []),
        Column("CURRENT-OFFSET", LEAST),
        Column("LOG-END-OFFSET", LEAST),
        Column("LAG", LEAST if measured else 10),
        Column("CONSUMER-ID", LEAST if measured else 50, grows=measured, after=" " if measured else ""),
        Column("HOST", LEAST if measured else 30, grows=measured),
        Column("CLIENT-ID"),
    ]
    cells = [
        (
            *((group.name,) if tool >= GroupsTool.GROUP_COLUMN else ()),
            tp.topic,
            tp.partition,
            *((_epoch(committed),) if epochs else ()),
            MISSING if committed is None else committed.offset,
            or_missing(end),
            _lag(committed, end),
            or_missing(member.member_id),
            or_missing(member.host),
            or_missing(member.client),
        )
        for member, tp, committed, end in rows
    ]
    return table(columns, cells)


def _with_commas(group: Group, rows: Iterable[tuple[Member, TopicPartition, Committed | None, int | None]]) -> str:
    """Return the table in the output format of release 0.9."""
    lines = ["GROUP, TOPIC, PARTITION, CURRENT OFFSET, LOG END OFFSET, LAG, OWNER"]
    for member, tp, committed, end in rows:
        current = "unknown" if committed is None else str(committed.offset)
        lag = "unknown" if committed is None or end is None else str(end - committed.offset)
        owner = f"{member.client}_{member.host}" if member.member_id else "none"
        lines.append(f"{group.name}, {tp.topic}, {tp.partition}, {current}, {'unknown' if end is None else end}, {lag}, {owner}")
    return "".join(f"{line}\n" for line in lines)


def _epoch(committed: Committed | None) -> str:
    return MISSING if committed is None or committed.leader_epoch == NO_EPOCH else str(committed.leader_epoch)


def _lag(committed: Committed | None, end: int | None) -> str:
    return MISSING if committed is None or end is None else str(end - committed.offset)


# --- the members -----------------------------------------------------------------------------------------------------


def _members(tool: GroupsTool, group: Group, *, verbose: bool) -> str:
    members = members_in_order(tool, group)
    if not members and tool < GroupsTool.JAVA:
        return ""
    static = any(member.instance_id for member in members)
    mixed = any(member.upgraded is False for member in members)
    columns = [
        *([Column("GROUP", LEAST, grows=True)] if tool >= GroupsTool.GROUP_COLUMN else []),
        Column("CONSUMER-ID", LEAST, grows=True),
        *([Column("GROUP-INSTANCE-ID", 17, grows=True)] if static else []),
        Column("HOST", LEAST, grows=True),
        Column("CLIENT-ID", LEAST, grows=True),
        Column("#PARTITIONS", LEAST),
    ]
    if verbose:
        columns += _epoch_columns(mixed=mixed) if tool >= GroupsTool.EPOCHS else [Column("ASSIGNMENT")]
    cells = [
        (
            *((group.name,) if tool >= GroupsTool.GROUP_COLUMN else ()),
            member.member_id,
            *((member.instance_id,) if static else ()),
            member.host,
            member.client,
            len(member.assignment),
            *(_assignment_cells(tool, group, member, mixed=mixed) if verbose else ()),
        )
        for member in members
    ]
    return table(columns, cells)


def _epoch_columns(*, mixed: bool) -> list[Column]:
    return [
        Column("CURRENT-EPOCH", LEAST),
        Column("CURRENT-ASSIGNMENT", 20, grows=True),
        Column("TARGET-EPOCH", LEAST),
        Column("TARGET-ASSIGNMENT", 20, grows=True, after=" " if mixed else ""),
        *([Column("UPGRADED")] if mixed else []),
    ]


def _assignment_cells(tool: GroupsTool, group: Group, member: Member, *, mixed: bool) -> tuple[str, ...]:
    by_topic: dict[str, list[int]] = {}
    for tp in sorted(member.assignment):
        by_topic.setdefault(tp.topic, []).append(tp.partition)
    if tool < GroupsTool.EPOCHS:
        named = tool < GroupsTool.JAVA
        return (or_missing(", ".join(sorted(f"{topic * named}({_numbers(numbers)})" for topic, numbers in by_topic.items()))),)
    described = group.kind == CONSUMER
    cells = (
        or_missing(member.epoch if described else None),
        or_missing(_by_topic(member.assignment)),
        or_missing(member.target_epoch if described else None),
        or_missing(_by_topic(member.target or ())),
    )
    return (*cells, "true" if member.upgraded else "false") if mixed else cells


def _by_topic(tps: Iterable[TopicPartition]) -> str:
    """Return partitions in a form such as `orders:0,1;pay:2`."""
    by_topic: dict[str, list[int]] = {}
    for tp in sorted(tps):
        by_topic.setdefault(tp.topic, []).append(tp.partition)
    return ";".join(f"{topic}:{_numbers(numbers)}" for topic, numbers in by_topic.items())


def _numbers(numbers: Iterable[int]) -> str:
    return ",".join(map(str, numbers))


# --- the state -------------------------------------------------------------------------------------------------------


def _state(tool: GroupsTool, group: Group, *, verbose: bool) -> str:
    spaces = "  " if tool >= GroupsTool.JAVA else " "
    coordinator = f"{group.coordinator}{spaces}({group.coordinator_id})"
    assignor = group.assignor or (MISSING if tool >= GroupsTool.EPOCHS else "")
    wide = max(25, len(coordinator))
    epochs = verbose and tool >= GroupsTool.EPOCHS
    columns: list[Column] = []
    if tool >= GroupsTool.EPOCHS:
        columns.append(Column("GROUP", LEAST, grows=True))
    elif tool >= GroupsTool.GROUP_COLUMN:
        columns.append(Column("GROUP", wide))
    columns += [
        Column("COORDINATOR (ID)", 25, grows=True),
        Column("ASSIGNMENT-STRATEGY", 20 if tool >= GroupsTool.GROUP_COLUMN else 25),
        Column("STATE", LEAST if tool in (GroupsTool.GROUP_COLUMN, GroupsTool.JAVA) else 20),
        *([Column("GROUP-EPOCH", LEAST), Column("TARGET-ASSIGNMENT-EPOCH", 25)] if epochs else []),
        Column("#MEMBERS"),
    ]
    named = (group.name,) if tool >= GroupsTool.GROUP_COLUMN else ()
    described = (or_missing(group.epoch), or_missing(group.assignment_epoch)) if epochs else ()
    return table(columns, [(*named, coordinator, assignor, group.state, *described, len(group.members))])

"""`kafka-consumer-groups --reset-offsets --dry-run`: the offsets that a reset would commit (`ConsumerGroupCommand#resetOffsets`)."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Sequence
from typing import Final, NamedTuple

from core.kafka.clients.group_member.offset_reset import BY_DURATION, TO_DATETIME, LogBounds, Target
from core.kafka.clients.group_member.offset_reset import new_offset as offset_after_reset
from core.kafka.ids import NO_OFFSET, TopicPartition
from core.kafka.release import GroupsTool
from scenarios.describe.java_hash_table import hash_order, partition_hash
from scenarios.groups.columns import Column, table
from scenarios.groups.errors import leaderless
from scenarios.groups.facts import INACTIVE, Brokers, Group, Printed
from scenarios.groups.row_order import groups_in_hash_order

NUMBER: Final = re.compile(r"[0-9]{1,18}")
"""Matches a number in an offsets file."""

LOGGERS: Final = {GroupsTool.JAVA: "consumer.group.ConsumerGroupCommand", GroupsTool.SORTED: "OffsetsUtils"}
"""The Kafka classes that log a warning if the requested offset is outside the log."""


class GroupReset(NamedTuple):
    """The reset of one group: the group, the partitions to reset, and the target of the reset."""

    group: Group
    tps: Collection[TopicPartition]
    target: Target


def reset(
    tool: GroupsTool,
    resets: Sequence[GroupReset],
    brokers: Brokers,
    *,
    all_topics: bool = False,
    exports: bool = False,
    several: bool = False,
) -> Printed:
    """Return what a dry run prints.

    The tool processes the groups in the order in which a hash table iterates over them. The tool refuses to reset a group that has members,
    and continues with the next group.

    Args:
        tool: the version of Kafka's tool, which determines the output format.
        resets: the groups to reset.
        brokers: the log start offsets and high watermarks of all partitions to reset.
        all_topics: whether the partitions come from `--all-topics`, in the order of a hash table.
        exports: whether the tool prints the new offsets as lines of an offsets file (`--export`).
        several: whether each line of an offsets file names its group, as with `--all-groups` or with several groups.

    Raises:
        ValueError: `shift-by` is used for a partition without a committed offset.
    """
    offsets: list[tuple[str, dict[TopicPartition, int]]] = []
    notes = ""
    warnings: list[str] = []
    by_name = {each.group.name: each for each in resets}
    for name in groups_in_hash_order(by_name):
        group, tps, target = by_name[name]
        if group.state not in INACTIVE:
            notes += f"\nError: Assignments can only be reset if the group '{name}' is inactive, but the current state is {group.state}.\n"
            offsets.append((name, {}))
            continue
        without = sorted(tp for tp in tps if brokers.log_ends.get(tp) is None)
        if without:
            return leaderless(tool, without)
        in_order = tool < GroupsTool.JAVA and not all_topics
        ordered = sorted(tps) if in_order else hash_order(sorted(tps, reverse=all_topics), partition_hash)
        offsets.append((name, {tp: new_offset(group, tp, brokers, target, warnings.append) for tp in ordered}))
        falls_back = tool >= GroupsTool.JAVA and target.option in (TO_DATETIME, BY_DURATION)
        notes += "".join(
            f"\nWarn: Partition {tp.partition} from topic {tp.topic} is empty. Falling back to latest known offset.\n"
            for tp in ordered
            if falls_back and brokers.at_time.get(tp, NO_OFFSET) == NO_OFFSET
        )
    logger = LOGGERS[GroupsTool.SORTED if tool >= GroupsTool.SORTED else GroupsTool.JAVA]
    logged = "".join(f"WARN org.apache.kafka.tools.{logger} - {warning}\n" for warning in warnings)
    out = export(offsets, several=several) if exports else _rows(tool, offsets)
    return Printed(notes + out, logged if tool >= GroupsTool.JAVA else "")


def new_offset(group: Group, tp: TopicPartition, brokers: Brokers, target: Target, warn: Callable[[str], None]) -> int:
    """Return the new offset of a partition that has a leader.

    Raises:
        ValueError: `shift-by` is used for a partition without a committed offset.
    """
    end, committed = brokers.log_ends[tp], group.offsets.get(tp)
    assert end is not None, "checked before"
    bounds = LogBounds(brokers.log_starts[tp], end, brokers.at_time.get(tp, NO_OFFSET))
    return offset_after_reset(target, tp, bounds, None if committed is None else committed.offset, warn)


def export(groups: Sequence[tuple[str, dict[TopicPartition, int]]], *, several: bool) -> str:
    """Return the lines of `--export`: topic, partition, and offset, preceded by the group if there are several groups."""
    lines = [
        f"{name + ',' if several else ''}{tp.topic},{tp.partition},{offset}\n" for name, offsets in groups for tp, offset in offsets.items()
    ]
    return "".join(lines) + "\n"


def read_offsets(text: str, groups: Sequence[str], *, several: bool) -> dict[str, dict[TopicPartition, int]]:
    """Parse the lines of a file for `--from-file`, which have the format of `--export`, and return the offsets, keyed by group.

    Args:
        text: the lines of the file.
        groups: the groups whose lines in the file are used.
        several: whether each line must name its group. If the file resets only one group, a line can omit the name of the group.

    Raises:
        ValueError: a line is invalid. The error message contains the line number.
    """
    found: dict[str, dict[TopicPartition, int]] = {name: {} for name in groups}
    for number, line in enumerate(text.splitlines(), 1):
        cells = [cell.strip() for cell in line.split(",")]
        if cells == [""]:
            continue
        if len(cells) == 3 and not several:
            cells.insert(0, groups[0])
        if len(cells) != 4 or not NUMBER.fullmatch(cells[2]) or not NUMBER.fullmatch(cells[3].removeprefix("-")):
            wanted = "group,topic,partition,offset" if several else "topic,partition,offset"
            raise ValueError(f"line {number}: write {wanted}, for example {'g,' if several else ''}orders,0,100")
        if cells[0] in found:
            found[cells[0]][TopicPartition(cells[1], int(cells[2]))] = int(cells[3])
    return found


def _rows(tool: GroupsTool, groups: Sequence[tuple[str, dict[TopicPartition, int]]]) -> str:
    measured, named = tool >= GroupsTool.SORTED, tool >= GroupsTool.GROUP_COLUMN
    least = 15 if measured else 30
    columns = [
        *([Column("GROUP", least, grows=measured)] if named else []),
        Column("TOPIC", least, grows=measured),
        Column("PARTITION", 10),
        Column("NEW-OFFSET") if measured else Column("NEW-OFFSET", 15, after=""),
    ]
    return "\n" + table(columns, [(*((name,) if named else ()), *tp, offset) for name, offsets in groups for tp, offset in offsets.items()])

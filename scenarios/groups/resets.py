"""`kafka-consumer-groups --reset-offsets --dry-run`: the offsets that a reset would commit (`ConsumerGroupCommand#resetOffsets`)."""

from __future__ import annotations

from collections.abc import Callable, Collection
from typing import Final, NamedTuple

from core.kafka.ids import TopicPartition
from core.kafka.release import GroupsTool
from scenarios.describe.java_hash_table import hash_order, partition_hash
from scenarios.groups.columns import Column, table
from scenarios.groups.errors import leaderless
from scenarios.groups.facts import INACTIVE, Brokers, Group, Printed


class Target(NamedTuple):
    """The target of a reset.

    Attributes:
        option: `to-offset`, `to-earliest`, `to-latest`, `to-current`, or `shift-by`.
        number: the value of `to-offset` and `shift-by`.
    """

    option: str
    number: int = 0


LOGGERS: Final = {GroupsTool.JAVA: "consumer.group.ConsumerGroupCommand", GroupsTool.SORTED: "OffsetsUtils"}
"""The classes that log a warning about an offset outside of the log."""


def reset(tool: GroupsTool, group: Group, tps: Collection[TopicPartition], brokers: Brokers, target: Target) -> Printed:
    """Return what a dry run prints.

    Args:
        tool: the form of the output.
        group: the group.
        tps: the partitions to reset.
        brokers: the log start offsets and high watermarks of these partitions.
        target: the target of the reset.

    Raises:
        ValueError: `shift-by` for a partition without a committed offset.
    """
    if group.state not in INACTIVE:
        refused = (
            f"\nError: Assignments can only be reset if the group '{group.name}' is inactive, but the current state is {group.state}.\n"
        )
        return Printed(refused + _rows(tool, group.name, {}))
    without = sorted(tp for tp in tps if brokers.log_ends.get(tp) is None)
    if without:
        return leaderless(tool, without)
    ordered = sorted(tps) if tool < GroupsTool.JAVA else hash_order(sorted(tps), partition_hash)
    warnings: list[str] = []
    offsets = {tp: new_offset(group, tp, brokers, target, warnings.append) for tp in ordered}
    logger = LOGGERS[GroupsTool.SORTED if tool >= GroupsTool.SORTED else GroupsTool.JAVA]
    logged = "".join(f"WARN org.apache.kafka.tools.{logger} - {warning}\n" for warning in warnings)
    return Printed(_rows(tool, group.name, offsets), logged if tool >= GroupsTool.JAVA else "")


def new_offset(group: Group, tp: TopicPartition, brokers: Brokers, target: Target, warn: Callable[[str], None]) -> int:
    """Return the new offset of a partition. An offset outside of the log becomes the nearest one inside (`#checkOffsetsRange`).

    Raises:
        ValueError: `shift-by` for a partition without a committed offset.
    """
    start, end = brokers.log_starts[tp], brokers.log_ends[tp]
    assert end is not None, "checked before"
    committed = group.offsets.get(tp)
    if target.option == "to-earliest":
        return start
    if target.option == "to-latest":
        return end
    if target.option == "to-current":
        return end if committed is None else committed.offset
    if target.option == "shift-by" and committed is None:
        raise ValueError(f"Cannot shift offset for partition {tp} since there is no current committed offset")
    wanted = target.number + (committed.offset if target.option == "shift-by" and committed is not None else 0)
    if wanted > end:
        warn(f"New offset ({wanted}) is higher than latest offset for topic partition {tp}. Value will be set to {end}")
        return end
    if wanted < start:
        warn(f"New offset ({wanted}) is lower than earliest offset for topic partition {tp}. Value will be set to {start}")
        return start
    return wanted


def _rows(tool: GroupsTool, group: str, offsets: dict[TopicPartition, int]) -> str:
    measured, named = tool >= GroupsTool.SORTED, tool >= GroupsTool.GROUP_COLUMN
    least = 15 if measured else 30
    columns = [
        *([Column("GROUP", least, grows=measured)] if named else []),
        Column("TOPIC", least, grows=measured),
        Column("PARTITION", 10),
        Column("NEW-OFFSET") if measured else Column("NEW-OFFSET", 15, after=""),
    ]
    return "\n" + table(columns, [(*((group,) if named else ()), *tp, offset) for tp, offset in offsets.items()])

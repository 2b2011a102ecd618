"""`kafka-consumer-groups --delete-offsets` and `--delete`: what the tool prints (`ConsumerGroupCommand#deleteOffsets`, `#deleteGroups`)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

from core.kafka.ids import TopicPartition
from core.kafka.release import GroupsTool
from scenarios.groups.columns import Column, table
from scenarios.groups.errors import ERRORS
from scenarios.groups.facts import INACTIVE, Group, Printed

NOT_FOUND: Final = f"{ERRORS}GroupIdNotFoundException: The group id does not exist."
NOT_EMPTY: Final = f"{ERRORS}GroupNotEmptyException: The group is not empty."
SUBSCRIBED: Final = f"{ERRORS}GroupSubscribedToTopicException: Deleting offsets of a topic is forbidden while the consumer group is actively subscribed to it."
UNKNOWN_TOPIC: Final = f"{ERRORS}UnknownTopicOrPartitionException: This server does not host this topic-partition."


def delete_groups(tool: GroupsTool, names: Sequence[str], groups: Mapping[str, Group]) -> Printed:
    """Return what `--delete` prints.

    Args:
        tool: the version of Kafka's tool, which determines the output format.
        names: the groups to delete.
        groups: the groups that exist.
    """
    errors = {
        name: NOT_FOUND if name not in groups else NOT_EMPTY for name in names if name not in groups or groups[name].state not in INACTIVE
    }
    deleted = ", ".join(f"'{name}'" for name in names if name not in errors)
    if not errors:
        return Printed(f"Deletion of requested consumer groups ({deleted}) was successful.\n")
    before = "" if tool >= GroupsTool.JAVA else "java.util.concurrent.ExecutionException: "
    lines = "".join(f"* Group '{name}' could not be deleted due to: {before}{error}\n" for name, error in errors.items())
    also = f"\nThese consumer groups were deleted successfully: {deleted}\n" if deleted else ""
    return Printed(f"\nError: Deletion of some consumer groups failed:\n{lines}{also}")


def delete_offsets(
    tool: GroupsTool, name: str, group: Group | None, topics: Sequence[str], tps: Sequence[TopicPartition], subscribed: frozenset[str]
) -> Printed:
    """Return what `--delete-offsets` prints.

    Args:
        tool: the version of Kafka's tool, which determines the output format.
        name: the group ID.
        group: what is known about the group; None if it does not exist.
        topics: the values of `--topic`. Each value is a topic, or a topic with partition numbers, such as `orders:0,1`.
        tps: the existing partitions of the topics in `topics`.
        subscribed: the topics to which members of the group subscribe.
    """
    java = tool >= GroupsTool.JAVA
    rows: dict[tuple[str, str], str] = {}
    for text in topics:
        topic, _, numbers = text.partition(":")
        if not any(tp.topic == topic for tp in tps):
            for number in numbers.split(",") if numbers else ("-" if java else "Not Provided",):
                rows[topic, number] = f"Error: {UNKNOWN_TOPIC}"
    for tp in sorted(tps):
        error = NOT_FOUND if group is None else SUBSCRIBED if tp.topic in subscribed else ""
        rows[tp.topic, str(tp.partition)] = f"Error: {error}" if error else "Successful"
    if group is None:
        head = "\nError: The group id does not exist." if java else f"\nError: '{name}' does not exist."
    elif any(tp.topic in subscribed for tp in tps):
        head = "\nError: Encountered some partition-level error, see the follow-up details." if java else (
            "\nError: Encounter some partition level error, see the follow-up details:"
        )  # fmt: skip
    elif java:
        head = f"Request succeeded for deleting offsets from group {name}."
    else:
        head = f"Request succeed for deleting offsets with topic {', '.join(topics)} group {name}"
    columns = (
        [Column("TOPIC", 15, grows=True), Column("PARTITION", 10), Column("STATUS", 15, after="")]
        if java
        else [Column("TOPIC", 30), Column("PARTITION", 15), Column("STATUS", 15, after="")]
    )
    return Printed(f"{head}\n\n" + table(columns, [(*key, status) for key, status in sorted(rows.items(), key=lambda row: row[0])]))

"""The options --reset-offsets, --delete-offsets, and --delete of `isrlab groups`. In Kafka's tool, options with these names change
committed offsets. In isrlab, the options only print what Kafka's tool would print.
"""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import TYPE_CHECKING, Final

from core.kafka.clients.group_member.offset_reset import (
    BY_DURATION,
    FROM_FILE,
    SHIFT_BY,
    TO_CURRENT,
    TO_DATETIME,
    TO_EARLIEST,
    TO_LATEST,
    TO_OFFSET,
    Target,
    moment,
    moment_before,
)
from core.kafka.ids import TopicPartition
from scenarios.errors import InputError
from scenarios.groups.cluster_facts import brokers_of, subscribed_topics
from scenarios.groups.deletions import delete_groups, delete_offsets
from scenarios.groups.errors import no_coordinator, unknown_partitions, unknown_topic
from scenarios.groups.facts import INACTIVE, Group, Printed
from scenarios.groups.resets import NUMBER, GroupReset, read_offsets, reset

if TYPE_CHECKING:
    from core.lab.cluster import Cluster
    from scenarios.groups.cluster_facts import Coordinators

OPTIONS: Final = (TO_OFFSET, TO_EARLIEST, TO_LATEST, TO_CURRENT, SHIFT_BY, TO_DATETIME, BY_DURATION, FROM_FILE)
"""The options that choose the new offsets of a reset."""

MAX_FILE: Final = 10_000_000
"""The maximum size of a file with offsets, in bytes."""


def reset_text(arguments: argparse.Namespace, cluster: Cluster, coordinators: Coordinators) -> Printed:
    """Return what a dry run of a reset prints.

    Raises:
        InputError: an option or the file with offsets is invalid.
    """
    tool = cluster.release.groups_tool
    if not cluster.release.groups_tool_resets:
        raise InputError(
            f"--reset-offsets: kafka-consumer-groups of {cluster.release.name} does not have this option; use 0.11 or later (KIP-122)"
        )
    names = list(coordinators.groups) if arguments.all_groups else list(dict.fromkeys(arguments.group))
    several = arguments.all_groups or len(names) > 1
    targets = _targets(arguments, cluster.now, names, several=several)
    if not all(coordinators.coordinates(name) for name in names):
        return no_coordinator(tool)
    resets = []
    for name, target in targets.items():
        group = coordinators.groups.get(name, Group(name, "Dead", "", 0))
        if group.state in INACTIVE and (error := _unknown(arguments, cluster)) is not None:
            return error
        resets.append(GroupReset(group, _scope(arguments, cluster, group, target), target))
    tps = dict.fromkeys(tp for each in resets for tp in each.tps)
    moments = [target.number for target in targets.values() if target.option in (TO_DATETIME, BY_DURATION)]
    brokers = brokers_of(cluster, tps, moments[0] if moments else None)
    try:
        return reset(tool, resets, brokers, all_topics=arguments.all_topics, exports=arguments.export, several=several)
    except ValueError as wrong:
        raise InputError(str(wrong)) from None


def _scope(arguments: argparse.Namespace, cluster: Cluster, group: Group, target: Target) -> list[TopicPartition]:
    """Return the partitions for which to reset the offsets of a group.

    Raises:
        InputError: a partition does not exist.
    """
    if target.option == FROM_FILE:
        tps = [tp for tp, _ in target.offsets]
        unknown = [tp for tp in tps if tp not in cluster.controller.registry.partitions]
        if unknown:
            raise InputError(f"--from-file: there is no partition {unknown[0]}")
        return tps
    if arguments.all_topics:
        topics = {tp.topic for tp in group.offsets}
        return sorted(tp for tp in cluster.controller.registry.partitions if tp.topic in topics)
    return _partitions(arguments, cluster)


def _unknown(arguments: argparse.Namespace, cluster: Cluster) -> Printed | None:
    """Return what the tool prints if a topic or a partition of --topic does not exist; None if all exist."""
    known, tool = cluster.controller.registry.partitions, cluster.release.groups_tool
    topics = {tp.topic for tp in known}
    missing: list[TopicPartition] = []
    for text in arguments.topic or ():
        topic, _, numbers = text.partition(":")
        if topic not in topics:
            return unknown_topic(tool)
        for number in numbers.split(",") if numbers else ():
            if not NUMBER.fullmatch(number) or number != str(int(number)):
                raise InputError(f"--topic: write partitions as numbers, for example {topic[:80]}:0,1")
            tp = TopicPartition(topic, int(number))
            if tp not in known:
                missing.append(tp)
    return unknown_partitions(tool, missing) if missing else None


def _targets(arguments: argparse.Namespace, now: int, groups: list[str], *, several: bool) -> dict[str, Target]:
    """Return the target of the reset for each group. Groups have different targets only if the targets come from a file."""
    given = [option for option in OPTIONS if getattr(arguments, option.replace("-", "_")) not in (None, False)]
    if len(given) != 1:
        raise InputError(f"--reset-offsets: give one of {', '.join('--' + option for option in OPTIONS)}")
    option = given[0]
    value = getattr(arguments, option.replace("-", "_"))
    target = Target(option)
    if option in (TO_OFFSET, SHIFT_BY):
        try:
            target = Target(option, int(value))
        except ValueError:
            raise InputError(f"--{option}: write a whole number, for example 0") from None
    try:
        if option == TO_DATETIME:
            target = Target(option, moment(value))
        elif option == BY_DURATION:
            target = Target(option, moment_before(now, value))
        elif option == FROM_FILE:
            lines = read_offsets(_read(value), groups, several=several)
            return {name: Target(option, 0, tuple(lines[name].items())) for name in groups}
    except ValueError as wrong:
        raise InputError(f"--{option}: {wrong}") from None
    return dict.fromkeys(groups, target)


def _read(name: str) -> str:
    """Return the text of a file with offsets.

    Raises:
        ValueError: the file cannot be read, or is too large.
    """
    try:
        path = Path(name)
        if path.stat().st_size > MAX_FILE:
            raise ValueError("the file is larger than 10 MB")
        return path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as wrong:
        reason = "it is not a text file" if isinstance(wrong, UnicodeDecodeError) else wrong.strerror
        raise ValueError(f"cannot read {name[:200]!r}: {reason}") from None


def _partitions(arguments: argparse.Namespace, cluster: Cluster) -> list[TopicPartition]:
    """Return the existing partitions that --topic names."""
    tps: dict[TopicPartition, None] = {}
    for text in arguments.topic:
        topic, _, numbers = text.partition(":")
        known = cluster.controller.registry.partitions
        found = [tp for tp in known if tp.topic == topic and (not numbers or str(tp.partition) in numbers.split(","))]
        tps.update(dict.fromkeys(found))
    return list(tps)


def deletion_text(arguments: argparse.Namespace, cluster: Cluster, coordinators: Coordinators) -> Printed:
    """Return what the tool would print when it deletes offsets or groups. This function deletes nothing; to delete offsets or a group, use
    the acts `delete-offsets` and
    `delete-group`.
    """
    tool = cluster.release.groups_tool
    names = list(coordinators.groups) if arguments.all_groups else list(dict.fromkeys(arguments.group))
    if not all(coordinators.coordinates(name) for name in names):
        return no_coordinator(tool)
    if arguments.delete:
        return delete_groups(tool, names, coordinators.groups)
    tps = _partitions(arguments, cluster)
    return delete_offsets(tool, names[0], coordinators.groups.get(names[0]), arguments.topic, tps, subscribed_topics(cluster, names[0]))

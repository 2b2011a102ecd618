"""The options --reset-offsets, --delete-offsets, and --delete of `isrlab groups`. In Kafka they change offsets; here they only print what
the tool would print.
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
from scenarios.groups.errors import no_coordinator
from scenarios.groups.facts import Group, Printed
from scenarios.groups.resets import read_offsets, reset

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
        InputError: an option or the file is wrong.
    """
    tool, name = cluster.release.groups_tool, arguments.group[0]
    if not cluster.release.groups_tool_resets:
        raise InputError(f"--reset-offsets: kafka-consumer-groups of {cluster.release.name} does not have it; use 0.11 or later (KIP-122)")
    target = _target(arguments, cluster.now, name)
    if not coordinators.coordinates(name):
        return no_coordinator(tool)
    group = coordinators.groups.get(name, Group(name, "Dead", "", 0))
    if target.option == FROM_FILE:
        tps = [tp for tp, _ in target.offsets]
        unknown = [tp for tp in tps if tp not in cluster.controller.replication.partitions]
        if unknown:
            raise InputError(f"--from-file: there is no partition {unknown[0]}")
    elif arguments.all_topics:
        topics = {tp.topic for tp in group.offsets}
        tps = sorted(tp for tp in cluster.controller.replication.partitions if tp.topic in topics)
    else:
        tps = _partitions(arguments, cluster)
    at = target.number if target.option in (TO_DATETIME, BY_DURATION) else None
    try:
        return reset(tool, group, tps, brokers_of(cluster, tps, at), target, all_topics=arguments.all_topics, exports=arguments.export)
    except ValueError as wrong:
        raise InputError(str(wrong)) from None


def _target(arguments: argparse.Namespace, now: int, group: str) -> Target:
    given = [option for option in OPTIONS if getattr(arguments, option.replace("-", "_")) not in (None, False)]
    if len(given) != 1:
        raise InputError(f"--reset-offsets: give one of {', '.join('--' + option for option in OPTIONS)}")
    option = given[0]
    value = getattr(arguments, option.replace("-", "_"))
    if option in (TO_OFFSET, SHIFT_BY):
        try:
            return Target(option, int(value))
        except ValueError:
            raise InputError(f"--{option}: write a whole number, for example 0") from None
    try:
        if option == TO_DATETIME:
            return Target(option, moment(value))
        if option == BY_DURATION:
            return Target(option, moment_before(now, value))
        if option == FROM_FILE:
            return Target(option, 0, tuple(read_offsets(_read(value), [group])[group].items()))
    except ValueError as wrong:
        raise InputError(f"--{option}: {wrong}") from None
    return Target(option)


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


def _partitions(arguments: argparse.Namespace, cluster: Cluster, *, must_exist: bool = True) -> list[TopicPartition]:
    """Return the partitions that --topic names.

    Raises:
        InputError: a topic or partition does not exist, although it must.
    """
    tps: dict[TopicPartition, None] = {}
    for text in arguments.topic:
        topic, _, numbers = text.partition(":")
        known = cluster.controller.replication.partitions
        found = [tp for tp in known if tp.topic == topic and (not numbers or str(tp.partition) in numbers.split(","))]
        if not found and must_exist:
            raise InputError(f"--topic: there is no partition '{text[:80]}'")
        tps.update(dict.fromkeys(found))
    return list(tps)


def deletion_text(arguments: argparse.Namespace, cluster: Cluster, coordinators: Coordinators) -> Printed:
    """Return what the tool would print when it deletes offsets or groups. Nothing is deleted here; use the acts `delete-offsets` and
    `delete-group`.
    """
    tool, names = cluster.release.groups_tool, list(dict.fromkeys(arguments.group))
    if not all(coordinators.coordinates(name) for name in names):
        return no_coordinator(tool)
    if arguments.delete:
        return delete_groups(tool, names, coordinators.groups)
    tps = _partitions(arguments, cluster, must_exist=False)
    return delete_offsets(tool, names[0], coordinators.groups.get(names[0]), arguments.topic, tps, subscribed_topics(cluster, names[0]))

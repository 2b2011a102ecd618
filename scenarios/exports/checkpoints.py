"""Writes a cluster's checkpoint files, as they are at one moment, to a directory tree, and reads such trees.

The tree has a directory `broker-1/log-dir-1/` for each online log directory, with the files that Kafka writes to it. A tree that was copied
from real brokers can also be read. A cluster can be built from a directory tree, and two directory trees can be compared.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from core.kafka.broker.disk import Disk
from core.kafka.ids import TopicPartition
from core.kafka.log import checkpoint_files
from core.kafka.log.leader_epoch_cache import format_checkpoint, parse_checkpoint
from core.kafka.topic_spec import PartitionSpec, TopicSpec
from core.lab.cluster import Cluster
from core.lab.spec import BrokerSpec, ClusterSpec
from scenarios.errors import InputError
from scenarios.io import text_file
from scenarios.io.output_files import atomic_entries, cannot_be_written

MAX_FILES: Final = 1_100_000
"""The maximum number of files in a tree: one for each of a million replicas, and several for each log directory."""

MAX_BYTES: Final = 32 * 1024 * 1024
"""The maximum size of a file in a tree, in bytes. A file with the offsets of 200,000 partitions is about 8 MB in size."""

_DEEPEST: Final = 3
_DIRECTORY: Final = re.compile(r"broker-(\d{1,10})/log-dir-(\d{1,3})")
_PARTITION: Final = re.compile(r"([A-Za-z0-9._-]+)-(\d{1,9})")

Tree = dict[str, dict[str, str]]
"""The contents of the files, keyed by log directory (`broker-1/log-dir-1`) and then by path within that directory."""


def tree_of(cluster: Cluster) -> Tree:
    """Return the files in every online log directory of a cluster."""
    found: Tree = {}
    cluster_id = checkpoint_files.uuid(f"cluster-{cluster.seed}")
    for broker in cluster.brokers.values():
        for number in range(1, len(broker.disk.dirs) + 1):
            files = files_of(broker.disk, broker.id, broker.context.broker_epoch, number, cluster_id)
            if files:
                found[f"broker-{broker.id}/log-dir-{number}"] = files
    return found


def files_of(disk: Disk, broker: int, broker_epoch: int, number: int, cluster_id: str) -> dict[str, str]:
    """Return the current files of one log directory, keyed by their paths within the directory. An offline directory has no files."""
    directory = disk.dirs[number - 1]
    if not directory.online:
        return {}
    here = [tp for tp in disk.in_dir(number) if tp in disk.logs]
    files = {checkpoint_files.META_PROPERTIES: checkpoint_files.format_meta_properties(broker, directory.directory_id, cluster_id)}
    for name, offsets in zip(
        checkpoint_files.OFFSET_FILES, (disk.high_watermarks, disk.recovery_points, disk.log_starts, disk.cleaner_offsets), strict=True
    ):
        files[name] = checkpoint_files.format_offsets({tp: offsets[tp] for tp in here if tp in offsets})
    if disk.clean_shutdown:
        files[checkpoint_files.CLEAN_SHUTDOWN] = f'{{"version":0,"brokerEpoch":{broker_epoch}}}\n'
    for tp in here:
        files[f"{tp.topic}-{tp.partition}/{checkpoint_files.LEADER_EPOCHS}"] = format_checkpoint(disk.logs[tp].epochs.entries())
    return files


def write_tree(tree: Tree, root: str | Path) -> int:
    """Write a tree to a directory, and return the number of files.

    Raises:
        InputError: the directory cannot be written, or is not empty.
    """
    root = Path(root)
    try:
        if root.exists() and any(root.iterdir()):
            raise InputError(f"{root}: the directory is not empty; name a new one")
    except (OSError, ValueError) as wrong:
        raise InputError(f"{root}: cannot be written: {(isinstance(wrong, OSError) and wrong.strerror) or wrong}") from None
    with atomic_entries(root) as part:
        try:
            for directory, files in tree.items():
                for path, text in files.items():
                    target = part / directory / path
                    target.parent.mkdir(parents=True, exist_ok=True)
                    target.write_text(text, encoding="utf-8", newline="\n")
        except OSError as wrong:
            raise cannot_be_written(root, wrong) from None
    return sum(map(len, tree.values()))


def read_tree(root: str | Path) -> Tree:
    """Read a tree, and check the format of every file.

    Raises:
        InputError: the directory is not a tree of checkpoint files, or a file in it is invalid. The error message names the file and the
            line.
    """
    root = Path(root)
    found: Tree = {}
    try:
        for count, path in enumerate(_files(root, 0), start=1):
            if count > MAX_FILES:
                raise InputError(f"{root}: more than {MAX_FILES:,} files, which is the maximum")
            where = path.relative_to(root).as_posix()
            directory, _, name = where.partition("/log-dir-")
            number, _, name = name.partition("/")
            directory = f"{directory}/log-dir-{number}"
            if _DIRECTORY.fullmatch(directory) is None:
                raise InputError(f"{path}: unexpected file; a directory tree contains broker-N/log-dir-N/…")
            text = text_file.read_text(path, most=MAX_BYTES)
            try:
                _check(name, text)
            except ValueError as wrong:
                raise InputError(f"{path}: {wrong}") from None
            found.setdefault(directory, {})[name] = text
    except OSError as wrong:
        raise InputError(f"{root}: cannot be read: {wrong.strerror or wrong}") from None
    if not found:
        raise InputError(f"{root}: the directory contains no log directory; a directory tree contains broker-N/log-dir-N/…")
    return dict(sorted(found.items()))


def _files(folder: Path, depth: int) -> Iterator[Path]:
    """Yield the files in a folder and its subfolders, sorted by name. Links to folders are not followed."""
    with os.scandir(folder) as entries:
        inside = sorted(entries, key=lambda entry: entry.name)
    for entry in inside:
        if entry.is_file():
            yield Path(entry.path)
        elif not entry.is_dir(follow_symlinks=False):
            raise InputError(f"{entry.path}: not a regular file; a directory tree contains broker-N/log-dir-N/… with regular files")
        elif depth < _DEEPEST:
            yield from _files(Path(entry.path), depth + 1)
        else:
            raise InputError(f"{entry.path}: unexpected directory; a directory tree contains broker-N/log-dir-N/topic-N/…")


def _check(name: str, text: str) -> None:
    if name in checkpoint_files.OFFSET_FILES:
        checkpoint_files.parse_offsets(text, name)
    elif name == checkpoint_files.META_PROPERTIES:
        checkpoint_files.parse_meta_properties(text)
    elif name.endswith("/" + checkpoint_files.LEADER_EPOCHS):
        parse_checkpoint(text)
        if _PARTITION.fullmatch(name.partition("/")[0]) is None:
            raise ValueError("the directory of a partition is named topic-number, for example orders-0")


def differences(tree: Tree, other: Tree) -> list[str]:
    """Return the differences between two trees, one per line. The comparison ignores comments and the order of entries."""
    told = []
    for directory in sorted({*tree, *other}):
        mine, theirs = tree.get(directory), other.get(directory)
        if mine is None or theirs is None:
            told.append(f"{directory}: only in the {'second' if mine is None else 'first'} directory")
            continue
        for name in sorted({*mine, *theirs}):
            before, after = _entries(name, mine.get(name)), _entries(name, theirs.get(name))
            for key in sorted({*before, *after}):
                if before.get(key) != after.get(key):
                    subject = f"{name}: {key}".rstrip(": ")
                    told.append(
                        f"{directory}/{subject}: {before.get(key, 'nothing')} in the first directory, {after.get(key, 'nothing')} in the second"
                    )
    return told


def _entries(name: str, text: str | None) -> dict[str, str]:
    if text is None:
        return {}
    if name in checkpoint_files.OFFSET_FILES:
        return {str(tp): str(offset) for tp, offset in checkpoint_files.parse_offsets(text, name).items()}
    if name == checkpoint_files.META_PROPERTIES:
        return checkpoint_files.parse_meta_properties(text)
    if name.endswith(checkpoint_files.LEADER_EPOCHS):
        return {"": ", ".join(f"{epoch}@{start}" for epoch, start in parse_checkpoint(text)) or "no epochs"}
    return {"": text.strip()}


def spec_of(tree: Tree) -> ClusterSpec:
    """Return a cluster with the brokers, log directories, and replicas found in a directory tree.

    A directory tree does not show the preferred replicas, so the replica on the broker with the lowest id becomes the preferred one.

    Raises:
        InputError: the tree lacks a partition of a topic.
    """
    dirs: dict[int, int] = {}
    replicas: dict[TopicPartition, list[int]] = {}
    for directory, files in tree.items():
        match = _DIRECTORY.fullmatch(directory)
        assert match is not None
        broker, number = int(match[1]), int(match[2])
        dirs[broker] = max(dirs.get(broker, 0), number)
        for name in files:
            placed = _PARTITION.fullmatch(name.partition("/")[0])
            if name.endswith("/" + checkpoint_files.LEADER_EPOCHS) and placed is not None:
                replicas.setdefault(TopicPartition(placed[1], int(placed[2])), []).append(broker)
    topics: dict[str, list[PartitionSpec]] = {}
    for tp in sorted(replicas):
        placed_so_far = topics.setdefault(tp.topic, [])
        if tp.partition != len(placed_so_far):
            raise InputError(
                f"topic {tp.topic} has partition {tp.partition} but no partition {len(placed_so_far)}; a log directory is missing"
            )
        placed_so_far.append(PartitionSpec(tuple(sorted(set(replicas[tp])))))
    return ClusterSpec(
        brokers=tuple(BrokerSpec(broker, log_dirs=dirs[broker]) for broker in sorted(dirs)),
        topics=tuple(
            TopicSpec(topic, replication_factor=len(placed[0].replicas), assignment=tuple(placed)) for topic, placed in topics.items()
        ),
    )

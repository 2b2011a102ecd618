"""The text files that a broker keeps in a log directory next to the segments. This module formats and parses checkpoint files in Kafka's
own formats.

`replication-offset-checkpoint` (high watermarks), `recovery-point-offset-checkpoint`, and `log-start-offset-checkpoint` share one format
(Kafka: `OffsetCheckpointFile`). `leader-epoch-checkpoint` is in `leader_epoch_cache`.
"""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Mapping
from typing import Final

from core.kafka.ids import TopicPartition

HIGH_WATERMARKS: Final = "replication-offset-checkpoint"
RECOVERY_POINTS: Final = "recovery-point-offset-checkpoint"
LOG_STARTS: Final = "log-start-offset-checkpoint"
CLEANER_OFFSETS: Final = "cleaner-offset-checkpoint"
CLEAN_SHUTDOWN: Final = ".kafka_cleanshutdown"
META_PROPERTIES: Final = "meta.properties"
LEADER_EPOCHS: Final = "leader-epoch-checkpoint"
"""The name of the leader-epoch file in each partition's directory."""

OFFSET_FILES: Final = (HIGH_WATERMARKS, RECOVERY_POINTS, LOG_STARTS, CLEANER_OFFSETS)
"""The files that contain one offset per partition."""


def format_offsets(offsets: Mapping[TopicPartition, int]) -> str:
    """Return the text of an offset checkpoint file: version 0, the number of entries, and then one line `topic partition offset` per
    entry."""
    lines = [f"{tp.topic} {tp.partition} {offset}\n" for tp, offset in offsets.items()]
    return f"0\n{len(lines)}\n{''.join(lines)}"


def parse_offsets(text: str, name: str = HIGH_WATERMARKS) -> dict[TopicPartition, int]:
    """Return the entries in an offset checkpoint file.

    Raises:
        ValueError: the text is not a valid offset checkpoint file. The error message names the line and its expected content.
    """
    lines = text.splitlines()
    if not lines or lines[0].strip() != "0":
        raise ValueError(f"{name} line 1: found {lines[0] if lines else 'nothing'!r}; the version must be 0")
    if len(lines) < 2 or not _is_number(lines[1].strip()):
        raise ValueError(f"{name} line 2: found {lines[1] if len(lines) > 1 else 'nothing'!r}; it must be the number of entries")
    offsets: dict[TopicPartition, int] = {}
    for number, line in enumerate(lines[2:], start=3):
        parts = line.split()
        if len(parts) != 3 or not _is_number(parts[1]) or not _is_number(parts[2]):
            raise ValueError(f"{name} line {number}: found {line!r}; it must be `topic partition offset`, for example `orders 0 1200`")
        tp = TopicPartition(parts[0], int(parts[1]))
        if tp in offsets:
            raise ValueError(f"{name} line {number}: {tp} appears twice")
        offsets[tp] = int(parts[2])
    if len(offsets) != int(lines[1]):
        raise ValueError(f"{name} line 2: the number of entries is {int(lines[1])}, but the file has {len(offsets)}")
    return offsets


def format_meta_properties(broker: int, directory_id: str, cluster_id: str) -> str:
    """Return the text of `meta.properties`: the cluster and broker of a directory, and the directory's own id (KIP-631, KIP-858)."""
    return f"#\nversion=1\nnode.id={broker}\ncluster.id={cluster_id}\ndirectory.id={uuid(directory_id)}\n"


def parse_meta_properties(text: str) -> dict[str, str]:
    """Return the properties in a `meta.properties` file.

    Raises:
        ValueError: a line is not a property, or node.id is missing.
    """
    found: dict[str, str] = {}
    for number, line in enumerate(text.splitlines(), start=1):
        if not line.strip() or line.startswith(("#", "!")):
            continue
        name, equals, value = line.partition("=")
        if not equals:
            raise ValueError(f"{META_PROPERTIES} line {number}: found {line!r}; it must be `name=value`")
        found[name.strip()] = value.strip()
    if not _is_number(found.get("node.id", "")):
        raise ValueError(f"{META_PROPERTIES}: found {found.get('node.id', 'nothing')!r} as node.id; it must be the broker's number")
    return found


def uuid(name: str) -> str:
    """Return the text of a Kafka `Uuid` derived from a name: 16 bytes in URL-safe base64 without padding."""
    return base64.urlsafe_b64encode(hashlib.sha256(name.encode()).digest()[:16]).decode().rstrip("=")


def _is_number(text: str) -> bool:
    return text.isascii() and text.isdecimal() and len(text) <= 19

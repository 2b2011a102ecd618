"""The lists of throttled replicas that topics can have."""

from __future__ import annotations

import re
from typing import Final

ALL_REPLICAS: Final = frozenset((-1,))
"""The value that stands for all replicas of a topic (`Constants.AllReplicas`)."""


def parse_throttled_replicas(name: str, text: str) -> str:
    """Check a list of replicas, and return it without spaces (`ThrottledReplicaListValidator`)."""
    entries = [entry.strip() for entry in text.split(",")] if text.strip() else []
    if entries == ["*"] or all(re.fullmatch("[0-9]{1,9}:[0-9]{1,9}", entry) for entry in entries):
        return ",".join(entries)
    raise ValueError(f"{name} takes '*' or replicas as partition:broker,partition:broker, not '{text}'; '' means no replicas")


def throttled_partitions(value: str, broker: int) -> frozenset[int]:
    """Return the partitions whose replicas on a broker are in a list of replicas (`TopicConfigHandler#parseThrottledPartitions`)."""
    if value == "*":
        return ALL_REPLICAS
    replicas = (entry.split(":") for entry in value.split(",") if entry)
    return frozenset(int(partition) for partition, of in replicas if int(of) == broker)

"""What the numbers in the fields of acts can be, whether a script, a log or the playground brings them."""

from __future__ import annotations

from typing import Final

from core.kafka.settings import MAX_LONG
from core.lab.spec import MAX_BROKER_ID, MAX_BROKERS, MAX_LOG_DIRS, MAX_LOSS_PPM, MAX_PARTITIONS
from core.sim.clock import MILLION
from core.sim.units import SECOND

SIGNED: Final = frozenset({"skew", "drift_ppm"})
"""Fields of acts that may be negative."""

MOST_DRIFT: Final = MILLION // 2
"""Most that a clock gains or loses, parts per million: half as fast again."""

MOST_DISK_DELAY: Final = 10 * SECOND
"""Longest a slow disk takes for a write, µs: a third of replica.socket.timeout.ms."""

MAX_RECORD_BYTES: Final = 2**31 - 1
"""Largest record."""

LEAST: Final[dict[str, int]] = {
    "records": 1, "rate": 1, "partitions": 1, "replication_factor": 1, "bytes": 1, "messages": 1, "dir": 1, "every": 1,
}  # fmt: skip
"""Fields of acts that are counts of at least one."""

MOST: Final[dict[str, int]] = {
    "partitions": MAX_PARTITIONS, "replication_factor": MAX_BROKERS, "dir": MAX_LOG_DIRS, "bytes": MAX_RECORD_BYTES,
    "broker": MAX_BROKER_ID, "follower": MAX_BROKER_ID, "leader": MAX_BROKER_ID, "to": MAX_BROKER_ID, "loss_ppm": MAX_LOSS_PPM,
    "duplicate_ppm": MILLION, "reorder_ppm": MILLION, "drift_ppm": MOST_DRIFT, "delay": MOST_DISK_DELAY,
}  # fmt: skip
"""Fields of acts that have a bound of their own."""


def least_of(name: str) -> int:
    """The smallest number that a field can have."""
    return -most_of(name) if name in SIGNED else LEAST.get(name, 0)


def most_of(name: str) -> int:
    """The largest number that a field can have."""
    return MOST.get(name, MAX_LONG)

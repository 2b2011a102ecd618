"""The ranges of the numbers in acts. The ranges are the same for acts from a script, a log, or the playground."""

from __future__ import annotations

from typing import Final

from core.kafka.settings.setting import MAX_LONG
from core.lab.spec import MAX_BROKER_ID, MAX_BROKERS, MAX_CLIENTS, MAX_LOG_DIRS, MAX_LOSS_PPM, MAX_PARTITIONS
from core.sim.clock import MILLION
from core.sim.units import SECOND

DURATIONS: Final = frozenset(
    {
        "after",
        "assign_time",
        "commit_every",
        "delay",
        "every",
        "jitter",
        "lasting",
        "latency",
        "poll_time",
        "record_time",
        "since",
        "skew",
        "stall_time",
        "tick",
    }
)
"""The fields of acts that are durations in µs."""

SIGNED: Final = frozenset({"skew", "drift_ppm"})
"""The fields of acts that can be negative."""

MAX_DRIFT_PPM: Final = MILLION // 2
"""The largest drift of a clock, in parts per million. A clock can run at most 50% too fast or too slow."""

MAX_DISK_DELAY: Final = 10 * SECOND
"""The longest time that a slow disk can take for a write, in µs: a third of replica.socket.timeout.ms."""

MAX_RECORD_BYTES: Final = 2**31 - 1
"""The largest size of a record, in bytes."""

MIN_VALUES: Final[dict[str, int]] = {
    "records": 1, "rate": 1, "partitions": 1, "replication_factor": 1, "bytes": 1, "messages": 1, "dir": 1, "every": 1,
}  # fmt: skip
"""The smallest values of fields that must be at least one."""

MAX_VALUES: Final[dict[str, int]] = {
    "partitions": MAX_PARTITIONS, "replication_factor": MAX_BROKERS, "dir": MAX_LOG_DIRS, "instances": MAX_CLIENTS, "bytes": MAX_RECORD_BYTES,
    "broker": MAX_BROKER_ID, "follower": MAX_BROKER_ID, "leader": MAX_BROKER_ID, "to": MAX_BROKER_ID, "loss_ppm": MAX_LOSS_PPM,
    "duplicate_ppm": MILLION, "reorder_ppm": MILLION, "drift_ppm": MAX_DRIFT_PPM, "delay": MAX_DISK_DELAY,
}  # fmt: skip
"""The largest allowed value of each field that has its own upper limit."""


def min_value(name: str) -> int:
    """Return the smallest number that a field can have."""
    return -max_value(name) if name in SIGNED else MIN_VALUES.get(name, 0)


def max_value(name: str) -> int:
    """Return the largest number that a field can have."""
    return MAX_VALUES.get(name, MAX_LONG)

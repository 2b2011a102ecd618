"""The view of a service, or of one of its workers."""

from __future__ import annotations

import attrs

from core.sim.repr_mixin import ReprMixin


@attrs.frozen(repr=False)
class ServiceView(ReprMixin):
    """A delay service, or one of its workers.

    Attributes:
        name: the name of the worker, or the name of the service if the view is the sum over its workers.
        source, target: the topic that the worker reads, and the destination topic. The view of a whole service has an empty source.
        running: whether an instance is running.
        held: the number of records that are held in memory or being sent.
        overdue: the number of held records that are due.
        paused: the number of paused partitions.
        read: the number of records that consumers with read_committed see in the topics of the levels.
        forwarded: the number of records that consumers with read_committed see in the destination topic.
        forwarded_twice: the number of records that consumers with read_committed see more than once in the destination topic.
        never_forwarded: the number of records that are below the committed offset, but neither in the destination topic nor in the
            dead-letter topic.
        dead: the number of distinct records that consumers with read_committed see in the dead-letter topic.
        dead_twice: the number of additional copies of records that consumers with read_committed see in the dead-letter topic.
        expired: the number of records that were deleted from the level's topic before they were forwarded.
        too_early: the number of records that were forwarded before they were due.
        too_soon: the number of records that reached the destination topic before the requested delay had really passed, regardless of what
            clocks show.
        inversions: the number of records that were forwarded after a record with a higher offset from the same partition.
        lateness: the time from when a record is due until it is acknowledged, in µs, as `mean`, `p50`, `p95`, `p99`, and `max`.
        rounding: the time by which the delays of the levels exceed the requested delays, in µs, as `mean`, `p50`, `p95`, `p99`, and `max`.
        total_error: the true delay minus the requested delay, in µs, as `mean`, `p50`, `p95`, `p99`, and `max`.
    """

    name: str
    source: str
    target: str
    running: bool
    held: int
    overdue: int
    paused: int
    read: int
    forwarded: int
    forwarded_twice: int
    never_forwarded: int
    dead: int
    dead_twice: int
    expired: int
    too_early: int
    too_soon: int
    inversions: int
    lateness: dict[str, int]
    rounding: dict[str, int]
    total_error: dict[str, int]


@attrs.frozen(repr=False)
class RetryView(ReprMixin):
    """A retry service, with all of its workers and their instances.

    Attributes:
        name: the name of the service.
        topic: the topic that the service processes.
        running: whether a worker is running.
        waiting: the number of records that the workers have fetched but not finished, and that are not in a later retry topic.
        tried, failed: the number of records that were tried, and the number of records that failed, by attempt number.
        succeeded, dead, skipped: the numbers of distinct records that succeeded, became dead letters, or were skipped.
        succeeded_twice, dead_twice: the numbers of records that succeeded again, or became dead letters again.
        dropped: the number of records below a committed offset that neither succeeded nor reached another topic.
        inversions: the number of records that succeeded after a record with a higher offset in their original partition.
        recovery: the time from the first failure of a record until it succeeded, in µs, as `mean`, `p50`, `p95`, `p99`, and `max`.
    """

    name: str
    topic: str
    running: bool
    waiting: int
    tried: dict[int, int]
    failed: dict[int, int]
    succeeded: int
    dead: int
    skipped: int
    succeeded_twice: int
    dead_twice: int
    dropped: int
    inversions: int
    recovery: dict[str, int]

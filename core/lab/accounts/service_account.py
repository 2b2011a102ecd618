"""The account of services: how late delayed records reach their destination topics, and whether they keep their order.

The account of processes counts the records that were forwarded twice or never (`core.lab.accounts.processing_account`), because the logs
show them. The lateness of a record is known only when the record is acknowledged, so this account collects the times. The times remain
available after a service has ended.
"""

from __future__ import annotations

from typing import Final

import attrs

from core.kafka.durability_observer import ForwardTimes
from core.kafka.ids import TopicPartition
from core.sim.state.append_only_list import AppendOnlyList


@attrs.define(slots=True, eq=False)
class WorkerTimes:
    """What a worker of a delay service has forwarded so far, across all its instances.

    Attributes:
        samples: a pair (number of records, times) for each acknowledged batch.
        reached: the highest offset that has been forwarded so far plus 1, by partition.
        inversions: the number of records that were forwarded after a record with a higher offset from the same partition.
    """

    samples: AppendOnlyList[tuple[int, ForwardTimes]] = attrs.field(factory=AppendOnlyList)
    reached: dict[TopicPartition, int] = attrs.field(factory=dict)
    inversions: int = 0


class ServiceAccount:
    """The account of all services.

    Attributes:
        workers: what each worker has forwarded, by name.
    """

    __slots__ = ("workers",)

    workers: Final[dict[str, WorkerTimes]]

    def __init__(self) -> None:
        self.workers = {}

    def of(self, worker: str) -> WorkerTimes:
        """Return what a worker has forwarded."""
        return self.workers.get(worker) or WorkerTimes()

    def records_forwarded(self, worker: str, tp: TopicPartition, end: int, count: int, times: ForwardTimes) -> None:
        """Record that the `count` records below `end` were acknowledged in their destination topic."""
        found = self.workers.get(worker)
        if found is None:
            found = self.workers[worker] = WorkerTimes()
        found.samples.append((count, times))
        reached = found.reached.get(tp, 0)
        found.inversions += overtaken_records(end - count, end, reached)
        found.reached[tp] = max(reached, end)


def overtaken_records(start: int, end: int, reached: int) -> int:
    """Return how many of the records [start, end) follow a record with a higher offset. `reached` is the end of the earlier records: the
    highest of their offsets plus 1, or 0 if there are none.
    """
    return max(min(end, reached - 1) - start, 0)


def percentile(samples: list[tuple[int, int]], percent: int) -> int | None:
    """Return a percentile by the nearest-rank method; None if there are no samples. Each sample is a pair (value, number of records)."""
    total = sum(count for _, count in samples)
    if not total:
        return None
    rank = max(-(-total * percent // 100), 1)
    for value, count in sorted(samples):
        rank -= count
        if rank <= 0:
            return value
    raise AssertionError("the rank is at most the number of records")


def mean(samples: list[tuple[int, int]]) -> int | None:
    """Return the mean of samples (value, number of records), rounded down; None if there are no samples."""
    total = sum(count for _, count in samples)
    return sum(value * count for value, count in samples) // total if total else None

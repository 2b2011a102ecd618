"""The accounts of services count each record that was overtaken by a record with a higher offset."""

from __future__ import annotations

import pytest

from core.kafka.durability_observer import ForwardTimes, Tried
from core.kafka.ids import TopicPartition
from core.lab.accounts.retry_account import RetryAccount
from core.lab.accounts.service_account import ServiceAccount
from core.sim.journal import Journal

A0, A1 = TopicPartition("a", 0), TopicPartition("a", 1)

# Batches [start, end) in the order in which they were done, and the number of records that follow a record with a higher offset.
BATCHES = [
    ([(0, 5), (5, 10)], 0),
    ([(5, 10), (0, 5)], 5),
    ([(0, 8), (5, 12)], 2),  # 5 and 6 follow 7; 7 is read again, and 8 to 11 are new
    ([(0, 8), (7, 8)], 0),
    ([(5, 10), (0, 12)], 9),
    ([(5, 6), (0, 3), (3, 5), (6, 7)], 5),
]


@pytest.mark.parametrize(("batches", "inversions"), BATCHES)
def test_inversions_are_counted_by_record(batches: list[tuple[int, int]], inversions: int) -> None:
    services = ServiceAccount()
    retries = RetryAccount(Journal())
    services.records_forwarded("w", A1, 100, 100, ForwardTimes(0, 0, 0))
    for start, end in batches:
        services.records_forwarded("w", A0, end, end - start, ForwardTimes(0, 0, 0))
        retries.records_done("r", Tried("r", 1, "g", A0, start, A0, start, end - start, 1, "succeeded", 0, 0))
    assert services.of("w").inversions == inversions
    assert retries.of("r").inversions == inversions

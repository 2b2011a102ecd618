"""Operations on sets of records, which are stored as the counters of each producer's records."""

from __future__ import annotations

from core.kafka.log.offset_set import OffsetSet

RecordSets = dict[str, OffsetSet]
"""A set of records, stored as the counters of each producer's records (`core.lab.audit.produced_records`)."""


def minus(records: RecordSets, *others: RecordSets) -> RecordSets:
    """Return the records that are not in any of the other sets."""
    left: RecordSets = {}
    for producer, counters in records.items():
        for other in others:
            counters = counters.minus(other.get(producer, OffsetSet()))
        if counters:
            left[producer] = counters
    return left


def count(records: RecordSets) -> int:
    """Return the number of records."""
    return sum(counters.count() for counters in records.values())


def add(records: RecordSets, producer: str, start: int, end: int) -> int:
    """Add the counters [start, end) of a producer. Return how many of the added counters were already in the set."""
    known = records.get(producer)
    if known is None:
        known = records[producer] = OffsetSet()
    before = known.count_within(start, end)
    known.add(start, end)
    return before

"""The records in a fetch response that are visible to the application (Kafka: `CompletedFetch`).

Markers have offsets, but they are not visible to the application. With the isolation level read_committed, the consumer also skips the
records of aborted transactions, because the broker does not filter them.
"""

from __future__ import annotations

from typing import NamedTuple

from core.kafka.log.leader_term import Batch, FetchedRange
from core.kafka.messages import FetchedPartition


class VisibleRecords(NamedTuple):
    """The part of a fetch response that is visible to the application.

    Attributes:
        records: the visible records, in offset order.
        skipped: (start, end) of each range of records that belong to aborted transactions.
    """

    records: tuple[FetchedRange, ...]
    skipped: tuple[tuple[int, int], ...]

    def ranges(self) -> list[tuple[int, int]]:
        """Return (start, end) of each contiguous range of visible records."""
        found: list[tuple[int, int]] = []
        for each in self.records:
            _extend(found, each.start, each.end)
        return found


def visible_records(part: FetchedPartition, *, read_committed: bool) -> VisibleRecords:
    """Return the records in a response that are visible to the application (`CompletedFetch#nextFetchedRecord`)."""
    if not any(fetched.term.has_producer_ids or fetched.term.compacted for fetched in part.records):
        return VisibleRecords(part.records, ())
    aborted = sorted(part.aborted, key=_first_offset) if read_committed else []
    active: dict[int, None] = {}
    visible: list[FetchedRange] = []
    skipped: list[tuple[int, int]] = []
    for fetched in part.records:
        if not fetched.term.has_producer_ids and not fetched.term.compacted:
            visible.append(fetched)
            continue
        for batch in fetched.term.batches_within(fetched.start, fetched.end):
            start, end = max(batch.base, fetched.start), min(batch.base + batch.records, fetched.end)
            while aborted and aborted[0][1] < batch.base + batch.records:
                active[aborted.pop(0)[0]] = None
            if batch.marker is not None:
                if not batch.marker.commits:
                    active.pop(batch.producer_id, None)
            elif batch.transactional and batch.producer_id in active:
                _extend(skipped, start, end)
            else:
                for low, high in fetched.term.surviving(start, end):
                    _show(visible, fetched, batch, low, high)
    return VisibleRecords(tuple(visible), tuple(skipped))


def _first_offset(aborted: tuple[int, int]) -> int:
    return aborted[1]


def _extend(ranges: list[tuple[int, int]], start: int, end: int) -> None:
    if ranges and ranges[-1][1] == start:
        ranges[-1] = (ranges[-1][0], end)
    else:
        ranges.append((start, end))


def _show(visible: list[FetchedRange], fetched: FetchedRange, batch: Batch, start: int, end: int) -> None:
    size = batch.bytes * (end - start) // batch.records
    last = visible[-1] if visible else None
    if last is not None and last.term is fetched.term.origin and last.end == start:
        visible[-1] = last._replace(end=end, bytes=last.bytes + size)
    else:
        visible.append(FetchedRange(start, end, fetched.term.origin, size))

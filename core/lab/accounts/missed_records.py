"""The records of a partition that a group never gets, and the reason for each.

The reason is the first of the following events after which no member can get the record in the ordinary course of reading:

- `committed`: the group committed a higher offset, although no member had processed the record.
- `reset`: auto.offset.reset gave a member a higher position, although the group had already begun to read the topic.
- `deleted`: retention or DeleteRecords deleted the record before a member processed it.
- `truncated`: a truncation removed the record before a member processed it, or the record was written after a truncation below an offset that
  the group had already passed.
- `latest`: the record is below the position at which the group began, which auto.offset.reset gave. These records were left out on purpose.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Final, NamedTuple

from core.kafka.ids import TopicPartition
from core.kafka.log.offset_set import OffsetSet
from core.lab.accounts.losses import Loss

COMMITTED: Final = "committed"
RESET: Final = "reset"
DELETED: Final = "deleted"
TRUNCATED: Final = "truncated"
LATEST: Final = "latest"

SKIPS: Final = (COMMITTED, RESET, DELETED, TRUNCATED)
"""The reasons for records that a group skipped, as opposed to records that it left out on purpose."""

WORDS: Final = {
    COMMITTED: "committed before they were processed",
    RESET: "below the position that auto.offset.reset gave later",
    DELETED: "deleted before they were processed",
    TRUNCATED: "taken by a truncation of the log",
}
"""The reasons for skipped records, in words."""

REASONS: Final = (*SKIPS, LATEST)
"""All reasons."""


class RecordsInHand(NamedTuple):
    """Records that a running member has polled but not processed yet: the offsets [start, end) of a leader epoch."""

    tp: TopicPartition
    start: int
    end: int
    epoch: int


class Bound(NamedTuple):
    """An offset that a group has passed.

    Attributes:
        offset: the committed offset, or the position that auto.offset.reset gave.
        event: the sequence number of the event that set the offset.
        reason: `committed`, `reset`, or `latest`.
        epoch: the leader epoch of the partition at that time. Records of a later epoch below the offset were written after a truncation.
    """

    offset: int
    event: int
    reason: str
    epoch: int


class Deletion(NamedTuple):
    """Records that were deleted on purpose.

    Attributes:
        event: the sequence number of the event that deleted the records.
        records: the offsets of the deleted records, by leader epoch.
    """

    event: int
    records: dict[int, OffsetSet]


class Missed(NamedTuple):
    """Records that a group never gets.

    Attributes:
        tp: the partition of the records.
        start: the offset of the first record.
        end: the offset after the last record.
        epoch: the leader epoch of the records.
        reason: why the group never gets the records.
        event: the sequence number of the event that moved the group past the records, or that removed them.
    """

    tp: TopicPartition
    start: int
    end: int
    epoch: int
    reason: str
    event: int


def missed_records(
    tp: TopicPartition,
    present: Mapping[int, OffsetSet],
    deletions: Iterable[Deletion],
    losses: Iterable[Loss],
    floor: int,
    bounds: Iterable[Bound],
    processed: Mapping[int, OffsetSet],
    in_hand: Iterable[RecordsInHand],
) -> list[Missed]:
    """Return the records that a group never gets, in the order of the events that took them from the group.

    Args:
        tp: the partition.
        present: the records in the leader's log, by leader epoch.
        deletions: the deleted records.
        losses: the records that are lost now.
        floor: the offset at which the group began.
        bounds: the offsets that the group has passed, in the order of their events.
        processed: the records that the group has processed, or had consumed before the simulation started, by leader epoch.
        in_hand: the records that running members have polled but not processed.
    """
    taken = {epoch: offsets.union(OffsetSet()) for epoch, offsets in processed.items()}
    for each in in_hand:
        if each.tp == tp:
            taken.setdefault(each.epoch, OffsetSet()).add(each.start, each.end)
    left = {epoch: held.minus(taken.get(epoch, OffsetSet())) for epoch, held in present.items()}
    gone = [(each.event, DELETED, epoch, offsets) for each in deletions for epoch, offsets in each.records.items()]
    gone += [(each.event, TRUNCATED, each.epoch, OffsetSet.of([(each.start, each.end)])) for each in losses]
    bounds = tuple(bounds)
    began = bounds[0].event if bounds and bounds[0].reason == LATEST else None  # the first bound takes the records below the floor
    removed: list[tuple[int, str, int, OffsetSet]] = []
    for event, reason, epoch, offsets in sorted(gone, key=lambda each: each[0]):
        least = floor if began is None or event < began else 0
        here = OffsetSet.of((max(start, least), end) for start, end in offsets)
        here = here.minus(taken.get(epoch, OffsetSet())).minus(present.get(epoch, OffsetSet()))
        left[epoch] = left.get(epoch, OffsetSet()).union(here)
        removed.append((event, reason, epoch, here))
    found: list[Missed] = []
    below = number = 0

    def remove(before: int | None) -> None:
        """Take away the records that were removed before an event."""
        nonlocal number
        while number < len(removed) and (before is None or removed[number][0] < before):
            event, reason, epoch, offsets = removed[number]
            number += 1
            here = left[epoch].common(offsets)
            left[epoch] = left[epoch].minus(here)
            found.extend(Missed(tp, start, end, epoch, reason, event) for start, end in here)

    for bound in bounds:
        if bound.offset <= below:
            continue
        remove(bound.event)
        for epoch, missing in left.items():
            passed = missing.within(below, bound.offset)
            if passed:
                reason = TRUNCATED if epoch > bound.epoch else bound.reason
                found.extend(Missed(tp, start, end, epoch, reason, bound.event) for start, end in passed)
                left[epoch] = missing.minus(passed)
        below = bound.offset
    remove(None)
    return found

"""Events from the durability account: lost, exposed, diverged, and duplicated records."""

from __future__ import annotations

from typing import Final

from core.kafka.events.base import NOTABLE, Event, count_of, offsets, records

CAUGHT_UP = "caught-up"
"""The broker has all committed records."""

NOT_ELECTABLE = "not-electable"
"""The broker cannot currently be elected leader."""

LEADS = "leads"
"""The broker was elected, and its log is now authoritative."""


UNKNOWN: Final = -1
"""The value of the columns `lost_acknowledged` and `lost_read` in logs from earlier isrlab versions, which did not write these columns."""


def _whose(acknowledged: int, read: int, count: int) -> str:
    """Return the phrase that says whether lost records were acknowledged, read, or both."""
    if acknowledged == UNKNOWN:
        return "acknowledged or read"
    some = [(many, what) for many, what in ((acknowledged, "acknowledged"), (read, "read")) if many]
    if all(many == count for many, _ in some):
        return " and ".join(what for _, what in some)
    return ", ".join(f"{many:,} {what}" for many, what in some)


class RecordsLost(
    Event, kind="records-lost", source="durability account", level=NOTABLE, defaults={"lost_acknowledged": UNKNOWN, "lost_read": UNKNOWN}
):
    """Records that were acknowledged or read are not in the log of the leader, `broker`.

    `doomed_by` is the event that removed the records: a truncation, a power loss, or the election of a leader that never had them.
    `lost_acknowledged` is the number of lost records that had been acknowledged to their producer (acks 1 or all). `lost_read` is the
    number of lost records that a consumer had read. A record can be counted in both `lost_acknowledged` and `lost_read`. Logs from earlier
    isrlab versions do not have the columns `lost_acknowledged` and `lost_read`.
    """

    topic: str
    partition: int
    broker: int
    epoch: int
    from_offset: int
    to_offset: int
    leader_epoch: int
    doomed_by: int
    lost_acknowledged: int
    lost_read: int

    def sentence(self) -> str:
        count = self.to_offset - self.from_offset
        them = "it" if count == 1 else "them"
        return (
            f"LOST: {records(count)} of {self.tp} ({offsets(self.from_offset, self.to_offset)} of epoch {self.epoch}; "
            f"{_whose(self.lost_acknowledged, self.lost_read, count)}) in event {self.doomed_by}: "
            f"leader b{self.broker} (epoch {self.leader_epoch}) lacks {them}"
        )


class LostRecordsSeen(Event, kind="lost-records-seen", source="durability account", level=NOTABLE):
    """Records were acknowledged to their producer or read by a consumer after they had been lost.

    The total `lost` counts each record only once, even if it was both acknowledged and read. The totals `lost_acknowledged` and `lost_read`
    increase by the values in the columns that have these names.
    """

    topic: str
    partition: int
    epoch: int
    from_offset: int
    to_offset: int
    lost_acknowledged: int
    lost_read: int

    def sentence(self) -> str:
        how = "acknowledged to the producer" if self.lost_acknowledged else "read by a consumer"
        was, it = ("was", "it was") if self.to_offset == self.from_offset + 1 else ("were", "they were")
        return f"{offsets(self.from_offset, self.to_offset)} of {self.tp} (epoch {self.epoch}) {was} {how} after {it} lost"


class RecordsExposed(Event, kind="records-exposed", source="durability account", level=NOTABLE):
    """Committed records are at risk, because `broker` lacks some of the records in [from, to) and can be elected."""

    topic: str
    partition: int
    broker: int
    from_offset: int
    to_offset: int
    records: int

    def sentence(self) -> str:
        return (
            f"EXPOSED: b{self.broker} can be elected leader of {self.tp} even though it lacks {count_of(self.records, 'committed record')} "
            f"{'at' if self.to_offset == self.from_offset + 1 else 'within'} {offsets(self.from_offset, self.to_offset)}"
        )


class RecordsSafe(Event, kind="records-safe", source="durability account", level=NOTABLE):
    """A broker no longer endangers committed records.

    `why` is `caught-up`, `not-electable`, or `leads`. If the broker leads, the committed records that its log lacks are lost.
    """

    topic: str
    partition: int
    broker: int
    why: str

    def sentence(self) -> str:
        name = self.tp
        if self.why == LEADS:
            return f"no longer exposed: b{self.broker} leads {name}, and the committed records that it lacked are gone"
        how = "has all committed records" if self.why == CAUGHT_UP else "can no longer be elected leader"
        return f"safe again: b{self.broker} {how} of {name}"


class RecordsRecovered(
    Event,
    kind="records-recovered",
    source="durability account",
    level=NOTABLE,
    defaults={"lost_acknowledged": UNKNOWN, "lost_read": UNKNOWN},
):
    """Records that had been counted as lost are in the leader's log again, because a replica that had kept them became leader.

    The totals `lost_acknowledged` and `lost_read` decrease by the values in the columns that have these names. Logs from earlier isrlab
    versions do not have the columns `lost_acknowledged` and `lost_read`.
    """

    topic: str
    partition: int
    broker: int
    epoch: int
    from_offset: int
    to_offset: int
    leader_epoch: int
    lost_acknowledged: int
    lost_read: int

    template = "back again: {offset_range} of {tp} (epoch {epoch}), which the new leader b{broker} had kept"


class RecordsDiverged(Event, kind="records-diverged", source="durability account", level=NOTABLE):
    """Two replicas have different records at the same offsets, and replication does not detect the difference."""

    topic: str
    partition: int
    broker: int
    leader: int
    from_offset: int
    to_offset: int

    template = "DIVERGED: b{broker} and its leader b{leader} hold different records at {offset_range} of {tp}, and replication does not detect the difference"


class RecordsOutOfOrder(Event, kind="records-out-of-order", source="durability account", level=NOTABLE):
    """A leader appended a batch after a batch that the same producer created later for the partition, so that the partition holds the records
    in another order than they were sent."""

    topic: str
    partition: int
    broker: int
    producer: str
    from_offset: int
    to_offset: int

    template = (
        "OUT OF ORDER: b{broker} appended a batch from {producer} at {offset_range} of {tp}, "
        "although records that {producer} sent later are already in the log"
    )


class RecordsDuplicated(Event, kind="records-duplicated", source="durability account", level=NOTABLE):
    """A retry of a batch was appended, even though the log already contains the first attempt."""

    topic: str
    partition: int
    broker: int
    producer: str
    from_offset: int
    to_offset: int

    template = "duplicated: b{broker} appended a retry of a batch from {producer} at {offset_range} of {tp}, even though the batch is already in the log"

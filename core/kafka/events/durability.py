"""Harm and its repair, as the durability account sees it."""

from __future__ import annotations

from typing import Final

from core.kafka.events.base import NOTABLE, Event, count_of, offsets, records

CAUGHT_UP = "caught-up"
"""The broker holds all committed records."""

NOT_ELECTABLE = "not-electable"
"""It cannot be elected as things are."""

LEADS = "leads"
"""It was elected: its log is the one that counts."""


UNKNOWN: Final = -1
"""Count of lost records that an earlier isrlab did not write to the log."""


def _whose(acknowledged: int, read: int, count: int) -> str:
    """For whom lost records count, in words."""
    if acknowledged == UNKNOWN:
        return "acknowledged or read"
    some = [(many, what) for many, what in ((acknowledged, "acknowledged"), (read, "read")) if many]
    if all(many == count for many, _ in some):
        return " and ".join(what for _, what in some)
    return ", ".join(f"{many:,} {what}" for many, what in some)


class RecordsLost(
    Event, kind="records-lost", source="durability account", level=NOTABLE, defaults={"lost_acknowledged": UNKNOWN, "lost_read": UNKNOWN}
):
    """Records that were acknowledged or read are not in the log that now counts, the one of leader `broker`.

    `doomed_by` is the event that took them: a truncation, a power loss, or the election of a leader that never had them.
    `lost_acknowledged` of them were acknowledged to their producer (acks 1 or all), `lost_read` of them a consumer had read; a record
    can be both. Logs of an earlier isrlab lack these two columns.
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
            f"{_whose(self.lost_acknowledged, self.lost_read, count)}): leader b{self.broker} (epoch {self.leader_epoch}) "
            f"lacks {them} since event {self.doomed_by}"
        )


class LostRecordsSeen(Event, kind="lost-records-seen", source="durability account", level=NOTABLE):
    """Records were acknowledged to their producer, or read by a consumer, after they were lost.

    They count once in `lost`; `lost_acknowledged` and `lost_read` grow by these columns.
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
    """Committed records are at risk: `broker` lacks some of [from, to), and it may be elected."""

    topic: str
    partition: int
    broker: int
    from_offset: int
    to_offset: int
    records: int

    def sentence(self) -> str:
        return (
            f"EXPOSED: b{self.broker} may be elected leader of {self.tp} although it lacks {count_of(self.records, 'committed record')} "
            f"{'at' if self.to_offset == self.from_offset + 1 else 'within'} {offsets(self.from_offset, self.to_offset)}"
        )


class RecordsSafe(Event, kind="records-safe", source="durability account", level=NOTABLE):
    """A broker no longer endangers committed records. `why`: it caught up, it cannot be elected now, or it leads and they are gone."""

    topic: str
    partition: int
    broker: int
    why: str

    def sentence(self) -> str:
        name = self.tp
        if self.why == LEADS:
            return f"no longer exposed: b{self.broker} leads {name}, and the committed records that it lacked are gone"
        how = "has all committed records" if self.why == CAUGHT_UP else "cannot be elected leader"
        return f"safe again: b{self.broker} {how} of {name}"


class RecordsRecovered(
    Event,
    kind="records-recovered",
    source="durability account",
    level=NOTABLE,
    defaults={"lost_acknowledged": UNKNOWN, "lost_read": UNKNOWN},
):
    """Records counted as lost are in the leader's log again, because a replica that kept them leads.

    `lost_acknowledged` and `lost_read` of them had counted as such. Logs of an earlier isrlab lack these two columns.
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

    def sentence(self) -> str:
        return (
            f"back again: {offsets(self.from_offset, self.to_offset)} of {self.tp} (epoch {self.epoch}), "
            f"which b{self.broker}, the leader now, had kept"
        )


class RecordsDiverged(Event, kind="records-diverged", source="durability account", level=NOTABLE):
    """Two replicas hold different records at the same offsets, and replication does not detect it."""

    topic: str
    partition: int
    broker: int
    leader: int
    from_offset: int
    to_offset: int

    def sentence(self) -> str:
        return (
            f"DIVERGED: b{self.broker} and its leader b{self.leader} hold different records at {offsets(self.from_offset, self.to_offset)} "
            f"of {self.tp}, and replication does not detect it"
        )


class RecordsDuplicated(Event, kind="records-duplicated", source="durability account", level=NOTABLE):
    """A retried batch was appended although its first attempt is in the log."""

    topic: str
    partition: int
    broker: int
    producer: str
    from_offset: int
    to_offset: int

    def sentence(self) -> str:
        return f"duplicated: b{self.broker} appended {offsets(self.from_offset, self.to_offset)} of {self.tp}, a retry of a batch from {self.producer} that is already in the log"

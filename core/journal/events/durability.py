"""Harm and its repair, as the durability account sees it."""

from __future__ import annotations

from typing import ClassVar

from core.journal.events.base import NOTABLE, Event, name_of, offsets, records


class RecordsLost(Event):
    """Acknowledged records are not in the log that now counts, the one of leader `broker`."""

    kind: ClassVar[str] = "records-lost"
    level: ClassVar[int] = NOTABLE
    source: ClassVar[str] = "durability account"
    topic: str
    partition: int
    broker: int
    epoch: int
    from_offset: int
    to_offset: int
    leader_epoch: int

    def sentence(self) -> str:
        return (
            f"LOST: {records(self.to_offset - self.from_offset)} of {name_of(self.topic, self.partition)}, {offsets(self.from_offset, self.to_offset)} "
            f"of epoch {self.epoch}, acknowledged, are not in the log of b{self.broker}, which leads in epoch {self.leader_epoch}"
        )


class RecordsRecovered(Event):
    """Records counted as lost are in the leader's log again, because a replica that kept them leads."""

    kind: ClassVar[str] = "records-recovered"
    level: ClassVar[int] = NOTABLE
    source: ClassVar[str] = "durability account"
    topic: str
    partition: int
    broker: int
    epoch: int
    from_offset: int
    to_offset: int
    leader_epoch: int

    def sentence(self) -> str:
        return (
            f"back again: {offsets(self.from_offset, self.to_offset)} of epoch {self.epoch} of {name_of(self.topic, self.partition)}, "
            f"which b{self.broker} had kept and now leads with"
        )


class RecordsDiverged(Event):
    """Two replicas hold different records at the same offsets and no longer notice."""

    kind: ClassVar[str] = "records-diverged"
    level: ClassVar[int] = NOTABLE
    source: ClassVar[str] = "durability account"
    topic: str
    partition: int
    broker: int
    leader: int
    from_offset: int
    to_offset: int

    def sentence(self) -> str:
        return (
            f"DIVERGED: b{self.broker} and its leader b{self.leader} hold different records at {offsets(self.from_offset, self.to_offset)} "
            f"of {name_of(self.topic, self.partition)}, and replication goes on behind them"
        )


class RecordsDuplicated(Event):
    """A retried batch was appended although its first attempt is in the log."""

    kind: ClassVar[str] = "records-duplicated"
    level: ClassVar[int] = NOTABLE
    source: ClassVar[str] = "durability account"
    topic: str
    partition: int
    broker: int
    producer: str
    from_offset: int
    to_offset: int

    def sentence(self) -> str:
        return f"duplicated: b{self.broker} appended {offsets(self.from_offset, self.to_offset)} of {name_of(self.topic, self.partition)}, a retry of a batch of {self.producer} that is already in the log"

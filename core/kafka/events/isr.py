"""ISR changes as leaders propose them and get them."""

from __future__ import annotations

from core.kafka.events.base import NOTABLE, Event, ids, records
from core.sim.units import format_duration


class IsrShrinkProposed(Event, kind="isr-shrink-proposed", source="Partition#maybeShrinkIsr"):
    """A leader wants to drop followers that have not caught up in time (before 0.9: not fetched)."""

    broker: int
    topic: str
    partition: int
    isr: tuple[int, ...]
    out: tuple[int, ...]
    lag_us: int
    limit_us: int

    def sentence(self) -> str:
        return (
            f"b{self.broker} wants {ids(self.out)} out of the ISR of {self.tp}: last caught up (before 0.9: fetched) "
            f"{format_duration(self.lag_us)} ago, replica.lag.time.max.ms allows {format_duration(self.limit_us)}"
        )


class IsrShrinkByCount(Event, kind="isr-shrink-by-count", source="Partition#getOutOfSyncReplicas"):
    """Before 0.9: a leader asks to drop followers that lack too many records, though they fetch."""

    broker: int
    topic: str
    partition: int
    isr: tuple[int, ...]
    out: tuple[int, ...]
    missing: int
    limit_records: int

    def sentence(self) -> str:
        return (
            f"b{self.broker} wants {ids(self.out)} out of the ISR of {self.tp}: {records(self.missing)} behind, "
            f"replica.lag.max.messages allows {self.limit_records:,}; they fetch in time all the same"
        )


class IsrExpandProposed(Event, kind="isr-expand-proposed", source="Partition#maybeExpandIsr"):
    """A leader wants to take a follower in that has reached the high watermark: it asks the controller, or before 2.7 writes it to ZooKeeper."""

    broker: int
    topic: str
    partition: int
    follower: int
    isr: tuple[int, ...]
    offset: int
    high_watermark: int

    def sentence(self) -> str:
        return (
            f"b{self.broker} wants b{self.follower} in the ISR of {self.tp}: its LEO {self.offset} has reached "
            f"the high watermark {self.high_watermark}; since 2.7 (KIP-497) the high watermark waits for it as of now"
        )


class IsrShrunk(
    Event, kind="isr-shrunk", source="Partition#handleAlterPartitionUpdate, before 2.7 Partition#maybeShrinkIsr", level=NOTABLE
):
    """A smaller ISR that the leader had proposed is committed: by the controller, before 2.7 by the leader's own write to ZooKeeper."""

    broker: int
    topic: str
    partition: int
    isr: tuple[int, ...]
    out: tuple[int, ...]
    partition_epoch: int

    def sentence(self) -> str:
        them = "it" if len(self.out) == 1 else "them"
        return f"{ids(self.out)} left the ISR of {self.tp}: now {ids(self.isr)}; the high watermark no longer waits for {them}"


class IsrExpanded(
    Event, kind="isr-expanded", source="Partition#handleAlterPartitionUpdate, before 2.7 Partition#maybeExpandIsr", level=NOTABLE
):
    """A larger ISR that the leader had proposed is committed: by the controller, before 2.7 by the leader's own write to ZooKeeper."""

    broker: int
    topic: str
    partition: int
    isr: tuple[int, ...]
    joined: tuple[int, ...]
    partition_epoch: int

    def sentence(self) -> str:
        return f"{ids(self.joined)} joined the ISR of {self.tp}: now {ids(self.isr)}"


class IsrChangeFailed(Event, kind="isr-change-failed", source="Partition#handleAlterPartitionError"):
    """A leader's ISR proposal came back with an error."""

    broker: int
    topic: str
    partition: int
    isr: tuple[int, ...]
    error: str

    def sentence(self) -> str:
        return f"b{self.broker} did not get ISR {ids(self.isr)} for {self.tp}: {self.error}"

"""Events about ISR changes: proposals by leaders, and their results."""

from __future__ import annotations

from core.kafka.events.base import NOTABLE, Event, brokers, ids, records
from core.sim.units import format_duration


class IsrShrinkProposed(Event, kind="isr-shrink-proposed", source="Partition#maybeShrinkIsr"):
    """A leader wants to remove followers that have not caught up in time (before 0.9: that have not fetched in time)."""

    broker: int
    topic: str
    partition: int
    isr: tuple[int, ...]
    out: tuple[int, ...]
    lag_us: int
    limit_us: int

    def sentence(self) -> str:
        return (
            f"b{self.broker} wants to remove {brokers(self.out)} from the ISR of {self.tp}: "
            f"a lag time of {format_duration(self.lag_us)} exceeds replica.lag.time.max.ms ({format_duration(self.limit_us)})"
        )


class IsrShrinkByCount(Event, kind="isr-shrink-by-count", source="Partition#getOutOfSyncReplicas"):
    """A leader wants to remove followers that fetch in time but lack too many records (only before 0.9)."""

    broker: int
    topic: str
    partition: int
    isr: tuple[int, ...]
    out: tuple[int, ...]
    missing: int
    limit_records: int

    def sentence(self) -> str:
        return (
            f"b{self.broker} wants to remove {brokers(self.out)} from the ISR of {self.tp}: a lag of {records(self.missing)} "
            f"exceeds replica.lag.max.messages ({self.limit_records:,})"
        )


class IsrExpandProposed(Event, kind="isr-expand-proposed", source="Partition#maybeExpandIsr"):
    """A leader wants to add a follower that has reached the high watermark. The leader asks the controller to commit the new ISR; before
    2.7, it writes the ISR to ZooKeeper itself."""

    broker: int
    topic: str
    partition: int
    follower: int
    isr: tuple[int, ...]
    offset: int
    high_watermark: int

    def sentence(self) -> str:
        return (
            f"b{self.broker} wants to add b{self.follower} to the ISR of {self.tp}: "
            f"the LEO of b{self.follower} ({self.offset}) has reached the high watermark ({self.high_watermark})"
        )


class IsrShrunk(
    Event, kind="isr-shrunk", source="Partition#handleAlterPartitionUpdate, before 2.7 Partition#maybeShrinkIsr", level=NOTABLE
):
    """A smaller ISR was committed. Since 2.7, the controller commits the ISR that the leader has proposed. Before 2.7, the leader itself
    writes the ISR to ZooKeeper.
    """

    broker: int
    topic: str
    partition: int
    isr: tuple[int, ...]
    out: tuple[int, ...]
    partition_epoch: int

    def sentence(self) -> str:
        them = "it" if len(self.out) == 1 else "them"
        return f"{brokers(self.out)} left the ISR of {self.tp}, which is now {ids(self.isr)}; the high watermark no longer waits for {them}"


class IsrExpanded(
    Event, kind="isr-expanded", source="Partition#handleAlterPartitionUpdate, before 2.7 Partition#maybeExpandIsr", level=NOTABLE
):
    """A larger ISR was committed. Since 2.7, the controller commits the ISR that the leader has proposed. Before 2.7, the leader itself
    writes the ISR to ZooKeeper.
    """

    broker: int
    topic: str
    partition: int
    isr: tuple[int, ...]
    joined: tuple[int, ...]
    partition_epoch: int

    def sentence(self) -> str:
        return f"{brokers(self.joined)} joined the ISR of {self.tp}, which is now {ids(self.isr)}"


class IsrChangeFailed(Event, kind="isr-change-failed", source="Partition#handleAlterPartitionError"):
    """A leader could not change an ISR."""

    broker: int
    topic: str
    partition: int
    isr: tuple[int, ...]
    error: str

    def sentence(self) -> str:
        return f"b{self.broker} could not change the ISR of {self.tp} to {ids(self.isr)}: {self.error}"

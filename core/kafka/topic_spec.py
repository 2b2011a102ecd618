"""The specification of a topic to create: its partitions and replicas and, optionally, the initial content of its logs.

Kafka: `CreatableTopic`. The laboratory can also set an ISR, a leader, an ELR, a leader epoch, and logs.
"""

from __future__ import annotations

import itertools
from collections.abc import Container
from typing import Final

import attrs

from core.kafka.ids import NO_LEADER
from core.sim.repr_mixin import ReprMixin

MAX_OFFSET: Final = 10**12
"""The largest initial log start offset."""

MAX_LEADER_EPOCH: Final = 10**9
"""The largest initial leader epoch of a partition."""


@attrs.frozen(repr=False)
class LogSpec(ReprMixin):
    """The initial content of a replica's log.

    Attributes:
        broker: the broker that has the replica.
        leo: the log end offset.
        hw: the high watermark.
        log_start: the log start offset.
        epochs: (leader epoch, start offset) pairs in ascending order, as in `leader-epoch-checkpoint`. The last entry can start at the LEO,
            so that its epoch has no records.
    """

    broker: int
    leo: int
    hw: int
    log_start: int = 0
    epochs: tuple[tuple[int, int], ...] = ()

    def epoch_ranges(self) -> list[tuple[int, int, int]]:
        """Return (start, end, leader epoch) for each range of records, in offset order."""
        ends = [*(start for _, start in self.epochs), self.leo][1:]
        found = [(max(start, self.log_start), end, epoch) for (epoch, start), end in zip(self.epochs, ends, strict=True)]
        return [each for each in found if each[0] < each[1]]

    def check(self, name: str, leader_epoch: int) -> None:
        """Check that the log's offsets and epochs are consistent.

        Raises:
            ValueError: the offsets and epochs are inconsistent. The error message starts with the partition's name.
        """
        where = f"{name} on broker {self.broker}"
        if not 0 <= self.log_start <= self.hw <= self.leo <= MAX_OFFSET:
            raise ValueError(
                f"{where}: log start {self.log_start}, HW {self.hw}, and LEO {self.leo} must be in ascending order, each from 0 to {MAX_OFFSET}"
            )
        for (epoch, start), (next_epoch, next_start) in itertools.pairwise(self.epochs):
            if epoch >= next_epoch or start >= next_start:
                raise ValueError(
                    f"{where}: leader epoch {next_epoch} from offset {next_start} follows epoch {epoch} from offset {start}; epochs and offsets must increase"
                )
        if self.epochs and not (self.epochs[0][0] >= 0 and self.epochs[-1][0] <= leader_epoch):
            raise ValueError(f"{where}: its leader epochs must be from 0 to {leader_epoch}, the current leader epoch")
        if self.epochs and self.epochs[-1][1] > self.leo:
            raise ValueError(f"{where}: leader epoch {self.epochs[-1][0]} starts at {self.epochs[-1][1]}, past the LEO {self.leo}")
        if self.leo > self.log_start and not (self.epochs and self.epochs[0][1] <= self.log_start):
            raise ValueError(f"{where}: no leader epoch covers the records from offset {self.log_start} onward")


@attrs.frozen(repr=False)
class PartitionSpec(ReprMixin):
    """A partition whose replicas are assigned.

    Attributes:
        replicas: the assigned replicas; the first one is the preferred leader.
        isr: the ISR; None means all replicas whose brokers are up.
        leader: the leader; None means the first ISR member that is up.
        elr: the eligible leader replicas.
        last_known_elr: see `PartitionRegistration`.
        leader_epoch: the initial leader epoch.
        logs: the initial logs. Replicas that have no log in `logs` are empty.
    """

    replicas: tuple[int, ...]
    isr: tuple[int, ...] | None = None
    leader: int | None = None
    elr: tuple[int, ...] = ()
    last_known_elr: tuple[int, ...] = ()
    leader_epoch: int = 0
    logs: tuple[LogSpec, ...] = ()

    def check_start(self, name: str) -> None:
        """Check the leader epoch and the logs.

        Raises:
            ValueError: the leader epoch or a log is impossible. The error message starts with the partition's name.
        """
        if not 0 <= self.leader_epoch <= MAX_LEADER_EPOCH:
            raise ValueError(f"{name} is in leader epoch {self.leader_epoch}; use 0 to {MAX_LEADER_EPOCH}")
        reject_duplicates(f"log of {name} on broker", [log.broker for log in self.logs])
        for log in self.logs:
            if log.broker not in self.replicas:
                raise ValueError(f"{name} has a log on broker {log.broker}, which is not among its replicas")
            log.check(name, self.leader_epoch)
        written = {
            log.broker: max((end for _, end, epoch in log.epoch_ranges() if epoch == self.leader_epoch), default=-1) for log in self.logs
        }
        if self.leader in written and max(written.values()) > written[self.leader]:
            raise ValueError(
                f"{name}: a follower has more records of leader epoch {self.leader_epoch} than its leader, broker {self.leader}"
            )

    def check_registration(self, name: str, up: Container[int]) -> None:
        """Check that a controller could register the partition's leader, ISR, and ELR together.

        `ClusterSpec.check` does not call `check_registration`, so that an event log whose session started from an impossible partition can
        still be opened and replayed.

        Args:
            name: the partition's name, for messages.
            up: the brokers that are running at the start.

        Raises:
            ValueError: no controller could register the partition's leader, ISR, and ELR together. The error message starts with the
                partition's name.
        """
        isr = tuple(broker for broker in self.replicas if broker in up) if self.isr is None else self.isr
        if self.leader is not None and self.leader != NO_LEADER and self.leader not in isr:
            why = "is not in the ISR" if self.isr is not None else "is down and therefore not in the ISR"
            raise ValueError(f"{name} has leader {self.leader}, which {why}; the leader of a partition must be in the partition's ISR")
        for word, brokers in (("ELR", self.elr), ("last known ELR", self.last_known_elr)):
            for broker in brokers:
                if broker not in self.replicas:
                    raise ValueError(f"{name} has broker {broker} in its {word} but not among its replicas")
        for broker in self.elr:
            if broker in isr:
                raise ValueError(f"{name} has broker {broker} in both its ISR and its ELR; the ELR lists replicas outside the ISR")


@attrs.frozen(repr=False)
class TopicSpec(ReprMixin):
    """A topic to create. The specification contains either an assignment, or a number of partitions and a replication factor. Without an
    assignment, the controller places the replicas.

    Attributes:
        name: the topic's name.
        partitions: the number of partitions that the controller places.
        replication_factor: the number of replicas of each partition that the controller places.
        assignment: the partitions whose replicas are assigned.
        config: the topic's own settings, in the form and the order in which the user wrote them. `describe` also shows settings that the
            laboratory does not model.
        topic_id: the topic id; if empty, a random id is drawn.
    """

    name: str
    partitions: int = 1
    replication_factor: int = 3
    assignment: tuple[PartitionSpec, ...] = ()
    config: tuple[tuple[str, str], ...] = ()
    topic_id: str = ""

    @property
    def count(self) -> int:
        """The number of partitions."""
        return len(self.assignment) or self.partitions

    @property
    def replicas(self) -> int:
        """The total number of replicas of all partitions."""
        if self.assignment:
            return sum(len(partition.replicas) for partition in self.assignment)
        return self.partitions * self.replication_factor


def reject_duplicates(what: str, names: list[int] | list[str]) -> None:
    """Raise ValueError if a name occurs more than once."""
    seen: set[int | str] = set()
    for name in names:
        if name in seen:
            raise ValueError(f"{what} {name} appears twice")
        seen.add(name)

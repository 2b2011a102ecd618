"""What the controller commits, elects and refuses."""

from __future__ import annotations

from typing import ClassVar

from core.journal.events.base import NOTABLE, Event, ids, leader_name, name_of


class TopicCreated(Event):
    """A topic exists; its partitions follow as `partition-changed`."""

    kind: ClassVar[str] = "topic-created"
    level: ClassVar[int] = NOTABLE
    source: ClassVar[str] = "ReplicationControlManager#createTopic"
    topic: str
    topic_id: str
    partitions: int
    replication_factor: int

    def sentence(self) -> str:
        many = "1 partition" if self.partitions == 1 else f"{self.partitions} partitions"
        return f"topic {self.topic}: {many}, replication factor {self.replication_factor}"


class TopicRefused(Event):
    """A topic was refused; nothing was created."""

    kind: ClassVar[str] = "topic-refused"
    level: ClassVar[int] = NOTABLE
    source: ClassVar[str] = "ReplicationControlManager#createTopic"
    topic: str
    error: str
    message: str

    def sentence(self) -> str:
        return f"topic {self.topic} refused, nothing created: {self.error}: {self.message}"


class PartitionChanged(Event):
    """The controller committed a partition's new state: the whole of it, as `PartitionRegistration` holds it."""

    kind: ClassVar[str] = "partition-changed"
    source: ClassVar[str] = "PartitionChangeBuilder#build"
    topic: str
    partition: int
    leader: int
    leader_epoch: int
    partition_epoch: int
    replicas: tuple[int, ...]
    isr: tuple[int, ...]
    elr: tuple[int, ...]
    last_known_elr: tuple[int, ...]
    adding: tuple[int, ...]
    removing: tuple[int, ...]
    recovering: bool
    reason: str

    def sentence(self) -> str:
        elr = f", ELR {ids(self.elr)}" if self.elr else ""
        return (
            f"{name_of(self.topic, self.partition)}: leader {leader_name(self.leader)}, ISR {ids(self.isr)}{elr}, leader epoch "
            f"{self.leader_epoch}, partition epoch {self.partition_epoch} ({self.reason})"
        )


class LeaderElected(Event):
    """A leader was elected; `election`: clean, unclean, preferred, eligible (from the ELR) or last-known."""

    kind: ClassVar[str] = "leader-elected"
    level: ClassVar[int] = NOTABLE
    source: ClassVar[str] = "PartitionChangeBuilder#electLeader"
    topic: str
    partition: int
    leader: int
    old_leader: int
    leader_epoch: int
    isr: tuple[int, ...]
    election: str
    reason: str

    def sentence(self) -> str:
        name = name_of(self.topic, self.partition)
        how = {
            "clean": "the first live ISR member in replica order",
            "preferred": "its preferred replica, in the ISR",
            "unclean": "outside the ISR, because unclean.leader.election.enable is true: what it lacks is lost",
            "eligible": "from the eligible leader replicas: it holds all that is committed",
            "last-known": "the last known leader: ISR and ELR are both empty",
        }
        return f"b{self.leader} leads {name} in epoch {self.leader_epoch} after {leader_name(self.old_leader)}: {how[self.election]} ({self.reason})"


class PartitionOffline(Event):
    """No replica may lead: the partition serves nothing until an ISR (or eligible) member returns."""

    kind: ClassVar[str] = "partition-offline"
    level: ClassVar[int] = NOTABLE
    source: ClassVar[str] = "PartitionChangeBuilder#electLeader"
    topic: str
    partition: int
    old_leader: int
    leader_epoch: int
    isr: tuple[int, ...]
    reason: str

    def sentence(self) -> str:
        return (
            f"{name_of(self.topic, self.partition)} is offline: no live member of ISR {ids(self.isr)}, and "
            f"unclean.leader.election.enable is false ({self.reason})"
        )


class ElectionRefused(Event):
    """An election that somebody asked for was refused."""

    kind: ClassVar[str] = "election-refused"
    source: ClassVar[str] = "ReplicationControlManager#electLeaders"
    topic: str
    partition: int
    election: str
    error: str

    def sentence(self) -> str:
        return f"{self.election} election of {name_of(self.topic, self.partition)} refused: {self.error}"


class AlterPartitionRefused(Event):
    """The controller refused an ISR that a leader proposed."""

    kind: ClassVar[str] = "alter-partition-refused"
    level: ClassVar[int] = NOTABLE
    source: ClassVar[str] = "ReplicationControlManager#validateAlterPartitionData"
    broker: int
    topic: str
    partition: int
    isr: tuple[int, ...]
    error: str

    def sentence(self) -> str:
        return f"the controller refused ISR {ids(self.isr)} of {name_of(self.topic, self.partition)} from b{self.broker}: {self.error}"

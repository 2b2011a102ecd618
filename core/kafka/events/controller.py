"""What the controller commits, elects and refuses."""

from __future__ import annotations

from typing import Final

from core.kafka.events.base import DETAIL, NOTABLE, Event, ids, leader_name
from core.sim.units import format_duration


class TopicCreated(Event, kind="topic-created", source="ReplicationControlManager#createTopic", level=NOTABLE):
    """A topic exists; its partitions follow as `partition-changed`."""

    topic: str
    topic_id: str
    partitions: int
    replication_factor: int

    def sentence(self) -> str:
        many = "1 partition" if self.partitions == 1 else f"{self.partitions} partitions"
        return f"topic {self.topic}: {many}, replication factor {self.replication_factor}"


class PartitionsCreated(Event, kind="partitions-created", source="ReplicationControlManager#createPartitions", level=NOTABLE):
    """A topic got more partitions; they follow as `partition-changed`."""

    topic: str
    added: int
    partitions: int

    def sentence(self) -> str:
        return f"topic {self.topic}: {self.added} more, {self.partitions} partitions now"


class TopicRefused(Event, kind="topic-refused", source="ReplicationControlManager#createTopic", level=NOTABLE):
    """A topic, or more partitions of one, was refused; nothing was created."""

    topic: str
    error: str
    message: str

    def sentence(self) -> str:
        return f"topic {self.topic} refused, nothing created: {self.error}: {self.message}"


class PartitionChanged(Event, kind="partition-changed", source="PartitionChangeBuilder#build"):
    """The controller committed a partition's new state: the whole of it, as `PartitionRegistration` holds it."""

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
            f"{self.tp}: leader {leader_name(self.leader)}, ISR {ids(self.isr)}{elr}, leader epoch "
            f"{self.leader_epoch}, partition epoch {self.partition_epoch} ({self.reason})"
        )


_ELECTED: Final = {
    "clean": "the first live ISR member in replica order",
    "preferred": "its preferred replica, in the ISR",
    "unclean": "outside the ISR, because {allowed}: what it lacks is lost",
    "eligible": "from the eligible leader replicas: it holds all that is committed",
    "last-known": "the last known leader: ISR and ELR are both empty",
}


class LeaderElected(
    Event, kind="leader-elected", source="PartitionChangeBuilder#electLeader", level=NOTABLE, words={"election": tuple(_ELECTED)}
):
    """A leader was elected; `election`: clean, unclean, preferred, eligible (from the ELR) or last-known."""

    topic: str
    partition: int
    leader: int
    old_leader: int
    leader_epoch: int
    isr: tuple[int, ...]
    election: str
    reason: str

    def sentence(self) -> str:
        name = self.tp
        allowed = "an unclean election was asked for" if self.reason == "asked for" else "unclean.leader.election.enable is true"
        how = _ELECTED[self.election].format(allowed=allowed)
        return f"b{self.leader} leads {name} in epoch {self.leader_epoch} after {leader_name(self.old_leader)}: {how} ({self.reason})"


class PartitionOffline(Event, kind="partition-offline", source="PartitionChangeBuilder#electLeader", level=NOTABLE):
    """No replica may lead: the partition serves nothing until an ISR (or eligible) member returns."""

    topic: str
    partition: int
    old_leader: int
    leader_epoch: int
    isr: tuple[int, ...]
    reason: str

    def sentence(self) -> str:
        nobody = f"no member of ISR {ids(self.isr)}" if self.isr else "nobody of its ISR and ELR"
        return (
            f"{self.tp} is offline: {nobody} may lead, and no other replica either "
            f"(unclean.leader.election.enable is false, or none lives) ({self.reason})"
        )


class ElectionRefused(Event, kind="election-refused", source="ReplicationControlManager#electLeaders"):
    """An election that somebody asked for was refused."""

    topic: str
    partition: int
    election: str
    error: str

    def sentence(self) -> str:
        return f"{self.election} election of {self.tp} refused: {self.error}"


class AlterPartitionRefused(
    Event, kind="alter-partition-refused", source="ReplicationControlManager#validateAlterPartitionData", level=NOTABLE
):
    """The controller refused an ISR that a leader proposed."""

    broker: int
    topic: str
    partition: int
    isr: tuple[int, ...]
    error: str

    def sentence(self) -> str:
        return f"the controller refused ISR {ids(self.isr)} of {self.tp} from b{self.broker}: {self.error}"


class ControllerCandidate(Event, kind="controller-candidate", source="QuorumState#transitionToCandidate", level=DETAIL):
    """A voter stands for election as the controllers' leader."""

    controller: str
    controller_epoch: int

    def sentence(self) -> str:
        return f"{self.controller} has heard nothing from an active controller and stands for election in controller epoch {self.controller_epoch}"


class ControllerElected(
    Event, kind="controller-elected", source="QuorumController.QuorumMetaLogListener#handleLeaderChange", level=NOTABLE
):
    """A voter is the active controller: a majority holds the first entry of its epoch. Without voters: a broker made /controller in ZooKeeper."""

    controller: str
    controller_epoch: int
    voters: int
    majority: int

    def sentence(self) -> str:
        if self.voters == 0:
            return f"{self.controller} is controller in epoch {self.controller_epoch}: it made /controller; brokers refuse whoever was it before"
        if self.voters == 1:
            return f"{self.controller} is the active controller in epoch {self.controller_epoch}: the only voter"
        return (
            f"{self.controller} is the active controller in epoch {self.controller_epoch}: {self.majority} of {self.voters} voters make a "
            "majority; brokers' sessions begin anew"
        )


class ControllerResigned(Event, kind="controller-resigned", source="KafkaRaftClient#transitionToResigned", level=NOTABLE):
    """A voter leads the quorum no more; `uncommitted` writes of it wait for what its successor has."""

    controller: str
    controller_epoch: int
    reason: str
    uncommitted: int

    def sentence(self) -> str:
        tail = f"; {self.uncommitted} of its writes were never committed" if self.uncommitted else ""
        return f"{self.controller} resigns as controller of epoch {self.controller_epoch}: {self.reason}{tail}"


class UncommittedDropped(Event, kind="uncommitted-dropped", source="ReplicatedLog#truncateToEndOffset", level=NOTABLE):
    """A voter dropped writes that its new leader does not have: no majority ever held them, no broker ever saw them."""

    controller: str
    controller_epoch: int
    uncommitted: int

    def sentence(self) -> str:
        many = "1 write" if self.uncommitted == 1 else f"{self.uncommitted} writes"
        return f"{self.controller} drops {many} that no majority ever held: epoch {self.controller_epoch} goes on without"


class NoMajority(Event, kind="no-majority", source="KIP-595", level=NOTABLE):
    """No majority of the controllers is in touch: metadata stand still until one is."""

    controller: str
    in_touch: int
    voters: int
    majority: int

    def sentence(self) -> str:
        return (
            f"no controller majority: {self.controller} reaches {self.in_touch} of {self.voters} voters and needs {self.majority}. No leader is elected, "
            "no ISR changes, nobody is fenced; leaders go on with the ISR they have"
        )


class ControllerStopped(Event, kind="controller-stopped", source="KIP-595", level=NOTABLE):
    """A controller's process ended."""

    controller: str

    def sentence(self) -> str:
        return f"controller {self.controller} was killed; its log and its vote are on disk"


class ControllerStarted(Event, kind="controller-started", source="KafkaRaftClient#initialize", level=NOTABLE):
    """A controller's process runs again."""

    controller: str

    def sentence(self) -> str:
        return f"controller {self.controller} starts"


class ControllerPaused(Event, kind="controller-paused", source="KIP-595", level=NOTABLE):
    """A controller's process stands still."""

    controller: str

    def sentence(self) -> str:
        return f"controller {self.controller} stands still (as in a long GC pause), and believes what it believed"


class ControllerResumed(Event, kind="controller-resumed", source="KafkaRaftClient#poll", level=NOTABLE):
    """A paused controller goes on."""

    controller: str
    paused_us: int

    def sentence(self) -> str:
        return f"controller {self.controller} goes on after {format_duration(self.paused_us)}"

"""What the controller commits, elects and refuses."""

from __future__ import annotations

from typing import Final

from core.kafka.events.base import DETAIL, NOTABLE, Event, count_of, ids, leader_name, listed
from core.sim.units import format_duration


class TopicCreated(Event, kind="topic-created", source="ReplicationControlManager#createTopic", level=NOTABLE):
    """A topic exists; its partitions follow as `partition-changed`."""

    topic: str
    topic_id: str
    partitions: int
    replication_factor: int

    def sentence(self) -> str:
        return f"topic {self.topic} was created: {count_of(self.partitions, 'partition')}, replication factor {self.replication_factor}"


class PartitionsCreated(Event, kind="partitions-created", source="ReplicationControlManager#createPartitions", level=NOTABLE):
    """A topic got more partitions; they follow as `partition-changed`."""

    topic: str
    added: int
    partitions: int

    def sentence(self) -> str:
        return f"topic {self.topic} got {count_of(self.added, 'more partition')} and now has {self.partitions}"


class TopicRefused(Event, kind="topic-refused", source="ReplicationControlManager#createTopic", level=NOTABLE):
    """A topic, or more partitions of one, was refused; nothing was created."""

    topic: str
    error: str
    message: str

    def sentence(self) -> str:
        return f"nothing was created for topic {self.topic}: {self.error}: {self.message}"


_BROKERS_DID: Final = {
    " has no znode any more": ("no longer has a znode", "no longer have a znode"),
    " is back": ("is back", "are back"),
    " asked for it": ("proposed the ISR", "proposed the ISR"),
    " fenced": ("was fenced", "were fenced"),
    " unregistered": ("was unregistered", "were unregistered"),
    " registered anew": ("registered again", "registered again"),
    " shuts down": ("is shutting down", "are shutting down"),
}
"""Of a reason in the log that begins with brokers the rest, and how a sentence has it of one and of several."""

_REPHRASED: Final = {
    "asked for": "as requested",
    " is given up": " was cancelled",
    " does without": " excludes it",
    " in touch": " are in touch",
    " has it in a log directory that works": " has it in a working log directory",
}
"""Of other reasons in the log the end, and how a sentence has it."""


def _because(reason: str) -> str:
    """A reason as a sentence has it; in the log it stands as it always did."""
    for end, (one, several) in _BROKERS_DID.items():
        if reason.endswith(end):
            who = reason.removesuffix(end).split()
            return f"{listed(who)} {one if len(who) == 1 else several}"
    for end, words in _REPHRASED.items():
        if reason.endswith(end):
            return reason.removesuffix(end) + words
    return reason


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
        leader = leader_name(self.leader) if self.leader < 0 else f"leader b{self.leader}"
        elr = f", ELR {ids(self.elr)}" if self.elr else ""
        return (
            f"{self.tp}: {leader}, ISR {ids(self.isr)}{elr}, leader epoch "
            f"{self.leader_epoch}, partition epoch {self.partition_epoch} ({_because(self.reason)})"
        )


_ELECTED: Final = {
    "clean": "the first live ISR member in replica order",
    "preferred": "the preferred replica, which is in the ISR",
    "unclean": "an unclean election, so the records it lacks are lost",
    "eligible": "from the eligible leader replicas (ELR), because the ISR was empty",
    "last-known": "the last known leader, because the ISR and the ELR were empty",
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
        before = "a time without a leader" if self.old_leader < 0 else f"b{self.old_leader}"
        return f"b{self.leader} leads {self.tp} in epoch {self.leader_epoch} after {before}: {_ELECTED[self.election]} ({_because(self.reason)})"


class PartitionOffline(Event, kind="partition-offline", source="PartitionChangeBuilder#electLeader", level=NOTABLE):
    """No replica may lead: the partition serves no requests until a member of the ISR (or ELR) returns."""

    topic: str
    partition: int
    old_leader: int
    leader_epoch: int
    isr: tuple[int, ...]
    reason: str

    def sentence(self) -> str:
        members = f"no member of ISR {ids(self.isr)}" if self.isr else "no member of its ISR or ELR"
        return f"{self.tp} is offline ({_because(self.reason)}): {members} can lead, and no unclean election is possible"


class ElectionRefused(Event, kind="election-refused", source="ReplicationControlManager#electLeaders"):
    """An election that somebody asked for was refused."""

    topic: str
    partition: int
    election: str
    error: str

    def sentence(self) -> str:
        return f"the {self.election} leader election for {self.tp} was refused: {self.error}"


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
        return f"the controller refused ISR {ids(self.isr)} for {self.tp}, which b{self.broker} proposed: {self.error}"


class ControllerCandidate(Event, kind="controller-candidate", source="QuorumState#transitionToCandidate", level=DETAIL):
    """A voter is a candidate for the active controller."""

    controller: str
    controller_epoch: int

    def sentence(self) -> str:
        return f"{self.controller} is a candidate in controller epoch {self.controller_epoch}: it has not heard from an active controller"


class ControllerElected(
    Event, kind="controller-elected", source="QuorumController.QuorumMetaLogListener#handleLeaderChange", level=NOTABLE
):
    """A voter is the active controller: a majority holds the first entry of its epoch. Without voters: a broker created /controller in ZooKeeper."""

    controller: str
    controller_epoch: int
    voters: int
    majority: int

    def sentence(self) -> str:
        if self.voters == 0:
            return f"{self.controller} is the controller in epoch {self.controller_epoch}: it created /controller; brokers refuse older controller epochs"
        if self.voters == 1:
            return f"{self.controller} is the active controller in epoch {self.controller_epoch}: it is the only voter"
        return (
            f"{self.controller} is the active controller in epoch {self.controller_epoch}: at least {self.majority} of {self.voters} "
            "voters elected it; broker sessions restart"
        )


class ControllerResigned(Event, kind="controller-resigned", source="KafkaRaftClient#transitionToResigned", level=NOTABLE):
    """A voter no longer leads the quorum; whether its `uncommitted` writes survive depends on what its successor has."""

    controller: str
    controller_epoch: int
    reason: str
    uncommitted: int

    def sentence(self) -> str:
        tail = f"; {count_of(self.uncommitted, 'write was', 'writes were')} not committed yet" if self.uncommitted else ""
        return f"{self.controller} resigned as controller of epoch {self.controller_epoch}: {_because(self.reason)}{tail}"


class UncommittedDropped(Event, kind="uncommitted-dropped", source="ReplicatedLog#truncateToEndOffset", level=NOTABLE):
    """A voter dropped writes that its new leader lacks: they never reached a majority, and no broker saw them."""

    controller: str
    controller_epoch: int
    uncommitted: int

    def sentence(self) -> str:
        many = count_of(self.uncommitted, "write")
        return f"{self.controller} dropped {many} that never reached a majority; the leader of epoch {self.controller_epoch} lacks {'it' if self.uncommitted == 1 else 'them'}"


class NoMajority(Event, kind="no-majority", source="KIP-595", level=NOTABLE):
    """No majority of the controllers is in touch: the metadata does not change until one is."""

    controller: str
    in_touch: int
    voters: int
    majority: int

    def sentence(self) -> str:
        return (
            f"no majority of controllers: {self.controller} reaches {self.in_touch} of {self.voters} voters and needs {self.majority}, "
            "so leaders, ISRs, and fencing do not change"
        )


class ControllerStopped(Event, kind="controller-stopped", source="KIP-595", level=NOTABLE):
    """A controller's process ended."""

    controller: str

    def sentence(self) -> str:
        return f"controller {self.controller} was killed; its log and its vote remain on disk"


class ControllerStarted(Event, kind="controller-started", source="KafkaRaftClient#initialize", level=NOTABLE):
    """A controller's process runs again."""

    controller: str

    def sentence(self) -> str:
        return f"controller {self.controller} started"


class ControllerPaused(Event, kind="controller-paused", source="KIP-595", level=NOTABLE):
    """A controller's process is paused."""

    controller: str

    def sentence(self) -> str:
        return f"controller {self.controller} is paused, as in a long GC pause: it processes and sends nothing"


class ControllerResumed(Event, kind="controller-resumed", source="KafkaRaftClient#poll", level=NOTABLE):
    """A paused controller resumes."""

    controller: str
    paused_us: int

    def sentence(self) -> str:
        return f"controller {self.controller} resumed after {format_duration(self.paused_us)}"

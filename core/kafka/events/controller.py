"""Events about the controller: changes to the metadata, elections, and refused requests."""

from __future__ import annotations

from typing import Final

from core.kafka.events.base import (
    DETAIL,
    EVERYTHING,
    NOTABLE,
    NOTHING,
    TOPICS,
    Event,
    ReplicaEvent,
    brokers,
    count_of,
    ids,
    leader_name,
    listed,
)


class TopicCreated(Event, kind="topic-created", source="ReplicationControlManager#createTopic", level=NOTABLE, changes=EVERYTHING):
    """A topic was created. A `partition-changed` event follows for each of the topic's partitions."""

    topic: str
    topic_id: str
    partitions: int
    replication_factor: int

    template = "topic {topic} was created: {partitions:count partition}, replication factor {replication_factor}"


class PartitionsCreated(
    Event, kind="partitions-created", source="ReplicationControlManager#createPartitions", level=NOTABLE, changes=EVERYTHING
):
    """A topic got more partitions. A `partition-changed` event follows for each new partition."""

    topic: str
    added: int
    partitions: int

    template = "topic {topic} got {added:count more partition} and now has {partitions}"


class TopicDeleted(
    Event,
    kind="topic-deleted",
    source="ReplicationControlManager#deleteTopic, TopicDeletionManager#completeDeleteTopic",
    level=NOTABLE,
    changes=TOPICS,
):
    """A topic was deleted.

    With KRaft, the brokers delete their replicas after this event. With ZooKeeper, the brokers have already deleted their replicas.
    """

    topic: str
    topic_id: str
    partitions: int

    template = "topic {topic} was deleted, together with its {partitions:count partition}"


class TopicDeletionDelayed(
    Event, kind="topic-deletion-delayed", source="TopicDeletionManager#markTopicIneligibleForDeletion", level=NOTABLE, changes=NOTHING
):
    """A ZooKeeper-mode controller, `broker`, cannot complete the deletion of a topic, because some of the topic's replicas cannot be
    deleted now.

    `brokers` are the brokers whose replicas cannot be deleted now.
    """

    broker: int
    topic: str
    brokers: tuple[int, ...]

    def sentence(self) -> str:
        their = "its replicas" if len(self.brokers) == 1 else "their replicas"
        return f"topic {self.topic} will be deleted when {brokers(self.brokers)} can delete {their}"


class TopicRefused(Event, kind="topic-refused", source="ReplicationControlManager#createTopic", level=NOTABLE, changes=NOTHING):
    """The controller refused to create a topic or to add partitions to a topic."""

    topic: str
    error: str
    message: str

    template = "no partition was created for topic {topic}: {error}: {message}"


_BROKERS_DID: Final = {
    " has no znode any more": ("no longer has a znode", "no longer have a znode"),
    " is back": ("is back", "are back"),
    " asked for it": ("proposed the ISR", "proposed the ISR"),
    " fenced": ("was fenced", "were fenced"),
    " unregistered": ("was unregistered", "were unregistered"),
    " registered anew": ("registered again", "registered again"),
    " shuts down": ("is shutting down", "are shutting down"),
}
"""The wordings that sentences use for reasons that begin with the names of brokers. Each key is the phrase with which a reason in the log
ends. The values are the wordings for a single broker and for several brokers.
"""

_REPHRASED: Final = {
    "asked for": "as requested",
    " is given up": " was cancelled",
    " does without": " excludes it",
    " has it in a log directory that works": " has its replica in a working log directory",
}
"""The wordings that sentences use for other reasons. Each key is a phrase at the end of a reason in the log, and its value is the phrase
that sentences use instead.
"""


def _because(reason: str) -> str:
    """Return a reason in the wording that sentences use. Logs keep the original wording."""
    if reason.endswith(" voters in touch"):
        return f"the controller can reach {reason.removesuffix(' in touch')}"
    for end, (one, several) in _BROKERS_DID.items():
        if reason.endswith(end):
            who = reason.removesuffix(end).split()
            return f"{listed(who)} {one if len(who) == 1 else several}"
    for end, words in _REPHRASED.items():
        if reason.endswith(end):
            return reason.removesuffix(end) + words
    return reason


class PartitionChanged(Event, kind="partition-changed", source="PartitionChangeBuilder#build"):
    """The controller committed a new state of a partition. The event contains all fields of `PartitionRegistration`."""

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
    "clean": "b{leader} is the first live ISR member in replica order",
    "preferred": "b{leader} is the preferred replica, and it is in the ISR",
    "unclean": "the election was unclean, so the records that b{leader} lacks are lost",
    "eligible": "b{leader} is an eligible leader replica (ELR), and the ISR was empty",
    "last-known": "b{leader} is the last known leader, and the ISR and the ELR were empty",
    "unknown": "how b{leader} was elected is unknown, because the metadata of a running cluster does not tell it",
}


class LeaderElected(
    Event, kind="leader-elected", source="PartitionChangeBuilder#electLeader", level=NOTABLE, words={"election": tuple(_ELECTED)}
):
    """A leader was elected. `election` is `clean`, `unclean`, `preferred`, `eligible` (from the ELR), or `last-known`; in the log of a watched
    cluster, it is `unknown`.
    """

    topic: str
    partition: int
    leader: int
    old_leader: int
    leader_epoch: int
    isr: tuple[int, ...]
    election: str
    reason: str

    def sentence(self) -> str:
        before = "a period without a leader" if self.old_leader < 0 else f"b{self.old_leader}"
        how = _ELECTED[self.election].format(leader=self.leader)
        return f"b{self.leader} leads {self.tp} in epoch {self.leader_epoch} after {before}: {how} ({_because(self.reason)})"


class PartitionOffline(Event, kind="partition-offline", source="PartitionChangeBuilder#electLeader", level=NOTABLE):
    """A partition has no replica that can become its leader. The partition serves no requests until a member of the ISR or the ELR returns."""

    topic: str
    partition: int
    old_leader: int
    leader_epoch: int
    isr: tuple[int, ...]
    reason: str

    def sentence(self) -> str:
        members = f"no member of the ISR {ids(self.isr)}" if self.isr else "no member of its ISR or ELR"
        return f"{self.tp} is offline ({_because(self.reason)}): {members} can lead, and no unclean election is possible"


class ElectionRefused(Event, kind="election-refused", source="ReplicationControlManager#electLeaders"):
    """A requested election was refused."""

    topic: str
    partition: int
    election: str
    error: str

    template = "the {election} leader election for {tp} was refused: {error}"


class AlterPartitionRefused(
    ReplicaEvent, kind="alter-partition-refused", source="ReplicationControlManager#validateAlterPartitionData", level=NOTABLE
):
    """The controller refused an ISR that a leader proposed."""

    isr: tuple[int, ...]
    error: str

    template = "the controller refused the ISR {isr:ids} that b{broker} proposed for {tp}: {error}"


class ControllerCandidate(Event, kind="controller-candidate", source="QuorumState#transitionToCandidate", level=DETAIL, changes=NOTHING):
    """A voter became a candidate for active controller."""

    controller: str
    controller_epoch: int

    template = "{controller} is a candidate in controller epoch {controller_epoch}: it has not heard from an active controller"


class ControllerElected(
    Event, kind="controller-elected", source="QuorumController.QuorumMetaLogListener#handleLeaderChange", level=NOTABLE, changes=NOTHING
):
    """A voter became the active controller, because a majority of voters has the first entry of its epoch.

    With ZooKeeper, a broker became the controller because it created /controller. With ZooKeeper, `voters` is 0.
    """

    controller: str
    controller_epoch: int
    voters: int
    majority: int

    def sentence(self) -> str:
        if self.voters == 0:
            return f"{self.controller} created /controller and is the controller in epoch {self.controller_epoch}; brokers refuse requests from older controller epochs"
        if self.voters == 1:
            return f"{self.controller} is the active controller in epoch {self.controller_epoch}: it is the only voter"
        return (
            f"{self.controller} is the active controller in epoch {self.controller_epoch}, elected by at least {self.majority} of "
            f"{self.voters} voters; the session timeouts of all brokers restart"
        )


class ControllerResigned(Event, kind="controller-resigned", source="KafkaRaftClient#transitionToResigned", level=NOTABLE, changes=NOTHING):
    """A voter stopped leading the quorum. The voter's `uncommitted` writes survive only if its successor has them."""

    controller: str
    controller_epoch: int
    reason: str
    uncommitted: int

    def sentence(self) -> str:
        tail = f"; {count_of(self.uncommitted, 'write was', 'writes were')} not committed yet" if self.uncommitted else ""
        return f"{self.controller} resigned as controller of epoch {self.controller_epoch}: {_because(self.reason)}{tail}"


class UncommittedDropped(Event, kind="uncommitted-dropped", source="ReplicatedLog#truncateToEndOffset", level=NOTABLE, changes=EVERYTHING):
    """A voter dropped writes that its new leader does not have. A majority of voters never had the dropped writes, and no broker saw them."""

    controller: str
    controller_epoch: int
    uncommitted: int

    def sentence(self) -> str:
        many = count_of(self.uncommitted, "write")
        return f"{self.controller} dropped {many} that never reached a majority; the leader of epoch {self.controller_epoch} does not have {'it' if self.uncommitted == 1 else 'them'}"


class NoMajority(Event, kind="no-majority", source="KIP-595", level=NOTABLE, changes=EVERYTHING):
    """No majority of controllers can communicate with each other. The metadata does not change until a majority can communicate again."""

    controller: str
    in_touch: int
    voters: int
    majority: int

    template = "no majority of controllers: {controller} can reach {in_touch} of {voters} voters and needs {majority}; leaders, ISRs, and fencing cannot change"


class ControllerStopped(Event, kind="controller-stopped", source="KIP-595", level=NOTABLE, changes=NOTHING):
    """The process of a dedicated controller ended."""

    controller: str

    template = "controller {controller} stopped; its log and its vote remain on disk"


class ControllerStarted(Event, kind="controller-started", source="KafkaRaftClient#initialize", level=NOTABLE, changes=NOTHING):
    """The process of a dedicated controller started again."""

    controller: str

    template = "controller {controller} started"


class ControllerPaused(Event, kind="controller-paused", source="KIP-595", level=NOTABLE, changes=NOTHING):
    """The process of a dedicated controller was paused."""

    controller: str

    template = "controller {controller} is paused, as in a long GC pause; it processes nothing and sends nothing"


class ControllerResumed(Event, kind="controller-resumed", source="KafkaRaftClient#poll", level=NOTABLE, changes=NOTHING):
    """A paused controller resumed."""

    controller: str
    paused_us: int

    template = "controller {controller} resumed after {paused_us:duration}"

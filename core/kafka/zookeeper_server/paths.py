"""The paths of Kafka's znodes in ZooKeeper, and the data in them (Kafka: `ZkData`)."""

from __future__ import annotations

from typing import Final, NamedTuple

from core.kafka.ids import TopicPartition

CONTROLLER_PATH: Final = "/controller"
"""The path of the ephemeral znode that contains the controller's id."""
CONTROLLER_EPOCH: Final = "/controller_epoch"
"""The path of the znode that contains the controller epoch, which is the number of controllers elected so far."""
BROKER_IDS: Final = "/brokers/ids"
"""The path of the znode that has one ephemeral child for each live broker."""
TOPICS: Final = "/brokers/topics"
"""The path of the znode that has one child for each topic. The child contains the topic's replica assignment."""
ISR_CHANGES: Final = "/isr_change_notification"
"""The path of the znode under which leaders announce ISR changes. Each sequential child contains the changed partitions."""
LOG_DIR_EVENTS: Final = "/log_dir_event_notification"
"""The path of the znode whose sequential children contain the brokers that have a failed log directory."""
CONFIG_CHANGES: Final = "/config/changes"
"""The path of the znode whose sequential children contain changed settings."""
TOPIC_CONFIGS: Final = "/config/topics"
"""The path of the znode that has one child for each topic that a broker has created. The child contains the topic's settings, as (name,
value) pairs."""
PREFERRED_ELECTION: Final = "/admin/preferred_replica_election"
"""The path of the znode that contains the elections that an administrator has requested."""
REASSIGNMENT: Final = "/admin/reassign_partitions"
"""The path of the znode that contains the reassignments that an administrator has requested."""
DELETE_TOPICS: Final = "/admin/delete_topics"
"""The path of the znode that has one child for each topic to delete."""

PRODUCER_IDS: Final = "/latest_producer_id_block"
"""The path of the znode that contains the end of the last block of producer IDs that was allocated to a broker."""


class PartitionState(NamedTuple):
    """The data of a partition's state znode (Kafka: `LeaderIsrAndControllerEpoch`). The znode's version is the partition epoch.

    Attributes:
        leader: the broker that leads the partition.
        leader_epoch: the leader epoch.
        isr: the ISR.
        controller_epoch: the epoch of the controller that wrote the state.
        reason: the reason for the change, for the journal only.
        election: the kind of election, for the journal only; '' if the change is not an election.
    """

    leader: int
    leader_epoch: int
    isr: tuple[int, ...]
    controller_epoch: int
    reason: str
    election: str = ""


class ReplicaAssignment(NamedTuple):
    """The replicas of one partition, including those that a running reassignment is adding or removing (KIP-455)."""

    replicas: tuple[int, ...]
    adding: tuple[int, ...] = ()
    removing: tuple[int, ...] = ()


class ConfigChange(NamedTuple):
    """A changed setting. If `topic` and `broker` are None, the setting applies to the whole cluster."""

    name: str
    value: str
    topic: str | None
    broker: int | None


def broker_path(broker: int) -> str:
    """Return the path of a broker's znode, for example `/brokers/ids/1`."""
    return f"{BROKER_IDS}/{broker}"


def topic_path(topic: str) -> str:
    """Return the path of a topic's znode, for example `/brokers/topics/orders`. The znode's data is a tuple with one `ReplicaAssignment`
    per partition."""
    return f"{TOPICS}/{topic}"


def topic_config_path(topic: str) -> str:
    """Return the path of the znode that contains a topic's settings, for example `/config/topics/orders`."""
    return f"{TOPIC_CONFIGS}/{topic}"


def deletion_path(topic: str) -> str:
    """Return the path of the znode that requests the deletion of a topic, for example `/admin/delete_topics/orders`."""
    return f"{DELETE_TOPICS}/{topic}"


def state_path(tp: TopicPartition) -> str:
    """Return the path of a partition's state znode, for example `/brokers/topics/orders/partitions/0/state`. The znode's data is a
    `PartitionState`."""
    return f"{TOPICS}/{tp.topic}/partitions/{tp.partition}/state"


def partition_of(path: str) -> TopicPartition | None:
    """Return the partition whose state znode has the given path; None if the path does not belong to a state znode."""
    if not path.endswith("/state"):
        return None
    _, _, _, topic, _, number, _ = path.split("/")
    return TopicPartition(topic, int(number))

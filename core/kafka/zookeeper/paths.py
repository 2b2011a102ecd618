"""Where Kafka keeps what in ZooKeeper, and what stands there (Kafka: `ZkData`)."""

from __future__ import annotations

from typing import Final, NamedTuple

from core.kafka.ids import TopicPartition

CONTROLLER_PATH: Final = "/controller"
"""Ephemeral: the broker that is controller."""
CONTROLLER_EPOCH: Final = "/controller_epoch"
"""How many controllers there have been."""
BROKER_IDS: Final = "/brokers/ids"
"""An ephemeral znode per live broker."""
TOPICS: Final = "/brokers/topics"
"""A znode per topic with its assignment."""
ISR_CHANGES: Final = "/isr_change_notification"
"""Sequential znodes: partitions whose leaders have changed the ISR."""
LOG_DIR_EVENTS: Final = "/log_dir_event_notification"
"""Sequential znodes: brokers that had a log directory fail."""
CONFIG_CHANGES: Final = "/config/changes"
"""Sequential znodes: settings that were changed."""
PREFERRED_ELECTION: Final = "/admin/preferred_replica_election"
"""Elections that somebody asks for."""
REASSIGNMENT: Final = "/admin/reassign_partitions"
"""Moves that somebody asks for."""

PRODUCER_IDS: Final = "/latest_producer_id_block"
"""The end of the last block of producer ids that a broker has taken."""


class PartitionState(NamedTuple):
    """A partition's state znode; its version is the partition epoch. `reason` and `election` are for the journal only."""

    leader: int
    leader_epoch: int
    isr: tuple[int, ...]
    controller_epoch: int
    reason: str
    election: str = ""


class ReplicaAssignment(NamedTuple):
    """One partition's replicas, with those that a running move adds and removes (KIP-455)."""

    replicas: tuple[int, ...]
    adding: tuple[int, ...] = ()
    removing: tuple[int, ...] = ()


class ConfigChange(NamedTuple):
    """A changed setting: of a topic, a broker, or (both None) the whole cluster."""

    name: str
    value: str
    topic: str | None
    broker: int | None


def broker_path(broker: int) -> str:
    """`/brokers/ids/1`."""
    return f"{BROKER_IDS}/{broker}"


def topic_path(topic: str) -> str:
    """`/brokers/topics/orders`: a tuple of `ReplicaAssignment`, by partition."""
    return f"{TOPICS}/{topic}"


def state_path(tp: TopicPartition) -> str:
    """`/brokers/topics/orders/partitions/0/state`: a `PartitionState`."""
    return f"{TOPICS}/{tp.topic}/partitions/{tp.partition}/state"


def partition_of(path: str) -> TopicPartition | None:
    """The partition whose state znode it is, if it is one."""
    if not path.endswith("/state"):
        return None
    _, _, _, topic, _, number, _ = path.split("/")
    return TopicPartition(topic, int(number))

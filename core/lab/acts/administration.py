"""Acts of administrators: settings, topics, partitions, leaders, replicas, and log cleaning."""

from __future__ import annotations

import attrs

from core.kafka.ids import TopicPartition
from core.lab.acts.act import Act


@attrs.frozen(eq=False, repr=False)
class Set(Act, word="set", does="change a Kafka setting while the cluster is running"):
    """Change a Kafka setting for the whole cluster, for a topic, or for a broker.

    If Kafka reads a setting only when a broker starts, the act is refused in a running cluster. With `force`, the setting changes
    anyway, as if the brokers had restarted with the new value and nothing else had happened.
    """

    name: str
    value: str
    topic: str | None = None
    broker: int | None = None
    force: bool = False


@attrs.frozen(eq=False, repr=False)
class CreateTopic(Act, word="create-topic", does="create a topic"):
    """Create a topic. `replicas` assigns the replicas of the topic's partitions to brokers."""

    topic: str
    partitions: int = 1
    replication_factor: int = 3
    replicas: tuple[tuple[int, ...], ...] = ()
    config: tuple[tuple[str, str], ...] = ()


@attrs.frozen(eq=False, repr=False)
class CreatePartitions(Act, word="create-partitions", does="give a topic more partitions"):
    """Increase the number of a topic's partitions to `partitions` (`kafka-topics --alter`).

    `replicas` assigns the replicas of the new partitions to brokers. Clients learn of the new partitions from their next metadata update,
    at the latest after metadata.max.age.ms (5 minutes by default).
    """

    topic: str
    partitions: int
    replicas: tuple[tuple[int, ...], ...] = ()


@attrs.frozen(eq=False, repr=False)
class DeleteTopic(Act, word="delete-topic", does="delete a topic with its records"):
    """Delete a topic with its records, its settings, and the offsets that groups have committed for it (`kafka-topics --delete`).

    With KRaft, the topic disappears immediately, and each broker deletes its replicas when it learns of the deletion. With ZooKeeper, the
    topic exists until every broker with a replica has deleted it; until then, clients get UNKNOWN_TOPIC_OR_PARTITION. Deleted records do
    not count as lost.
    """

    topic: str


@attrs.frozen(eq=False, repr=False)
class Elect(Act, word="elect", does="elect preferred leaders, or leaders from outside the ISR"):
    """Elect preferred leaders, or leaders from outside the ISR, for one partition or for all partitions (`kafka-leader-election`)."""

    election: str = "preferred"
    partition: TopicPartition | None = None


@attrs.frozen(eq=False, repr=False)
class Reassign(Act, word="reassign", does="move a partition to other replicas, or change their number or order"):
    """Move a partition to other replicas (`kafka-reassign-partitions --execute`).

    Added replicas must catch up before the replaced replicas are removed. The tool refuses brokers that are not alive. With `admin-api`,
    a client requests the reassignment through the Admin API (since 2.4), where a KRaft controller accepts any registered broker.
    """

    partition: TopicPartition
    replicas: tuple[int, ...]
    admin_api: bool = False


@attrs.frozen(eq=False, repr=False)
class CancelReassignment(Act, word="cancel-reassignment", does="cancel a running reassignment"):
    """Cancel a reassignment that is in progress (`kafka-reassign-partitions --cancel`)."""

    partition: TopicPartition


@attrs.frozen(eq=False, repr=False)
class UpdateFeature(Act, word="update-feature", does="change the level of a feature"):
    """Change the finalized level of a feature (`kafka-features upgrade` and `downgrade`, since 4.0 for `transaction.version`).

    Brokers learn of the new level from the metadata log. A client learns of the new level on its next connection to a broker, and uses the
    new level from its next transaction on. `upgrade_type` is `upgrade`, `safe-downgrade`, or `unsafe-downgrade`; by default, isrlab chooses
    the type that fits the level.
    """

    feature: str
    level: int
    upgrade_type: str = ""


@attrs.frozen(eq=False, repr=False)
class Unregister(Act, word="unregister", does="unregister a broker"):
    """Unregister a broker (`kafka-cluster unregister`, only with KRaft). The broker loses leadership of its partitions and leaves all ISRs.

    The broker's replicas remain assigned to it, so reassign the replicas first. If the broker's process is still running, the controller
    refuses its heartbeats. The broker does not join any ISR, and registers again only after a restart.
    """

    broker: int


@attrs.frozen(eq=False, repr=False)
class DeleteRecords(Act, word="delete-records", does="delete a partition's records below an offset"):
    """Delete the records of a partition below an offset (`kafka-delete-records`). Consumers can no longer read these records.

    Without an offset, all records below the high watermark are deleted.
    """

    partition: TopicPartition
    offset: int | None = None


@attrs.frozen(eq=False, repr=False)
class Clean(Act, word="clean", does="run a broker's log cleaner now"):
    """Clean the compacted logs of a broker now, or the log of one partition, no matter how few of their bytes are dirty.

    A pass covers closed segments below the last stable offset. Without this act, a broker cleans a log when more than
    min.cleanable.dirty.ratio of its bytes are dirty.
    """

    broker: int
    partition: TopicPartition | None = None

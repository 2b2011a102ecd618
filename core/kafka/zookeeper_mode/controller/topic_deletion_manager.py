"""How a ZooKeeper-mode controller deletes topics (Kafka: `TopicDeletionManager`).

An administrator requests a deletion by creating a znode below /admin/delete_topics. The controller informs all brokers, whose clients then
get UNKNOWN_TOPIC_OR_PARTITION, and makes the brokers delete their replicas. The controller deletes the topic's znodes only when all
replicas have been deleted. Therefore, if a broker that has a replica is down, the topic continues to exist, and no topic with the same name
can be created.
"""

from __future__ import annotations

from collections.abc import Iterable

from core.kafka import events
from core.kafka.ids import TopicPartition
from core.kafka.zookeeper_mode.controller.controller_component import ControllerComponent
from core.kafka.zookeeper_mode.controller.requests import ControlResponse
from core.kafka.zookeeper_server import paths
from core.kafka.zookeeper_server.paths import deletion_path, state_path, topic_path
from core.kafka.zookeeper_server.protocol import Delete, GetChildren, Result


class TopicDeletionManager(ControllerComponent):
    """Deletes topics."""

    def process_topic_deletion(self) -> None:
        """Read the requested deletions (`KafkaController#processTopicDeletion`)."""
        self.queue.submit((GetChildren(paths.DELETE_TOPICS, watch=True),), self._requests_read)

    def _requests_read(self, results: tuple[Result, ...]) -> None:
        for name in self.enqueue(results[0].data):
            self.requests.update_metadata(self.context.partitions_of(name))
            self._delete_replicas(name)
        self.queue.done()

    def enqueue(self, names: Iterable[str]) -> list[str]:
        """Mark topics as being deleted (`#enqueueTopicsForDeletion`). Return the topics that this call has marked."""
        context = self.context
        new = [name for name in names if name not in context.topics_to_delete and context.partitions_of(name)]
        for name in new:
            tps = context.partitions_of(name)
            context.topics_to_delete[name] = {tp: {} for tp in tps}
            for tp in tps:
                context.offline_partitions.pop(tp, None)
        return new

    def continue_deletions(self) -> None:
        """Continue the deletions that a former controller began."""
        self.resume()
        self.queue.done()

    def resume(self) -> None:
        """Continue the deletions that were waiting for a broker (`#resumeDeletions`)."""
        for name in list(self.context.topics_to_delete):
            self._delete_replicas(name)

    def _delete_replicas(self, name: str) -> None:
        """Make the live brokers delete the replicas that still exist (`#onPartitionDeletion`)."""
        context = self.context
        progress = context.topics_to_delete[name]
        left: dict[int, list[TopicPartition]] = {}
        for tp, done in progress.items():
            for broker in context.assignments[tp].replicas:
                if broker not in done:
                    left.setdefault(broker, []).append(tp)
        waits = []
        for broker, tps in left.items():
            offline = context.offline.get(broker, ())
            if broker not in context.live or any(tp in offline for tp in tps):
                waits.append(broker)
            self.requests.stop_replicas(broker, [tp for tp in tps if tp in context.states and tp not in offline], delete=True)
        if waits:
            self.journal.emit(events.TopicDeletionDelayed.kind, self.broker.id, name, tuple(sorted(waits)))

    def handle_control_response(self, response: ControlResponse, sender: str) -> None:
        """Handle a broker's response to StopReplica or UpdateMetadata. The response might list replicas that the broker has deleted."""
        self.channels.answered(sender, response.correlation)
        deleted = self.context.topics_to_delete
        if self.queue.active and response.controller_epoch == self.context.epoch and any(tp.topic in deleted for tp in response.deleted):
            self.queue.put(self._replicas_deleted, int(sender[1:]), response.deleted)

    def _replicas_deleted(self, broker: int, tps: tuple[TopicPartition, ...]) -> None:
        """Record that replicas have been deleted. If no replica of the topic is left, delete the topic's znodes
        (`#completeDeleteTopic`)."""
        context = self.context
        for tp in tps:
            if tp.topic in context.topics_to_delete:
                context.topics_to_delete[tp.topic][tp][broker] = None
        complete = []
        for name in dict.fromkeys(tp.topic for tp in tps):
            progress = context.topics_to_delete.get(name, {})
            if progress and all(replica in done for tp, done in progress.items() for replica in context.assignments[tp].replicas):
                complete.append(name)
        ops = [
            Delete(path)
            for name in complete
            for path in (*map(state_path, context.topics_to_delete[name]), topic_path(name), deletion_path(name))
        ]
        self.queue.submit(ops, self._topics_deleted, complete)

    def _topics_deleted(self, _results: tuple[Result, ...], names: list[str]) -> None:
        for name in names:
            self.context.remove_topic(name)
        self.queue.done()

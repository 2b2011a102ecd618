"""The log directories of replicas: which directory holds a replica (KIP-858)."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from core.kafka.controller.cluster_control_manager import ClusterControlManager
from core.kafka.ids import TopicPartition


class ReplicaDirectories:
    """The directory of each replica on brokers that have several log directories, as far as the controller knows.

    Attributes:
        assigned: for each broker, the directory of each replica.
    """

    __slots__ = ("_cluster", "assigned")

    _cluster: Final[ClusterControlManager]
    assigned: Final[dict[int, dict[TopicPartition, str]]]

    def __init__(self, cluster: ClusterControlManager) -> None:
        self._cluster = cluster
        self.assigned = {}

    def has_online_dir(self, broker: int, tp: TopicPartition) -> bool:
        """Return whether the log directory of a replica is working (`ReplicationControlManager#isAcceptableLeader`)."""
        directory = self.assigned.get(broker, {}).get(tp)
        registration = self._cluster.brokers.get(broker)
        return directory is None or registration is None or registration.has_online_dir(directory)

    def assign(self, broker: int, tp: TopicPartition, directory: str) -> None:
        """Record the directory of a replica."""
        self.assigned.setdefault(broker, {})[tp] = directory

    def remove(self, tps: Iterable[TopicPartition]) -> None:
        """Remove deleted partitions."""
        for tp in tps:
            for known in self.assigned.values():
                known.pop(tp, None)

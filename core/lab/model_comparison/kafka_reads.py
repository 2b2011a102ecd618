"""The modes in which clients can read from Kafka's replicas. The modes differ in the offset up to which a read sees records.

- `leader` (Kafka's default): only the leader answers, up to its high watermark.
- `kip-392`: a follower in the ISR answers up to its own high watermark. The client keeps a position that never goes back; a follower
  that is behind the position sends the client to the leader.
- `follower-hw` (not available in Kafka): every replica serves records up to its own high watermark, and the client keeps no position.
- `follower-leo` (not available in Kafka): every replica answers with everything in its log.
"""

from __future__ import annotations

from typing import Final

from core.kafka.broker.broker import Broker
from core.kafka.ids import TopicPartition
from core.lab.cluster_nodes import ClusterNodes
from core.lab.model_comparison.kafka_client import Served
from core.lab.model_comparison.kafka_rows import RowIndex

LEADER: Final = "leader"
KIP_392: Final = "kip-392"
FOLLOWER_HW: Final = "follower-hw"
FOLLOWER_LEO: Final = "follower-leo"

READS: Final = (LEADER, KIP_392, FOLLOWER_HW, FOLLOWER_LEO)
"""The names of the read modes, starting with the default mode."""


class Replicas:
    """The replicas of a partition, which answer the clients' reads.

    Attributes:
        cluster: the cluster that the replicas belong to.
        tp: the partition that the workload writes to.
        index: the index that finds the workload's rows in the logs of the replicas.
    """

    def __init__(self, cluster: ClusterNodes, tp: TopicPartition) -> None:
        self.cluster: Final = cluster
        self.tp: Final = tp
        self.index: Final = RowIndex()

    def serve(self, client: str, key: str, broker: int, how: str, position: int) -> Served:
        """Return a broker's answer to a client that reads a key."""
        cluster = self.cluster
        address = f"b{broker}"
        if broker not in cluster.brokers or not cluster.network.alive.get(address, False):
            return Served(refusal="the broker isn't running")
        link = cluster.network.links.get((client, address))
        if (link is not None and link.cut) or address in cluster.paused:
            return Served(unreachable=True)
        limit = self.limit(cluster.brokers[broker], how or LEADER, position)
        if limit is None:
            return self._at_leader(client, key, broker, how, position)
        log = cluster.brokers[broker].disk.logs[self.tp]
        return Served(self.index.latest(log, key, limit), limit)

    def limit(self, broker: Broker, how: str, position: int) -> int | None:
        """Return the offset below which a replica serves records; None if the replica doesn't answer."""
        log = broker.disk.logs.get(self.tp)
        partition = broker.partitions.get(self.tp)
        if log is None or partition is None:
            return None
        if how == FOLLOWER_LEO:
            return log.leo
        if how == FOLLOWER_HW or partition.is_leader:
            return log.high_watermark
        leader = self._leader()
        if how != KIP_392 or leader is None or broker.id not in leader.partitions[self.tp].isr or log.high_watermark < position:
            return None
        return log.high_watermark

    def _at_leader(self, client: str, key: str, broker: int, how: str, position: int) -> Served:
        """Return the leader's answer to a client that a follower has redirected to it. Reads in other modes are refused."""
        leader = self._leader()
        if how != KIP_392 or leader is None or leader.id == broker:
            return Served(refusal="the broker doesn't lead the partition")
        return self.serve(client, key, leader.id, how, position)

    def _leader(self) -> Broker | None:
        """Return the leader with the highest leader epoch."""
        led = [broker for broker in self.cluster.brokers.values() if self._leads(broker)]
        return max(led, key=lambda broker: broker.partitions[self.tp].leader_epoch, default=None)

    def _leads(self, broker: Broker) -> bool:
        partition = broker.partitions.get(self.tp)
        return partition is not None and partition.is_leader and self.cluster.network.alive[broker.address]

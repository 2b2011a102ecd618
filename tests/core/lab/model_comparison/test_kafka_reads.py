"""Records that a follower truncates disappear even for clients that have read them (K-04). The scenarios `kafka-k*` are the other worked
examples of reads.

The replicas R0, R1, and R2 are on the brokers 1, 2, and 3. Version v of the key is at offset v - 1.
"""

from __future__ import annotations

import pytest

from core.kafka.release import CURRENT
from core.kafka.topic_spec import PartitionSpec, TopicSpec
from core.lab import acts
from core.lab.cluster import Cluster
from core.lab.model_comparison.kafka_client import WorkloadClient
from core.lab.model_comparison.kafka_reads import FOLLOWER_HW, FOLLOWER_LEO, KIP_392, Replicas
from core.lab.model_comparison.kafka_system import TP
from core.lab.spec import BrokerSpec, ClusterSpec, Pace
from core.models.account import OK, Account

B2 = [(10, ()), (0, (4, 5)), (5, ()), (0, (4, 5)), (5, ()), (0, (10, 8))]
"""Worked example B2: the records that are produced, or the records that each follower receives in a round."""


class ByHand:
    """Three replicas that are stepped by hand, and two clients of the workload."""

    def __init__(self, acks_value: int) -> None:
        spec = ClusterSpec(
            tuple(BrokerSpec(number) for number in (1, 2, 3)), (TopicSpec("t", assignment=(PartitionSpec((1, 2, 3)),)),), pace=Pace.BY_HAND
        )
        self.cluster = cluster = Cluster(spec, CURRENT)
        self.account = Account(cluster.journal)
        self.replicas = Replicas(cluster, TP)
        self.writer, self.reader = (
            WorkloadClient(
                name,
                TP,
                cluster.clients.context(),
                (1, 2, 3),
                self.account,
                acks_value,
                self.replicas.serve,
            )
            for name in ("w", "r")
        )
        for client in (self.writer, self.reader):
            cluster.clients.add(client, by_hand=cluster.by_hand)
            client.leaders = list(cluster.controller.leaders("t"))

    def play(self, steps: list[tuple[int, tuple[int, ...]]], *, at_once: bool = False) -> None:
        for produced, handed in steps:
            for _ in range(produced):
                self.writer.write("k")
            self.cluster.deliver_pending()
            if handed and at_once:
                for broker, count in zip((2, 3), handed, strict=True):
                    self.cluster.do(acts.Fetch(broker, 1, count))
            elif handed:
                for broker in (2, 3):
                    self.cluster.do(acts.Arrive(broker, 1))
                for broker, count in zip((2, 3), handed, strict=True):
                    self.cluster.do(acts.Answer(broker, 1, count))

    def read(self, broker: int, how: str, client: WorkloadClient | None = None) -> tuple[int, int, int]:
        """Return the version that a read returns, and by how many versions it is stale and goes back."""
        (client or self.reader).read("k", broker, how=how)
        record = self.account.reads[-1]
        assert record.outcome == OK
        return record.row.version, record.stale, record.backward

    def ends(self) -> list[str]:
        logs = [self.cluster.brokers[broker].disk.logs[TP] for broker in (1, 2, 3)]
        return [f"{log.leo}/{log.high_watermark}" for log in logs]


@pytest.mark.parametrize(("how", "dirty"), [(FOLLOWER_LEO, 2), (FOLLOWER_HW, 0), (KIP_392, 0)])
def test_k04_a_follower_that_truncates(how: str, dirty: int) -> None:
    lab = ByHand(1)
    lab.play([*B2[:5], (0, (8, 8))])
    assert lab.ends() == ["20/8", "16/8", "18/8"]
    assert lab.account.acked["k"] == 20
    taken = lab.read(3, how)[0]
    assert taken == (18 if how == FOLLOWER_LEO else 8)
    held = {row.uid for _, row in lab.replicas.index.rows(lab.cluster.brokers[3].disk.logs[TP], taken)}
    lab.cluster.do(acts.Kill(1))
    lab.cluster.do(acts.Fence(1))
    assert lab.cluster.partition_view(TP).leader == 2
    lab.cluster.do(acts.Fetch(3, 2))
    log = lab.cluster.brokers[2].disk.logs[TP]
    assert (log.leo, lab.cluster.brokers[3].disk.logs[TP].leo) == (16, 16)
    final = {row.uid for _, row in lab.replicas.index.rows(log, log.leo)}
    assert len(held - final) == dirty
    assert len(set(lab.account.oks) - final) == 4

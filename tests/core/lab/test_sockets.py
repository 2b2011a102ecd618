"""What a killed, paused, or powered-off machine had sent or received, in whole clusters: operating systems keep the bytes, and processes do
not see the bytes of the processes before them (`core.sim.network`).
"""

from __future__ import annotations

import pytest

from core.kafka.ids import TopicPartition
from core.kafka.release import RELEASES
from core.kafka.topic_spec import PartitionSpec, TopicSpec
from core.lab import acts
from core.lab.cluster import Cluster
from core.lab.spec import BrokerSpec, ClusterSpec, NetworkSpec
from core.models import acts as model_acts
from core.models.mysql.settings import MySQLSettings
from core.models.mysql.system import MySQL
from core.sim.kernel_messages import Disconnected
from core.sim.units import SECOND
from core.sim.units import US_PER_MS as MS

TP = TopicPartition("t", 0)


def two_brokers(release: str, **settings: object) -> Cluster:
    """Return a cluster of two brokers with a partition that broker 1 leads."""
    spec = ClusterSpec(
        brokers=(BrokerSpec(1), BrokerSpec(2)),
        topics=(TopicSpec("t", assignment=(PartitionSpec((1, 2)),)),),
        settings=(("min.insync.replicas", 1), *settings.items()),  # type: ignore[arg-type]
        network=NetworkSpec(latency=500),
    )
    return Cluster(spec, RELEASES[release])


def runs(cluster: Cluster, ms: int) -> None:
    cluster.run_until(cluster.now + ms * MS)


def end(cluster: Cluster, broker: int) -> int:
    """Return the log end offset of a broker's replica."""
    return cluster.brokers[broker].partitions[TP].log.leo


@pytest.mark.parametrize("release", ["0.10.2", "2.8", "4.3"])
def test_a_paused_follower_gets_the_records_that_its_dead_leader_had_sent(release: str) -> None:
    cluster = two_brokers(release)
    runs(cluster, 1_000)
    cluster.do(acts.Produce("t", 3))
    runs(cluster, 1_000)
    cluster.do(acts.Pause(2))
    cluster.do(acts.Produce("t", 5, acks="1"))
    runs(cluster, 300)
    cluster.do(acts.Kill(1))
    runs(cluster, 1_000)
    assert end(cluster, 2) == 3
    cluster.do(acts.Resume(2))
    runs(cluster, 30_000)
    assert end(cluster, 2) == 8
    assert cluster.account.lost == 0
    assert cluster.partition_view(TP).leader == 2


def test_a_cut_link_brings_the_records_of_a_killed_leader_and_not_those_of_one_without_power() -> None:
    ends = {}
    for act in (acts.Kill(1), acts.PowerLoss(1, unflushed="kept")):
        cluster = two_brokers("4.3")
        runs(cluster, 1_000)
        cluster.do(acts.Produce("t", 3))
        runs(cluster, 1_000)
        cluster.do(acts.Cut(("b1", "b2"), one_way=True))
        cluster.do(acts.Produce("t", 5, acks="1"))
        runs(cluster, 300)
        cluster.do(act)
        runs(cluster, 1_000)
        cluster.do(acts.Heal(("b1", "b2")))
        runs(cluster, 1_000)
        ends[act.word] = end(cluster, 2)
    assert ends == {"kill": 8, "power-loss": 3}


@pytest.mark.parametrize("pause", [4_000, 8_000])
@pytest.mark.parametrize("idempotence", [False, True])
def test_a_leader_appends_what_it_had_received_although_the_client_has_closed_the_connection(pause: int, *, idempotence: bool) -> None:
    """The duplicate after a long pause for garbage collection. The requests of later attempts have not left, because a client first waits
    for the broker's API versions on each new connection.
    """
    cluster = two_brokers("2.8", **{"replica.lag.time.max.ms": 30_000, "zookeeper.session.timeout.ms": 30_000})
    config = (("request.timeout.ms", "1500"), ("delivery.timeout.ms", "60000"))
    cluster.do(acts.Produce("t", 3, idempotence=idempotence, config=config))
    runs(cluster, 2_000)
    cluster.do(acts.Pause(1))
    cluster.do(acts.Produce("t", 5))
    runs(cluster, pause)
    producer = cluster.clients.producer("producer")
    assert producer is not None
    assert producer.metrics.acked == 3
    cluster.do(acts.Resume(1))
    runs(cluster, 10_000)
    assert producer.metrics.acked == 8
    assert cluster.account.duplicated == (0 if idempotence else 5)
    assert end(cluster, 1) == (8 if idempotence else 13)


@pytest.mark.parametrize(("release", "attempts"), [("0.8.2", 2), ("0.10.2", 1)])
def test_only_clients_that_ask_for_api_versions_wait_for_the_process(release: str, attempts: int) -> None:
    """The operating system of a paused broker accepts a new connection, and receives the second attempt. The producer then gives up, because
    the batch has waited for request.timeout.ms.
    """
    cluster = two_brokers(release, **{"replica.lag.time.max.ms": 30_000, "zookeeper.session.timeout.ms": 30_000})
    cluster.do(acts.Produce("t", 3, config=(("retries", "10"), ("request.timeout.ms", "1500"))))
    runs(cluster, 2_000)
    cluster.do(acts.Pause(1))
    cluster.do(acts.Produce("t", 5))
    runs(cluster, 8_000)
    cluster.do(acts.Resume(1))
    runs(cluster, 10_000)
    assert end(cluster, 1) == 3 + 5 * attempts


@pytest.mark.parametrize(("only_opened", "copied"), [(True, 5), (False, 0)])
def test_a_delayed_fetch_outlives_the_leaders_own_connection_to_its_follower(copied: int, *, only_opened: bool) -> None:
    """Each of the two opens a connection to the other for its own requests. The follower still waits for a response on its connection."""
    cluster = two_brokers("4.3")
    cluster.network.polls.elides = False
    runs(cluster, 1_100)
    cluster.brokers[1].handle(Disconnected("b2", only_opened=only_opened), "b2")
    cluster.do(acts.Produce("t", 5, acks="1"))
    runs(cluster, 10)
    assert (end(cluster, 1), end(cluster, 2)) == (5, copied)


def mysql(fault: model_acts.Act, act: model_acts.Act, repair: model_acts.Act) -> int:
    """Return the number of rows on the replica if the source sends a row during a fault, ends in an act, and the fault is then repaired."""
    system = MySQL(MySQLSettings(replicas=1))
    client = system.add_client("c", ("n1",))
    system.run_until(SECOND)
    system.do(fault)
    client.write("k")
    system.run_until(SECOND + 100 * MS)
    system.do(act)
    system.run_until(SECOND + 200 * MS)
    system.do(repair)
    system.run_until(SECOND + 300 * MS)
    return len(system.server("n2").engine)


@pytest.mark.parametrize("act", [model_acts.Kill("n1"), model_acts.PowerLoss(("n1",))], ids=["kill", "power-loss"])
def test_a_paused_replica_gets_the_row_that_its_dead_source_had_sent(act: model_acts.Act) -> None:
    assert mysql(model_acts.Pause("n2"), act, model_acts.Resume("n2")) == 1


@pytest.mark.parametrize(("act", "rows"), [(model_acts.Kill("n1"), 1), (model_acts.PowerLoss(("n1",)), 0)], ids=["kill", "power-loss"])
def test_a_row_on_a_cut_link_outlives_the_process_of_the_source_and_not_its_machine(act: model_acts.Act, rows: int) -> None:
    assert mysql(model_acts.Cut("n1", "n2"), act, model_acts.Heal("n1", "n2")) == rows

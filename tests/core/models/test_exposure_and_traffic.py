"""The exposure of acknowledged writes, and the traffic between servers, in all models with the same definitions."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from core.lab.model_comparison.kafka_system import KafkaSettings, KafkaSystem, wire_bytes
from core.lab.model_comparison.systems import Compared
from core.models import acts
from core.models.client import WriteLoop
from core.models.elasticsearch.settings import ElasticsearchSettings
from core.models.elasticsearch.system import Elasticsearch
from core.models.exposure import Exposure
from core.models.mysql.settings import MySQLSettings
from core.models.mysql.system import MySQL
from core.models.quorum.system import Quorum
from core.sim.units import SECOND
from core.sim.units import US_PER_MS as MS


def test_each_asynchronous_write_is_exposed_while_it_travels() -> None:
    """M-02: a write each millisecond is acknowledged 1 ms after it was sent, and 1 ms later it is in the relay log."""
    system = MySQL(MySQLSettings(replicas=1))
    exposure = Exposure(system)
    for number in range(100):
        system.add_client(f"w{number}").start(WriteLoop("k", SECOND, start=number * MS, until=number * MS + 1))
    exposure.run_until(200 * MS)
    assert (exposure.most, exposure.area, exposure.present) == (1, 100 * MS, 0)


def test_m03_writes_that_no_replica_has_remain_exposed_until_the_source_is_gone_and_are_then_lost() -> None:
    system = MySQL(MySQLSettings(replicas=2))
    exposure = Exposure(system)
    client = system.add_client("w", ("n1",))
    client.start(WriteLoop("k", 10 * MS))
    exposure.run_until(100 * MS - 1)
    for replica in ("n2", "n3"):
        system.do(acts.Cut("n1", replica))
    exposure.run_until(300 * MS - 1)
    assert exposure.present == exposure.most == 20
    system.do(acts.Kill("n1"))
    system.dead_for_good.add("n1")
    exposure.recheck()
    exposure.observe()
    assert exposure.present == 0, "while there is no primary, nothing is counted"
    system.do(acts.Promote())
    exposure.recheck()
    exposure.run_until(310 * MS)
    assert exposure.present == 20, "a lost write remains exposed"
    assert system.settle(SECOND).lost == 20


def test_q05_a_leader_without_followers_in_the_isr_exposes_everything() -> None:
    system = KafkaSystem(KafkaSettings(min_isr=1))
    exposure = Exposure(system)
    client = system.add_client("w")
    exposure.run_until(100 * MS)
    client.write("k")
    exposure.run_until(SECOND)
    assert exposure.present == 0
    for server in ("n2", "n3"):
        system.do(acts.Kill(server))
        exposure.recheck()
    exposure.run_until(30 * SECOND)
    client.write("k")
    exposure.run_until(31 * SECOND)
    assert system.account.acked["k"] == 2
    assert (exposure.present, exposure.most) == (2, 2), "what b2 and b3 hold does not count, because their processes do not run"
    system.do(acts.Restart("n2"))
    exposure.recheck()
    exposure.run_until(60 * SECOND)
    assert exposure.present == 0


def sent(build: Callable[[], Compared]) -> int:
    """Return the bytes that one write causes between servers within 100 ms: the difference between a run with the write and a run without
    it.
    """
    total = []
    for writes in (0, 1):
        system = build()
        client = system.add_client("w", ("n1", "n2", "n3"))
        system.run_until(system.now + 100 * MS)
        if writes:
            client.write("k")  # type: ignore[attr-defined]
        system.run_until(system.now + 100 * MS)
        assert len(system.account.oks) == writes
        total.append(system.report().bytes_sent)
    return total[1] - total[0]


def quorum() -> Quorum:
    system = Quorum()
    system.elect_first()
    return system


@pytest.mark.parametrize(("build", "size"), [
    (lambda: MySQL(), 2 * 1_100),
    (lambda: MySQL(MySQLSettings(semi_sync=True)), 2 * (1_100 + 100)),
    (quorum, 2 * (1_100 + 100)),
    (lambda: Elasticsearch(ElasticsearchSettings()), 2 * (1_100 + 100 + 100)),
    (lambda: KafkaSystem(KafkaSettings(acks=1)), 2 * (1_100 + 100)),
    (lambda: KafkaSystem(), 2 * (1_100 + 100)),
], ids=["mysql", "semi-sync", "quorum", "elasticsearch", "kafka-acks-1", "kafka"])  # fmt: skip
def test_bytes_of_a_write(build: Callable[[], Compared], size: int) -> None:
    """For each of two copies, the bytes cover a message with the row and, if the model has one, the answer, which in Kafka is the next
    fetch. Only Elasticsearch also sends the new global checkpoint immediately.
    """
    assert sent(build) == size


def test_messages_that_do_not_arrive_do_not_count() -> None:
    system = MySQL()
    client = system.add_client("w", ("n1",))
    system.do(acts.Cut("n1", "n2"))
    system.do(acts.Kill("n3"))
    client.write("k")
    system.run_until(SECOND)
    assert (system.traffic.messages, system.traffic.bytes) == (0, 0)
    system.do(acts.HealAll())
    system.run_until(2 * SECOND)
    assert (system.traffic.messages, system.traffic.bytes) == (1, 1_100)


def test_clients_do_not_count() -> None:
    assert wire_bytes("any request") == 100
    counted = []
    for reads in (0, 100):
        system = KafkaSystem()
        client = system.add_client("r")
        for _ in range(reads):
            client.read("k")
        system.run_until(SECOND)
        counted.append(system.traffic.messages)
    assert counted[0] == counted[1] > 0

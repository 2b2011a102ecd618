"""Parts of a broker on the context that they share, without a broker: any node will do."""

from __future__ import annotations

from core.kafka.broker.broker_setup import BrokerSetup
from core.kafka.broker.context import BrokerContext
from core.kafka.broker.hosted_partitions import HostedPartitions
from core.kafka.broker.kafka_config import KafkaConfig
from core.kafka.broker.kraft_metadata_cache import KRaftMetadataCache
from core.kafka.broker.log_manager.log_manager import LogManager
from core.kafka.broker.partition import Partition
from core.kafka.broker.requests.fetch_manager import FetchManager
from core.kafka.release import RELEASES
from core.kafka.settings.settings import Settings
from core.sim.kernel_messages import Timer
from core.sim.node import Node
from tests.core.node_bench import TP, BrokerBench, NodeBench


def test_parts_of_a_broker_need_its_context_only() -> None:
    """Each part reads its own settings: the log manager those of logs, the fetch manager the leader's throttle."""
    bench = NodeBench(settings={"retention.ms": 1_000})
    cache = KRaftMetadataCache(bench.metadata, bench.settings.release, {})
    setup = BrokerSetup(1, None, 1, bench.settings, cache, bench.network, bench.journal, bench.account, by_hand=False)
    context = BrokerContext(setup, Node("b1", bench.network, bench.journal))
    hosted = HostedPartitions(context)
    logs, fetches = LogManager(context, hosted.online), FetchManager(context, hosted)
    log = context.disk.create(TP, logs.config_of("t"), context.release)
    hosted.online[TP] = Partition(TP, context, log)
    assert (log.config.retention_us, fetches.quota.limits) == (1_000_000, False)
    bench.settings.set("retention.ms", 2_000)
    bench.settings.set("leader.replication.throttled.rate", 500)
    logs.refresh_configs()
    fetches.refresh_settings()
    assert (log.config.retention_us, fetches.quota.limits, fetches.quota.rate) == (2_000_000, True, 500)


DEFAULTS = {
    "lag_max": 30_000_000, "isr_check_interval": 15_000_000, "fetch_wait": 500_000, "fetch_min_bytes": 1, "fetch_partition_bytes": 1_048_576,
    "fetch_response_bytes": 10_485_760, "fetch_backoff": 1_000_000, "fetch_timeout": 30_000_000, "fetchers_per_leader": 1,
    "heartbeat_interval": 2_000_000, "checkpoint_interval": 5_000_000, "quorum_fetch_timeout": 2_000_000, "request_timeout": 30_000_000,
    "verifies_transactions": True, "selects_by_rack": False, "recovery_point_interval": 60_000_000, "log_start_interval": 60_000_000,
    "retention_interval": 300_000_000,
}  # fmt: skip
"""The documented defaults of a broker of Kafka 4.3 (`KafkaConfig`), with times in µs."""


def test_every_default_of_a_broker_is_the_documented_one() -> None:
    """The lag was 10 s before 2.5 (KIP-537), and it was checked in intervals of the whole lag before 0.9 (KAFKA-1367)."""

    def config(release: str) -> dict[str, object]:
        found = KafkaConfig(Settings(RELEASES[release]), 1)
        return {name: getattr(found, name) for name in DEFAULTS}

    assert config("4.3") == DEFAULTS
    assert config("2.8") == DEFAULTS
    assert config("2.4") == DEFAULTS | {"lag_max": 10_000_000, "isr_check_interval": 5_000_000}


def test_periodic_tasks_of_a_broker() -> None:
    """`LogManager#startup`: after 30 s, the log manager's tasks run at their intervals; `ReplicaManager#startup`: the others at once."""
    bench = BrokerBench()

    def due() -> dict[str, int]:
        return {entry.message.name: entry.time // 1_000_000 for entry in bench.agenda.entries if type(entry.message) is Timer}

    assert due() == {"checkpoint": 5, "isr-expiration": 15, "log-checkpoint": 30, "log-start-checkpoint": 30, "retention": 30}
    bench.run(30_000)
    assert due() == {"checkpoint": 35, "isr-expiration": 45, "log-checkpoint": 90, "log-start-checkpoint": 90, "retention": 330}

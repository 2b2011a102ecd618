"""Parts of a broker on the context that they share, without a broker: any node will do."""

from __future__ import annotations

from core.kafka.broker.broker_setup import BrokerSetup
from core.kafka.broker.context import BrokerContext
from core.kafka.broker.hosted_partitions import HostedPartitions
from core.kafka.broker.kraft_metadata_cache import KRaftMetadataCache
from core.kafka.broker.log_manager.log_manager import LogManager
from core.kafka.broker.partition import Partition
from core.kafka.broker.requests.fetch_manager import FetchManager
from core.sim.node import Node
from tests.core.node_bench import TP, NodeBench


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

"""Sets up what the brokers of a cluster depend on. The setup is the same in every control plane."""

from __future__ import annotations

from core.kafka.broker.broker_setup import BrokerSetup
from core.kafka.metadata_cache import MetadataCache
from core.lab.cluster_nodes import ClusterNodes
from core.lab.spec import BrokerSpec


def broker_setup(
    cluster: ClusterNodes,
    broker: BrokerSpec,
    metadata_cache: MetadataCache,
    controllers: tuple[str, ...] = (),
) -> BrokerSetup:
    """Return the parts of a cluster that a broker needs.

    Args:
        cluster: the cluster that is being built.
        broker: the spec of the broker.
        metadata_cache: the broker's metadata cache.
        controllers: the names of the controllers.
    """
    return BrokerSetup(
        broker.id, broker.rack, broker.log_dirs, cluster.initial_settings(), metadata_cache, cluster.network, cluster.journal, cluster.account,
        by_hand=cluster.by_hand, controllers=controllers, seed=cluster.seed,
    )  # fmt: skip

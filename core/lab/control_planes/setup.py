"""Sets up what the brokers of a cluster depend on. The setup is the same in every control plane."""

from __future__ import annotations

from core.kafka.broker.broker_setup import BrokerSetup
from core.kafka.controller.metadata_log import MetadataLog
from core.lab.cluster_nodes import ClusterNodes
from core.lab.spec import BrokerSpec


def broker_setup(
    cluster: ClusterNodes,
    broker: BrokerSpec,
    racks: dict[int, str | None],
    metadata: MetadataLog,
    controllers: tuple[str, ...] = (),
) -> BrokerSetup:
    """Return the parts of a cluster that a broker needs.

    Args:
        cluster: the cluster that is being built.
        broker: the spec of the broker.
        racks: the rack of each broker. All brokers share this mapping.
        metadata: the metadata log. A cluster with ZooKeeper has no metadata log, so each of its brokers gets an empty one.
        controllers: the names of the controllers.
    """
    return BrokerSetup(
        broker.id, broker.rack, broker.log_dirs, cluster.initial_settings(), metadata, cluster.network, cluster.journal, cluster.account,
        by_hand=cluster.by_hand, racks=racks, controllers=controllers, create_internal_topic=cluster.create_internal_topic,
    )  # fmt: skip

"""The control planes that a cluster can have: KRaft with one controller, KRaft with a quorum, and ZooKeeper.

The module of a control plane is imported when the first cluster that needs it is built.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from core.kafka.controller.quorum_controller import QuorumController
    from core.kafka.zookeeper_mode.control_plane import ZooKeeperControlPlane
    from core.lab.cluster_nodes import ClusterNodes


class ControlPlaneBuilder(Protocol):
    """The interface of the modules that build a control plane: `kraft`, `quorum`, and `zookeeper`."""

    def make_controller(self, cluster: ClusterNodes, /) -> QuorumController | ZooKeeperControlPlane:
        """Create the controller of a cluster that is being built."""

    def build(self, cluster: ClusterNodes, /) -> None:
        """Create the nodes of a steady cluster at time 0: brokers registered, topics placed, leaders elected.

        Raises:
            ValueError: a setting is wrong.
            KafkaError: Kafka would refuse to create one of the topics.
        """


def control_plane_builder(cluster: ClusterNodes) -> ControlPlaneBuilder:
    """Return the builder of the control plane that a cluster's release and spec require."""
    if cluster.zookeeper:
        from core.lab.control_planes import zookeeper

        return zookeeper
    if cluster.spec.controllers:
        from core.lab.control_planes import quorum

        return quorum
    from core.lab.control_planes import kraft

    return kraft

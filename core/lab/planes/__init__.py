"""The control planes that a cluster can have. Each is loaded when a cluster of its kind is built for the first time."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from core.kafka.controller.controller import Controller
    from core.kafka.zookeeper_mode.controller.control import ZooKeeperControl
    from core.lab.nodes import ClusterNodes


class Plane(Protocol):
    """What each of these modules can do."""

    def make_controller(self, cluster: ClusterNodes, /) -> Controller | ZooKeeperControl:
        """The controller of a cluster that is being built."""

    def build(self, cluster: ClusterNodes, /) -> None:
        """Make the nodes of a steady cluster at time 0: brokers registered, topics placed, leaders made.

        Raises:
            ValueError: a setting is wrong.
            KafkaError: a topic is refused, as Kafka would refuse it.
        """


def plane_of(cluster: ClusterNodes) -> Plane:
    """The control plane that a cluster's release and spec ask for."""
    if cluster.zookeeper:
        from core.lab.planes import zookeeper

        return zookeeper
    if cluster.spec.controllers:
        from core.lab.planes import quorum

        return quorum
    from core.lab.planes import kraft

    return kraft

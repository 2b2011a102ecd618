"""The KRaft control plane with a quorum of controllers, in processes of their own or in those of brokers."""

from __future__ import annotations

from core.kafka.broker.broker import Broker
from core.kafka.controller.quorum import ControllerNode, Quorum, QuorumController
from core.lab.cluster_nodes import ClusterNodes
from core.lab.control_planes import kraft


def make_controller(cluster: ClusterNodes) -> QuorumController:
    """Create the controller state that the committed log of the quorum produces."""
    return kraft.controller_of(cluster, QuorumController)


def build(cluster: ClusterNodes) -> None:
    """Create the nodes of the cluster (see `ControlPlaneBuilder.build`)."""
    controller = cluster.controller
    assert isinstance(controller, QuorumController)
    epochs = kraft.make_brokers(cluster, controller)
    _make_voters(cluster, controller)
    kraft.boot(cluster, controller, epochs)


def _make_voters(cluster: ClusterNodes, controller: QuorumController) -> None:
    """Create the controller processes and their voters. A combined controller runs in its broker's process."""
    controller.remove_from_network()
    for name in cluster.spec.controllers:
        if name not in cluster.nodes:
            cluster.controllers[name] = cluster.nodes[name] = ControllerNode(name, cluster.network, cluster.journal)
    cluster.quorum = Quorum(controller, cluster.metadata, cluster.journal)
    cluster.quorum.boot([cluster.nodes[name] for name in cluster.spec.controllers], cluster.seed, cluster.spec.controller)
    for name, voter in cluster.quorum.voters.items():
        node = cluster.nodes[name]
        assert isinstance(node, (ControllerNode, Broker))
        node.voter = voter

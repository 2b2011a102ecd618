"""The KRaft control plane with a quorum of controllers, which run either in their own processes or in the processes of brokers."""

from __future__ import annotations

from core.kafka.broker.broker import Broker
from core.kafka.controller.quorum.controller_server import ControllerServer
from core.kafka.controller.quorum.metadata_quorum import MetadataQuorum
from core.kafka.controller.quorum.replicated_controller import ReplicatedController
from core.lab.cluster_nodes import ClusterNodes
from core.lab.control_planes import kraft


def make_controller(cluster: ClusterNodes) -> ReplicatedController:
    """Create the controller state that the committed log of the quorum produces."""
    return kraft.controller_of(cluster, ReplicatedController)


def build(cluster: ClusterNodes) -> None:
    """Create the nodes of the cluster (see `ControlPlaneBuilder.build`)."""
    controller = cluster.controller
    assert isinstance(controller, ReplicatedController)
    epochs = kraft.make_brokers(cluster, controller)
    _make_voters(cluster, controller)
    kraft.boot(cluster, controller, epochs)


def _make_voters(cluster: ClusterNodes, controller: ReplicatedController) -> None:
    """Create the controller processes and their voters. A combined controller runs in its broker's process."""
    controller.remove_from_network()
    for name in cluster.spec.controllers:
        if name not in cluster.nodes:
            cluster.controllers[name] = cluster.nodes[name] = ControllerServer(name, cluster.network, cluster.journal)
    hosts = [cluster.nodes[name] for name in cluster.spec.controllers]
    cluster.quorum = MetadataQuorum(controller, cluster.metadata, hosts, cluster.seed, cluster.spec.controller)
    for name, voter in cluster.quorum.voters.items():
        node = cluster.nodes[name]
        assert isinstance(node, (ControllerServer, Broker))
        node.voter = voter

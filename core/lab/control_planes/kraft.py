"""The KRaft control plane with a single controller that never fails. The module `quorum` uses parts of this module."""

from __future__ import annotations

import random
from typing import TypeVar

from core.kafka.broker.broker import Broker
from core.kafka.broker.disk import Disk
from core.kafka.broker.kraft_metadata_cache import KRaftMetadataCache
from core.kafka.controller.quorum_controller import QuorumController
from core.kafka.ids import CONTROLLER
from core.lab.cluster_nodes import ClusterNodes
from core.lab.control_planes.setup import broker_setup
from core.lab.initial_logs import place_logs
from core.lab.observed_replicas import ObservedReplicas

C = TypeVar("C", bound=QuorumController)


def make_controller(cluster: ClusterNodes) -> QuorumController:
    """Create the single controller."""
    return controller_of(cluster, QuorumController)


def controller_of(cluster: ClusterNodes, kind: type[C]) -> C:
    """Create a controller of the given class for a cluster."""
    return kind(
        cluster.settings, cluster.metadata, cluster.network, cluster.journal, cluster.account, cluster.spec.racks(),
        seed=cluster.seed, by_hand=cluster.by_hand,
    )  # fmt: skip


def build(cluster: ClusterNodes) -> None:
    """Create the nodes of the cluster (see `ControlPlaneBuilder.build`)."""
    controller = cluster.controller
    assert isinstance(controller, QuorumController)
    if cluster.spec.controller:
        raise ValueError(
            f"controller {cluster.spec.controller} cannot be active: this cluster has a single controller that never fails; omit 'controller', add 'controllers', or use a release with ZooKeeper"
        )
    cluster.nodes[CONTROLLER] = controller
    epochs = make_brokers(cluster, controller)
    boot(cluster, controller, epochs)


def make_brokers(cluster: ClusterNodes, controller: QuorumController) -> dict[int, int]:
    """Register the brokers, place the topics, and create the broker processes.

    Returns:
        The broker epochs, by broker ID.
    """
    spec, racks = cluster.spec, cluster.spec.racks()
    epochs = {
        broker.id: controller.boot_broker(broker.id, up=broker.up, directories=Disk.of(broker.id, broker.log_dirs).ids())
        for broker in spec.brokers
    }
    for topic in spec.topics:
        controller.replication.create_topic(topic)
    for each in spec.brokers:
        broker = Broker(broker_setup(cluster, each, KRaftMetadataCache(cluster.metadata, cluster.release, racks), spec.controllers))
        broker.log_directories.copy_speed = spec.disk_speed
        cluster.brokers[each.id] = cluster.nodes[broker.address] = broker
        cluster.network.alive[broker.address] = each.up
    return epochs


def boot(cluster: ClusterNodes, controller: QuorumController, epochs: dict[int, int]) -> None:
    """Start the processes that the spec lists as running at the start."""
    place_logs(cluster)
    phases = random.Random(f"{cluster.seed}:heartbeats")
    for each in cluster.spec.brokers:
        broker = cluster.brokers[each.id]
        phase = 1 + phases.randrange(broker.context.config.heartbeat_interval)
        if each.up:
            broker.boot(epochs[each.id], phase, len(cluster.metadata))
    if not cluster.release.elect_from_isr:
        controller.replication.log_ends = ObservedReplicas(cluster.brokers, cluster.network, cluster.account).log_end
    controller.boot(cluster.seed)

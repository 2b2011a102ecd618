"""The requests from a ZooKeeper-mode controller to the brokers (Kafka: `ControllerBrokerRequestBatch`)."""

from __future__ import annotations

from collections.abc import Iterable

import attrs

from core.kafka.broker.context import BrokerContext
from core.kafka.ids import TopicPartition
from core.kafka.partition_registration import PartitionRegistration
from core.kafka.zookeeper_mode.controller.controller_channel_manager import ControllerChannelManager
from core.kafka.zookeeper_mode.controller.controller_context import ControllerContext
from core.kafka.zookeeper_mode.controller.requests import (
    LEADER_DURING_DELETE,
    LeaderAndIsrRequest,
    StopReplicaRequest,
    UpdateMetadataRequest,
)


class ControllerRequestSender:
    """Sends a controller's requests. Each request carries the controller epoch."""

    def __init__(self, broker: BrokerContext, context: ControllerContext, channels: ControllerChannelManager) -> None:
        self._broker = broker
        self._context = context
        self._channels = channels

    def leader_and_isr(self, tps: Iterable[TopicPartition], to: Iterable[int], causes: dict[TopicPartition, int] | None = None) -> None:
        """Send LeaderAndIsr to those brokers in `to` that have replicas of the given partitions.

        Kafka: `ControllerBrokerRequestBatch#addLeaderAndIsrRequestForBrokers`.
        """
        items: dict[int, list[tuple[TopicPartition, PartitionRegistration, int]]] = {broker: [] for broker in to}
        for tp in tps:
            state = self._context.states[tp]
            for replica in state.replicas:
                if replica in items:
                    items[replica].append((tp, state, 0 if causes is None else causes.get(tp, 0)))
        for broker, about in items.items():
            if about:
                self._channels.send(
                    broker, LeaderAndIsrRequest(self._broker.id, self._context.epoch, tuple(about), tuple(self._context.live))
                )

    def update_metadata(self, tps: Iterable[TopicPartition], to: Iterable[int] | None = None) -> None:
        """Send UpdateMetadata to the brokers in `to`, or to all live brokers if `to` is None."""
        deleted, states = self._context.topics_to_delete, self._context.states
        items = tuple(
            (tp, attrs.evolve(states[tp], leader=LEADER_DURING_DELETE) if tp.topic in deleted else states[tp]) for tp in tps if tp in states
        )
        request = UpdateMetadataRequest(self._broker.id, self._context.epoch, items, tuple(self._context.live))
        for broker in self._context.live if to is None else to:
            self._channels.send(broker, request)

    def stop_replicas(self, broker: int, tps: Iterable[TopicPartition], *, delete: bool) -> None:
        """If a broker is live, send StopReplica to it."""
        items = tuple((tp, delete, self._context.states[tp].leader_epoch) for tp in tps)
        if items and broker in self._context.live:
            self._channels.send(broker, StopReplicaRequest(self._broker.id, self._context.epoch, items))

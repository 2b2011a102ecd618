"""Readings of brokers and of the whole cluster: its health, controllers, elections, and ISR changes."""

from __future__ import annotations

import heapq
from collections.abc import Callable
from typing import Any, Final

from core.kafka.broker.broker_state import BrokerState
from core.kafka.health import PartitionStatus, is_at_min_isr, is_offline, is_under_min_isr, is_under_replicated
from core.kafka.ids import TopicPartition
from core.lab.metrics.zone_traffic import KINDS as TRAFFIC_KINDS
from core.lab.metrics.zone_traffic import ZoneTraffic
from core.lab.views.broker_view import NetworkUse
from core.lab.views.partition_view import PartitionView
from core.sim.events import seq_of
from scenarios.readings.partition_readings import _of_partition
from scenarios.readings.reading import BOOL, NUMBER, WORD, Moment, Reading


def _of_broker(take: Callable[[Any], Any]) -> Callable[..., Any]:
    def read(moment: Moment, broker: int) -> Any:
        for view in moment.view().brokers:
            if view.id == broker:
                return take(view)
        return None

    return read


def _of_interface(take: Callable[[NetworkUse], int]) -> Callable[..., Any]:
    return _of_broker(lambda view: None if view.network is None else take(view.network))


def _count(holds: Callable[[PartitionView], bool]) -> Callable[..., Any]:
    return lambda moment: sum(1 for view in moment.view().partitions if holds(view))


def status_word(status: PartitionStatus) -> str:
    """Return a status in the notation of conditions, for example `under-min-isr`."""
    return status.name.lower().replace("_", "-")


def _stalled(moment: Moment, tp: TopicPartition | None = None) -> Any:
    if tp is None:
        return sum(1 for view in moment.view().partitions if view.status is PartitionStatus.STALLED)
    view = moment.partition(tp)
    return None if view is None else int(view.status is PartitionStatus.STALLED)


def _cross_zone_bytes(moment: Moment, client: str | None = None) -> Any:
    traffic = ZoneTraffic(moment.view().zones)
    for event in heapq.merge(*map(moment.events, TRAFFIC_KINDS), key=seq_of):
        traffic.on_event(event)
    return traffic.total if client is None else traffic.by_client.get(client, 0)


_STATES: Final = tuple(str(state) for state in BrokerState)

BROKER_READINGS: Final = (
    Reading("state", ("broker",), WORD, "the state of a broker's process", _of_broker(lambda view: str(view.state)), _STATES),
    Reading("fenced", ("broker",), BOOL, "whether the controller has fenced a broker", _of_broker(lambda view: view.fenced)),
    Reading("leaders", ("broker",), NUMBER, "the number of partitions that a broker leads", _of_broker(lambda view: view.leaders)),
    Reading(
        "utilization-out", ("broker",), NUMBER,
        "the share of a limited bandwidth that a broker used for sending in the last full second of virtual time, in percent, rounded down",
        _of_interface(lambda use: use.out_percent), ages=True,
    ),
    Reading(
        "utilization-in", ("broker",), NUMBER,
        "the share of a limited bandwidth that a broker used for receiving in the last full second of virtual time, in percent, rounded down",
        _of_interface(lambda use: use.in_percent), ages=True,
    ),
)  # fmt: skip

CLUSTER_READINGS: Final = (
    Reading(
        "status", ("partition",), WORD, "the state of a partition as clients experience it",
        _of_partition(lambda view: status_word(view.status)), tuple(status_word(each) for each in PartitionStatus), ages=True,
    ),
    Reading(
        "stalled", ("partition?",), NUMBER,
        "the number of partitions whose acks=all writes are waiting although the leader and the ISR look healthy; for one partition, 1 or 0", _stalled, ages=True,
    ),
    Reading("urp", (), NUMBER, "the number of under-replicated partitions (UnderReplicatedPartitions)", _count(is_under_replicated)),
    Reading("offline", (), NUMBER, "the number of partitions without a leader (OfflinePartitionsCount)", _count(is_offline)),
    Reading(
        "under-min-isr", (), NUMBER, "the number of partitions with a leader whose ISR is smaller than the effective min.insync.replicas "
            "(UnderMinIsrPartitionCount)",
        _count(lambda view: is_under_min_isr(view, view.min_isr)),
    ),
    Reading(
        "at-min-isr", (), NUMBER, "the number of partitions with a leader whose ISR has exactly as many members as the effective "
            "min.insync.replicas requires (AtMinIsrPartitionCount)",
        _count(lambda view: is_at_min_isr(view, view.min_isr)),
    ),
    Reading("controller-epoch", (), NUMBER, "the epoch of the active controller of a controller "
        "quorum", lambda moment: moment.view().controller_epoch),
    Reading(
        "active-controllers", (), NUMBER, "the number of controllers that consider themselves active (ActiveControllerCount)",
        lambda moment: moment.view().active_controllers,
    ),
    Reading("majority", (), BOOL, "whether a majority of the controllers is running and can communicate", lambda moment: moment.view().majority),
    Reading("unclean-elections", (), NUMBER, "the number of unclean elections so far", lambda moment: moment.view().unclean_elections),
    Reading("isr-shrinks", (), NUMBER, "the number of ISR shrinks by leaders so far; as in Kafka, what the controller removes does not count", lambda moment: moment.view().isr_shrinks),
    Reading(
        "cross-zone-bytes", ("client?",), NUMBER,
        "the bytes of records that were sent from one zone to another: by producers to leaders, by leaders to followers, and by brokers to consumers "
            "without a group; or only those that a client sent or received",
        _cross_zone_bytes, kinds=TRAFFIC_KINDS,
    ),
    Reading("isr-expands", (), NUMBER, "the number of ISR expansions so far", lambda moment: moment.view().isr_expands),
)  # fmt: skip

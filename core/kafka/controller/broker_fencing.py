"""What happens when a broker is fenced, unfenced, or unregistered: how its registration, its ISRs, and its leaderships change.

`QuorumController` decides when brokers are fenced, unfenced, or unregistered, based on heartbeats and expired sessions
(`BrokerHeartbeatManager`) and on requests.
"""

from __future__ import annotations

import attrs

from core.kafka import events
from core.kafka.controller.metadata_log import BrokerRegistration
from core.kafka.controller.replication_control_manager import ReplicationControlManager


def handle_broker_fenced(replication: ReplicationControlManager, broker: int, silent: int, limit: int) -> None:
    """Fence a broker: remove it from every ISR, and elect new leaders for the partitions that it leads (`#handleBrokerFenced`).

    Args:
        silent: the time that has passed since the broker's last heartbeat, in µs.
        limit: the session timeout that has expired, in µs; -1 if the broker is fenced for another reason.
    """
    journal = replication.journal
    journal.cause = journal.emit(events.BrokerFenced.kind, broker, silent, limit)
    replication.cluster_control.register(attrs.evolve(replication.cluster_control.brokers[broker], fenced=True))
    remove_from_isrs(replication, broker, f"b{broker} fenced")


def handle_broker_unfenced(replication: ReplicationControlManager, registration: BrokerRegistration) -> None:
    """Unfence a broker, and try to elect a leader for every partition that has none (`#handleBrokerUnfenced`)."""
    journal = replication.journal
    journal.cause = journal.emit(events.BrokerUnfenced.kind, registration.id)
    replication.cluster_control.register(attrs.evolve(registration, fenced=False))
    for tp in list(replication.registry.index.leaderless):
        replication.change(tp, f"b{registration.id} is back")


def handle_broker_in_controlled_shutdown(replication: ReplicationControlManager, registration: BrokerRegistration) -> None:
    """Begin a broker's controlled shutdown: remove the broker from every ISR, and elect other leaders for the partitions that it leads
    (`#handleBrokerInControlledShutdown`)."""
    journal = replication.journal
    journal.cause = journal.emit(events.ShutdownBegun.kind, registration.id)
    replication.cluster_control.register(attrs.evolve(registration, in_controlled_shutdown=True))
    remove_from_isrs(replication, registration.id, f"b{registration.id} shuts down")


def handle_broker_unregistered(replication: ReplicationControlManager, registration: BrokerRegistration) -> None:
    """Remove a broker from every ISR, and then delete its registration (`#handleBrokerUnregistered`)."""
    broker, journal = registration.id, replication.journal
    journal.cause = journal.emit(events.BrokerUnregistered.kind, broker, registration.epoch)
    remove_from_isrs(replication, broker, f"b{broker} unregistered")
    replication.cluster_control.unregister(registration)


def remove_from_isrs(replication: ReplicationControlManager, broker: int, reason: str, *, unclean_shutdown: bool = False) -> None:
    """Remove a broker from every ISR, and elect new leaders for the partitions that it leads.

    If the broker had an unclean shutdown, also remove it from every ELR. Kafka: `#handleBrokerFenced`, `#handleBrokerUncleanShutdown`.
    """

    def acceptable(candidate: int) -> bool:
        return candidate != broker and replication.cluster_control.is_active(candidate)

    unclean = (broker,) if unclean_shutdown else ()
    for tp in list(replication.registry.index.brokers_to_isrs.get(broker, ())):
        isr = tuple(member for member in replication.registry.partitions[tp].isr if member != broker)
        replication.change(tp, reason, target_isr=isr, removal=True, unclean_shutdown=unclean, acceptable=acceptable)
    if unclean_shutdown:
        for tp, registration in list(replication.registry.partitions.items()):
            if broker in registration.elr:
                replication.change(tp, reason, unclean_shutdown=unclean, acceptable=acceptable)

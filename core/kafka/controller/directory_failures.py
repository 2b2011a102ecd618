"""What the controller does when brokers report log directories: it records assignments, and moves leaderships away from directories that
failed (KIP-858)."""

from __future__ import annotations

from core.kafka import events
from core.kafka.controller.replication_control_manager import ReplicationControlManager
from core.kafka.ids import TopicPartition


def handle_directories_offline(replication: ReplicationControlManager, broker: int, offline: tuple[str, ...]) -> tuple[str, ...]:
    """For the replicas in a broker's failed log directories, remove the broker from the ISR and move the leadership to another broker
    (`#handleDirectoriesOffline`).

    Directories that are not in the broker's registration are ignored.

    Returns:
        The directories that still work, for the broker's registration.
    """
    registration = replication.cluster_control.brokers[broker]
    journal = replication.journal

    def acceptable(candidate: int) -> bool:
        return candidate != broker and replication.cluster_control.is_active(candidate)

    partitions = replication.registry.partitions
    for directory in registration.directories:
        if directory not in offline:
            continue
        there = [
            tp
            for tp, assigned in replication.directories.assigned.get(broker, {}).items()
            if assigned == directory and (partitions[tp].leader == broker or broker in partitions[tp].isr)
        ]
        before = journal.cause
        number = int(directory.split("-")[1])
        journal.cause = journal.emit(events.DirectoriesOffline.kind, broker, number, len(there))
        for tp in there:
            isr = tuple(member for member in partitions[tp].isr if member != broker)
            reason = f"log directory {number} of b{broker} failed"
            replication.change(tp, reason, target_isr=isr, removal=True, acceptable=acceptable)
        journal.cause = before
    return tuple(directory for directory in registration.directories if directory not in offline)


def assign_replicas_to_dirs(
    replication: ReplicationControlManager, broker: int, assignments: tuple[tuple[TopicPartition, str], ...]
) -> None:
    """Record the log directories of a broker's replicas (`#handleAssignReplicasToDirs`)."""
    for tp, directory in assignments:
        replication.directories.assign(broker, tp, directory)
        if tp in replication.registry.index.leaderless:
            replication.change(tp, f"b{broker} has it in a log directory that works")
        replication.account.check_exposure(tp)

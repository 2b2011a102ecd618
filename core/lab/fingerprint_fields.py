"""The rules by which fingerprints treat the fields of a whole cluster and its durability account (`core.sim.state.fingerprint`)."""

from __future__ import annotations

from typing import Final

from core.kafka.fingerprint_fields import KAFKA_FIELDS
from core.lab.accounts.exposed_records import ExposureMonitor
from core.lab.accounts.partition_account import Losses, PartitionAccount, RemovedRecords
from core.lab.cluster_clients import ClusterClients
from core.sim.state.fields import Declared, Table

LAB_FIELDS: Final[Table] = {
    **KAFKA_FIELDS,
    ClusterClients: Declared(wiring=("_account", "_brokers", "_journal", "_metadata", "_network", "_nodes", "_release")),
    ExposureMonitor: Declared(wiring=("_account", "_brokers", "_controller", "_journal")),
    RemovedRecords: Declared(history=("event",)),
    Losses: Declared(history=("loss_causes",)),
    PartitionAccount: Declared(
        history=(
            "accepted", "created_by", "elected_by", "elected_at", "moved_by", "registered_isr", "shrunk_by", "acked_count", "lost_count", "lost_acknowledged", "lost_read", "duplicated", "under_since",
            "under_total", "offline_since", "offline_total",
        ),
    ),
}  # fmt: skip
"""The rules for the fields of each class, by class."""

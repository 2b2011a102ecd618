"""What fields mean to fingerprints of a whole cluster, with what the durability account remembers of it."""

from __future__ import annotations

from typing import Final

from core.kafka.declared import KAFKA
from core.lab.account import Gone, PartitionAccount
from core.lab.exposure import Exposure
from core.sim.state import Declared, Table

LAB: Final[Table] = {
    **KAFKA,
    Exposure: Declared(wiring=("_account", "_brokers", "_controller", "_journal")),
    Gone: Declared(history=("event",)),
    PartitionAccount: Declared(
        history=(
            "accepted", "dooms", "elected_by", "acked_count", "lost_count", "lost_acknowledged", "lost_read", "duplicated", "under_since",
            "under_total", "offline_since", "offline_total",
        ),
    ),
}  # fmt: skip
"""By class."""

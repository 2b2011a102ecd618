"""What survives a broker's process: its logs and its checkpoint files."""

from __future__ import annotations

import attrs

from core.ids import TopicPartition
from core.log.replica_log import ReplicaLog


@attrs.define(slots=True, eq=False)
class Disk:
    """A broker's log directory.

    Attributes:
        logs: by partition.
        high_watermarks: `replication-offset-checkpoint`.
        changed: partitions whose high watermark moved since the checkpoint (ordered set).
        clean_shutdown: whether the clean-shutdown file is there.
    """

    logs: dict[TopicPartition, ReplicaLog] = attrs.field(factory=dict)
    high_watermarks: dict[TopicPartition, int] = attrs.field(factory=dict)
    changed: dict[TopicPartition, None] = attrs.field(factory=dict)
    clean_shutdown: bool = True

    def checkpoint_high_watermarks(self) -> int:
        """Write the moved high watermarks (`ReplicaManager#checkpointHighWatermarks`); returns how many."""
        count = len(self.changed)
        for tp in self.changed:
            self.high_watermarks[tp] = self.logs[tp].high_watermark
        self.changed.clear()
        return count

    def load(self) -> None:
        """A process starts: high watermarks come from the checkpoint, clamped to the log (`Partition#createLog`)."""
        for tp, log in self.logs.items():
            log.high_watermark = max(log.log_start, min(self.high_watermarks.get(tp, 0), log.leo))
        self.changed.clear()

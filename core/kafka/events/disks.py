"""Events of logs and log directories: recovery, retention, failure of a directory, moves between directories."""

from __future__ import annotations

from core.kafka.events.base import DETAIL, NOTABLE, Event, offsets
from core.sim.units import format_duration


class LogsRecovered(Event, kind="logs-recovered", source="LogManager#loadLogs, LogLoader#recoverLog"):
    """A starting broker without clean-shutdown file read what may not have been flushed, one directory at a time of the others."""

    broker: int
    dir: int
    logs: int
    segments: int
    bytes: int
    threads: int
    recovery_us: int

    def sentence(self) -> str:
        return (
            f"b{self.broker} recovers log directory {self.dir}: {self.segments} segments of {self.logs} logs from their recovery points on, "
            f"{self.bytes:,} bytes, take {self.threads} threads (num.recovery.threads.per.data.dir) {format_duration(self.recovery_us)}"
        )


class LogFlushed(Event, kind="log-flushed", source="LogManager#flushDirtyLogs"):
    """A log was flushed because it had not been for log.flush.interval.ms: what is below `to_offset` outlives the machine."""

    broker: int
    topic: str
    partition: int
    from_offset: int
    to_offset: int

    def sentence(self) -> str:
        return f"b{self.broker} flushed {self.tp} to disk, {offsets(self.from_offset, self.to_offset)}: log.flush.interval.ms"


class SegmentsDeleted(Event, kind="segments-deleted", source="UnifiedLog#deleteOldSegments"):
    """Retention deleted the oldest segments; the log starts at `to_offset` now. `rule`: retention.ms, retention.bytes or log-start."""

    broker: int
    topic: str
    partition: int
    from_offset: int
    to_offset: int
    segments: int
    rule: str

    def sentence(self) -> str:
        why = "they lie below the log start offset" if self.rule == "log-start" else f"{self.rule} says so"
        return (
            f"b{self.broker} deleted {self.segments} segments of {self.tp}, "
            f"{offsets(self.from_offset, self.to_offset)}: {why}, and they are below the high watermark"
        )


class LogStartMoved(Event, kind="log-start", source="UnifiedLog#maybeIncrementLogStartOffset"):
    """A log's start offset moved forward. `rule`: delete-records, or leader (a follower takes over its leader's)."""

    broker: int
    topic: str
    partition: int
    old_offset: int
    new_offset: int
    rule: str

    def sentence(self) -> str:
        why = "its leader's log starts there" if self.rule == "leader" else "somebody asked for it (DeleteRecords)"
        return f"the log of {self.tp} on b{self.broker} starts at {self.new_offset}, before at {self.old_offset}: {why}"


class DeleteRecordsRefused(Event, kind="delete-records-refused", source="Partition#deleteRecordsOnLeader", level=NOTABLE):
    """A leader refused to delete records."""

    broker: int
    topic: str
    partition: int
    offset: int
    high_watermark: int
    error: str

    def sentence(self) -> str:
        return (
            f"b{self.broker} refused to delete the records of {self.tp} before {self.offset}: {self.error}, "
            f"the high watermark is {self.high_watermark}"
        )


class LogRestarted(
    Event, kind="log-restarted", source="AbstractFetcherThread#fetchOffsetAndTruncate, UnifiedLog#truncateFullyAndStartAt", level=NOTABLE
):
    """A follower whose log ends below its leader's log start dropped everything and goes on from there."""

    broker: int
    topic: str
    partition: int
    leader: int
    old_offset: int
    new_offset: int

    def sentence(self) -> str:
        return (
            f"b{self.broker} begins its log of {self.tp} anew at {self.new_offset}: it ended at {self.old_offset}, "
            f"and b{self.leader} has deleted what comes next"
        )


class LogDirFailed(Event, kind="log-dir-failed", source="ReplicaManager#handleLogDirFailure", level=NOTABLE):
    """A log directory of a broker failed; `partitions` replicas in it are offline."""

    broker: int
    dir: int
    partitions: int

    def sentence(self) -> str:
        return (
            f"log directory {self.dir} of b{self.broker} failed: {self.partitions} replicas are offline; the rest of the broker serves on"
        )


class DirectoriesOffline(Event, kind="directories-offline", source="ReplicationControlManager#handleDirectoriesOffline", level=NOTABLE):
    """The controller heard of a failed directory: the broker leaves the ISRs and leaderships of what is in it."""

    broker: int
    dir: int
    partitions: int

    def sentence(self) -> str:
        return (
            f"the controller heard from b{self.broker} that its log directory {self.dir} is offline: "
            f"it leaves the ISR, and the leadership, of {self.partitions} partitions there"
        )


class LogDirRepaired(Event, kind="log-dir-repaired", source="KIP-112, KIP-858", level=NOTABLE):
    """A failed directory works again; the broker takes it up when it starts the next time."""

    broker: int
    dir: int
    empty: bool

    def sentence(self) -> str:
        how = "by an empty one" if self.empty else "with what was in it"
        return f"log directory {self.dir} of b{self.broker} is replaced {how}; the broker takes it up at its next start"


class OfflineReplicaFound(Event, kind="offline-replica-found", source="ReplicaManager#markPartitionOffline"):
    """A process is told of a replica that is in a failed log directory: it counts as offline until the process ends."""

    broker: int
    topic: str
    partition: int
    dir: int

    def sentence(self) -> str:
        return f"b{self.broker} is to host {self.tp}, which is in its failed log directory {self.dir}: it is offline"


class OfflineReplicaDropped(Event, kind="offline-replica-dropped", source="ReplicaManager#stopPartitions, HostedPartition.Offline"):
    """A replica in a failed log directory was reassigned away. `counted`: its process goes on counting it as offline until it ends."""

    broker: int
    topic: str
    partition: int
    dir: int
    counted: bool

    def sentence(self) -> str:
        tail = "; it counts as offline there until the process ends" if self.counted else ""
        return f"b{self.broker} hosts {self.tp} of its failed log directory {self.dir} no more{tail}"


class ReplicaMoveBegun(Event, kind="replica-move-begun", source="ReplicaManager#alterReplicaLogDirs, KIP-113"):
    """A replica is copied to another log directory of its broker."""

    broker: int
    topic: str
    partition: int
    dir: int
    bytes: int

    def sentence(self) -> str:
        return f"b{self.broker} copies {self.tp} to its log directory {self.dir}: {self.bytes:,} bytes so far"


class ReplicaMoved(Event, kind="replica-moved", source="Partition#maybeReplaceCurrentWithFutureReplica", level=NOTABLE):
    """The future replica has caught up with the current one and took its place."""

    broker: int
    topic: str
    partition: int
    old_dir: int
    dir: int
    end_offset: int

    def sentence(self) -> str:
        return (
            f"{self.tp} of b{self.broker} is in log directory {self.dir} now, before in {self.old_dir}: "
            f"both copies ended at {self.end_offset}"
        )


class DiskSlowed(Event, kind="disk-slowed", source="LocalLog#append", level=NOTABLE):
    """A broker's disk takes longer for each write; 0 is a healthy one."""

    broker: int
    delay_us: int

    def sentence(self) -> str:
        if not self.delay_us:
            return f"the disk of b{self.broker} is as fast as ever again"
        return f"each write of b{self.broker} takes {format_duration(self.delay_us)}: of its fetchers, and of producers' batches, one after another"


class DiskBehind(Event, kind="disk-behind", source="LocalLog#append", level=DETAIL):
    """A write that arrives now would wait for the broker's slow disk for longer than `core.kafka.health.STALL_BOUND`."""

    broker: int
    write_wait_us: int

    def sentence(self) -> str:
        return f"the disk of b{self.broker} is behind: a write that arrives now is done in {format_duration(self.write_wait_us)}"


class RecoveryPointsCheckpointed(Event, kind="log-checkpoint", source="LogManager#checkpointLogRecoveryOffsets", level=DETAIL):
    """A broker wrote recovery points or log start offsets to their checkpoint files; `partitions` counts those that may have changed."""

    broker: int
    partitions: int

    def sentence(self) -> str:
        return f"b{self.broker} wrote {self.partitions} recovery points to recovery-point-offset-checkpoint"

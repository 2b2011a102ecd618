"""Events about logs, log directories, and disks."""

from __future__ import annotations

from core.kafka.events.base import BROKER, DETAIL, NOTABLE, NOTHING, OFFSETS, Event, ReplicaEvent, count_of, offsets
from core.sim.units import format_duration


class LogsRecovered(Event, kind="logs-recovered", source="LogManager#loadLogs, LogLoader#recoverLog", changes=BROKER):
    """A broker that started without a clean-shutdown file recovers the logs in a directory, from their recovery points to their ends."""

    broker: int
    dir: int
    logs: int
    segments: int
    bytes: int
    threads: int
    recovery_us: int

    template = (
        "b{broker} needs {recovery_us:duration} to recover {segments:count segment} of {logs:count log} in log "
        "directory {dir} ({bytes:count byte}) with {threads:count thread} (num.recovery.threads.per.data.dir)"
    )


class LogFlushed(ReplicaEvent, kind="log-flushed", source="LogManager#flushDirtyLogs", changes=OFFSETS):
    """A broker flushed a log because log.flush.interval.ms had elapsed. Now all records below `to_offset` survive a power loss."""

    from_offset: int
    to_offset: int

    template = "b{broker} flushed {offset_range} of {tp} to disk, because log.flush.interval.ms had elapsed"


class SegmentsDeleted(ReplicaEvent, kind="segments-deleted", source="UnifiedLog#deleteOldSegments"):
    """Retention deleted the oldest segments. The log now starts at `to_offset`. `rule` is `retention.ms`, `retention.bytes`, or `log-start`."""

    from_offset: int
    to_offset: int
    segments: int
    rule: str

    def sentence(self) -> str:
        was = "was" if self.segments == 1 else "were"
        why = (
            f"{was} below the log start offset" if self.rule == "log-start" else f"exceeded {self.rule} and {was} below the high watermark"
        )
        return (
            f"b{self.broker} deleted {count_of(self.segments, 'segment')} of {self.tp} "
            f"({offsets(self.from_offset, self.to_offset)}), which {why}"
        )


class LogCleaned(ReplicaEvent, kind="log-cleaned", source="Cleaner#doClean", level=NOTABLE):
    """The log cleaner of a broker made a pass over a compacted log, from the first offset that had never been cleaned to `to_offset`.

    The cleaning pass removed `records` records, among them `tombstones` tombstones and `markers` markers. `delete_horizon_us` is the time
    after which a later pass can remove the tombstones and markers whose delete horizon this pass has set; -1 if there are none.
    """

    from_offset: int
    to_offset: int
    records: int
    tombstones: int
    markers: int
    bytes: int
    delete_horizon_us: int

    def sentence(self) -> str:
        kinds = [count_of(number, what) for number, what in ((self.tombstones, "tombstone"), (self.markers, "marker")) if number]
        including = f", including {' and '.join(kinds)}" if kinds else ""
        removed = (
            f"removed {count_of(self.records, 'record')} ({count_of(self.bytes, 'byte')}){including}"
            if self.records
            else "removed no records"
        )
        later = (
            ""
            if self.delete_horizon_us < 0
            else f"; the first pass after virtual time {format_duration(self.delete_horizon_us)} can remove the remaining tombstones and markers"
        )
        return f"b{self.broker} cleaned {offsets(self.from_offset, self.to_offset)} of {self.tp} and {removed}{later}"


class LogStartMoved(ReplicaEvent, kind="log-start", source="UnifiedLog#maybeIncrementLogStartOffset"):
    """The start offset of a log increased. `rule` is `delete-records`, or it is `leader` if a follower adopted its leader's start
    offset."""

    old_offset: int
    new_offset: int
    rule: str

    def sentence(self) -> str:
        why = "the leader's log starts there" if self.rule == "leader" else "a client deleted records (DeleteRecords)"
        return f"b{self.broker} moved the log start offset of {self.tp} from {self.old_offset} to {self.new_offset}: {why}"


class DeleteRecordsRefused(ReplicaEvent, kind="delete-records-refused", source="Partition#deleteRecordsOnLeader", level=NOTABLE):
    """A leader refused to delete records."""

    offset: int
    high_watermark: int
    error: str

    template = "b{broker} refused to delete the records of {tp} below offset {offset}: {error} (the high watermark is {high_watermark})"


class LogRestarted(
    ReplicaEvent,
    kind="log-restarted",
    source="AbstractFetcherThread#fetchOffsetAndTruncate, UnifiedLog#truncateFullyAndStartAt",
    level=NOTABLE,
):
    """A follower whose log ended below the leader's log start offset deleted its log. The follower's new log starts at the leader's log
    start offset."""

    leader: int
    old_offset: int
    new_offset: int

    template = (
        "b{broker} restarted its log of {tp} at offset {new_offset}: the log ended at "
        "{old_offset}, and b{leader} has deleted the records between these offsets"
    )


class LogDirFailed(Event, kind="log-dir-failed", source="ReplicaManager#handleLogDirFailure", level=NOTABLE, changes=BROKER):
    """A log directory of a broker failed. `partitions` is the number of replicas in the directory, which are now offline."""

    broker: int
    dir: int
    partitions: int

    template = "log directory {dir} of b{broker} failed, which took {partitions:count replica} offline"


class DirectoriesOffline(
    Event, kind="directories-offline", source="ReplicationControlManager#handleDirectoriesOffline", level=NOTABLE, changes=BROKER
):
    """The controller learned about a failed directory. The broker can no longer lead the partitions in the directory or be in their
    ISRs."""

    broker: int
    dir: int
    partitions: int

    template = "b{broker} reported that its log directory {dir} is offline; the controller updates the leader or the ISR of {partitions:count partition}"


class LogDirRepaired(Event, kind="log-dir-repaired", source="KIP-112, KIP-858", level=NOTABLE, changes=BROKER):
    """A failed log directory was repaired. The broker uses the directory after its next start."""

    broker: int
    dir: int
    empty: bool

    def sentence(self) -> str:
        how = "replaced by an empty one" if self.empty else "restored with its contents"
        return f"log directory {self.dir} of b{self.broker} was {how}; the broker uses it after its next start"


class OfflineReplicaFound(ReplicaEvent, kind="offline-replica-found", source="ReplicaManager#markPartitionOffline"):
    """A broker learned that it should host a replica that is in a failed log directory. The replica counts as offline until the broker's
    process ends."""

    dir: int

    template = "b{broker} cannot host {tp}: the replica is offline, because its log directory {dir} has failed"


class OfflineReplicaDropped(ReplicaEvent, kind="offline-replica-dropped", source="ReplicaManager#stopPartitions, HostedPartition.Offline"):
    """A replica in a failed log directory was reassigned to another broker.

    If `counted` is true, the broker's process counts the replica as offline until the process ends.
    """

    dir: int
    counted: bool

    def sentence(self) -> str:
        tail = "; the replica counts as offline until the process ends" if self.counted else ""
        return f"b{self.broker} no longer hosts {self.tp}, which is in its failed log directory {self.dir}{tail}"


class ReplicaDeleted(ReplicaEvent, kind="replica-deleted", source="LogManager#asyncDelete"):
    """A broker deleted its replica of a partition, because the topic was deleted. `offset` is the log end offset of the deleted replica."""

    offset: int

    template = "b{broker} deleted its replica of {tp}, whose log ended at offset {offset}, because the topic was deleted"


class ReplicaMoveBegun(ReplicaEvent, kind="replica-move-begun", source="ReplicaManager#alterReplicaLogDirs, KIP-113"):
    """A broker started to copy a replica to another of its log directories."""

    dir: int
    bytes: int

    template = "b{broker} started to copy {tp} to its log directory {dir} ({bytes:count byte})"


class ReplicaMoved(ReplicaEvent, kind="replica-moved", source="Partition#maybeReplaceCurrentWithFutureReplica", level=NOTABLE):
    """The copy of a replica in another log directory caught up with the current replica and replaced it."""

    old_dir: int
    dir: int
    end_offset: int

    template = "b{broker} moved {tp} from log directory {old_dir} to {dir}: the copy caught up at offset {end_offset}"


class DiskSlowed(Event, kind="disk-slowed", source="LocalLog#append", level=NOTABLE, changes=BROKER):
    """The time that a broker's disk takes for each write changed. A write to a healthy disk takes 0 µs in the simulation."""

    broker: int
    delay_us: int

    def sentence(self) -> str:
        if not self.delay_us:
            return f"the disk of b{self.broker} is back at normal speed"
        return f"each disk write on b{self.broker} now takes {format_duration(self.delay_us)}; writes by its fetchers and by producers wait in the same queue"


class DiskBehind(Event, kind="disk-behind", source="LocalLog#append", level=DETAIL, changes=NOTHING):
    """On the broker's slow disk, a write that arrives now would wait longer than `core.kafka.health.STALL_BOUND`."""

    broker: int
    write_wait_us: int

    template = "the disk of b{broker} is behind: a write that arrives now completes after {write_wait_us:duration}"


class RecoveryPointsCheckpointed(
    Event, kind="log-checkpoint", source="LogManager#checkpointLogRecoveryOffsets", level=DETAIL, changes=NOTHING
):
    """A broker wrote recovery points to its checkpoint files. `partitions` is the number of recovery points that might have changed."""

    broker: int
    partitions: int

    template = "b{broker} wrote {partitions:count recovery point} to recovery-point-offset-checkpoint"

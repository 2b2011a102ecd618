"""A broker's disk, which survives its process: log directories with their logs and checkpoint files."""

from __future__ import annotations

import heapq
import random
from typing import Final, NamedTuple

import attrs

from core.kafka.ids import TopicPartition
from core.kafka.log import segments
from core.kafka.log.leader_term import Run
from core.kafka.log.log_config import LogConfig
from core.kafka.log.replica_log import ReplicaLog
from core.kafka.release import Release, Truncation
from core.sim.units import SECOND

KEPT: Final = "kept"
"""All unflushed records survive the power loss."""
LOST: Final = "lost"
"""No unflushed records survive the power loss."""
DRAWN: Final = "drawn"
"""Some of the unflushed records survive the power loss. The number of surviving records is drawn at random for each log."""


@attrs.define(slots=True, eq=False)
class LogDir:
    """One log directory.

    Attributes:
        directory_id: the directory's ID in `meta.properties`; an empty replacement directory gets a new ID (KIP-858).
        online: whether the directory is working.
        repaired: the state that a failed directory will have when the process next starts: `empty`, `kept`, or "" (still failed).
    """

    directory_id: str = "0-1-0"
    online: bool = True
    repaired: str = ""


@attrs.define(slots=True, eq=False)
class FutureReplica:
    """The unfinished copy of a replica that is being moved to another log directory of its broker. The log end offset of the copy is
    `leo`."""

    dir: int
    leo: int


class Recovery(NamedTuple):
    """The recovery of one log directory: how many logs, segments, and bytes it reads, and how long it takes, in µs."""

    dir: int
    logs: int
    segments: int
    bytes: int
    threads: int
    duration: int


@attrs.define(slots=True, eq=False)
class Disk:
    """A broker's log directories, numbered from 1.

    Attributes:
        logs: the logs in working log directories, keyed by partition.
        offline: the logs in failed log directories.
        placed: the directory that holds each partition, if the broker has several directories.
        futures: replicas that are being moved to another log directory.
        high_watermarks: the checkpoint file `replication-offset-checkpoint`.
        recovery_points: the checkpoint file of recovery points.
        log_starts: the checkpoint file of log start offsets.
        cleaner_offsets: the checkpoint file of the log cleaner: for each log, the first offset that was never cleaned.
        touched: the partitions whose high watermark has moved since recovery points were last checkpointed.
        moved_starts: the partitions whose log start has moved since log starts were last checkpointed.
        log_starts_moved: whether any log start has ever moved. If no log start has ever moved, no segment lies below a log start.
        clean_shutdown: whether the clean-shutdown file exists.
        deletions_applied: the offset in the metadata log up to which topic deletions have been applied to the disk. Kafka compares the
            topic IDs in `partition.metadata` instead of storing an offset.
        dirs: the log directories; the first one has the number 1.
    """

    logs: Final[dict[TopicPartition, ReplicaLog]] = attrs.field(factory=dict)
    offline: Final[dict[TopicPartition, ReplicaLog]] = attrs.field(factory=dict)
    placed: Final[dict[TopicPartition, int]] = attrs.field(factory=dict)
    futures: Final[dict[TopicPartition, FutureReplica]] = attrs.field(factory=dict)
    high_watermarks: Final[dict[TopicPartition, int]] = attrs.field(factory=dict)
    recovery_points: Final[dict[TopicPartition, int]] = attrs.field(factory=dict)
    log_starts: Final[dict[TopicPartition, int]] = attrs.field(factory=dict)
    cleaner_offsets: Final[dict[TopicPartition, int]] = attrs.field(factory=dict)
    touched: Final[dict[TopicPartition, None]] = attrs.field(factory=dict)
    moved_starts: Final[dict[TopicPartition, None]] = attrs.field(factory=dict)
    log_starts_moved: bool = False
    clean_shutdown: bool = True
    deletions_applied: int = 0
    dirs: Final[list[LogDir]] = attrs.field(factory=lambda: [LogDir()])

    @staticmethod
    def of(broker: int, count: int) -> Disk:
        """Return a broker's disk with `count` empty directories."""
        return Disk(dirs=[LogDir(f"{broker}-{number}-0") for number in range(1, count + 1)])

    def ids(self) -> tuple[str, ...]:
        """Return the IDs of the log directories."""
        return tuple(each.directory_id for each in self.dirs)

    # --- directories -----------------------------------------------------------------------------------------------

    def dir_of(self, tp: TopicPartition) -> int:
        """Return the number of the directory that holds a partition's replica."""
        return self.placed.get(tp, 1)

    def directory_id(self, tp: TopicPartition) -> str:
        """Return the ID of the directory that holds a partition's replica."""
        return self.dirs[self.dir_of(tp) - 1].directory_id

    def in_dir(self, number: int) -> list[TopicPartition]:
        """Return the partitions in a directory, in the order in which they were created."""
        return [tp for logs in (self.logs, self.offline) for tp in logs if self.dir_of(tp) == number]

    @property
    def failed_dirs(self) -> tuple[int, ...]:
        """The numbers that identify the failed log directories."""
        return tuple(number for number, each in enumerate(self.dirs, 1) if not each.online)

    def create(self, tp: TopicPartition, config: LogConfig, release: Release) -> ReplicaLog:
        """Create a log in the working log directory that has the fewest logs (`LogManager#nextLogDirs`)."""
        if len(self.dirs) > 1:
            counts = dict.fromkeys((number for number, each in enumerate(self.dirs, 1) if each.online), 0)
            for other in self.logs:
                counts[self.placed[other]] += 1
            for future in self.futures.values():
                counts[future.dir] += 1
            self.placed[tp] = min(counts, key=lambda number: (counts[number], number))
        log = self.logs[tp] = ReplicaLog(release.truncation >= Truncation.EPOCH, release)
        log.configure(config)
        return log

    def delete(self, tp: TopicPartition) -> None:
        """Delete a partition's replica."""
        for files in (
            self.logs, self.offline, self.placed, self.futures, self.high_watermarks, self.recovery_points, self.log_starts,
            self.cleaner_offsets,
        ):  # fmt: skip
            files.pop(tp, None)
        for moved in (self.touched, self.moved_starts):
            moved.pop(tp, None)

    def fail(self, number: int) -> list[TopicPartition]:
        """Fail a directory and take its logs offline (`ReplicaManager#handleLogDirFailure`). Return the partitions of the logs that go
        offline.
        """
        failed = self.dirs[number - 1]
        failed.online, failed.repaired = False, ""
        gone = [tp for tp in self.logs if self.dir_of(tp) == number]
        for tp in gone:
            log = self.offline[tp] = self.logs.pop(tp)
            log.high_watermark_moved = False
            self.futures.pop(tp, None)
            for moved in (self.touched, self.moved_starts):
                moved.pop(tp, None)
        for tp in [tp for tp, future in self.futures.items() if future.dir == number]:
            del self.futures[tp]
        return gone

    def mount_repaired(self) -> list[TopicPartition]:
        """Bring repaired directories back online when a process starts. An `empty` directory has no logs and a new ID.

        Returns:
            The partitions whose logs are online again.
        """
        kept = []
        for number, each in enumerate(self.dirs, 1):
            if each.online or not each.repaired:
                continue
            for tp in [tp for tp in self.offline if self.dir_of(tp) == number]:
                if each.repaired == "empty":
                    self.delete(tp)
                else:
                    self.logs[tp] = self.offline.pop(tp)
                    kept.append(tp)
            if each.repaired == "empty":
                broker, _, generation = each.directory_id.split("-")
                each.directory_id = f"{broker}-{number}-{int(generation) + 1}"
            each.online, each.repaired = True, ""
        return kept

    # --- checkpoints -----------------------------------------------------------------------------------------------

    def checkpoint_high_watermarks(self) -> int:
        """Write the high watermarks that have moved (`ReplicaManager#checkpointHighWatermarks`). Return the number of high watermarks that
        were written.
        """
        count = 0
        for tp, log in self.logs.items():
            if log.high_watermark_moved:
                log.high_watermark_moved = False
                self.high_watermarks[tp] = log.high_watermark
                self.touched[tp] = None
                count += 1
        return count

    def checkpoint_recovery_points(self) -> None:
        """Write the recovery points of logs that have grown (`LogManager#checkpointLogRecoveryOffsets`)."""
        for tp in self.touched:
            log = self.logs[tp]
            log.roll()
            self.recovery_points[tp] = log.recovery_point
        self.touched.clear()

    def flush_dirty(self, now: int) -> list[tuple[TopicPartition, int]]:
        """Flush the logs that have not been flushed for flush.ms (`LogManager#flushDirtyLogs`).

        Return the partition of each flushed log, together with the first offset that was flushed.
        """
        flushed = []
        for tp, log in self.logs.items():
            log.roll()
            if log.recovery_point < log.leo and now - log.last_flush >= log.config.flush_us:
                flushed.append((tp, log.recovery_point))
                log.flush()
                log.last_flush = now
        return flushed

    def truncate_cleaner_checkpoint(self, tp: TopicPartition, offset: int) -> None:
        """Mark the records at and above an offset as dirty again (`LogCleanerManager#maybeTruncateCheckpoint`)."""
        if self.cleaner_offsets.get(tp, 0) > offset:
            self.cleaner_offsets[tp] = offset

    def checkpoint_log_starts(self) -> None:
        """Write each log start that is above the base offset of the log's first segment to the checkpoint file
        (`LogManager#checkpointLogStartOffsets`)."""
        for tp in self.moved_starts:
            log = self.logs[tp]
            if log.log_start > log.first_offset:
                self.log_starts[tp] = log.log_start
            else:
                self.log_starts.pop(tp, None)
        self.moved_starts.clear()

    def close(self) -> None:
        """Shut down cleanly (`LogManager#shutdown`): flush all logs, and write all checkpoints and the clean-shutdown file."""
        self.checkpoint_high_watermarks()
        for tp, log in self.logs.items():
            log.flush()
            log.take_producer_snapshot()
            if log.leo:
                self.recovery_points[tp] = log.leo
        self.touched.clear()
        self.checkpoint_log_starts()
        self.clean_shutdown = True

    # --- crash and start -------------------------------------------------------------------------------------------

    def lose_unflushed(
        self, keep: dict[TopicPartition, int], how: str, draw: random.Random | None
    ) -> list[tuple[TopicPartition, tuple[Run, ...], int, int]]:
        """Simulate the loss of the page cache. Return (partition, former content, new end, recovery point) for each log that lost records.

        Args:
            keep: the new end offset of each log that loses records; other logs keep all of their records. If `keep` is empty, all logs lose
                records as `how` specifies.
            how: KEPT, LOST, or DRAWN.
            draw: the source of random numbers if `how` is DRAWN. A torn batch fails its checksum, and recovery truncates the log at that
                batch.
        """
        shorter = []
        for tp, log in self.logs.items():
            log.roll()
            flushed = log.recovery_point
            if keep:
                end = keep.get(tp, log.leo)
            elif how == KEPT or flushed >= log.leo:
                end = log.leo
            elif how == LOST:
                end = flushed
            else:
                assert draw is not None
                end = max(flushed, segments.batch_boundary(log, draw.randrange(flushed, log.leo + 1)))
            if end < log.leo:
                held = log.runs()
                log.open_at(self.log_starts.get(tp, 0))
                self.truncate_cleaner_checkpoint(tp, end)
                if log.truncate_to(end if keep else max(end, log.log_start)) and held:
                    shorter.append((tp, held, log.leo, flushed))
            log.flush()
        for tp, future in self.futures.items():
            bases = self.logs[tp].roll()
            future.leo = max([base for base in bases if base <= future.leo], default=bases[0])
        return shorter

    def recovery(self, threads: int, speed: int) -> list[Recovery]:
        """For each directory, return what its recovery after an unclean shutdown reads, and how long the recovery takes
        (`LogManager#loadLogs`, `LogLoader#recoverLog`).

        The segment that contains the checkpointed recovery point and all later segments are read once. Each directory has its own recovery
        threads. When a thread has recovered a log, it recovers the next one.

        Args:
            threads: num.recovery.threads.per.data.dir.
            speed: the number of bytes per second that a thread reads.
        """
        found = []
        for number, each in enumerate(self.dirs, 1):
            if not each.online:
                continue
            free = [0] * threads
            logs = read = size = 0
            for tp, log in self.logs.items():
                if self.dir_of(tp) != number or log.leo == log.first_offset:
                    continue
                bases = log.roll()
                point = min(self.recovery_points.get(tp, 0), log.recovery_point)
                first = max([i for i, base in enumerate(bases) if base <= point], default=0)
                unread = log.records.bytes_between(bases[first], log.leo)
                logs, read, size = logs + 1, read + len(bases) - first, size + unread
                heapq.heapreplace(free, free[0] + unread * SECOND // speed)
            found.append(Recovery(number, logs, read, size, threads, max(free)))
        return found

    def load(self) -> None:
        """Open the logs when a process starts. Read log starts and high watermarks from the checkpoints, and limit them to the offsets in
        the log.

        Kafka: `Partition#createLog`.
        """
        for tp, log in self.logs.items():
            log.open_at(self.log_starts.get(tp, 0))
            log.high_watermark = max(log.log_start, min(self.high_watermarks.get(tp, 0), log.leo))
            log.high_watermark_moved = False
            log.reload_producers(restarted=True)
        self.touched.clear()
        self.moved_starts.clear()

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
from core.sim.units import SECOND

KEPT: Final = "kept"
"""All unflushed records had reached the disk when the power was lost."""
LOST: Final = "lost"
"""No unflushed records had reached it."""
DRAWN: Final = "drawn"
"""Some unflushed records had reached it; how many is drawn at random for each log."""


@attrs.define(slots=True, eq=False)
class LogDir:
    """One log directory.

    Attributes:
        directory_id: its id in `meta.properties`; an empty replacement has another one (KIP-858).
        online: whether it works.
        repaired: what a failed directory is at the next start of the process: `empty`, `kept`, or still failed ("").
    """

    directory_id: str = "0-1-0"
    online: bool = True
    repaired: str = ""


@attrs.define(slots=True, eq=False)
class FutureReplica:
    """A replica that is being moved to another log directory of its broker: a copy of the current replica up to `leo`."""

    dir: int
    leo: int


class Recovery(NamedTuple):
    """The recovery of one log directory: how many logs, segments and bytes are read from their recovery points on, and its duration in µs."""

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
        logs: by partition, in directories that work.
        offline: the logs in failed directories.
        placed: the directory of each partition, if there are several.
        futures: replicas that are being moved to another directory.
        high_watermarks: `replication-offset-checkpoint`; recovery_points and log_starts are the other two checkpoints.
        changed: partitions whose high watermark moved since the checkpoint (ordered set).
        checkpoints: how often partitions were removed from `changed`.
        touched: partitions whose high watermark moved since the checkpoint of recovery points; moved_starts: whose log start moved.
        log_starts_moved: whether a log start ever moved: only then can segments lie below one.
        clean_shutdown: whether the clean-shutdown file exists.
        dirs: the directories.
    """

    logs: Final[dict[TopicPartition, ReplicaLog]] = attrs.field(factory=dict)
    offline: Final[dict[TopicPartition, ReplicaLog]] = attrs.field(factory=dict)
    placed: Final[dict[TopicPartition, int]] = attrs.field(factory=dict)
    futures: Final[dict[TopicPartition, FutureReplica]] = attrs.field(factory=dict)
    high_watermarks: Final[dict[TopicPartition, int]] = attrs.field(factory=dict)
    recovery_points: Final[dict[TopicPartition, int]] = attrs.field(factory=dict)
    log_starts: Final[dict[TopicPartition, int]] = attrs.field(factory=dict)
    changed: Final[dict[TopicPartition, None]] = attrs.field(factory=dict)
    touched: Final[dict[TopicPartition, None]] = attrs.field(factory=dict)
    moved_starts: Final[dict[TopicPartition, None]] = attrs.field(factory=dict)
    checkpoints: int = 0
    log_starts_moved: bool = False
    clean_shutdown: bool = True
    dirs: Final[list[LogDir]] = attrs.field(factory=lambda: [LogDir()])

    @staticmethod
    def of(broker: int, count: int) -> Disk:
        """A broker's disk with `count` empty directories."""
        return Disk(dirs=[LogDir(f"{broker}-{number}-0") for number in range(1, count + 1)])

    def ids(self) -> tuple[str, ...]:
        """The ids of its directories."""
        return tuple(each.directory_id for each in self.dirs)

    # --- directories -----------------------------------------------------------------------------------------------

    def dir_of(self, tp: TopicPartition) -> int:
        """The number of the directory of a partition's replica."""
        return self.placed.get(tp, 1)

    def directory_id(self, tp: TopicPartition) -> str:
        """The id of that directory."""
        return self.dirs[self.dir_of(tp) - 1].directory_id

    def in_dir(self, number: int) -> list[TopicPartition]:
        """The partitions in a directory, in order of creation."""
        return [tp for logs in (self.logs, self.offline) for tp in logs if self.dir_of(tp) == number]

    @property
    def failed_dirs(self) -> tuple[int, ...]:
        """The numbers of failed directories."""
        return tuple(number for number, each in enumerate(self.dirs, 1) if not each.online)

    def create(self, tp: TopicPartition, config: LogConfig, *, keeps_epochs: bool) -> ReplicaLog:
        """Create a log, in the working directory with the fewest logs (`LogManager#nextLogDirs`)."""
        if len(self.dirs) > 1:
            counts = dict.fromkeys((number for number, each in enumerate(self.dirs, 1) if each.online), 0)
            for other in self.logs:
                counts[self.placed[other]] += 1
            for future in self.futures.values():
                counts[future.dir] += 1
            self.placed[tp] = min(counts, key=lambda number: (counts[number], number))
        log = self.logs[tp] = ReplicaLog(keeps_epochs=keeps_epochs)
        log.configure(config)
        return log

    def delete(self, tp: TopicPartition) -> None:
        """Delete a partition's replica."""
        for files in (self.logs, self.offline, self.placed, self.futures, self.high_watermarks, self.recovery_points, self.log_starts):
            files.pop(tp, None)
        for moved in (self.changed, self.touched, self.moved_starts):
            moved.pop(tp, None)

    def fail(self, number: int) -> list[TopicPartition]:
        """Fail a directory, and take its logs offline; returns their partitions (`ReplicaManager#handleLogDirFailure`)."""
        failed = self.dirs[number - 1]
        failed.online, failed.repaired = False, ""
        self.checkpoints += 1
        gone = [tp for tp in self.logs if self.dir_of(tp) == number]
        for tp in gone:
            self.offline[tp] = self.logs.pop(tp)
            self.futures.pop(tp, None)
            for moved in (self.changed, self.touched, self.moved_starts):
                moved.pop(tp, None)
        for tp in [tp for tp, future in self.futures.items() if future.dir == number]:
            del self.futures[tp]
        return gone

    def mount_repaired(self) -> list[TopicPartition]:
        """Bring repaired directories back at the start of a process; an empty one has no logs and a new id.

        Returns:
            The partitions whose logs are back.
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
        """Write the high watermarks that moved (`ReplicaManager#checkpointHighWatermarks`); returns how many."""
        count = len(self.changed)
        for tp in self.changed:
            self.high_watermarks[tp] = self.logs[tp].high_watermark
        self.touched.update(self.changed)
        self.changed.clear()
        self.checkpoints += 1
        return count

    def checkpoint_recovery_points(self) -> list[TopicPartition]:
        """Write the recovery points of logs that have grown; returns the partitions where a new segment was found.

        Kafka: `LogManager#checkpointLogRecoveryOffsets`.
        """
        rolled = []
        for tp in self.touched:
            log = self.logs[tp]
            before = log.bases, log.recovery_point
            log.roll()
            if (log.bases, log.recovery_point) != before:
                rolled.append(tp)
            self.recovery_points[tp] = log.recovery_point
        self.touched.clear()
        return rolled

    def flush_dirty(self, now: int) -> list[tuple[TopicPartition, int]]:
        """Flush the logs that were not flushed for flush.ms (`LogManager#flushDirtyLogs`); returns each with the offset it was flushed from."""
        flushed = []
        for tp, log in self.logs.items():
            log.roll()
            if log.recovery_point < log.leo and now - log.last_flush >= log.config.flush_us:
                flushed.append((tp, log.recovery_point))
                log.flush()
                log.last_flush = now
        return flushed

    def checkpoint_log_starts(self) -> None:
        """Write the log starts that are above the base of their first segment (`LogManager#checkpointLogStartOffsets`)."""
        for tp in self.moved_starts:
            log = self.logs[tp]
            if log.log_start > log.first_offset:
                self.log_starts[tp] = log.log_start
            else:
                self.log_starts.pop(tp, None)
        self.moved_starts.clear()

    def close(self) -> None:
        """Shut down cleanly: flush all logs, and write all checkpoints and the clean-shutdown file (`LogManager#shutdown`)."""
        self.checkpoint_high_watermarks()
        for tp, log in self.logs.items():
            log.flush()
            if log.leo:
                self.recovery_points[tp] = log.leo
        self.touched.clear()
        self.checkpoint_log_starts()
        self.clean_shutdown = True

    # --- crash and start -------------------------------------------------------------------------------------------

    def lose_unflushed(
        self, keep: dict[TopicPartition, int], how: str, draw: random.Random | None
    ) -> list[tuple[TopicPartition, tuple[Run, ...], int, int]]:
        """Lose the page cache; returns (partition, what its log held, end now, recovery point) of the logs that are shorter now.

        Args:
            keep: where those logs end now; the others keep everything. If it is empty, `how` decides for all.
            how: KEPT, LOST or DRAWN.
            draw: random numbers for DRAWN. A torn batch fails its checksum, and recovery truncates there.
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
                if log.truncate_to(end if keep else max(end, log.log_start)) and held:
                    shorter.append((tp, held, log.leo, flushed))
            log.flush()
        for tp, future in self.futures.items():
            bases = self.logs[tp].roll()
            future.leo = max([base for base in bases if base <= future.leo], default=bases[0])
        return shorter

    def recovery(self, threads: int, speed: int) -> list[Recovery]:
        """What a start without the clean-shutdown file reads, by directory (`LogManager#loadLogs`, `LogLoader#recoverLog`).

        Every segment is read once, from the one with the checkpointed recovery point on. Each directory has its own threads, and each thread takes
        the next log when it is done with one.

        Args:
            threads: num.recovery.threads.per.data.dir.
            speed: bytes per second that a thread reads.
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
                unread = log.bytes_between(bases[first], log.leo)
                logs, read, size = logs + 1, read + len(bases) - first, size + unread
                heapq.heapreplace(free, free[0] + unread * SECOND // speed)
            found.append(Recovery(number, logs, read, size, threads, max(free)))
        return found

    def load(self) -> None:
        """Open the logs at the start of a process: log starts and high watermarks are read from the checkpoints, limited to the log.

        Kafka: `Partition#createLog`.
        """
        for tp, log in self.logs.items():
            log.open_at(self.log_starts.get(tp, 0))
            log.high_watermark = max(log.log_start, min(self.high_watermarks.get(tp, 0), log.leo))
        self.changed.clear()
        self.checkpoints += 1
        self.touched.clear()
        self.moved_starts.clear()

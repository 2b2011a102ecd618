"""A running broker's log directories: failed directories, the directories of replicas, moves between directories, and slow disks (KIP-112,
KIP-113, KIP-858)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, Protocol

from core.kafka import events
from core.kafka.broker.context import BrokerContext
from core.kafka.broker.controller_requests.controller_channel import ControllerChannel
from core.kafka.broker.disk import Disk, FutureReplica
from core.kafka.health import STALL_BOUND
from core.kafka.ids import TopicPartition
from core.kafka.log.leader_term import fetched_ranges
from core.kafka.messages import AssignReplicasToDirsRequest, FetchResponse, ProduceRequest
from core.sim.disturbances import SLOW, STORAGE
from core.sim.units import SECOND, US_PER_MS

if TYPE_CHECKING:
    from core.sim.node import Handler

COPY_CHUNK: Final = 1_048_576
"""The number of bytes that a move copies at a time (replica.fetch.max.bytes)."""

COPY_PAUSE: Final = US_PER_MS
"""The minimum time between two steps of a move, in µs."""


class DirectoryFailures(Protocol):
    """What a broker does about its log directories (`ReplicaManager`, `BrokerLifecycleManager`, `Exit`)."""

    def stop(self, how: str, /) -> None:
        """End the process."""

    def take_offline(self, gone: list[TopicPartition], /) -> None:
        """Take the replicas in a failed log directory offline."""

    def propagate_directory_failure(self, directory: str, /) -> None:
        """Report a failed log directory to the controller."""

    def report_directories(self) -> None:
        """Send a heartbeat that names the failed log directories, if the process is registered."""

    def withdraw_idle_fetches(self) -> None:
        """Stop eliding the idle fetches that this broker sends or serves, because they might no longer be idle."""


class LogDirectories:
    """The log directories of a running broker.

    Attributes:
        handler: what the broker does about failed and slow directories.
        unreported: failed directories that the controller has not confirmed yet (ordered set).
        unassigned: replicas whose directory the controller does not know yet (ordered set).
        slow: the duration of each write, in µs; 0 if writes take no time.
        busy_until: the time when the slow disk will have finished all of its writes, in µs.
    """

    __slots__ = ("_channel", "_undelayed", "broker", "busy_until", "copy_speed", "disk", "handler", "slow", "unassigned", "unreported")

    broker: Final[BrokerContext]
    _channel: Final[ControllerChannel]
    handler: Final[DirectoryFailures]
    disk: Final[Disk]
    unreported: Final[dict[str, None]]
    unassigned: Final[dict[TopicPartition, None]]

    def __init__(self, broker: BrokerContext, channel: ControllerChannel, handler: DirectoryFailures) -> None:
        self.broker = broker
        self._channel = channel
        self.handler = handler
        self.disk = broker.disk
        self.unreported = {}
        self.unassigned = {}
        self.copy_speed = 0
        self.slow = 0
        self.busy_until = 0
        self._undelayed: dict[type, Handler] = {}
        broker.node.timers.update(
            {
                "dir-failure-timeout": self._failure_timeout,
                "move-replica": self._copy,
                "disk-write": self._written,
            }
        )

    def reset(self) -> None:
        """Forget all pending work, because the process has ended."""
        self.unreported.clear()
        self.unassigned.clear()
        self.busy_until = 0

    def online_ids(self) -> tuple[str, ...]:
        """Return the IDs of the working log directories."""
        return tuple(each.directory_id for each in self.disk.dirs if each.online)

    def offline_ids(self) -> tuple[str, ...]:
        """Return the IDs of the failed directories."""
        return tuple(each.directory_id for each in self.disk.dirs if not each.online)

    # --- failure ---------------------------------------------------------------------------------------------------

    def fail(self, number: int) -> None:
        """Take a log directory offline while the broker is running (`ReplicaManager#handleLogDirFailure`). If no other log directory is
        working, the broker halts."""
        broker, disk = self.broker, self.disk
        gone = disk.fail(number)
        journal = broker.journal
        journal.cause = journal.emit(events.LogDirFailed.kind, broker.id, number, len(gone))
        broker.network.disturbances.begin(broker.node.address, STORAGE, journal.cause, journal.now)
        if not self.online_ids() or not broker.release.survives_failed_dir:
            self.handler.stop("halted")
        else:
            self.handler.take_offline(gone)
            self.handler.propagate_directory_failure(disk.dirs[number - 1].directory_id)
        for tp in gone:
            broker.account.log_unavailable(tp, broker.id, disk.offline[tp])

    def report(self, directory: str) -> None:
        """Report a failed directory in heartbeats until the controller confirms it (`BrokerLifecycleManager#propagateDirectoryFailure`)."""
        broker = self.broker
        self.unreported[directory] = None
        self.handler.report_directories()
        if not broker.by_hand:
            broker.node.timer(broker.settings.us("log.dir.failure.timeout.ms", broker=broker.id), "dir-failure-timeout", directory)

    def reported(self, directories: tuple[str, ...]) -> None:
        """Record that the controller has confirmed failed directories."""
        for directory in directories:
            self.unreported.pop(directory, None)

    def _failure_timeout(self, directory: object) -> None:
        """Halt the broker if the controller has not confirmed a failed directory within log.dir.failure.timeout.ms
        (`BrokerLifecycleManager`)."""
        if directory in self.unreported:
            self.handler.stop("unheard")

    # --- where replicas are ----------------------------------------------------------------------------------------

    def assign(self, tp: TopicPartition) -> None:
        """If the broker has several directories, queue a report that tells the controller which of them holds a new replica
        (`AssignmentsManager`).
        """
        if len(self.disk.dirs) > 1:
            self.unassigned[tp] = None

    def send_assignments(self) -> None:
        """Report the directories of new replicas to the controller."""
        if self.unassigned:
            broker = self.broker
            assignments = tuple((tp, self.disk.directory_id(tp)) for tp in self.unassigned if tp in self.disk.logs)
            self.unassigned.clear()
            self._channel.send(AssignReplicasToDirsRequest(broker.id, broker.broker_epoch, assignments))

    # --- moves -----------------------------------------------------------------------------------------------------

    def move(self, tp: TopicPartition, number: int) -> None:
        """Start copying a replica to another directory (`ReplicaManager#alterReplicaLogDirs`)."""
        broker, log = self.broker, self.disk.logs[tp]
        self.disk.futures[tp] = FutureReplica(number, log.log_start)
        journal = broker.journal
        journal.cause = journal.emit(events.ReplicaMoveBegun.kind, broker.id, tp.topic, tp.partition, number, log.size)
        self._copy(tp)

    def resume_moves(self) -> None:
        """Resume the copies that the previous process started."""
        for tp in list(self.disk.futures):
            self._copy(tp)

    def _copy(self, about: object) -> None:
        """Copy the next COPY_CHUNK bytes of a replica that is being moved. When the copy is complete, it replaces the current replica
        (`ReplicaAlterLogDirsThread`)."""
        assert isinstance(about, TopicPartition)
        future, log = self.disk.futures.get(about), self.disk.logs.get(about)
        if future is None or log is None:
            return
        future.leo = min(max(future.leo, log.log_start), log.leo)
        if future.leo == log.leo:
            self._swap(about, future)
            return
        read = 0
        for fetched in fetched_ranges(log.records.read(future.leo, log.leo, COPY_CHUNK)):
            future.leo = fetched.end
            read += fetched.bytes
        self.broker.node.timer(max(COPY_PAUSE, read * SECOND // self.copy_speed), "move-replica", about)

    def _swap(self, tp: TopicPartition, future: FutureReplica) -> None:
        """Replace the current replica with the copy, which now has the same end offset
        (`Partition#maybeReplaceCurrentWithFutureReplica`)."""
        broker, disk = self.broker, self.disk
        log = disk.logs[tp]
        old = disk.dir_of(tp)
        disk.placed[tp] = future.dir
        del disk.futures[tp]
        log.recovery_point = log.roll()[-1]  # only the closed segments of the copy are flushed
        log.configure(log.config)
        broker.journal.emit(events.ReplicaMoved.kind, broker.id, tp.topic, tp.partition, old, future.dir, log.leo)
        self.assign(tp)
        self.send_assignments()

    # --- a slow disk -----------------------------------------------------------------------------------------------

    def slow_down(self, delay: int) -> None:
        """Make each new write take `delay` µs. If `delay` is 0, new writes take no time. Pending writes keep their delay."""
        broker = self.broker
        self.handler.withdraw_idle_fetches()
        self.slow = delay
        cause = broker.journal.emit(events.DiskSlowed.kind, broker.id, delay)
        if delay:
            broker.network.disturbances.begin(broker.node.address, SLOW, cause, broker.journal.now)
        else:
            broker.network.disturbances.end(broker.node.address, SLOW, broker.journal.now)
        self._record_if_behind()
        if not self._undelayed:
            self._undelayed = {kind: broker.node.handlers[kind] for kind in (ProduceRequest, FetchResponse)}
        for kind, handler in self._undelayed.items():
            broker.node.handlers[kind] = self._write if delay or self.busy_until > broker.journal.now else handler

    def is_slow(self) -> bool:
        """Return whether a write takes time, which is the case if the disk is slow or earlier writes have not finished."""
        return self.slow > 0 or self.busy_until > self.broker.journal.now

    def write_wait(self) -> int:
        """Return the time that a write takes if it arrives now, including the wait for earlier writes, in µs."""
        return max(self.busy_until - self.broker.journal.now, 0) + self.slow

    def _record_if_behind(self) -> None:
        """If writes now wait so long that they count as stalled, record how long they wait."""
        wait = self.write_wait()
        if wait > STALL_BOUND:
            self.broker.journal.emit(events.DiskBehind.kind, self.broker.id, wait)

    def _write(self, message: object, sender: str) -> None:
        """Delay a request or response until the disk has written its data."""
        broker = self.broker
        now = broker.journal.now
        if isinstance(message, FetchResponse) and not any(part.records for part in message.parts()) and self.busy_until <= now:
            self._undelayed[FetchResponse](message, sender)
            return
        self.busy_until = max(self.busy_until, now) + self.slow
        self._record_if_behind()
        broker.node.timer(self.busy_until - now, "disk-write", (message, sender))

    def _written(self, about: object) -> None:
        assert isinstance(about, tuple)
        message, sender = about
        self._undelayed[type(message)](message, sender)
        if not self.slow and self.busy_until <= self.broker.journal.now:
            self.broker.node.handlers.update(self._undelayed)

"""The settings of a broker's logs, and the periodic tasks on the logs: checkpoints, flushes, retention, and log cleaning.

Kafka: `LogManager#startup`; the checkpoint of the high watermarks is a task of `ReplicaManager`.
"""

from __future__ import annotations

from typing import Final

from core.kafka import events
from core.kafka.broker.broker_state import BrokerState
from core.kafka.broker.context import BrokerContext
from core.kafka.broker.log_manager.log_cleaner import LogCleaner
from core.kafka.broker.partition import Partition
from core.kafka.ids import TopicPartition
from core.kafka.last_changes import LOG_START, RETENTION
from core.kafka.log.log_config import LogConfig
from core.kafka.log.segments import delete_old_segments
from core.sim.units import SECOND

INITIAL_TASK_DELAY: Final = 30 * SECOND
"""The delay between a broker's start and the first run of its log tasks, in µs (log.initial.task.delay.ms)."""

NEVER: Final = 10**15
"""A virtual time that is never reached, in µs. A task whose interval is NEVER does not run."""


class LogManager:
    """The settings of one broker's logs, and the periodic tasks on these logs.

    Attributes:
        configs: the settings of the logs, by topic.
        cleaner: the log cleaner.
    """

    __slots__ = ("_broker", "_partitions", "cleaner", "configs")

    _broker: Final[BrokerContext]
    _partitions: Final[dict[TopicPartition, Partition]]
    configs: Final[dict[str, LogConfig]]
    cleaner: Final[LogCleaner]

    def __init__(self, broker: BrokerContext, partitions: dict[TopicPartition, Partition]) -> None:
        self._broker = broker
        self._partitions = partitions
        self.configs = {}
        self.cleaner = LogCleaner(broker, self.configs)
        broker.node.timers.update(
            {
                "checkpoint": self._checkpoint_due,
                "log-checkpoint": self._log_checkpoint_due,
                "log-start-checkpoint": self._log_start_checkpoint_due,
                "retention": self._retention_due,
                "log-cleaner": self._cleaner_due,
                "log-flush": self._flush_due,
            }
        )

    def config_of(self, topic: str) -> LogConfig:
        """Return the settings of a topic's logs (`LogManager#fetchLogConfig`)."""
        config = self.configs.get(topic)
        if config is None:
            config = self.configs[topic] = LogConfig.of(self._broker.settings, self._broker.id, topic)
            if config.compact:
                self.arm_cleaner()
        return config

    def refresh_configs(self) -> None:
        """Reconfigure the logs whose settings have changed (`LogManager#updateTopicConfig`). Existing segments keep the former settings."""
        broker = self._broker
        changed = {topic: new for topic, old in self.configs.items() if (new := LogConfig.of(broker.settings, broker.id, topic)) != old}
        self.configs.update(changed)
        if changed:
            for tp, log in broker.disk.logs.items():
                if tp.topic in changed:
                    log.configure(changed[tp.topic])
            self.arm_cleaner()

    def reset(self) -> None:
        """Forget the timer of the log cleaner, because the process has ended."""
        self.cleaner.armed = False

    def arm(self) -> None:
        """Set the timers of all tasks."""
        broker = self._broker
        broker.node.timer(broker.config.checkpoint_interval, "checkpoint")
        broker.node.timer(INITIAL_TASK_DELAY, "log-checkpoint")
        broker.node.timer(INITIAL_TASK_DELAY, "log-start-checkpoint")
        broker.node.timer(INITIAL_TASK_DELAY, "retention")
        if broker.config.flush_check_interval < NEVER:
            broker.node.timer(INITIAL_TASK_DELAY, "log-flush")
        self.arm_cleaner()

    def arm_cleaner(self) -> None:
        """Set the timer of the log cleaner if a log is compacted and the process is running."""
        if self._broker.state is not BrokerState.STOPPED:
            self.cleaner.arm()

    def _checkpoint_due(self, _: object) -> None:
        self._broker.node.timer(self._broker.config.checkpoint_interval, "checkpoint")
        self.checkpoint_high_watermarks()

    def checkpoint_high_watermarks(self) -> None:
        """Write the high watermarks to disk (`ReplicaManager#checkpointHighWatermarks`)."""
        broker = self._broker
        count = broker.disk.checkpoint_high_watermarks()
        if count:
            broker.journal.emit(events.HighWatermarksCheckpointed.kind, broker.id, count)

    def _log_checkpoint_due(self, _: object) -> None:
        broker = self._broker
        broker.node.timer(broker.config.recovery_point_interval, "log-checkpoint")
        count = len(broker.disk.touched)
        if count:
            broker.disk.checkpoint_recovery_points()
            broker.journal.emit(events.RecoveryPointsCheckpointed.kind, broker.id, count)

    def _log_start_checkpoint_due(self, _: object) -> None:
        broker = self._broker
        broker.node.timer(broker.config.log_start_interval, "log-start-checkpoint")
        if broker.disk.moved_starts:
            broker.disk.checkpoint_log_starts()

    def _flush_due(self, _: object) -> None:
        broker, disk = self._broker, self._broker.disk
        broker.node.timer(broker.config.flush_check_interval, "log-flush")
        for tp, start in disk.flush_dirty(broker.journal.now):
            broker.journal.emit(events.LogFlushed.kind, broker.id, tp.topic, tp.partition, start, disk.logs[tp].leo)

    def _retention_due(self, _: object) -> None:
        self._broker.node.timer(self._broker.config.retention_interval, "retention")
        self.delete_old_segments()

    def delete_old_segments(self) -> None:
        """Apply retention to the log of each replica, up to that replica's high watermark, whether the broker leads or follows the
        partition (`LogManager#cleanupLogs`). The cause of a deletion by age is the setting: who
        set it last, or the creation of the topic. Otherwise, segments end because records are appended after them, so the last append is the
        cause.
        """
        broker = self._broker
        now, disk, journal = broker.settings.clock.read(broker.journal.now), broker.disk, broker.journal
        configs = self.configs.values()
        if not any(config.retention_bytes >= 0 or 0 <= config.retention_us < now for config in configs) and not disk.log_starts_moved:
            return
        for tp, log in list(disk.logs.items()):
            if log.leo == log.first_offset:
                continue
            old, before = log.log_start, log.readable_runs()
            for deleted in delete_old_segments(log, now):
                journal.emit_because(
                    self._why_too_old(tp) if deleted.rule == "retention.ms" else log.last_append_event, events.SegmentsDeleted.kind,
                    broker.id, tp.topic, tp.partition, deleted.start, deleted.end, deleted.segments, deleted.rule,
                )  # fmt: skip
            if log.log_start != old:
                broker.account.log_start_moved(tp, log, before, old, journal.seq)
                broker.network.disturbances.changed((tp, LOG_START), journal.seq)
                partition = self._partitions.get(tp)
                if partition is None:
                    broker.log_start_moved(tp)
                else:
                    partition.log_start_moved()

    def _why_too_old(self, tp: TopicPartition) -> int:
        """Return the event that set the retention time of a partition."""
        last_change, account = self._broker.network.disturbances.last_change, self._broker.account
        return last_change((RETENTION, tp.topic)) or last_change((RETENTION, "")) or account.creation(tp)

    def _cleaner_due(self, _: object) -> None:
        self.cleaner.armed = False
        self.cleaner.arm()
        if not self._broker.by_hand and self._broker.state is not BrokerState.STARTING:
            self.cleaner.run()

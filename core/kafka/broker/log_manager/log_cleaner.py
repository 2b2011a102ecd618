"""A broker's log cleaner (Kafka: `LogCleaner`, `LogCleanerManager`).

The log cleaner repeatedly cleans the dirtiest log that has enough to clean. If no log has enough to clean, the log cleaner waits for
log.cleaner.backoff.ms. Leaders and followers clean their own logs, so replicas can hold different records of a partition.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from core.kafka import events
from core.kafka.broker.context import BrokerContext
from core.kafka.ids import TopicPartition
from core.kafka.log.cleaner.cleanable_offsets import LogToClean, cleanable_offsets, log_to_clean
from core.kafka.log.cleaner.cleaner import clean
from core.kafka.log.cleaner.offset_map import OffsetMap
from core.kafka.log.log_config import LogConfig


class LogCleaner:
    """The log cleaner of one broker.

    Attributes:
        configs: the settings of the logs, by topic.
        armed: whether the timer for the next run is set.
        dirtiest: the dirty fraction of the dirtiest log at the cleaner's last check, from 0 to 1.
    """

    __slots__ = ("armed", "broker", "configs", "dirtiest")

    broker: Final[BrokerContext]
    configs: Final[Mapping[str, LogConfig]]

    def __init__(self, broker: BrokerContext, configs: Mapping[str, LogConfig]) -> None:
        self.broker = broker
        self.configs = configs
        self.armed = False
        self.dirtiest = 0.0

    @property
    def enabled(self) -> bool:
        """Whether the log cleaner runs (log.cleaner.enable)."""
        return self.broker.settings.flag("log.cleaner.enable", broker=self.broker.id)

    def arm(self) -> None:
        """Set the timer for the next run, unless it is already set, the cleaner is switched off, or no log is compacted."""
        broker = self.broker
        if not self.armed and not broker.by_hand and self.enabled and any(config.compact for config in self.configs.values()):
            self.armed = True
            broker.node.timer(broker.settings.us("log.cleaner.backoff.ms", broker=broker.id), "log-cleaner")

    def run(self) -> None:
        """Clean logs, the dirtiest first, until none has enough to clean (`LogCleaner.CleanerThread#doWork`)."""
        while True:
            found = self.logs_to_clean()
            self.dirtiest = max((part.ratio for _, part in found), default=0.0)
            candidates = [(tp, part) for tp, part in found if part.is_candidate]
            if not candidates or not self.clean(*max(candidates, key=lambda each: each[1].ratio)):
                return

    def run_now(self, partition: TopicPartition | None) -> None:
        """Clean one log, or all logs that have something to clean, however small their dirty part is."""
        for tp, part in self.logs_to_clean():
            if part.cleanable_bytes and partition in (None, tp):
                self.clean(tp, part)

    def logs_to_clean(self) -> list[tuple[TopicPartition, LogToClean]]:
        """For each compacted log, return the part that a cleaning pass would cover (`LogCleanerManager#grabFilthiestCompactedLog`)."""
        broker = self.broker
        now, disk = broker.settings.clock.read(broker.journal.now), broker.disk
        found = []
        for tp, log in disk.logs.items():
            if log.config.compact:
                offsets = cleanable_offsets(log, disk.cleaner_offsets.get(tp), now, broker.release)
                if offsets.resets_checkpoint:
                    disk.cleaner_offsets[tp] = offsets.first_dirty
                found.append((tp, log_to_clean(log, offsets, now)))
        return found

    def clean(self, tp: TopicPartition, part: LogToClean) -> bool:
        """Run one cleaning pass over a log, and write the checkpoint. Return whether the cleaning pass made progress."""
        broker = self.broker
        size = broker.settings.integer("log.cleaner.dedupe.buffer.size", broker=broker.id)
        load_factor = broker.settings.ratio("log.cleaner.io.buffer.load.factor", broker=broker.id)
        now = broker.settings.clock.read(broker.journal.now)
        done = clean(part, OffsetMap.of_bytes(size, load_factor), now, broker.release)
        broker.disk.cleaner_offsets[tp] = done.end
        broker.journal.emit(
            events.LogCleaned.kind,
            broker.id, tp.topic, tp.partition, done.start, done.end, done.removed, done.tombstones, done.markers, done.bytes_removed,
            done.horizon,
        )  # fmt: skip
        return done.end > done.start

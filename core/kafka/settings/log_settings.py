"""Settings for logs: their size, segments, flushes, retention, compaction, checkpoints, and directories."""

from __future__ import annotations

from typing import Final

from core.kafka.settings.setting import LONGEST_MS, MAX_LONG, Setting

LOG_SETTINGS: Final = (
    Setting(
        "message.max.bytes", "int", 1_048_588, "broker", True,
        "The size of the largest record that a broker accepts from a producer.", older_defaults=(("2.4", 1_000_012),), of_topic="max.message.bytes",
    ),
    Setting(
        "log.segment.bytes", "int", 1_073_741_824, "broker", True,
        "The maximum size of a segment. A batch that would exceed this size starts a new segment.", least=14, of_topic="segment.bytes",
    ),
    Setting(
        "log.roll.ms", "long", 604_800_000, "broker", True,
        "The maximum age of the active segment. When the first batch of the active segment is older, a new segment starts.", least=1, most=LONGEST_MS, of_topic="segment.ms",
    ),
    Setting(
        "log.index.interval.bytes", "int", 4_096, "broker", True,
        "The minimum number of bytes between two entries in a segment's offset index.", of_topic="index.interval.bytes",
    ),
    Setting(
        "log.index.size.max.bytes", "int", 10_485_760, "broker", True,
        "The maximum size of a segment's offset index and of its time index. When one of them is full, a new segment starts.", least=4,
        of_topic="segment.index.bytes",
    ),
    Setting(
        "log.flush.interval.messages", "long", MAX_LONG, "broker", True,
        "The number of unflushed records at which a log is flushed to disk. By default, a log is flushed only when a segment is closed.",
        least=1, most=MAX_LONG, of_topic="flush.messages",
    ),
    Setting(
        "log.flush.interval.ms", "long", MAX_LONG, "broker", True,
        "The time without a flush after which a log is flushed to disk. Brokers check for such logs only every log.flush.scheduler.interval.ms.",
        least=0, most=MAX_LONG, of_topic="flush.ms",
    ),
    Setting(
        "log.flush.scheduler.interval.ms", "long", MAX_LONG, "broker", False,
        "The interval at which a broker checks which logs it must flush because of log.flush.interval.ms. By default, the broker never checks.", least=1, most=MAX_LONG,
    ),
    Setting(
        "log.retention.ms", "long", 604_800_000, "broker", True,
        "The maximum age of a segment's newest record. Retention deletes older segments. -1 means no limit.", least=-1, most=LONGEST_MS, of_topic="retention.ms",
    ),
    Setting(
        "log.retention.bytes", "long", -1, "broker", True,
        "The size to which retention reduces a log. Retention deletes the oldest segment if the rest of the log has at least this size. -1 means no limit.",
        least=-1, most=MAX_LONG, of_topic="retention.bytes",
    ),
    Setting(
        "log.retention.check.interval.ms", "long", 300_000, "broker", False,
        "The interval at which a broker checks for segments to delete.", least=1, most=LONGEST_MS,
    ),
    Setting(
        "log.cleanup.policy", "list", "delete", "broker", True,
        "How old records are removed from a log. With `delete`, retention deletes old segments. With `compact`, the log cleaner removes records whose key has a newer record.",
        of_topic="cleanup.policy", words=("delete", "compact"),
    ),
    Setting(
        "log.message.timestamp.type", "word", "CreateTime", "broker", True,
        "The clock that gives records their timestamps. With `CreateTime`, it is the producer's clock; with `LogAppendTime`, it is the leader's clock.",
        of_topic="message.timestamp.type", words=("CreateTime", "LogAppendTime"), since="0.10.2",
    ),
    Setting(
        "log.cleaner.min.cleanable.ratio", "double", 0.5, "broker", True,
        "The fraction of a compacted log that must be dirty before the log is cleaned. Bytes that have never been cleaned are dirty.", of_topic="min.cleanable.dirty.ratio",
    ),
    Setting(
        "log.cleaner.delete.retention.ms", "long", 86_400_000, "broker", True,
        "The minimum time for which a tombstone stays in a cleaned log. A consumer that takes longer to read the log can miss a deletion.",
        most=LONGEST_MS, of_topic="delete.retention.ms",
    ),
    Setting(
        "log.cleaner.min.compaction.lag.ms", "long", 0, "broker", True,
        "The minimum age at which a record can be cleaned.", most=LONGEST_MS, of_topic="min.compaction.lag.ms", since="0.10.2",
    ),
    Setting(
        "log.cleaner.max.compaction.lag.ms", "long", MAX_LONG, "broker", True,
        "The maximum age of a record that has never been cleaned. If a log contains an older record that has never been cleaned, the log is cleaned even if few of its bytes are dirty. By default, there is no limit.",
        least=1, most=MAX_LONG, of_topic="max.compaction.lag.ms", since="2.4",
    ),
    Setting(
        "log.cleaner.enable", "boolean", True, "broker", False,
        "Whether the log cleaner runs. If it does not run, compacted logs keep all records.", older_defaults=(("0.8.2", False),),
    ),
    Setting(
        "log.cleaner.backoff.ms", "long", 15_000, "broker", True,
        "The time that the log cleaner waits after it finds no log to clean.", least=1, most=LONGEST_MS,
    ),
    Setting(
        "log.cleaner.dedupe.buffer.size", "long", 134_217_728, "broker", True,
        "The size of the buffer in which the log cleaner stores the last offset of each key (24 bytes per key). If the buffer is full, a cleaning pass ends early.",
        least=1_048_576, most=MAX_LONG,
    ),
    Setting(
        "log.cleaner.io.buffer.load.factor", "double", 0.9, "broker", True,
        "The fraction of log.cleaner.dedupe.buffer.size that the log cleaner fills in one pass.", least=0, most=1,
    ),
    Setting(
        "log.flush.offset.checkpoint.interval.ms", "int", 60_000, "broker", False,
        "The interval at which a broker writes its recovery points to disk.", least=1,
    ),
    Setting(
        "log.flush.start.offset.checkpoint.interval.ms", "int", 60_000, "broker", False,
        "The interval at which a broker writes its log start offsets to disk.", least=1, since="0.11",
    ),
    Setting(
        "num.recovery.threads.per.data.dir", "int", 2, "broker", True,
        "The number of threads per log directory that load and recover logs at startup and flush them at shutdown.",
        least=1, most=1_000, older_defaults=(("3.9", 1),),
    ),
    Setting(
        "log.dir.failure.timeout.ms", "long", 30_000, "broker", False,
        "The time after which a broker halts if it cannot report a failed log directory to the controller.", least=1, most=LONGEST_MS,
        since="3.7",
    ),
)  # fmt: skip

"""A broker's settings as values that performance-critical code reads (Kafka: `KafkaConfig`)."""

from __future__ import annotations

from typing import Final

from core.kafka.broker.replica_selector import RACK_AWARE
from core.kafka.settings.settings import Settings


class KafkaConfig:
    """The current values of one broker's settings. Times are in µs, and sizes are in bytes.

    Attributes:
        lag_max: replica.lag.time.max.ms.
        lag_max_messages: replica.lag.max.messages (before 0.9).
        isr_check_interval: the period of the task that shrinks ISRs.
        fetch_wait, fetch_min_bytes, fetch_backoff, fetch_timeout: replica.fetch.wait.max.ms, replica.fetch.min.bytes,
            replica.fetch.backoff.ms, and replica.socket.timeout.ms.
        fetch_partition_bytes, fetch_response_bytes: replica.fetch.max.bytes and replica.fetch.response.max.bytes.
        fetchers_per_leader: num.replica.fetchers.
        request_timeout: the time after which a request to the controller or to another broker is given up.
        quorum_fetch_timeout: controller.quorum.fetch.timeout.ms.
        heartbeat_interval: broker.heartbeat.interval.ms.
        verifies_transactions: whether a leader verifies the first batch of a transaction (transaction.partition.verification.enable).
        selects_by_rack: whether consumers are sent to a replica in their own rack (replica.selector.class).
        checkpoint_interval, recovery_point_interval, log_start_interval, retention_interval, flush_check_interval: the periods of the log
            manager's tasks.
    """

    __slots__ = (
        "_broker", "_settings", "checkpoint_interval", "fetch_backoff", "fetch_min_bytes", "fetch_partition_bytes",
        "fetch_response_bytes", "fetch_timeout", "fetch_wait", "fetchers_per_leader", "flush_check_interval", "heartbeat_interval",
        "isr_check_interval", "lag_max", "lag_max_messages", "log_start_interval", "quorum_fetch_timeout", "recovery_point_interval",
        "request_timeout", "retention_interval", "selects_by_rack", "verifies_transactions",
    )  # fmt: skip

    _settings: Final[Settings]
    _broker: Final[int]

    def __init__(self, settings: Settings, broker: int) -> None:
        self._settings = settings
        self._broker = broker
        self.refresh()

    def refresh(self) -> None:
        """Read the settings, because they might have changed."""
        settings, me = self._settings, self._broker
        self.lag_max = settings.us("replica.lag.time.max.ms", broker=me)
        self.isr_check_interval = self.lag_max // 2 if settings.release.halved_isr_check else self.lag_max
        self.lag_max_messages = settings.integer("replica.lag.max.messages", broker=me)
        self.fetch_wait = settings.us("replica.fetch.wait.max.ms", broker=me)
        self.fetch_min_bytes = settings.integer("replica.fetch.min.bytes", broker=me)
        self.fetch_partition_bytes = settings.integer("replica.fetch.max.bytes", broker=me)
        self.fetch_response_bytes = settings.integer("replica.fetch.response.max.bytes", broker=me)
        self.fetch_backoff = settings.us("replica.fetch.backoff.ms", broker=me)
        self.fetch_timeout = settings.us("replica.socket.timeout.ms", broker=me)
        self.fetchers_per_leader = settings.integer("num.replica.fetchers", broker=me)
        self.heartbeat_interval = settings.us("broker.heartbeat.interval.ms", broker=me)
        self.checkpoint_interval = settings.us("replica.high.watermark.checkpoint.interval.ms", broker=me)
        self.quorum_fetch_timeout = settings.us("controller.quorum.fetch.timeout.ms")
        self.request_timeout = self.fetch_timeout
        self.verifies_transactions = settings.flag("transaction.partition.verification.enable", broker=me)
        self.selects_by_rack = settings.get("replica.selector.class", broker=me) == RACK_AWARE
        self.recovery_point_interval = settings.us("log.flush.offset.checkpoint.interval.ms", broker=me)
        self.log_start_interval = settings.us("log.flush.start.offset.checkpoint.interval.ms", broker=me)
        self.retention_interval = settings.us("log.retention.check.interval.ms", broker=me)
        self.flush_check_interval = settings.us("log.flush.scheduler.interval.ms", broker=me)

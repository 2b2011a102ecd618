"""The interface through which the parts of a broker use the broker: its identity, disk, settings, and knowledge of the cluster."""

from __future__ import annotations

from abc import abstractmethod
from typing import Final

from core.kafka.broker.broker_setup import BrokerSetup
from core.kafka.broker.broker_state import BrokerState
from core.kafka.broker.partition_context import PartitionContext
from core.kafka.broker.replication_quota import ReplicationQuota
from core.kafka.ids import TopicPartition, broker_address
from core.kafka.log.log_config import LogConfig
from core.kafka.settings.setting import MAX_LONG
from core.kafka.settings.settings import Settings
from core.sim.long_polling import LongPoll


def _quota(known: ReplicationQuota | None, side: str, settings: Settings, broker: int) -> ReplicationQuota | None:
    """Return the quota that a broker's settings define for its role as `leader` or `follower`; None if the rate is unlimited."""
    rate = settings.integer(f"{side}.replication.throttled.rate", broker=broker)
    if rate == MAX_LONG:
        return None
    quota = known or ReplicationQuota(rate)
    quota.rate = rate
    quota.listed = settings.topic_lists(f"{side}.replication.throttled.replicas", broker)
    return quota


class BrokerContext(PartitionContext):
    """The base class of all brokers. `BrokerContext` does not depend on any part of a broker, so each part can depend on `BrokerContext`.

    Attributes:
        rack: the broker's rack.
        state: the state of the process.
        fenced: whether the controller's last response said that the broker is fenced.
        by_hand: whether fetchers, heartbeats, and checks run only on command.
        leader_quota, follower_quota: the replication throttle in each role; None if the rate is unlimited.
        log_configs: the settings of the logs, by topic.
    """

    __slots__ = ("_correlation", "by_hand", "fenced", "follower_quota", "leader_quota", "log_configs", "rack", "state", "want_shutdown")

    rack: Final[str | None]

    def __init__(self, setup: BrokerSetup) -> None:
        super().__init__(setup)
        self.rack = setup.rack
        self.by_hand = setup.by_hand
        self.log_configs: dict[str, LogConfig] = {}
        self.state = BrokerState.STOPPED
        self.leader_quota: ReplicationQuota | None = None
        self.follower_quota: ReplicationQuota | None = None
        self.fenced = True
        self.want_shutdown = False
        self._correlation = 0

    def next_correlation(self) -> int:
        """Return a new correlation ID for this broker."""
        self._correlation += 1
        return self._correlation

    def fetches_between(self, follower: int, leader: int, fetcher: int) -> LongPoll:
        """Return the network's handle for the long polls between a follower's fetcher and a leader.

        This broker is either the follower or the leader.
        """
        rank = (follower << 48) | (leader << 16) | fetcher
        return self.long_poll(broker_address(follower), broker_address(leader), fetcher, rank)

    def refresh_settings(self) -> None:
        """Read the settings again, because they might have changed."""
        self.config.refresh()
        self.leader_quota = _quota(self.leader_quota, "leader", self.settings, self.id)
        self.follower_quota = _quota(self.follower_quota, "follower", self.settings, self.id)
        self._refresh_log_configs()

    def _refresh_log_configs(self) -> None:
        """Reconfigure the logs whose settings have changed. Existing segments keep the former settings."""
        former = self.log_configs
        self.log_configs = {topic: LogConfig.of(self.settings, self.id, topic) for topic in former}
        other = [topic for topic, config in self.log_configs.items() if config != former[topic]]
        if other:
            for tp, log in self.disk.logs.items():
                if tp.topic in other:
                    log.configure(self.log_configs[tp.topic])
            self.arm_log_cleaner()

    def log_config(self, topic: str) -> LogConfig:
        """Return the settings of a topic's logs."""
        config = self.log_configs.get(topic)
        if config is None:
            config = self.log_configs[topic] = LogConfig.of(self.settings, self.id, topic)
            if config.compact:
                self.arm_log_cleaner()
        return config

    # --- what a part asks of the broker ----------------------------------------------------------------------------

    @abstractmethod
    def arm_log_cleaner(self) -> None:
        """Set the timer of the log cleaner if a log is compacted."""

    @abstractmethod
    def stop(self, how: str) -> None:
        """End the process."""

    @abstractmethod
    def withdraw_idle_fetches(self) -> None:
        """Stop eliding the idle fetches that this broker sends or serves, because they might no longer be idle."""

    def fetchers_shut_down(self) -> None:
        """Continue with the controller's requests, because all fetchers that had to end have ended."""

    @abstractmethod
    def is_disk_slow(self) -> bool:
        """Return whether a write takes time, which is the case if the disk is slow or earlier writes have not finished."""

    @abstractmethod
    def send_heartbeat(self) -> None:
        """Send a heartbeat to the controller."""

    @abstractmethod
    def broker_epoch_is_current(self) -> bool:
        """Return whether the controller has registered this broker process."""

    @abstractmethod
    def registered(self) -> None:
        """Continue the start of the broker after the controller has registered this process."""

    @abstractmethod
    def take_offline(self, gone: list[TopicPartition]) -> None:
        """Take the replicas in a failed log directory offline."""

    @abstractmethod
    def propagate_directory_failure(self, directory: str) -> None:
        """Report a failed log directory to the controller."""

    @abstractmethod
    def request_producer_ids(self) -> None:
        """Ask the controller for a block of producer IDs."""

    @abstractmethod
    def controller_request_timed_out(self) -> None:
        """Handle a controller that has not responded in time."""

    @abstractmethod
    def ask_controller_again(self) -> None:
        """Send all pending requests to the controller again."""

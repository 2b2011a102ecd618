"""Events in the life of a broker process and its registration."""

from __future__ import annotations

from typing import Final

from core.kafka.events.base import DETAIL, NOTABLE, Event, count_of, offsets
from core.sim.units import format_duration

_STOPPED: Final = {
    "killed": "was killed; its logs remain, and the controller notices only when its session expires",
    "power-loss": "lost power; records that were not flushed may be lost",
    "shutdown": "shut down cleanly; its high watermarks are on disk",
    "exited": "exited: its log is longer than its leader's, and unclean.leader.election.enable is false, so it may not truncate",
    "unheard": "halted: it could not report its failed log directory to the controller within log.dir.failure.timeout.ms",
    "halted": "halted: it cannot run without the failed log directory; the controller notices only when its session expires",
}


_MAY_NOT_LEAD: Final = "it can no longer lead, and leaves ISRs that have other members"


class BrokerStopped(Event, kind="broker-stopped", source="BrokerServer#shutdown", level=NOTABLE, words={"how": tuple(_STOPPED)}):
    """A broker's process ended.

    `how`: killed, power-loss, shutdown, halted (by failed log directories), unheard (halted, because the controller could not be told of
    one), or exited (rather than cut its log).
    """

    broker: int
    how: str

    def sentence(self) -> str:
        return f"b{self.broker} {_STOPPED[self.how]}"


class UnflushedLost(Event, kind="unflushed-lost", source="log.flush.interval.messages", level=NOTABLE):
    """A broker lost the tail of a log with the page cache of its machine; `offset` is the recovery point: everything below it was flushed."""

    broker: int
    topic: str
    partition: int
    from_offset: int
    to_offset: int
    offset: int

    def sentence(self) -> str:
        return (
            f"b{self.broker} lost {offsets(self.from_offset, self.to_offset)} of {self.tp}, "
            f"which {'was' if self.to_offset == self.from_offset + 1 else 'were'} not on disk when the power failed (recovery point {self.offset})"
        )


class BrokerStarted(Event, kind="broker-started", source="LogManager#loadLogs", level=NOTABLE):
    """A broker's process runs again; without a clean-shutdown file, it recovered its logs for `recovery_us`."""

    broker: int
    clean: bool
    recovery_us: int

    def sentence(self) -> str:
        if self.clean:
            return f"b{self.broker} started after a clean shutdown, without log recovery; its high watermarks are from the checkpoint"
        return (
            f"b{self.broker} started after an unclean shutdown and recovered its logs in {format_duration(self.recovery_us)}; "
            "its high watermarks are from the last checkpoint"
        )


class BrokerPaused(Event, kind="broker-paused", source="broker.session.timeout.ms, BrokerHeartbeatManager", level=NOTABLE):
    """A broker's process is paused."""

    broker: int

    def sentence(self) -> str:
        return f"b{self.broker} is paused, as in a long GC pause: it processes and sends nothing, and its metadata becomes outdated"


class BrokerResumed(Event, kind="broker-resumed", source="BrokerLifecycleManager", level=NOTABLE):
    """A paused process resumes."""

    broker: int
    paused_us: int

    def sentence(self) -> str:
        return f"b{self.broker} resumed after {format_duration(self.paused_us)}"


class BrokerRegistered(Event, kind="broker-registered", source="ClusterControlManager#registerBroker"):
    """The controller gave a broker a new epoch; it stays fenced until it has caught up with the metadata."""

    broker: int
    broker_epoch: int

    def sentence(self) -> str:
        return f"the controller registered b{self.broker} with broker epoch {self.broker_epoch}; b{self.broker} stays fenced until it has the metadata"


class BrokerUnregistered(Event, kind="broker-unregistered", source="ReplicationControlManager#handleBrokerUnregistered", level=NOTABLE):
    """Somebody removed a broker's registration; its replicas stay assigned to it."""

    broker: int
    broker_epoch: int

    def sentence(self) -> str:
        return f"b{self.broker} was unregistered (its broker epoch was {self.broker_epoch}): {_MAY_NOT_LEAD}"


class RegistrationRefused(Event, kind="registration-refused", source="ClusterControlManager#registerBroker"):
    """The controller, or ZooKeeper, refused a registration."""

    broker: int
    error: str

    def sentence(self) -> str:
        who = "the controller" if self.error == "DUPLICATE_BROKER_REGISTRATION" else "ZooKeeper"
        return f"{who} refused to register b{self.broker}: {self.error} (its previous session is still valid); it will retry"


class BrokerFenced(Event, kind="broker-fenced", source="ReplicationControlManager#handleBrokerFenced", level=NOTABLE):
    """A broker's session expired, or it was fenced by hand."""

    broker: int
    silent_us: int
    limit_us: int

    def sentence(self) -> str:
        if self.limit_us < 0:
            return f"the controller fenced b{self.broker}: {_MAY_NOT_LEAD}"
        return (
            f"the controller fenced b{self.broker}: no heartbeat within broker.session.timeout.ms ({format_duration(self.limit_us)}), "
            "so it can no longer lead"
        )


class BrokerUnfenced(Event, kind="broker-unfenced", source="ReplicationControlManager#handleBrokerUnfenced", level=NOTABLE):
    """A registered broker has caught up with the metadata and may lead again; this does not add it to any ISR."""

    broker: int

    def sentence(self) -> str:
        return f"b{self.broker} is unfenced: it may lead again, and can rejoin an ISR once it has fetched up to the high watermark"


class ShutdownBegun(Event, kind="shutdown-begun", source="ReplicationControlManager#handleBrokerInControlledShutdown", level=NOTABLE):
    """A broker asked for controlled shutdown."""

    broker: int

    def sentence(self) -> str:
        return f"b{self.broker} asked for a controlled shutdown: first it leaves ISRs, and other brokers take over its partitions"


class HighWatermarksCheckpointed(Event, kind="checkpoint", source="ReplicaManager#checkpointHighWatermarks", level=DETAIL):
    """A broker wrote `replication-offset-checkpoint`; `partitions` counts those that changed."""

    broker: int
    partitions: int

    def sentence(self) -> str:
        return f"b{self.broker} wrote {count_of(self.partitions, 'changed high watermark')} to replication-offset-checkpoint"

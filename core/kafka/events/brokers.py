"""Events in the life of a broker process and its registration."""

from __future__ import annotations

from typing import Final

from core.kafka.events.base import DETAIL, NOTABLE, Event, offsets
from core.sim.units import format_duration

_STOPPED: Final = {
    "killed": "was killed; its logs stay, nobody was told: the controller notices when its session expires",
    "power-loss": "lost power; what was not flushed is gone",
    "shutdown": "has shut down in good order, its high watermarks are on disk",
    "exited": "exited: its log is longer than its leader's, and unclean.leader.election.enable is false, so it may not be cut",
    "unheard": "halted: it could not tell the controller of its failed log directory within log.dir.failure.timeout.ms; now its session expires",
    "halted": "halted: it has no log directory left that it may use; nobody was told: the controller notices when its session expires",
}


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
    """The tail of a log went with the machine's page cache; `offset` is its recovery point, below which all was flushed."""

    broker: int
    topic: str
    partition: int
    from_offset: int
    to_offset: int
    offset: int

    def sentence(self) -> str:
        return (
            f"b{self.broker} lost {offsets(self.from_offset, self.to_offset)} of {self.tp}: "
            f"not on disk when the power went (flushed was what is below the recovery point {self.offset})"
        )


class BrokerStarted(Event, kind="broker-started", source="LogManager#loadLogs", level=NOTABLE):
    """A broker's process runs again; `recovery_us` is spent on log recovery when there was no clean-shutdown file."""

    broker: int
    clean: bool
    recovery_us: int

    def sentence(self) -> str:
        if self.clean:
            return f"b{self.broker} starts: clean-shutdown file found, recovery skipped; high watermarks come from the checkpoint"
        return f"b{self.broker} starts: no clean-shutdown file, logs recovered in {format_duration(self.recovery_us)}; high watermarks come from the last checkpoint"


class BrokerPaused(Event, kind="broker-paused", source="broker.session.timeout.ms, BrokerHeartbeatManager", level=NOTABLE):
    """A broker's process stands still."""

    broker: int

    def sentence(self) -> str:
        return f"b{self.broker} stands still (as in a long GC pause): it handles and sends nothing, but believes what it believed"


class BrokerResumed(Event, kind="broker-resumed", source="BrokerLifecycleManager", level=NOTABLE):
    """A paused process goes on."""

    broker: int
    paused_us: int

    def sentence(self) -> str:
        return f"b{self.broker} goes on after {format_duration(self.paused_us)}"


class BrokerRegistered(Event, kind="broker-registered", source="ClusterControlManager#registerBroker"):
    """The controller gave a broker a new epoch; it stays fenced until it has caught up with the metadata."""

    broker: int
    broker_epoch: int

    def sentence(self) -> str:
        return f"the controller registered b{self.broker} with broker epoch {self.broker_epoch}; fenced until it has the metadata"


class BrokerUnregistered(Event, kind="broker-unregistered", source="ReplicationControlManager#handleBrokerUnregistered", level=NOTABLE):
    """Somebody took a broker's registration away; it leaves every ISR, its replicas stay assigned to it."""

    broker: int
    broker_epoch: int

    def sentence(self) -> str:
        return (
            f"b{self.broker} is no longer registered (its broker epoch was {self.broker_epoch}): it leaves every ISR, and may lead nothing"
        )


class RegistrationRefused(Event, kind="registration-refused", source="ClusterControlManager#registerBroker"):
    """The controller, or ZooKeeper, refused a registration."""

    broker: int
    error: str

    def sentence(self) -> str:
        who = "the controller" if self.error == "DUPLICATE_BROKER_REGISTRATION" else "ZooKeeper"
        return f"{who} refused to register b{self.broker}: {self.error} (its former session is still valid); it tries again"


class BrokerFenced(Event, kind="broker-fenced", source="ReplicationControlManager#handleBrokerFenced", level=NOTABLE):
    """A broker's session expired, or it was fenced by hand."""

    broker: int
    silent_us: int
    limit_us: int

    def sentence(self) -> str:
        if self.limit_us < 0:
            return f"the controller fenced b{self.broker}: it leaves every ISR, its leaderships are elected anew"
        return (
            f"the controller fenced b{self.broker}: no heartbeat within broker.session.timeout.ms {format_duration(self.limit_us)}; "
            "it leaves every ISR, its leaderships are elected anew"
        )


class BrokerUnfenced(Event, kind="broker-unfenced", source="ReplicationControlManager#handleBrokerUnfenced", level=NOTABLE):
    """A registered broker has caught up with the metadata and may lead again; it re-enters no ISR by this."""

    broker: int

    def sentence(self) -> str:
        return f"b{self.broker} is unfenced: it may lead again; into an ISR it comes only by fetching up to the high watermark"


class ShutdownBegun(Event, kind="shutdown-begun", source="ReplicationControlManager#handleBrokerInControlledShutdown", level=NOTABLE):
    """A broker asked for controlled shutdown."""

    broker: int

    def sentence(self) -> str:
        return f"b{self.broker} asks for controlled shutdown: it leaves every ISR and its leaderships move first"


class HighWatermarksCheckpointed(Event, kind="checkpoint", source="ReplicaManager#checkpointHighWatermarks", level=DETAIL):
    """A broker wrote `replication-offset-checkpoint`; `partitions` counts those that changed."""

    broker: int
    partitions: int

    def sentence(self) -> str:
        return f"b{self.broker} wrote {self.partitions} changed high watermarks to replication-offset-checkpoint"

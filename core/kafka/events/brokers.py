"""Events in the life of a broker process and its registration."""

from __future__ import annotations

from typing import ClassVar, Final

from core.kafka.events.base import DETAIL, NOTABLE, Event, name_of, offsets
from core.sim.units import format_duration

_STOPPED: Final = {
    "killed": "was killed; its logs stay, nobody was told: the controller notices when its session expires",
    "power-loss": "lost power; what was not flushed is gone",
    "shutdown": "has shut down in good order, its high watermarks are on disk",
    "exited": "exited: its log is longer than its leader's, and unclean.leader.election.enable is false, so it may not be cut",
    "unheard": "halted: it could not tell the controller of its failed log directory within log.dir.failure.timeout.ms; now its session expires",
    "halted": "halted: it has no log directory left that it may use; nobody was told: the controller notices when its session expires",
}


class BrokerStopped(Event):
    """A broker's process ended.

    `how`: killed, power-loss, shutdown, halted (by failed log directories), unheard (halted, because the controller could not be told of
    one), or exited (rather than cut its log).
    """

    kind: ClassVar[str] = "broker-stopped"
    level: ClassVar[int] = NOTABLE
    source: ClassVar[str] = "BrokerServer#shutdown"
    words: ClassVar[dict[str, tuple[str, ...]]] = {"how": tuple(_STOPPED)}
    broker: int
    how: str

    def sentence(self) -> str:
        return f"b{self.broker} {_STOPPED[self.how]}"


class UnflushedLost(Event):
    """The tail of a log went with the machine's page cache; `offset` is its recovery point, below which all was flushed."""

    kind: ClassVar[str] = "unflushed-lost"
    level: ClassVar[int] = NOTABLE
    source: ClassVar[str] = "log.flush.interval.messages"
    broker: int
    topic: str
    partition: int
    from_offset: int
    to_offset: int
    offset: int

    def sentence(self) -> str:
        return (
            f"b{self.broker} lost {offsets(self.from_offset, self.to_offset)} of {name_of(self.topic, self.partition)}: "
            f"not on disk when the power went (flushed was what is below the recovery point {self.offset})"
        )


class BrokerStarted(Event):
    """A broker's process runs again; `recovery_us` is spent on log recovery when there was no clean-shutdown file."""

    kind: ClassVar[str] = "broker-started"
    level: ClassVar[int] = NOTABLE
    source: ClassVar[str] = "LogManager#loadLogs"
    broker: int
    clean: bool
    recovery_us: int

    def sentence(self) -> str:
        if self.clean:
            return f"b{self.broker} starts: clean-shutdown file found, recovery skipped; high watermarks come from the checkpoint"
        return f"b{self.broker} starts: no clean-shutdown file, logs recovered in {format_duration(self.recovery_us)}; high watermarks come from the last checkpoint"


class BrokerPaused(Event):
    """A broker's process stands still."""

    kind: ClassVar[str] = "broker-paused"
    level: ClassVar[int] = NOTABLE
    source: ClassVar[str] = "broker.session.timeout.ms, BrokerHeartbeatManager"
    broker: int

    def sentence(self) -> str:
        return f"b{self.broker} stands still (as in a long GC pause): it handles and sends nothing, but believes what it believed"


class BrokerResumed(Event):
    """A paused process goes on."""

    kind: ClassVar[str] = "broker-resumed"
    level: ClassVar[int] = NOTABLE
    source: ClassVar[str] = "BrokerLifecycleManager"
    broker: int
    paused_us: int

    def sentence(self) -> str:
        return f"b{self.broker} goes on after {format_duration(self.paused_us)}"


class BrokerRegistered(Event):
    """The controller gave a broker a new epoch; it stays fenced until it has caught up with the metadata."""

    kind: ClassVar[str] = "broker-registered"
    source: ClassVar[str] = "ClusterControlManager#registerBroker"
    broker: int
    broker_epoch: int

    def sentence(self) -> str:
        return f"the controller registered b{self.broker} with broker epoch {self.broker_epoch}; fenced until it has the metadata"


class BrokerUnregistered(Event):
    """Somebody took a broker's registration away; it leaves every ISR, its replicas stay assigned to it."""

    kind: ClassVar[str] = "broker-unregistered"
    level: ClassVar[int] = NOTABLE
    source: ClassVar[str] = "ReplicationControlManager#handleBrokerUnregistered"
    broker: int
    broker_epoch: int

    def sentence(self) -> str:
        return (
            f"b{self.broker} is no longer registered (its broker epoch was {self.broker_epoch}): it leaves every ISR, and may lead nothing"
        )


class RegistrationRefused(Event):
    """The controller, or ZooKeeper, refused a registration."""

    kind: ClassVar[str] = "registration-refused"
    source: ClassVar[str] = "ClusterControlManager#registerBroker"
    broker: int
    error: str

    def sentence(self) -> str:
        who = "the controller" if self.error == "DUPLICATE_BROKER_REGISTRATION" else "ZooKeeper"
        return f"{who} refused to register b{self.broker}: {self.error} (its former session is still valid); it tries again"


class BrokerFenced(Event):
    """A broker's session expired, or it was fenced by hand."""

    kind: ClassVar[str] = "broker-fenced"
    level: ClassVar[int] = NOTABLE
    source: ClassVar[str] = "ReplicationControlManager#handleBrokerFenced"
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


class BrokerUnfenced(Event):
    """A registered broker has caught up with the metadata and may lead again; it re-enters no ISR by this."""

    kind: ClassVar[str] = "broker-unfenced"
    level: ClassVar[int] = NOTABLE
    source: ClassVar[str] = "ReplicationControlManager#handleBrokerUnfenced"
    broker: int

    def sentence(self) -> str:
        return f"b{self.broker} is unfenced: it may lead again; into an ISR it comes only by fetching up to the high watermark"


class ShutdownBegun(Event):
    """A broker asked for controlled shutdown."""

    kind: ClassVar[str] = "shutdown-begun"
    level: ClassVar[int] = NOTABLE
    source: ClassVar[str] = "ReplicationControlManager#handleBrokerInControlledShutdown"
    broker: int

    def sentence(self) -> str:
        return f"b{self.broker} asks for controlled shutdown: it leaves every ISR and its leaderships move first"


class HighWatermarksCheckpointed(Event):
    """A broker wrote `replication-offset-checkpoint`; `partitions` counts those that changed."""

    kind: ClassVar[str] = "checkpoint"
    level: ClassVar[int] = DETAIL
    source: ClassVar[str] = "ReplicaManager#checkpointHighWatermarks"
    broker: int
    partitions: int

    def sentence(self) -> str:
        return f"b{self.broker} wrote {self.partitions} changed high watermarks to replication-offset-checkpoint"

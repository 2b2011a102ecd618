"""Events about brokers' processes and registrations."""

from __future__ import annotations

from typing import Final

from core.kafka.events.base import BROKER, DETAIL, NOTABLE, NOTHING, Event, ReplicaEvent, offsets
from core.sim.units import format_duration

_STOPPED: Final = {
    "killed": "was killed; its logs remain, and the controller notices only when the broker's session expires",
    "power-loss": "lost power; records that were not flushed can be lost",
    "shutdown": "shut down cleanly and wrote its high watermarks to disk",
    "exited": "exited: its log is longer than the leader's, and it must not truncate because unclean.leader.election.enable is false",
    "unheard": "halted: it could not report its failed log directory to the controller within log.dir.failure.timeout.ms",
    "halted": "halted: it cannot run without the failed log directory; the controller notices only when the broker's session expires",
}


_CANNOT_LEAD: Final = "can no longer lead and leaves every ISR in which it is not the only member"


class BrokerStopped(
    Event, kind="broker-stopped", source="BrokerServer#shutdown", level=NOTABLE, words={"how": tuple(_STOPPED)}, changes=BROKER
):
    """A broker's process ended.

    `how` is `killed`, `power-loss`, `shutdown`, `halted` (because of failed log directories), `unheard` (the broker halted because it could
    not report a failed log directory to the controller), or `exited` (because the broker must not truncate its log).
    """

    broker: int
    how: str

    def sentence(self) -> str:
        return f"b{self.broker} {_STOPPED[self.how]}"


class UnflushedLost(ReplicaEvent, kind="unflushed-lost", source="log.flush.interval.messages", level=NOTABLE):
    """A broker lost the end of a log, because this part was only in the page cache of the broker's machine.

    `offset` is the recovery point. All records below the recovery point had been flushed.
    """

    from_offset: int
    to_offset: int
    offset: int

    def sentence(self) -> str:
        return (
            f"b{self.broker} lost {offsets(self.from_offset, self.to_offset)} of {self.tp}, "
            f"which {'was' if self.to_offset == self.from_offset + 1 else 'were'} not on disk when the power failed (recovery point {self.offset})"
        )


class BrokerStarted(Event, kind="broker-started", source="LogManager#loadLogs", level=NOTABLE, changes=BROKER):
    """A broker's process is running again. If the last shutdown was unclean, the broker first recovered its logs, which took `recovery_us`."""

    broker: int
    clean: bool
    recovery_us: int

    def sentence(self) -> str:
        if self.clean:
            return f"b{self.broker} started after a clean shutdown, without log recovery; it read its high watermarks from the checkpoint"
        return (
            f"b{self.broker} started after an unclean shutdown and recovered its logs in {format_duration(self.recovery_us)}; "
            "it read its high watermarks from the last checkpoint"
        )


class BrokerPaused(Event, kind="broker-paused", source="broker.session.timeout.ms, BrokerHeartbeatManager", level=NOTABLE, changes=BROKER):
    """A broker's process was paused."""

    broker: int

    template = "b{broker} is paused, as in a long GC pause; it processes nothing and sends nothing, and its metadata becomes outdated"


class BrokerResumed(Event, kind="broker-resumed", source="BrokerLifecycleManager", level=NOTABLE, changes=BROKER):
    """A paused broker resumed."""

    broker: int
    paused_us: int

    template = "b{broker} resumed after {paused_us:duration}"


class BrokerRegistered(Event, kind="broker-registered", source="ClusterControlManager#registerBroker", changes=BROKER):
    """The controller gave a broker a new epoch. The broker stays fenced until it has caught up with the metadata."""

    broker: int
    broker_epoch: int

    template = "the controller registered b{broker} with broker epoch {broker_epoch}; b{broker} stays fenced until it has caught up with the metadata"


class BrokerUnregistered(
    Event, kind="broker-unregistered", source="ReplicationControlManager#handleBrokerUnregistered", level=NOTABLE, changes=BROKER
):
    """A broker's registration was removed. The broker's replicas remain assigned to it."""

    broker: int
    broker_epoch: int

    def sentence(self) -> str:
        return f"b{self.broker} was unregistered (its broker epoch was {self.broker_epoch}); it {_CANNOT_LEAD}"


class RegistrationRefused(Event, kind="registration-refused", source="ClusterControlManager#registerBroker", changes=BROKER):
    """The controller or ZooKeeper refused to register a broker."""

    broker: int
    error: str

    def sentence(self) -> str:
        who = "the controller" if self.error == "DUPLICATE_BROKER_REGISTRATION" else "ZooKeeper"
        return f"{who} refused to register b{self.broker}: {self.error} (its previous session is still valid); b{self.broker} will retry"


class BrokerFenced(Event, kind="broker-fenced", source="ReplicationControlManager#handleBrokerFenced", level=NOTABLE, changes=BROKER):
    """A broker's session expired, or the broker was fenced by a command."""

    broker: int
    silent_us: int
    limit_us: int

    def sentence(self) -> str:
        if self.limit_us < 0:
            return f"the controller fenced b{self.broker}, which {_CANNOT_LEAD}"
        return (
            f"the controller fenced b{self.broker} after receiving no heartbeat for broker.session.timeout.ms ({format_duration(self.limit_us)}); "
            f"b{self.broker} can no longer lead"
        )


class BrokerUnfenced(Event, kind="broker-unfenced", source="ReplicationControlManager#handleBrokerUnfenced", level=NOTABLE, changes=BROKER):
    """A registered broker has caught up with the metadata and can lead again. Unfencing a broker does not add it to any ISR."""

    broker: int

    template = "b{broker} is unfenced; it can lead again, and can rejoin an ISR after it has fetched up to the high watermark"


class ShutdownBegun(
    Event, kind="shutdown-begun", source="ReplicationControlManager#handleBrokerInControlledShutdown", level=NOTABLE, changes=BROKER
):
    """A broker requested a controlled shutdown."""

    broker: int

    template = (
        "b{broker} requested a controlled shutdown; before it stops, it leaves ISRs, and other brokers become leaders of its partitions"
    )


class HighWatermarksCheckpointed(Event, kind="checkpoint", source="ReplicaManager#checkpointHighWatermarks", level=DETAIL, changes=NOTHING):
    """A broker wrote `replication-offset-checkpoint`. `partitions` is the number of high watermarks that changed."""

    broker: int
    partitions: int

    template = "b{broker} wrote {partitions:count changed high watermark} to replication-offset-checkpoint"

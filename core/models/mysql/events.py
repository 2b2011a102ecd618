"""The events of the MySQL model."""

from __future__ import annotations

from core.sim.events import DETAIL, NOTABLE, Event
from core.sim.units import format_duration


class BinlogWritten(Event, kind="binlog-written", source="MYSQL_BIN_LOG::ordered_commit", level=DETAIL):
    """A transaction was written to the binary log."""

    server: str
    gtid: str
    key: str
    version: int

    template = "{server} writes {gtid} (version {version} of {key}) to its binary log"


class RelayLogWritten(Event, kind="relay-log-written", source="queue_event", level=DETAIL):
    """A replica received a transaction."""

    server: str
    gtid: str
    waiting: int

    template = "{server} receives {gtid}; received but not yet applied: {waiting}"


class Applied(Event, kind="applied", source="Slave_worker::slave_worker_exec_event", level=DETAIL):
    """A replica applied a transaction, which is now visible to readers."""

    server: str
    gtid: str

    template = "{server} applies {gtid}, so reads at {server} see it"


class ReplicaConnected(Event, kind="replica-connected", source="Binlog_sender::init"):
    """A replica connected to its source."""

    source_server: str
    replica: str
    missing: int

    template = "{replica} connects to {source_server}, which sends it {missing} missing transactions"


class ReplicationStopped(Event, kind="replication-stopped", source="error 1236, 1062", level=NOTABLE):
    """A replica's replication stopped because of an error."""

    server: str
    error: int
    reason: str

    template = "replication of {server} stops with error {error}: {reason}"


class SemiSyncOff(Event, kind="semi-sync-off", source="ReplSemiSyncMaster::switch_off", level=NOTABLE):
    """A source fell back to asynchronous replication."""

    server: str
    waiters: int
    waited_us: int

    def sentence(self) -> str:
        if self.waited_us:
            return (
                f"{self.server} falls back to asynchronous replication: a commit has waited {format_duration(self.waited_us)} for a replica; "
                f"{self.waiters} waiting commits are acknowledged without one"
            )
        return f"{self.server} immediately falls back to asynchronous replication: too few replicas are connected"


class ForcedShutdown(Event, kind="forced-shutdown", source="ReplSemiSyncMaster::remove_slave", level=NOTABLE):
    """A source shut down while commits waited for a replica."""

    server: str
    waiters: int

    def sentence(self) -> str:
        return (
            f"{self.server} shuts down: {self.waiters} waiting commit{'s' if self.waiters > 1 else ''} "
            f"become{'' if self.waiters > 1 else 's'} visible without the acknowledgment of a replica, and no client is answered"
        )


class SemiSyncOn(Event, kind="semi-sync-on", source="ReplSemiSyncMaster::try_switch_on", level=NOTABLE):
    """A source again waits for acknowledgments from replicas."""

    server: str

    template = "{server} is semi-synchronous again: its replicas have caught up with its last commit"


class Promoted(Event, kind="mysql-promoted", level=NOTABLE):
    """An operator made a replica the source."""

    server: str
    received: int
    applied: int

    def sentence(self) -> str:
        waiting = self.received - self.applied
        first = f"; it first applies the {waiting} that it has received but not yet applied" if waiting else ""
        return f"an operator makes {self.server} the source; it has received {self.received} transactions{first}"


class Writable(Event, kind="mysql-writable", level=NOTABLE):
    """A promoted server accepts writes."""

    server: str

    template = "{server} has applied its relay log and accepts writes"


class RelayLogDropped(Event, kind="relay-log-dropped", source="relay_log_recovery", level=NOTABLE):
    """A server dropped transactions that it had received but not applied."""

    server: str
    dropped: int

    template = "{server} drops {dropped} transactions that it had received but not applied"


class BinlogTailLost(Event, kind="binlog-tail-lost", source="sync_binlog", level=NOTABLE):
    """The end of a binary log was lost when the power failed."""

    server: str
    lost: int

    template = "{lost} transactions at the end of the binary log of {server} had not reached its disk and are gone"


EVENTS = (
    BinlogWritten, RelayLogWritten, Applied, ReplicaConnected, ReplicationStopped, SemiSyncOff, ForcedShutdown, SemiSyncOn, Promoted, Writable, RelayLogDropped,
    BinlogTailLost,
)  # fmt: skip
"""The kinds of events of the model."""

"""A MySQL server: a source that commits and sends its binary log, or a replica that receives and applies it."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from core.models.client_messages import Read, Refused, Row, Value, Write, Written
from core.models.mysql import events
from core.models.mysql.semi_sync import SemiSync
from core.models.mysql.settings import MySQLSettings, WaitPoint
from core.models.mysql.transactions import (
    BinlogEvent,
    Gtid,
    Heartbeat,
    ReceivedUpTo,
    ReplicationRefused,
    StartReplication,
    Transaction,
)  # fmt: skip
from core.models.server import CopyView, Rows, Server
from core.sim.journal import Journal
from core.sim.kernel_messages import Disconnected
from core.sim.network import Network


class MySQLServer(Server):
    """A MySQL server.

    Attributes:
        binlog: the binary log, which contains the server's own transactions and those that it has applied as a replica. The first `purged`
            transactions have been deleted.
        synced: the number of transactions of the binary log that are on disk.
        relay_log, applied: the received transactions, and how many of them have been applied.
        source: the server that this server replicates from; empty if there is none.
        error: the number of the error that stopped replication; 0 if there is none. Error 1236 stops only the receiver; error 1062 also
            stops the applier.
        applier_stopped: whether an operator stopped the applier (STOP REPLICA SQL_THREAD). The receiver continues.
        writable_when_applied: whether the server becomes writable as soon as its relay log is applied.
        engine: the committed rows, which reads return.
        executed: the GTIDs of the transactions in the binary log.
        primary_keys: if the keys are AUTO_INCREMENT, the GTID of the transaction that inserted each primary key.
        requests: for each client that is waiting for a commit, the number of its request and its address, by place in the binary log.
        dumps: the connected replicas, each with the GTIDs that the replica had when it connected.
    """

    __slots__ = (
        "_applying", "_numbers", "applied", "applier_stopped", "apply_time", "binlog", "dumps", "engine", "error", "executed", "heard", "primary_keys", "purged", "read_only",
        "relay_log", "requests", "semi_sync", "settings", "source", "synced", "writable_when_applied",
    )  # fmt: skip

    settings: Final[MySQLSettings]

    def __init__(
        self, address: str, peers: tuple[str, ...], source: str, settings: MySQLSettings, network: Network, journal: Journal
    ) -> None:
        super().__init__(address, peers, network, journal)
        self.settings = settings
        self.apply_time = settings.apply_time
        self.binlog: list[Transaction] = []
        self.synced = 0
        self.purged = 0
        self.relay_log: list[Transaction] = []
        self.applied = 0
        self.source = source
        self.read_only = bool(source) and settings.read_only
        self.error = 0
        self.applier_stopped = False
        self.writable_when_applied = False
        self.engine = Rows()
        self.executed: set[Gtid] = set()
        self.primary_keys: dict[int, Gtid] = {}
        self.requests: dict[int, tuple[int, str]] = {}
        self.dumps: dict[str, frozenset[Gtid]] = {}
        self.semi_sync = SemiSync(settings)
        self.heard = 0
        self._numbers = 0
        self._applying = False
        self.handlers.update({
            Write: self._write, Read: self._read, StartReplication: self._start_replication, BinlogEvent: self._receive,
            ReceivedUpTo: self._acknowledged, ReplicationRefused: self._refused, Heartbeat: self._heartbeat, Disconnected: self._disconnected,
        })  # fmt: skip
        self.timers.update({
            "prepared": self._prepared, "time-out": self._timed_out, "apply": self._apply, "connect": self._connect_due,
            "flush": self._flush, "heartbeat": self._send_heartbeats, "silence": self._check_silence,
        })  # fmt: skip

    # --- start and end of the process ---------------------------------------------------------------------------------

    def begin(self) -> None:
        self.heard = self.journal.now
        self.applier_stopped = False
        if not self.settings.sync_binlog:
            self.timer(self.settings.os_flush, "flush")
        self.timer(self.settings.net_timeout // 2, "heartbeat")
        self.timer(self.settings.net_timeout // 2, "silence")
        self._recover()
        if self.source:
            self.connect()
            self._apply_next()

    def _recover(self) -> None:
        """Commit the transactions in the binary log, acknowledged or not.

        With relay_log_recovery, drop the transactions that were received but not applied.
        """
        self.engine.reset(each.row for each in self.binlog)
        self.executed = {each.gtid for each in self.binlog}
        self.primary_keys = {each.primary_key: each.gtid for each in self.binlog if each.primary_key}
        self._numbers = max((each.gtid.number for each in self.binlog if self._counts(each.gtid)), default=0)
        if self.settings.relay_log_recovery or self.settings.mariadb:
            self.drop_relay_log()

    def _counts(self, gtid: Gtid) -> bool:
        return gtid.server == self.address or self.settings.mariadb

    def drop_relay_log(self) -> None:
        """Drop the transactions that were received but not applied."""
        dropped = len(self.relay_log) - self.applied
        if dropped:
            self.emit(events.RelayLogDropped.kind, self.address, dropped)
            del self.relay_log[self.applied :]

    def end(self, *, power: bool) -> None:
        self.requests.clear()
        self.dumps.clear()
        self.semi_sync = SemiSync(self.settings)
        self._applying = False
        if power:
            lost = len(self.binlog) - self.synced
            if lost:
                self.emit(events.BinlogTailLost.kind, self.address, lost)
                gone = {each.gtid for each in self.binlog[self.synced :]}
                del self.binlog[self.synced :]
                while self.applied and self.relay_log[self.applied - 1].gtid in gone:
                    self.applied -= 1
            del self.relay_log[self.applied :]  # sync_relay_log is 10000, so nothing of it is certain to be on disk

    def _flush(self, about: object) -> None:
        self.synced = len(self.binlog)
        self.timer(self.settings.os_flush, "flush")

    # --- commits at the source ----------------------------------------------------------------------------------------

    def _write(self, write: Write, client: str) -> None:
        if self.read_only or self.writable_when_applied:
            self.reply(client, Refused(write.request, f"{self.address} is read-only", self.source))
            return
        self.timer(self.write_time, "prepared", (write.request, write.row, client))

    def _prepared(self, about: tuple[int, Row, str]) -> None:
        """Write a transaction to the binary log, send it, and commit it. The settings determine whether the transaction waits for replicas,
        and whether it is committed before or after this wait.
        """
        request, row, client = about
        self._numbers += 1
        key = max(self.primary_keys, default=0) + 1 if self.settings.auto_increment else 0
        index = len(self.binlog)
        self.append(Transaction(Gtid(self.address, self._numbers), row, key))
        self.requests[index] = (request, client)
        settings, semi_sync = self.settings, self.semi_sync
        if semi_sync.switches_off():
            self._switch_off(0)
        if not semi_sync.on:
            self._commit(index)
            self._answer(index)
            return
        if settings.wait_point is WaitPoint.AFTER_COMMIT:
            self._commit(index)
        semi_sync.waiting[index] = self.journal.now
        self.timer(settings.timeout, "time-out", index)

    def append(self, transaction: Transaction) -> None:
        """Append a transaction to the binary log, sync it if sync_binlog is 1, and send it to the replicas."""
        self.binlog.append(transaction)
        self.executed.add(transaction.gtid)
        if self.settings.mariadb:
            self._numbers = max(self._numbers, transaction.gtid.number)
        if transaction.primary_key:
            self.primary_keys[transaction.primary_key] = transaction.gtid
        if self.settings.sync_binlog:
            self.synced = len(self.binlog)
        gtid, row = transaction.gtid, transaction.row
        self.emit(events.BinlogWritten.kind, self.address, f"{gtid.server}:{gtid.number}", row.key, row.version)
        self.semi_sync.sent()
        index = len(self.binlog) - 1
        for replica, has in self.dumps.items():
            if gtid not in has:
                self.reply(replica, BinlogEvent(index, transaction))

    def _commit(self, index: int) -> None:
        self.engine.add(self.binlog[index].row)

    def _answer(self, index: int) -> None:
        request = self.requests.pop(index, None)
        if request is not None:  # None after the connection was killed
            self.reply(request[1], Written(request[0]))

    def _release(self, index: int) -> None:
        del self.semi_sync.waiting[index]
        self._commit(index)
        self._answer(index)

    def _timed_out(self, index: int) -> None:
        if index in self.semi_sync.waiting and self.semi_sync.on:
            self._switch_off(self.journal.now - self.semi_sync.waiting[index])

    def _switch_off(self, waited: int) -> None:
        """Fall back to asynchronous replication. The source acknowledges all waiting commits without telling the clients that too few
        replicas have confirmed them."""
        waiting = sorted(self.semi_sync.waiting)
        self.semi_sync.on = False
        self.emit(events.SemiSyncOff.kind, self.address, len(waiting), waited)
        for index in waiting:
            self._release(index)

    def connection_killed(self, client: str) -> None:
        """Answer no request of a client whose connection was killed.

        A commit that waits for replicas waits on in MySQL (`ReplSemiSyncMaster::commitTrx`); in MariaDB, it is committed without an
        acknowledgment (`Repl_semi_sync_master::commit_trx`).
        """
        for index in [index for index, (_, waiting) in self.requests.items() if waiting == client]:
            del self.requests[index]
            if self.settings.mariadb and index in self.semi_sync.waiting:
                self._release(index)

    def shut_down(self) -> None:
        """Commit what waits for replicas, without an answer to the clients, whose connections have been closed, and write everything to disk
        (`ReplSemiSyncMaster::remove_slave`).
        """
        self.requests.clear()
        waiting = sorted(self.semi_sync.waiting)
        if waiting:
            self.emit(events.ForcedShutdown.kind, self.address, len(waiting))
        for index in waiting:
            self._release(index)
        self.synced = len(self.binlog)

    def _acknowledged(self, ack: ReceivedUpTo, replica: str) -> None:
        semi_sync = self.semi_sync
        if replica in semi_sync.acked:
            semi_sync.acked[replica] = max(semi_sync.acked[replica], ack.place + 1)
            self._check_acks()

    def _check_acks(self) -> None:
        semi_sync = self.semi_sync
        for index in semi_sync.released():
            self._release(index)
        if self.settings.semi_sync and not semi_sync.on and semi_sync.acknowledged() >= len(self.binlog):
            semi_sync.on = True
            self.emit(events.SemiSyncOn.kind, self.address)

    # --- the source's side of replication -----------------------------------------------------------------------------

    def _start_replication(self, start: StartReplication, replica: str) -> None:
        """Check which transactions a replica has, and send the missing ones to the replica."""
        refusal = self._objection(start)
        if refusal:
            self.reply(replica, ReplicationRefused(refusal))
            return
        has = start.executed
        missing = [index for index, each in enumerate(self.binlog) if each.gtid not in has]
        if self.settings.mariadb:
            position = 0 if start.position is None else self._index_of(start.position) + 1
            missing = list(range(position, len(self.binlog)))
            has = frozenset()
        self.dumps[replica] = has
        self.emit(events.ReplicaConnected.kind, self.address, replica, len(missing))
        self.semi_sync.connected(replica, missing[0] if missing else len(self.binlog))
        for index in missing:
            self.reply(replica, BinlogEvent(index, self.binlog[index]))
        self._check_acks()

    def _objection(self, start: StartReplication) -> str:
        """Return why the source cannot serve a replica (error 1236); empty if the source can serve it.

        To find out whether the replica is ahead, MySQL checks only the source's own GTIDs. MariaDB checks only whether the replica's start
        position is in the source's binary log.
        """
        if self.settings.mariadb:
            if start.position is not None and self._index_of(start.position) < 0:
                return f"start from GTID {start.position.server}-{start.position.number}, which is not in the binary log of {self.address}"
            return ""
        own = max((each.number for each in start.executed if each.server == self.address), default=0)
        if own > max((each.number for each in self.executed if each.server == self.address), default=0):
            return f"the replica has more GTIDs of {self.address} than {self.address} itself"
        if any(each.gtid not in start.executed for each in self.binlog[: self.purged]):
            return f"{self.address} has purged binary logs that the replica needs"
        return ""

    def _index_of(self, gtid: Gtid) -> int:
        return next((index for index, each in enumerate(self.binlog) if each.gtid == gtid), -1)

    def _send_heartbeats(self, about: object) -> None:
        for replica in self.dumps:
            self.reply(replica, Heartbeat())
        self.timer(self.settings.net_timeout // 2, "heartbeat")

    # --- the replica's side of replication ----------------------------------------------------------------------------

    def connect(self) -> None:
        """Connect to the source (START REPLICA)."""
        self.error = 0
        received = self.relay_log[self.applied :]
        executed = frozenset(self.executed) | {each.gtid for each in received}
        last = received[-1].gtid if received else self.binlog[-1].gtid if self.binlog else None
        self.heard = self.journal.now
        self.send(self.source, StartReplication(executed, last))

    def _connect_due(self, source: str) -> None:
        if source == self.source and not self.error:
            self.connect()

    def _disconnected(self, gone: Disconnected, sender: str) -> None:
        """Connect again after the connection to the source ended. If the process at the other end ended, forget it as a replica, too.

        A server can be the source and the replica of another server, over one connection each. The end of its connection to the source
        does not end the connection on which the other server, perhaps after a restart, receives the binary log.
        """
        if not gone.only_opened:
            self.dumps.pop(gone.node, None)
            self.semi_sync.broken(gone.node)
        if gone.node == self.source and not self.error:
            self.timer(self.settings.connect_retry, "connect", self.source)

    def _check_silence(self, about: object) -> None:
        """Reconnect if the source has sent nothing for too long."""
        settings = self.settings
        if self.source and not self.error and self.journal.now - self.heard >= settings.net_timeout:
            self.network.disconnect(self.address, self.source)
            self.connect()
        self.timer(settings.net_timeout // 2, "silence")

    def _heartbeat(self, heartbeat: Heartbeat, sender: str) -> None:
        self.heard = self.journal.now

    def _refused(self, refused: ReplicationRefused, sender: str) -> None:
        if sender == self.source:
            self._stop(1236, refused.reason)

    def _stop(self, error: int, reason: str) -> None:
        self.error = error
        self.emit(events.ReplicationStopped.kind, self.address, error, reason)

    def _receive(self, event: BinlogEvent, sender: str) -> None:
        if sender != self.source or self.error == 1236:
            return
        self.heard = self.journal.now
        transaction = event.transaction
        if not (self.settings.mariadb and transaction.gtid.server == self.address):
            self.relay_log.append(transaction)
            gtid = transaction.gtid
            waiting = len(self.relay_log) - self.applied
            self.emit(events.RelayLogWritten.kind, self.address, f"{gtid.server}:{gtid.number}", waiting)
        if self.settings.semi_sync:
            self.send(sender, ReceivedUpTo(event.place))
        self._apply_next()

    def _apply_next(self) -> None:
        if self.applied == len(self.relay_log):
            self._caught_up()
        elif not self._applying and not self.applier_stopped and self.error in (0, 1236):
            self._applying = True
            self.timer(self.apply_time, "apply")

    def _apply(self, about: object) -> None:
        """Apply the next transaction of the relay log."""
        self._applying = False
        if self.applied >= len(self.relay_log):
            return
        transaction = self.relay_log[self.applied]
        if transaction.gtid not in self.executed:
            holder = self.primary_keys.get(transaction.primary_key)
            if holder is not None:
                self._stop(1062, f"the key {transaction.primary_key} of {transaction.gtid} is taken by {holder.server}:{holder.number}")
                return
            self.append(transaction)
            self.engine.add(transaction.row)
            self.emit(events.Applied.kind, self.address, f"{transaction.gtid.server}:{transaction.gtid.number}")
        self.applied += 1
        self._apply_next()

    # --- what operators do --------------------------------------------------------------------------------------------

    def promote(self, *, drain: bool) -> None:
        """Stop replicating. Accept writes immediately or, if `drain` is set, after the relay log is applied.

        Replicas that are connected to this server stay connected, and their acknowledgments count (STOP REPLICA ends only the receiver and
        the applier).
        """
        self.emit(events.Promoted.kind, self.address, len(self.binlog) + len(self.relay_log) - self.applied, len(self.binlog))
        self.source = ""
        self.error = 0
        self.read_only = False
        self.writable_when_applied = drain
        self._apply_next()

    def stop_applier(self) -> None:
        """Stop the applier after the transaction that it is applying (STOP REPLICA SQL_THREAD)."""
        self.applier_stopped = True

    def start_applier(self) -> None:
        """Start the applier again (START REPLICA SQL_THREAD)."""
        self.applier_stopped = False
        self._apply_next()

    def _caught_up(self) -> None:
        if self.writable_when_applied:
            self.writable_when_applied = False
            self.emit(events.Writable.kind, self.address)

    def follow(self, source: str) -> None:
        """Replicate from a source over a new connection (STOP REPLICA, CHANGE REPLICATION SOURCE, START REPLICA)."""
        if self.source:
            self.network.disconnect(self.address, self.source)
        self.source = source
        self.read_only = self.settings.read_only
        self.writable_when_applied = False
        self.connect()
        self._apply_next()

    def clone(self, binlog: list[Transaction]) -> None:
        """Replace all data with the data of another server. Commits that are still waiting for replicas are lost, and their clients get no
        answer.
        """
        self.requests.clear()
        self.dumps.clear()
        self.semi_sync = SemiSync(self.settings)
        self.binlog = list(binlog)
        self.synced = len(binlog)
        self.relay_log.clear()
        self.applied = 0
        self._recover()

    # --- reads and views ----------------------------------------------------------------------------------------------

    def _read(self, read: Read, client: str) -> None:
        self.reply(client, Value(read.request, self.engine.read(read.key)))

    def received(self) -> int:
        """Return the number of transactions that the server has, applied or not."""
        return len(self.binlog) + len(self.relay_log) - self.applied

    def stored_rows(self) -> Iterable[Row]:
        return [each.row for each in (*self.binlog, *self.relay_log[self.applied :])]

    def holds(self, row: Row) -> bool:
        if row.uid in self.engine.uids:
            return True
        for place in range(len(self.relay_log) - 1, self.applied - 1, -1):
            received = self.relay_log[place].row
            if received.key == row.key and received.version <= row.version:
                return received == row
        return False

    def copy_state(self) -> tuple[int, int]:
        return self.incarnation, len(self.relay_log)

    def received_since(self, length: int) -> Iterable[Row]:
        return [transaction.row for transaction in self.relay_log[length:]]

    def places(self) -> dict[object, Row]:
        return {each.gtid: each.row for each in self.binlog}

    def view(self) -> CopyView:
        role = "replica" if self.source else "source"
        note = f"error {self.error}" if self.error else ""
        if role == "source" and self.settings.semi_sync:
            note = "semi-synchronous" if self.semi_sync.on else "asynchronous after a timeout"
        return CopyView(self.address, role, True, 0, self.received(), self.synced, len(self.engine), note=note)

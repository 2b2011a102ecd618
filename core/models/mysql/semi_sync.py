"""Semi-synchronous replication at the source: which commits wait, and when the source stops waiting (`ReplSemiSyncMaster`)."""

from __future__ import annotations

from core.models.mysql.settings import MySQLSettings


class SemiSync:
    """The state of semi-synchronous replication at a source.

    Attributes:
        on: whether commits wait for acknowledgments. After a timeout, the source is asynchronous until its replicas have caught up.
        acked: for each replica, the number of transactions that it has acknowledged, counted from the start of the binary log.
        failed_sends: for each replica whose connection broke, the number of transactions that have been sent to it since then. The source
            notices the broken connection at the second send.
        waiting: the commits that are waiting, each with its place in the binary log and the time at which the wait began.
    """

    __slots__ = ("acked", "failed_sends", "on", "settings", "waiting")

    def __init__(self, settings: MySQLSettings) -> None:
        self.settings = settings
        self.on = settings.semi_sync
        self.acked: dict[str, int] = {}
        self.failed_sends: dict[str, int] = {}
        self.waiting: dict[int, int] = {}

    def connected(self, replica: str, acked: int) -> None:
        """Record that a replica connected. The replica has all transactions up to `acked`."""
        self.acked[replica] = acked
        self.failed_sends.pop(replica, None)

    def broken(self, replica: str) -> None:
        """Record that the connection to a replica broke. The source does not notice that a connection is broken until it sends a
        transaction."""
        if replica in self.acked:
            self.failed_sends.setdefault(replica, 0)

    def sent(self) -> None:
        """Record that a transaction was sent to all replicas."""
        for replica in self.failed_sends:
            self.failed_sends[replica] += 1

    @property
    def known_replicas(self) -> int:
        """The number of replicas that the source considers connected (Rpl_semi_sync_source_clients)."""
        return sum(self.failed_sends.get(replica, 0) < 2 for replica in self.acked)

    def switches_off(self) -> bool:
        """Return whether the source must switch to asynchronous replication: too few replicas are connected, and the source does not wait
        for absent replicas.
        """
        settings = self.settings
        return self.on and not settings.wait_no_replica and self.known_replicas < settings.wait_for_replica_count

    def acknowledged(self) -> int:
        """Return the number of transactions that have been acknowledged by at least `wait_for_replica_count` replicas."""
        count = self.settings.wait_for_replica_count
        positions = sorted(self.acked.values(), reverse=True)
        return positions[count - 1] if len(positions) >= count else 0

    def released(self) -> list[int]:
        """Return the positions of the waiting commits that enough replicas have acknowledged, in order."""
        enough = self.acknowledged()
        return [index for index in self.waiting if index < enough]

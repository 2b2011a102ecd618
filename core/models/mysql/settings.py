"""The settings of the MySQL model, with MySQL's names and defaults."""

from __future__ import annotations

from enum import Enum

import attrs

from core.sim.units import SECOND, US_PER_MS


class WaitPoint(Enum):
    """The point at which a semi-synchronous source waits for acknowledgments (rpl_semi_sync_source_wait_point)."""

    AFTER_SYNC = "AFTER_SYNC"
    AFTER_COMMIT = "AFTER_COMMIT"


@attrs.frozen
class MySQLSettings:
    """The settings of MySQL.

    Attributes:
        replicas: the number of replicas of the source.
        semi_sync: whether rpl_semi_sync_source_enabled and rpl_semi_sync_replica_enabled are enabled on all servers.
        wait_point: rpl_semi_sync_source_wait_point.
        timeout: how long a commit waits before the source falls back to asynchronous replication, in µs (rpl_semi_sync_source_timeout).
        wait_for_replica_count: rpl_semi_sync_source_wait_for_replica_count.
        wait_no_replica: whether a commit waits even if too few replicas are connected (rpl_semi_sync_source_wait_no_replica).
        sync_binlog: 1 to sync the binary log at each commit, 0 to leave syncing to the operating system.
        os_flush: the interval at which the operating system writes its cache to disk, in µs.
        relay_log_recovery: whether a replica that restarts drops the transactions that it has received but not applied.
        read_only: whether super_read_only is enabled on the replicas.
        auto_increment: whether the primary key of each row is the next number of its table. With AUTO_INCREMENT, the keys that two sources
            assign collide.
        net_timeout: replica_net_timeout, in µs, after which a replica considers a connection dead if nothing has arrived on it. The source
            sends a heartbeat after half of the timeout.
        connect_retry: SOURCE_CONNECT_RETRY, in µs.
        apply_time: how long a replica takes to apply a transaction, in µs. A replica applies transactions one after the other.
        mariadb: whether servers behave like MariaDB. A MariaDB replica requests the transactions after one position, whereas a MySQL
            replica sends a set of GTIDs. When a replica restarts, it drops the transactions that it has received but not applied.
    """

    replicas: int = 2
    semi_sync: bool = False
    wait_point: WaitPoint = WaitPoint.AFTER_SYNC
    timeout: int = 10 * SECOND
    wait_for_replica_count: int = 1
    wait_no_replica: bool = True
    sync_binlog: int = 1
    os_flush: int = 5 * SECOND
    relay_log_recovery: bool = False
    read_only: bool = False
    auto_increment: bool = False
    net_timeout: int = 60 * SECOND
    connect_retry: int = 60 * SECOND
    apply_time: int = 2 * US_PER_MS
    mariadb: bool = False

"""Acts on log directories and the logs in them."""

from __future__ import annotations

from typing import Final

from core.kafka import events
from core.kafka.broker.broker import Broker
from core.kafka.broker.broker_state import BrokerState
from core.kafka.broker.disk import LogDir
from core.kafka.broker.requests.leader_append import delete_records
from core.lab import acts
from core.lab.act_fields import MAX_DISK_DELAY
from core.lab.act_handlers import find
from core.lab.cluster_nodes import ClusterNodes
from core.sim.errors import ActRefused
from core.sim.units import format_duration


def _dir(broker: Broker, number: int) -> LogDir:
    count = len(broker.disk.dirs)
    if not 1 <= number <= count:
        raise ActRefused(f"broker {broker.id} has log director{'y 1' if count == 1 else f'ies 1 to {count}'}, not {number}")
    return broker.disk.dirs[number - 1]


def _fail_dir(cluster: ClusterNodes, act: acts.FailDir) -> find.CheckThenDo:
    broker = find.running_broker(cluster, act.broker)
    if not _dir(broker, act.dir).online:
        raise ActRefused(f"log directory {act.dir} of broker {act.broker} has already failed")
    if broker.context.state is BrokerState.STARTING:
        raise ActRefused(f"broker {act.broker} is still starting; wait")
    yield
    broker.log_directories.fail(act.dir)


def _repair_dir(cluster: ClusterNodes, act: acts.RepairDir) -> find.CheckThenDo:
    broker = find.broker(cluster, act.broker)
    directory = _dir(broker, act.dir)
    if directory.online:
        raise ActRefused(f"log directory {act.dir} of broker {act.broker} has not failed")
    yield
    directory.repaired = "empty" if act.empty else "kept"
    cluster.journal.emit(events.LogDirRepaired.kind, broker.id, act.dir, act.empty)


def _move_replica(cluster: ClusterNodes, act: acts.MoveReplica) -> find.CheckThenDo:
    broker = find.running_broker(cluster, act.broker)
    if not _dir(broker, act.dir).online:
        raise ActRefused(f"log directory {act.dir} of broker {act.broker} has failed")
    if act.partition not in broker.partitions:
        raise ActRefused(f"broker {act.broker} has no working replica of {act.partition}")
    if broker.disk.dir_of(act.partition) == act.dir:
        raise ActRefused(f"{act.partition} is already in log directory {act.dir} of broker {act.broker}")
    if act.partition in broker.disk.futures:
        raise ActRefused(f"{act.partition} is already moving on broker {act.broker}")
    yield
    broker.log_directories.move(act.partition, act.dir)


def _slow_disk(cluster: ClusterNodes, act: acts.SlowDisk) -> find.CheckThenDo:
    broker = find.broker(cluster, act.broker)
    if not 0 <= act.delay <= MAX_DISK_DELAY:
        raise ActRefused(f"delay must be from 0 to {format_duration(MAX_DISK_DELAY)}")
    yield
    broker.log_directories.slow_down(act.delay)


def _delete_records(cluster: ClusterNodes, act: acts.DeleteRecords) -> find.CheckThenDo:
    registration = cluster.controller.registry.partitions.get(act.partition)
    if registration is None:
        raise ActRefused(f"there is no partition {act.partition}")
    leader = cluster.brokers.get(registration.leader)
    partition = None if leader is None or leader.context.state is BrokerState.STOPPED else leader.partitions.get(act.partition)
    if partition is None or not partition.is_leader:
        raise ActRefused(f"{act.partition} currently has no leader")
    offset = -1 if act.offset is None else act.offset
    yield
    delete_records(partition, offset)


def _clean(cluster: ClusterNodes, act: acts.Clean) -> find.CheckThenDo:
    broker = find.running_broker(cluster, act.broker)
    if not broker.log_manager.cleaner.enabled:
        raise ActRefused(f"broker {act.broker} has no log cleaner, because log.cleaner.enable is false")
    if act.partition is not None:
        log = broker.disk.logs.get(act.partition)
        if log is None:
            raise ActRefused(f"broker {act.broker} has no working replica of {act.partition}")
        if not log.config.compact:
            raise ActRefused(f"{act.partition} is not compacted; set cleanup.policy of {act.partition.topic} to compact")
    yield
    broker.log_manager.cleaner.run_now(act.partition)


HANDLERS: Final[find.Handlers] = {
    acts.FailDir: _fail_dir,
    acts.RepairDir: _repair_dir,
    acts.MoveReplica: _move_replica,
    acts.SlowDisk: _slow_disk,
    acts.DeleteRecords: _delete_records,
    acts.Clean: _clean,
}

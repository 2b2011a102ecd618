"""Acts on the process of a broker: kill, power loss, shutdown, start, pause, and resume."""

from __future__ import annotations

from typing import Final

from core.kafka import events
from core.kafka.broker.broker_state import BrokerState
from core.kafka.broker.disk import DRAWN, KEPT, LOST
from core.lab import acts
from core.lab.act_handlers import find
from core.lab.cluster_nodes import ClusterNodes
from core.sim.errors import ActRefused


def _kill(cluster: ClusterNodes, act: acts.Kill) -> find.CheckThenDo:
    broker = find.running_broker(cluster, act.broker)
    yield
    cluster.paused.pop(broker.address, None)
    broker.stop("killed")


def power_loss(cluster: ClusterNodes, act: acts.PowerLoss) -> find.CheckThenDo:
    broker = find.running_broker(cluster, act.broker)
    find.check_keep(broker, act.keep)
    if act.unflushed not in (DRAWN, LOST, KEPT):
        raise ActRefused(f"unflushed must be {DRAWN}, {LOST}, or {KEPT}, not {act.unflushed}")
    yield
    cluster.paused.pop(broker.address, None)
    broker.stop("power-loss")
    broker.lose_unflushed(act.keep, act.unflushed, cluster.page_cache)


def _shutdown(cluster: ClusterNodes, act: acts.Shutdown) -> find.CheckThenDo:
    broker = find.running_broker(cluster, act.broker)
    if broker.context.state is BrokerState.STOPPING:
        raise ActRefused(f"broker {act.broker} is already shutting down")
    if broker.address in cluster.paused:
        raise ActRefused(f"broker {act.broker} is paused and cannot receive a signal; resume it, or kill it")
    if broker.context.state is BrokerState.STARTING:
        raise ActRefused(f"broker {act.broker} is still starting; wait, or kill it")
    yield
    if cluster.by_hand:
        broker.stop("shutdown")
    else:
        broker.begin_shutdown()


def start(cluster: ClusterNodes, act: acts.Start) -> find.CheckThenDo:
    broker = find.broker(cluster, act.broker)
    if broker.context.state is not BrokerState.STOPPED:
        raise ActRefused(f"broker {act.broker} is running; kill it or shut it down first")
    if not any(each.online or each.repaired for each in broker.disk.dirs):
        raise ActRefused(f"every log directory of broker {act.broker} has failed; repair one first")
    spec = cluster.spec
    startup, recovery, speed = (0, 0, 0) if cluster.by_hand else (spec.startup, spec.recovery, spec.disk_speed)
    yield
    broker.start(startup, recovery, speed)


def _pause(cluster: ClusterNodes, act: acts.Pause) -> find.CheckThenDo:
    broker = find.running_broker(cluster, act.broker)
    if broker.address in cluster.paused:
        raise ActRefused(f"broker {act.broker} is already paused; resume it")
    yield
    cluster.journal.cause = cluster.journal.emit(events.BrokerPaused.kind, broker.id)
    cluster.pause(broker.address)


def _resume(cluster: ClusterNodes, act: acts.Resume) -> find.CheckThenDo:
    broker = find.broker(cluster, act.broker)
    if broker.address not in cluster.paused:
        raise ActRefused(f"broker {act.broker} is not paused")
    yield
    since = cluster.resume(broker.address)
    cluster.journal.cause = cluster.journal.emit(events.BrokerResumed.kind, broker.id, cluster.now - since)


HANDLERS: Final[find.Handlers] = {
    acts.Kill: _kill,
    acts.PowerLoss: power_loss,
    acts.Shutdown: _shutdown,
    acts.Start: start,
    acts.Pause: _pause,
    acts.Resume: _resume,
}

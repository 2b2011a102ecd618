"""Acts on the process of a dedicated controller."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from core.kafka import events
from core.kafka.ids import CONTROLLER
from core.lab import acts
from core.lab.act_handlers import find
from core.sim.errors import ActRefused

if TYPE_CHECKING:
    from core.kafka.controller.quorum.controller_server import ControllerServer
    from core.lab.cluster_nodes import ClusterNodes


def _controller(cluster: ClusterNodes, name: str) -> ControllerServer:
    if cluster.quorum is not None and name == CONTROLLER:
        name = find.node(cluster, name)
    found = cluster.controllers.get(name)
    if found is None:
        if cluster.quorum is not None and name in cluster.quorum.voters:
            raise ActRefused(f"controller {name} runs in the process of broker {name[1:]}; apply the act to the broker")
        names = ", ".join(cluster.controllers)
        known = f"the dedicated controllers are {names}" if names else "for dedicated controllers, write 'controllers: 3' in the cluster"
        raise ActRefused(f"there is no controller {name}; {known}")
    return found


def _running_controller(cluster: ClusterNodes, name: str) -> ControllerServer:
    found = _controller(cluster, name)
    if not found.running:
        raise ActRefused(f"controller {name} is not running; start it first")
    return found


def _kill_controller(cluster: ClusterNodes, act: acts.KillController) -> find.CheckThenDo:
    controller = _running_controller(cluster, act.node)
    yield
    cluster.paused.pop(controller.address, None)
    controller.stop()


def lose_power(cluster: ClusterNodes, name: str) -> find.CheckThenDo:
    """Cut the power of the machine of a dedicated controller."""
    controller = _controller(cluster, name)
    yield
    cluster.paused.pop(controller.address, None)
    controller.stop(power=True)


def start_controller(cluster: ClusterNodes, act: acts.StartController) -> find.CheckThenDo:
    controller = _controller(cluster, act.node)
    if controller.running or controller.starting:
        raise ActRefused(f"controller {act.node} is running; kill it first")
    yield
    controller.start(cluster.spec.startup)


def _pause_controller(cluster: ClusterNodes, act: acts.PauseController) -> find.CheckThenDo:
    controller = _running_controller(cluster, act.node)
    if controller.address in cluster.paused:
        raise ActRefused(f"controller {act.node} is already paused; resume it")
    yield
    cluster.journal.cause = cluster.journal.emit(events.ControllerPaused.kind, controller.address)
    cluster.pause(controller.address)


def _resume_controller(cluster: ClusterNodes, act: acts.ResumeController) -> find.CheckThenDo:
    controller = _controller(cluster, act.node)
    if controller.address not in cluster.paused:
        raise ActRefused(f"controller {act.node} is not paused")
    yield
    since = cluster.resume(controller.address)
    cluster.journal.cause = cluster.journal.emit(events.ControllerResumed.kind, controller.address, cluster.now - since)


HANDLERS: Final[find.Handlers] = {
    acts.KillController: _kill_controller,
    acts.StartController: start_controller,
    acts.PauseController: _pause_controller,
    acts.ResumeController: _resume_controller,
}

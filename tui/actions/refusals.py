"""Why an action is impossible now: a reason for each that can be, in words that say what to do about it; None when it is possible."""

from __future__ import annotations

from typing import Final

from core.kafka.broker.broker_state import BrokerState
from core.kafka.health import could_elect_uncleanly
from core.lab.spec import Pace
from tui.actions.context import ActionContext
from tui.analysis.per_state_cache import cached_per_state
from tui.session.playback import SPEEDS

READ_ONLY: Final = "the session is read-only; without --read-only, the first action starts a branch"
"""Why nobody may act."""


def always(context: ActionContext) -> str | None:
    """Nothing is in the way."""
    return None


def needs_process(context: ActionContext) -> str | None:
    """It acts on a process: the selected broker has to have one."""
    broker = context.broker
    if broker is None:
        return "no broker is selected; choose one with ← and →"
    if broker.state is BrokerState.STOPPED:
        return f"b{broker.id} is stopped; start it with {context.key('start')}"
    return None


def cannot_start(context: ActionContext) -> str | None:
    """Only a stopped broker starts."""
    broker = context.broker
    if broker is None:
        return "no broker is selected; choose one with ← and →"
    if broker.state is not BrokerState.STOPPED:
        return f"b{broker.id} is already running"
    return None


def cannot_shut_down(context: ActionContext) -> str | None:
    """Only a running broker shuts down in good order."""
    reason = needs_process(context)
    if reason is None and context.broker is not None and context.broker.state is not BrokerState.RUNNING:
        return f"b{context.broker.id} is {context.broker.state}; only a running broker can shut down cleanly"
    return reason


def needs_broker(context: ActionContext) -> str | None:
    """A broker has to be selected."""
    return None if context.broker is not None else "no broker is selected; choose one with ← and →"


def cannot_unregister(context: ActionContext) -> str | None:
    """Only a broker that a KRaft controller knows is unregistered."""
    broker = context.broker
    if broker is None:
        return needs_broker(context)
    if context.on_zookeeper:
        return "with ZooKeeper, a broker's registration ends with its session; there is nothing to unregister"
    return f"b{broker.id} is not registered" if broker.broker_epoch < 0 else None


def nothing_to_heal(context: ActionContext) -> str | None:
    """There has to be a cut link."""
    return None if context.view.cut_links else "no link is cut"


def no_unclean_election(context: ActionContext) -> str | None:
    """An unclean election is for a partition that nobody leads and of which a replica lives."""
    partition = context.partition
    if partition is None:
        return "no partition is selected; choose one with ↑ and ↓"
    if not partition.offline:
        return f"{partition.tp} is led by b{partition.leader}; an unclean election needs a partition without a leader"
    if not could_elect_uncleanly(partition, context.view.up):
        return f"no replica of {partition.tp} is up; start a broker first"
    return None


def no_preferred_election(context: ActionContext) -> str | None:
    """Some partition has to be led by another than its preferred leader."""
    if not context.view.partitions:
        return "there are no partitions"
    view = context.view
    if cached_per_state(view, "preferred", lambda: all(p.leader == p.replicas[0] for p in view.partitions)):
        return "the preferred leader already leads every partition"
    return None


def needs_partition(context: ActionContext) -> str | None:
    """A partition has to be selected."""
    return None if context.partition is not None else "no partition is selected; choose one with ↑ and ↓"


def no_producer(context: ActionContext) -> str | None:
    """Somebody has to produce."""
    return (
        None
        if context.view.producers
        else f"there is no producer; start a load with {context.key('load')} or a burst with {context.key('produce')}"
    )


def time_stands(context: ActionContext) -> str | None:
    """By hand nothing goes by itself."""
    if context.pace is Pace.BY_HAND and not context.built_by_hand and not context.in_the_past:
        return f"virtual time is paused while you step by hand; {context.key('by-hand')} lets it run, and {context.key('step')} goes to the next event"
    return None


def nothing_done(context: ActionContext) -> str | None:
    """Something has to have been done before this moment."""
    return None if context.can_undo else "there is nothing to undo before this moment"


def nothing_undone(context: ActionContext) -> str | None:
    """Something has to be to come that was done."""
    return None if context.can_redo else "there is nothing to redo on this branch"


def fastest(context: ActionContext) -> str | None:
    """There is a highest speed."""
    return f"{SPEEDS[-1]:g}× is the fastest; {context.key('full-speed')} runs as fast as possible" if context.speed >= SPEEDS[-1] else None


def slowest(context: ActionContext) -> str | None:
    """There is a lowest speed."""
    return f"{SPEEDS[0]:g}× is the slowest" if context.speed <= SPEEDS[0] else None


def nothing_before(context: ActionContext) -> str | None:
    """Something has to have happened."""
    return None if context.view.seq else "nothing has happened yet"


def no_future(context: ActionContext) -> str | None:
    """There has to be more of this branch."""
    return None if context.in_the_past else f"this is the latest moment of this branch; continue with {context.key('play')}"


def no_cause(context: ActionContext) -> str | None:
    """The selected event, or something to ask about, has to have a cause."""
    if context.event is None or not (context.page or context.focus == "events"):
        return None if context.partition is not None or context.broker is not None else "there are no brokers and no partitions"
    return None if context.event[2] else "this event has no recorded cause: it is an act, or a timer expired"

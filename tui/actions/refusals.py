"""Checks whether an action is possible now.

Each check returns the reason why the action is impossible, or None if the action is possible.
"""

from __future__ import annotations

from typing import Final

from core.kafka.broker.broker_state import BrokerState
from core.kafka.health import could_elect_uncleanly
from core.lab.spec import Pace
from core.sim.events import first_cause
from tui.actions.context import ActionContext
from tui.analysis.per_state_cache import cached_per_state
from tui.session.playback import SPEEDS

READ_ONLY: Final = "the session is read-only; without --read-only, the first action starts a branch"
"""The reason why acts are impossible in a read-only session."""


def always(context: ActionContext) -> str | None:
    """Return None for an action that is always possible."""
    return None


def needs_process(context: ActionContext) -> str | None:
    """Refuse the action if no broker is selected or the selected broker is stopped."""
    broker = context.broker
    if broker is None:
        return "no broker is selected; choose one with ← and →"
    if broker.state is BrokerState.STOPPED:
        return f"b{broker.id} is stopped; to start it, press {context.key('start')}"
    return None


def cannot_start(context: ActionContext) -> str | None:
    """Refuse the action unless the selected broker is stopped."""
    broker = context.broker
    if broker is None:
        return "no broker is selected; choose one with ← and →"
    if broker.state is not BrokerState.STOPPED:
        return f"b{broker.id} is already running"
    return None


def cannot_shut_down(context: ActionContext) -> str | None:
    """Refuse the action unless the selected broker is running, because only a running broker can shut down cleanly."""
    reason = needs_process(context)
    if reason is None and context.broker is not None and context.broker.state is not BrokerState.RUNNING:
        return f"b{context.broker.id} is {context.broker.state}; only a running broker can shut down cleanly"
    return reason


def needs_broker(context: ActionContext) -> str | None:
    """Refuse the action unless a broker is selected."""
    return None if context.broker is not None else "no broker is selected; choose one with ← and →"


def cannot_unregister(context: ActionContext) -> str | None:
    """Refuse the action unless the selected broker is registered with a KRaft controller."""
    broker = context.broker
    if broker is None:
        return needs_broker(context)
    if context.on_zookeeper:
        return "with ZooKeeper, a broker's registration ends with its session; there is nothing to unregister"
    return f"b{broker.id} is not registered" if broker.broker_epoch < 0 else None


def nothing_to_heal(context: ActionContext) -> str | None:
    """Refuse the action unless a link is cut."""
    return None if context.view.cut_links else "no link is cut"


def no_unclean_election(context: ActionContext) -> str | None:
    """Refuse the action unless the selected partition has no leader and one of its live replicas can be elected."""
    partition = context.partition
    if partition is None:
        return "no partition is selected; choose one with ↑ and ↓"
    if not partition.offline:
        return f"{partition.tp} is led by b{partition.leader}; an unclean election needs a partition without a leader"
    if not could_elect_uncleanly(partition, context.view.up):
        return f"no replica of {partition.tp} is up; start a broker first"
    return None


def no_preferred_election(context: ActionContext) -> str | None:
    """Refuse the action if every partition is already led by its preferred leader, or if the cluster has no partitions."""
    if not context.view.partitions:
        return "there are no partitions"
    view = context.view
    if cached_per_state(view, "preferred", lambda: all(p.leader == p.replicas[0] for p in view.partitions)):
        return "the preferred leader already leads every partition"
    return None


def needs_partition(context: ActionContext) -> str | None:
    """Refuse the action unless a partition is selected."""
    return None if context.partition is not None else "no partition is selected; choose one with ↑ and ↓"


def no_producer(context: ActionContext) -> str | None:
    """Refuse the action unless the cluster has a producer."""
    return (
        None
        if context.view.producers
        else f"there is no producer; to start a load, press {context.key('load')}; to produce a burst, press {context.key('produce')}"
    )


def time_stands(context: ActionContext) -> str | None:
    """Refuse the action if virtual time is paused because the pace is `by-hand`."""
    if context.pace is Pace.BY_HAND and not context.built_by_hand and not context.in_the_past:
        return f"virtual time is paused while you step by hand; to let it run, press {context.key('by-hand')}; to go to the next event, press {context.key('step')}"
    return None


def nothing_done(context: ActionContext) -> str | None:
    """Refuse the action unless there is an act to undo."""
    return None if context.can_undo else "there is nothing to undo before this moment"


def nothing_undone(context: ActionContext) -> str | None:
    """Refuse the action unless there is an act to redo."""
    return None if context.can_redo else "there is nothing to redo on this branch"


def fastest(context: ActionContext) -> str | None:
    """Refuse the action if the speed is already the highest."""
    return (
        f"{SPEEDS[-1]:g}× is the highest speed; to run as fast as possible, press {context.key('full-speed')}"
        if context.speed >= SPEEDS[-1]
        else None
    )


def slowest(context: ActionContext) -> str | None:
    """Refuse the action if the speed is already the lowest."""
    return f"{SPEEDS[0]:g}× is the lowest speed" if context.speed <= SPEEDS[0] else None


def nothing_before(context: ActionContext) -> str | None:
    """Refuse the action if no event has happened yet."""
    return None if context.view.seq else "nothing has happened yet"


def no_future(context: ActionContext) -> str | None:
    """Refuse the action unless the branch continues after this moment."""
    return None if context.in_the_past else f"this is the latest moment of this branch; to continue, press {context.key('play')}"


def no_cause(context: ActionContext) -> str | None:
    """Refuse the action if the selection has no cause that can be shown.

    If the events panel has the focus or a page is open, the selected event must have a recorded cause. If the focus is elsewhere and no
    page is open, a broker or a partition must be selected.
    """
    if context.event is None or not (context.page or context.focus == "events"):
        return None if context.partition is not None or context.broker is not None else "there are no brokers and no partitions"
    return None if first_cause(context.event) else "this event has no recorded cause, because it is an act or the expiry of a timer"

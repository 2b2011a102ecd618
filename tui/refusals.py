"""Why an action is impossible now: a reason for each that can be, in words that say what to do about it; None when it is possible."""

from __future__ import annotations

from typing import Final

from core.kafka.broker.broker_state import BrokerState
from core.kafka.health import could_elect_uncleanly
from core.lab.spec import Pace
from tui.lasting import lasting
from tui.motion import SPEEDS
from tui.situation import Situation

READ_ONLY: Final = "the session was opened read-only; without --read-only acting begins a branch"
"""Why nobody may act."""


def always(situation: Situation) -> str | None:
    """Nothing is in the way."""
    return None


def needs_process(situation: Situation) -> str | None:
    """It acts on a process: the selected broker has to have one."""
    broker = situation.broker
    if broker is None:
        return "no broker is selected; choose one with ← and →"
    if broker.state is BrokerState.STOPPED:
        return f"b{broker.id} is stopped; start it with {situation.key('start')}"
    return None


def cannot_start(situation: Situation) -> str | None:
    """Only a stopped broker starts."""
    broker = situation.broker
    if broker is None:
        return "no broker is selected; choose one with ← and →"
    if broker.state is not BrokerState.STOPPED:
        return f"b{broker.id} already runs"
    return None


def cannot_shut_down(situation: Situation) -> str | None:
    """Only a running broker shuts down in good order."""
    reason = needs_process(situation)
    if reason is None and situation.broker is not None and situation.broker.state is not BrokerState.RUNNING:
        return f"b{situation.broker.id} is {situation.broker.state}; only a running broker shuts down in good order"
    return reason


def needs_broker(situation: Situation) -> str | None:
    """A broker has to be selected."""
    return None if situation.broker is not None else "no broker is selected; choose one with ← and →"


def cannot_unregister(situation: Situation) -> str | None:
    """Only a broker that a KRaft controller knows is unregistered."""
    broker = situation.broker
    if broker is None:
        return needs_broker(situation)
    if situation.on_zookeeper:
        return "with ZooKeeper a broker's registration goes with its session; there is nothing to unregister"
    return f"b{broker.id} is not registered" if broker.broker_epoch < 0 else None


def nothing_to_heal(situation: Situation) -> str | None:
    """There has to be a cut link."""
    return None if situation.view.cut_links else "no link is cut"


def no_unclean_election(situation: Situation) -> str | None:
    """An unclean election is for a partition that nobody leads and of which a replica lives."""
    partition = situation.partition
    if partition is None:
        return "no partition is selected; choose one with ↑ and ↓"
    if not partition.offline:
        return f"{partition.tp} is led by b{partition.leader}; an unclean election is for a partition that nobody leads"
    if not could_elect_uncleanly(partition, situation.view.up):
        return f"no replica of {partition.tp} is up; start a broker first"
    return None


def no_preferred_election(situation: Situation) -> str | None:
    """Some partition has to be led by another than its preferred leader."""
    if not situation.view.partitions:
        return "there is no partition"
    view = situation.view
    if lasting(view, "preferred", lambda: all(p.leader == p.replicas[0] for p in view.partitions)):
        return "every partition is led by its preferred leader already"
    return None


def needs_partition(situation: Situation) -> str | None:
    """A partition has to be selected."""
    return None if situation.partition is not None else "no partition is selected; choose one with ↑ and ↓"


def no_producer(situation: Situation) -> str | None:
    """Somebody has to produce."""
    return (
        None
        if situation.view.producers
        else f"nobody produces; start a load with {situation.key('load')} or a burst with {situation.key('produce')}"
    )


def time_stands(situation: Situation) -> str | None:
    """By hand nothing goes by itself."""
    if situation.pace is Pace.BY_HAND and not situation.built_by_hand and not situation.in_the_past:
        return f"by hand virtual time stands still; {situation.key('by-hand')} lets it run, {situation.key('step')} goes to the next event"
    return None


def nothing_done(situation: Situation) -> str | None:
    """Something has to have been done before this moment."""
    return None if situation.done else "nothing that could be undone was done before this moment"


def nothing_undone(situation: Situation) -> str | None:
    """Something has to be to come that was done."""
    return None if situation.undone else "nothing to come was done on this branch"


def fastest(situation: Situation) -> str | None:
    """There is a highest speed."""
    return (
        f"{SPEEDS[-1]:g}× is the fastest; {situation.key('full-speed')} goes as fast as it can" if situation.speed >= SPEEDS[-1] else None
    )


def slowest(situation: Situation) -> str | None:
    """There is a lowest speed."""
    return f"{SPEEDS[0]:g}× is the slowest" if situation.speed <= SPEEDS[0] else None


def nothing_before(situation: Situation) -> str | None:
    """Something has to have happened."""
    return None if situation.view.seq else "nothing has happened yet"


def no_future(situation: Situation) -> str | None:
    """There has to be more of this branch."""
    return None if situation.in_the_past else f"this is the newest moment of this branch; let it play with {situation.key('play')}"


def no_cause(situation: Situation) -> str | None:
    """The selected event, or something to ask about, has to have a cause."""
    if situation.event is None or not (situation.page or situation.focus == "events"):
        return None if situation.partition is not None or situation.broker is not None else "there is neither broker nor partition"
    return None if situation.event[2] else "this event has no cause: it was an act, or a timer of its own"

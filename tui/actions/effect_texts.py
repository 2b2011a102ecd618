"""Texts that describe what an action would do now, including how many partitions it affects. The command palette and the help show the
texts that describe effects.
"""

from __future__ import annotations

from core.kafka.broker.broker_state import BrokerState
from core.kafka.health import is_at_min_isr
from core.lab.views.partition_view import PartitionView
from core.lab.views.setting_preview import only_on_stopped_brokers, unclean_change
from scenarios.releases import release_named
from tui.actions.context import ActionContext
from tui.actions.questions import UNCLEAN


def _partitions(count: int) -> str:
    return "1 partition" if count == 1 else f"{count} partitions"


def _refusing(count: int) -> str:
    return f"; {_partitions(count)} {'refuses' if count == 1 else 'refuse'} acks=all writes"


def _without(context: ActionContext, broker: int) -> tuple[list[PartitionView], int, int]:
    """Return the impact of losing a broker.

    The result contains the partitions that the broker leads, the number of those partitions that have no other live ISR member, and the
    number of partitions whose ISR would fall below its minimum.
    """
    view = context.view
    led = [p for p in view.partitions if p.leader == broker]
    alive = view.up - {broker}
    alone = sum(not any(b in alive for b in p.isr) for p in led)
    under = sum(broker in p.isr and is_at_min_isr(p, p.min_isr) for p in view.partitions)
    return led, alone, under


def gone(context: ActionContext) -> str:
    """Describe what happens when the selected broker's process dies without a controlled shutdown."""
    broker = context.broker
    assert broker is not None
    led, alone, under = _without(context, broker.id)
    timeout = int(context.setting("zookeeper.session.timeout.ms" if context.on_zookeeper else "broker.session.timeout.ms", None)) / 1_000
    until = f"until its session expires (up to {timeout:g} s)"
    if led:
        said = f"b{broker.id} leads {_partitions(len(led))}; clients are not served {until}" + (
            " and other brokers lead" if alone < len(led) else ""
        )
    elif any(broker.id in p.isr for p in context.view.partitions):
        said = f"b{broker.id} leads no partition; in partitions that have it in the ISR, acks=all writes wait {until}"
    else:
        said = f"b{broker.id} leads no partition and is in no ISR: clients are not affected"
    if alone:
        said += f"; {_partitions(alone)} would have no leader"
    if under:
        said += _refusing(under)
    return said + "."


def shut_down(context: ActionContext) -> str:
    """Describe what a controlled shutdown of the selected broker does."""
    broker = context.broker
    assert broker is not None
    led, alone, under = _without(context, broker.id)
    moved = len(led) - alone
    said = f"{_partitions(moved)} {'gets a new leader' if moved == 1 else 'get new leaders'} first, then b{broker.id} stops"
    if not moved:
        said = f"b{broker.id} stops"
    if alone:
        said += f"; {_partitions(alone)} {'has' if alone == 1 else 'have'} no other member of the ISR and {'goes' if alone == 1 else 'go'} offline"
    return said + (_refusing(under) if under else "") + "."


def unregistered(context: ActionContext) -> str:
    """Describe what unregistering the selected broker does."""
    broker = context.broker
    assert broker is not None
    led, alone, under = _without(context, broker.id)
    said = f"The controller unregisters b{broker.id}"
    if any(broker.id in p.isr for p in context.view.partitions):
        said += " and removes it from all ISRs that have other members"
    if moved := len(led) - alone:
        said += f"; {_partitions(moved)} {'gets a new leader' if moved == 1 else 'get new leaders'}"
    if alone:
        said += f"; {_partitions(alone)} {'goes' if alone == 1 else 'go'} offline"
    if under:
        said += _refusing(under)
    if broker.replicas:
        said += f"; {broker.replicas:,} {'replica remains' if broker.replicas == 1 else 'replicas remain'} assigned to it"
    return said + "; it registers again only after a restart."


def started(context: ActionContext) -> str:
    """Describe what starting the selected broker does."""
    broker = context.broker
    assert broker is not None
    lacks = sum(
        max(c.leo for c in p.replica_views) - p.replica_on(broker.id).leo for p in context.view.partitions if broker.id in p.replicas
    )
    waiting = sum(p.offline and broker.id in (p.isr or p.elr) for p in context.view.partitions)
    some = f"about {lacks:,} records" if lacks > 1 else "1 record" if lacks else "nothing, because it has all records"
    said = f"b{broker.id} loads its logs, truncates them where necessary, and fetches {some}"
    return said + (f"; {_partitions(waiting)} can have a leader again" if waiting else "") + "."


def frozen(context: ActionContext) -> str:
    """Describe what freezing or thawing the selected broker does."""
    broker = context.broker
    assert broker is not None
    if broker.state is BrokerState.PAUSED:
        return f"b{broker.id} resumes with the state that it had; if another broker now leads one of its partitions, requests with the old leader epoch are refused."
    return gone(context).replace("; clients are not", " and still considers itself their leader; clients are not", 1)


def isolated(context: ActionContext) -> str:
    """Describe what isolating the selected broker does."""
    broker = context.broker
    assert broker is not None
    if broker.state is BrokerState.STOPPED:
        return f"b{broker.id} is stopped; after it starts, it cannot reach any other node until its links heal."
    led, _, _ = _without(context, broker.id)
    if not led:
        return f"b{broker.id} keeps running but is isolated. It leads no partition, and it is removed from all ISRs."
    return f"b{broker.id} keeps running and still considers itself the leader of {_partitions(len(led))}. Meanwhile, other brokers can be elected."


def unclean(context: ActionContext) -> str:
    """Describe what turning unclean election on or off does."""
    topic = context.partition.tp.topic if context.partition is not None else None
    own = topic is not None and context.overridden(UNCLEAN, topic)
    where = f"topic {topic}" if own else "the whole cluster"
    if context.setting(UNCLEAN, topic):
        return f"Turns unclean election off for {where}: only members of the ISR (or ELR) can be elected."
    if not release_named(context.view.release).applies_unclean_setting:
        return f"Turns unclean election on for {where}, without effect: the controllers of this release ignore the setting."
    changed = [p for p in context.view.partitions if (p.tp.topic == topic if own else not context.overridden(UNCLEAN, p.tp.topic))]
    return f"Turns unclean election on for {where}: {_partitions(unclean_change(changed, context.view.up).elected)} would get a leader from outside the ISR, so records can be lost."


def elect_unclean(context: ActionContext) -> str:
    """Describe which records an unclean election in the selected partition would lose."""
    p = context.partition
    assert p is not None
    return f"{p.tp} gets a leader from the live replicas; up to {only_on_stopped_brokers(p):,} records that only dead replicas hold would be lost."


def elect_preferred(context: ActionContext) -> str:
    """Describe how many partitions an election of the preferred leaders would affect."""
    other = sum(p.leader != p.replicas[0] for p in context.view.partitions)
    able = sum(p.leader != p.replicas[0] and p.replicas[0] in p.isr for p in context.view.partitions)
    return f"{_partitions(other)} {'is' if other == 1 else 'are'} not led by the preferred leader; an election moves {able} of them back."


def healed(context: ActionContext) -> str:
    """Describe what healing all links does."""
    links = len(context.view.cut_links)
    return "1 directed link carries messages again." if links == 1 else f"{links} directed links carry messages again."

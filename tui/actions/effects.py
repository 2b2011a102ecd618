"""What an act would do here and now, in a sentence with the numbers of this moment: for the palette, the help, and who hesitates."""

from __future__ import annotations

from core.kafka.broker.broker_state import BrokerState
from core.kafka.health import is_at_min_isr
from core.lab.views.setting_changes import only_on_stopped_brokers, unclean_change
from core.lab.views.view import PartitionView
from tui.actions.context import ActionContext
from tui.actions.questions import UNCLEAN


def _partitions(count: int) -> str:
    return "1 partition" if count == 1 else f"{count} partitions"


def _without(context: ActionContext, broker: int) -> tuple[list[PartitionView], int, int]:
    """Partitions a broker leads, how many of those nobody else in the ISR could lead, and in how many the ISR falls below its minimum."""
    view = context.view
    led = [p for p in view.partitions if p.leader == broker]
    alive = view.up - {broker}
    alone = sum(not any(b in alive for b in p.isr) for p in led)
    under = sum(broker in p.isr and is_at_min_isr(p, p.min_isr) for p in view.partitions)
    return led, alone, under


def gone(context: ActionContext) -> str:
    """What follows when the selected broker's process is gone without a word."""
    broker = context.broker
    assert broker is not None
    led, alone, under = _without(context, broker.id)
    timeout = int(context.setting("zookeeper.session.timeout.ms" if context.on_zookeeper else "broker.session.timeout.ms", None)) / 1_000
    until = f"until its session expires (up to {timeout:g} s)"
    if led:
        said = f"b{broker.id} leads {_partitions(len(led))}: unserved {until}" + (", then others lead" if alone < len(led) else "")
    elif any(broker.id in p.isr for p in context.view.partitions):
        said = f"b{broker.id} leads nothing; acks=all waits for it {until}, where it is in the ISR"
    else:
        said = f"b{broker.id} leads nothing and is in no ISR: clients notice nothing"
    if alone:
        said += f"; {_partitions(alone)} would have nobody to lead"
    if under:
        said += f"; acks=all refused by {_partitions(under)}"
    return said + "."


def shut_down(context: ActionContext) -> str:
    """What a controlled shutdown of the selected broker does."""
    broker = context.broker
    assert broker is not None
    led, alone, under = _without(context, broker.id)
    moved = len(led) - alone
    said = f"{_partitions(moved)} {'gets another leader' if moved == 1 else 'get other leaders'} first, then b{broker.id} ends"
    if not moved:
        said = f"b{broker.id} ends"
    if alone:
        said += f"; {_partitions(alone)} {'has' if alone == 1 else 'have'} no other member of the ISR and {'goes' if alone == 1 else 'go'} offline"
    return said + (f"; acks=all refused by {_partitions(under)}" if under else "") + "."


def unregistered(context: ActionContext) -> str:
    """What unregistering the selected broker does."""
    broker = context.broker
    assert broker is not None
    led, alone, under = _without(context, broker.id)
    said = f"The controller forgets b{broker.id}"
    if any(broker.id in p.isr for p in context.view.partitions):
        said += ", which leaves every ISR"
    if moved := len(led) - alone:
        said += f"; {_partitions(moved)} {'gets another leader' if moved == 1 else 'get other leaders'}"
    if alone:
        said += f"; {_partitions(alone)} {'goes' if alone == 1 else 'go'} offline"
    if under:
        said += f"; acks=all refused by {_partitions(under)}"
    if broker.replicas:
        said += f"; {broker.replicas:,} {'replica stays' if broker.replicas == 1 else 'replicas stay'} assigned to it"
    return said + "; it registers again only when its process is started anew."


def started(context: ActionContext) -> str:
    """What starting the selected broker does."""
    broker = context.broker
    assert broker is not None
    lacks = sum(max(c.leo for c in p.copies) - p.copy_on(broker.id).leo for p in context.view.partitions if broker.id in p.replicas)
    waiting = sum(p.offline and broker.id in (p.isr or p.elr) for p in context.view.partitions)
    some = f"some {lacks:,} records" if lacks > 1 else "1 record" if lacks else "nothing: it lacks none"
    said = f"b{broker.id} loads its logs, truncates where it must, and fetches {some}"
    return said + (f"; {_partitions(waiting)} can be led again" if waiting else "") + "."


def frozen(context: ActionContext) -> str:
    """What freezing, or thawing, the selected broker does."""
    broker = context.broker
    assert broker is not None
    if broker.state is BrokerState.PAUSED:
        return f"b{broker.id} goes on with what it believed; where others lead by now it is fenced by its epoch."
    return gone(context).replace("unserved until", "it still takes itself for their leader; unserved until", 1)


def isolated(context: ActionContext) -> str:
    """What isolating the selected broker does."""
    broker = context.broker
    assert broker is not None
    if broker.state is BrokerState.STOPPED:
        return f"b{broker.id} has no process; started again it reaches nobody until the links heal."
    led, _, _ = _without(context, broker.id)
    if not led:
        return f"b{broker.id} runs on alone; it leads nothing, and leaves the ISRs it is in."
    return f"b{broker.id} runs on and goes on leading {_partitions(len(led))} in its own eyes; the others elect without it."


def unclean(context: ActionContext) -> str:
    """What turning unclean election on or off does."""
    topic = context.partition.tp.topic if context.partition is not None else None
    own = topic is not None and context.overridden(UNCLEAN, topic)
    where = f"topic {topic}" if own else "the whole cluster"
    if context.setting(UNCLEAN, topic):
        return f"Off for {where}: only the ISR (and ELR) may lead."
    changed = [p for p in context.view.partitions if (p.tp.topic == topic if own else not context.overridden(UNCLEAN, p.tp.topic))]
    return f"On for {where}: {_partitions(unclean_change(changed, context.view.up).elected)} would get a leader from outside the ISR; what it lacks is lost."


def elect_unclean(context: ActionContext) -> str:
    """What an unclean election of the selected partition would lose."""
    p = context.partition
    assert p is not None
    return f"{p.tp} gets a leader from those alive; up to {only_on_stopped_brokers(p):,} records that only dead replicas hold are lost."


def elect_preferred(context: ActionContext) -> str:
    """How many leaderships an election of the preferred leaders moves."""
    other = sum(p.leader != p.replicas[0] for p in context.view.partitions)
    able = sum(p.leader != p.replicas[0] and p.replicas[0] in p.isr for p in context.view.partitions)
    return f"{_partitions(other)} {'is' if other == 1 else 'are'} led by another than their preferred leader; {able} of those can be given back."


def healed(context: ActionContext) -> str:
    """What healing all links does."""
    links = len(context.view.cut_links)
    return "1 directed link carries messages again." if links == 1 else f"{links} directed links carry messages again."

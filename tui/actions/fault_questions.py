"""Questions about faults: power loss, disks, slow and lossy links, held messages, and controllers.

Each answer contains the acts to perform and a note. An answer that the user cannot choose now also contains the reason.
"""

from __future__ import annotations

from itertools import combinations
from typing import Final

from core.kafka.broker.broker_state import BrokerState
from core.kafka.ids import CONTROLLER, broker_address
from core.lab import acts
from core.lab.acts import Act
from core.sim.units import format_duration
from tui.actions.context import MOST_BROKERS, ActionContext, Option, Question, numbered

DELAYS: Final = (
    (0, "normal speed"),
    (5_000, "5 ms per write"),
    (50_000, "50 ms per write"),
    (500_000, "500 ms per write"),
    (5_000_000, "5 s per write"),
)
"""The delays that a slow disk can add to each write, in µs, each with its label."""


MOST_NAMED: Final = 4
"""The maximum number of nodes of a zone that an answer names."""


def _others(context: ActionContext) -> list[int]:
    """Return all brokers except the selected one. Brokers with a replica of the selected partition come first."""
    broker = context.the_broker
    replicas = context.partition.replicas if context.partition is not None else ()
    others = [b.id for b in context.view.brokers if b.id != broker.id]
    return sorted(others, key=lambda other: (other not in replicas, other))[:MOST_BROKERS]


def power_loss(context: ActionContext) -> Question:
    """Ask how much unflushed data had reached the disk when the power failed."""
    one = context.the_broker.id
    options = (
        Option("d", "random for each log", (acts.PowerLoss(one),), "part of the unflushed tail is lost"),
        Option("l", "the whole tail is lost", (acts.PowerLoss(one, unflushed="lost"),), "logs end at their recovery points"),
        Option("k", "the whole tail is on disk", (acts.PowerLoss(one, unflushed="kept"),), "same as kill -9"),
    )
    return Question(
        f"The machine of b{one} loses power",
        "How much of the unflushed tail of its logs is lost? Screen 2 shows the length of the unflushed tail.",
        options,
    )


def slow_disk(context: ActionContext) -> Question:
    """Ask how long each disk write on the selected broker takes from now on."""
    broker = context.the_broker
    one, now = broker.id, broker.disk_delay_us
    same = "this is the current value" if now else f"the disk of b{one} is not slow"
    return Question(
        f"Disk of b{one}",
        "Each disk write takes this long, whether its records come from a fetch or from a producer. Writes run one after another.",
        numbered([(words, (acts.SlowDisk(one, delay),), "", same if delay == now else None) for delay, words in DELAYS]),
    )


def directories(context: ActionContext) -> Question:
    """Ask which log directory of the selected broker to fail or repair."""
    broker = context.the_broker
    last = broker.log_dirs - len(broker.failed_dirs) == 1
    options: list[tuple[str, tuple[Act, ...], str, str | None]] = []
    for number in range(1, broker.log_dirs + 1):
        if number in broker.failed_dirs:
            options.append(
                (
                    f"replace directory {number} with an empty one",
                    (acts.RepairDir(broker.id, number),),
                    "takes effect at the next start",
                    None,
                )
            )
            options.append(
                (
                    f"repair directory {number}, with its logs intact",
                    (acts.RepairDir(broker.id, number, empty=False),),
                    "takes effect at the next start",
                    None,
                )
            )
        else:
            note = "the last working directory: the broker halts" if last else "its replicas go offline"
            refused = "its process is not running" if broker.state is BrokerState.STOPPED else None
            options.append((f"directory {number} fails", (acts.FailDir(broker.id, number),), note, refused))
    return Question(f"Log directories of b{broker.id}", "Make a disk fail, or replace a failed disk.", numbered(options))


def link_quality(context: ActionContext) -> Question:
    """Ask which link of the selected broker to make slow, make lossy, or restore."""
    here = broker_address(context.the_broker.id)
    options: list[tuple[str, tuple[Act, ...], str, str | None]] = []
    nodes = [broker_address(other) for other in _others(context)]
    nodes += [] if context.view.voters else [CONTROLLER]
    view = context.view
    changed = {(link.src, link.dst): link.usual_latency_us for link in view.changed_links}
    for node in nodes:
        usual = changed.get((here, node), changed.get((node, here)))
        latency = view.latency_us if usual is None else usual
        options.append(
            (
                f"{here} ↔ {node}: 200 ms",
                (acts.Link((here, node), latency=200_000, jitter=20_000, loss_ppm=0),),
                "a slow link, such as one between continents",
                None,
            )
        )
        options.append(
            (
                f"{here} ↔ {node}: 10% loss",
                (acts.Link((here, node), loss_ppm=100_000),),
                "TCP retransmits: messages are late, but in order",
                None,
            )
        )
        options.append(
            (
                f"{here} ↔ {node}: back to normal",
                (acts.Link((here, node), latency=latency, jitter=view.jitter_us, loss_ppm=view.loss_ppm),),
                f"{format_duration(latency)}, {f'{view.loss_ppm / 10_000:g}%' if view.loss_ppm else 'no'} loss",
                None if usual is not None else "the link is already back to normal",
            )
        )
    return Question(f"Links of {here}", "Make a link slow or lossy. To cut a link, press c.", numbered(options))


def hold(context: ActionContext) -> Question:
    """Ask on which link, and in which direction, to hold or release messages."""
    here = broker_address(context.the_broker.id)
    held = set(context.view.held_links)
    options: list[tuple[str, tuple[Act, ...], str, str | None]] = []
    nodes = [broker_address(other) for other in _others(context)]
    nodes += [] if context.view.voters else [CONTROLLER]
    for node in nodes:
        for pair in ((here, node), (node, here)):
            arrow = f"{pair[0]} → {pair[1]}"
            if pair in held:
                options.append((f"release {arrow}", (acts.Release(pair),), "held messages arrive now, in order", None))
            else:
                options.append((f"hold {arrow}", (acts.Hold(pair),), "messages wait until you release them", None))
    return Question(
        f"Messages of {here}",
        "Held messages are delayed, not lost. Use this to simulate a late request, an overdue answer, or a zombie leader.",
        numbered(options),
    )


def controllers(context: ActionContext) -> Question:
    """Ask which dedicated controller to kill, start, freeze, or thaw."""
    options: list[tuple[str, tuple[Act, ...], str, str | None]] = []
    for voter in context.view.voters:
        if voter.name.startswith("b"):
            continue
        role = "active" if voter.active else voter.role
        if voter.role == "stopped":
            options.append((f"start {voter.name}", (acts.StartController(voter.name),), "its log and its vote are still on disk", None))
        else:
            options.append((f"kill {voter.name}", (acts.KillController(voter.name),), role, None))
            options.append((f"freeze {voter.name}", (acts.PauseController(voter.name),), role, None))
            options.append((f"thaw {voter.name}", (acts.ResumeController(voter.name),), "it resumes with the state that it had", None))
    return Question("Controllers", "Metadata can change only while a majority of the controllers can communicate.", numbered(options))


def zones(context: ActionContext) -> Question:
    """Ask which zone fails or comes back, and which zone to cut off or to heal."""
    view = context.view
    stopped = {broker_address(each.id) for each in view.brokers if each.state is BrokerState.STOPPED}
    stopped |= {voter.name for voter in view.voters if voter.role == "stopped"}
    machines = {broker_address(each.id) for each in view.brokers} | {voter.name for voter in view.voters}
    cut = set(view.cut_links)
    failures: list[tuple[str, tuple[Act, ...], str, str | None]] = []
    cuts: list[tuple[str, tuple[Act, ...], str, str | None]] = []
    for zone in view.zones:
        inside = [node for node in zone.nodes if node in machines]
        running = [node for node in inside if node not in stopped]
        off = [node for node in inside if node in stopped]
        if running:
            failures.append((f"zone {zone.name} fails", (acts.FailZone(zone.name),), f"no power: {_some(running)}", None))
        if off:
            failures.append((f"restore zone {zone.name}", (acts.RestoreZone(zone.name),), f"start {_some(off)}", None))
        if any((a in zone.nodes) != (b in zone.nodes) for a, b in cut):
            cuts.append((f"heal the links of zone {zone.name}", (acts.HealZone(zone.name),), "it can reach other nodes again", None))
        else:
            cuts.append((f"cut off zone {zone.name}", (acts.CutZone(zone.name),), "links within it keep working", None))
    for one, other in combinations(view.zones, 2) if len(view.zones) > 2 else ():
        link = f"{one.name} ↔ {other.name}"
        if any((a in one.nodes and b in other.nodes) or (a in other.nodes and b in one.nodes) for a, b in cut):
            cuts.append((f"heal {link}", (acts.HealZone(one.name, other.name),), "already cut", None))
        else:
            cuts.append((f"cut {link}", (acts.CutZone(one.name, other.name),), "both still reach the other zones", None))
    return Question("Zones", "A zone that fails loses its power. Its clients keep running.", numbered([*failures, *cuts]))


def _some(nodes: list[str]) -> str:
    """Return a list of nodes, of which the first few are named."""
    return ", ".join(nodes[:MOST_NAMED]) + (f", and {len(nodes) - MOST_NAMED} more" if len(nodes) > MOST_NAMED else "")


def no_zones(context: ActionContext) -> str | None:
    """Return the reason why there are no zones, or None."""
    return None if context.view.zones else "this cluster has no zones; to try them, press 7 and start d9-two-and-a-half-sites"


def no_controllers(context: ActionContext) -> str | None:
    """Return the reason why there is no dedicated controller, or None."""
    if any(not voter.name.startswith("b") for voter in context.view.voters):
        return None
    if context.view.voters:
        return "in this cluster, the controllers run in broker processes; kill or freeze a broker instead"
    return "this cluster has no dedicated controllers; to try them, press 7 and start d9-dedicated-controllers"

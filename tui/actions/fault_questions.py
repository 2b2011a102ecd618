"""More to break: power, disks, slow and lossy links, held messages, controllers.

Questions as in `tui.actions.questions`: each answer carries its acts, says what it means, and why it is impossible when it is.
"""

from __future__ import annotations

from typing import Final

from core.kafka.broker.broker_state import BrokerState
from core.kafka.ids import CONTROLLER, broker_address
from core.lab import acts
from core.lab.acts import Act
from core.sim.units import format_duration
from tui.actions.context import MOST_BROKERS, ActionContext, Option, Question, numbered

DELAYS: Final = (
    (0, "as before"),
    (5_000, "5 ms a write"),
    (50_000, "50 ms a write"),
    (500_000, "500 ms a write"),
    (5_000_000, "5 s a write"),
)
"""What a write to a slow disk may take, µs."""


def _others(context: ActionContext) -> list[int]:
    """Other brokers, those that share the selected partition first."""
    broker = context.the_broker
    replicas = context.partition.replicas if context.partition is not None else ()
    others = [b.id for b in context.view.brokers if b.id != broker.id]
    return sorted(others, key=lambda other: (other not in replicas, other))[:MOST_BROKERS]


def power_loss(context: ActionContext) -> Question:
    """How much of what was not flushed had reached the disk when the power went."""
    one = context.the_broker.id
    options = (
        Option("d", "drawn for each log", (acts.PowerLoss(one),), "some of the unflushed tail is gone"),
        Option("l", "all of it is lost", (acts.PowerLoss(one, unflushed="lost"),), "logs end at their recovery points"),
        Option("k", "all of it had been written", (acts.PowerLoss(one, unflushed="kept"),), "as kill -9 does"),
    )
    return Question(
        f"The machine of b{one} loses power", "What lay only in memory: the unflushed tail of its logs (screen 2 shows how much).", options
    )


def slow_disk(context: ActionContext) -> Question:
    """How long a write of the selected broker takes from now on."""
    broker = context.the_broker
    one, now = broker.id, broker.disk_delay_us
    same = "so it is now" if now else f"the disk of b{one} is not slow"
    return Question(
        f"Disk of b{one}",
        "Each write of followers' fetchers and producers' batches takes this long, one after another.",
        numbered([(words, (acts.SlowDisk(one, delay),), "", same if delay == now else None) for delay, words in DELAYS]),
    )


def directories(context: ActionContext) -> Question:
    """Fail or repair a log directory."""
    broker = context.the_broker
    last = broker.log_dirs - len(broker.failed_dirs) == 1
    options: list[tuple[str, tuple[Act, ...], str, str | None]] = []
    for number in range(1, broker.log_dirs + 1):
        if number in broker.failed_dirs:
            options.append(
                (f"replace directory {number} by an empty one", (acts.RepairDir(broker.id, number),), "found at the next start", None)
            )
            options.append(
                (
                    f"repair directory {number}, its logs are there",
                    (acts.RepairDir(broker.id, number, empty=False),),
                    "found at the next start",
                    None,
                )
            )
        else:
            note = "the last one that works: the broker halts" if last else "its replicas go offline"
            refused = "its process does not run" if broker.state is BrokerState.STOPPED else None
            options.append((f"directory {number} fails", (acts.FailDir(broker.id, number),), note, refused))
    return Question(f"Log directories of b{broker.id}", "A disk dies, or is replaced.", numbered(options))


def link_quality(context: ActionContext) -> Question:
    """Make the selected broker's links slow or lossy, or as before."""
    here = broker_address(context.the_broker.id)
    options: list[tuple[str, tuple[Act, ...], str, str | None]] = []
    nodes = [broker_address(other) for other in _others(context)]
    nodes += [] if context.view.voters else [CONTROLLER]
    view = context.view
    changed = {frozenset((link.src, link.dst)) for link in view.changed_links}
    new = f"{format_duration(view.latency_us)}, {f'{view.loss_ppm / 10_000:g} %' if view.loss_ppm else 'no'} loss"
    for node in nodes:
        options.append(
            (
                f"{here} ↔ {node}: 200 ms",
                (acts.Link((here, node), latency=200_000, jitter=20_000, loss_ppm=0),),
                "a slow link, as between continents",
                None,
            )
        )
        options.append(
            (f"{here} ↔ {node}: 10 % loss", (acts.Link((here, node), loss_ppm=100_000),), "TCP sends again: late, in order", None)
        )
        options.append(
            (
                f"{here} ↔ {node}: as new",
                (acts.Link((here, node), latency=view.latency_us, jitter=view.jitter_us, loss_ppm=view.loss_ppm),),
                new,
                None if {here, node} in changed else "it is as new",
            )
        )
    return Question(f"Links of {here}", "Slow or lossy, not cut (c cuts).", numbered(options))


def hold(context: ActionContext) -> Question:
    """Hold messages back on one way, or let them go."""
    here = broker_address(context.the_broker.id)
    held = set(context.view.held_links)
    options: list[tuple[str, tuple[Act, ...], str, str | None]] = []
    nodes = [broker_address(other) for other in _others(context)]
    nodes += [] if context.view.voters else [CONTROLLER]
    for node in nodes:
        for pair in ((here, node), (node, here)):
            arrow = f"{pair[0]} → {pair[1]}"
            if pair in held:
                options.append((f"release {arrow}", (acts.Release(pair),), "what was held arrives now, in order", None))
            else:
                options.append((f"hold {arrow}", (acts.Hold(pair),), "messages wait until released", None))
    return Question(
        f"Messages of {here}", "Held back, not lost: a lost answer, a late request, a zombie that has not heard.", numbered(options)
    )


def controllers(context: ActionContext) -> Question:
    """Kill, start, freeze or thaw one of the dedicated controllers."""
    options: list[tuple[str, tuple[Act, ...], str, str | None]] = []
    for voter in context.view.voters:
        if voter.name.startswith("b"):
            continue
        role = "the active one" if voter.active else voter.role
        if voter.role == "stopped":
            options.append((f"start {voter.name}", (acts.StartController(voter.name),), "its log and its vote are on disk", None))
        else:
            options.append((f"kill {voter.name}", (acts.KillController(voter.name),), role, None))
            options.append((f"freeze {voter.name}", (acts.PauseController(voter.name),), role, None))
            options.append((f"thaw {voter.name}", (acts.ResumeController(voter.name),), "it believes what it believed", None))
    return Question("Controllers", "A majority must be able to talk, or the metadata stand still.", numbered(options))


def no_controllers(context: ActionContext) -> str | None:
    """Why there is no controller to act on."""
    if any(not voter.name.startswith("b") for voter in context.view.voters):
        return None
    if context.view.voters:
        return "the controllers live in broker processes here; kill or freeze the broker"
    return "this cluster has no dedicated controllers; d9-dedicated-controllers has (7 starts it)"

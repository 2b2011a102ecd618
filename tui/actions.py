"""Everything a person can do, in one registry. Keys, footer, command palette and help are made from it, nothing beside it.

An action either builds acts for the cluster, asks a question whose answers do, or calls a method of the screen. `refuse`
says why it is impossible now; then it is shown greyed, and pressed it tells the reason. No key here is one that tmux,
zellij or screen keep for themselves; the command palette has `:` beside Ctrl+P.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

import attrs

from core import acts
from core.acts import Act
from core.spec import Pace
from core.spelled_out import SpelledOut
from core.view import BrokerState
from tui import drills, effects, questions
from tui.lasting import lasting
from tui.motion import SPEEDS
from tui.questions import MIN_ISR, UNCLEAN
from tui.situation import Question, Situation

Refusal = Callable[[Situation], str | None]

SHOWN: Final = {"space": "Space", "enter": "⏎"}
"""Keys that are read otherwise than they are called, unless an action says so itself."""


def _always(situation: Situation) -> str | None:
    return None


@attrs.frozen(repr=False)
class Action(SpelledOut):
    """One thing to do.

    Attributes:
        id: its name in keymaps and tests.
        keys: Textual's names of the keys; the first is shown.
        label: two or three words for footer and palette.
        help: a sentence for the help screen.
        group: heading in the help screen.
        check: why it is impossible now, or None.
        build: makes the acts.
        ask: makes the question whose answers are acts.
        call: a method of the main screen.
        page: the screen it opens.
        effect: what it would do now, with the numbers of this moment; asked only when it is possible.
        shown: how the key is written, when that is not the key's own name.
        footer: place in the footer, lower is further left; 0: not there.
    """

    id: str
    keys: tuple[str, ...]
    label: str
    help: str
    group: str
    check: Refusal = _always
    build: Callable[[Situation], tuple[Act, ...]] | None = None
    ask: Callable[[Situation], Question] | None = None
    call: str | None = None
    page: str = ""
    effect: Callable[[Situation], str] | None = None
    shown: str = ""
    footer: int = 0

    @property
    def acts(self) -> bool:
        """Whether it does something to the cluster."""
        return self.build is not None or self.ask is not None

    def refuse(self, situation: Situation) -> str | None:
        """Why it is impossible now, or None."""
        if situation.read_only and self.acts:
            return "the session was opened read-only; without --read-only acting begins a branch"
        return self.check(situation)

    def words(self, situation: Situation) -> str:
        """What it does, and what that would mean now."""
        if self.effect is None or self.refuse(situation) is not None:
            return self.help
        return f"{self.help} Now: {self.effect(situation)}"

    @property
    def key(self) -> str:
        """The key as people read it."""
        return self.shown or SHOWN.get(self.keys[0], self.keys[0])


# --- brokers -------------------------------------------------------------------------------------------------------


def _broker(situation: Situation) -> int:
    assert situation.broker is not None
    return situation.broker.id


def _needs_process(situation: Situation) -> str | None:
    broker = situation.broker
    if broker is None:
        return "no broker is selected; choose one with ← and →"
    if broker.state is BrokerState.STOPPED:
        return f"b{broker.id} is stopped; start it with {situation.key('start')}"
    return None


def _cannot_start(situation: Situation) -> str | None:
    broker = situation.broker
    if broker is None:
        return "no broker is selected; choose one with ← and →"
    if broker.state is not BrokerState.STOPPED:
        return f"b{broker.id} already runs"
    return None


def _cannot_shut_down(situation: Situation) -> str | None:
    reason = _needs_process(situation)
    if reason is None and situation.broker is not None and situation.broker.state is not BrokerState.RUNNING:
        return f"b{situation.broker.id} is {situation.broker.state}; only a running broker shuts down in good order"
    return reason


def _needs_broker(situation: Situation) -> str | None:
    return None if situation.broker is not None else "no broker is selected; choose one with ← and →"


def _cannot_unregister(situation: Situation) -> str | None:
    broker = situation.broker
    if broker is None:
        return _needs_broker(situation)
    if effects.on_zookeeper(situation):
        return "with ZooKeeper a broker's registration goes with its session; there is nothing to unregister"
    return f"b{broker.id} is not registered" if broker.broker_epoch < 0 else None


def _freeze(situation: Situation) -> tuple[Act, ...]:
    broker = situation.broker
    assert broker is not None
    return (acts.Resume(broker.id) if broker.state is BrokerState.PAUSED else acts.Pause(broker.id),)


# --- network -------------------------------------------------------------------------------------------------------


def _nothing_to_heal(situation: Situation) -> str | None:
    return None if situation.view.cut_links else "no link is cut"


def _heal_all(situation: Situation) -> tuple[Act, ...]:
    return (acts.Heal(),)


def _isolate(situation: Situation) -> tuple[Act, ...]:
    return (acts.Isolate(f"b{_broker(situation)}"),)


# --- administration ------------------------------------------------------------------------------------------------


def _toggle_unclean(situation: Situation) -> tuple[Act, ...]:
    """Where the selected partition's topic has a value of its own, that one is changed; otherwise the cluster's."""
    topic = situation.partition.tp.topic if situation.partition is not None else None
    if topic is not None and not situation.overridden(UNCLEAN, topic):
        topic = None
    new = "false" if situation.setting(UNCLEAN, topic) else "true"
    return (acts.Set(UNCLEAN, new, topic=topic),)


def _no_unclean_election(situation: Situation) -> str | None:
    partition = situation.partition
    if partition is None:
        return "no partition is selected; choose one with ↑ and ↓"
    if not partition.offline:
        return f"{partition.tp} is led by b{partition.leader}; an unclean election is for a partition that nobody leads"
    if not any(copy.alive for copy in partition.copies):
        return f"no replica of {partition.tp} is alive; start a broker first"
    return None


def _elect_unclean(situation: Situation) -> tuple[Act, ...]:
    assert situation.partition is not None
    return (acts.Elect("unclean", situation.partition.tp),)


def _no_preferred_election(situation: Situation) -> str | None:
    if not situation.view.partitions:
        return "there is no partition"
    view = situation.view
    if lasting(view, "preferred", lambda: all(p.leader == p.replicas[0] for p in view.partitions)):
        return "every partition is led by its preferred leader already"
    return None


def _elect_preferred(situation: Situation) -> tuple[Act, ...]:
    return (acts.Elect("preferred"),)


def _needs_partition(situation: Situation) -> str | None:
    return None if situation.partition is not None else "no partition is selected; choose one with ↑ and ↓"


def _no_producer(situation: Situation) -> str | None:
    return (
        None
        if situation.view.producers
        else f"nobody produces; start a load with {situation.key('load')} or a burst with {situation.key('produce')}"
    )


def _not_by_hand(situation: Situation) -> str | None:
    if situation.pace is not Pace.BY_HAND:
        return "this cluster moves by itself; single fetches are for scenarios with pace by-hand"
    return _needs_broker(situation)


# --- time ----------------------------------------------------------------------------------------------------------


def _fastest(situation: Situation) -> str | None:
    return (
        f"{SPEEDS[-1]:g}× is the fastest; {situation.key('full-speed')} goes as fast as it can" if situation.speed >= SPEEDS[-1] else None
    )


def _slowest(situation: Situation) -> str | None:
    return f"{SPEEDS[0]:g}× is the slowest" if situation.speed <= SPEEDS[0] else None


def _nothing_before(situation: Situation) -> str | None:
    return None if situation.view.seq else "nothing has happened yet"


def _no_future(situation: Situation) -> str | None:
    return None if situation.in_the_past else f"this is the newest moment of this branch; let it play with {situation.key('play')}"


def _no_cause(situation: Situation) -> str | None:
    if situation.event is None or not (situation.page or situation.focus == "events"):
        return None if situation.partition is not None or situation.broker is not None else "there is neither broker nor partition"
    return None if situation.event[2] else "this event has no cause: it was an act, or a timer of its own"


def _only_on_a_page(situation: Situation) -> str | None:
    return None if situation.page else "filters the settings (6) and the scenarios (7)"


TIME, BROKER, NETWORK, CLUSTER, CLIENTS, SCREENS, SCREEN = "Time", "Selected broker", "Network", "Cluster", "Clients", "Screens", "Screen"

ACTIONS: Final[tuple[Action, ...]] = (
    Action("play", ("space",), "play/pause", "Let virtual time run, or hold it.", TIME, call="toggle_play", footer=1),
    Action("step", ("n", "full_stop"), "step", "Go on to the next event of any kind, and pause there.", TIME, call="step", footer=2),
    Action("step-notable", ("N", "greater_than_sign"), "next notable", "Go on to the next election, ISR change, truncation, error or loss, and pause there.", TIME, call="step_notable", footer=3),
    Action("step-back", ("comma",), "step back", "Back to before the last event or act; an act is undone by that.", TIME, _nothing_before, call="step_back", shown=",", footer=10),
    Action("step-back-notable", ("left_square_bracket",), "back notable", "Back to the notable event before.", TIME, _nothing_before, call="step_back_notable", shown="[", footer=31),
    Action("to-end", ("right_square_bracket",), "to the end", "Forward to the newest moment of this branch, through everything that was done.", TIME, _no_future, call="to_end", shown="]", footer=32),
    Action("go-to", ("g",), "go to", "Go to a virtual time (12s, 1m30s) or to an event by its number (#120).", TIME, call="go_to", footer=33),
    Action("jump", ("j",), "jump", "Go to a bookmark, to the start, or to the end of another branch.", TIME, call="jump", footer=34),
    Action("bookmark", ("B",), "bookmark", "Mark this moment with a note.", TIME, call="bookmark", footer=35),
    Action("until", ("w",), "stop when", "Play on until a condition becomes true, for example lost > 0 or isr(orders-0) < 2.", TIME, call="until", footer=36),
    Action("back-until", ("W",), "back to when", "Back to the last moment at which a condition became true.", TIME, _nothing_before, call="back_until", footer=37),
    Action("diff", ("D",), "difference", "What differs between this moment and another: a bookmark, where you were before a jump, any time or event; the compare screen is for branches.", TIME, call="diff", footer=38),
    Action("faster", ("plus", "equals_sign"), "faster", "The next higher speed, up to 1000×.", TIME, _fastest, call="faster", shown="+", footer=4),
    Action("slower", ("minus", "underscore"), "slower", "The next lower speed, down to 0.1×.", TIME, _slowest, call="slower", shown="-", footer=5),
    Action("full-speed", ("x",), "full speed", "As fast as it can; again: back to the speed before.", TIME, call="full_speed", footer=30),
    Action("kill", ("k",), "kill", "kill -9: the process is gone, its logs stay, and nobody is told.", BROKER, _needs_process, build=lambda s: (acts.Kill(_broker(s)),), effect=effects.gone, footer=6),
    Action("start", ("s",), "start", "Start the stopped broker again.", BROKER, _cannot_start, build=lambda s: (acts.Start(_broker(s)),), effect=effects.started, footer=7),
    Action("shutdown", ("d",), "shut down", "Controlled shutdown: leaderships move away first, then the process ends.", BROKER, _cannot_shut_down, build=lambda s: (acts.Shutdown(_broker(s)),), effect=effects.shut_down, footer=20),
    Action("freeze", ("z",), "freeze/thaw", "Freeze the process as a long GC pause does, or let it go on.", BROKER, _needs_process, build=_freeze, effect=effects.frozen, footer=8),
    Action("isolate", ("i",), "isolate", "Cut every link of the broker.", BROKER, _needs_broker, build=_isolate, effect=effects.isolated, footer=21),
    Action("power-loss", ("O",), "power off", "The machine loses power: what was not flushed to disk is gone, too.", BROKER, _needs_process, ask=drills.power_loss),
    Action("slow-disk", ("Z",), "slow disk", "Each write of its disk takes time from now on, or no longer.", BROKER, _needs_broker, ask=drills.slow_disk),
    Action("log-dir", ("F",), "log directory", "A log directory fails, or a failed one is replaced.", BROKER, _needs_broker, ask=drills.directories),
    Action("move-replica", ("V",), "move replica", "Move the selected partition's replica to another log directory of its broker.", BROKER, drills.cannot_move, ask=drills.move_replica),
    Action("unregister", ("A",), "unregister", "Have the controller forget the broker, as kafka-cluster unregister does: it leaves every ISR; what is assigned to it stays so.", BROKER, _cannot_unregister, build=lambda s: (acts.Unregister(_broker(s)),), effect=effects.unregistered),
    Action("cut", ("c",), "cut link", "Cut the link to another node, or heal it.", NETWORK, _needs_broker, ask=questions.cut, footer=9),
    Action("heal", ("h",), "heal all", "Heal every cut link.", NETWORK, _nothing_to_heal, build=_heal_all, effect=effects.healed, footer=19),
    Action("link", ("L",), "slow link", "Make a link to another node slow or lossy, or as it was.", NETWORK, _needs_broker, ask=drills.link_quality),
    Action("hold", ("H",), "hold messages", "Hold the messages on one way back, or let them go: a late request, a lost answer.", NETWORK, _needs_broker, ask=drills.hold),
    Action("unclean", ("u",), "unclean on/off", f"Turn {UNCLEAN} on or off: may a replica outside the ISR lead?", CLUSTER, build=_toggle_unclean, effect=effects.unclean, footer=11),
    Action("elect-unclean", ("U",), "elect unclean", "Elect a leader outside the ISR for the selected partition; what it lacks is lost.", CLUSTER, _no_unclean_election, build=_elect_unclean, effect=effects.elect_unclean, footer=23),
    Action("elect-preferred", ("e",), "elect preferred", "Give leadership back to the preferred leaders.", CLUSTER, _no_preferred_election, build=_elect_preferred, effect=effects.elect_preferred, footer=22),
    Action("reassign", ("R",), "reassign", "Move the selected partition to other replicas, change their number or their order, or give a running move up.", CLUSTER, _needs_partition, ask=drills.reassign),
    Action("delete-records", ("X",), "delete records", "Delete the selected partition's records below an offset, as kafka-delete-records does.", CLUSTER, drills.cannot_delete, ask=drills.delete_records),
    Action("create-topic", ("T",), "create topic", "Create a topic.", CLUSTER, ask=drills.create_topic),
    Action("controllers", ("M",), "controllers", "Kill, start, freeze or thaw a dedicated controller.", CLUSTER, drills.no_controllers, ask=drills.controllers),
    Action("min-isr", ("m",), "min ISR", f"Change {MIN_ISR} of the selected partition's topic.", CLUSTER, _needs_partition, ask=questions.min_isr, footer=12),
    Action("acks", ("a",), "acks", "Change a producer's acks: 0, 1 or all.", CLIENTS, _no_producer, ask=questions.acks, footer=13),
    Action("produce", ("p",), "produce", "Produce a burst of records to the selected partition.", CLIENTS, _needs_partition, ask=questions.produce, footer=14),
    Action("load", ("l",), "load", "Change or stop the steady load on the selected partition's topic.", CLIENTS, _needs_partition, ask=questions.load, footer=24),
    Action("consume", ("r",), "read", "Start or stop a consumer on the selected partition's topic.", CLIENTS, _needs_partition, ask=drills.consume),
    Action("by-hand", ("b",), "by hand", "A single fetch, answer, fencing or check of the selected broker, in a cluster that is moved by hand.", CLUSTER, _not_by_hand, ask=questions.by_hand, footer=25),
    Action("screen-overview", ("1",), "overview", "Brokers, partitions, events.", SCREENS, call="leave_page_now"),
    Action("screen-partition", ("2",), "partition", "The selected partition in full: who holds its high watermark back, what waits, its replicas' disks and logs side by side.", SCREENS, page="partition", footer=18),
    Action("screen-lane", ("3",), "messages", "The messages of the selected partition between its nodes: fetches, answers with the high watermark, elections, ISR changes.", SCREENS, page="lane", footer=19),
    Action("screen-metrics", ("4",), "metrics", "The metrics operators watch first, under their JMX names, with how they went; what is wrong stands first.", SCREENS, page="metrics", footer=43),
    Action("screen-durability", ("5",), "durability", "The durability account: lost and exposed records by partition and producer, with the event that doomed them.", SCREENS, page="durability", footer=44),
    Action("screen-settings", ("6",), "settings", "Every Kafka setting: its value and who set it, its default, what a change does; Enter edits it.", SCREENS, page="settings", footer=45),
    Action("screen-scenarios", ("7",), "scenarios", "The library by topic, with what each scenario shows; Enter starts one under the release you choose.", SCREENS, page="scenarios", footer=46),
    Action("screen-compare", ("8",), "compare", "This session beside another run in step with it: under another release, or another branch; differences are marked.", SCREENS, page="compare", footer=47),
    Action("search", ("slash",), "filter by text", "Settings, scenarios: those that have a text in their name or description.", SCREENS, _only_on_a_page, call="search", shown="/"),
    Action("back", ("escape",), "overview", "Back to the overview.", SCREENS, call="back", shown="Esc"),
    Action("cause", ("backspace", "less_than_sign"), "to its cause", "From the selected cell (leader, ISR, high watermark, LEO, broker) to the event that last changed it, and from an event to its cause; again and again.", SCREEN, _no_cause, call="to_cause", shown="<", footer=26),
    Action("filter", ("f",), "filter", "Events: notable ones, all without fetches, every one.", SCREEN, call="filter", footer=15),
    Action("follow", ("G", "end"), "follow", "Follow the newest event again.", SCREEN, call="follow", footer=27),
    Action("order", ("o",), "order", "Partitions by name, or the worst first as operators sort them.", SCREEN, call="order", footer=28),
    Action("only", ("t",), "kafka-topics filter", "Partitions: only unavailable, under-min-isr, at-min-isr or under-replicated ones, as kafka-topics tells them; then all.", SCREEN, call="only", footer=41),
    Action("zoom", ("enter",), "look closer", "The selected partition, broker or event in full.", SCREEN, call="zoom", shown="⏎", footer=29),
    Action("colours", ("C",), "colours", "Choose the palette (colour-blind-safe, high contrast, light …), or ASCII instead of glyphs.", SCREEN, call="colours"),
    Action("help", ("question_mark", "f1"), "help", "This page.", SCREEN, call="show_help", shown="?", footer=16),
    Action("palette", ("colon",), "palette", "Every action by name (Ctrl+P does the same).", SCREEN, call="palette", shown=":", footer=17),
    Action("copy", ("y",), "copy", "Copy the selected event, or the selected partition as kafka-topics --describe prints it, to the clipboard; from a closer look all that stands there.", SCREEN, call="copy", footer=40),
    Action("save", ("S",), "save", "Save the session: as a scenario script that isrlab run replays to the same events, or as an event log (.jsonl, .jsonl.zst).", SCREEN, call="save", footer=39),
    Action("picture", ("P",), "picture", "Save the screen, a dialog included, as an SVG picture in the working directory.", SCREEN, call="picture"),
    Action("quit", ("q", "ctrl+c"), "quit", "Leave; the event log, if one is written, is closed properly.", SCREEN, call="leave", footer=50),
)  # fmt: skip
"""Every action, in the order of the help screen."""

BY_ID: Final = {action.id: action for action in ACTIONS}
"""Every action by its id."""

MOVES: Final = (
    ("← →", "choose a broker"),
    ("↑ ↓", "choose a partition, or an event in the log"),
    ("Tab", "go from panel to panel: brokers, partitions, events, timeline"),
    ("← → Enter", "on the timeline: choose a mark, go there"),
    ("PgUp PgDn Home", "go further"),
    ("right click", "what can be done to a broker, or to a partition"),
)
"""Keys that only move about, for the help screen."""

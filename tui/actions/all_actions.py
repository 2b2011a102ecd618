"""The registry of all actions. The keys, the footer, the command palette, and the help are all built from this registry.

Every action has at least one key that tmux, zellij, and screen do not intercept. Terminal multiplexers can intercept Ctrl+P, so the command
palette also has the key `:`.
"""

from __future__ import annotations

from typing import Final

from core.kafka.broker.broker_state import BrokerState
from core.lab import acts
from core.lab.acts import Act
from tui.actions import admin_questions, by_hand_steps, effect_texts, fault_questions, questions, refusals
from tui.actions.action import Action
from tui.actions.context import ActionContext
from tui.actions.questions import MIN_ISR, UNCLEAN
from tui.actions.typed_act import typed_act

TIME, BROKER, NETWORK, CLUSTER, CLIENTS, HAND = "Time", "Selected broker", "Network", "Cluster", "Clients", "By hand"
SCREENS, SCREEN = "Screens", "Screen"


def _broker(context: ActionContext) -> int:
    assert context.broker is not None
    return context.broker.id


def _freeze(context: ActionContext) -> tuple[Act, ...]:
    broker = context.broker
    assert broker is not None
    return (acts.Resume(broker.id) if broker.state is BrokerState.PAUSED else acts.Pause(broker.id),)


def _heal_all(context: ActionContext) -> tuple[Act, ...]:
    return (acts.Heal(),)


def _isolate(context: ActionContext) -> tuple[Act, ...]:
    return (acts.Isolate(f"b{_broker(context)}"),)


def _toggle_unclean(context: ActionContext) -> tuple[Act, ...]:
    """Return the act that toggles unclean election.

    If the topic of the selected partition has its own setting, the act changes that setting. Otherwise, the act changes the cluster-wide
    setting.
    """
    topic = context.partition.tp.topic if context.partition is not None else None
    if topic is not None and not context.overridden(UNCLEAN, topic):
        topic = None
    new = "false" if context.setting(UNCLEAN, topic) else "true"
    return (acts.Set(UNCLEAN, new, topic=topic),)


def _elect_unclean(context: ActionContext) -> tuple[Act, ...]:
    assert context.partition is not None
    return (acts.Elect("unclean", context.partition.tp),)


def _elect_preferred(context: ActionContext) -> tuple[Act, ...]:
    return (acts.Elect("preferred"),)


ACTIONS: Final[tuple[Action, ...]] = (
    Action("play", ("space",), "play/pause", "Run or pause virtual time.", TIME, refusals.time_stands, call="toggle_play", footer=1),
    Action("step", ("n", "full_stop"), "step", "Advance to the next event of any kind, and pause there.", TIME, call="step", footer=2),
    Action(
        "step-notable", ("N", "greater_than_sign"), "next notable",
        "Advance to the next election, ISR change, truncation, error, or loss, and pause there.", TIME, call="step_notable", footer=3,
    ),
    Action(
        "step-back", ("comma",), "step back", "Go back to just before the last event or act. If it was an act, it is undone.", TIME, refusals.nothing_before,
        call="step_back", shown=",", footer=10,
    ),
    Action(
        "step-back-notable", ("left_square_bracket",), "back notable", "Go back to the previous notable "
            "event.", TIME, refusals.nothing_before,
        call="step_back_notable", shown="[", footer=31,
    ),
    Action(
        "to-end", ("right_square_bracket",), "to the end", "Go to the latest moment of this branch, and replay all acts on the way.",
        TIME, refusals.no_future, call="to_end", shown="]", footer=32,
    ),
    Action(
        "go-to", ("g",), "go to", "Go to a virtual time (12s, 1m30s), or to an event by its number (#120).", TIME, call="go_to", footer=33,
    ),
    Action(
        "undo", ("left_curly_bracket",), "undo", "Go back to just before the last act. If you then act, a new branch starts, and the old branch is kept.",
        TIME, refusals.nothing_done, call="undo", shown="{", footer=32,
    ),
    Action(
        "redo", ("right_curly_bracket",), "redo", "Redo the next act of this branch: go forward to just after "
            "it.", TIME, refusals.nothing_undone,
        call="redo", shown="}", footer=33,
    ),
    Action("jump", ("j",), "jump", "Go to a bookmark, to the start, or to the end of another branch.", TIME, call="jump", footer=34),
    Action("bookmark", ("B",), "bookmark", "Mark this moment with a note.", TIME, call="bookmark", footer=35),
    Action(
        "until", ("w",), "stop when", "Play until a condition becomes true, for example lost > 0 or isr(orders-0) < 2.", TIME,
        call="until", footer=36,
    ),
    Action(
        "back-until", ("W",), "back to when", "Go back to the last moment at which a condition became true.", TIME, refusals.nothing_before,
        call="back_until", footer=37,
    ),
    Action(
        "diff", ("D",), "difference",
        "Show the differences between this moment and another: a bookmark, the moment before a jump, a time, or an event.", TIME, call="diff", footer=38,
    ),
    Action(
        "faster", ("plus", "equals_sign"), "faster", "Use the next higher speed, up to 1000×.", TIME, refusals.fastest, call="faster", shown="+",
        footer=4,
    ),
    Action(
        "slower", ("minus", "underscore"), "slower", "Use the next lower speed, down to 0.1×.", TIME, refusals.slowest, call="slower", shown="-",
        footer=5,
    ),
    Action("full-speed", ("x",), "full speed", "Run as fast as possible. Press again to return to the previous "
        "speed.", TIME, call="full_speed", footer=30),
    Action(
        "kill", ("k",), "kill", "Kill the broker's process (kill -9). Its logs remain, and the controller is not "
            "notified.", BROKER, refusals.needs_process,
        build=lambda s: (acts.Kill(_broker(s)),), effect=effect_texts.gone, footer=6,
    ),
    Action(
        "start", ("s",), "start", "Start the stopped broker again.", BROKER, refusals.cannot_start, build=lambda s: (acts.Start(_broker(s)),),
        effect=effect_texts.started, footer=7,
    ),
    Action(
        "shutdown", ("d",), "shut down", "Shut the broker down cleanly: its partitions first get new leaders; then the process "
            "stops.", BROKER,
        refusals.cannot_shut_down, build=lambda s: (acts.Shutdown(_broker(s)),), effect=effect_texts.shut_down, footer=20,
    ),
    Action(
        "freeze", ("z",), "freeze/thaw", "Freeze the process, as a long GC pause does, or let it continue.", BROKER, refusals.needs_process,
        build=_freeze, effect=effect_texts.frozen, footer=8,
    ),
    Action(
        "isolate", ("i",), "isolate", "Cut all of the broker's links.", BROKER, refusals.needs_broker, build=_isolate, effect=effect_texts.isolated,
        footer=21,
    ),
    Action(
        "power-loss", ("O",), "power off", "Cut the power to the broker's machine. Records that are not flushed to disk can be "
            "lost.", BROKER, refusals.needs_process,
        ask=fault_questions.power_loss,
    ),
    Action(
        "slow-disk", ("Z",), "slow disk", "Slow down the broker's disk writes, or restore their normal speed.", BROKER, refusals.needs_broker,
        ask=fault_questions.slow_disk,
    ),
    Action(
        "log-dir", ("F",), "log directory", "Make a log directory fail, or replace a failed one.", BROKER, refusals.needs_broker,
        ask=fault_questions.directories,
    ),
    Action(
        "move-replica", ("V",), "move replica", "Move the selected partition's replica to another log directory of its broker.", BROKER,
        admin_questions.cannot_move, ask=admin_questions.move_replica,
    ),
    Action(
        "unregister", ("A",), "unregister",
        "Unregister the broker, as kafka-cluster unregister does. It is removed from ISRs, but its replicas remain assigned to it.",
        BROKER, refusals.cannot_unregister, build=lambda s: (acts.Unregister(_broker(s)),), effect=effect_texts.unregistered,
    ),
    Action("cut", ("c",), "cut link", "Cut the link to another node, or heal it.", NETWORK, refusals.needs_broker, ask=questions.cut, footer=9),
    Action(
        "heal", ("h",), "heal all", "Heal every cut link.", NETWORK, refusals.nothing_to_heal, build=_heal_all, effect=effect_texts.healed, footer=19,
    ),
    Action(
        "link", ("percent_sign",), "slow link", "Make a link to another node slow or lossy, or restore it.", NETWORK, refusals.needs_broker,
        ask=fault_questions.link_quality, shown="%",
    ),
    Action(
        "hold", ("H",), "hold messages", "Hold back the messages in one direction of a link, or release them, for example to "
            "make a request arrive late.", NETWORK,
        refusals.needs_broker, ask=fault_questions.hold,
    ),
    Action(
        "zones", ("at",), "zones", "Cut the power of a zone, cut its links, or restore it.", NETWORK, fault_questions.no_zones, ask=fault_questions.zones,
        shown="@", tags=("data center", "availability zone", "region", "rack", "site", "stretch cluster"),
    ),
    Action(
        "unclean", ("u",), "unclean on/off", f"Turn {UNCLEAN} on or off. While it is on, a replica outside the ISR can become leader.", CLUSTER,
        build=_toggle_unclean, effect=effect_texts.unclean, footer=11,
    ),
    Action(
        "elect-unclean", ("U",), "elect unclean", "Elect a leader from outside the ISR for the selected partition only. "
            "Records that the new leader lacks are lost.",
        CLUSTER, refusals.no_unclean_election, build=_elect_unclean, effect=effect_texts.elect_unclean, footer=23,
    ),
    Action(
        "elect-preferred", ("e",), "elect preferred", "Make the preferred leaders lead again.", CLUSTER, refusals.no_preferred_election,
        build=_elect_preferred, effect=effect_texts.elect_preferred, footer=22,
    ),
    Action(
        "reassign", ("R",), "reassign",
        "Move the selected partition to other replicas, change their number or order, or cancel a running move.", CLUSTER,
        refusals.needs_partition, ask=admin_questions.reassign,
    ),
    Action(
        "delete-records", ("X",), "delete records",
        "Delete the selected partition's records below an offset, as kafka-delete-records does.", CLUSTER, admin_questions.cannot_delete,
        ask=admin_questions.delete_records,
    ),
    Action(
        "act", ("semicolon",), "any act", "Enter any act in the notation of scripts, for example begin-transaction: {producer: app}.", CLUSTER,
        ask=typed_act, shown=";", footer=25,
    ),
    Action("create-topic", ("T",), "create topic", "Create a topic.", CLUSTER, ask=admin_questions.create_topic),
    Action(
        "controllers", ("M",), "controllers", "Kill, start, freeze, or thaw a dedicated controller.", CLUSTER, fault_questions.no_controllers,
        ask=fault_questions.controllers,
    ),
    Action(
        "min-isr", ("m",), "min ISR", f"Change {MIN_ISR} of the selected partition's topic.", CLUSTER, refusals.needs_partition,
        ask=questions.min_isr, footer=12,
    ),
    Action("acks", ("a",), "acks", "Change a producer's acks: 0, 1, or all.", CLIENTS, refusals.no_producer, ask=questions.acks, footer=13),
    Action(
        "produce", ("p",), "produce", "Produce a burst of records to the selected partition.", CLIENTS, refusals.needs_partition,
        ask=questions.produce, footer=14,
    ),
    Action(
        "load", ("l",), "load", "Change or stop the steady load on the selected partition's topic.", CLIENTS, refusals.needs_partition,
        ask=questions.load, footer=24,
    ),
    Action(
        "consume", ("r",), "read", "Start or stop a consumer on the selected partition's topic.", CLIENTS, refusals.needs_partition,
        ask=admin_questions.consume,
    ),
    Action(
        "by-hand", ("b",), "by hand",
        "Step the cluster by hand, or let it run automatically again. If the pace is by-hand, virtual time is paused, and "
        "followers fetch and clients produce only when you tell them to.", HAND, by_hand_steps.cannot_toggle, build=by_hand_steps.toggle, effect=by_hand_steps.toggled, footer=25,
    ),
    Action(
        "by-hand-round", ("v",), "fetch round",
        "If the pace is by-hand, deliver the fetches of the selected partition's followers to its leader, which answers each "
        "fetch with the number of records that you enter.",
        HAND, by_hand_steps.no_round, ask=by_hand_steps.fetch_round, footer=26,
    ),
    Action(
        "by-hand-step", ("E",), "single step",
        "If the pace is by-hand, run a single step of the selected broker: a fetch, arrival, answer, lost answer, fencing, restart, checkpoint, or ISR check.", HAND,
        by_hand_steps.no_step, ask=by_hand_steps.step, footer=27,
    ),
    Action("screen-overview", ("1",), "overview", "Show brokers, partitions, and events.", SCREENS, call="leave_page_now"),
    Action(
        "screen-partition", ("2",), "partition",
        "Show the selected partition in detail: the replicas that hold back its high watermark, the waiting requests, and the "
        "replicas' disks and logs side by side. Press Enter to see segment files and how Kafka looks up an offset in them.",
        SCREENS, page="partition", footer=18, tags=("replica details", "segments", "log files", "requests in purgatory"),
    ),
    Action(
        "screen-lane", ("3",), "messages",
        "Show the messages between the selected partition's nodes: fetches, answers with the high watermark, elections, and ISR changes.",
        SCREENS, page="lane", footer=19, tags=("sequence diagram", "requests", "messages in flight", "lanes", "traffic"),
    ),
    Action(
        "screen-metrics", ("4",), "metrics",
        "Show the metrics that operators watch first, with their JMX names and history. Metrics with problems come first.", SCREENS,
        page="metrics", footer=43, tags=("JMX", "dashboard", "graphs", "monitoring", "UnderReplicatedPartitions"),
    ),
    Action(
        "screen-durability", ("5",), "durability",
        "Show the durability account: lost and exposed records by partition and producer, with the event that caused each loss.", SCREENS,
        page="durability", footer=44, tags=("lost records", "data loss", "durability account"),
    ),
    Action(
        "screen-settings", ("6",), "settings",
        "Show every Kafka setting: its value, where it is set, its default, and the effect of changing it. Press Enter to edit "
        "a setting.", SCREENS, page="settings",
        footer=45, tags=("configuration", "config", "change a setting", "defaults"),
    ),
    Action(
        "screen-scenarios", ("7",), "scenarios",
        "Show the scenarios of the library by topic, each with a description. Press Enter to start a scenario under the release "
        "that you choose.", SCREENS, page="scenarios",
        footer=46, tags=("library", "examples", "start a scenario"),
    ),
    Action(
        "screen-compare", ("8",), "compare",
        "Show this session beside up to three other runs of the same script and acts: with other settings, under another release, or another "
        "branch. Differences and what clients felt are marked.", SCREENS,
        page="compare", footer=47, tags=("side by side", "differences", "compare settings", "compare releases", "compare runs", "what if"),
    ),
    Action(
        "what-if", ("ampersand",), "what if", "Compare this session with a run in which a setting is different, for example min.insync.replicas=1 or "
        "acks=0,all. The run performs the acts of the session, and goes on and back with it.", SCREENS, call="what_if", shown="&", footer=52,
        tags=("compare settings", "another setting"),
    ),
    Action(
        "screen-transactions", ("9",), "transactions",
        "Show the transactions: the state of each transactional ID, and the partitions whose last stable offset (LSO) a transaction "
        "holds back. For a hanging transaction, the command that aborts it is also shown.", SCREENS,
        page="transactions", footer=48, tags=("LSO", "hanging transaction", "abort"),
    ),
    Action(
        "trace", ("I",), "trace a record",
        "Show the history of a record, for example orders-0@137: its producer, batch, and attempts, each replica that got it, its commit and "
        "acknowledgment, who read it, its transaction, and what removed it.", SCREENS, refusals.needs_partition, call="trace", footer=49,
    ),
    Action(
        "screen-groups", ("0",), "groups",
        "Show the consumer groups: who owns each partition, what is stalled and until when, committed offsets and lags, the lag over the last "
        "minute, and the rebalances.", SCREENS,
        page="groups", footer=51, tags=("consumer lag", "members", "assignments"),
    ),
    Action(
        "screen-lessons", ("L",), "lessons",
        "Show the lessons: guided sessions of a few minutes that ask what will happen before it happens. Press Enter to start one.", SCREENS,
        page="lessons", footer=46, tags=("tutorial", "learn", "course", "guided", "acks table"),
    ),
    Action(
        "screen-topology", ("asterisk",), "topology",
        "Show a picture of the cluster: controllers, brokers by zone, clients, links that are cut or slow, the messages that are under way, and what "
        "each node waits for. Press Enter to open the screen of the selected node.", SCREENS,
        page="topology", shown="*", footer=45, tags=("picture", "diagram", "network", "links", "zones", "graph of the cluster"),
    ),
    Action(
        "screen-map", ("number_sign",), "map",
        "Show all partitions as a map, colored by state: offline, unserved, under min ISR, stalled, under-replicated, moving, or healthy. Press "
        "Enter to look closer, and f to list only the partitions with a problem.", SCREENS,
        page="map", shown="#", footer=45, tags=("heat map", "heatmap", "all partitions", "many partitions", "grid"),
    ),
    Action(
        "screen-explore", ("exclamation_mark",), "explore",
        "Search for what can go wrong from this moment: the fewest faults that make a condition true, such as lost > 0. The search runs beside the "
        "session, and its screen lists what it finds. Press Enter there to play it on a branch, e for the evidence, s to save the script, and ! for "
        "another search.", SCREENS, refusals.time_stands, call="explore", shown="!", footer=45,
    ),
    Action(
        "search", ("slash",), "find",
        "Filter partitions, brokers, and events by name, number, or state (b55, offline, orders-), and "
        "settings and scenarios by name or description. Esc clears the filter.", SCREENS, call="search", shown="/", footer=18,
    ),
    Action("back", ("escape",), "overview", "Return to the overview. On the overview, clear the "
        "filter. While isrlab searches, goes to a moment, or runs a copy for an answer: cancel that.", SCREENS, call="back", shown="Esc"),
    Action(
        "cause", ("backspace", "less_than_sign"), "to its cause",
        "Go from the selected cell (leader, ISR, high watermark, LEO, broker) to the event that last changed it, or from an "
        "event to its cause. Press repeatedly to follow the chain.", SCREEN, refusals.no_cause, call="to_cause", shown="<", footer=26,
    ),
    Action(
        "ask", ("Q",), "ask", "Ask about this cluster: which brokers may be stopped, who holds back the high watermark, what a setting promises.", SCREEN,
        call="ask", footer=44,
    ),
    Action("filter", ("f",), "filter", "Switch the event log between notable events, all events except fetches, and every "
        "event.", SCREEN, call="filter", footer=15),
    Action("follow", ("G", "end"), "follow", "Follow the newest event again.", SCREEN, call="follow", footer=27),
    Action("order", ("o",), "order", "Sort partitions by name or by severity, and go to the top of the "
        "list.", SCREEN, call="order", footer=28),
    Action(
        "only", ("t",), "kafka-topics filter",
        "Show all partitions or, as kafka-topics does, only unavailable, under-min-isr, at-min-isr, or under-replicated partitions.", SCREEN,
        call="only", footer=41,
    ),
    Action(
        "zoom", ("enter",), "look closer", "Show the selected partition, broker, or event in full. A line with ▸ opens a group "
            "of events.", SCREEN,
        call="zoom", shown="⏎", footer=29,
    ),
    Action(
        "colors", ("C",), "colors", "Choose a palette (color-blind-safe, high contrast, light …), or use ASCII instead of glyphs.", SCREEN,
        call="colors",
    ),
    Action("help", ("question_mark", "f1"), "help", "Show this page.", SCREEN, call="show_help", shown="?", footer=16),
    Action(
        "glossary", ("K",), "terms and symbols",
        "Explain HW, LEO, ISR, ELR, epochs, min ISR, unclean election, and all symbols, for this "
        "release.", SCREEN, call="show_glossary", footer=42,
    ),
    Action("palette", ("colon",), "palette", "Find any action, partition, broker, or glossary term by name (Ctrl+P does the "
        "same).", SCREEN, call="palette", shown=":", footer=17),
    Action(
        "copy", ("y",), "copy",
        "Copy to the clipboard: the selected event, or the selected partition as kafka-topics --describe prints it. In a "
        "detail view, copy the whole text.", SCREEN, call="copy", footer=40,
    ),
    Action(
        "save", ("S",), "save",
        "Save the session as a scenario script (isrlab run then reproduces the same events) or as an event log (.jsonl, .jsonl.zst).",
        SCREEN, call="save", footer=39,
    ),
    Action(
        "share", ("Y",), "share", "Copy the session as one line that anyone can paste after isrlab play: the cluster, the seed, and your acts.", SCREEN,
        call="share",
    ),
    Action(
        "picture", ("P",), "picture", "Save the screen, including any dialog, as an SVG picture in the working directory.", SCREEN,
        call="picture",
    ),
    Action(
        "quit", ("q", "ctrl+c"), "quit", "Quit. If there are unsaved acts, the playground asks first. If an event log is being "
            "written, it is completed.", SCREEN, call="leave", footer=50,
    ),
)  # fmt: skip
"""Every action, in the order of the help screen."""

BY_ID: Final = {action.id: action for action in ACTIONS}
"""Every action by its id."""

MOVES: Final = (
    ("← →", "choose a broker"),
    ("↑ ↓", "choose a partition, or an event in the log"),
    ("Tab", "move between panels: brokers, partitions, events, timeline"),
    ("← → Enter", "on the timeline: choose a mark and go to it"),
    ("PgUp PgDn Home", "scroll"),
    ("Ctrl+Z", "suspend the playground; the shell command fg resumes it"),
    ("right click", "open a menu of actions for a broker or a partition"),
)
"""Navigation keys for the help screen, each with a description."""

"""The main screen. Each frame it moves the session on, takes one frozen view, and hands every panel its part of it.

While nothing moves, its timer is stopped and nothing is written to the terminal; a key makes one frame.
"""

from __future__ import annotations

import gc
import time
from typing import ClassVar, Final

import attrs
from textual import events
from textual.app import ComposeResult
from textual.binding import Binding
from textual.geometry import Region
from textual.strip import Strip

from core.acts import Act
from core.errors import ActRefused, KafkaError
from core.ids import TopicPartition
from core.journal.events import DETAIL, NORMAL, NOTABLE
from core.spec import Pace
from core.view import BrokerState, ClusterView
from tui import dialogs
from tui.actions import ACTIONS, BY_ID, Action
from tui.keeping import Keeping
from tui.layout import Layout, SizeClass, arrange, size_class
from tui.palette import Palette
from tui.panels.account import AccountPanel
from tui.panels.brokers import Brokers
from tui.panels.events import EventLog
from tui.panels.footer import Footer, Hint, Note
from tui.panels.grid import Grid
from tui.panels.header import Clock, Header, speed_word
from tui.panels.inspector import Inspector, paint_broker, paint_event_detail, paint_partition
from tui.panels.lines import Lines
from tui.panels.minimal import Minimal
from tui.panels.scenario import ScenarioPanel, paint_scenario
from tui.rows import blank, rule
from tui.screen import MainScreen
from tui.session import AS_FAST_AS_IT_CAN
from tui.situation import Option, Question, Situation
from tui.target import Stage
from tui.travel import Travel

FRAMES: Final = 20
"""Frames per second while it moves."""

NOTE_SECONDS: Final = 5.0
"""How long a message stays in the footer."""

_LEVELS: Final = (NOTABLE, NORMAL, DETAIL)
_FOCUS_KEYS: Final = ("up", "down", "left", "right", "pageup", "pagedown", "home")
_SHORTER: Final = {"step-notable": "notable", "unclean": "unclean", "cut": "cut"}
_FOOTER: Final = tuple(sorted((a for a in ACTIONS if a.footer and a.id not in ("help", "quit")), key=lambda a: a.footer))


class Board(Travel, Keeping, MainScreen):
    """The screen that lives."""

    HORIZONTAL_BREAKPOINTS = [(0, "-narrow"), (80, "-small"), (100, "-medium"), (160, "-wide")]  # noqa: RUF012
    BINDINGS: ClassVar = [
        *(Binding(",".join(a.keys), f"do('{a.id}')", a.label, show=False, id=a.id, tooltip=a.help) for a in ACTIONS),
        *(Binding(key, f"move('{key}')", show=False) for key in _FOCUS_KEYS),
    ]

    def __init__(self, stage: Stage, paint: Palette) -> None:
        super().__init__()
        session = self.session = stage.session
        self.stage = stage
        self.left = []
        self.paint = paint
        self.pace = stage.pace
        self._title = stage.title
        self._seed = stage.seed
        self._scenario = stage.scenario
        self._notes = stage.notes
        self._broker: int | None = None
        self._partition: TopicPartition | None = None
        self._worst_first = False
        self._note: Note | None = None
        self._note_number = 0
        self._before_full = 1.0
        self._last_frame = 0.0
        self._frames = 0
        self._layout_now: Layout | None = None
        self.view: ClusterView = session.view()

    # --- the panels ------------------------------------------------------------------------------------------------

    def compose(self) -> ComposeResult:
        """Every panel; `arrange` says which of them stand where."""
        paint = self.paint
        self.header = Header(paint, id="header")
        self.brokers = Brokers(paint, id="brokers")
        self.grid = Grid(paint, id="grid")
        self.events = EventLog(paint, self.session.rings.of(NOTABLE), id="events")
        self.inspector = Inspector(paint, id="inspector")
        self.expected = ScenarioPanel(paint, id="scenario")
        self.account = AccountPanel(paint, id="account")
        self.minimal = Minimal(paint, id="minimal")
        self.footer = Footer(paint, id="footer")
        yield from (
            self.header, self.brokers, self.grid, self.events, self.inspector, self.expected, self.account, self.minimal, self.footer,
        )  # fmt: skip

    def on_mount(self) -> None:
        """Start the frames."""
        self._choose_something()
        self._timer = self.set_interval(1 / FRAMES, self._frame, pause=True)
        self.grid.focus()
        self._rearrange()
        if self._notes:
            more = f" (and {len(self._notes) - 1} more)" if len(self._notes) > 1 else ""
            self.say(self._notes[0] + more, refused=True)
        self._run_or_rest()

    def on_resize(self, event: events.Resize) -> None:
        """Lay out anew."""
        self._rearrange()

    def on_descendant_focus(self) -> None:
        """Another panel has the keys."""
        self._rearrange()

    def _rearrange(self) -> None:
        width, height = self.app.size
        view = self.view
        layout = arrange(
            width,
            height,
            brokers=len(view.brokers),
            partitions=len(view.partitions),
            replicas=max((len(p.copies) for p in view.partitions), default=1),
            scenario=self._scenario() is not None,
        )
        if layout.shared:
            on_events = self.events.has_focus and self.events.selected is not None
            layout = attrs.evolve(
                layout, inspector=layout.inspector if on_events else None, scenario=None if on_events else layout.scenario
            )
        if layout != self._layout_now:
            self._layout_now = layout
            self.brokers.cards = layout.cards
            self.account.headline = layout.account_headline
            with self.app.batch_update():
                places: tuple[tuple[Lines, Region | None], ...] = (
                    (self.header, layout.header), (self.brokers, layout.brokers), (self.grid, layout.grid), (self.events, layout.events),
                    (self.inspector, layout.inspector), (self.expected, layout.scenario), (self.account, layout.account),
                    (self.minimal, layout.minimal), (self.footer, layout.footer),
                )  # fmt: skip
                for panel, region in places:
                    panel.place(region)
        self.show_now()

    # --- frames ----------------------------------------------------------------------------------------------------

    def _frame(self) -> None:
        now = time.perf_counter()
        wall, self._last_frame = now - self._last_frame, now
        self.session.frame(wall)
        self.view = self.session.view()
        self._use_rings()
        self.show_now()
        self._frames += 1
        if not gc.isenabled():
            gc.collect(0 if self._frames % 64 else 1)
        if not self.session.moving:
            self._run_or_rest()

    def _run_or_rest(self) -> None:
        """Frames run while something moves, and no longer."""
        if self.session.moving:
            self._last_frame = time.perf_counter()
            self._timer.resume()
        else:
            self._timer.pause()
            if not gc.isenabled():
                gc.collect(1)

    def refresh_view(self) -> None:
        """Take a new view now and show it."""
        self.view = self.session.view()
        self._use_rings()
        self._choose_something()
        self.show_now()
        self._run_or_rest()

    def _use_rings(self) -> None:
        """After a way through time the events stand in other rings."""
        ring = self.session.rings.of(self.events.level)
        if self.events.ring is not ring:
            self.events.use(ring, self.events.level)
            self._choose_something()

    @property
    def chosen(self) -> TopicPartition | None:
        """The selected partition."""
        return self._partition

    def _choose_something(self) -> None:
        """Something is always selected, as long as there is anything."""
        if self._broker not in {b.id for b in self.view.brokers}:
            self._broker = self.view.brokers[0].id if self.view.brokers else None
        if self._partition not in {p.tp for p in self.view.partitions}:
            self._partition = min((p.tp for p in self.view.partitions), default=None)

    def show_now(self) -> None:
        """Hand every panel that stands somewhere its part of the view."""
        layout, view = self._layout_now, self.view
        if layout is None:
            return
        session = self.session
        state = self._scenario() if layout.scenario is not None else None
        with self.app.batch_update():
            self.header.update(
                Clock(
                    view.now,
                    session.playing,
                    session.speed,
                    session.reached,
                    session.seeking,
                    view.release,
                    self._seed,
                    self._title,
                    session.course.finished,
                    progress=session.progress,
                    branch=session.branch.name if len(session.branches) > 1 else "",
                    past=session.end.time - view.now if session.in_the_past else -1,
                )
            )
            self.footer.update(self._hints(), self._note)
            if layout.size is SizeClass.MINIMAL:
                ring = session.rings.of(NOTABLE)
                self.minimal.update(view, ring.at(ring.total - 1) if ring.total else None, self._broker)
                return
            self.brokers.update(view, selected=self._broker, note=self._settings_note(), heartbeats=self.pace is not Pace.BY_HAND)
            self.grid.update(
                view,
                worst_first=self._worst_first,
                partition=self._partition,
                broker=self._broker,
                note="worst first" if self._worst_first else "",
            )
            self.events.update()
            if layout.inspector is not None:
                title, content, note = self._selected_in_full(layout.inspector.width)
                self.inspector.update(title, content, note)
            if state is not None:
                self.expected.update(state)
            if layout.account is not None:
                self.account.update(view)

    def _settings_note(self) -> str:
        topic = self._partition.topic if self._partition is not None else None
        unclean = self.session.cluster.settings.get("unclean.leader.election.enable", topic=topic)
        return f"unclean election {'ON' if unclean else 'off'}"

    def _selected_in_full(self, width: int) -> tuple[str, list[Strip], str]:
        """Headline, lines and note of what is selected in the panel that has the keys."""
        situation = self.situation()
        if self._layout_now is not None and self._layout_now.size is SizeClass.WIDE and not self._layout_now.scenario:
            return self._everything_in_full(situation, width)
        if situation.focus == "events" and situation.event is not None:
            return (
                "Why",
                paint_event_detail(situation.event, self.session.rings.find, self.paint, width),
                "< to its cause" if situation.event[2] else "",
            )
        if situation.focus == "brokers" and situation.broker is not None:
            return f"Broker b{situation.broker.id}", paint_broker(situation.broker, self.view, self.paint, width), ""
        if situation.partition is not None:
            return "Partition", paint_partition(situation.partition, self.view, self.paint, width), ""
        return "Nothing selected", [], ""

    def _everything_in_full(self, situation: Situation, width: int) -> tuple[str, list[Strip], str]:
        """Where there is room: partition, broker and event below each other; without a selected event the last notable one."""
        paint, view = self.paint, self.view
        lines: list[Strip] = []

        def section(title: str, content: list[Strip], note: str = "") -> None:
            lines.extend([blank(width), rule(title, note, width, paint.title, paint.faint, paint.muted), *content])

        if situation.partition is not None:
            lines += paint_partition(situation.partition, view, paint, width)
        if situation.broker is not None:
            section(f"Broker b{situation.broker.id}", paint_broker(situation.broker, view, paint, width))
        ring = self.session.rings.of(NOTABLE)
        event = situation.event if situation.event is not None else ring.at(ring.total - 1) if ring.total else None
        if event is not None:
            section(
                "Why",
                paint_event_detail(event, self.session.rings.find, paint, width),
                "selected event" if situation.event is not None else "last notable event",
            )
        return "Partition", lines, ""

    def situation(self) -> Situation:
        """What actions are decided on."""
        view, settings = self.view, self.session.cluster.settings
        focus = "events" if self.events.has_focus else "brokers" if self.brokers.has_focus else "grid"
        return Situation(
            view=view,
            broker=next((b for b in view.brokers if b.id == self._broker), None),
            partition=next((p for p in view.partitions if p.tp == self._partition), None),
            event=self.events.selected,
            focus=focus,
            playing=self.session.playing,
            speed=self.session.speed,
            pace=self.pace,
            in_the_past=self.session.in_the_past,
            setting=lambda name, topic: settings.get(name, topic=topic),
            overridden=lambda name, topic: any(name == own for t in view.topics if t.name == topic for own, _ in t.config),
        )

    def _hints(self) -> tuple[Hint, ...]:
        situation = self.situation()
        wanted = list(_FOOTER)
        if situation.focus == "events":
            wanted.sort(key=lambda a: a.id not in ("play", "step", "step-notable", "filter", "cause", "follow", "zoom"))
        chosen = [a for a in wanted if a.id != "by-hand" or self.pace is Pace.BY_HAND]
        if self.pace is Pace.BY_HAND:
            chosen.sort(key=lambda a: a.id != "by-hand")
        hints = [self._hint(a, situation) for a in (*chosen, BY_ID["help"], BY_ID["quit"])]
        return tuple(hint for hint in hints if hint is not None)

    def _hint(self, action: Action, situation: Situation) -> Hint | None:
        """An action in the footer: what it would do now in one word, the two speed keys as one."""
        possible = action.refuse(situation) is None
        if action.id == "slower":
            return None
        label = action.label
        if action.id == "play":
            label = "pause" if self.session.moving else "play"
        elif action.id == "freeze":
            label = "thaw" if situation.broker is not None and situation.broker.state is BrokerState.PAUSED else "freeze"
        elif action.id == "faster":
            return Hint(action.id, "+-", "speed", True)
        elif action.id in _SHORTER:
            label = _SHORTER[action.id]
        return Hint(action.id, action.key, label, possible)

    # --- messages --------------------------------------------------------------------------------------------------

    def say(self, text: str, *, refused: bool = False) -> None:
        """Show a message in the footer for a moment."""
        self._note = Note(text, refused)
        self._note_number += 1
        number = self._note_number
        self.set_timer(NOTE_SECONDS, lambda: self._unsay(number))
        self.show_now()

    def _unsay(self, number: int) -> None:
        if number == self._note_number and self._note is not None:
            self._note = None
            self.show_now()

    # --- selecting -------------------------------------------------------------------------------------------------

    def action_move(self, key: str) -> None:
        """An arrow: brokers sideways, partitions or events up and down."""
        if key in ("left", "right"):
            self._move_broker(1 if key == "right" else -1)
        elif self.events.has_focus:
            page = max(1, self.events.box.height - 2)
            self.events.move({"up": -1, "down": 1, "pageup": -page, "pagedown": page, "home": -self.events.ring.total}[key])
        elif self.brokers.has_focus and key == "down":
            self.grid.focus()
        else:
            page = max(1, self.grid.box.height - 3)
            self._move_partition({"up": -1, "down": 1, "pageup": -page, "pagedown": page, "home": -len(self.view.partitions)}[key])
        self.show_now()

    def _move_broker(self, by: int) -> None:
        ids = [b.id for b in self.view.brokers]
        if ids:
            at = ids.index(self._broker) if self._broker in ids else 0
            self._broker = ids[(at + by) % len(ids)]

    def _move_partition(self, by: int) -> None:
        order = [p.tp for p in self.grid.order]
        if order:
            at = order.index(self._partition) if self._partition in order else 0
            self._partition = order[max(0, min(len(order) - 1, at + by))]

    def on_brokers_picked(self, message: Brokers.Picked) -> None:
        """A broker was clicked."""
        self._broker = message.broker
        self.show_now()

    def on_grid_picked(self, message: Grid.Picked) -> None:
        """A cell was clicked."""
        self._partition = message.partition
        if message.broker is not None:
            self._broker = message.broker
        self.show_now()

    def on_event_log_picked(self, message: EventLog.Picked) -> None:
        """Another event is selected: what it is about is selected too."""
        self._rearrange()

    def on_footer_chosen(self, message: Footer.Chosen) -> None:
        """A hint was clicked."""
        self.action_do(message.action)

    # --- acting ----------------------------------------------------------------------------------------------------

    def action_do(self, name: str) -> None:
        """Do the action of that id, or say why not."""
        action = BY_ID[name]
        situation = self.situation()
        reason = action.refuse(situation)
        if reason is not None:
            self.say(reason, refused=True)
        elif action.call is not None:
            getattr(self, f"_{action.call}")()
        elif action.ask is not None:
            self._ask(action, action.ask(situation))
        elif action.build is not None:
            self._carry_out(action.build(situation))

    def _ask(self, action: Action, question: Question) -> None:
        def answered(option: Option | None) -> None:
            if option is None:
                return
            if option.refused is not None:
                self.say(f"{option.label}: {option.refused}", refused=True)
            else:
                self._carry_out(option.acts)

        self.app.push_screen(dialogs.Ask(question, self.paint), answered)

    def _carry_out(self, wanted: tuple[Act, ...]) -> None:
        said, branch = "", self.session.branch
        for act in wanted:
            try:
                seq = self.session.do(act)
            except (ActRefused, KafkaError, ValueError) as refusal:
                self.refresh_view()
                self.say(str(refusal), refused=True)
                return
            said = self.session.tell(seq) or act.word
        if self.session.branch is not branch:
            said = f"{said}; you are on {self.session.branch.name} now, {branch.name} keeps the old future (j)"
        self.refresh_view()
        self.say(said)

    def _toggle_play(self) -> None:
        if self.session.moving:
            self.session.pause()
        else:
            self.session.play()
        self.refresh_view()

    def _step(self) -> None:
        self.session.step()
        self.refresh_view()

    def _step_notable(self) -> None:
        self.session.step_to_notable()
        self.refresh_view()

    def _faster(self) -> None:
        self.session.faster()
        self.show_now()

    def _slower(self) -> None:
        self.session.slower()
        self.show_now()

    def _full_speed(self) -> None:
        if self.session.speed == AS_FAST_AS_IT_CAN:
            self.session.set_speed(self._before_full)
            self.say(f"back to {speed_word(self.session.speed)}")
        else:
            self._before_full = self.session.speed
            self.session.set_speed(AS_FAST_AS_IT_CAN)
            self.say("as fast as it can; x again goes back")

    def _filter(self) -> None:
        level = _LEVELS[(_LEVELS.index(self.events.level) + 1) % len(_LEVELS)]
        self.events.use(self.session.rings.of(level), level)
        self.show_now()

    def _follow(self) -> None:
        self.events.follow()
        self.show_now()

    def _order(self) -> None:
        self._worst_first = not self._worst_first
        self.show_now()

    def _to_cause(self) -> None:
        event = self.events.selected
        if event is None:
            return
        for level in (self.events.level, NORMAL, DETAIL):
            if level > self.events.level:
                continue
            ring = self.session.rings.of(level)
            if ring.index_of(event[2]) is not None:
                self.events.use(ring, level)
                self.events.go_to(event[2])
                self.events.focus()
                return
        self.say(f"event {event[2]} is no longer in memory", refused=True)

    def _zoom(self) -> None:
        width = max(20, min(self.app.size.width - 6, 150))
        state = self._scenario()
        if self._layout_now is not None and self._layout_now.shared and not self.events.has_focus and state is not None:
            self.app.push_screen(dialogs.Closer("Scenario", paint_scenario(state, self.paint, (width, 8 + 6 * len(state.expectations)))))
            return
        title, content, _ = self._selected_in_full(width)
        self.app.push_screen(dialogs.Closer(title, content))

    def _show_help(self) -> None:
        situation = self.situation()
        self.app.push_screen(
            dialogs.Help(
                self.paint,
                {a.id: a.refuse(situation) for a in ACTIONS},
                min(156, self.app.size.width * 92 // 100) - 7,
                f"Screen {self.app.size.width}×{self.app.size.height}, {size_class(*self.app.size)}.",
            )
        )

    def _palette(self) -> None:
        self.app.action_command_palette()

    def _leave(self) -> None:
        self.app.exit(0)

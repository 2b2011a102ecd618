"""The main screen. Each frame it moves the session on, takes one frozen view, and hands every panel its part of it.

While nothing moves, its timer is stopped and nothing is written to the terminal; a key makes one frame.
"""

from __future__ import annotations

import time
from typing import ClassVar, Final

from textual import events
from textual.app import ComposeResult
from textual.binding import Binding
from textual.geometry import Region

from core.kafka.events import NOTABLE
from core.kafka.health import UncleanElection
from core.kafka.ids import TopicPartition
from core.lab.spec import Pace
from core.lab.views.view import ClusterView, PartitionView
from tui.acting import Acting
from tui.actions import ACTIONS
from tui.causes import Causes
from tui.display import Display
from tui.faults import in_words
from tui.garbage import REST_SECONDS, Garbage
from tui.hints import hints
from tui.isr_reasons import IsrReasons
from tui.keeping import Keeping
from tui.lasting import lasting
from tui.layout import Layout, SizeClass, arrange
from tui.looking import Looking
from tui.paging import TABS, Paging
from tui.palette import Palette
from tui.panels.account import AccountPanel
from tui.panels.brokers import Brokers
from tui.panels.events import EventLog
from tui.panels.footer import Footer, Hint, Note
from tui.panels.grid import Grid
from tui.panels.header import Clock, Header
from tui.panels.inspector import Inspector
from tui.panels.lines import Lines, gathered
from tui.panels.minimal import Minimal
from tui.panels.scenario import ScenarioPanel
from tui.panels.tabs import Tabs
from tui.panels.timeline import HEADED, Timeline
from tui.questions import UNCLEAN
from tui.screen import MainScreen
from tui.screens.page import OVERVIEW, PagePanel
from tui.selecting import Selecting
from tui.situation import Situation
from tui.target import Stage
from tui.travel import Travel
from tui.writing import compose_panels, is_open, write

MOST_EXACT: Final = 500
"""Partitions of a cluster that is looked at exactly when nothing moves."""

MOST_AT_ONCE: Final = 150
"""Partitions of a larger one that are looked at within a frame, besides those that are shown."""

CALM_RATE: Final = 10
"""How many times a second hints, and pages in place of the panels, are told anew while nothing but offsets and time changes."""

WIDE_NOTE: Final = 110
"""Columns of the brokers' panel from which on its note is a whole sentence."""

NOTE_SECONDS: Final = 5.0
"""How long a message stays in the footer."""

_FOCUS_KEYS: Final = ("up", "down", "left", "right", "pageup", "pagedown", "home")


class Board(Travel, Keeping, Selecting, Acting, Looking, Causes, Paging, MainScreen):
    """The screen that lives."""

    AUTO_FOCUS = "#grid"
    HORIZONTAL_BREAKPOINTS = [(0, "-narrow"), (80, "-small"), (100, "-medium"), (160, "-wide")]  # noqa: RUF012
    BINDINGS: ClassVar = [
        *(Binding(",".join(a.keys), f"do('{a.id}')", a.label, show=False, id=a.id, tooltip=a.help) for a in ACTIONS),
        *(Binding(key, f"move('{key}')", show=False) for key in _FOCUS_KEYS),
    ]

    def __init__(self, stage: Stage, paint: Palette, display: Display) -> None:
        super().__init__()
        compose_panels(self)
        session = self.session = stage.session
        self.stage = stage
        self.left = []
        self.written = {}
        self.unsaved = 0
        self.paint = paint
        self.display_as = display
        self._title = stage.title
        self._seed = stage.seed
        self._notes = stage.notes
        self._broker: int | None = None
        self._partition: TopicPartition | None = None
        self._worst_first = False
        self._which = ""
        self._words = ""
        self.isr_reasons = IsrReasons()
        self._stepped_from = -1  # the last event before the step that is under way; -1: none is
        self._note: Note | None = None
        self._hints: tuple[Hint, ...] = ()
        self._note_number = 0
        self._before_full = 1.0
        self._last_frame = 0.0
        self.garbage = Garbage(own_process=stage.own_process)
        self._chosen_in = -1
        self._places: tuple[int, dict[TopicPartition, int]] = (-1, {})
        self._layout_now: Layout | None = None
        self._shown: list[TopicPartition] = []
        self._panels: tuple[Lines, ...] = ()
        self._frames = 0
        self._beat = -1  # the number of a frame that only offsets and time tell from the one before; -1: everything is shown
        self._told = -1
        self._pages = {}
        self.page = None
        self.view: ClusterView = session.view()

    # --- the panels ------------------------------------------------------------------------------------------------

    def compose(self) -> ComposeResult:
        """Every panel; `arrange` says which of them stand where."""
        paint = self.paint
        self.header = Header(paint, id="header")
        self.tabs = Tabs(paint, id="tabs")
        self.brokers = Brokers(paint, id="brokers")
        self.grid = Grid(paint, id="grid")
        self.events = EventLog(paint, self.session.rings.of(NOTABLE), id="events")
        self.events.kill_key = self.key("kill")
        self.inspector = Inspector(paint, id="inspector")
        self.expected = ScenarioPanel(paint, id="scenario")
        self.account = AccountPanel(paint, id="account")
        self.minimal = Minimal(paint, id="minimal")
        self.timeline = Timeline(paint, id="timeline")
        self.page_panel = PagePanel(paint, id="page")
        self.footer = Footer(paint, id="footer")
        self._panels = (
            self.header, self.tabs, self.brokers, self.grid, self.events, self.inspector, self.expected, self.account, self.timeline,
            self.minimal, self.page_panel, self.footer,
        )  # fmt: skip
        yield from self._panels

    def on_mount(self) -> None:
        """Start the frames."""
        self._choose_something()
        self._timer = self.set_interval(1 / self.display_as.frames, self._frame, pause=True)
        self._rest = self.set_interval(REST_SECONDS, self._rested, pause=True)
        self._rearrange()
        if self._notes:
            more = f" (and {len(self._notes) - 1} more)" if len(self._notes) > 1 else ""
            self.say(self._notes[0] + more, refused=True)
        self.call_after_refresh(self._run_or_rest)

    def forget(self) -> None:
        """The session is over and the screen is gone. An application may keep a gone screen; nothing large shall hang on it."""
        self.session.forget()
        self.left.clear()
        self._pages.clear()
        self.page = self.page_panel.page = None
        self.events.use(self.session.rings.of(NOTABLE), NOTABLE)

    def on_resize(self, event: events.Resize) -> None:
        """Lay out anew."""
        self._lay_out()

    def on_descendant_focus(self) -> None:
        """Another panel has the keys."""
        self._rearrange()

    def _rearrange(self) -> None:
        if not self._lay_out():
            self.show_now()

    def _lay_out(self) -> bool:
        """Place the panels; whether any stands elsewhere now, and everything was shown for that."""
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
        if self.events.has_focus and self.events.selected is not None:
            layout = layout.with_the_cause()
        if self.page is not None and layout.size is not SizeClass.MINIMAL:
            layout = layout.with_page(width, height)
        if layout == self._layout_now:
            return False
        self._layout_now = layout
        self.brokers.cards = layout.cards
        self.account.headline = layout.account_headline
        with self.app.batch_update():
            places: tuple[tuple[Lines, Region | None], ...] = (
                (self.header, layout.header), (self.tabs, layout.tabs), (self.brokers, layout.brokers), (self.grid, layout.grid),
                (self.events, layout.events), (self.inspector, layout.inspector), (self.expected, layout.scenario),
                (self.account, layout.account), (self.timeline, layout.timeline), (self.page_panel, layout.page),
                (self.minimal, layout.minimal), (self.footer, layout.footer),
            )  # fmt: skip
            for panel, region in places:
                panel.place(region)
        self.show_now()
        return True

    # --- frames ----------------------------------------------------------------------------------------------------

    def _frame(self) -> None:
        now = time.perf_counter()
        wall, self._last_frame = now - self._last_frame, now
        self.session.motion.frame(wall)
        self.view = self._look(exactly=not self.session.motion.moving)
        self._sample()
        self._use_rings()
        self._choose_something()
        self._tell_notices()
        calm = self.session.motion.moving and self.view.state == self._told
        self._told = self.view.state
        self._frames += 1
        self._beat = self._frames if calm else -1
        try:
            self.show_now()
        finally:
            self._beat = -1
        self.garbage.after_frame()
        if not self.session.motion.moving:
            self._run_or_rest()

    def _run_or_rest(self) -> None:
        """Frames run while something moves, or has not been looked at yet, and no longer."""
        if self.session.motion.moving or self._is_behind() or (self.page is not None and self.page.unfinished):
            self._last_frame = time.perf_counter()
            self._timer.resume()
            self._rest.pause()
        else:
            self._timer.pause()
            self._rest.reset()
            self._rest.resume()

    def _rested(self) -> None:
        """Nothing has moved for a while."""
        self._rest.pause()
        self.garbage.at_rest()

    def _is_behind(self) -> bool:
        """Whether a large cluster that rests has not been looked at in full."""
        return len(self.view.partitions) > MOST_EXACT and self.session.behind()

    def refresh_view(self) -> None:
        """Take a new view now and show it."""
        self.view = self._look(exactly=not self.session.motion.moving)
        self._sample()
        self._use_rings()
        self._choose_something()
        self._tell_notices()
        self.show_now()
        self._run_or_rest()

    def _tell_notices(self) -> None:
        """Say what the session has to tell."""
        if self.session.notices:
            self.say(self.session.notices.pop(0), refused=True)
            self._stepped_from = -1
        self._tell_step()

    def _look(self, *, exactly: bool) -> ClusterView:
        """The cluster now. What rests is looked at exactly, what moves at a glance, its offsets where they are shown.

        So is what is too large to be looked at within a frame: some of it in each, until nothing is behind.
        """
        count, session = len(self.view.partitions), self.session
        if exactly and count <= MOST_EXACT:
            return session.view()
        chosen = () if self._partition is None else (self._partition,)
        if exactly:
            return session.glance(chosen, most=MOST_AT_ONCE)
        shown = None if self.page is not None and self.page.wide else self._shown
        return session.glance(chosen, shown=shown, most=None if count <= MOST_EXACT else MOST_AT_ONCE)

    def _sample(self) -> None:
        """The metrics of this moment, for their history."""
        branch = self.session.branch
        self.stage.history.observe(self.view, branch.name, branch.origin, self.session.lags)

    def _use_rings(self) -> None:
        """After a way through time the events stand in other rings."""
        ring = self.session.rings.of(self.events.level)
        if self.events.ring is not ring:
            self.events.use(ring, self.events.level)
            self.garbage.abandoned()
            self._choose_something()

    def _choose_something(self) -> None:
        """Something is always selected, as long as there is anything."""
        if self.view.state >= 0 and self.view.state == self._chosen_in and self._partition is not None and self._broker is not None:
            return
        self._chosen_in = self.view.state
        if self._broker not in {b.id for b in self.view.brokers}:
            self._broker = self.view.brokers[0].id if self.view.brokers else None
        if self._partition not in {p.tp for p in self.view.partitions}:
            self._partition = min((p.tp for p in self.view.partitions), default=None)

    def show_now(self) -> None:
        """Hand every panel that stands somewhere its part of the view, and write what has changed by that."""
        layout = self._layout_now
        if layout is None:
            return
        if layout.grid is not None:
            self._look_at_what_is_shown()
        if not is_open(self):
            with self.app.batch_update():
                self._show(layout)
        elif pieces := gathered(self._panels, lambda: self._show(layout)):
            write(self, pieces)

    def _show(self, layout: Layout) -> None:
        view, session = self.view, self.session
        state = self._scenario() if layout.scenario is not None else None
        self.header.update(
            Clock(
                view.now,
                session.motion.playing,
                session.motion.speed,
                session.motion.reached,
                session.seeking,
                view.release,
                self._seed,
                self._title,
                session.tape.finished,
                progress=session.progress,
                doing=session.doing,
                branch=session.branch.name if len(session.branches) > 1 else "",
                past=session.end.time - view.now if session.in_the_past else -1,
                events_past=session.end.seq - view.seq,
                by_steps=session.tape.stepwise,
                by_hand=session.by_hand,
                hand_key=self.key("by-hand"),
                coarse=self.display_as.slow_link,
                faults=in_words(view),
                play_key=self.key("play"),
                end_key=self.key("to-end"),
            )
        )
        if self._is_due(1):
            self._hints = hints(self.situation(), moving=session.motion.moving)
        marked = self._mark_told() if layout.timeline is not None and layout.timeline.height < HEADED else ""
        self.footer.update(self._hints, self._note or (Note(marked) if marked else None))
        if layout.size is SizeClass.MINIMAL:
            ring = session.rings.of(NOTABLE)
            self.minimal.update(view, ring.at(ring.total - 1) if ring.total else None, self._broker)
            return
        self.tabs.update(TABS, OVERVIEW if self.page is None else f"screen-{self.page.name}")
        if self.page is not None:
            if not self.page.calm or self.page.unfinished or self._is_due(0):
                self.page_panel.update(self.page)
            return
        self.brokers.update(
            view, selected=self._broker, note=self._settings_note(), heartbeats=self.pace is not Pace.BY_HAND, words=self._words
        )
        self.grid.update(
            view,
            worst_first=self._worst_first,
            which=self._which,
            words=self._words,
            partition=self._partition,
            broker=self._broker,
            note=self._order_note(),
        )
        self.events.update()
        if layout.inspector is not None:
            title, content, note = self._selected_in_full(layout.inspector.width, layout.inspector.height - 1)
            self.inspector.update(title, content, note)
        if state is not None:
            self.expected.update(state)
        if layout.account is not None:
            self.account.update(view)
        if layout.timeline is not None:
            self._show_timeline()

    def _is_due(self, turn: int) -> bool:
        """Whether a page or the hints are told anew: nobody reads thirty numbers a second, so frames take turns. Panels beside each other show one view."""
        every = max(1, round(self.display_as.frames / CALM_RATE))
        return self._beat < 0 or self._beat % every == turn % every

    def _look_at_what_is_shown(self) -> None:
        """Another look, if partitions are to be shown whose offsets were left for later."""
        shown = self.grid.bring_into_sight(
            self.view, worst_first=self._worst_first, which=self._which, words=self._words, partition=self._partition
        )
        self._shown = [p.tp for p in shown]
        if self.view.state >= 0 and self.session.behind(self._shown):
            self.view = self._look(exactly=not self.session.motion.moving)

    def _order_note(self) -> str:
        """How the partitions are listed, where that is not all of them by name."""
        order = "worst first" if self._worst_first else ""
        only = " and ".join(filter(None, (self._which, self._words and f"'{self._words}'")))
        if not only:
            return order
        ends = f", {self.key('back')} shows all" if self._words else ""
        return f"{only} only, of {len(self.view.partitions)}" + (f", {order}" if order else "") + ends

    def _settings_note(self) -> str:
        view, get = self.view, self.session.cluster.settings.get
        if (p := lasting(view, "may be elected", self._may_be_elected)) is not None:
            return self.unclean_words(p, brief=self.brokers.box.width < WIDE_NOTE, whole=True).removesuffix(".")
        cluster = get(UNCLEAN, topic=None)
        others = [t.name for t in view.topics if get(UNCLEAN, topic=t.name) != cluster]
        other = f", {'off' if cluster else 'ON'} for {others[0] if len(others) == 1 else f'{len(others)} topics'}" if others else ""
        return f"unclean election {'ON' if cluster else 'off'}{other}"

    def _may_be_elected(self) -> PartitionView | None:
        """A leaderless partition with unclean election allowed, if there is one; one with a replica that is up before others."""
        election = self.situation().unclean_election
        found = (p for p in self.view.partitions if election(p) is not None)
        return min(found, key=lambda p: election(p) is UncleanElection.NOBODY_UP, default=None)

    def situation(self) -> Situation:
        """What actions are decided on."""
        view, settings = self.view, self.session.cluster.settings
        focus = (
            "events"
            if self.events.has_focus
            else "brokers"
            if self.brokers.has_focus
            else "timeline"
            if self.timeline.has_focus
            else "grid"
        )
        return Situation(
            view=view,
            broker=next((b for b in view.brokers if b.id == self._broker), None),
            partition=self._partition_view(),
            event=self.events.selected if self.page is None else self.page.event,
            focus=focus,
            playing=self.session.motion.playing,
            speed=self.session.motion.speed,
            pace=self.pace,
            in_the_past=self.session.in_the_past,
            key=self.key,
            page="" if self.page is None else self.page.name,
            read_only=self.stage.read_only,
            built_by_hand=self.stage.pace is Pace.BY_HAND,
            done=self.session.last_done() is not None,
            undone=self.session.next_done() is not None,
            setting=lambda name, topic: settings.get(name, topic=topic),
            overridden=lambda name, topic: any(name == own for t in view.topics if t.name == topic for own, _ in t.config),
        )

    @property
    def pace(self) -> Pace:
        """Whether the cluster moves by itself now."""
        return Pace.BY_HAND if self.session.by_hand else self.stage.pace

    def _partition_view(self) -> PartitionView | None:
        """The selected partition."""
        view, chosen = self.view, self._partition
        if view.state < 0 or chosen is None:
            return next((p for p in view.partitions if p.tp == chosen), None)
        if self._places[0] != view.state:
            self._places = (view.state, {p.tp: at for at, p in enumerate(view.partitions)})
        at = self._places[1].get(chosen)
        return None if at is None else view.partitions[at]

    # --- messages --------------------------------------------------------------------------------------------------

    def say(self, text: str, *, refused: bool = False) -> None:
        """Show a message in the footer for a moment."""
        self._note = Note(text, refused)
        self._note_number += 1
        number = self._note_number
        self.set_timer(NOTE_SECONDS, lambda: self._unsay(number))
        self.show_now()

    def drop_message(self) -> None:
        """Take the message in the footer away."""
        if self._note is not None:
            self._note = None
            self.show_now()

    def _unsay(self, number: int) -> None:
        if number == self._note_number:
            self.drop_message()

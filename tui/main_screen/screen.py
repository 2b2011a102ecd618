"""The main screen. In each frame, the main screen advances the session, takes one frozen view, and passes each panel its part of the view.

While the session is idle, the screen stops its timer and writes to the terminal only when a key is pressed. The screen owns the
`Selection`, the handlers of actions, and the `Presenter`, which computes the content. The screen passes keys, clicks, and frames to the
handlers and the presenter.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from typing import ClassVar, Final

import attrs
from textual import events
from textual.app import ComposeResult
from textual.binding import Binding
from textual.command import CommandPalette
from textual.geometry import Region
from textual.screen import Screen

from core.kafka.errors import KafkaError
from core.kafka.events import NOTABLE
from core.lab.views.cluster_view import ClusterView
from core.lab.views.partition_view import PartitionView
from scenarios.errors import InputError
from scenarios.lessons.places import PlaceKind
from tui.actions.all_actions import ACTIONS, BROKER, CLIENTS, CLUSTER, NETWORK
from tui.actions.context import ActionContext, Question, TextPrompt
from tui.actions.selection import Selection
from tui.dialogs.command_palette import TypeAheadCommandPalette
from tui.handlers.action_runner import ActionRunner
from tui.handlers.cause_finder import CauseFinder
from tui.handlers.exploring import Exploring
from tui.handlers.help import HelpScreens
from tui.handlers.lesson_controls import LessonControls
from tui.handlers.playback_controls import PlaybackControls
from tui.handlers.prompts import Prompts
from tui.handlers.questions import ClusterQuestions
from tui.handlers.record_tracing import RecordTracing
from tui.handlers.saving import Saving
from tui.handlers.time_travel import TimeTravel
from tui.lessons.lesson_panel import LessonPanel
from tui.main_screen.display_options import DisplayOptions
from tui.main_screen.layout import SizeClass, arrange, size_class
from tui.main_screen.lesson_layout import with_lesson
from tui.main_screen.navigation import Navigation
from tui.main_screen.page_stack import PageStack
from tui.main_screen.panel_set import PanelSet
from tui.main_screen.presenter import Frame, Presenter
from tui.main_screen.view_source import ViewSource
from tui.maps.map_panel import MapPanel
from tui.maps.topology import TopologyPanel
from tui.pages.page import OVERVIEW, PagePanel
from tui.panels.brokers import Brokers
from tui.panels.events import EventLog
from tui.panels.footer import Footer, rows_of
from tui.panels.lines import collect_updates
from tui.panels.partition_grid import PartitionGrid
from tui.panels.tabs import Tabs
from tui.panels.timeline import Timeline
from tui.rendering.palette import Palette
from tui.session.garbage_collection import IDLE_SECONDS, GarbageCollection
from tui.session.loading import LoadedSession
from tui.session.play_target import PlayTarget
from tui.terminal.compositor import compose_panels, is_open, write

PAUSE: Final = 0.001
"""The wall time between two slices of work, in seconds. A key passes through several queues of Textual before it is handled, which takes
less time.
"""

_FOCUS_KEYS: Final = ("up", "down", "left", "right", "pageup", "pagedown", "home")


class MainScreen(Screen[None]):
    """The main screen."""

    AUTO_FOCUS = "#grid"
    HORIZONTAL_BREAKPOINTS = [(0, "-narrow"), (80, "-small"), (100, "-medium"), (160, "-wide")]  # noqa: RUF012
    BINDINGS: ClassVar = [
        *(Binding(",".join(a.keys), f"do('{a.id}')", a.label, show=False, id=a.id, tooltip=a.help) for a in ACTIONS),
        *(Binding(key, f"move('{key}')", show=False) for key in _FOCUS_KEYS),
    ]

    def __init__(self, loaded: LoadedSession, paint: Palette, display: DisplayOptions) -> None:
        super().__init__()
        self._notice = compose_panels(self)
        self.loaded = loaded
        self.session = session = loaded.session
        self.paint = paint
        self.display_options = display
        self.keymap = display.keymap
        self.selection = Selection()
        self.source = ViewSource(session)
        self.presenter = Presenter(loaded, display, self.selection)
        self.isr_reasons = self.presenter.isr_reasons
        self.panels = PanelSet(self.presenter, paint, session.history.event_buffer.ring(NOTABLE))
        self.pages = PageStack(self)
        self.prompts = Prompts(session, self)
        self.time_travel = TimeTravel(session, self)
        self.cause_finder = CauseFinder(session, self, self.time_travel)
        self.navigation = Navigation(session, self, self.selection, self.panels, self.pages, self.cause_finder)
        self.controls = PlaybackControls(session, self)
        self.saving = Saving(loaded, self)
        self.lesson = LessonControls(loaded, self, self.selection)
        self.record_tracing = RecordTracing(session, self)
        self.questions = ClusterQuestions(session, self)
        self.exploring = Exploring(loaded, self, self.open_page)
        self.help_screens = HelpScreens(loaded, self, display.keymap, lambda: size_class(*self.app.size))
        self.actions = ActionRunner(loaded, self, self.selection, self.saving, self._calls(), self.navigation.open_page)
        self.garbage = GarbageCollection(own_process=loaded.own_process)
        self._last_frame = 0.0
        self._works_soon = False  # whether the next slice of work is scheduled
        session.playback.pace_frames(1 / display.frames)
        self._frames = 0
        self._calm_frame = -1  # number of the frame if only offsets and time have changed since the last frame; otherwise -1 (everything)
        self._shown_version = -1

    def _calls(self) -> dict[str, Callable[[], object]]:
        """Return the functions that `Action.call` names."""
        travel, controls, saving = self.time_travel, self.controls, self.saving
        helps, navigation = self.help_screens, self.navigation
        return {
            "toggle_play": controls.toggle_play,
            "step": controls.step,
            "step_notable": controls.step_notable,
            "faster": controls.faster,
            "slower": controls.slower,
            "full_speed": controls.full_speed,
            "step_back": travel.step_back,
            "step_back_notable": travel.step_back_notable,
            "undo": travel.undo,
            "redo": travel.redo,
            "to_end": travel.to_end,
            "go_to": travel.go_to,
            "bookmark": travel.bookmark,
            "jump": travel.jump,
            "until": travel.until,
            "back_until": travel.back_until,
            "diff": travel.diff,
            "to_cause": navigation.to_cause,
            "trace": self.record_tracing.ask,
            "save": saving.save,
            "copy": saving.copy,
            "share": saving.share,
            "ask": self.questions.choose,
            "explore": self.exploring.explore,
            "picture": saving.picture,
            "leave": self._leave,
            "show_help": helps.show_help,
            "show_glossary": helps.show_glossary,
            "colors": helps.choose_colors,
            "palette": self._open_command_palette,
            "filter": navigation.next_level,
            "follow": navigation.follow,
            "order": lambda: self.prompts.say(self.selection.toggle_order(self.view)),
            "only": lambda: self.prompts.say(self.selection.next_filter(self.view)),
            "search": navigation.search,
            "zoom": navigation.zoom,
            "back": navigation.back,
            "leave_page_now": navigation.leave_page,
            "what_if": navigation.what_if,
        }

    # --- for pages and handlers --------------------------------------------------------------------------------------

    @property
    def view(self) -> ClusterView:
        """The view of the cluster that is on the screen."""
        return self.source.view

    def unclean_words(self, p: PartitionView) -> str:
        """Describe how and when a leaderless partition gets a leader through an unclean election, or return an empty string."""
        return self.presenter.unclean_words(self.frame(), p)

    def put(self, question: Question | TextPrompt) -> None:
        """Ask a question and perform the acts of the chosen answer."""
        self.actions.put(question)

    def open_page(self, name: str) -> None:
        """Open a page, or the overview."""
        if name == OVERVIEW:
            self.navigation.leave_page()
        else:
            self.navigation.open_page(name)

    def go_to_event(self, seq: int) -> None:
        """Go to the moment of an event."""
        self.time_travel.go_to_event(seq)

    def follow_events(self) -> None:
        """Select the newest event of the session."""
        self.panels.events.use(self.session.history.event_buffer.ring(self.panels.events.level), self.panels.events.level)
        self.panels.events.follow()

    def frame(self) -> Frame:
        """Return the current frame."""
        session, page = self.session, self.pages.page
        return Frame(
            self.view,
            session.status(),
            session.settings(),
            session.history.event_buffer,
            focus=self.panels.focus,
            event=self.panels.events.selected if page is None else page.event,
            page="" if page is None else page.name,
            marks=session.history.branch.marks,
            bookmarks=[mark for mark in session.history.bookmarks if mark.branch == session.history.branch.name],
        )

    def context(self) -> ActionContext:
        """Return the context for actions."""
        return self.presenter.context(self.frame())

    # --- the panels ------------------------------------------------------------------------------------------------

    def compose(self) -> ComposeResult:
        """Yield all panels. `arrange` determines the places of the panels."""
        yield from self.panels.all

    def on_mount(self) -> None:
        """Create the timers, lay out the panels, and start to draw frames unless the session is idle."""
        self.selection.keep_within(self.view)
        self._frame_timer = self.set_interval(1 / self.display_options.frames, self._next_frame, pause=True)
        self._idle_timer = self.set_interval(IDLE_SECONDS, self._on_rest, pause=True)
        self.rearrange()
        if self.lesson.begin(self.keymap.key):
            self._take_view()
        if self.loaded.first_page:
            self.navigation.open_page(self.loaded.first_page)
        if notes := (*self.loaded.notes, *filter(None, [self._notice])):
            more = f" (and {len(notes) - 1} more)" if len(notes) > 1 else ""
            self.prompts.say(notes[0] + more)
        self.call_after_refresh(self._start_or_stop_frames)

    def dispose(self) -> None:
        """Release all large objects after the session has ended, because Textual can keep a removed screen in memory."""
        self.loaded.search.end()
        self.session.dispose()
        self.time_travel.remembered_moments.clear()
        self.pages.dispose()
        self.panels.page_panel.page = None
        self.panels.picture.forget()
        self.panels.partition_map.forget()
        self.panels.events.use(self.session.history.event_buffer.ring(NOTABLE), NOTABLE)

    def on_resize(self, event: events.Resize) -> None:
        """Lay out the panels."""
        self._lay_out()

    def on_descendant_focus(self) -> None:
        """Lay out the panels again, because the layout depends on the focused panel."""
        self.rearrange()

    def rearrange(self) -> None:
        """Lay out the panels and show the changes."""
        if not self._lay_out():
            self.show_now()

    def _lay_out(self) -> bool:
        """Place the panels. Return whether the layout changed. If the layout changed, show everything again."""
        width, height = self.app.size
        view, panels = self.view, self.panels
        footer = self._footer_rows()
        height -= footer - 1
        layout = arrange(
            width,
            height,
            brokers=len(view.brokers),
            partitions=len(view.partitions),
            replicas=max((len(p.replica_views) for p in view.partitions), default=1),
            scenario=self.loaded.scenario() is not None,
        )
        if panels.events.has_focus and panels.events.selected is not None:
            layout = layout.with_the_cause()
        if self.pages.page is not None and layout.size is not SizeClass.MINIMAL and self.lesson.player is None:
            layout = layout.with_page(width, height)
        if self.lesson.player is not None:
            page = self.pages.page is not None
            layout = with_lesson(
                layout, width, height, partitions=len(view.partitions), table=self.lesson.is_long, place=self.lesson.place, page=page,
                needed=self.lesson.rows_for(width) if page else 0,
            )  # fmt: skip
        if footer > 1:
            layout = attrs.evolve(layout, footer=Region(0, height - 1, width, footer))
        if layout == panels.layout:
            return False
        with self.app.batch_update():
            panels.place(layout)
        self.show_now()
        return True

    # --- frames ----------------------------------------------------------------------------------------------------

    def _next_frame(self) -> None:
        now = time.perf_counter()
        wall, self._last_frame = now - self._last_frame, now
        self.session.playback.frame(wall)
        self.lesson.settle()
        self._take_view()
        calm = self.session.playback.moving and self.view.version == self._shown_version
        self._shown_version = self.view.version
        self._frames += 1
        self._calm_frame = self._frames if calm else -1
        try:
            self.show_now()
        finally:
            self._calm_frame = -1
        self.garbage.after_frame()
        if not self.session.playback.moving:
            self._start_or_stop_frames()
        self._work_later()

    def _work_later(self) -> None:
        """If the frame has more work to do, do the next slice of it after a pause, in which keys that arrived meanwhile are handled. A page
        that must catch up with the session goes first.
        """
        if not self._works_soon and self.session.playback.unfinished and not (self.pages.page is not None and self.pages.page.unfinished):
            self._works_soon = True
            # Textual skips a timer of its own that is due before the event loop begins to wait for it.
            asyncio.get_running_loop().call_later(PAUSE, self.call_later, self._work)

    def _work(self) -> None:
        self._works_soon = False
        if self.session.playback.unfinished:
            self.session.playback.work()
            if self.session.playback.moving:
                self._work_later()
            else:
                self.refresh_view()

    def refresh_view(self) -> None:
        """Take a new view and show it."""
        self.lesson.settle()
        self._take_view()
        self.show_now()
        self._start_or_stop_frames()

    def _take_view(self) -> None:
        """Take a new view and update the objects that depend on the view."""
        self.source.take(self.selection.partition, wide=self._shows_all)
        branch = self.session.history.branch
        self.loaded.history.observe(self.view, branch.name, branch.origin, self.session.lags)
        self._use_event_buffer()
        self.selection.keep_within(self.view)
        self.controls.report_notices()

    def _use_event_buffer(self) -> None:
        """If time travel has replaced the session's event buffer, switch to the new buffer."""
        ring = self.session.history.event_buffer.ring(self.panels.events.level)
        if self.panels.events.ring is not ring:
            self.panels.events.use(ring, self.panels.events.level)
            self.garbage.cluster_replaced()
            self.selection.keep_within(self.view)

    def _start_or_stop_frames(self) -> None:
        """Start drawing frames unless the session is idle and the view is complete. If the session is idle and the view is complete, stop
        drawing frames."""
        if self.session.playback.moving or self.source.has_stale or (self.pages.page is not None and self.pages.page.unfinished):
            self._last_frame = time.perf_counter()
            self._frame_timer.resume()
            self._idle_timer.pause()
        else:
            self._frame_timer.pause()
            self._idle_timer.reset()
            self._idle_timer.resume()

    def _on_rest(self) -> None:
        """Collect garbage after the session has been idle for some time."""
        self._idle_timer.pause()
        self.garbage.collect_when_idle()

    @property
    def _shows_all(self) -> bool:
        """Whether the open page may show the offsets of any partition."""
        return self.pages.page is not None and self.pages.page.wide

    def show_now(self) -> None:
        """Pass each visible panel its part of the view, and write the changes to the terminal."""
        panels = self.panels
        if panels.layout is None or (panels.layout.footer.height not in (0, self._footer_rows()) and self._lay_out()):
            return
        if panels.layout.grid is not None:
            self.source.refresh_offsets(panels.partitions_in_sight(self.view), self.selection.partition, wide=self._shows_all)
        if not is_open(self):
            with self.app.batch_update():
                self._show()
        elif pieces := collect_updates(panels.all, self._show):
            write(self, pieces)

    def _footer_rows(self) -> int:
        """Return the number of rows of the footer: several for a long message, unless they would leave too little for the panels."""
        width, height = self.app.size
        rows = rows_of(self.prompts.message, width)
        return rows if size_class(width, height - rows + 1) is size_class(width, height) and height > 2 * rows else 1

    def _show(self) -> None:
        self.panels.show(self.frame(), self.pages.page, self.prompts.message, self._calm_frame, self.lesson.shown())

    # --- keys and clicks -------------------------------------------------------------------------------------------

    def action_do(self, name: str) -> None:
        """Run the action of a key or, if the action is impossible, show the reason. On some pages, a key means something else."""
        if self.pages.page is not None and self.pages.page.takes(name):
            self.show_now()
        else:
            self.actions.run(name)

    def action_move(self, key: str) -> None:
        """Move the selection in response to an arrow key."""
        if self.panels.timeline.has_focus and key in ("left", "right"):
            self.prompts.message = None  # without a headline on the timeline, the footer describes the mark
        self.navigation.move(key)

    def on_brokers_picked(self, message: Brokers.Picked) -> None:
        """Select a broker that was clicked."""
        self.selection.choose(broker=message.broker)
        self.show_now()
        if message.menu:
            self.actions.menu(f"b{message.broker}", (BROKER, NETWORK))

    def on_partition_grid_picked(self, message: PartitionGrid.Picked) -> None:
        """Select the partition and broker of a cell that was clicked."""
        self.selection.choose(message.partition, message.broker)
        self.show_now()
        if message.menu:
            self.actions.menu(f"{message.partition}", (CLUSTER, CLIENTS))

    def on_topology_panel_picked(self, message: TopologyPanel.Picked) -> None:
        """Select a broker that was clicked in the picture."""
        self.selection.choose(broker=message.broker)
        self.show_now()

    def on_map_panel_picked(self, message: MapPanel.Picked) -> None:
        """Select a partition that was clicked in the map."""
        self.selection.choose(partition=message.partition)
        self.show_now()

    def on_event_log_picked(self, message: EventLog.Picked) -> None:
        """Lay out the panels again, because another event was selected."""
        self.rearrange()

    def on_footer_chosen(self, message: Footer.Chosen) -> None:
        """Run the action of a hint that was clicked."""
        self.actions.run(message.action)

    def on_timeline_wanted(self, message: Timeline.Wanted) -> None:
        """Go to the event or time that was clicked on the timeline."""
        if message.seq >= 0:
            self.time_travel.go_to_event(message.seq)
        else:
            self.time_travel.go_to_time(message.at)

    def _open_command_palette(self) -> None:
        if not CommandPalette.is_open(self.app):
            self.app.push_screen(TypeAheadCommandPalette(id="--command-palette"))

    def _leave(self) -> None:
        """Quit the playground. If there are unsaved acts, first ask whether to save them. The acts of a lesson need not be saved."""
        if self.lesson.run is not None:
            self.app.exit(0)
            return
        self.saving.confirm_unsaved("Quit", "quit", "q", lambda: self.app.exit(0), leaves=True)

    # --- the lesson ------------------------------------------------------------------------------------------------

    def on_lesson_panel_pressed(self, message: LessonPanel.Pressed) -> None:
        """Pass a key on to the lesson."""
        self.lesson.press(message.key)

    def point_at(self, place: PlaceKind | None, page: str) -> None:
        """Mark the part of the screen that the lesson points at, and open its page."""
        self.panels.point_at(place)
        if page:
            self.navigation.open_page(page)
        elif place is not None or self.lesson.is_long:
            self.navigation.leave_page()
        self.rearrange()
        (self.panels.grid if self.lesson.run is None else self.panels.lesson).focus()

    def focus_lesson(self) -> None:
        """Give the keyboard focus to the lesson's panel."""
        self.panels.lesson.focus()

    def open_next(self, target: PlayTarget) -> None:
        """End this session and open another, without asking."""
        self.session.history.pause()
        self.call_later(self._open_in_its_place, target)

    # --- pages -----------------------------------------------------------------------------------------------------

    def on_tabs_chosen(self, message: Tabs.Chosen) -> None:
        """Open the page whose tab was clicked."""
        self.open_page(message.action.removeprefix("screen-"))

    def on_page_panel_clicked(self, message: PagePanel.Clicked) -> None:
        """Show the changes after a click on the page."""
        self.show_now()

    def start_over(self, target: PlayTarget) -> None:
        """End this session and open another. If there are unsaved acts, first ask whether to save them, unless a lesson runs."""
        self.session.history.pause()
        open_it = self._open_in_its_place
        if self.lesson.run is not None:
            self.call_later(open_it, target)
            return
        self.saving.confirm_unsaved("Start another session", "start it", "g", lambda: self.call_later(open_it, target))

    def _open_in_its_place(self, target: PlayTarget) -> None:
        try:
            self.app.open_target(target)  # type: ignore[attr-defined]
        except (KafkaError, ValueError, InputError) as wrong:
            self.prompts.say(str(wrong), refused=True)

    def show_event(self, seq: int) -> None:
        """Select an event on the open page if possible, otherwise in the event log."""
        self.navigation.show_event(seq)

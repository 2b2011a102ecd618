"""What every group of actions finds on the main screen: the session, the view, and the ways to say and ask something."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Protocol, runtime_checkable

from textual.screen import Screen

from core.kafka.ids import TopicPartition
from core.lab.history.goal import Goal
from core.lab.views.view import ClusterView, PartitionView
from tui import dialogs
from tui.display import Display
from tui.isr_reasons import IsrReasons
from tui.layout import Layout
from tui.palette import Palette
from tui.panels.brokers import Brokers
from tui.panels.events import EventLog
from tui.panels.footer import Note
from tui.panels.grid import Grid
from tui.panels.scenario import ScenarioState
from tui.screens.page import Page, PagePanel
from tui.session import Session
from tui.situation import Line, Question, Situation
from tui.target import Stage

if TYPE_CHECKING:
    from scenarios.play_target import PlayTarget
    from tui.panels.timeline import Timeline


@runtime_checkable
class Paintable(Protocol):
    """What the application can be asked about its look."""

    palette: str
    ascii_only: bool

    def use_palette(self, name: str) -> None:
        """Paint in that palette from now on."""


class MainScreen(Screen[None]):
    """Base of the main screen. `view` is the moment shown; `left` are moments that were left, as (words, view), newest last.

    `written` is what was last written for what, `unsaved` counts acts since the session was last saved.
    """

    session: Session
    stage: Stage
    paint: Palette
    display_as: Display
    view: ClusterView
    events: EventLog
    left: list[tuple[str, ClusterView]]
    written: dict[str, str]
    unsaved: int
    brokers: Brokers
    grid: Grid
    timeline: Timeline
    page_panel: PagePanel
    page: Page | None
    _broker: int | None
    _partition: TopicPartition | None
    _worst_first: bool
    _which: str
    _words: str
    _stepped_from: int
    isr_reasons: IsrReasons
    _layout_now: Layout | None
    _before_full: float
    _note: Note | None

    @property
    def chosen(self) -> TopicPartition | None:
        """The selected partition."""
        return self._partition

    def key(self, action: str) -> str:
        """The key of an action as people read it."""
        return self.display_as.keymap.key(action)

    @property
    def chosen_broker(self) -> int | None:
        """The selected broker."""
        return self._broker

    @property
    def worst_first(self) -> bool:
        """Whether partitions are listed with the worst first."""
        return self._worst_first

    def choose(self, partition: TopicPartition | None = None, broker: int | None = None) -> None:
        """Select a partition, a broker, or both."""
        self._partition = partition if partition is not None else self._partition
        self._broker = broker if broker is not None else self._broker

    def open_page(self, name: str) -> Page:
        """Open a screen beside the overview."""
        raise NotImplementedError

    def leave_page(self) -> None:
        """Back to the overview."""
        raise NotImplementedError

    def show_event(self, seq: int) -> None:
        """Select an event where it is best read."""
        raise NotImplementedError

    def show_now(self) -> None:
        """Hand every panel that stands somewhere its part of the view."""
        raise NotImplementedError

    def action_do(self, name: str) -> None:
        """Do the action of that id, or say why not."""
        raise NotImplementedError

    def _rearrange(self) -> None:
        """Lay out anew, and show what has changed."""
        raise NotImplementedError

    def _scenario(self) -> ScenarioState | None:
        """How the expectations of a scenario stand."""
        return self.stage.scenario()

    def say(self, text: str, *, refused: bool = False) -> None:
        """Show a message in the footer for a moment."""
        raise NotImplementedError

    def drop_message(self) -> None:
        """Take the message in the footer away."""
        raise NotImplementedError

    def refresh_view(self) -> None:
        """Take a new view now and show it."""
        raise NotImplementedError

    def put(self, question: Question | Line) -> None:
        """Ask something, and do what the answer says."""
        raise NotImplementedError

    def save_then(self, then: Callable[[], object]) -> None:
        """Ask for a name, save, and when that is done do what comes then."""
        raise NotImplementedError

    def unless_unsaved(self, title: str, label: str, key: str, go: Callable[[], object], *, leaves: bool = False) -> None:
        """End the session by `go`; if acts would be lost by that, ask first whether to save them."""
        raise NotImplementedError

    def start_over(self, target: PlayTarget) -> None:
        """End this session and open another; acts that are not saved are not thrown away unasked."""
        raise NotImplementedError

    def go_to_event(self, seq: int) -> None:
        """Go to the moment of an event."""
        raise NotImplementedError

    def unclean_words(self, p: PartitionView, *, brief: bool = False, whole: bool = False) -> str:
        """Unclean election is allowed, and a partition has no leader: who makes one, and when; empty otherwise."""
        raise NotImplementedError

    def _look_for(self, words: str) -> None:
        """List only what has these words."""
        raise NotImplementedError

    def _tell_step(self) -> None:
        """Once a step has been taken, name what it did."""
        raise NotImplementedError

    def _travel(self, goal: Goal) -> None:
        """Go to a moment of this branch."""
        raise NotImplementedError

    def _go_to_mark(self) -> None:
        """Go to the mark selected on the timeline."""
        raise NotImplementedError

    def situation(self) -> Situation:
        """What actions are decided on."""
        raise NotImplementedError

    def write(
        self, title: str, about: str, text: str, wrong: Callable[[str], str | None], then: Callable[[str], None], *, travels: bool = False
    ) -> None:
        """Ask for a line of text; `then` gets it when it is right. While somebody writes, time stands still.

        Args:
            title, about, text, wrong: of the dialog.
            then: gets the line.
            travels: whether that goes through time, and leaves it paused.
        """
        session = self.session
        playing = session.motion.playing
        if playing:
            session.pause()
            self.show_now()

        def written(answer: str | None) -> None:
            if playing and not session.motion.moving and (answer is None or not travels):
                session.motion.play()
            if answer is not None:
                then(answer)
            self.refresh_view()

        self.app.push_screen(dialogs.Write(title, about, text, wrong, self.paint), written)

    @property
    def room(self) -> int:
        """Columns that a box over the screen has for its lines."""
        return max(20, min(self.app.size.width * 92 // 100 - 7, 149))

"""Creates the panels of the main screen, places the panels according to a layout, and passes each panel its part of a frame."""

from __future__ import annotations

from typing import Final

from textual.geometry import Region

from core.kafka.events import NOTABLE
from core.kafka.ids import TopicPartition, broker_address
from core.lab.history.event_buffer import EventRing
from core.lab.spec import Pace
from core.lab.views.cluster_view import ClusterView
from scenarios.lessons.places import PlaceKind
from tui.actions.hints import Hint
from tui.lessons.lesson_panel import LessonPanel, LessonShown
from tui.main_screen.layout import Layout, SizeClass
from tui.main_screen.page_stack import TABS
from tui.main_screen.presenter import Frame, Presenter
from tui.maps.map_panel import MapPanel
from tui.maps.topology import TopologyPanel
from tui.pages.page import OVERVIEW, Page, PagePanel
from tui.panels.brokers import Brokers
from tui.panels.cluster_totals import TotalsPanel
from tui.panels.events import EventLog
from tui.panels.footer import Footer, FooterMessage
from tui.panels.header import Header
from tui.panels.inspector import Inspector
from tui.panels.lines import Lines
from tui.panels.minimal import Minimal
from tui.panels.partition_grid import PartitionGrid
from tui.panels.scenario import ScenarioPanel
from tui.panels.tabs import Tabs
from tui.panels.timeline import HEADED, Timeline
from tui.rendering.palette import Palette

CALM_RATE: Final = 10
"""The rate, in updates per second, at which hints and pages are updated while only offsets and time change."""


class PanelSet:
    """All panels of the main screen.

    Attributes:
        all: all panels, in the order in which they get the focus.
        layout: the regions of the panels; None before the first layout.
    """

    def __init__(self, presenter: Presenter, paint: Palette, ring: EventRing) -> None:
        """Create the panels.

        Args:
            presenter: the presenter that computes the content of the panels.
            paint: the palette.
            ring: the event buffer that the event log lists initially.
        """
        self.presenter = presenter
        self.selection = presenter.selection
        self.layout: Layout | None = None
        self.header = Header(paint, id="header")
        self.tabs = Tabs(paint, id="tabs")
        self.brokers = Brokers(paint, id="brokers")
        self.grid = PartitionGrid(paint, id="grid")
        self.events = EventLog(paint, ring, id="events")
        keymap = presenter.display.keymap
        log = self.events
        log.kill_key, log.search_key, log.back_key, log.level_key = map(keymap.key, ("kill", "search", "back", "filter"))
        self.inspector = Inspector(paint, id="inspector")
        self.expected = ScenarioPanel(paint, id="scenario")
        self.totals = TotalsPanel(paint, id="totals")
        self.minimal = Minimal(paint, id="minimal")
        self.timeline = Timeline(paint, id="timeline")
        self.picture = TopologyPanel(paint, id="picture")
        self.partition_map = MapPanel(paint, id="partition-map")
        self.page_panel = PagePanel(paint, id="page")
        self.lesson = LessonPanel(paint, id="lesson")
        self.footer = Footer(paint, id="footer")
        self.all: tuple[Lines, ...] = (
            self.header, self.tabs, self.brokers, self.grid, self.events, self.inspector, self.expected, self.picture, self.partition_map, self.totals, self.timeline,
            self.minimal, self.page_panel, self.lesson, self.footer,
        )  # fmt: skip
        self._hints: tuple[Hint, ...] = ()

    @property
    def focus(self) -> str:
        """The name of the focused panel, as used in `ActionContext.focus`."""
        with_keys = {"events": self.events, "brokers": self.brokers, "timeline": self.timeline}
        return next((name for name, panel in with_keys.items() if panel.has_focus), "grid")

    @property
    def shows_everything(self) -> bool:
        """Whether the inspector stacks the partition, the broker, and the event vertically."""
        return self.layout is not None and self.layout.size is SizeClass.WIDE and not self.layout.scenario

    def place(self, layout: Layout) -> None:
        """Move the panels to the regions of a layout."""
        self.layout = layout
        self.brokers.cards = layout.cards
        self.totals.headline = layout.totals_headline
        places: tuple[tuple[Lines, Region | None], ...] = (
            (self.header, layout.header), (self.tabs, layout.tabs), (self.brokers, layout.brokers), (self.grid, layout.grid),
            (self.events, layout.events), (self.inspector, layout.inspector), (self.expected, layout.scenario),
            (self.totals, layout.totals), (self.timeline, layout.timeline), (self.page_panel, layout.page),
            (self.minimal, layout.minimal), (self.picture, layout.picture), (self.partition_map, layout.partition_map), (self.lesson, layout.lesson), (self.footer, layout.footer),
        )  # fmt: skip
        for panel, region in places:
            panel.place(region)

    def partitions_in_sight(self, view: ClusterView) -> list[TopicPartition]:
        """Scroll the grid to the selected partition, and return the partitions that the grid shows."""
        chosen = self.selection
        shown = self.grid.bring_into_sight(
            view, worst_first=chosen.worst_first, which=chosen.filter_name, words=chosen.words, partition=chosen.partition
        )
        return [p.tp for p in shown]

    def point_at(self, place: PlaceKind | None) -> None:
        """Mark the panel that a lesson points at."""
        panels: dict[PlaceKind, Lines] = {
            PlaceKind.BROKERS: self.brokers, PlaceKind.BROKER: self.brokers, PlaceKind.PARTITIONS: self.grid, PlaceKind.PARTITION: self.grid,
            PlaceKind.EVENTS: self.events, PlaceKind.DETAILS: self.inspector, PlaceKind.TIME: self.header, PlaceKind.KEYS: self.footer,
            PlaceKind.PAGE: self.page_panel,
        }  # fmt: skip
        wanted = None if place is None else panels[place]
        for panel in self.all:
            panel.point(panel is wanted)

    def show(self, frame: Frame, page: Page | None, note: FooterMessage | None, calm_frame: int, lesson: LessonShown | None = None) -> None:
        """Pass each visible panel its part of a frame.

        Args:
            frame: the content to show.
            page: the page that replaces the panels, or None if no page is open.
            note: the message in the footer, or None if there is no message.
            calm_frame: the number of the frame if only offsets and time have changed since the last frame; otherwise -1, which updates
                everything.
            lesson: the content of the lesson's panel, or None if no lesson runs.
        """
        layout, presenter, chosen, view = self.layout, self.presenter, self.selection, frame.view
        if layout is None:
            return
        self.header.update(presenter.clock(frame))
        if self._is_due(1, calm_frame):
            self._hints = presenter.hints(frame)
        mark = presenter.mark_text(frame, self.timeline.mark) if self.timeline.has_focus else ""
        headless = layout.timeline is not None and layout.timeline.height < HEADED
        self.footer.update(self._hints, note or (FooterMessage(mark) if mark and headless else None))
        if layout.lesson is not None and lesson is not None:
            self.lesson.update(lesson)
        if layout.minimal is None and layout.size is SizeClass.MINIMAL:
            return
        if layout.size is SizeClass.MINIMAL:
            ring = frame.event_buffer.ring(NOTABLE)
            self.minimal.update(view, ring.at(ring.total - 1) if ring.total else None, chosen.broker)
            return
        self.tabs.update(TABS, f"screen-{frame.page}" if frame.page else OVERVIEW)
        if page is not None:
            if not page.calm or page.unfinished or self._is_due(0, calm_frame):
                self.page_panel.update(page)
            return
        by_hand = presenter.pace(frame.status) is Pace.BY_HAND
        settings = presenter.settings_note(frame, self.brokers.box.width)
        self.brokers.update(view, selected=chosen.broker, note=settings, heartbeats=not by_hand, words=chosen.words)
        self.grid.update(
            view,
            worst_first=chosen.worst_first,
            which=chosen.filter_name,
            words=chosen.words,
            partition=chosen.partition,
            broker=chosen.broker,
            note=presenter.order_note(view),
            nothing=presenter.nothing_note,
        )
        if layout.events is not None:
            self.events.update()
        if layout.inspector is not None:
            width, height = layout.inspector.width, layout.inspector.height - 1
            self.inspector.update(*presenter.selected_in_full(frame, self.inspector.paint, width, height, everything=self.shows_everything))
        if layout.scenario is not None and (state := presenter.loaded.scenario()) is not None:
            self.expected.update(state)
        if layout.totals is not None:
            self.totals.update(view)
        if layout.picture is not None and self._is_due(2, calm_frame):
            self.picture.update(presenter.topology(frame), "" if chosen.broker is None else broker_address(chosen.broker))
        if layout.partition_map is not None and self._is_due(2, calm_frame):
            self.partition_map.update(view, chosen.partition)
        if layout.timeline is not None:
            # Steps by hand take no virtual time, so the timeline uses event numbers.
            bookmarks = [(each.position.seq if by_hand else each.position.time, each.note) for each in frame.bookmarks]
            now, end = (view.seq, frame.status.end.seq) if by_hand else (view.now, frame.status.end.time)
            self.timeline.update(frame.marks, bookmarks, now, end, mark, by_events=by_hand)

    def _is_due(self, turn: int, calm_frame: int) -> bool:
        """Whether to update the page (`turn` 0), the hints (`turn` 1), or the picture or map (`turn` 2) in this frame. To keep frames short, they
        are updated in different frames.
        """
        every = max(1, round(self.presenter.display.frames / CALM_RATE))
        return calm_frame < 0 or calm_frame % every == turn % every

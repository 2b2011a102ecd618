"""Computes the content of a frame: header, hints, notes, and details. The content depends only on frozen views and the selection."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

import attrs
from textual.strip import Strip

from core.kafka.events import NOTABLE, EventTuple
from core.kafka.health import UncleanElection
from core.kafka.settings.settings import Settings
from core.lab.act_sentences import sentence
from core.lab.history.branch import Bookmark, Mark
from core.lab.history.event_buffer import EventBuffer
from core.lab.spec import Pace
from core.lab.views.broker_view import BrokerView
from core.lab.views.cluster_view import ClusterView
from core.lab.views.partition_view import PartitionView
from core.sim.events import first_cause
from core.sim.repr_mixin import ReprMixin
from core.sim.units import format_clock, format_duration
from tui.actions.context import ActionContext
from tui.actions.hints import Hint, hints
from tui.actions.questions import UNCLEAN
from tui.actions.selection import Selection
from tui.analysis.faults import faults_text
from tui.analysis.isr_reasons import IsrReasons
from tui.analysis.per_state_cache import cached_per_state
from tui.analysis.topology import Topology, session_timeout_us, topology_of
from tui.main_screen.display_options import DisplayOptions
from tui.panels.header import Clock
from tui.panels.inspector import paint_broker, paint_event_detail, paint_partition
from tui.rendering.palette import Palette
from tui.rendering.rows import blank, rule
from tui.session.loading import LoadedSession
from tui.session.status import SessionStatus

WIDE_NOTE: Final = 110
"""The minimum width, in columns, at which the brokers panel shows its note as a full sentence."""


@attrs.frozen(repr=False)
class Frame(ReprMixin):
    """The data from which a frame is painted.

    Attributes:
        view: the frozen state of the cluster.
        status: the status of the session.
        settings: the current settings of the cluster.
        event_buffer: the buffer with the latest events of the session.
        focus: the focused panel: `brokers`, `grid`, `events`, or `timeline`.
        event: the selected event, or None if no event is selected.
        page: the name of the open page; empty for the overview.
        marks: the notable events of this branch.
        bookmarks: the bookmarks of this branch.
    """

    view: ClusterView
    status: SessionStatus
    settings: Settings
    event_buffer: EventBuffer
    focus: str = "grid"
    event: EventTuple | None = None
    page: str = ""
    marks: Sequence[Mark] = ()
    bookmarks: Sequence[Bookmark] = ()


class Presenter:
    """An object that computes the content of a frame."""

    def __init__(self, loaded: LoadedSession, display: DisplayOptions, selection: Selection) -> None:
        self.loaded = loaded
        self.display = display
        self.selection = selection
        self.isr_reasons = IsrReasons()

    def pace(self, status: SessionStatus) -> Pace:
        """Return the current pace: `by-hand` while the user takes steps by hand, otherwise the pace of the scenario."""
        return Pace.BY_HAND if status.by_hand else self.loaded.spec.pace

    def context(self, frame: Frame) -> ActionContext:
        """Return the context for actions."""
        view, status, settings, loaded = frame.view, frame.status, frame.settings, self.loaded
        return ActionContext(
            view=view,
            broker=self.selection.broker_in(view),
            partition=self.selection.partition_in(view),
            event=frame.event,
            focus=frame.focus,
            playing=status.playing,
            speed=status.speed,
            pace=self.pace(status),
            in_the_past=status.in_the_past,
            key=self.display.keymap.key,
            page=frame.page,
            read_only=loaded.read_only,
            built_by_hand=loaded.spec.pace is Pace.BY_HAND,
            can_undo=status.can_undo,
            can_redo=status.can_redo,
            setting=lambda name, topic: settings.get(name, topic=topic),
            overridden=lambda name, topic: any(name == own for t in view.topics if t.name == topic for own, _ in t.config),
        )

    def clock(self, frame: Frame) -> Clock:
        """Return the content of the header."""
        view, status, loaded = frame.view, frame.status, self.loaded
        return Clock(
            view.now,
            status.playing,
            status.speed,
            status.reached,
            status.task_target,
            view.release,
            loaded.seed,
            loaded.title,
            status.finished,
            progress=status.progress,
            task_verb=status.task_verb,
            branch=status.branch if status.branches > 1 else "",
            past=status.end.time - view.now if status.in_the_past else -1,
            events_past=status.end.seq - view.seq,
            by_steps=status.stepwise,
            by_hand=status.by_hand,
            hand_key=self.display.keymap.key("by-hand"),
            coarse=self.display.slow_link,
            faults=faults_text(view),
            cancel_key=self.display.keymap.key("back"),
            end_key=self.display.keymap.key("to-end"),
        )

    def hints(self, frame: Frame) -> tuple[Hint, ...]:
        """Return the hints for the footer."""
        return hints(self.context(frame), moving=frame.status.moving)

    def topology(self, frame: Frame) -> Topology:
        """Return the picture of the cluster for the panel. Offsets of partitions outside the grid can be old, so it shows no lags."""
        traffic = self.loaded.session.reports.traffic_report()
        return topology_of(frame.view, traffic, session_timeout_us(frame.view, frame.settings), exact=False)

    def order_note(self, view: ClusterView) -> str:
        """Describe the order and filters of the partition list. If the list shows all partitions in order of name, return an empty
        string."""
        return self.selection.listing_note(view, self.display.keymap.key("back"))

    def nothing_note(self) -> str:
        """Return what the partition list says if the filter leaves nothing."""
        return self.selection.nothing_note(*map(self.display.keymap.key, ("search", "back", "only")))

    def mark_text(self, frame: Frame, mark: Mark | None) -> str:
        """Return the description of a mark on the timeline, or an empty string if no mark is selected."""
        if mark is None:
            return ""
        event = frame.event_buffer.find(mark.seq)
        return f"{format_clock(mark.time)} #{mark.seq} {mark.kind if event is None else sentence(event)}  ⏎ goes to the event"

    # --- unclean election ------------------------------------------------------------------------------------------

    def settings_note(self, frame: Frame, width: int) -> str:
        """For a panel of the given width, describe whether unclean election is allowed and what effect an unclean election would have now."""
        view, get = frame.view, frame.settings.get
        if (p := cached_per_state(view, "may be elected", lambda: self._may_be_elected(frame))) is not None:
            return self.unclean_words(frame, p, brief=width < WIDE_NOTE, whole=True).removesuffix(".")
        cluster = get(UNCLEAN, topic=None)
        others = [t.name for t in view.topics if get(UNCLEAN, topic=t.name) != cluster]
        other = f", {'off' if cluster else 'ON'} for {others[0] if len(others) == 1 else f'{len(others)} topics'}" if others else ""
        return f"unclean election {'ON' if cluster else 'off'}{other}"

    def _may_be_elected(self, frame: Frame) -> PartitionView | None:
        """Return a leaderless partition whose topic allows unclean election, or None. Partitions with a live replica come first."""
        election = self.context(frame).unclean_election
        found = (p for p in frame.view.partitions if election(p) is not None)
        return min(found, key=lambda p: election(p) is UncleanElection.NOBODY_UP, default=None)

    def unclean_words(self, frame: Frame, p: PartitionView, *, brief: bool = False, whole: bool = False) -> str:
        """Describe how and when a leaderless partition gets a leader through an unclean election.

        Return an empty string if the partition has a leader or unclean election is not allowed.

        Args:
            frame: the current frame.
            p: the partition.
            brief: whether to use only a few words.
            whole: whether the text describes the whole cluster. Text about the whole cluster also says that the key for unclean elections
                elects a leader only for the selected partition.
        """
        context = self.context(frame)
        election = context.unclean_election(p)
        if election is None:
            return ""
        if election is UncleanElection.NOBODY_UP:
            return (
                "unclean ON: no replica is up"
                if brief
                else (f"unclean ON, but no replica of {p.tp} is up." if whole else "unclean ON, but no replica is up.")
            )
        key = self.display.keymap.key("elect-unclean")
        if election is UncleanElection.AT_ONCE:
            return "unclean ON" if brief else "unclean ON: the controller acts immediately."
        by_key = f"{key} elects a leader for the selected partition only" if whole else f"{key} elects now"
        if election is UncleanElection.IGNORED:
            return (
                ("unclean ON" if whole else f"unclean ON: {key} elects")
                if brief
                else f"unclean ON, but this release's controller ignores it; {by_key}."
            )
        at = format_duration(context.view.unclean_check_us // 1_000_000 * 1_000_000)
        return (
            (f"unclean ON: in {at}" if whole else f"unclean ON: in {at}; {key} now")
            if brief
            else f"unclean ON: the next check is in {at}; {by_key}."
        )

    # --- the selection ---------------------------------------------------------------------------------------------

    def selected_in_full(
        self, frame: Frame, paint: Palette, width: int, rows: int = 0, *, everything: bool = False
    ) -> tuple[str, list[Strip], str]:
        """Return the headline, lines, and note for the selection in the focused panel.

        Args:
            frame: the current frame.
            paint: the palette.
            width: the width of a line in cells.
            rows: the number of lines that will be visible; 0 for all.
            everything: whether to stack the partition, the broker, and the event vertically.
        """
        context = self.context(frame)
        if everything:
            return self._everything_in_full(frame, context, paint, width)
        if context.focus == "events" and context.event is not None:
            return (
                "Why",
                paint_event_detail(context.event, frame.event_buffer.find, paint, width),
                "< goes to its cause" if first_cause(context.event) else "",
            )
        if context.focus == "brokers" and context.broker is not None:
            return f"Broker b{context.broker.id}", self._broker_in_full(frame, context.broker, paint, width), ""
        if context.partition is not None:
            return "Partition", self._partition_in_full(frame, context.partition, paint, width, rows), ""
        return "Nothing selected", [], ""

    def _partition_in_full(self, frame: Frame, p: PartitionView, paint: Palette, width: int, rows: int = 0) -> list[Strip]:
        """Paint the details of a partition, including the reasons why replicas left its ISR and the outcome of an unclean election."""
        left, unclean = self.isr_reasons.of(p, frame.event_buffer), self.unclean_words(frame, p)
        return paint_partition(p, frame.view, paint, width, rows, left=left, unclean=unclean)

    def _broker_in_full(self, frame: Frame, b: BrokerView, paint: Palette, width: int) -> list[Strip]:
        """Paint the details of a broker, including what waits for its network interface."""
        catch_ups = self.loaded.session.reports.catch_ups(b.id) if b.network is not None else ()
        return paint_broker(b, frame.view, paint, width, catch_ups)

    def _everything_in_full(self, frame: Frame, context: ActionContext, paint: Palette, width: int) -> tuple[str, list[Strip], str]:
        """Paint the partition, the broker, and the event, stacked vertically. If no event is selected, paint the last notable event."""
        lines: list[Strip] = []

        def section(title: str, content: list[Strip], note: str = "") -> None:
            lines.extend([blank(width), rule(title, note, width, paint.title, paint.faint, paint.muted), *content])

        if context.partition is not None:
            lines += self._partition_in_full(frame, context.partition, paint, width)
        if context.broker is not None:
            section(f"Broker b{context.broker.id}", self._broker_in_full(frame, context.broker, paint, width))
        ring = frame.event_buffer.ring(NOTABLE)
        event = context.event if context.event is not None else ring.at(ring.total - 1) if ring.total else None
        if event is not None:
            section(
                "Why",
                paint_event_detail(event, frame.event_buffer.find, paint, width),
                "selected event" if context.event is not None else "last notable event",
            )
        return "Partition", lines, ""

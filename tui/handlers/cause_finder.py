"""Finds the cause of an event, and the event that last changed a value."""

from __future__ import annotations

from typing import Final

from core.kafka.events import DETAIL, EventTuple
from core.lab.act_sentences import sentence
from core.lab.history.last_change import LastChangeWatchpoint, TrackedValue, tracked_values_of
from core.sim.events import seq_of
from tui.actions.context import Option, Question
from tui.handlers.screen_interface import ScreenInterface
from tui.handlers.time_travel import TimeTravel
from tui.session.session import Session

_KEYS: Final = {"leader": "l", "isr": "i", "hw": "h", "leo": "e", "state": "b"}
"""The keys that select a value when `ask_for_reading` asks for one."""


class CauseFinder:
    """The handler for the keys that show the causes of events and of changed values."""

    def __init__(self, session: Session, screen: ScreenInterface, time_travel: TimeTravel) -> None:
        self.session = session
        self.screen = screen
        self.time_travel = time_travel

    def show_or_go_back(self, seq: int) -> None:
        """Select an event. If the event is no longer in memory, go back to the moment of the event."""
        if self.session.history.event_buffer.find(seq) is not None:
            self.screen.show_event(seq)
        else:
            self.time_travel.go_to_event(seq)

    def ask_for_reading(self) -> None:
        """Ask the user to choose a value of the selected partition or broker, and then show the event that last changed this value."""
        context = self.screen.context()
        ring = self.session.history.event_buffer.ring(DETAIL)
        cells = tracked_values_of(context.partition, context.broker)
        events = [cell.last_change(ring) for cell in cells]
        options = tuple(
            Option(_KEYS[cell.name], cell.label, (), _in_words(event))
            if event is not None
            else Option(_KEYS[cell.name], cell.label, (), "no longer in memory; ⏎ goes back to it")
            if ring.first > 0
            else Option(_KEYS[cell.name], cell.label, (), refused="has not changed since the start")
            for cell, event in zip(cells, events, strict=True)
        )

        def chosen(option: Option | None) -> None:
            if option is None:
                return
            at = options.index(option)
            event = events[at]
            if event is not None:
                self.screen.show_event(seq_of(event))
            else:
                self._look_back_for(cells[at])

        question = Question(
            "Show the last change",
            f"Select a value. To go from its last change to the cause, press {self.screen.keymap.key('cause')}.",
            options,
        )
        self.screen.prompts.ask(question, chosen)

    def _look_back_for(self, cell: TrackedValue) -> None:
        def done(found: bool) -> None:
            if not found:
                self.screen.prompts.say(f"nothing has changed the {cell.label} yet", refused=True)
            self.screen.refresh_view()

        self.session.history.back_to_when(LastChangeWatchpoint(cell), f"what changed the {cell.label}", done)
        self.screen.refresh_view()


def _in_words(event: EventTuple) -> str:
    return f"#{seq_of(event)} {sentence(event)}"

"""Back to cause by keys: from a reading to the event that last changed it, and from an event to its cause, again and again."""

from __future__ import annotations

from typing import Final

from core.kafka.events import DETAIL, EventTuple
from core.lab.history.cells import Cell, LastChange, cells_of
from core.lab.history.goal import Goal
from core.lab.sentences import sentence
from tui import dialogs
from tui.screen import MainScreen
from tui.situation import Option, Question

_KEYS: Final = {"leader": "l", "isr": "i", "hw": "h", "leo": "e", "state": "b"}
"""What answers the question which reading is meant."""


class Causes(MainScreen):
    """The part of the main screen that goes back to causes."""

    def _to_cause(self) -> None:
        situation = self.situation()
        event = situation.event
        if event is None or not (situation.page or situation.focus == "events"):
            self._ask_for_cell()
        elif self.page is not None and self.page.select(event[2]):
            self.show_now()
        else:
            self._show_or_travel(event[2])

    def _show_or_travel(self, seq: int) -> None:
        """Select an event; one that is no longer in memory is gone back to."""
        if self.session.rings.find(seq) is not None:
            self.show_event(seq)
        else:
            self._travel(Goal(f"event {seq}", seq=seq))

    def _ask_for_cell(self) -> None:
        """Which reading of the selected partition or broker is meant; each answer already says what changed it last."""
        situation = self.situation()
        ring = self.session.rings.of(DETAIL)
        cells = cells_of(situation.partition, situation.broker)
        events = [cell.last_change(ring) for cell in cells]
        options = tuple(
            Option(_KEYS[cell.name], cell.label, (), _told(event))
            if event is not None
            else Option(_KEYS[cell.name], cell.label, (), "no longer in memory: goes back to it")
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
                self.show_event(event[0])
            else:
                self._look_back_for(cells[at])

        question = Question("What changed it last", f"From there {self.key('cause')} goes on to its cause.", options)
        self.app.push_screen(dialogs.Ask(question, self.paint), chosen)

    def _look_back_for(self, cell: Cell) -> None:
        def done(found: bool) -> None:
            if not found:
                self.say(f"nothing has changed the {cell.label} yet", refused=True)
            self.refresh_view()

        self.session.back_to_when(LastChange(cell), f"what changed the {cell.label}", done)
        self.refresh_view()


def _told(event: EventTuple) -> str:
    return f"#{event[0]} {sentence(event)}"

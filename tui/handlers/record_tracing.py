"""Shows the trace of one of the session's records in a dialog."""

from __future__ import annotations

from collections.abc import Sequence

from textual.strip import Strip

from core.kafka.ids import TopicPartition
from core.lab.trace.record_trace import RecordTrace
from scenarios.errors import InputError
from scenarios.exports.trace import check_trace, parse_record, trace_lines
from tui.handlers.screen_interface import ScreenInterface
from tui.panels.events import colored
from tui.rendering.palette import Palette
from tui.rendering.rows import LEAST_TEXT, Row, wrap
from tui.session.session import Session


class RecordTracing:
    """The handler that asks for a record and shows what happened to it up to the current moment."""

    def __init__(self, session: Session, screen: ScreenInterface) -> None:
        self.session = session
        self.screen = screen

    def ask(self) -> None:
        """Ask for a record. The default is the last record of the selected partition."""
        partition = self.screen.context().partition
        if partition is None:
            self.screen.prompts.say("there are no partitions", refused=True)
            return
        end = max((replica.leo for replica in partition.replica_views), default=0)
        about = (
            "Enter a record as PARTITION@OFFSET, or only the offset in the selected partition. The session is replayed up to this moment."
        )
        tp = partition.tp

        def wrong(text: str) -> str | None:
            try:
                _record(tp, text)
            except InputError as refusal:
                return refusal.lines[0].removeprefix("--record: ")
            return None

        def trace(text: str) -> None:
            self.session.trace_record(*_record(tp, text), self._show)
            self.screen.refresh_view()

        self.screen.prompts.ask_text("Trace a record", about, f"{tp}@{max(end - 1, 0)}", wrong, trace, travels=True)

    def _show(self, trace: RecordTrace) -> None:
        """Show the traces in a dialog."""
        try:
            check_trace(trace, {str(each.tp): each for each in self.screen.view.partitions})
        except InputError as refusal:
            self.screen.prompts.say(refusal.lines[0].removeprefix("--record: "), refused=True)
            return
        said, paint = tuple(trace_lines(trace)), self.screen.paint
        self.screen.prompts.show_details(f"Trace of {trace.tp}@{trace.offset}", lambda width: paint_trace(said, paint, width))


def paint_trace(said: Sequence[tuple[str, str]], paint: Palette, width: int) -> list[Strip]:
    """Paint the lines of a trace, each given as its prefix and its words. Words that have too little room beside their prefix stand below."""
    lines: list[Strip] = []
    for prefix, words in said:
        style = paint.text if prefix else paint.strong
        beside = width - len(prefix) >= LEAST_TEXT
        if not beside:
            lines.append(Row().join(colored(prefix, paint, paint.muted)).strip(width))
        indent = prefix if beside else "  "
        for number, line in enumerate(wrap(words, width - len(indent)) or [""]):
            before = " " * len(indent) if number or not beside else indent
            row = Row().join(colored(before, paint, paint.muted)) if before else Row()
            lines.append(row.join(colored(line, paint, style)).strip(width))
    return lines


def _record(tp: TopicPartition, text: str) -> tuple[TopicPartition, int]:
    """Return the record that the given string identifies. An offset without a partition refers to the selected partition."""
    return parse_record(f"{tp}@{text}" if text.isascii() and text.isdecimal() else text)

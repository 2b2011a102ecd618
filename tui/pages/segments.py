"""Paints the segment files of a replica and the steps of a lookup, for a dialog of the partition page."""

from __future__ import annotations

from textual.strip import Strip

from core.kafka.log.segment_files import file_name
from core.lab.reports.segment_report import SegmentReport, SegmentRow
from core.sim.units import US_PER_MS, parse_duration
from scenarios.exports.segments import NOTES, heading, lookup_lines
from tui.rendering.palette import Palette
from tui.rendering.rows import Row, wrap
from tui.rendering.tables import Cell, Column, paint_table


def lookup_target(text: str) -> tuple[int | None, int | None]:
    """Parse the target of a lookup: an offset such as `1234`, a time such as `4s`, or nothing. Return the offset and the timestamp in ms.

    Raises:
        ValueError: the text is neither an offset nor a time, or the time has a fraction of a millisecond.
    """
    if not text:
        return None, None
    if text.isascii() and text.isdecimal() and len(text) < 19:
        return int(text), None
    time = parse_duration(text)
    if time % US_PER_MS:
        raise ValueError("timestamps have no fractions of a millisecond")
    return None, time // US_PER_MS


def paint_segments(report: SegmentReport, paint: Palette, width: int) -> list[Strip]:
    """Return the lines of the dialog that shows a log's segments."""
    lines = [Row().add(line, paint.text).strip(width) for text in heading(report) for line in wrap(text, width)]
    columns = (
        Column("segment"), Column("offsets", right=True, rank=1), Column("batches", right=True, rank=4), Column(".log", right=True),
        Column("format v2", right=True, rank=5), Column(".index", right=True), Column(".timeindex", right=True, rank=2),
        Column(".txnindex", right=True, rank=3), Column(".snapshot", rank=6),
    )  # fmt: skip
    files = set() if report.lookup is None else {step.file.partition(".")[0] for step in report.lookup.steps}
    rows = [_row(each, file_name(each.base, "") in files, paint) for each in report.rows]
    lines += [Row().strip(width), *paint_table(columns, rows, paint, width, focused=False)]
    if report.omitted:
        lines.append(Row().add(f" and {report.omitted:,} older segments", paint.muted).strip(width))
    if report.lookup is not None:
        lines.append(Row().strip(width))
        for text in lookup_lines(report.lookup):
            indent = "   " if text[:1].isdigit() else "    " if text.startswith(" ") else ""
            for number, line in enumerate(wrap(text.strip(), width - len(indent))):
                lines.append(Row().add((indent if number else indent[3:]) + line, paint.text).strip(width))
    lines.append(Row().strip(width))
    return [*lines, *(Row().add(line, paint.muted).strip(width) for note in NOTES for line in wrap(note, width))]


def _row(each: SegmentRow, read: bool, paint: Palette) -> list[Cell]:
    """Return the table cells that describe a segment. A segment that the lookup reads is emphasized."""
    style = paint.strong if read else paint.text
    return [
        [(file_name(each.base, ""), style), (" active" if each.active else "", paint.muted)],
        (f"{each.base:,}–{each.end - 1:,}" if each.base < each.end else "none", style),
        (f"{each.batches:,}", style),
        (f"{each.bytes:,}", style),
        (f"{each.wire_bytes:,}", paint.muted),
        (f"{each.offset_entries:,}", style),
        (f"{each.time_entries:,}", style),
        (f"{each.aborted:,}" if each.aborted else "·", style),
        ("yes" if each.snapshot else "·", style),
    ]

"""Lines have exactly the requested width, whatever they contain."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st
from rich.cells import cell_len
from rich.console import Console
from rich.segment import Segment
from rich.style import Style
from textual.strip import Strip

from tui.rendering.palette import COLOR
from tui.rendering.rows import Line, Row, clip, clip_name, fit, rule, short_number, wrap
from tui.rendering.states import LEGEND
from tui.terminal.filters import to_ascii

TEXT = st.text(st.characters(codec="utf-8", exclude_categories=("Cc", "Cs", "Mn", "Me", "Cf", "Zl", "Zp")), max_size=60)


@given(st.lists(TEXT, max_size=6), st.integers(1, 100))
def test_a_strip_has_the_width_it_was_asked_for(texts: list[str], width: int) -> None:
    row = Row()
    for text in texts:
        row.add(text, Style())
    assert cell_len(row.strip(width).text) == width


def test_a_row_that_is_too_long_ends_with_an_ellipsis() -> None:
    assert Row().add("high watermark", Style()).strip(8).text == "high wa…"


def test_a_line_is_as_good_as_a_strip() -> None:
    segments = [Segment("high ", COLOR.text), Segment("水位", COLOR.bad), Segment(" mark")]
    line, strip = Line(segments, 14), Strip(segments, 14)
    assert line == strip
    for _ in range(2):
        assert line.crop(3, 8) == strip.crop(3, 8)
        assert line.divide([4, 14]) == strip.divide([4, 14])
        assert line.adjust_cell_length(20) == strip.adjust_cell_length(20)
        assert line.apply_style(COLOR.cursor) == strip.apply_style(COLOR.cursor)
        assert line.apply_offsets(1, 2) == strip.apply_offsets(1, 2)
        assert line.render(Console()) == strip.render(Console())
    assert not hasattr(line, "what a strip does not have")


@given(TEXT, st.integers(1, 60))
def test_clip_and_fit(text: str, width: int) -> None:
    assert cell_len(clip(text, width)) <= width
    assert cell_len(fit(text, width)) == width


@given(st.text("abc défgh…", max_size=200), st.integers(2, 40))
def test_wrap_keeps_every_letter_and_no_line_is_too_long(text: str, width: int) -> None:
    lines = wrap(text, width)
    assert all(cell_len(line) <= width for line in lines)
    assert "".join("".join(lines).split()) == "".join(text.split())


def test_wrap_breaks_at_blanks() -> None:
    assert wrap("b1 leads orders-0 in epoch 4", 12) == ["b1 leads", "orders-0 in", "epoch 4"]


def test_a_rule_drops_its_note_before_its_title() -> None:
    assert rule("Events 3", "notable", 30, COLOR.title, COLOR.faint, COLOR.muted).text == " Events 3 ─────────── notable "
    assert rule("Events 3", "notable events", 14, COLOR.title, COLOR.faint, COLOR.muted).text == " Events 3 ────"


def test_short_numbers() -> None:
    assert [short_number(n) for n in (0, 950, 12_345, 123_456, 1_230_000, 5_000_000_000)] == ["0", "950", "12,345", "123k", "1.23M", "5G"]


@given(TEXT)
def test_ascii_keeps_the_width(text: str) -> None:
    plain = to_ascii(text)
    assert plain.isascii()
    assert cell_len(plain) == cell_len(text)


def test_what_differs_in_the_legend_differs_in_ascii() -> None:
    glyphs = "★☆●○⊗✕▆▂·"
    assert len(set(to_ascii(glyphs))) == len(glyphs)
    assert "committed" in to_ascii(LEGEND)


def test_a_name_is_cut_before_its_partition() -> None:
    assert clip_name("__consumer_offsets-12", 14) == "__consumer…-12"
    assert clip_name("orders-0", 8) == "orders-0"
    assert clip_name("some-long-topic-7", 12) == "some-long…-7"
    assert clip_name("orders-123", 5) == "orde…"

"""The pages of reports and sweeps in a browser: nothing is wider than the screen, and no state is shown by color alone."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from core.sim.units import SECOND, format_duration
from scenarios.sweeps.output import page as sweep_page
from spark_reports.output import html
from tests.scenarios.sweeps.output.test_page import outcome
from tests.spark_reports.conftest import Reported
from tests.spark_reports.output import pages
from tests.spark_reports.output.browser import browser, pixels
from tests.spark_reports.output.devtools import Page, opened

pytestmark = [browser, pytest.mark.browser]

WIDTHS = (390, 768, 1440)
PAGES: dict[str, Callable[[], str]] = {"report": lambda: html.render(pages.report()), "sweep": lambda: sweep_page.render(outcome())}

WIDER = """Array.from(document.querySelectorAll("body *:not(.scroll *):not(.wide *)"), (e) => [e.getBoundingClientRect().right, e.tagName, e.className, e.textContent.slice(0, 40)])
  .filter(([right]) => right > document.documentElement.clientWidth + 0.5).slice(0, 5).map(String)"""


def written(tmp_path: Path, name: str) -> Path:
    page = tmp_path / f"{name}.html"
    page.write_text(PAGES[name](), encoding="utf-8")
    return page


@pytest.mark.parametrize("name", PAGES)
async def test_no_page_scrolls_sideways(tmp_path: Path, name: str) -> None:
    async with opened(tmp_path / "profile") as page:
        await page.go(written(tmp_path, name))
        for width, scheme in itertools.product(WIDTHS, ("light", "dark")):
            await page.look(width, scheme)
            measured = await page.value("[document.documentElement.scrollWidth, document.documentElement.clientWidth, innerWidth]")
            assert measured[0] <= measured[1] == width == measured[2], (measured, await page.value(WIDER))


async def test_the_worst_stands_on_the_first_screen(tmp_path: Path) -> None:
    async with opened(tmp_path / "profile") as page:
        await page.go(written(tmp_path, "report"))
        for width in WIDTHS:
            await page.look(width, "light")
            cards = await page.value(
                "Array.from(document.querySelectorAll('.cards .bad'), (card) => [card.textContent, card.getBoundingClientRect().bottom])"
            )
            first = [text for text, bottom in cards if bottom <= 844]
            assert len({text for text, _ in cards}) == len(cards), "each figure stands there once"
            for words in (
                "12records lost: 5 acknowledged, 9 read",
                "20slongest time without acknowledged acks=all writes",
                "10s without reads",
                "7batches that producers gave up on",
            ):
                assert any(words in text for text in first), (width, words, cards)
        assert await page.value("document.querySelectorAll('svg[data-curve] path.hw').length") > 1, "D3 drew the small charts"


@pytest.mark.parametrize("scheme", ["light", "dark"])
async def test_states_differ_without_their_colors(tmp_path: Path, scheme: str) -> None:
    """For each entry of the legend, the test subtracts the mean brightness. Nothing remains of a flat color, so at most one entry for each
    stripe can be flat.
    """
    async with opened(tmp_path / "profile") as page:
        await page.go(written(tmp_path, "report"))
        await page.look(1440, scheme)
        for legend, count in enumerate((5, 3, 3, 4, 4, 4, 2, 4)):
            marks: list[dict[str, Any]] = await page.value(
                f"Array.from(document.querySelectorAll('.legend')[{legend}].querySelectorAll('svg'), (mark) => {{"
                "const box = mark.getBoundingClientRect(); return {look: mark.dataset.look, words: mark.parentNode.textContent,"
                " x: box.x + scrollX, y: box.y + scrollY, width: 26, height: 14}; })"
            )
            assert len(marks) == count, legend
            assert len({mark["look"] for mark in marks}) == len({mark["words"] for mark in marks}) == len(marks), (
                "each has words of its own"
            )
            shades = await _greys(page, marks)
            for (at, mine), (other, theirs) in itertools.combinations(enumerate(shades), 2):
                unlike = sum(abs(a - b) for a, b in zip(_drawing(mine), _drawing(theirs), strict=True)) / len(mine)
                brightness = abs(_mean(mine) - _mean(theirs))
                flat = max(_drawing(mine)) - min(_drawing(mine)) < 8 and max(_drawing(theirs)) - min(_drawing(theirs)) < 8
                looks = (marks[at]["look"], marks[other]["look"])
                assert unlike > 8 or (flat and brightness > 60), (scheme, *looks, unlike, brightness)
        words = await page.value("Array.from(document.querySelectorAll('.lane text.bar'), (text) => text.textContent)")
        for state in ("under-replicated", "at min", "under min", "offline", "acks=all waits", "no writes", "no reads or writes", "b1"):
            assert state in words, "and in the bar itself, where there is room"
        explained = await page.value("Array.from(document.querySelectorAll('.legend span'), (mark) => mark.textContent)")
        assert "no reads or writes" in explained, "in the legend's words, too"


async def _greys(page: Page, marks: list[dict[str, Any]]) -> list[list[float]]:
    """Return the brightness of all pixels of each mark, from one picture of all marks."""
    left, top = (min(mark[axis] for mark in marks) for axis in "xy")
    width, height = (
        max(mark[axis] + mark[size] for mark in marks) - least for axis, size, least in (("x", "width", left), ("y", "height", top))
    )
    _, size, lines = pixels(await page.picture({"x": left, "y": top, "width": width, "height": height}))
    greys = []
    for mark in marks:
        # A fraction of a pixel of what is around the mark is no part of it.
        row, column = round(mark["y"] - top), round(mark["x"] - left)
        inside = range((column + 2) * size, (column + 24) * size, size)
        greys.append([0.3 * line[at] + 0.59 * line[at + 1] + 0.11 * line[at + 2] for line in lines[row + 2 : row + 12] for at in inside])
    return greys


def _mean(grey: list[float]) -> float:
    return sum(grey) / len(grey)


def _drawing(grey: list[float]) -> list[float]:
    mean = _mean(grey)
    return [value - mean for value in grey]


@pytest.mark.spark
@pytest.mark.slow
async def test_a_killed_follower_is_on_the_first_screen_as_a_stall(tmp_path: Path, follower_killed: Reported) -> None:
    """b3 dies at 10 s. Until the controller fences it some seconds later, nothing that was sent with acks=all is acknowledged."""
    report = follower_killed.report
    stalled = report.totals["longest_stalled_us"] or 0
    assert 3 * SECOND < stalled < 12 * SECOND
    path = tmp_path / "killed.html"
    path.write_text(html.render(report), encoding="utf-8")
    async with opened(tmp_path / "profile") as page:
        await page.go(path)
        for width in (390, 1440):
            await page.look(width, "light")
            text, bottom = await page.value(
                "(card => [card.textContent, card.getBoundingClientRect().bottom])(document.querySelector('.cards li'))"
            )
            assert text == f"!{format_duration(stalled)}longest time without acknowledged acks=all writes, at orders-0"
            assert bottom < 844
            told = await page.value("document.querySelector('#happened dd.harm').getBoundingClientRect().bottom")
            assert told < 844, "what clients felt stands there, too"
            bar = await page.value("document.querySelector('rect.u-stalled:not(.legend rect)').getBoundingClientRect().width")
            assert bar > width / 20
        # A click holds the crosshair: what tooltips say is there for those without a pointer, and so is the command of the moment.
        where = await page.value(
            "(r => [r.x + r.width * 0.3, r.y + 5])(document.querySelector('.axis-box .lane svg').getBoundingClientRect())"
        )
        for kind in ("mousePressed", "mouseReleased"):
            await page.ask("Input.dispatchMouseEvent", type=kind, x=where[0], y=where[1], button="left", clickCount=1)
        held = await page.value("document.querySelector('.readout').textContent")
        assert "b3 killed for" in held, held
        assert "isrlab play killed.jsonl --at 13" in held, held
        assert await page.value("document.querySelectorAll('.series path.curve').length") > 3, "D3 drew the curves"

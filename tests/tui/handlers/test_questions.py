"""Questions about the cluster on the screen: Q."""

from __future__ import annotations

from core.sim.units import SECOND
from scenarios.questions.asked import Answer
from tests.tui.app.test_playground import playing, screen_text
from tests.tui.handlers.test_time_travel import settled, write
from tui.dialogs.details import DetailsDialog
from tui.dialogs.text_line import TextLineDialog
from tui.handlers.questions import paint_answer
from tui.rendering.palette import palette_of


async def test_a_question_about_brokers_is_answered_in_a_dialog() -> None:
    async with playing(until=2 * SECOND) as (app, main_screen, pilot):
        before = main_screen.session.history.view().seq
        await pilot.press("Q")
        await settled(main_screen, pilot)
        assert "Ask about this cluster" in screen_text(app)
        await pilot.press("1")
        await settled(main_screen, pilot)
        assert isinstance(app.screen, TextLineDialog)
        await write(app, pilot, "1,2")
        await settled(main_screen, pilot)
        assert isinstance(app.screen, DetailsDialog)
        assert "No: do not stop b1, b2 together." in screen_text(app)
        await pilot.press("escape")
        assert main_screen.session.history.view().seq == before, "the session does not change"


async def test_a_wrong_broker_is_named_while_typing() -> None:
    async with playing(until=2 * SECOND) as (app, main_screen, pilot):
        await pilot.press("Q")
        await settled(main_screen, pilot)
        await pilot.press("1")
        await settled(main_screen, pilot)
        await write(app, pilot, "9")
        assert "'9' is not a broker" in screen_text(app)


async def test_a_rolling_restart_runs_a_copy() -> None:
    async with playing(until=2 * SECOND) as (app, main_screen, pilot):
        await pilot.press("Q")
        await settled(main_screen, pilot)
        await pilot.press("2")
        await settled(main_screen, pilot)
        await write(app, pilot, "")
        await settled(main_screen, pilot)
        assert "Restart in the order" in screen_text(app)
        assert main_screen.session.history.view().brokers[0].up


def test_each_point_of_an_answer_has_one_bullet() -> None:
    paint = palette_of("dark")
    plain = paint_answer(Answer("Yes.", ("one", "two, which is longer than a line"), "how"), paint, 24)
    assert [line.text.rstrip() for line in plain] == ["Yes.", "· one", "· two, which is longer", "  than a line", "how"]
    listed = paint_answer(Answer("No.", ("brokers:", "· b1", "· b2"), "how"), paint, 24)
    assert [line.text.rstrip() for line in listed] == ["No.", "brokers:", "· b1", "· b2", "how"]

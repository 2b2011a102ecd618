"""Traces records in the playground."""

from __future__ import annotations

from core.sim.units import SECOND
from tests.tui.app.test_playground import playing, screen_text


async def test_a_record_is_chosen_and_its_life_shown() -> None:
    async with playing(until=3 * SECOND) as (app, main_screen, pilot):
        await pilot.press("2", "I")
        await pilot.pause()
        assert "Enter a record as PARTITION@OFFSET" in screen_text(app)
        await pilot.press(*"5", "enter")
        while main_screen.session.history.task is not None:
            await pilot.pause()
        await pilot.pause()
        tp = main_screen.selection.partition
        shown = " ".join(screen_text(app).split())
        assert f"Trace of {tp}@5" in shown
        assert "put the record in a batch of" in shown
        assert "raised its high watermark to" in shown
        assert "Now on b1, b2, b3" in shown
        assert main_screen.session.history.cluster.now == 3 * SECOND
        await pilot.press("escape", "I")
        await pilot.pause()
        await pilot.press(*"nothing", "enter")
        assert "is not a record; write PARTITION@OFFSET" in " ".join(screen_text(app).split())

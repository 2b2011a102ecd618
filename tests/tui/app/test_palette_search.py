"""The command palette finds what `isrlab find` finds: scenarios, errors, and settings by what people say."""

from __future__ import annotations

import pytest

from core.sim.units import SECOND
from tests.tui.app.test_playground import playing, screen_text
from tests.tui.handlers.test_time_travel import settled
from tui.app.command_palette_names import known
from tui.dialogs.details import DetailsDialog


@pytest.mark.parametrize(
    ("words", "name"),
    [
        ("split brain", "scenario d8-split-brain"),
        ("NotEnoughReplicasException", "error NOT_ENOUGH_REPLICAS"),
        ("hanging", "scenario t1-late-produce"),
    ],
)
async def test_what_people_say_is_found_and_shown(words: str, name: str) -> None:
    async with playing(until=2 * SECOND) as (app, main_screen, pilot):
        found = {each[1]: each[3] for each in known(main_screen, words)}
        assert name in list(found)[:3]
        found[name]()
        await settled(main_screen, pilot)
        assert isinstance(app.screen, DetailsDialog)
        assert name.split()[1] in screen_text(app)
        assert "isrlab play" in screen_text(app)


async def test_two_letters_are_too_few() -> None:
    async with playing(until=2 * SECOND) as (_, main_screen, _pilot):
        assert known(main_screen, "is") == []

"""Saves time in tests of applications: parses each style sheet once for all applications in a process, because parsing takes a tenth of the
time of a short test, and waits for an application only as long as it has something to do.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Iterator
from typing import Any

import pytest
import textual.app
import textual.pilot
from textual._context import active_app
from textual.app import App
from textual.css.model import RuleSet
from textual.css.stylesheet import Stylesheet
from textual.pilot import Pilot

from tui.handlers import prompts


@pytest.fixture(scope="session", autouse=True)
def style_sheets_parsed_once() -> Iterator[None]:
    """Cache the rules of a style sheet by its text, its path, and the variables of the theme. This is safe because applications never
    change the rules.
    """
    parsed: dict[tuple[Any, ...], list[RuleSet]] = {}
    parse = Stylesheet._parse_rules

    def parse_once(sheet: Stylesheet, *args: Any, **kwargs: Any) -> list[RuleSet]:
        key = (args, tuple(sorted(kwargs.items())), tuple(sorted(sheet._variables.items())))
        if key not in parsed:
            parsed[key] = parse(sheet, *args, **kwargs)
        return parsed[key]

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Stylesheet, "_parse_rules", parse_once)
        yield


@pytest.fixture(scope="session", autouse=True)
def pilot_waits_for_the_event_loop() -> Iterator[None]:
    """Let a pilot wait until the event loop has nothing to do and the screen is painted.

    Textual's pilot sleeps for 20 ms after each key, several times, until the process has used no processor time during a sleep. Two thirds of
    the time of the tests passed in these sleeps, and on a busy machine, a process that was not scheduled looked idle.
    """
    press = Pilot.press

    async def press_and_paint(pilot: Pilot[Any], *keys: str) -> None:
        await press(pilot, *keys)
        await nothing_to_do()

    with pytest.MonkeyPatch.context() as patch:
        for module in (textual.app, textual.pilot):
            patch.setattr(module, "wait_for_idle", nothing_to_do)
        patch.setattr(Pilot, "press", press_and_paint)
        yield


@pytest.fixture(autouse=True)
def messages_stay(monkeypatch: pytest.MonkeyPatch) -> None:
    """Keep the messages of the footer, which would disappear after five seconds, however little of a test has run by then."""
    monkeypatch.setattr(prompts, "MESSAGE_SECONDS", 3_600.0)


async def nothing_to_do(_min_sleep: float = 0.0, max_sleep: float = 1.0) -> None:
    """Wait until no callback is ready and the screen has painted all its changes, but no longer than a number of seconds of processor time.
    On a busy machine, the wall time passes while the application does not run.

    An application handles a new size, and paints, when its timers fire: 120 and 60 times a second. This function does so without waiting for
    the timers.
    """
    deadline = time.process_time() + max_sleep
    await no_callback_ready(deadline)
    while await paint(active_app.get()) and time.process_time() < deadline:
        await no_callback_ready(deadline)


async def no_callback_ready(deadline: float) -> None:
    """Wait until the event loop runs nothing but this task for a few rounds. A callback that waits for a socket or a pipe, such as one of
    `call_soon_threadsafe`, becomes ready at the start of a round.
    """
    loop = asyncio.get_running_loop()
    alone = 0
    while alone < 3 and time.process_time() < deadline:
        await asyncio.sleep(0)
        alone = 0 if loop._ready else alone + 1  # type: ignore[attr-defined]


async def paint(app: App[Any]) -> bool:
    """Take over a new size, and paint what has changed on the screen. Return False if nothing has changed."""
    if app._exit or not app.screen_stack:
        return False
    if app._batch_count:  # for example, for the 50 ms after the command palette has closed
        await asyncio.sleep(0.001)
        return True
    if app._resize_timer is not None:
        app._check_resize()
        return True
    screen = app.screen
    changed = bool(screen._layout_required or screen._scroll_required or screen._repaint_required or screen._recompose_required)
    changed = changed or bool(screen._dirty_widgets or screen._callbacks)
    if changed:
        screen._on_timer_update()
    return changed

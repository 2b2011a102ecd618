"""The playground in a real browser: keys reach it without a click, also after the session has ended, and it is usable on a phone."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path

import pytest

from tests.spark_reports.output.browser import browser
from tests.spark_reports.output.devtools import Page, opened
from tests.tui.terminal.test_browser_server import served

pytestmark = [browser, pytest.mark.browser]

SECONDS = 90
"""The maximum time to wait for anything, in seconds. A busy machine needs a large part of it."""

LISTEN = """
window.painted = ""; window.sizes = []; window.failed = [];
addEventListener("error", (event) => window.failed.push(event.message));
const Socket = WebSocket;
window.WebSocket = class extends Socket {
  constructor(address) {
    super(address);
    this.addEventListener("message", ({data}) => { if (typeof data !== "string") window.painted += new TextDecoder().decode(data); });
  }
  send(text) { const [kind, said] = JSON.parse(text); if (kind === "resize") window.sizes.push(said); super.send(text); }
};
"""
"""Runs in the page before its own scripts, and notes what the terminal is told to paint and which sizes the page sends."""

SCREEN = """(() => { const {width, right, bottom} = document.querySelector(".xterm-screen").getBoundingClientRect();
return [width, right, bottom, document.documentElement.scrollWidth, innerWidth, innerHeight, Number(document.querySelector("#terminal").dataset.fontSize)]; })()"""


async def until(page: Page, condition: str) -> None:
    """Wait until an expression in the page is true."""
    async with asyncio.timeout(SECONDS):
        while not await page.value(f"Boolean({condition})"):
            await asyncio.sleep(0.2)


async def until_painted(page: Page, words: str) -> None:
    """Wait until the terminal was told to paint words. Colors and moves of the cursor do not count."""
    await until(page, rf"(window.painted ?? '').replace(/\x1b\[[0-9;?]*[a-zA-Z]/g, '').includes({json.dumps(words)})")


async def press(page: Page, key: str, text: str, code: int = 0) -> None:
    """Press a key. `code` is the number of a key that is more than its text."""
    await page.ask("Input.dispatchKeyEvent", type="keyDown", key=key, text=text, windowsVirtualKeyCode=code)
    await page.ask("Input.dispatchKeyEvent", type="keyUp", key=key, windowsVirtualKeyCode=code)


async def test_keys_reach_the_playground_without_a_click_and_a_phone_shows_all_panels(tmp_path: Path) -> None:
    async with served("--fps", "5", "--seed", "1") as (here, _), opened(tmp_path / "profile") as page:
        await page.ask("Page.enable")
        await page.ask("Page.addScriptToEvaluateOnNewDocument", source=LISTEN)
        await page.look(1200, "dark", 800)
        await page.ask("Page.navigate", url=f"{here}/")
        await until_painted(page, "Brokers 3 of 3 up")
        assert (await page.value(SCREEN))[-1] == 16
        await press(page, "k", "k")
        await until_painted(page, "b1 was killed")
        await press(page, "q", "q")
        await until_painted(page, "1 act is not saved.")
        await press(page, "q", "q")
        await until(page, "document.activeElement.textContent === 'Restart'")
        assert await page.value("window.failed") == []

        await page.look(390, "dark", 844)
        await page.value("window.painted = ''")
        await press(page, "Enter", "\r", 13)
        await until_painted(page, "Brokers 3 of 3 up")
        await press(page, "k", "k")
        await until_painted(page, "b1 was killed")
        width, right, bottom, wide, inner_width, inner_height, font = await page.value(SCREEN)
        assert (inner_width, inner_height) == (390, 844)
        assert 300 < width <= right <= wide <= 390
        assert 700 < bottom <= 844
        assert 7 <= font < 16
        assert (await page.value("window.sizes"))[-1]["width"] >= 80

"""Controls Chromium through its developer tools. Unlike a headless window, a page can then have the width of a phone, in dark and light
mode.
"""

from __future__ import annotations

import asyncio
import base64
import contextlib
import os
import subprocess
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import aiohttp

from tests.spark_reports.output.browser import CHROMIUM

SECONDS = 60
"""The maximum time to wait for anything, in seconds."""


class Page:
    """A page that is open in the browser."""

    def __init__(self, socket: aiohttp.ClientWebSocketResponse) -> None:
        self._socket = socket
        self._number = 0

    async def ask(self, method: str, **params: Any) -> dict[str, Any]:
        """Send a command and return the answer. Events that arrive before the answer are ignored."""
        self._number += 1
        await self._socket.send_json({"id": self._number, "method": method, "params": params})
        while True:
            answer = await asyncio.wait_for(self._socket.receive_json(), SECONDS)
            if answer.get("id") == self._number:
                assert "error" not in answer, answer
                return answer.get("result", {})

    async def look(self, width: int, scheme: str, height: int = 844) -> None:
        """Set the width, the height, and dark or light mode. Up to a width of 480 px, the page is displayed as on a phone."""
        await self.ask("Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=1, mobile=width <= 480)
        await self.ask("Emulation.setEmulatedMedia", features=[{"name": "prefers-color-scheme", "value": scheme}])
        await self.value("new Promise(done => requestAnimationFrame(() => requestAnimationFrame(() => done(1))))")

    async def go(self, page: Path) -> None:
        """Open a file and wait until it is loaded."""
        await self.ask("Page.navigate", url=page.as_uri())
        await self.value("new Promise(done => document.readyState === 'complete' ? done(1) : addEventListener('load', () => done(1)))")

    async def value(self, expression: str) -> Any:
        """Return the value of an expression in the page."""
        answer = await self.ask("Runtime.evaluate", expression=expression, returnByValue=True, awaitPromise=True)
        assert "exceptionDetails" not in answer, answer
        return answer["result"].get("value")

    async def picture(self, clip: dict[str, float] | None = None) -> bytes:
        """Return the visible part of the page, or a rectangle of the whole page, as PNG."""
        more = {} if clip is None else {"clip": {**clip, "scale": 1}, "captureBeyondViewport": True}
        return base64.b64decode((await self.ask("Page.captureScreenshot", format="png", **more))["data"])


@contextlib.asynccontextmanager
async def opened(profile: Path) -> AsyncIterator[Page]:
    """Provide a browser with an empty page."""
    sandbox = ["--no-sandbox"] if os.geteuid() == 0 else []
    quiet = ["--disable-background-networking", "--disable-component-update", "--no-first-run", "--disable-gpu", "--disable-dev-shm-usage"]
    command = [
        str(CHROMIUM),
        "--headless",
        *sandbox,
        *quiet,
        "--hide-scrollbars",
        "--remote-debugging-port=0",
        f"--user-data-dir={profile}",
        "about:blank",
    ]
    process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        port = await _port(process, profile / "DevToolsActivePort")
        async with aiohttp.ClientSession() as session:
            async with session.get(f"http://127.0.0.1:{port}/json/list") as answer:
                (target,) = [each for each in await answer.json() if each["type"] == "page"]
            async with session.ws_connect(target["webSocketDebuggerUrl"], max_msg_size=0) as socket:
                yield Page(socket)
    finally:
        process.terminate()
        process.wait(SECONDS)


async def _port(process: subprocess.Popen[bytes], told: Path) -> int:
    """Return the port on which the browser listens. The browser writes it to a file."""
    for _ in range(SECONDS * 10):
        assert process.poll() is None, f"the browser ended with {process.returncode}"
        with contextlib.suppress(FileNotFoundError, ValueError, IndexError):
            return int(told.read_text().splitlines()[0])
        await asyncio.sleep(0.1)
    raise TimeoutError("the browser does not listen")

"""Chromium through its developer tools: a page at the width of a telephone, in dark and in light, as no window without a screen can be."""

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
"""Longest to wait for anything."""


class Page:
    """An open page."""

    def __init__(self, socket: aiohttp.ClientWebSocketResponse) -> None:
        self._socket = socket
        self._number = 0

    async def ask(self, method: str, **params: Any) -> dict[str, Any]:
        """The answer to a command; events that come in between are left."""
        self._number += 1
        await self._socket.send_json({"id": self._number, "method": method, "params": params})
        while True:
            answer = await asyncio.wait_for(self._socket.receive_json(), SECONDS)
            if answer.get("id") == self._number:
                assert "error" not in answer, answer
                return answer.get("result", {})

    async def look(self, width: int, scheme: str, height: int = 844) -> None:
        """Be so wide and high, dark or light; up to 480 px it is a telephone."""
        await self.ask("Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=1, mobile=width <= 480)
        await self.ask("Emulation.setEmulatedMedia", features=[{"name": "prefers-color-scheme", "value": scheme}])
        await self.value("new Promise(done => requestAnimationFrame(() => requestAnimationFrame(() => done(1))))")

    async def go(self, page: Path) -> None:
        """Open a file and wait until it is loaded."""
        await self.ask("Page.navigate", url=page.as_uri())
        await self.value("new Promise(done => document.readyState === 'complete' ? done(1) : addEventListener('load', () => done(1)))")

    async def value(self, expression: str) -> Any:
        """What an expression comes to in the page."""
        answer = await self.ask("Runtime.evaluate", expression=expression, returnByValue=True, awaitPromise=True)
        assert "exceptionDetails" not in answer, answer
        return answer["result"].get("value")

    async def picture(self, clip: dict[str, float] | None = None) -> bytes:
        """What is seen, or of the whole page a rectangle, as PNG."""
        more = {} if clip is None else {"clip": {**clip, "scale": 1}, "captureBeyondViewport": True}
        return base64.b64decode((await self.ask("Page.captureScreenshot", format="png", **more))["data"])


@contextlib.asynccontextmanager
async def opened(profile: Path) -> AsyncIterator[Page]:
    """A browser with an empty page."""
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
    """The port on which the browser listens, which it writes to a file."""
    for _ in range(SECONDS * 10):
        assert process.poll() is None, f"the browser ended with {process.returncode}"
        with contextlib.suppress(FileNotFoundError, ValueError, IndexError):
            return int(told.read_text().splitlines()[0])
        await asyncio.sleep(0.1)
    raise TimeoutError("the browser does not listen")

"""The playground in a browser: what the server gives out, to whom, and what is told when it cannot."""

from __future__ import annotations

import asyncio
import importlib.util
import socket
import subprocess
import sys
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from tui.cli import main

aiohttp = pytest.importorskip("aiohttp", reason="textual-serve (extra serve) is not installed")
ROOT = Path(__file__).parents[2]


def free_port() -> int:
    with socket.socket() as trial:
        trial.bind(("127.0.0.1", 0))
        return int(trial.getsockname()[1])


@asynccontextmanager
async def served(*arguments: str) -> AsyncIterator[tuple[int, asyncio.subprocess.Process]]:
    """A server of the command line, once it listens."""
    port = free_port()
    process = await asyncio.create_subprocess_exec(
        sys.executable, "-m", "tui", "serve", "--port", str(port), *arguments, cwd=ROOT, stderr=asyncio.subprocess.PIPE
    )
    assert process.stderr is not None
    told = (await asyncio.wait_for(process.stderr.readline(), 30)).decode()
    assert told == f"isrlab: open http://127.0.0.1:{port} in a browser; Ctrl+C ends it\n"
    for _ in range(100):
        with socket.socket() as trial:
            if trial.connect_ex(("127.0.0.1", port)) == 0:
                break
        await asyncio.sleep(0.05)
    try:
        yield port, process
    finally:
        process.terminate()
        await asyncio.wait_for(process.wait(), 20)


async def painted(socket: aiohttp.ClientWebSocketResponse, text: bytes, seconds: float = 30.0) -> bytes:
    """What the page is sent, until a text is in it."""
    got = b""
    async with asyncio.timeout(seconds):
        while text not in got:
            message = await socket.receive()
            assert message.type in (aiohttp.WSMsgType.BINARY, aiohttp.WSMsgType.TEXT), message
            got += message.data if isinstance(message.data, bytes) else message.data.encode()
    return got


async def test_it_plays_in_a_page_of_its_own_and_in_no_other() -> None:
    async with served("e1-data-loss", "--release", "0.10.2", "--fps", "5") as (port, process), aiohttp.ClientSession() as client:
        here = f"http://127.0.0.1:{port}"
        async with client.get(f"{here}/") as answer:
            page = await answer.text()
        assert answer.status == 200
        assert f"ws://127.0.0.1:{port}/ws" in page
        assert "googleapis" not in page
        async with client.get(f"{here}/", headers={"Host": f"localhost:{port}"}) as answer:
            assert f"ws://localhost:{port}/ws" in await answer.text()
        for headers in ({"Host": "evil.example"}, {"Host": f"evil.example:{port}"}):
            async with client.get(f"{here}/", headers=headers) as answer:
                assert (answer.status, "is not served here" in await answer.text()) == (403, True)
        for headers in ({"Origin": "http://evil.example"}, {"Origin": f"http://127.0.0.1:{port + 1}"}, {"Host": "evil.example"}):
            with pytest.raises(aiohttp.WSServerHandshakeError):
                await client.ws_connect(f"{here}/ws", headers=headers)
        async with client.ws_connect(f"{here}/ws?width=120&height=40", headers={"Origin": here}) as page_socket:
            assert b"e1-data-loss" in await painted(page_socket, b"isrlab")
            await page_socket.send_json(["stdin", "?"])
            await painted(page_socket, b"Keys")
            await page_socket.send_json(["stdin", "\x1bq"])
        assert process.returncode is None


@pytest.mark.parametrize(
    ("given", "told"),
    [
        (["--port", "0"], "--port: '0' is no port; write a whole number from 1 to 65535"),
        (["--port", "http"], "--port: 'http' is no port; write a whole number from 1 to 65535"),
        (["--fps", "99"], "--fps: '99' is no number of frames; write a whole number from 1 to 60"),
        (["e1-data-los"], "e1-data-los: "),
        (["--host", "192.0.2.1", "--port", "8123"], "cannot listen at 192.0.2.1:8123: "),
    ],
)
def test_what_is_wrong_is_told_at_once(given: Sequence[str], told: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["serve", *given]) == 2
    assert capsys.readouterr().err.splitlines()[-1].startswith(f"isrlab: {told}")


def test_a_port_in_use_is_told(capsys: pytest.CaptureFixture[str]) -> None:
    with socket.socket() as holder:
        holder.bind(("127.0.0.1", 0))
        holder.listen()
        port = holder.getsockname()[1]
        assert main(["serve", "--port", str(port)]) == 2
    assert capsys.readouterr().err == f"isrlab: cannot listen at 127.0.0.1:{port}: Address already in use; choose another with --port\n"


def test_an_address_others_reach_is_warned_about(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["serve", "--host", "192.0.2.1", "--port", "8123"]) == 2
    assert capsys.readouterr().err.startswith(
        "isrlab: 192.0.2.1 may be reached from other machines: whoever does plays here, as you; 'ssh -L 8123:127.0.0.1:8123' is safer\n"
    )


def test_without_the_extra_it_says_how_to_get_it(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None)
    assert main(["serve"]) == 2
    assert (
        capsys.readouterr().err
        == "isrlab: serve needs textual-serve, which is not installed; 'make serve' brings it, or install it with: pip install 'isrlab[serve]'\n"
    )


def test_playing_does_not_need_the_extra() -> None:
    code = (
        "import sys; sys.modules['textual_serve'] = None; sys.modules['aiohttp'] = None; from tui.cli import main; main(['play', '--help'])"
    )
    assert subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, check=False).returncode == 0

"""The playground in a browser: what the server returns, to whom, and its error messages."""

from __future__ import annotations

import asyncio
import contextlib
import importlib.util
import json
import re
import socket
import subprocess
import sys
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from tui.cli import main
from tui.terminal.browser_messages import message_of

aiohttp = pytest.importorskip("aiohttp", reason="textual-serve (extra serve) is not installed")
ROOT = Path(__file__).parents[3]


def free_port() -> int:
    with socket.socket() as trial:
        trial.bind(("127.0.0.1", 0))
        return int(trial.getsockname()[1])


@asynccontextmanager
async def served(*arguments: str) -> AsyncIterator[tuple[str, asyncio.subprocess.Process]]:
    """Start the server from the command line, wait until it listens, and provide the address that it prints."""
    port = free_port()
    process = await asyncio.create_subprocess_exec(
        sys.executable, "-m", "tui", "serve", "--port", str(port), *arguments, cwd=ROOT, stderr=asyncio.subprocess.PIPE
    )
    assert process.stderr is not None
    told = (await asyncio.wait_for(process.stderr.readline(), 30)).decode()
    match = re.fullmatch(rf"isrlab: open (http://127\.0\.0\.1:{port}/[A-Za-z0-9_-]{{24}})/ in a browser; to stop, press Ctrl\+C\n", told)
    assert match is not None, told
    for _ in range(100):
        with socket.socket() as trial:
            if trial.connect_ex(("127.0.0.1", port)) == 0:
                break
        await asyncio.sleep(0.05)
    try:
        yield match[1], process
    finally:
        with contextlib.suppress(ProcessLookupError):  # A test may have ended it.
            process.terminate()
        await asyncio.wait_for(process.wait(), 20)


async def painted(socket: aiohttp.ClientWebSocketResponse, text: bytes, seconds: float = 30.0) -> bytes:
    """Return what the server sends to the page, up to and including a given text."""
    got = b""
    async with asyncio.timeout(seconds):
        while text not in got:
            message = await socket.receive()
            assert message.type in (aiohttp.WSMsgType.BINARY, aiohttp.WSMsgType.TEXT), message
            got += message.data if isinstance(message.data, bytes) else message.data.encode()
    return got


def name_and_token(address: str) -> tuple[str, str]:
    """Return the host and port of an address, for example `127.0.0.1:8000`, and its token."""
    name, token = address.removeprefix("http://").split("/")
    return name, token


async def test_it_plays_in_a_page_of_its_own_and_in_no_other() -> None:
    async with served("e1-data-loss", "--release", "0.10.2", "--fps", "5") as (here, process), aiohttp.ClientSession() as client:
        name, token = name_and_token(here)
        port = int(name.partition(":")[2])
        async with client.get(f"{here}/") as answer:
            page = await answer.text()
        assert answer.status == 200
        assert f"ws://{name}/{token}/ws" in page
        assert "googleapis" not in page
        async with client.get(f"{here}/", headers={"Host": f"localhost:{port}"}) as answer:
            assert f"ws://localhost:{port}/{token}/ws" in await answer.text()
        for headers in ({"Host": "evil.example"}, {"Host": f"evil.example:{port}"}):
            async with client.get(f"{here}/", headers=headers) as answer:
                assert (answer.status, "is not served here" in await answer.text()) == (400, True)
                assert token not in await answer.text()
        for headers in (
            {"Origin": "http://evil.example"},
            {"Origin": f"http://127.0.0.1:{port + 1}"},
            {"Origin": "null"},
            {"Origin": "http://[bad"},
            {"Host": "evil.example"},
        ):
            with pytest.raises(aiohttp.WSServerHandshakeError):
                await client.ws_connect(f"{here}/ws", headers=headers)
        async with client.ws_connect(f"{here}/ws?width=120&height=40", headers={"Origin": f"http://{name}"}) as page_socket:
            assert b"e1-data-loss" in await painted(page_socket, b"isrlab")
            await page_socket.send_json(["ping", 7])
            await painted(page_socket, b'["pong", 7]')
            await page_socket.send_json(["resize", {"width": 100, "height": 30}])
            await page_socket.send_json(["stdin", "?"])
            await painted(page_socket, b"Keys")
            await page_socket.send_json(["stdin", "\x1bq"])
        assert process.returncode is None


async def test_without_the_token_nothing_is_served() -> None:
    async with served("--fps", "1") as (here, _), aiohttp.ClientSession() as client:
        name, token = name_and_token(here)
        for path in (
            "",
            "ws",
            "x/",
            "x/ws",
            f"{token[:-1]}/",
            f"{token}x/",
            f"?token={token}",
            f"{token}/download/x",
            "download/x",
            "%ff/",
        ):
            async with client.get(f"http://{name}/{path}") as answer:
                assert answer.status == 403, path
                assert token not in await answer.text()
        for path in ("ws", "x/ws"):
            with pytest.raises(aiohttp.WSServerHandshakeError, match="403"):
                await client.ws_connect(f"http://{name}/{path}")
        async with client.get(f"{here}/") as answer:
            parts = re.findall(r'(?:src|href)="(http://[^"]+)"', await answer.text())
        assert len(parts) == 2
        for part in parts:
            async with client.get(part) as answer:
                assert answer.status == 200
    async with served("--fps", "1") as (again, _):
        assert name_and_token(again)[1] != token


async def test_every_answer_forbids_frames() -> None:
    async with served("--fps", "1") as (here, _), aiohttp.ClientSession() as client:
        name, _ = name_and_token(here)
        for address in (f"{here}/", f"http://{name}/", f"http://{name}/static/css/xterm.css", f"http://{name}/static/none"):
            async with client.get(address) as answer:
                assert "frame-ancestors 'none'" in answer.headers["Content-Security-Policy"]
                assert answer.headers["X-Frame-Options"] == "DENY"
                assert answer.headers["Referrer-Policy"] == "no-referrer"


async def test_a_bad_host_is_a_bad_request() -> None:
    hosts = ("", "a b", "[", "[::", "[:::::]", "localhost:x", "a:1:2", 'evil"><script>', "localhost:99999999", "\u00e9")
    async with served("--fps", "1") as (here, process):
        name, token = name_and_token(here)
        for host in hosts:
            reader, writer = await asyncio.open_connection("127.0.0.1", int(name.partition(":")[2]))
            writer.write(f"GET /{token}/ HTTP/1.1\r\nHost: {host}\r\nConnection: close\r\n\r\n".encode())
            status = await asyncio.wait_for(reader.readline(), 30)
            writer.close()
            assert b" 400 " in status, (host, status)
        assert process.returncode is None


NO_MESSAGES: dict[str, str | bytes] = {
    "no JSON": "{",
    "no envelope": '{"stdin": "k"}',
    "empty": "[]",
    "a number": "7",
    "a nameless one": "[[1]]",
    "an unknown one": '["eval", "1"]',
    "keys that are none": '["stdin", {"k": 1}]',
    "half a character": '["stdin", "\\ud800"]',
    "no size": '["resize", null]',
    "half a size": '["resize", {"width": 80}]',
    "a huge size": '["resize", {"width": 1000000000, "height": 24}]',
    "a negative size": '["resize", {"width": -1, "height": 24}]',
    "a long ping": json.dumps(["ping", "x" * 1_000]),
    "a deep one": "[" * 100_000,
    "many digits": '["ping", ' + "9" * 10_000 + "]",
    "a huge one": json.dumps(["stdin", "x" * 5_000_000]),
    "bytes": b'["stdin", "k"]',
}


OVER_THE_WIRE = ("no JSON", "half a character", "a deep one", "a huge one", "bytes")


@pytest.mark.parametrize("what", NO_MESSAGES)
def test_what_is_no_message(what: str) -> None:
    message = NO_MESSAGES[what]
    if isinstance(message, str):
        with pytest.raises(ValueError):
            message_of(message)


def test_what_the_page_says() -> None:
    assert message_of('["stdin", "k\\u001b[A"]') == ("stdin", "k\x1b[A")
    assert message_of('["resize", {"width": 80, "height": 24}]') == ("resize", (80, 24))
    assert message_of('["ping", 12.5]') == ("ping", 12.5)
    assert message_of('["focus"]') == message_of('["focus", null]') == ("focus", None)


async def test_what_is_no_message_ends_its_tab_without_a_word() -> None:
    async with served("--fps", "1", "--max-sessions", "2") as (here, process), aiohttp.ClientSession() as client:
        async with client.ws_connect(f"{here}/ws?width=120&height=40") as other:
            await painted(other, b"isrlab")
            got = bytearray()
            taking = asyncio.create_task(take_all(other, got))  # It answers the server's heartbeat, too.
            for what in OVER_THE_WIRE:
                message = NO_MESSAGES[what]
                async with client.ws_connect(f"{here}/ws") as page_socket:
                    with contextlib.suppress(ConnectionError):  # The server may hang up before it has all of it.
                        await (page_socket.send_bytes(message) if isinstance(message, bytes) else page_socket.send_str(message))
                    async with asyncio.timeout(60):
                        while (came := await page_socket.receive()).type in (aiohttp.WSMsgType.BINARY, aiohttp.WSMsgType.TEXT):
                            pass
                    assert came.type in (aiohttp.WSMsgType.CLOSE, aiohttp.WSMsgType.CLOSED), what
                await no_more_than_one_is_open(client, here)
            await other.send_json(["stdin", "?"])
            async with asyncio.timeout(60):
                while b"Keys" not in got:
                    await asyncio.sleep(0.05)
        await taking
        process.terminate()
        assert process.stderr is not None
        assert await process.stderr.read() == b""


async def take_all(page_socket: aiohttp.ClientWebSocketResponse, got: bytearray) -> None:
    """Receive everything that the server sends to a tab until the tab is closed."""
    async for came in page_socket:
        got += came.data if isinstance(came.data, bytes) else came.data.encode()


async def no_more_than_one_is_open(client: aiohttp.ClientSession, here: str) -> None:
    """Wait until a closed tab and its process are gone, so that there is room for another."""
    async with asyncio.timeout(60):
        while True:
            async with client.get(f"{here}/") as answer:
                if answer.status == 200:
                    return
            await asyncio.sleep(0.05)


async def test_so_many_tabs_and_no_more() -> None:
    async with served("--fps", "1", "--max-sessions", "1") as (here, _), aiohttp.ClientSession() as client:
        for wrong in ("width=1000000000", "width=0", "height=-1", "width=x"):
            with pytest.raises(aiohttp.WSServerHandshakeError, match="400"):
                await client.ws_connect(f"{here}/ws?{wrong}")
        async with client.ws_connect(f"{here}/ws") as page_socket:
            await painted(page_socket, b"isrlab")
            with pytest.raises(aiohttp.WSServerHandshakeError, match="503"):
                await client.ws_connect(f"{here}/ws")
            async with client.get(f"{here}/") as answer:
                assert answer.status == 503
                assert "1 playground is open, which is the maximum (--max-sessions)" in await answer.text()
        await no_more_than_one_is_open(client, here)
        async with client.ws_connect(f"{here}/ws") as page_socket:
            await painted(page_socket, b"isrlab")


async def callback_of(client: aiohttp.ClientSession, address: str) -> str:
    """Return the address of the websocket that a page connects to."""
    async with client.get(address) as answer:
        found = re.search(r'"(ws://[^"]+/ws/[A-Za-z0-9_-]{12})"', await answer.text())
        assert found is not None, (answer.status, await answer.text())
        return found[1]


async def test_a_tab_that_is_loaded_again_has_its_own_place() -> None:
    """When a tab is reloaded, the browser requests the page before it closes the old page's websocket."""
    async with served("--fps", "1", "--max-sessions", "1") as (here, _), aiohttp.ClientSession() as client:
        async with client.get(f"{here}/") as answer:
            page = str(answer.url)
            assert answer.status == 200
        assert page.startswith(f"{here}/")
        assert page != f"{here}/"
        back = await callback_of(client, page)
        async with client.ws_connect(back) as old:
            await painted(old, b"isrlab")
            assert await callback_of(client, page) == back
            for other in (f"{here}/", f"{here}/{'x' * 12}/"):
                async with client.get(other) as answer:
                    assert answer.status == 503, "another tab finds no place"
            ending = asyncio.create_task(take_all(old, bytearray()))
            async with client.ws_connect(back) as new:
                await painted(new, b"isrlab")
                await asyncio.wait_for(ending, 30)
                with pytest.raises(aiohttp.WSServerHandshakeError, match="503"):
                    await client.ws_connect(f"{here}/ws")
        await no_more_than_one_is_open(client, here)


@pytest.mark.parametrize(
    ("given", "told"),
    [
        (["--port", "0"], "--port: '0' is not a port; write a whole number from 1 to 65535"),
        (["--port", "http"], "--port: 'http' is not a port; write a whole number from 1 to 65535"),
        (["--max-sessions", "0"], "--max-sessions: '0' is not a number of tabs; write a whole number from 1 to 999"),
        (["--fps", "99"], "--fps: '99' is not a number of frames; write a whole number from 1 to 60"),
        (["e1-data-los"], "e1-data-los: "),
        (["--host", "192.0.2.1", "--port", "8123"], "cannot listen on 192.0.2.1:8123: "),
    ],
)
def test_an_error_is_reported_immediately(given: Sequence[str], told: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["serve", *given]) == 2
    assert capsys.readouterr().err.splitlines()[-1].startswith(f"isrlab: {told}")


def test_a_port_in_use_is_reported(capsys: pytest.CaptureFixture[str]) -> None:
    with socket.socket() as holder:
        holder.bind(("127.0.0.1", 0))
        holder.listen()
        port = holder.getsockname()[1]
        assert main(["serve", "--port", str(port)]) == 2
    assert (
        capsys.readouterr().err
        == f"isrlab: cannot listen on 127.0.0.1:{port}: Address already in use; choose a different port with --port\n"
    )


def test_an_address_others_reach_is_warned_about(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["serve", "--host", "192.0.2.1", "--port", "8123"]) == 2
    assert capsys.readouterr().err.startswith(
        "isrlab: 192.0.2.1 can be reached from other machines: anyone who has the address with its token can play here, as you; 'ssh "
        "-L 8123:127.0.0.1:8123' is safer\n"
    )


def test_without_the_extra_it_says_how_to_get_it(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None)
    assert main(["serve"]) == 2
    assert (
        capsys.readouterr().err
        == "isrlab: serve needs textual-serve, which is not installed; use 'make serve', or install it with: pip install 'isrlab[serve]'\n"
    )


def test_playing_does_not_need_the_extra() -> None:
    code = (
        "import sys; sys.modules['textual_serve'] = None; sys.modules['aiohttp'] = None; from tui.cli import main; main(['play', '--help'])"
    )
    assert subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, check=False).returncode == 0

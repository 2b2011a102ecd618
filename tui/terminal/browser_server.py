"""The playground in a browser, through textual-serve.

Whoever plays acts as the person who started the server, so it answers only under an address that has a token in it, which it makes up
anew each time and prints. A page from elsewhere must not drive it either: a websocket is taken only from a page that this server gave
out, under the name it was asked to serve, and no page may frame it. The page loads nothing from other machines.

A page has a name of its own in its address, so that a tab that is loaded again is known for the one it was and takes its place.
"""

from __future__ import annotations

import asyncio
import errno
import hmac
import logging
import re
import secrets
import socket
import sys
from contextvars import ContextVar
from typing import Final
from urllib.parse import urlsplit

from aiohttp import WSCloseCode, WSMsgType, web
from aiohttp.typedefs import Handler
from textual_serve.app_service import AppService
from textual_serve.server import Server

from scenarios.errors import InputError
from scenarios.io.escaping import escape_value
from scenarios.io.standard_streams import complain
from tui.terminal.browser_messages import cells, message_of

TOKEN_BYTES: Final = 18
"""Of chance in a token."""

TAB_BYTES: Final = 9
"""Of chance in a tab's name: it tells tabs apart and is no secret."""

_HOST: Final = re.compile(r"([A-Za-z0-9._-]{1,255}|\[[0-9A-Fa-f:.%]{2,60}\])(:\d{1,5})?")

_BEHIND_TOKEN: Final = re.compile(r"|ws|[A-Za-z0-9_-]{12}/|ws/[A-Za-z0-9_-]{12}")
"""What there is: an address for new tabs, one of each page, and where pages call back."""

HEADERS: Final = {
    "Content-Security-Policy": "default-src 'none'; script-src 'self' 'unsafe-inline'; style-src 'self' 'unsafe-inline'; "
    "img-src 'self' data:; "
    "font-src 'self' data:; connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
    "X-Frame-Options": "DENY",
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "no-referrer",
    "Cache-Control": "no-store",
}
"""What every answer carries: nothing frames it, and its address, which has the token, goes nowhere."""


class _Tab:
    """What plays in a tab."""

    def __init__(self) -> None:
        self.gone = asyncio.Event()
        """Its process has ended."""
        self._socket: web.WebSocketResponse | None = None
        self._ended = False

    async def began(self, socket: web.WebSocketResponse) -> None:
        """The page can say something."""
        self._socket = socket
        if self._ended:
            await self.end()

    async def end(self) -> None:
        """End it for another that takes its place."""
        self._ended = True
        if self._socket is not None:
            await self._socket.close(code=WSCloseCode.GOING_AWAY)


_tab: ContextVar[_Tab] = ContextVar("_tab")


class PlayServer(Server):
    """Serves one command; each websocket starts it anew."""

    def __init__(self, command: str, host: str, port: int, *, public_url: str, sessions: int) -> None:
        """Make it.

        Args:
            command: what plays in one tab.
            host, port: where to listen.
            public_url: the address that people open, without the token.
            sessions: tabs that may be open at a time.
        """
        super().__init__(command, host, port, title="isrlab", public_url=public_url)
        self.sessions = sessions
        self._tabs: dict[str, _Tab] = {}
        """By name; a process that is still ending counts."""
        self._token = secrets.token_urlsafe(TOKEN_BYTES)

    def initialize_logging(self) -> None:
        """Only what went wrong is told, in a line."""
        handler = logging.StreamHandler(sys.stderr)
        logging.getLogger("asyncio").setLevel(logging.ERROR)  # It warns of processes that end after the server.
        handler.setFormatter(_OneLine("isrlab: %(message)s"))
        logging.basicConfig(level=logging.WARNING, handlers=[handler])

    async def on_startup(self, app: web.Application) -> None:
        """Say where to look."""
        complain(f"open {self.public_url}/{self._token}/ in a browser; press Ctrl+C to stop")

    async def _make_app(self) -> web.Application:
        app = await super()._make_app()
        app.add_routes(
            [
                web.get("/{token}/", self.handle_new),
                web.get("/{token}/{tab}/", self.handle_index),
                web.get("/{token}/ws", self.handle_websocket),
                web.get("/{token}/ws/{tab}", self.handle_websocket),
            ]
        )
        app.middlewares.append(self._guard)
        app.on_response_prepare.append(_add_headers)
        return app

    @web.middleware
    async def _guard(self, request: web.Request, handler: Handler) -> web.StreamResponse:
        """Answer only who has the token, under a name that is this server's."""
        try:
            self._refuse_others(request)
            first, _, rest = request.path.lstrip("/").partition("/")
            told = hmac.compare_digest(first.encode(), self._token.encode())
        except ValueError:
            raise web.HTTPBadRequest(text="not a valid address") from None
        # What the page is made of is no secret; of everything else there is only what stands behind the token.
        if not (told and _BEHIND_TOKEN.fullmatch(rest)) and first != "static":
            raise web.HTTPForbidden(text="open the address that isrlab serve printed, including its token")
        return await handler(request)

    async def handle_new(self, request: web.Request) -> web.StreamResponse:
        """Send a new tab to an address of its own."""
        self._refuse_more()
        raise web.HTTPSeeOther(f"/{self._token}/{secrets.token_urlsafe(TAB_BYTES)}/")

    async def handle_index(self, request: web.Request) -> web.StreamResponse:
        """The page: without the font it would fetch from elsewhere, and calling back at the name it was asked for by."""
        name = request.match_info["tab"]
        self._refuse_more(name)
        page = await super().handle_index(request)
        assert isinstance(page, web.Response)
        text = re.sub(r"<link[^>]*fonts\.googleapis\.com[^>]*>", '<link rel="icon" href="data:,">', page.text or "")
        text = text.replace(urlsplit(self.public_url).netloc, request.host)
        page.text = text.replace(f"ws://{request.host}/ws", f"ws://{request.host}/{self._token}/ws/{name}")
        return page

    async def handle_websocket(self, request: web.Request) -> web.WebSocketResponse:
        """Play, for a page of this server; what its tab played before ends first."""
        try:
            origin = request.headers.get("Origin")
            here = origin is None or urlsplit(origin).netloc == request.host
            cells(request.query.get("width", "80"))
            cells(request.query.get("height", "24"))
        except ValueError:
            raise web.HTTPBadRequest(text="not a request from the playground's page") from None
        if not here:
            raise web.HTTPForbidden(text="a page from another site cannot play here")
        name = request.match_info.get("tab") or secrets.token_urlsafe(TAB_BYTES)
        self._refuse_more(name)
        before, tab = self._tabs.get(name), _Tab()
        self._tabs[name] = tab
        _tab.set(tab)
        try:
            if before is not None:
                await before.end()
                await before.gone.wait()
            return await super().handle_websocket(request)
        finally:
            tab.gone.set()
            if self._tabs.get(name) is tab:
                del self._tabs[name]

    async def _process_messages(self, websocket: web.WebSocketResponse, app_service: AppService) -> None:
        """Hand on what the page says; the first thing that is no message ends the tab."""
        await _tab.get().began(websocket)
        async for came in websocket:
            if came.type is not WSMsgType.TEXT:
                await websocket.close(code=WSCloseCode.UNSUPPORTED_DATA)
                return
            try:
                kind, said = message_of(came.data)
            except ValueError:
                await websocket.close(code=WSCloseCode.POLICY_VIOLATION)
                return
            if kind == "stdin":
                await app_service.send_bytes(str(said).encode())
            elif kind == "resize":
                assert isinstance(said, tuple)
                await app_service.set_terminal_size(*said)
            elif kind == "ping":
                await websocket.send_json(["pong", said])
            elif kind == "blur":
                await app_service.blur()
            else:
                await app_service.focus()

    def _refuse_more(self, name: str = "") -> None:
        if name not in self._tabs and len(self._tabs) >= self.sessions:
            several = f"{self.sessions} playgrounds are" if self.sessions > 1 else "1 playground is"
            raise web.HTTPServiceUnavailable(
                text=f"{several} open here, which is the maximum (--max-sessions); close a tab, and reload this page"
            )

    def _refuse_others(self, request: web.Request) -> None:
        """A name that points here but is not this server's is a page's trick to get at it."""
        if _HOST.fullmatch(request.headers.get("Host", "")) is None:
            raise web.HTTPBadRequest(text="the Host header is not a valid host")
        asked = urlsplit(f"//{request.host}").hostname
        wanted = {self.host, "localhost", "127.0.0.1", "::1"}
        if self.host not in ("0.0.0.0", "::", "") and asked not in wanted:
            raise web.HTTPBadRequest(
                text=f"{escape_value(asked or '')[:80]} is not served here; open the address that isrlab serve printed"
            )


async def _add_headers(request: web.Request, response: web.StreamResponse) -> None:
    response.headers.update(HEADERS)


class _OneLine(logging.Formatter):
    """Says what went wrong without a traceback; it goes through stderr, which spells out what is foreign in it."""

    def format(self, record: logging.LogRecord) -> str:
        record.exc_info = record.exc_text = record.stack_info = None
        return escape_value(super().format(record))


def serve(command: str, host: str, port: int, sessions: int) -> None:
    """Serve until Ctrl+C or SIGTERM.

    Args:
        command: what plays in one tab.
        host, port: where to listen.
        sessions: tabs that may be open at a time.

    Raises:
        InputError: it cannot listen there.
    """
    _try_to_listen(host, port)
    shown = f"[{host}]" if ":" in host else "localhost" if host in ("0.0.0.0", "") else host
    PlayServer(command, host, port, public_url=f"http://{shown}:{port}", sessions=sessions).serve()


def _try_to_listen(host: str, port: int) -> None:
    try:
        family, kind, protocol, _, address = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE)[0]
        with socket.socket(family, kind, protocol) as trial:
            trial.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            trial.bind(address)
    except OSError as wrong:
        more = "; choose another with --port" if wrong.errno in (errno.EADDRINUSE, errno.EACCES) else ""
        raise InputError(f"cannot listen on {host}:{port}: {wrong.strerror or wrong}{more}") from None

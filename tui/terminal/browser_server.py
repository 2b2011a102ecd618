"""The playground in a browser, through textual-serve.

Everyone who plays has the rights of the person who started the server. Therefore, the server answers only requests whose path contains a
token. The server creates a new token each time it starts, and prints the token. The server also protects against pages from other sites.
The server accepts a websocket only from its own pages and only under its own host name, and no other page can embed its pages in a frame.
The pages load nothing from other hosts.

The path of each tab contains the name of the tab. When a tab is reloaded, the server recognizes the tab by the name, and a new process
replaces the old one.
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
from scenarios.io.standard_streams import print_error
from tui.terminal.browser_messages import cells, message_of
from tui.terminal.browser_page import complete

TOKEN_BYTES: Final = 18
"""The number of random bytes in a token."""

TAB_BYTES: Final = 9
"""The number of random bytes in a tab's name. The name only distinguishes tabs and is not a secret."""

_HOST: Final = re.compile(r"([A-Za-z0-9._-]{1,255}|\[[0-9A-Fa-f:.%]{2,60}\])(:\d{1,5})?")

_BEHIND_TOKEN: Final = re.compile(r"|ws|[A-Za-z0-9_-]{12}/|ws/[A-Za-z0-9_-]{12}")
"""The valid paths after the token: the path for new tabs, the path of each tab, and the paths of the websockets."""

HEADERS: Final = {
    "Content-Security-Policy": "default-src 'none'; script-src 'self' 'unsafe-inline'; style-src 'self' 'unsafe-inline'; "
    "img-src 'self' data:; "
    "font-src 'self' data:; connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
    "X-Frame-Options": "DENY",
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "no-referrer",
    "Cache-Control": "no-store",
}
"""The headers of every response.

Because of the response headers, no page can embed a response in a frame, and browsers do not send the address, which contains the token, to
other sites.
"""


class _Tab:
    """The playground process that serves a browser tab."""

    def __init__(self) -> None:
        self.gone = asyncio.Event()
        """An event that is set when the process has ended."""
        self._socket: web.WebSocketResponse | None = None
        self._ended = False

    async def began(self, socket: web.WebSocketResponse) -> None:
        """Register the websocket of the page. If `end` has already been called, close the websocket."""
        self._socket = socket
        if self._ended:
            await self.end()

    async def end(self) -> None:
        """Close the websocket, so that a new process can replace this one."""
        self._ended = True
        if self._socket is not None:
            await self._socket.close(code=WSCloseCode.GOING_AWAY)


_tab: ContextVar[_Tab] = ContextVar("_tab")


class PlayServer(Server):
    """A web server that runs a command in the browser. Each websocket starts a new process of the command."""

    def __init__(self, command: str, host: str, port: int, *, public_url: str, sessions: int) -> None:
        """Create the server.

        Args:
            command: the command to run in each tab.
            host, port: the address to listen on.
            public_url: the address to open in a browser, without the token.
            sessions: the maximum number of tabs that are open at the same time.
        """
        super().__init__(command, host, port, title="isrlab", public_url=public_url)
        self.sessions = sessions
        self._tabs: dict[str, _Tab] = {}
        """The open tabs by name, including those whose process is still ending."""
        self._token = secrets.token_urlsafe(TOKEN_BYTES)

    def initialize_logging(self) -> None:
        """Log only warnings and errors, each on one line."""
        handler = logging.StreamHandler(sys.stderr)
        logging.getLogger("asyncio").setLevel(logging.ERROR)  # asyncio warns about processes that end after the server.
        handler.setFormatter(_OneLine("isrlab: %(message)s"))
        logging.basicConfig(level=logging.WARNING, handlers=[handler])

    async def on_startup(self, app: web.Application) -> None:
        """Print the address to open."""
        print_error(f"open {self.public_url}/{self._token}/ in a browser; to stop, press Ctrl+C")

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
        """Answer only requests that contain the token and that are addressed to a host name of this server."""
        try:
            self._refuse_others(request)
            first, _, rest = request.path.lstrip("/").partition("/")
            told = hmac.compare_digest(first.encode(), self._token.encode())
        except ValueError:
            raise web.HTTPBadRequest(text="not a valid address") from None
        # Static files are not secret. All other paths need the token.
        if not (told and _BEHIND_TOKEN.fullmatch(rest)) and first != "static":
            raise web.HTTPForbidden(text="open the address that isrlab serve printed, including its token")
        return await handler(request)

    async def handle_new(self, request: web.Request) -> web.StreamResponse:
        """Redirect a new tab to a path with a new name."""
        self._refuse_more()
        asked = f"?{request.query_string}" if request.query_string else ""
        raise web.HTTPSeeOther(f"/{self._token}/{secrets.token_urlsafe(TAB_BYTES)}/{asked}")

    async def handle_index(self, request: web.Request) -> web.StreamResponse:
        """Return the page of a tab. The page connects to its websocket under the host name that the request used."""
        name = request.match_info["tab"]
        self._refuse_more(name)
        page = await super().handle_index(request)
        assert isinstance(page, web.Response)
        text = complete(page.text or "").replace(urlsplit(self.public_url).netloc, request.host)
        page.text = text.replace(f"ws://{request.host}/ws", f"ws://{request.host}/{self._token}/ws/{name}")
        return page

    async def handle_websocket(self, request: web.Request) -> web.WebSocketResponse:
        """Run the playground for a page of this server. First, end the previous process of the same tab."""
        try:
            origin = request.headers.get("Origin")
            here = origin is None or urlsplit(origin).netloc == request.host
            cells(request.query.get("width", "80"))
            cells(request.query.get("height", "24"))
        except ValueError:
            raise web.HTTPBadRequest(text="the request does not come from the playground's page") from None
        if not here:
            raise web.HTTPForbidden(text="pages from other sites cannot use this playground")
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
        """Pass the page's messages to the playground process. The first invalid message closes the websocket."""
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
                text=f"{several} open, which is the maximum (--max-sessions); close a tab, and then reload this page"
            )

    def _refuse_others(self, request: web.Request) -> None:
        """Reject a request for another host name, because it may be a DNS rebinding attack by a page from another site."""
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
    """A formatter that writes a record on one line, without a traceback and with control characters escaped."""

    def format(self, record: logging.LogRecord) -> str:
        record.exc_info = record.exc_text = record.stack_info = None
        return escape_value(super().format(record))


def serve(command: str, host: str, port: int, sessions: int) -> None:
    """Serve until Ctrl+C or SIGTERM.

    Args:
        command: the command to run in each tab.
        host, port: the address to listen on.
        sessions: the maximum number of tabs that are open at the same time.

    Raises:
        InputError: the server cannot listen on this address.
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
        more = "; choose a different port with --port" if wrong.errno in (errno.EADDRINUSE, errno.EACCES) else ""
        raise InputError(f"cannot listen on {host}:{port}: {wrong.strerror or wrong}{more}") from None

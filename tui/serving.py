"""The playground in a browser, through textual-serve.

A page from elsewhere must not drive it: a websocket is taken only from a page that this server gave out, under the name it
was asked to serve. The page loads nothing from other machines.
"""

from __future__ import annotations

import errno
import logging
import re
import socket
import sys
from urllib.parse import urlsplit

from aiohttp import web
from textual_serve.server import Server

from scenarios.errors import InputError
from scenarios.printing import complain


class PlayServer(Server):
    """Serves one command; each websocket starts it anew."""

    def initialize_logging(self) -> None:
        """Only what went wrong is told."""
        logging.basicConfig(level=logging.WARNING, format="isrlab: %(message)s", stream=sys.stderr)

    async def on_startup(self, app: web.Application) -> None:
        """Say where to look."""
        complain(f"open {self.public_url} in a browser; Ctrl+C ends it")

    async def handle_index(self, request: web.Request) -> web.StreamResponse:
        """The page: without the font it would fetch from elsewhere, and calling back at the name it was asked for by."""
        self._refuse_others(request)
        page = await super().handle_index(request)
        assert isinstance(page, web.Response)
        text = re.sub(r"<link[^>]*fonts\.googleapis\.com[^>]*>", "", page.text or "")
        page.text = text.replace(urlsplit(self.public_url).netloc, request.host)
        return page

    async def handle_websocket(self, request: web.Request) -> web.WebSocketResponse:
        """Play, for a page of this server."""
        self._refuse_others(request)
        origin = request.headers.get("Origin")
        if origin is not None and urlsplit(origin).netloc != request.host:
            raise web.HTTPForbidden(text=f"a page of {origin[:80]} may not play here")
        return await super().handle_websocket(request)

    def _refuse_others(self, request: web.Request) -> None:
        """A name that points here but is not this server's is a page's trick to get at it."""
        asked = urlsplit(f"//{request.host}").hostname
        wanted = {self.host, "localhost", "127.0.0.1", "::1"}
        if self.host not in ("0.0.0.0", "::") and asked not in wanted:
            raise web.HTTPForbidden(text=f"{(asked or '')[:80]} is not served here; open {self.public_url}")


def serve(command: str, host: str, port: int) -> None:
    """Serve until Ctrl+C or SIGTERM.

    Args:
        command: what plays in one tab.
        host, port: where to listen.

    Raises:
        InputError: it cannot listen there.
    """
    _try_to_listen(host, port)
    shown = f"[{host}]" if ":" in host else "localhost" if host in ("0.0.0.0", "") else host
    PlayServer(command, host, port, title="isrlab", public_url=f"http://{shown}:{port}").serve()


def _try_to_listen(host: str, port: int) -> None:
    try:
        family, kind, protocol, _, address = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE)[0]
        with socket.socket(family, kind, protocol) as trial:
            trial.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            trial.bind(address)
    except OSError as wrong:
        more = "; choose another with --port" if wrong.errno in (errno.EADDRINUSE, errno.EACCES) else ""
        raise InputError(f"cannot listen at {host}:{port}: {wrong.strerror or wrong}{more}") from None

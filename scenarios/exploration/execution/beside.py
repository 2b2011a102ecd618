"""A search in a process of its own, beside a session that goes on."""

from __future__ import annotations

import contextlib
import multiprocessing
import os
import sys
import time
from multiprocessing.connection import Connection
from multiprocessing.process import BaseProcess
from typing import Final

import attrs

from scenarios.errors import InputError
from scenarios.exploration.exploration import Counterexample, Exploration
from scenarios.exploration.request import Request
from scenarios.exploration.search import Layer
from scenarios.io.child_processes import end_with_parent, terminal_signals_blocked

TOLD_EVERY: Final = 0.2
"""The least time between two messages about progress, in seconds."""

NICENESS: Final = 5
"""By how much the process leaves the processor to others, so that the frames of the session stay in time."""


@attrs.frozen
class Told:
    """What the process of a search tells.

    Attributes:
        layers: what was done so far, by number of faults.
        found: the counterexamples that are new.
        ended: whether the search has ended.
        failed: why the search could not be done; empty if it could.
    """

    layers: tuple[Layer, ...] = ()
    found: tuple[Counterexample, ...] = ()
    ended: bool = False
    failed: str = ""


class SearchBeside:
    """A search in a process of its own.

    Attributes:
        request: what was asked.
        layers: what was done so far, by number of faults.
        found: the counterexamples so far.
        ended: whether the search has ended.
        failed: why the search failed; empty if it did not.
    """

    def __init__(self, request: Request) -> None:
        self.request: Final = request
        self.layers: tuple[Layer, ...] = ()
        self.found: list[Counterexample] = []
        self.ended = False
        self.failed = ""
        self._connection: Connection | None = None
        self._process: BaseProcess | None = None

    def begin(self) -> None:
        """Start the process."""
        context = multiprocessing.get_context("spawn")
        self._connection, other = context.Pipe(duplex=False)
        self._process = context.Process(target=search_and_tell, args=(self.request, other), name="search", daemon=True)
        # The first process also starts a tracker, which inherits the file of stderr.
        with contextlib.redirect_stderr(sys.__stderr__), terminal_signals_blocked():
            self._process.start()
        other.close()

    def poll(self, timeout: float | None = 0.0) -> bool:
        """Take in what the process has told, and return whether that was anything. Wait up to `timeout` seconds for it, or until it comes if
        `timeout` is None.
        """
        connection = self._connection
        if connection is None or self.ended:
            return False
        anything = False
        try:
            while connection.poll(0.0 if anything else timeout):
                self.take_in(connection.recv())
                anything = True
                if self.ended:
                    break
        except (EOFError, OSError):
            self.take_in(Told(self.layers, ended=True, failed="the process of the search has died"))
            anything = True
        if self.ended:
            self.end()
        return anything

    def take_in(self, told: Told) -> None:
        """Take in what the process has told."""
        self.layers = told.layers or self.layers
        self.found += told.found
        self.ended = told.ended
        self.failed = told.failed

    def end(self) -> None:
        """End the process."""
        self.ended = True
        if self._process is not None:
            self._process.terminate()
            self._process.join()
            self._process = None
        if self._connection is not None:
            self._connection.close()
            self._connection = None


def search_and_tell(request: Request, connection: Connection) -> None:
    """Search, and tell through a connection what is found when it is found, and how far the search is."""
    _be_quiet()
    with contextlib.suppress(OSError):  # nobody listens any more
        try:
            _search(request, connection)
        except (InputError, ValueError) as wrong:
            connection.send(Told(ended=True, failed=str(wrong)))
        except Exception as wrong:
            connection.send(Told(ended=True, failed=f"{type(wrong).__name__}: {wrong}"))


def _search(request: Request, connection: Connection) -> None:
    exploration = Exploration(request.start, request.bounds(), "session")
    told, shown = 0, time.monotonic()
    for _ in exploration.steps():
        now = time.monotonic()
        if len(exploration.found) > told or now - shown > TOLD_EVERY:
            connection.send(Told(tuple(exploration.layers), tuple(exploration.found[told:])))
            told, shown = len(exploration.found), now
    connection.send(Told(tuple(exploration.layers), tuple(exploration.found[told:]), ended=True))


def _be_quiet() -> None:
    """Leave the terminal to the session, and the processor to its frames, and end with it."""
    end_with_parent()
    sys.stdout = sys.stderr = open(os.devnull, "w", encoding="utf-8")  # noqa: SIM115
    with contextlib.suppress(OSError, AttributeError):
        os.nice(NICENESS)

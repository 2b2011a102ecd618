"""Textual's driver of a terminal, made safe against one that goes away and against being continued where nothing was stopped.

A terminal that is closed tells its processes so (SIGHUP) and continues them (SIGCONT). Textual would then take the terminal a second time, with a
second thread that reads keys and another that writes; the one that writes dies of the first write, and the end waits for it for ever.
It takes of Textual's private names `_app`, `_file`, `_auto_restart`, `_sigcont_application` and `_must_signal_resume`; tests/tui/terminal/test_driver.py
notices when they change.
"""

from __future__ import annotations

import contextlib
import os
import select
import signal
import threading
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, TextIO

from textual.drivers.linux_driver import LinuxDriver

if TYPE_CHECKING:
    from textual.app import App


class HangupSafeFile:
    """A file that takes all that is written, also when it can be written to no more; `gone` is called once then."""

    def __init__(self, file: TextIO, gone: Callable[[], object]) -> None:
        self._file = file
        self._gone: Callable[[], object] | None = gone

    def fileno(self) -> int:
        """The file's own."""
        return self._file.fileno()

    def write(self, text: str) -> None:
        """Write, or do nothing."""
        self._try(self._file.write, text)

    def flush(self) -> None:
        """Flush, or do nothing."""
        self._try(self._file.flush)

    def _try(self, do: Callable[..., object], *arguments: str) -> None:
        if self._gone is None:
            return
        try:
            do(*arguments)
        except (OSError, ValueError):  # ValueError: it was closed
            gone, self._gone = self._gone, None
            self._lead_nowhere()
            gone()

    def _lead_nowhere(self) -> None:
        """What the file still holds can be flushed: Python does that at its end, and where it fails that is the exit code (120)."""
        with contextlib.suppress(OSError, ValueError):
            nowhere = os.open(os.devnull, os.O_WRONLY)
            os.dup2(nowhere, self._file.fileno())
            os.close(nowhere)


class TerminalDriver(LinuxDriver):
    """Leaves the application when its terminal is gone, with the exit code of SIGHUP, and is taken once at a time."""

    def __init__(self, app: App[Any], **how: Any) -> None:
        """See `LinuxDriver`."""
        super().__init__(app, **how)
        self._file: Any = HangupSafeFile(self._file, self._leave)
        self._watch: threading.Thread | None = None

    def _leave(self) -> None:
        # From a thread that writes or watches; a SIGHUP that nobody ignores has said so before.
        with contextlib.suppress(RuntimeError):  # it has been left
            self._app.call_later(self._app.exit, 128 + signal.SIGHUP)

    def start_application_mode(self) -> None:
        """Take the terminal, and watch it from the first time on."""
        super().start_application_mode()  # type: ignore[no-untyped-call]
        if self._watch is None and os.isatty(self.fileno):
            self._watch = threading.Thread(target=self._leave_when_hung_up, name="isrlab-hangup", daemon=True)
            self._watch.start()

    def _leave_when_hung_up(self) -> None:
        """Paused, nothing is written that could fail, and where SIGHUP is ignored nobody tells; Textual's thread would read nothing for ever."""
        terminal = select.poll()
        terminal.register(self.fileno, 0)  # what poll tells unasked
        if any(event & (select.POLLHUP | select.POLLERR) for _, event in terminal.poll()):
            self._leave()

    def _sigcont_application(self, *_: object) -> None:
        """SIGCONT: after Ctrl-Z the terminal is taken anew; after SIGSTOP, which told nobody, it is given back first."""
        if not os.isatty(self.fileno):
            return
        if self._auto_restart and not self._must_signal_resume:
            self.suspend_application_mode()
            self._must_signal_resume = True
        super()._sigcont_application()

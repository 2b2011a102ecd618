"""Textual's terminal driver, adapted to handle a terminal that closes, and a SIGCONT that does not follow a stop.

When a terminal closes, its processes receive SIGHUP and SIGCONT. On this SIGCONT, Textual's own driver would start a second time, with a
second thread that reads keys and a second thread that writes. The second writing thread would fail at its first write, and on exit the
process would wait for that thread forever. This module uses the private names `_app`, `_file`, `_auto_restart`, `_sigcont_application`, and
`_must_signal_resume` of Textual. If Textual changes these names, tests/tui/terminal/test_driver.py fails.
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
    """A file whose writes never fail. When the first write fails, the file calls `gone` once and ignores all further writes."""

    def __init__(self, file: TextIO, gone: Callable[[], object]) -> None:
        self._file = file
        self._gone: Callable[[], object] | None = gone

    def fileno(self) -> int:
        """Return the file descriptor of the underlying file."""
        return self._file.fileno()

    def write(self, text: str) -> None:
        """Write text. After a failed write, do nothing."""
        self._try(self._file.write, text)

    def flush(self) -> None:
        """Flush the file. After a failed write, do nothing."""
        self._try(self._file.flush)

    def _try(self, do: Callable[..., object], *arguments: str) -> None:
        if self._gone is None:
            return
        try:
            do(*arguments)
        except (OSError, ValueError):  # ValueError: the file is closed
            gone, self._gone = self._gone, None
            self._lead_nowhere()
            gone()

    def _lead_nowhere(self) -> None:
        """Redirect the underlying file to the null device. Without this redirection, Python's flush at exit would fail, and the exit code
        would be 120."""
        with contextlib.suppress(OSError, ValueError):
            nowhere = os.open(os.devnull, os.O_WRONLY)
            os.dup2(nowhere, self._file.fileno())
            os.close(nowhere)


class TerminalDriver(LinuxDriver):
    """A terminal driver that quits the application when the terminal closes, with the exit code of SIGHUP.

    The driver never starts twice without a stop in between.
    """

    def __init__(self, app: App[Any], **how: Any) -> None:
        """Create the driver. See `LinuxDriver` for the arguments."""
        super().__init__(app, **how)
        self._file: Any = HangupSafeFile(self._file, self._leave)
        self._watch: threading.Thread | None = None

    def _leave(self) -> None:
        # Called from the thread that writes or from the thread that watches. Unless SIGHUP is ignored, the signal has already arrived.
        with contextlib.suppress(RuntimeError):  # the application has already quit
            self._app.call_later(self._app.exit, 128 + signal.SIGHUP)

    def start_application_mode(self) -> None:
        """Take over the terminal. The first call also starts the thread that watches the terminal."""
        super().start_application_mode()  # type: ignore[no-untyped-call]
        if self._watch is None and os.isatty(self.fileno):
            self._watch = threading.Thread(target=self._leave_when_hung_up, name="isrlab-hangup", daemon=True)
            self._watch.start()

    def _leave_when_hung_up(self) -> None:
        """Quit the application when the terminal hangs up.

        While the playground is paused, it writes nothing, so no write fails. If SIGHUP is ignored, no signal reports the hangup. Without
        the watching thread, Textual's thread would then wait for input forever.
        """
        terminal = select.poll()
        terminal.register(self.fileno, 0)  # poll reports hangups and errors without a request
        if any(event & (select.POLLHUP | select.POLLERR) for _, event in terminal.poll()):
            self._leave()

    def _sigcont_application(self, *_: object) -> None:
        """Handle SIGCONT: take over the terminal again. After a SIGSTOP, which no handler can catch, first release the terminal."""
        if not os.isatty(self.fileno):
            return
        if self._auto_restart and not self._must_signal_resume:
            self.suspend_application_mode()
            self._must_signal_resume = True
        super()._sigcont_application()

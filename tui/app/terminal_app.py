"""What the applications in a terminal share: the filters of their output, the driver, and the signals that quit them."""

from __future__ import annotations

import asyncio
import contextlib
import functools
import os

from textual.app import App
from textual.driver import Driver
from textual.filter import ANSIToTruecolor

from tui.app.signals import LeaveRequest
from tui.main_screen.display_options import DisplayOptions
from tui.terminal.filters import AsciiFilter, PlainFilter
from tui.terminal.foreign_text import ControlCharacterFilter


class TerminalApp(App[int]):
    """A Textual application that runs in limited terminals too, and quits when a signal asks for it.

    Attributes:
        display_options: the display options.
        few_colors: whether the terminal has only 256 colors.
        leaving: the handler for signals that quit the application, or None.
    """

    def __init__(self, display: DisplayOptions, driver: type[Driver] | None = None) -> None:
        """Create the application with a Textual driver; if it is None, Textual chooses the driver."""
        no_color = os.environ.pop("NO_COLOR", None)  # Textual would turn colors into grays; `PlainFilter` removes them completely.
        try:
            super().__init__(driver_class=driver)
        finally:
            if no_color is not None:
                os.environ["NO_COLOR"] = no_color
        self.display_options = display
        self.leaving: LeaveRequest | None = None
        self.few_colors = self.console.color_system == "256"
        self._plain, self._ascii = PlainFilter(enabled=False), AsciiFilter(enabled=display.wants_ascii)
        # No widget uses ANSI colors, so the filter that converts them is not needed.
        kept = (each for each in self._filters if not isinstance(each, ANSIToTruecolor))
        self._filters = [ControlCharacterFilter(), *kept, self._plain, self._ascii]

    def get_driver_class(self) -> type[Driver]:
        """Return the driver class. In a terminal, the driver class is `TerminalDriver`, which quits the application when the terminal
        closes."""
        found = super().get_driver_class()
        if found.__name__ != "LinuxDriver":
            return found
        from tui.terminal.driver import TerminalDriver

        return TerminalDriver

    def quit_on_signals(self) -> None:
        """Start to handle the signals that quit the application."""
        if self.leaving is not None:
            self.leaving.on_request(functools.partial(self._leave_soon, asyncio.get_running_loop()))

    def _leave_soon(self, loop: asyncio.AbstractEventLoop, code: int) -> None:
        """Quit with the given exit code after the current callback. If the event loop is already closed, do nothing."""
        with contextlib.suppress(RuntimeError):
            loop.call_soon_threadsafe(self.exit, code)

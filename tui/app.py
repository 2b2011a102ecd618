"""The playground as a Textual application: theme, filters, command palette, and a proper end whatever ends it."""

from __future__ import annotations

import asyncio
import contextlib
import gc
import os
import signal
from typing import Any, ClassVar

from textual.app import App, SystemCommand
from textual.command import DiscoveryHit, Hit, Hits, Provider
from textual.driver import Driver

from core.errors import KafkaError
from scenarios.errors import InputError
from scenarios.play_target import PlayTarget
from tui.actions import ACTIONS, Action
from tui.board import Board
from tui.palette import COLOUR, PLAIN, THEME, AsciiFilter, PlainFilter, wants_ascii
from tui.target import Stage, set_stage


class ActionProvider(Provider):
    """The registry in the command palette; what is impossible now says why and stands last."""

    async def discover(self) -> Hits:
        """Every action, before anything is typed."""
        for action, text, call, help_text in self._entries():
            yield DiscoveryHit(text, call, text=action.label, help=help_text)

    async def search(self, query: str) -> Hits:
        """The actions that match."""
        matcher = self.matcher(query)
        for action, text, call, help_text in self._entries():
            score = max(matcher.match(text), matcher.match(action.id))
            if score > 0:
                yield Hit(score, matcher.highlight(text), call, text=action.label, help=help_text)

    def _entries(self) -> list[tuple[Action, str, Any, str]]:
        board = next((screen for screen in self.app.screen_stack if isinstance(screen, Board)), None)
        if board is None:
            return []
        situation = board.situation()
        entries = []
        for action in ACTIONS:
            if action.id == "palette":
                continue
            reason = action.refuse(situation)
            about = action.help if reason is None else f"not now: {reason}"
            entries.append((reason is not None, action, f"{action.label}  ({action.key})", about))
        entries.sort(key=lambda entry: entry[0])
        return [(action, text, _caller(board, action), about) for _, action, text, about in entries]


def _caller(board: Board, action: Action) -> Any:
    def call() -> None:
        board.action_do(action.id)

    return call


class Playground(App[int]):
    """The application. What it shows is decided by the stage it is given."""

    CSS_PATH = "app.tcss"
    TITLE = "isrlab"
    ENABLE_COMMAND_PALETTE = True
    COMMANDS: ClassVar = {ActionProvider}

    def __init__(
        self, stage: Stage, *, ascii_only: bool | None = None, colour: bool | None = None, driver: type[Driver] | None = None
    ) -> None:
        """Make the application.

        Args:
            stage: the session with its title and scenario.
            ascii_only: paint in ASCII; None: as the environment asks.
            colour: use colours; None: unless `NO_COLOR` is set.
            driver: Textual's driver, for pictures and tests.
        """
        self._colour = colour if colour is not None else not os.environ.get("NO_COLOR")
        no_color = os.environ.pop("NO_COLOR", None)  # Textual would turn colours into greys; here they go away altogether
        try:
            super().__init__(driver_class=driver)
        finally:
            if no_color is not None:
                os.environ["NO_COLOR"] = no_color
        self.stage = stage
        if not self._colour:
            self._filters.append(PlainFilter())
        if ascii_only if ascii_only is not None else wants_ascii():
            self._filters.append(AsciiFilter())
        self.register_theme(THEME)
        self.theme = THEME.name

    def get_default_screen(self) -> Board:
        """The main screen."""
        self.board = Board(self.stage, COLOUR if self._colour else PLAIN)
        return self.board

    def get_system_commands(self, screen: Any) -> Any:
        """None of Textual's own: the registry has everything."""
        empty: tuple[SystemCommand, ...] = ()
        return empty

    def on_mount(self) -> None:
        """Take SIGTERM and a lost terminal as a wish to leave in good order."""
        loop = asyncio.get_running_loop()
        for number in (signal.SIGTERM, signal.SIGHUP):
            with contextlib.suppress(NotImplementedError, RuntimeError, ValueError):
                loop.add_signal_handler(number, self.exit, 128 + number)
        self.call_after_refresh(self._settle)

    def _settle(self) -> None:
        """After the first paint: what lives long is not looked at by the garbage collector again."""
        if self.stage.own_process:
            gc.collect()
            gc.freeze()
            gc.disable()

    def action_leave(self) -> None:
        """Leave, from a dialog."""
        self.exit(0)


def run_app(target: PlayTarget) -> int:
    """Open the playground on a target; returns the exit code when it is left.

    Raises:
        InputError: the cluster cannot be built, or the event log not be written.
    """
    try:
        stage = set_stage(target, own_process=True)
    except (KafkaError, ValueError) as wrong:
        raise InputError(f"{target.title or 'the cluster'}: {wrong}") from None
    app = Playground(stage)
    try:
        code = app.run()
    finally:
        gc.enable()
        stage.session.close()
        if stage.record is not None:
            stage.save(stage.record)
    return app.return_code or 0 if code is None else code

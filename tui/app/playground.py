"""The playground as a Textual application: its theme, filters, command palette, and clean exit."""

from __future__ import annotations

import io
import traceback
from typing import Any, ClassVar

from rich.console import Console
from textual import events
from textual.app import App, SystemCommand
from textual.binding import Binding
from textual.command import DiscoveryHit, Hit, Hits, Provider
from textual.driver import Driver
from textual.markup import escape

from core.kafka.errors import KafkaError
from scenarios.errors import InputError
from scenarios.io.escaping import escape_value
from scenarios.io.standard_streams import print_error
from tui.actions.action import Action
from tui.actions.all_actions import ACTIONS
from tui.app.command_palette_names import NameProvider
from tui.app.signals import leave_on_signals
from tui.app.terminal_app import TerminalApp
from tui.dialogs.details import DetailsDialog
from tui.dialogs.dialog import TypeAheadScreen
from tui.dialogs.question import QuestionDialog
from tui.exit_codes import INTERNAL
from tui.main_screen.display_options import DisplayOptions
from tui.main_screen.screen import MainScreen
from tui.rendering.palette import PALETTES, palette_of, theme_of
from tui.session.garbage_collection import STARTUP_SECONDS
from tui.session.loading import LoadedSession, load_session
from tui.session.play_target import PlayTarget


class ActionProvider(Provider):
    """A provider that offers all actions in the command palette. Impossible actions come last, each with the reason."""

    async def discover(self) -> Hits:
        """Yield all actions, which the palette lists until the user types something."""
        for action, text, call, help_text in self._entries():
            yield DiscoveryHit(text, call, text=action.label, help=help_text)

    async def search(self, query: str) -> Hits:
        """Yield the actions that match the text that the user typed."""
        matcher = self.matcher(query)
        for action, text, call, help_text in self._entries():
            score = max(matcher.match(text), matcher.match(action.id))
            if score > 0:
                yield Hit(score, matcher.highlight(text), call, text=action.label, help=help_text)

    def _entries(self) -> list[tuple[Action, str, Any, str]]:
        main_screen = next((screen for screen in reversed(self.app.screen_stack) if isinstance(screen, MainScreen)), None)
        if main_screen is None:
            return []
        context = main_screen.context()
        entries = []
        for action in ACTIONS:
            if action.id == "palette":
                continue
            reason = action.refuse(context)
            about = action.words(context) if reason is None else f"unavailable: {reason}"
            entries.append((reason is not None, action, f"{action.label}  ({main_screen.keymap.key(action.id)})", about))
        entries.sort(key=lambda entry: entry[0])
        return [(action, text, _caller(main_screen, action), escape(escape_value(about))) for _, action, text, about in entries]


def _caller(main_screen: MainScreen, action: Action) -> Any:
    def call() -> None:
        main_screen.action_do(action.id)

    return call


class Playground(TerminalApp):
    """The playground's Textual application, which shows one session at a time."""

    CSS_PATH = "playground.tcss"
    TITLE = "isrlab"
    ENABLE_COMMAND_PALETTE = True
    COMMANDS: ClassVar = {ActionProvider, NameProvider}
    DEFAULT_MODE = "session"
    BINDINGS: ClassVar = [Binding("ctrl+z", "suspend_process", show=False, priority=True)]

    def __init__(self, loaded: LoadedSession, display: DisplayOptions = DisplayOptions(), *, driver: type[Driver] | None = None) -> None:  # noqa: B008 (frozen)
        """Create the application.

        Args:
            loaded: the session with its title and scenario.
            display: the display options.
            driver: the Textual driver, for pictures and tests; if None, Textual chooses the driver.
        """
        super().__init__(display, driver)
        self.loaded = loaded
        self.failure = ""
        """The traceback of the first uncaught error. An uncaught error ends the playground."""
        self._open_main_screen(self.DEFAULT_MODE)
        for name in PALETTES:
            self.register_theme(theme_of(name))
        self.set_keymap(display.keymap.for_textual())
        self.use_palette(display.palette_for(self.console))

    def _open_main_screen(self, mode: str) -> None:
        """Add a mode with a new main screen for the session."""

        def opened() -> MainScreen:
            self.main_screen = MainScreen(self.loaded, self.paint, self.display_options)
            return self.main_screen

        self.add_mode(mode, opened)

    def use_palette(self, name: str) -> None:
        """Switch to a palette."""
        self.palette = name
        self.paint = palette_of(name, few=self.few_colors)
        self._plain.enabled = name == "plain"
        theme = theme_of(name).name
        if not self.is_running:
            self.set_reactive(App.theme, theme)  # No screen exists yet, so no styles need an update.
            return
        self.theme = theme
        for screen in self.screen_stack:
            for node in (screen, *screen.walk_children()):
                if hasattr(node, "paint"):
                    node.paint = self.paint
                    node.refresh()

    @property
    def ascii_only(self) -> bool:
        """Whether the application writes only ASCII."""
        return self._ascii.enabled

    @ascii_only.setter
    def ascii_only(self, wanted: bool) -> None:
        self._ascii.enabled = wanted

    def open_target(self, target: PlayTarget) -> None:
        """End the current session and open another.

        Raises:
            KafkaError, ValueError: the cluster cannot be built; the old session then continues.
            InputError: the log or the script of the old session cannot be written; the old session then continues without its log.
        """
        loaded = load_session(target, own_process=self.loaded.own_process)
        self.end_session()
        self.loaded = loaded
        while len(self.screen_stack) > 1:
            self.pop_screen()
        over, main_screen, name = self.current_mode, self.main_screen, f"session {id(loaded)}"
        self._open_main_screen(name)
        self.switch_mode(name)
        self.remove_mode(over)
        self.call_next(main_screen.dispose)
        self.set_timer(STARTUP_SECONDS, self._settle_again)

    def _settle_again(self) -> None:
        """Collect the garbage of the previous session and freeze the objects of the new one."""
        self.main_screen.session.playback.settle()
        self.main_screen.garbage.cluster_replaced()
        self.main_screen.garbage.collect_when_idle()

    def end_session(self) -> None:
        """End the session: complete its log and, if requested, save the session as a script, even if the log cannot be completed.

        Raises:
            InputError: the log or the script cannot be written.
        """
        try:
            self.loaded.session.history.close()
        finally:
            if self.loaded.record is not None:
                self.loaded.save(self.loaded.record)

    def on_paste(self, event: events.Paste) -> None:
        """Handle pasted text that no input line has accepted.

        If a dialog is opening, pass the text to the dialog. If no dialog is opening, ignore the text and show a message, because pasted
        text must not be treated as key presses.
        """
        event.stop()
        screen = self.screen
        if isinstance(screen, TypeAheadScreen) and screen.paste_ahead(event.text):
            return
        count = len(event.text)
        self.main_screen.prompts.say(
            f"ignored {count:,} pasted character{'' if count == 1 else 's'}: you can paste only into an input line", refused=True
        )

    async def on_event(self, event: events.Event) -> None:
        """Drop keys, clicks, and pasted text that arrive after the request to quit, because the screens may already be gone."""
        if isinstance(event, events.InputEvent | events.Paste) and (self._exit or not self._screen_stacks.get(self.current_mode)):
            return
        await super().on_event(event)

    def on_key(self, event: events.Key) -> None:
        """If a key was pressed while a dialog was opening, pass the key to that dialog."""
        screen = self.screen
        if isinstance(screen, TypeAheadScreen) and screen.pressed_ahead(event):
            event.prevent_default()
            event.stop()

    def get_system_commands(self, screen: Any) -> Any:
        """Return no system commands, because the registry contains all commands."""
        empty: tuple[SystemCommand, ...] = ()
        return empty

    def on_mount(self) -> None:
        """Start to handle the signals that quit the application, and schedule the work to do after startup."""
        self.quit_on_signals()
        self.app_resume_signal.subscribe(self, lambda _: self.screen.refresh(layout=True))
        self.set_timer(STARTUP_SECONDS, self._settle)

    def _fatal_error(self) -> None:
        """Keep an uncaught error for the crash report. Textual's own method would write the traceback to the terminal."""
        self._fail(traceback.format_exc())

    def panic(self, *renderables: Any) -> None:
        """For the crash report, keep an error that Textual passes as a renderable, for example an error in a style sheet or in the thread
        that reads keys.
        """
        console = Console(file=io.StringIO(), width=200, record=True)
        console.print(*renderables)
        self._fail(console.export_text())

    def _fail(self, told: str) -> None:
        self.failure = self.failure or told
        self._close_messages_no_wait()

    def _settle(self) -> None:
        """Add the first keyframe and freeze long-lived objects after the first screen is shown."""
        self.main_screen.session.playback.settle()
        self.main_screen.garbage.freeze_long_lived()

    def action_picture(self) -> None:
        """Save a picture that includes the open dialog."""
        self.main_screen.action_do("picture")

    def action_copy_shown(self) -> None:
        """Copy the text of a details dialog to the clipboard."""
        if isinstance(self.screen, DetailsDialog):
            self.copy_to_clipboard(self.screen.text)
            self.main_screen.prompts.say("copied this text")

    def action_command_palette(self) -> None:
        """Open the playground's command palette. Textual calls this method for its own palette key."""
        self.main_screen.action_do("palette")

    def action_leave(self) -> None:
        """Quit from a dialog in the same way as from the main screen. If the dialog already asks whether to quit, quit immediately."""
        if isinstance(self.screen, QuestionDialog) and self.screen.asks_to_leave:
            self.exit(0)
        else:
            self.main_screen.action_do("quit")


def run_app(target: PlayTarget, display: DisplayOptions = DisplayOptions()) -> int:  # noqa: B008 (frozen)
    """Run the playground on a target and return the exit code.

    Raises:
        InputError: the cluster cannot be built, or the event log cannot be written.
    """
    try:
        loaded = load_session(target, own_process=True)
    except (KafkaError, ValueError) as wrong:
        raise InputError(f"{target.title or 'the cluster'}: {wrong}") from None
    with leave_on_signals() as wish:
        app = Playground(loaded, display)
        app.leaving = wish
        code: int | None = None
        try:
            code = app.run(mouse=not display.slow_link)
            if not app.failure:
                app.end_session()
        except InputError:
            raise
        except Exception:
            app.failure = app.failure or traceback.format_exc()
        except BaseException:
            app.end_session()
            raise
        if app.failure:
            from tui.app.crash_report import write_crash_report

            for line in write_crash_report(app.loaded, app.failure):
                print_error(line)
            return INTERNAL
    return app.return_code or 0 if code is None else code

"""The application of `isrlab play compare-models`: four replication models in lockstep, with keys that cause the same fault in all of them."""

from __future__ import annotations

from time import monotonic
from typing import ClassVar, Final

from textual.app import App, ComposeResult
from textual.binding import Binding
from textual.strip import Strip
from textual.widget import Widget

from core.lab.model_comparison.live import END, NAMES, WEAK_NAMES, LiveComparison
from core.lab.model_comparison.systems import variant_named
from core.sim.units import SECOND, US_PER_MS
from tui.app.signals import leave_on_signals
from tui.app.terminal_app import TerminalApp
from tui.main_screen.display_options import DisplayOptions
from tui.model_comparison.painting import Scene, paint_scene
from tui.rendering.palette import palette_of, theme_of
from tui.rendering.rows import blank

SPEEDS: Final = (0.02, 0.1, 0.25, 0.5, 1, 2, 5, 10)
"""The speeds that the user can choose, in virtual seconds per wall second."""

TICK: Final = 0.1
"""The time between two frames while virtual time advances, in seconds."""

STEP: Final = 20 * US_PER_MS
"""The virtual time that passes in one step, in µs."""

REST: Final = 4
"""How long the screen waits before it takes the next view, as a multiple of the time that the last view took."""


class Models(Widget, can_focus=True):
    """The widget that fills the screen and paints it line by line."""

    lines: tuple[Strip, ...] = ()

    def render_line(self, y: int) -> Strip:
        """Return a line of the screen."""
        return self.lines[y] if y < len(self.lines) else blank(self.size.width)

    def on_resize(self) -> None:
        """Paint the screen again at the new size."""
        app = self.app
        assert isinstance(app, ModelComparison)
        app.show()


class ModelComparison(TerminalApp):
    """The Textual application that shows the replication models."""

    TITLE = "isrlab"
    ENABLE_COMMAND_PALETTE = False
    CSS = "Models { width: 100%; height: 100%; background: $background; } Screen { overflow: hidden; }"
    BINDINGS: ClassVar = [
        Binding("space", "play", priority=True), Binding("n", "step"), Binding("k", "fault('kill')"), Binding("z", "fault('pause')"),
        Binding("i", "fault('isolate')"), Binding("s,h", "repair"), Binding("r", "restart"), Binding("w", "weaker"),
        Binding("plus,equals_sign", "speed(1)"), Binding("minus", "speed(-1)"), Binding("right,tab", "select(1)", priority=True),
        Binding("left,shift+tab", "select(-1)", priority=True), Binding("less_than_sign", "history"), Binding("t", "table"), Binding("question_mark,f1", "keys"),
        Binding("escape", "close_overlay"), Binding("q,ctrl+c", "leave", priority=True),
    ]  # fmt: skip

    def __init__(self, seed: int = 0, display: DisplayOptions = DisplayOptions()) -> None:  # noqa: B008 (frozen)
        """Create the application with a seed and the display options."""
        super().__init__(display)
        self.seed = seed
        self.names = NAMES
        self.playing = False
        self.pace = SPEEDS.index(1)
        self.selected = 0
        self.shows_help = self.shows_history = self.shows_copies = False
        name = display.palette_for(self.console)
        self.paint = palette_of(name, few=self.few_colors)
        self._plain.enabled = name == "plain"
        theme = theme_of(name)
        self.register_theme(theme)
        self.set_reactive(App.theme, theme.name)
        self._begin()

    def compose(self) -> ComposeResult:
        """Yield the screen's only widget."""
        yield Models()

    def on_mount(self) -> None:
        """Start the timer that advances virtual time."""
        self.query_one(Models).focus()
        self.set_interval(TICK, self._tick)
        self.quit_on_signals()

    def _begin(self) -> None:
        self.systems = LiveComparison([variant_named(name) for name in self.names], self.seed)
        self.systems.run_until(SECOND // 2)
        self.views = self.systems.views()
        self.next_view = 0.0
        self.playing = self.shows_help = self.shows_history = False
        self.said = "k: kill the primary in all systems; Space: let time pass; w: restart with weaker settings"

    # --- time ---------------------------------------------------------------------------------------------------------

    def _tick(self) -> None:
        if not self.playing:
            return
        self.systems.run_until(self.systems.now + int(TICK * SPEEDS[self.pace] * SECOND))
        if self.systems.now >= END:
            self.playing = False
            self.said = f"the workload ends after {END // SECOND} s; to start again, press r"
        if monotonic() >= self.next_view or not self.playing:
            self.look()

    def look(self) -> None:
        """Take new views, and paint them."""
        before = monotonic()
        self.views = self.systems.views()
        after = monotonic()
        self.next_view = after + REST * (after - before)
        self.show()

    def show(self) -> None:
        """Paint the current views."""
        models = self.query_one(Models)
        history = self.systems.runs[self.selected].history_of_harm() if self.shows_history else None
        scene = Scene(self.views, self.playing, SPEEDS[self.pace], self.said, self.selected, history, self.shows_help, self.shows_copies)
        models.lines = tuple(paint_scene(scene, models.size.width, models.size.height, self.paint))
        models.refresh()

    # --- keys ---------------------------------------------------------------------------------------------------------

    def action_play(self) -> None:
        """Start or stop virtual time."""
        self.playing = not self.playing and self.systems.now < END
        self.look()

    def action_step(self) -> None:
        """Advance virtual time by one step."""
        self.playing = False
        self.systems.run_until(self.systems.now + STEP)
        self.look()

    def action_fault(self, word: str) -> None:
        """Kill, pause, or cut off the primary in all systems."""
        said = self.systems.do(word)
        self.said = f"at {self.systems.now / SECOND:.3f} s: {said}"
        self.look()

    def action_repair(self) -> None:
        """Heal all links, and resume or start all processes."""
        said = self.systems.repair()
        self.said = f"at {self.systems.now / SECOND:.3f} s: {said}"
        self.look()

    def action_restart(self) -> None:
        """Start all systems again with the same durability settings."""
        self._begin()
        self.show()

    def action_weaker(self) -> None:
        """Start all systems again with weaker durability settings (Kafka with acks=1, and asynchronous MySQL) or, if the settings are
        already weaker, with the stronger ones."""
        self.names = NAMES if self.names == WEAK_NAMES else WEAK_NAMES
        self._begin()
        self.said = "started again: " + (
            "Kafka with acks=1 and asynchronous MySQL" if self.names == WEAK_NAMES else "the stronger settings"
        )
        self.show()

    def action_speed(self, step: int) -> None:
        """Change the speed of virtual time."""
        self.pace = max(0, min(len(SPEEDS) - 1, self.pace + step))
        self.show()

    def action_select(self, step: int) -> None:
        """Select another system."""
        self.selected = (self.selected + step) % len(self.views)
        self.show()

    def action_history(self) -> None:
        """Show or hide the events that led to the latest harm in the selected system."""
        self.shows_history, self.shows_help = not self.shows_history, False
        self.look()

    def action_table(self) -> None:
        """Switch between the table of harm to clients and the table of copies."""
        self.shows_copies = not self.shows_copies
        self.show()

    def action_keys(self) -> None:
        """Show or hide the help."""
        self.shows_history, self.shows_help = False, not self.shows_help
        self.show()

    def action_close_overlay(self) -> None:
        """Close the help or the history, and show the systems again."""
        self.shows_help = self.shows_history = False
        self.show()

    def action_leave(self) -> None:
        """Quit the application."""
        self.exit(0)


def run_model_comparison(seed: int = 0, display: DisplayOptions = DisplayOptions()) -> int:  # noqa: B008 (frozen)
    """Run the screen and return the exit code."""
    with leave_on_signals() as wish:
        app = ModelComparison(seed, display)
        app.leaving = wish
        code = app.run(mouse=False)
    return app.return_code or 0 if code is None else code

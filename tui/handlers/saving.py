"""Saves the session as a script or an event log, saves a picture of the screen, and copies text to the clipboard."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Final

from core.lab.act_sentences import sentence
from core.sim.events import kind_of, seq_of, time_of
from core.sim.units import format_clock
from scenarios.errors import InputError
from scenarios.io.escaping import escape_line
from scenarios.io.output_files import same_file, write_atomically
from scenarios.io.shared_line import shared_line
from tui.actions.context import Option, Question
from tui.handlers.screen_interface import ScreenInterface
from tui.session.loading import LoadedSession

SCRIPT_NAMES: Final = (".yaml", ".yml")
"""The file name extensions of scripts."""

LOG_NAMES: Final = (".jsonl", ".jsonl.zst")
"""The file name extensions of event logs. Logs with the extension `.jsonl.zst` are compressed."""


class Saving:
    """The handler that saves sessions and pictures, and copies text. `unsaved` is the number of acts since the last save."""

    def __init__(self, loaded: LoadedSession, screen: ScreenInterface) -> None:
        self.loaded = loaded
        self.session = loaded.session
        self.screen = screen
        self.unsaved = 0

    def save(self) -> None:
        """Ask for a file name and save the session."""
        self.save_then(lambda: None)

    def save_then(self, then: Callable[[], object]) -> None:
        """Ask for a file name, save the session, and finally call `then`."""
        default = self.loaded.record or Path("session.yaml")
        about = (
            "A name such as x.yaml saves a scenario script, which isrlab run plays again with the same events. A name such as x.jsonl "
            "(or x.jsonl.zst, compressed) saves the event log, which isrlab replay checks and isrlab play opens."
        )
        self.screen.prompts.ask_text("Save the session", about, str(default), self._file_name_error, lambda name: self._save_as(name, then))

    def _file_name_error(self, text: str) -> str | None:
        own = self.loaded.log
        if text and own is not None and same_file(text, own):
            return f"{text} is this session's own log; it is complete when the session ends"
        return file_name_error(text)

    def _save_as(self, name: str, then: Callable[[], object]) -> None:
        path = Path(name)
        save = self._save_log if name.endswith(LOG_NAMES) else self._save_script
        if not path.exists():
            save(path, then)
            return
        options = (
            Option("o", "overwrite it", (), f"it has {path.stat().st_size:,} bytes"),
            Option("n", "another name", (), ""),
        )

        def chosen(option: Option | None) -> None:
            if option is options[0]:
                save(path, then)
            elif option is options[1]:
                self.save_then(then)

        self.screen.prompts.ask(Question(f"{path} exists", "Overwrite the file, or choose another name.", options), chosen)

    def _save_log(self, path: Path, then: Callable[[], object]) -> None:
        def written(failed: str) -> None:
            told = f"saved as {path}: {self.session.history.end.seq:,} events; to check it, run isrlab replay {path}"
            self.screen.prompts.say(failed or told, refused=bool(failed))
            if not failed:
                self.unsaved = 0
                then()

        try:
            self.session.write_log(path, self.loaded.header(), written)
        except InputError as wrong:
            self.screen.prompts.say(str(wrong), refused=True)
        self.screen.refresh_view()

    def _save_script(self, path: Path, then: Callable[[], object]) -> None:
        try:
            self.loaded.save(path)
        except InputError as wrong:
            self.screen.prompts.say(str(wrong), refused=True)
        else:
            count = len(self.session.history.branch.act_events)
            self.screen.prompts.say(f"saved as {path}: {count} acts; to replay them, run isrlab run {path}")
            self.unsaved = 0
            then()

    def share(self) -> None:
        """Copy the session so far as one line that others can paste after `isrlab play`."""
        try:
            line = shared_line(self.loaded.script("session"))
        except InputError as wrong:
            self.screen.prompts.say(str(wrong), refused=True)
            return
        self.screen.app.copy_to_clipboard(line)
        acts = len(self.session.history.branch.act_events)
        self.screen.prompts.say(
            f"copied a line of {len(line):,} characters with {acts} act{'' if acts == 1 else 's'}; others paste it after isrlab play"
        )

    def copy(self) -> None:
        """Copy the selected event, or the line that kafka-topics prints for the selected partition."""
        context = self.screen.context()
        text, what = "", ""
        if context.focus == "events" and context.event is not None:
            event = context.event
            text, what = f"{format_clock(time_of(event))} #{seq_of(event)} {kind_of(event)}: {sentence(event)}", f"event {seq_of(event)}"
        elif context.partition is not None:
            tp = context.partition.tp
            text, what = self._describe_row(tp.topic, tp.partition), f"the kafka-topics row of {tp}"
        if not text:
            self.screen.prompts.say("nothing is selected", refused=True)
            return
        self.screen.app.copy_to_clipboard(escape_line(text))
        self.screen.prompts.say(f"copied {what}")

    def _describe_row(self, topic: str, partition: int) -> str:
        """Return the line that the current release's `kafka-topics --describe` prints for a partition."""
        from scenarios.describe.render import from_view, partition_row

        described = next(each for each in from_view(self.screen.view) if each.name == topic)
        row = next(row for row in described.rows if row.partition == partition)
        return partition_row(row, self.loaded.release).strip()

    def picture(self) -> None:
        """Save the screen as an SVG file."""
        name = f"isrlab-{self.screen.view.now // 1_000_000}s.svg"
        try:
            write_atomically(name, self.screen.app.export_screenshot(title="isrlab"))
        except InputError as wrong:
            self.screen.prompts.say(str(wrong), refused=True)
        else:
            self.screen.prompts.say(f"picture saved as {name}")

    def confirm_unsaved(self, title: str, label: str, key: str, go: Callable[[], object], *, leaves: bool = False) -> None:
        """End the session by calling the function `go`. If unsaved acts would be lost, first ask whether to save them.

        Args:
            title: the heading of the question.
            label: the label of the answer that ends the session without saving it.
            key: the key that answers "don't save".
            go: the function that ends the session.
            leaves: whether `go` also quits the playground.
        """
        if not self.unsaved or self.loaded.log is not None or self.loaded.record is not None:
            go()
            return
        acts = "1 act is" if self.unsaved == 1 else f"{self.unsaved} acts are"
        options = (
            Option("s", f"save and {label}", (), "as a script or as an event log"),
            Option(key, label, (), f"{acts} not saved"),
            Option("n", "stay", ()),
        )

        def chosen(option: Option | None) -> None:
            if option is options[0]:
                self.save_then(go)
            elif option is options[1]:
                go()

        question = Question(title, f"{acts[0].upper()}{acts[1:]} not saved.", options)
        self.screen.prompts.ask(question, chosen, leaves=leaves)


def file_name_error(text: str) -> str | None:
    """Return the reason why the session cannot be saved under a file name, or None."""
    if not text:
        return "enter a file name, for example session.yaml"
    if not text.endswith((*SCRIPT_NAMES, *LOG_NAMES)):
        return "the name of a script ends in .yaml, and the name of an event log in .jsonl or .jsonl.zst"
    path = Path(text)
    try:
        if "\0" in text:
            raise ValueError("it contains a null character")
        if path.is_dir():
            return f"{text} is a directory"
        path.exists()
        return None if path.parent.is_dir() else f"there is no directory {path.parent}"
    except (OSError, ValueError) as wrong:
        return f"not a valid file name: {getattr(wrong, 'strerror', None) or wrong}"

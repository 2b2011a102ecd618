"""Taking something out of the playground by keys: the session as a script, a picture of the screen, a line to the clipboard."""

from __future__ import annotations

from pathlib import Path

from core.units import format_clock
from scenarios.describe.described import DescribedTopic
from scenarios.describe.render import from_view, partition_row
from scenarios.errors import InputError
from tui.ring import sentence
from tui.screen import MainScreen


class Keeping(MainScreen):
    """The part of the main screen that saves and copies."""

    def _save(self) -> None:
        default = self.stage.record or Path("session.yaml")
        self.write(
            "Save the session", "As a scenario script; isrlab run replays it to the same events.", str(default), _no_file, self._save_as
        )

    def _save_as(self, name: str) -> None:
        path = Path(name)
        try:
            self.stage.save(path)
        except InputError as wrong:
            self.say(str(wrong), refused=True)
        else:
            count = len(self.session.branch.deeds)
            self.say(f"saved as {path}: {count} acts; isrlab run {path} replays them")

    def _copy(self) -> None:
        situation = self.situation()
        text, what = "", ""
        if situation.focus == "events" and situation.event is not None:
            event = situation.event
            text, what = f"{format_clock(event[1])} #{event[0]} {event[3]}: {sentence(event)}", f"event {event[0]}"
        elif situation.partition is not None:
            tp = situation.partition.tp
            text, what = self._describe_row(tp.topic, tp.partition), f"the describe row of {tp}"
        if not text:
            self.say("nothing is selected", refused=True)
            return
        self.app.copy_to_clipboard(text)
        self.say(f"copied {what}")

    def _describe_row(self, topic: str, partition: int) -> str:
        """The partition's line as `kafka-topics --describe` of the release prints it."""
        described: DescribedTopic = next(each for each in from_view(self.view) if each.name == topic)
        row = next(row for row in described.rows if row.partition == partition)
        return partition_row(row, self.stage.release).strip()

    def _picture(self) -> None:
        name = f"isrlab-{self.view.now // 1_000_000}s.svg"
        try:
            Path(name).write_text(self.app.export_screenshot(title="isrlab"), encoding="utf-8")
        except OSError as wrong:
            self.say(f"{name} could not be written: {wrong.strerror or wrong}", refused=True)
        else:
            self.say(f"picture saved as {name}")


def _no_file(text: str) -> str | None:
    """What is wrong with a file's name."""
    if not text:
        return "write a file's name, for example session.yaml"
    path = Path(text)
    if path.is_dir():
        return f"{text} is a directory"
    return None if path.parent.is_dir() else f"there is no directory {path.parent}"

"""How far a person is in each lesson. The file is `lessons.json` in `$XDG_CONFIG_HOME/isrlab` (by default `~/.config/isrlab`), beside the keymap.

A lesson that is not in the file has not been started. A damaged file counts as empty, because the worst that can get lost is a check mark.
"""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

import attrs

from scenarios.errors import InputError
from scenarios.io.output_files import write_atomically

MAX_BYTES: Final = 1_000_000
"""The maximum size of the file that is read."""


@attrs.frozen(repr=False)
class LessonProgress:
    """How far a person is in a lesson.

    Attributes:
        step: the number of steps that the person has reached, in the furthest attempt.
        steps: the number of steps of the lesson.
        finished: whether the person has reached its end.
        wrong: the number of wrong answers in the last finished attempt; -1 if there is none.
    """

    step: int = 0
    steps: int = 0
    finished: bool = False
    wrong: int = -1

    def words(self) -> str:
        """Return the progress in words."""
        if self.finished:
            return "finished" + ("" if self.wrong < 0 else ", no wrong answer" if self.wrong == 0 else f", {self.wrong} wrong")
        return f"step {self.step} of {self.steps}" if self.step else "new"


def progress_path(environ: Mapping[str, str] = os.environ) -> Path:
    """Return the path of the file."""
    base = environ.get("XDG_CONFIG_HOME") or os.path.join(environ.get("HOME", "~"), ".config")
    return Path(base).expanduser() / "isrlab" / "lessons.json"


def read_progress(path: Path | None = None) -> dict[str, LessonProgress]:
    """Return the progress by the names of lessons."""
    file = path or progress_path()
    try:
        if file.stat().st_size > MAX_BYTES:
            return {}
        data = json.loads(file.read_text("utf-8"))
    except (OSError, ValueError, RecursionError):
        return {}
    lessons = data.get("lessons") if isinstance(data, dict) else None
    if not isinstance(lessons, dict):
        return {}
    return {str(name): found for name, one in lessons.items() if (found := _read(one)) is not None}


def _read(one: Any) -> LessonProgress | None:
    if not isinstance(one, dict):
        return None
    step, steps, finished, wrong = (
        one.get(name, default) for name, default in (("step", 0), ("steps", 0), ("finished", False), ("wrong", -1))
    )
    if not all(type(number) is int for number in (step, steps, wrong)) or type(finished) is not bool:
        return None
    return LessonProgress(step, steps, finished, wrong)


def keep_progress(lesson: str, step: int, steps: int, wrong: int, *, ended: bool, path: Path | None = None) -> str:
    """Write how far a person is in a lesson. Progress never shrinks. Return an empty string, or why the file cannot be written."""
    file = path or progress_path()
    known = read_progress(file)
    before = known.get(lesson, LessonProgress())
    furthest = step if ended else max(step, before.step if before.steps == steps else 0)
    now = LessonProgress(furthest, steps, ended or before.finished, wrong if ended else before.wrong)
    return "" if now == before else _write({**known, lesson: now}, file)


def reset_progress(lessons: list[str] | None = None, path: Path | None = None) -> str:
    """Forget the progress of some lessons, or of all. Return an empty string, or why the file cannot be written."""
    file = path or progress_path()
    if not file.exists():
        return ""
    known = {} if lessons is None else {name: one for name, one in read_progress(file).items() if name not in lessons}
    return _write(known, file)


def _write(known: Mapping[str, LessonProgress], file: Path) -> str:
    data = {"lessons": {name: attrs.asdict(one) for name, one in known.items()}}
    try:
        file.parent.mkdir(parents=True, exist_ok=True)
        write_atomically(file, json.dumps(data, indent=2) + "\n")
    except (OSError, InputError) as wrong:
        return f"your progress cannot be written: {wrong}"
    return ""

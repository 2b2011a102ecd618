"""The lessons that come with isrlab, in the order in which they build on each other, and lessons in files."""

from __future__ import annotations

import os
from collections.abc import Collection
from pathlib import Path
from typing import Final

from scenarios.errors import InputError, did_you_mean
from scenarios.lessons.lesson import Lesson
from scenarios.lessons.reader import load_lesson

FOLDER: Final = Path(__file__).with_name("library")
"""The folder that contains the lessons."""

ORDER: Final = (
    "hw-and-leo",
    "who-is-in-sync",
    "acks-and-min-isr",
    "unclean-election",
    "epochs",
    "elr",
    "transaction-hangs",
    "group-rebalance",
)
"""The names of the lessons, in their order."""


def lesson_names() -> list[str]:
    """Return the names of the lessons of the library, in their order."""
    found = {name.removesuffix(".yaml") for name in os.listdir(FOLDER) if name.endswith(".yaml")}
    return [*(name for name in ORDER if name in found), *sorted(found.difference(ORDER))]


def find_lesson(wanted: str, actions: Collection[str] | None = None) -> Lesson:
    """Load a lesson by its name, its number in the list, or its file.

    Raises:
        InputError: there is no such lesson or file, or the lesson has mistakes.
    """
    names = lesson_names()
    if wanted.isascii() and wanted.isdecimal() and 1 <= int(wanted[:4]) <= len(names):
        wanted = names[int(wanted) - 1]
    if wanted in names:
        return load_lesson(FOLDER / f"{wanted}.yaml", actions)
    try:
        exists = Path(wanted).exists()
    except (OSError, ValueError):
        exists = False
    if exists or "/" in wanted or wanted.endswith((".yaml", ".yml")):
        return load_lesson(wanted, actions)
    raise InputError(f"{wanted[:60]}: neither a file nor a lesson; {did_you_mean(wanted, names, 'isrlab learn --list lists the lessons')}")

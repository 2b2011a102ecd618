"""Input that people got wrong: where it stands, which field it is, what was wrong and what would be right.

Every refusal of a script, a log or a name is an `InputError`; the command line prints its one line and ends with exit code 2.
"""

from __future__ import annotations

import difflib
from collections.abc import Iterable

import attrs


@attrs.frozen(repr=False)
class Place:
    """A place in a file; lines and columns count from 1."""

    source: str
    line: int
    column: int

    def __str__(self) -> str:
        return f"{self.source}:{self.line}:{self.column}"


class InputError(Exception):
    """Bad input; the text is one line for the person who wrote it."""


class ScriptError(InputError):
    """A script that cannot be used.

    Attributes:
        place: where in the file.
        field: path of the field, for example `timeline[3].produce.records` (items count from 1); empty for the file itself.
        problem: what was wrong.
        remedy: what would be right; may be empty.
    """

    def __init__(self, place: Place, field: str, problem: str, remedy: str = "") -> None:
        subject = f"{field}: " if field else ""
        super().__init__(f"{place}: {subject}{problem}" + (f"; {remedy}" if remedy else ""))
        self.place = place
        self.field = field
        self.problem = problem
        self.remedy = remedy


class LogError(InputError):
    """An event log that cannot be read: file, line and what is wrong with it."""

    def __init__(self, source: str, line: int, problem: str) -> None:
        super().__init__(f"{source}:{line}: {problem}")
        self.source = source
        self.line = line
        self.problem = problem


def did_you_mean(word: str, known: Iterable[str], otherwise: str = "") -> str:
    """`did you mean 'x'?` for the nearest known word, or `otherwise` when none is near.

    Without `otherwise`, a short list of the known words is offered instead.
    """
    words = list(known)
    near = difflib.get_close_matches(word, words, n=1, cutoff=0.55)
    if near:
        return f"did you mean '{near[0]}'?"
    if otherwise:
        return otherwise
    return f"known are {', '.join(words)}" if words else ""

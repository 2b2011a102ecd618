"""The errors that isrlab raises for invalid input. Each error states the place, the field, the problem, and a remedy.

An `InputError` is raised for every script, log, or name that is refused. The command line prints the error and exits with code 2. The `args` of
an exception are the arguments of its constructor, so that processes can pass it on.
"""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Sequence
from typing import Final, NamedTuple

MAX_SHOWN: Final = 20
"""The maximum number of mistakes that are shown for a script. The error message only counts the mistakes beyond this maximum."""

_LONGEST: Final = 250
_MOST_COMPARED: Final = 2_000
_MOST_LISTED: Final = 40
"""Limits of `did_you_mean`: the maximum length of the unknown word, the maximum number of known words that are compared with it, and the
maximum number of known words that are listed.
"""


_MOST_LINES: Final = 5
"""The maximum number of lines that are listed for a mistake that occurs several times."""


class Place(NamedTuple):
    """A place in a file. Lines and columns are numbered from 1."""

    source: str
    line: int
    column: int

    def __str__(self) -> str:
        return f"{self.source}:{self.line}:{self.column}"


class InputError(Exception):
    """Invalid input. The message has one line for each mistake, and addresses the person who wrote the input."""

    @property
    def lines(self) -> tuple[str, ...]:
        """The message, with one line for each mistake."""
        return (str(self),)


class ScriptError(InputError):
    """The error that is raised for an invalid script.

    Attributes:
        place: the place of the mistake in the file.
        field: the path of the field, for example `timeline[3].produce.records` (items are numbered from 1); empty for the file itself.
        problem: the description of the mistake.
        remedy: the advice on how to correct the mistake; empty if there is none.
    """

    def __init__(self, place: Place, field: str, problem: str, remedy: str = "") -> None:
        super().__init__(place, field, problem, remedy)
        self.place = place
        self.field = field
        self.problem = problem
        self.remedy = remedy

    def __str__(self) -> str:
        subject = f"{self.field}: " if self.field else ""
        return f"{self.place}: {subject}{self.problem}" + (f"; {self.remedy}" if self.remedy else "")


class ScriptMistakes(ScriptError):
    """All mistakes of a script. The place, field, problem, and remedy are those of the first mistake.

    Attributes:
        mistakes: the mistakes, sorted by their places in the script.
        unread: whether the reader stopped before the end of the file because there were too many mistakes.
    """

    def __init__(self, mistakes: Sequence[ScriptError], unread: bool = False) -> None:
        once = {(wrong.place, wrong.problem): wrong for wrong in mistakes}
        self.mistakes = tuple(sorted(once.values(), key=lambda wrong: wrong.place))
        self.unread = unread
        first = self.mistakes[0]
        super().__init__(first.place, first.field, first.problem, first.remedy)
        self.args = (self.mistakes, unread)

    def __str__(self) -> str:
        return "\n".join(self.lines)

    @property
    def lines(self) -> tuple[str, ...]:
        """The first `MAX_SHOWN` mistakes, one per line, and the number of further mistakes. A mistake that occurs several times has one
        line."""
        every = self.all_lines()
        shown = list(every[:MAX_SHOWN])
        more = len(every) - len(shown)
        if self.unread and not more:
            shown.append(f"{self.place.source}: the rest of the file was not read, because it has too many errors")
        if more:
            at_least = "at least " if self.unread else ""
            shown.append(f"{self.place.source}: and {at_least}{more:,} more error{'s' if more > 1 else ''}")
        return tuple(shown)

    def all_lines(self) -> tuple[str, ...]:
        """Return a line for each mistake. A mistake that occurs at several places, such as a mistyped name, has one line with its first
        place."""
        places: dict[tuple[str, str], list[ScriptError]] = {}
        for wrong in self.mistakes:
            places.setdefault((wrong.problem, wrong.remedy), []).append(wrong)
        return tuple(f"{same[0]}{_also(same[1:])}" for same in places.values())


def _also(others: Sequence[ScriptError]) -> str:
    """Return the lines of further places of a mistake, to append to its message."""
    if not others:
        return ""
    lines = list(dict.fromkeys(other.place.line for other in others))
    listed = ", ".join(map(str, lines[:_MOST_LINES])) + (f", and {len(lines) - _MOST_LINES:,} more" if len(lines) > _MOST_LINES else "")
    return f" (also in line{'s' if len(lines) > 1 else ''} {listed})"


class LogError(InputError):
    """The error for an event log that cannot be read. The message contains the file, the line, and the problem."""

    def __init__(self, source: str, line: int, problem: str) -> None:
        super().__init__(source, line, problem)
        self.source = source
        self.line = line
        self.problem = problem

    def __str__(self) -> str:
        return f"{self.source}:{self.line}: {self.problem}"


def did_you_mean(word: str, known: Iterable[str], otherwise: str = "") -> str:
    """Return `did you mean 'x'?` for the most similar known word, or `otherwise` if no word is similar.

    If no word is similar and `otherwise` is empty, return a list of the known words.
    """
    words = list(known)
    near: list[str] = []
    if len(word) <= _LONGEST:
        candidates = words if len(words) <= _MOST_COMPARED else [one for one in words if one[:1] == word[:1]][:_MOST_COMPARED]
        near = difflib.get_close_matches(word, candidates, n=1, cutoff=0.55)
    if near:
        return f"did you mean '{near[0]}'?"
    if otherwise:
        return otherwise
    if len(words) > _MOST_LISTED:
        return f"use one of {', '.join(words[:_MOST_LISTED])}, or {len(words) - _MOST_LISTED:,} more"
    return f"use one of {', '.join(words)}" if words else ""

"""Splits conditions into tokens with their columns."""

from __future__ import annotations

import re
from typing import Final, NamedTuple

_TOKEN: Final = re.compile(r"\s*(?:(?P<word>-?[A-Za-z0-9_.][A-Za-z0-9_.-]*)|(?P<sign>==|!=|<=|>=|<|>|=|[()\[\]{},:/]))")

MAX_LENGTH: Final = 2_000
"""The maximum number of characters in a condition."""


class ConditionError(Exception):
    """A mistake in a condition: its position in the text, the problem, and a remedy."""

    def __init__(self, offset: int, problem: str, remedy: str = "") -> None:
        super().__init__(offset, problem, remedy)
        self.offset = offset
        self.problem = problem
        self.remedy = remedy

    def __str__(self) -> str:
        return self.problem + (f"; {self.remedy}" if self.remedy else "")


class Token(NamedTuple):
    """A token of a condition: a word, a sign, or the end of the condition. `kind` is `word`, `sign`, or `end`."""

    kind: str
    text: str
    offset: int


def tokenize(text: str) -> list[Token]:
    """Return the tokens of a condition, followed by an `end` token.

    Raises:
        ConditionError: the text contains a character that is not allowed in conditions.
    """
    if len(text) > MAX_LENGTH:
        raise ConditionError(0, f"the condition has {len(text):,} characters", f"use at most {MAX_LENGTH:,}")
    tokens: list[Token] = []
    at, end = 0, len(text.rstrip())
    while at < end:
        match = _TOKEN.match(text, at)
        if match is None:
            wrong = text[at:].lstrip()[0]
            remedy = "write words, numbers, and ( ) [ ] { } == != < <= > >="
            raise ConditionError(len(text) - len(text[at:].lstrip()), f"'{wrong}' is not allowed here", remedy)
        kind = match.lastgroup or ""
        tokens.append(Token(kind, match[kind], match.start(kind)))
        at = match.end()
    tokens.append(Token("end", "", end))
    return tokens

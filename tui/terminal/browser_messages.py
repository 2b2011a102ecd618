"""What the page of a tab may say to the server: keys, its size, whether it is looked at. Anything else is no message."""

from __future__ import annotations

import json
from typing import Final

MOST_CELLS: Final = 1_000
"""Columns or rows of a terminal at most; every one costs memory."""

LONGEST: Final = 1_000_000
"""Characters of a message at most, and bytes: what one pastes."""

_PING: Final = 100
"""Characters of what a ping says."""

Message = tuple[str, object]
"""A kind with what it says: `stdin` a text, `resize` (columns, rows), `ping` what is to come back, `blur` and `focus` nothing."""


def message_of(text: str) -> Message:
    """The message in a text.

    Raises:
        ValueError: there is none.
    """
    if len(text) > LONGEST:
        raise ValueError("too long")
    try:
        envelope = json.loads(text)
    except RecursionError:
        raise ValueError("too deep") from None
    if not isinstance(envelope, list) or not 1 <= len(envelope) <= 2 or not isinstance(envelope[0], str):
        raise ValueError("no envelope")
    kind, said = envelope[0], envelope[1] if len(envelope) == 2 else None
    if kind == "stdin" and isinstance(said, str):
        said.encode("utf-8")  # Raises for half a character.
        return kind, said
    if kind == "resize" and isinstance(said, dict):
        return kind, (cells(said.get("width")), cells(said.get("height")))
    if kind == "ping" and (said is None or (isinstance(said, str | int | float) and len(str(said)) <= _PING)):
        return kind, said
    if kind in ("blur", "focus"):
        return kind, None
    raise ValueError("unknown")


def cells(number: object) -> int:
    """A number of columns or rows, as a number or in digits.

    Raises:
        ValueError: it is none, or too large.
    """
    if isinstance(number, str) and number.isascii() and number.isdecimal() and len(number) < 5:
        number = int(number)
    if type(number) is not int or not 1 <= number <= MOST_CELLS:
        raise ValueError(f"{number!r} is not a number of cells")
    return number

"""The messages that a browser tab can send to the server: keys, its size, pings, and focus changes.

All other messages are invalid.
"""

from __future__ import annotations

import json
from typing import Final

MOST_CELLS: Final = 1_000
"""The maximum number of columns and of rows of a terminal. The numbers of columns and rows are limited, because each cell costs memory."""

LONGEST: Final = 1_000_000
"""The maximum length of a message. The same number limits its characters and its bytes. The longest messages are those with pasted text."""

_PING: Final = 100
"""The maximum length of a ping's content, in characters."""

Message = tuple[str, object]
"""The kind of a message and its content.

The content is the typed text for `stdin`, (columns, rows) for `resize`, the value to send back for `ping`, and None for `blur` and `focus`.
"""


def message_of(text: str) -> Message:
    """Parse text and return the message that it contains.

    Raises:
        ValueError: the text is not a valid message.
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
        said.encode("utf-8")  # Raises UnicodeEncodeError for a lone surrogate.
        return kind, said
    if kind == "resize" and isinstance(said, dict):
        return kind, (cells(said.get("width")), cells(said.get("height")))
    if kind == "ping" and (said is None or (isinstance(said, str | int | float) and len(str(said)) <= _PING)):
        return kind, said
    if kind in ("blur", "focus"):
        return kind, None
    raise ValueError("unknown")


def cells(number: object) -> int:
    """Return a number of columns or rows, given as a number or as a string of digits.

    Raises:
        ValueError: the value is not a number, or is out of range.
    """
    if isinstance(number, str) and number.isascii() and number.isdecimal() and len(number) < 5:
        number = int(number)
    if type(number) is not int or not 1 <= number <= MOST_CELLS:
        raise ValueError(f"{number!r} is not a number of cells")
    return number

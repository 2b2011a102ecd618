"""Foreign text as it may stand on a screen: what would move the cursor, drive the terminal or hide other text is spelled out.

Names, notes and file names come from scripts, logs and describe texts that somebody else wrote. A terminal obeys control characters in
them (OSC 52 writes the clipboard), a line break forges a line, and a bidirectional override shows text in another order than it has.
Each such character becomes the escape that Python writes for it: `\\x1b`, `\\n`, `\\u2028`.
"""

from __future__ import annotations

from typing import Final


class _Escapes(dict[int, str | int]):
    """What stands for each character, found out when it first comes up; characters in `kept` stand for themselves."""

    def __init__(self, kept: str) -> None:
        super().__init__({ord(char): ord(char) for char in kept})

    def __missing__(self, code: int) -> str | int:
        char = chr(code)
        self[code] = shown = code if char.isprintable() or _is_space(char) else _escape(char)
        return shown


def _is_space(char: str) -> bool:
    """Whether it is a blank of some width, such as U+00A0 and U+3000; Python counts them as not printable."""
    return char in " \u00a0\u1680\u202f\u205f\u3000" or "\u2000" <= char <= "\u200a"


def _escape(char: str) -> str:
    return char.encode("unicode_escape").decode("ascii")


_VALUE: Final = _Escapes("")
_LINE: Final = _Escapes("\t")
_TEXT: Final = _Escapes("\n\t")


def visible(value: str) -> str:
    """A single value, such as a name: nothing of it leaves its place."""
    return value if value.isprintable() else value.translate(_VALUE)


def visible_line(line: str) -> str:
    """A line that may have tabs between its columns, but neither ends early nor reaches beyond itself."""
    return line if line.isprintable() else line.translate(_LINE)


def visible_text(text: str) -> str:
    """A text of several lines: its line breaks and tabs stay."""
    return text if text.isprintable() else text.translate(_TEXT)


def visible_json(document: str) -> str:
    """A JSON document with the same meaning; such characters in its strings are written as JSON's own escapes."""
    if document.isascii() and "\x7f" not in document:
        return document  # JSON has no control characters below 32 but between its values.
    return "".join(char if _TEXT[ord(char)] == ord(char) else _json_escape(char) for char in document)


def _json_escape(char: str) -> str:
    code = ord(char)
    if code < 0x10000:
        return f"\\u{code:04x}"
    code -= 0x10000
    return f"\\u{0xD800 + (code >> 10):04x}\\u{0xDC00 + (code & 0x3FF):04x}"

"""Escapes the characters in untrusted text that would move the cursor, control the terminal, or hide other text.

Names, notes, and file names come from scripts, logs, and pasted output that other people wrote. Terminals obey control characters (OSC 52
writes to the clipboard), line breaks can forge lines of output, and bidirectional overrides change the order in which text is shown. Each
of these characters is replaced by its Python escape, for example `\\x1b`, `\\n`, or `\\u2028`.
"""

from __future__ import annotations

from typing import Final


class _Escapes(dict[int, str | int]):
    """A translation table for `str.translate`. A character is added to the table when it first occurs. Characters in `kept` are not
    escaped.
    """

    def __init__(self, kept: str) -> None:
        super().__init__({ord(char): ord(char) for char in kept})

    def __missing__(self, code: int) -> str | int:
        char = chr(code)
        self[code] = shown = code if char.isprintable() or _is_space(char) else _escape(char)
        return shown


def _is_space(char: str) -> bool:
    """Whether a character is a space, such as U+00A0 or U+3000, that `str.isprintable` does not count as printable."""
    return char in " \u00a0\u1680\u202f\u205f\u3000" or "\u2000" <= char <= "\u200a"


def _escape(char: str) -> str:
    return char.encode("unicode_escape").decode("ascii")


_VALUE: Final = _Escapes("")
_LINE: Final = _Escapes("\t")
_TEXT: Final = _Escapes("\n\t")


def escape_value(value: str) -> str:
    """Escape a single value, such as a name. Line breaks and tabs are also escaped."""
    return value if value.isprintable() else value.translate(_VALUE)


def escape_line(line: str) -> str:
    """Escape the control characters in a line of output. Line breaks are escaped, but the tabs between columns are kept."""
    return line if line.isprintable() else line.translate(_LINE)


def escape_text(text: str) -> str:
    """Escape multi-line text, except for its line breaks and tabs."""
    return text if text.isprintable() else text.translate(_TEXT)


def escape_json(document: str) -> str:
    """Escape the strings of a JSON document with JSON's own escapes, which do not change the meaning of the document."""
    if document.isascii() and "\x7f" not in document:
        return document  # JSON has control characters below 32 only between its values.
    return "".join(char if _TEXT[ord(char)] == ord(char) else _json_escape(char) for char in document)


def _json_escape(char: str) -> str:
    code = ord(char)
    if code < 0x10000:
        return f"\\u{code:04x}"
    code -= 0x10000
    return f"\\u{0xD800 + (code >> 10):04x}\\u{0xDC00 + (code & 0x3FF):04x}"

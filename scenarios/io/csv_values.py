"""The values of CSV files, made safe for spreadsheets.

Text that begins with `=`, `+`, `-`, or `@` gets a leading apostrophe, so that a spreadsheet does not treat it as a formula. Numbers get no
apostrophe, even if they begin with `+` or `-`. Control characters are replaced by visible escape sequences.
"""

from __future__ import annotations

import re
from typing import Final

from scenarios.io.escaping import escape_value

_FORMULA: Final = ("=", "+", "-", "@", "\t", "\r", "\n")
"""The characters that make a spreadsheet treat a string as a formula if the string begins with one of them."""

_NUMBER: Final = re.compile(r"[+-]?\d+(\.\d+)?([eE][+-]?\d+)?")


def csv_value(value: object) -> object:
    """Return a value in the form that the CSV files use."""
    if isinstance(value, bool):
        return "true" if value else "false"
    if not isinstance(value, str):
        return value
    shown = escape_value(value)
    return f"'{shown}" if value[:1] in _FORMULA and not _NUMBER.fullmatch(value) else shown

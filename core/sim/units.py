"""Units of time. Virtual time is an int of microseconds. The functions in this module convert and format times in microseconds and in
milliseconds.
"""

from __future__ import annotations

import re
from typing import Final

US_PER_MS: Final = 1_000
"""Microseconds in a millisecond."""

SECOND: Final = 1_000_000
"""Microseconds in a second."""

_UNITS: Final = {"us": 1, "ms": US_PER_MS, "s": SECOND, "m": 60 * SECOND, "min": 60 * SECOND, "h": 3_600 * SECOND, "d": 86_400 * SECOND}
_DURATION: Final = re.compile(r"(\d{1,300}(?:\.\d{1,6})?)\s*(us|ms|s|min|m|h|d)")


def parse_duration(text: str) -> int:
    """Return a duration such as `12s`, `1.5s`, `500ms`, `1m30s`, or `2h` in microseconds.

    Raises:
        ValueError: the text is not a duration; the message shows valid ones.
    """
    compact = text.strip()
    total, at = 0, 0
    while at < len(compact):
        match = _DURATION.match(compact, at)
        if match is None:
            break
        whole, _, fraction = match[1].partition(".")
        unit = _UNITS[match[2]]
        total += int(whole) * unit
        if fraction:
            total += int(fraction) * unit // 10 ** len(fraction)
        at = match.end()
        while at < len(compact) and compact[at] == " ":
            at += 1
    if not compact or at != len(compact):
        raise ValueError(f"'{text}' is not a duration; write a number and a unit (us, ms, s, m, h, d), for example 500ms, 12s, or 1m30s")
    return total


def format_duration(us: int) -> str:
    """Return a duration in the form that people write: `0s`, `350us`, `2.5ms`, `9.6s`, `3m05s`, `2h03m`."""
    if us < 0:
        return "-" + format_duration(-us)
    if us == 0:
        return "0s"
    if us < US_PER_MS:
        return f"{us}us"
    if us < SECOND:
        return f"{us / US_PER_MS:.3f}".rstrip("0").rstrip(".") + "ms"
    if us < 60 * SECOND:
        return f"{us / SECOND:.3f}".rstrip("0").rstrip(".") + "s"
    minutes, rest = divmod(us // SECOND, 60)
    if minutes < 60:
        return f"{minutes}m{rest:02d}s"
    hours, minutes = divmod(minutes, 60)
    return f"{hours}h{minutes:02d}m"


def format_clock(us: int) -> str:
    """Return a moment of virtual time with milliseconds: `00:12.345`, `1:02:03.004`."""
    ms = us // US_PER_MS
    seconds, ms = divmod(ms, 1_000)
    minutes, seconds = divmod(seconds, 60)
    hours, minutes = divmod(minutes, 60)
    head = f"{hours}:" if hours else ""
    return f"{head}{minutes:02d}:{seconds:02d}.{ms:03d}"

"""Reads the parts of a log that are not events: its header line, and what follows the last event."""

from __future__ import annotations

import base64
import re
from collections.abc import Callable
from pathlib import Path
from typing import Final

import attrs

from scenarios.eventlog import LogReader, encode_event
from scenarios.logfile import open_log_file

Say = Callable[[str], None]

NO_NEWLINE: Final = "no-newline"
"""What stands behind the last event of a log whose last line lacks its line break."""

BASE64: Final = "base64:"
"""What a torn line begins with that is no text, having been cut in the middle of a character."""

_WRITTEN_OTHERWISE: Final = re.compile(rb"\\u00.[a-f]")
"""A control character whose number Spark writes in capitals."""


@attrs.frozen
class LogParts:
    """What a log has beside its events.

    Attributes:
        header: the header line.
        tail: what stands behind the last event.
        events: how many there are.
        end_us: the time of the end.
        ended, torn: whether the last line is an end line, and whether it is torn.
        kept: events by number whose lines would not come back as they were.
    """

    header: str
    tail: str
    events: int
    end_us: int
    ended: bool
    torn: bool
    kept: dict[int, str]


def read_log_parts(path: Path) -> LogParts:
    """What a log has beside its events, if its lines are all in order.

    Raises:
        LogError: a line is wrong.
    """
    reader = LogReader(path)
    events = end_us = 0
    kept = {}
    with open_log_file(path) as log:
        last = header = log.readline()
        for event in reader:
            events, end_us = event[0], event[1]
            last = log.readline()
            line = last.removesuffix(b"\n")
            if line != encode_event(event) or _WRITTEN_OTHERWISE.search(line):
                kept[events] = line.decode()
        tail = log.read()
    if reader.end is not None:
        end_us = reader.end.t
    ended, torn = reader.end is not None, bool(reader.torn)
    if not last.endswith(b"\n"):
        return LogParts(header.decode().rstrip("\n"), NO_NEWLINE, events, end_us, ended, torn, kept)
    try:
        text = tail.decode()
    except UnicodeDecodeError:
        text = BASE64 + base64.b64encode(tail).decode()
    return LogParts(header.decode()[:-1], text, events, end_us, ended, torn, kept)

"""Reads the parts of a log that are not events: its header line, and the text after the last event."""

from __future__ import annotations

import base64
import re
from collections.abc import Callable
from pathlib import Path
from typing import Final

from core.sim.events import seq_of, time_of
from scenarios.logs.line_encoder import encode_event
from scenarios.logs.log_file import open_log_file
from scenarios.logs.log_reader import LogReader
from spark_reports.rows.lines_to_rows import LogParts

PrintLine = Callable[[str], None]
"""A function that writes a message for the user."""

NO_NEWLINE: Final = "no-newline"
"""The value of `tail` for a log whose last line does not end with a line break."""

BASE64: Final = "base64:"
"""The prefix that marks an incomplete line that is not valid UTF-8, because the line was cut in the middle of a character."""

_WRITTEN_OTHERWISE: Final = re.compile(rb"\\u00.[a-f]")
"""Matches a control character that Spark escapes with uppercase digits."""


def read_log_parts(path: Path) -> LogParts:
    """Read the parts of a log that are not events, and check all lines of the log.

    Raises:
        LogError: a line is invalid.
        InputError: the log has events of unknown kinds.
    """
    reader = LogReader(path)
    events = end_us = 0
    kept = {}
    with open_log_file(path) as log:
        last = header = log.readline()
        for event in reader:
            events, end_us = seq_of(event), time_of(event)
            last = log.readline()
            line = last.removesuffix(b"\n")
            if line != encode_event(event) or _WRITTEN_OTHERWISE.search(line):
                kept[events] = line.decode()
        tail = log.read()
    reader.refuse_unknown_kinds("a conversion")
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

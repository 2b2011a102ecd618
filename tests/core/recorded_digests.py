"""Digests of event logs, so that no change of behavior goes unnoticed.

`recorded_digests.txt` has a line for each recorded run: its name, the number of its events, and their digest. If behavior changes on
purpose, `ISRLAB_DIGESTS=write make test` writes the new lines. Then the difference of the file shows which runs have changed.
"""

from __future__ import annotations

import fcntl
import hashlib
import os
from functools import cache
from pathlib import Path
from typing import Any, Final

RECORDED: Final = Path(__file__).with_suffix(".txt")
"""The file of the recorded digests."""


class EventDigest:
    """The number of the events of a run, and their digest. It is a sink of events.

    Attributes:
        events: the number of events so far.
    """

    def __init__(self) -> None:
        self.events = 0
        self._digest = hashlib.blake2b(digest_size=8)

    def __call__(self, event: tuple[Any, ...]) -> None:
        self.events += 1
        self._digest.update(repr(event).encode())

    def __str__(self) -> str:
        return f"{self.events} {self._digest.hexdigest()}"


def digest_of(events: list[tuple[Any, ...]]) -> EventDigest:
    """Return the digest of a list of events."""
    digest = EventDigest()
    for event in events:
        digest(event)
    return digest


def assert_recorded(name: str, digest: EventDigest) -> None:
    """Compare the digest of a run with the recorded one, or record it if ISRLAB_DIGESTS is `write`."""
    if os.environ.get("ISRLAB_DIGESTS") == "write":
        _record(name, str(digest))
        return
    assert name in _recorded(), f"{name} is not recorded; see {Path(__file__).name}"
    assert str(digest) == _recorded()[name], f"the event log of {name} has changed; see {Path(__file__).name}"


@cache
def _recorded() -> dict[str, str]:
    return _parse(RECORDED.read_text())


def _parse(text: str) -> dict[str, str]:
    return dict(line.split(": ") for line in text.splitlines())


def _record(name: str, digest: str) -> None:
    """Replace the line of a run. Several processes can write at the same time."""
    with RECORDED.open("a+") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        file.seek(0)
        lines = _parse(file.read()) | {name: digest}
        file.truncate(0)
        file.write("".join(f"{name}: {lines[name]}\n" for name in sorted(lines)))

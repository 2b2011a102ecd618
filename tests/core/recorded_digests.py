"""Digests of event logs and of final states, so that no change of behavior goes unnoticed.

`recorded_digests.txt` has a line for each recorded run: its name, the number of its events, their digest, and the digest of the state at
the end of the run. If behavior changes on purpose, `ISRLAB_DIGESTS=write make test` writes the new lines. Then the difference of the file
shows which runs have changed. If only the states have changed, either the fields of the state have, or the future of the runs.
"""

from __future__ import annotations

import fcntl
import hashlib
import os
from functools import cache
from pathlib import Path
from typing import Any, Final

from core.lab.cluster import Cluster
from core.lab.fingerprint_fields import LAB_FIELDS
from core.sim.state.fingerprint import Fingerprints

RECORDED: Final = Path(__file__).with_suffix(".txt")
"""The file of the recorded digests."""


class RunDigest:
    """The number of the events of a run, their digest, and the digest of the state at the end of the run. It is a sink of events.

    Attributes:
        events: the number of events so far.
        state: the digest of the state; empty until the run ends.
    """

    def __init__(self) -> None:
        self.events = 0
        self.state = ""
        self._digest = hashlib.blake2b(digest_size=8)

    def __call__(self, event: tuple[Any, ...]) -> None:
        self.events += 1
        self._digest.update(repr(event).encode())

    def end(self, cluster: Cluster) -> None:
        """Take the digest of the state at the end of the run."""
        self.state = Fingerprints(cluster, table=LAB_FIELDS).take()[:8].hex()

    def __str__(self) -> str:
        return f"{self.events} {self._digest.hexdigest()} {self.state}"


def digest_of(events: list[tuple[Any, ...]], cluster: Cluster) -> RunDigest:
    """Return the digest of a run that has ended."""
    digest = RunDigest()
    for event in events:
        digest(event)
    digest.end(cluster)
    return digest


def assert_recorded(name: str, digest: RunDigest) -> None:
    """Compare the digest of a run with the recorded one, or record it if ISRLAB_DIGESTS is `write`."""
    if os.environ.get("ISRLAB_DIGESTS") == "write":
        _record(name, str(digest))
        return
    assert name in _recorded(), f"{name} is not recorded; see {Path(__file__).name}"
    events, state = _recorded()[name].rsplit(" ", 1)
    assert str(digest).startswith(f"{events} "), f"the event log of {name} has changed; see {Path(__file__).name}"
    assert digest.state == state, f"{name} has the recorded events, but ends in another state; see {Path(__file__).name}"


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

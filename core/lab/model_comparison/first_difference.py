"""The search for the first request to which two systems give different answers."""

from __future__ import annotations

from collections.abc import Sequence

import attrs

from core.lab.model_comparison.comparison import Run
from core.models.account import OK, ReadRecord, WriteRecord
from core.sim.units import US_PER_MS, format_duration

SLOW: int = 100 * US_PER_MS
"""The smallest difference in latency that counts as a difference for a client, in µs."""


@attrs.frozen
class Difference:
    """The first request to which the systems give different answers.

    Attributes:
        at: the time at which the request was sent, in µs since the start.
        client: the name of the client that sent the request.
        request: a one-line description of the request.
        answers: the answer of each system, in the order of the systems.
    """

    at: int
    client: str
    request: str
    answers: tuple[str, ...]


def first_difference(runs: Sequence[Run]) -> Difference | None:
    """Return the first request after the first fault to which the systems give different answers; None if there is no such request.

    Two answers differ if their outcomes differ, if one answer violates a guarantee for the reader that the other answer keeps, or if one
    answer takes at least `SLOW` longer.
    """
    tables = [_answers(run) for run in runs]
    since = min((time for run in runs for time, _ in run.fault.steps), default=0)
    common = sorted(key for key in set(tables[0]).intersection(*tables[1:]) if key[0] >= since)
    for key in common:
        answers = [table[key] for table in tables]
        outcomes = {kind for kind, _, _ in answers}
        times = [took for _, took, _ in answers]
        if len(outcomes) > 1 or max(times) - min(times) >= SLOW:
            at, client, request = key
            return Difference(at, client, request, tuple(text for _, _, text in answers))
    return None


def _answers(run: Run) -> dict[tuple[int, str, str], tuple[str, int, str]]:
    account = run.system.account
    found = {}
    for write in account.writes:
        if not write.probe:
            key = (write.invoked - run.start, write.client, f"write {write.row.key}")
            found[key] = (write.outcome, write.ended - write.invoked, _text_of_write(write))
    for read in account.reads:
        if not read.probe:
            key = (read.invoked - run.start, read.client, f"read {read.key}")
            kind = read.outcome if read.outcome != OK else _harm(read)
            found[key] = (kind, read.ended - read.invoked, _text_of_read(read))
    return found


def _harm(read: ReadRecord) -> str:
    return f"stale {read.stale > 0} own {read.own_missing > 0} backward {read.backward > 0}"


def _text_of_write(write: WriteRecord) -> str:
    return f"{write.outcome} after {format_duration(write.ended - write.invoked)}"


def _text_of_read(read: ReadRecord) -> str:
    if read.outcome != OK:
        return f"{read.outcome} after {format_duration(read.ended - read.invoked)}"
    harms = [text for text, count in (("behind the acknowledged writes", read.stale), ("behind an earlier read", read.backward)) if count]
    return f"version {read.row.version}" + (f", {' and '.join(harms)}" if harms else "")

"""Plays runs again without the act at the end of a chain of causes. If the chain tells the truth, the harm does not happen."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

import attrs

from core.kafka.events import Acted
from core.sim.errors import ActRefused
from core.sim.events import EventTuple
from core.sim.units import US_PER_MS
from tests.core.properties.causes.chains import Log, subject
from tests.core.properties.causes.runs import Played

NEAR: Final = 100 * US_PER_MS
"""How far apart two events can be that report the same harm in two runs, in µs. After an act was left out, a run no longer does the same
things at exactly the same times."""

MOST: Final = 6
"""The maximum number of acts to leave out until a harm does not happen."""

PREVENTED: Final = "prevented"
NAMED: Final = "each of several named causes is enough"
OTHERWISE: Final = "another cause took its place"
WRONG: Final = "another act was the cause"
STAYS: Final = "happens without it"
UNPLAYABLE: Final = "cannot be played without it"

OUTCOMES: Final = (PREVENTED, NAMED, OTHERWISE, WRONG, STAYS, UNPLAYABLE)
"""What can happen to a harm after the act at the end of its chain was left out.

PREVENTED: it does not happen. NAMED and OTHERWISE: it happens until other acts are left out, too, and leaving out only the others does not
prevent it, so each of them was enough. With NAMED, the chains of the harm lead to all of them. WRONG: leaving out only the others prevents
it. STAYS: leaving out acts does not help.
"""


@attrs.frozen
class Verdict:
    """What happened to a harm after the act at the end of its chain was left out.

    Attributes:
        run: the run.
        harm: the event that reports the harm.
        act: the act at the end of its chain.
        outcome: one of `OUTCOMES`.
        others: the acts at the ends of the chains of the same harm in the runs that were played afterward.
    """

    run: Played
    harm: EventTuple
    act: EventTuple
    outcome: str
    others: tuple[EventTuple, ...] = ()


def number_of(log: Log, act: EventTuple) -> int:
    """Return the number of an act among the acts of a run."""
    return sum(event[3] == Acted.kind for event in log.events[: act[0]])


def sample(log: Log, most: int) -> list[EventTuple]:
    """Return the first harms of each kind and each act at the ends of their chains, at most `most` of each kind."""
    found: dict[tuple[str, int], EventTuple] = {}
    count: dict[str, int] = {}
    for harm in log.harms():
        end = log.chain(harm)[-1]
        if end[3] == Acted.kind and (harm[3], end[0]) not in found and count.get(harm[3], 0) < most:
            found[harm[3], end[0]] = harm
            count[harm[3]] = count.get(harm[3], 0) + 1
    return list(found.values())


def verdicts(run: Played, log: Log, harms: Iterable[EventTuple]) -> list[Verdict]:
    """Leave out the act at the end of each harm's chain, and return what happened to the harm."""
    played: dict[tuple[int, ...], Log | None] = {}

    def without(acts: tuple[int, ...]) -> Log | None:
        if acts not in played:
            try:
                played[acts] = run.play(acts, log.refused)
            except (ActRefused, ValueError, LookupError, AttributeError, AssertionError):  # the script needs the act
                played[acts] = None
        return played[acts]

    return [_verdict(run, log, harm, without) for harm in harms]


def _verdict(run: Played, log: Log, harm: EventTuple, without) -> Verdict:  # type: ignore[no-untyped-def]
    act = log.chain(harm)[-1]
    left_out: list[int] = [number_of(log, act)]
    others: list[EventTuple] = []
    while True:
        again = without(tuple(sorted(left_out)))
        if again is None:
            return Verdict(run, harm, act, UNPLAYABLE)
        same = _same(again, harm)
        if same is None:
            if others and _same(without(tuple(sorted(left_out[1:]))), harm) is None:
                return Verdict(run, harm, act, WRONG, tuple(others))
            named = {(end[1], *end[4:]) for end in log.ends(harm)}
            known = all((other[1], *other[4:]) in named for other in others)
            return Verdict(run, harm, act, (NAMED if known else OTHERWISE) if others else PREVENTED, tuple(others))
        end = again.chain(same)[-1]
        if end[3] != Acted.kind or len(left_out) >= MOST:
            return Verdict(run, harm, act, STAYS, tuple(others))
        others.append(end)
        number = number_of(again, end)
        for gone in sorted(left_out):
            number += gone <= number
        left_out.append(number)


def _same(log: Log | None, harm: EventTuple) -> EventTuple | None:
    """Return the event of a run that reports the same harm; None if there is none."""
    if log is None:
        return harm
    return next((each for each in log.harms() if subject(each) == subject(harm) and abs(each[1] - harm[1]) <= NEAR), None)

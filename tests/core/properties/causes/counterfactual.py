"""Plays runs again without the act at the end of a chain of causes. If the chain tells the truth, the harm does not happen."""

from __future__ import annotations

import random
from collections.abc import Iterator
from typing import Final

import attrs

from core.kafka.events import Acted
from core.sim.events import EventTuple
from core.sim.units import US_PER_MS
from tests.core.properties.causes.chains import Log, subject
from tests.core.properties.causes.runs import Played, Recording, Rerun

NEAR: Final = 100 * US_PER_MS
"""How far apart two events can be that report the same harm in two runs, in µs. After an act was left out, a run no longer does the same
things at exactly the same times."""

MOST: Final = 6
"""The maximum number of acts to leave out until a harm does not happen."""

PREVENTED: Final = "prevented"
NAMED: Final = "each of several named causes is enough"
SECOND: Final = "another of its named causes was needed"
OTHERWISE: Final = "another cause took its place"
WRONG: Final = "another act was the cause"
STAYS: Final = "happens without it"

OUTCOMES: Final = (PREVENTED, NAMED, SECOND, OTHERWISE, WRONG, STAYS)
"""What can happen to a harm after the act at the end of its chain was left out.

PREVENTED: it does not happen. NAMED and OTHERWISE: it happens until other acts are left out, too, and leaving out only the others does not
prevent it, so each of them was enough. With NAMED, the chains of the harm lead to all of them. SECOND and WRONG: leaving out only the others
prevents it. With SECOND, the chains of the harm lead to them, but not first. STAYS: leaving out acts does not help.
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


def sample(log: Log, most: int) -> list[EventTuple]:
    """Return the first harms of each kind and each act at the ends of their chains, at most `most` of each kind."""
    found: dict[tuple[str, int], EventTuple] = {}
    count: dict[str, int] = {}
    for harm in log.harms:
        if count.get(harm[3], 0) == most:
            continue
        end = log.chain(harm)[-1]
        if end[3] == Acted.kind and (harm[3], end[0]) not in found:
            found[harm[3], end[0]] = harm
            count[harm[3]] = count.get(harm[3], 0) + 1
    return list(found.values())


def some(run: Played, harms: list[EventTuple], most: int) -> list[EventTuple]:
    """Return at most `most` of the harms of a run. Each run has its own random stream, which chooses them."""
    return harms if len(harms) <= most else sorted(random.Random(f"{run}:harms").sample(harms, most))


class Counterfactuals:
    """A recorded run, and what happens in it without some of its acts. Each run without acts goes only as far as a question needs."""

    def __init__(self, recording: Recording) -> None:
        self._recording = recording
        self._reruns: dict[tuple[int, ...], Rerun] = {}

    def without(self, acts: list[int], harm: EventTuple) -> Log:
        """Return the events of the run without some acts, at least to the time at which a harm would happen."""
        key = tuple(sorted(acts))
        if key not in self._reruns:
            self._reruns[key] = self._recording.again(key)
        self._reruns[key].run_until(harm[1] + NEAR)
        return self._reruns[key].log

    def same(self, log: Log, harm: EventTuple) -> EventTuple | None:
        """Return the event that reports the same harm in the run without some acts; None if there is none. An event that happens in
        both runs at the same time is not another one that happens only in the original run. In by-hand mode, time stands still, so only
        what follows the same act can be the same harm.
        """
        original = self._recording.log
        others = {each[1:2] + each[3:] for each in _like(original, harm) if each is not harm}
        found = (each for each in _like(log, harm) if each[1] == harm[1] or each[1:2] + each[3:] not in others)
        if self._recording.by_hand:
            place = original.place(harm)
            found = (each for each in found if log.place(each) == place)
        return next(found, None)

    def verdict(self, run: Played, harm: EventTuple) -> Verdict:
        """Leave out the act at the end of a harm's chain, and return what happened to the harm."""
        log = self._recording.log
        act = log.chain(harm)[-1]
        left_out = [log.place(act)]
        others: list[EventTuple] = []
        while True:
            again = self.without(left_out, harm)
            same = self.same(again, harm)
            if same is None:
                named = {log.place(end) for end in log.ends(harm)}
                known = all(number in named for number in left_out[1:])
                if others and self.same(self.without(left_out[1:], harm), harm) is None:
                    return Verdict(run, harm, act, SECOND if known else WRONG, tuple(others))
                return Verdict(run, harm, act, (NAMED if known else OTHERWISE) if others else PREVENTED, tuple(others))
            end = again.chain(same)[-1]
            if end[3] != Acted.kind or len(left_out) >= MOST:
                return Verdict(run, harm, act, STAYS, tuple(others))
            others.append(end)
            left_out.append(again.place(end))


def _like(log: Log, harm: EventTuple) -> Iterator[EventTuple]:
    """Yield the events of a run that report harm like another event, and happen at about the same time."""
    wanted = subject(harm)
    return (each for each in log.harms if abs(each[1] - harm[1]) <= NEAR and subject(each) == wanted)


def verdicts(run: Played, recording: Recording, harms: list[EventTuple]) -> list[Verdict]:
    """Leave out the act at the end of each harm's chain, and return what happened to the harm."""
    played = Counterfactuals(recording)
    return [played.verdict(run, harm) for harm in harms]

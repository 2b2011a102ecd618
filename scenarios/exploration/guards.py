"""Searches without single guards of the protocol, which show what each guard is for."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import attrs

from core.kafka.errors import KafkaError
from core.kafka.release import GUARDS, Release
from core.sim.errors import ActRefused
from scenarios.errors import InputError, did_you_mean
from scenarios.exploration.exploration import Counterexample, value_of
from scenarios.exploration.goal import Goal, mend
from scenarios.exploration.start import Start, do


def guards_named(text: str) -> tuple[str, ...]:
    """Return the guards that a text names, with commas between them.

    Raises:
        InputError: there is no such guard.
    """
    guards = tuple(dict.fromkeys(word.strip() for word in text.split(",")))
    for guard in guards:
        if guard not in GUARDS:
            raise InputError(
                f"--without: '{guard[:40]}' is not a guard; {did_you_mean(guard, list(GUARDS), 'use one of those that --without help lists')}"
            )
    return guards


def without(release: Release, guards: Sequence[str]) -> Release:
    """Return a release without some guards.

    Raises:
        InputError: the release does not have one of the guards.
    """
    for guard in guards:
        if not release.has(guard):
            raise InputError(f"--without: {release.name} does not have {guard}; choose a release that has it, with --release")
    return release.without(guards)


def guard_lines() -> Iterator[str]:
    """Yield a list of all guards, with what each does."""
    width = max(map(len, GUARDS))
    return (f"  {guard:<{width}}  {does}" for guard, does in GUARDS.items())


def with_guards(start: Start, release: Release, goal: Goal, found: Counterexample) -> str:
    """Return what the goal reads, in words, after the acts of a counterexample under a release that has all guards."""
    cluster = attrs.evolve(start, release=release).cluster()
    try:
        do(cluster, found.finding.acts)
    except (ActRefused, KafkaError, ValueError):
        return "the same acts are not possible"
    cluster.run_until(max(cluster.now, found.finding.time))
    if goal.is_lasting:
        mend(cluster)
    return value_of(goal, cluster)

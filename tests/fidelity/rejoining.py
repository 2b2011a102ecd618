"""Races of followers. Which of two followers rejoins an ISR first depends on chance, so orders that differ only in this way count as equal.

Two replicas are interchangeable if they entered the ISR within `RACE` of each other. All other orders count.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Final

from core.sim.units import SECOND
from tests.fidelity.recording import State

RACE: Final = 5 * SECOND
"""The maximum time in µs between replicas that are interchangeable. On a busy machine, followers that wait for the same leader rejoin in
any order within about this time.
"""

Timed = tuple[int, State]
"""A committed state with its time, in µs."""


def entered(states: Iterable[Timed]) -> dict[int, int]:
    """Return the time at which each member of the last ISR entered, in µs. Members that were in the ISR from the beginning get distinct
    negative times, in ISR order.
    """
    since: dict[int, int] = {}
    for number, (time, state) in enumerate(states):
        if number == 0:
            since = {member: -RACE * 2 * (len(state.isr) - place) - RACE for place, member in enumerate(state.isr)}
        else:
            since = {member: since.get(member, time) for member in state.isr}
    return since


def groups(isr: Sequence[int], since: dict[int, int]) -> Iterator[frozenset[int]]:
    """Return an ISR in order, with neighbors that are interchangeable grouped together."""
    group: list[int] = []
    for member in isr:
        if group and abs(since[member] - since[group[-1]]) > RACE:
            yield frozenset(group)
            group = []
        group.append(member)
    if group:
        yield frozenset(group)


def same_order(recorded: Sequence[int], model: Sequence[int], since: dict[int, int]) -> bool:
    """Return whether a recorded order of the ISR differs from the model's order only in interchangeable members."""
    rest = list(recorded)
    if len(rest) != len(model):
        return False
    for group in groups(model, since):
        if frozenset(rest[: len(group)]) != group:
            return False
        del rest[: len(group)]
    return True


def without_races(states: Sequence[Timed]) -> list[tuple[int, tuple[frozenset[int], ...], tuple[int, ...], tuple[int, ...]]]:
    """Return committed states in which each race of followers is a single step, with its members grouped together."""
    told: list[tuple[int, tuple[frozenset[int], ...], tuple[int, ...], tuple[int, ...]]] = []
    for number, (time, state) in enumerate(states):
        since = entered(states[: number + 1])
        following = states[number + 1] if number + 1 < len(states) else None
        if number and following is not None and following[0] - time <= RACE and _grows(states[number - 1][1], state, following[1]):
            continue
        row = (state.leader, tuple(groups(state.isr, since)), state.elr, state.last_known_elr)
        if not told or told[-1] != row:
            told.append(row)
    return told


def _grows(before: State, state: State, after: State) -> bool:
    """Return whether an ISR grows twice under one leader."""
    return before.leader == state.leader == after.leader and set(before.isr) < set(state.isr) < set(after.isr)


def forget_times(states: Sequence[Timed]) -> tuple[State, ...]:
    """Return the states without their times and without repetitions."""
    told: list[State] = []
    for _, state in states:
        if not told or told[-1] != state:
            told.append(state)
    return tuple(told)

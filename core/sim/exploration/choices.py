"""The choices in a simulation, which are the steps that can happen next, and a function that takes one of them. Searches use choices to try
event orders that differ from the agenda's.

A message can arrive as soon as it is the oldest one on its connection, regardless of the network's delay. The notice that a node's
connections ended arrives after all messages that the node had sent before, and before those of its next process. A node's timers fire one at a
time, in order, each when it is due. Time advances only as far as the caller allows. Faults and other acts can happen whenever the caller
offers them. Taking a choice does only what the choice describes, but afterwards more choices can be possible.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import NamedTuple

from core.sim.agenda import Entry
from core.sim.kernel_messages import Disconnected, Timer
from core.sim.simulation import Simulation


class Choice(NamedTuple):
    """An event or act that can happen next.

    Attributes:
        name: the name of the choice. The name is the same in every run, and unique among the choices of one moment.
        entry: the agenda entry that is handed to a node; None for an act.
        act: the act that the caller offered; None for an agenda entry.
    """

    name: str
    entry: Entry | None
    act: Callable[[], object] | None = None


def act(name: str, does: Callable[[], object]) -> Choice:
    """Return a choice for a fault or another act from outside the simulation."""
    return Choice(name, None, does)


def enabled(simulation: Simulation, acts: Iterable[Choice] = (), until: int | None = None) -> list[Choice]:
    """Return all choices, sorted by name. Acts come after all other choices.

    Args:
        simulation: the simulation, which must be between two steps.
        acts: the acts that the caller offers as additional choices.
        until: the time up to which virtual time can advance to make the earliest timer due, in µs. By default, virtual time does not
            advance.
    """
    heads: dict[tuple[str, str, int], Entry] = {}
    oldest: dict[tuple[str, str], Entry] = {}
    ends: dict[tuple[str, str], Entry] = {}
    for entry in sorted(simulation.agenda.entries, key=_when):
        if simulation.is_live(entry):
            heads.setdefault((entry.node, entry.sender, entry.connection), entry)
            oldest.setdefault((entry.node, entry.sender), entry)
            if type(entry.message) is Disconnected:
                ends.setdefault((entry.node, entry.sender), entry)

    def is_next(entry: Entry) -> bool:
        pair = entry.node, entry.sender
        if type(entry.message) is Disconnected:
            return entry is oldest[pair]
        return pair not in ends or _when(entry) < _when(ends[pair])

    going = [entry for entry in heads.values() if entry.node not in simulation.paused and is_next(entry)]
    timers = [entry.time for entry in going if entry.sender == entry.node]
    due = simulation.now
    if until is not None and timers:
        due = max(due, min(until, min(timers)))
    found = [Choice(_full_name(simulation, entry), entry) for entry in going if entry.sender != entry.node or entry.time <= due]
    return sorted(found, key=_name) + list(acts)


def take(simulation: Simulation, choice: Choice) -> None:
    """Take one choice, which must be enabled, and do nothing else."""
    journal = simulation.journal
    if choice.entry is None:
        assert choice.act is not None
        journal.cause = 0
        choice.act()
        return
    simulation.agenda.take(choice.entry)
    simulation.handle(choice.entry._replace(time=max(journal.now, choice.entry.time)))
    journal.cause = 0


def name_of(entry: Entry) -> str:
    """Return the name of the choice for an agenda entry."""
    message = entry.message
    if entry.sender != entry.node:
        return f"{entry.sender} → {entry.node}: {'reply ' if entry.connection & 1 else ''}{type(message).__name__}"
    what = f"timer {message.name}" if type(message) is Timer else type(message).__name__
    return f"{entry.node}: {what}"


def _full_name(simulation: Simulation, entry: Entry) -> str:
    """Return the name of an entry's choice, with the number of its connection if its sender or receiver has opened a newer one."""
    latest = entry.sender == entry.node or simulation.network.is_latest(entry.sender, entry.node, entry.connection)
    return name_of(entry) if latest else f"{name_of(entry)} on connection {entry.connection >> 1}"


def _when(entry: Entry) -> tuple[int, int]:
    return entry.time, entry.order


def _name(choice: Choice) -> str:
    return choice.name

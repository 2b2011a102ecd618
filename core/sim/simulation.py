"""A simulation: nodes, the network between them, and the loop that hands each node what is due.

Everything that happens is an entry of the agenda handled by one node, so the same start and the same acts give the same events.
"""

from __future__ import annotations

from typing import Final

from core.sim.agenda import END, Agenda, Entry
from core.sim.journal import Journal
from core.sim.network import Network
from core.sim.node import Node

MAX_TIME: Final = 10**15
"""The end of virtual time, µs (some 31 years): whoever runs further has made a mistake."""


class Simulation:
    """Nodes that run.

    Attributes:
        journal: records what happens; holds virtual time.
        agenda: what is due when.
        network: the links between the nodes.
        nodes: by address.
        paused: nodes that stand still: since when, and what waits for them.
    """

    __slots__ = ("agenda", "journal", "network", "nodes", "paused")

    journal: Final[Journal]
    agenda: Final[Agenda]
    network: Final[Network]
    nodes: Final[dict[str, Node]]
    paused: Final[dict[str, tuple[int, list[Entry]]]]

    def __init__(self, journal: Journal, agenda: Agenda, network: Network) -> None:
        self.journal = journal
        self.agenda = agenda
        self.network = network
        self.nodes = {}
        self.paused = {}
        network.polls.paused = self.paused

    @property
    def now(self) -> int:
        """Virtual time in µs."""
        return self.journal.now

    def next_time(self) -> int | None:
        """When the next scheduled thing is due, µs; None if nothing is."""
        return self.agenda.next_time()

    def step(self) -> bool:
        """Handle the next scheduled thing; False if nothing is scheduled."""
        if not self.agenda.entries:
            return False
        self.handle(self.agenda.pop())
        return True

    def run_steps(self, steps: int, seq: int, time: int) -> int:
        """Handle so many of the next scheduled things; fewer if the event `seq` is recorded before, or none more is due up to `time`.

        Returns how many.
        """
        journal, agenda = self.journal, self.agenda
        entries = agenda.entries
        done = 0
        while done < steps and journal.seq < seq and entries and entries[0][0] <= time:
            self.handle(agenda.pop())
            done += 1
        return done

    def run_until(self, time: int) -> None:
        """Handle everything due up to and including a time; `now` is that time afterwards.

        Raises:
            ValueError: the time is past the end of virtual time.
        """
        if time > MAX_TIME:
            raise ValueError(f"virtual time ends at {MAX_TIME} µs; {time} is past it")
        agenda = self.agenda
        entries = agenda.entries
        while entries and entries[0][0] <= time:
            self.handle(agenda.pop())
        self.journal.now = max(self.journal.now, time)
        self.journal.cause = 0
        self.agenda.at = END

    def handle(self, entry: Entry) -> None:
        """Hand a node what is due: unless it is paused, the timer is a former process's, or the connection is gone."""
        journal = self.journal
        journal.now, _, name, sender, connection, message, cause = entry
        if self.paused and name in self.paused:
            self.paused[name][1].append(entry)
            return
        node = self.nodes[name]
        if sender == name:
            if connection != node.incarnation:
                return
        elif not self.network.is_open(sender, name, connection):
            return
        journal.cause = cause
        node.handle(message, sender)

    def pause(self, address: str) -> None:
        """A node stands still: what reaches it waits."""
        self.network.polls.interrupt(address)
        self.paused[address] = (self.now, [])

    def resume(self, address: str) -> int:
        """A node goes on, with what has waited for it; returns since when it stood still."""
        since, waiting = self.paused.pop(address)
        for entry in waiting:
            self.agenda.add(self.now, entry.node, entry.sender, entry.connection, entry.message, entry.cause)
        return since

    def is_live(self, entry: Entry) -> bool:
        """Whether what is due will reach its node: the timer is that of a present process, or the connection stands."""
        if entry.sender == entry.node:
            return entry.connection == self.nodes[entry.node].incarnation
        return self.network.is_open(entry.sender, entry.node, entry.connection)

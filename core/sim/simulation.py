"""A simulation: nodes, the network between them, and the loop that hands due entries to the nodes.

Everything that happens is an entry in the agenda, and one node handles each entry. Therefore, the same start and the same acts result in
the same events.
"""

from __future__ import annotations

from typing import Final

from core.sim.agenda import END, Agenda, Entry
from core.sim.disturbances import PAUSED
from core.sim.journal import Journal
from core.sim.kernel_messages import Opening
from core.sim.network import Network
from core.sim.node import Node

MAX_TIME: Final = 10**15
"""The end of virtual time, in µs (about 31 years). No run can go beyond the end of virtual time; an attempt to do so raises ValueError."""


class Simulation:
    """A running simulation of nodes and a network.

    Attributes:
        journal: the journal, which records events and holds virtual time.
        agenda: the scheduled entries.
        network: the links between the nodes.
        nodes: the nodes, by address.
        paused: the paused nodes, by address, each with the time at which it was paused and the entries that are waiting for it.
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
        """Return the time at which the next entry is due, in µs; None if there is none."""
        return self.agenda.next_time()

    def step(self) -> bool:
        """Handle the next entry. Return False if the agenda is empty."""
        if not self.agenda.entries:
            return False
        self.handle(self.agenda.pop())
        return True

    def run_steps(self, steps: int, seq: int, time: int) -> int:
        """Handle up to `steps` entries. Stop earlier if the event `seq` is recorded or if no more entries are due up to `time`.

        Returns:
            The number of entries that were handled.
        """
        journal, agenda = self.journal, self.agenda
        entries = agenda.entries
        done = 0
        while done < steps and journal.seq < seq and entries and entries[0][0] <= time:
            self.handle(agenda.pop())
            done += 1
        return done

    def run_until(self, time: int) -> None:
        """Handle all entries that are due up to and including a time, and set `now` to that time.

        Raises:
            ValueError: the time is after the end of virtual time.
        """
        if time > MAX_TIME:
            raise ValueError(f"virtual time ends at {MAX_TIME} µs, and {time} µs is later")
        agenda = self.agenda
        entries = agenda.entries
        while entries and entries[0][0] <= time:
            self.handle(agenda.pop())
        self.journal.now = max(self.journal.now, time)
        self.journal.cause = 0
        self.agenda.at = END

    def handle(self, entry: Entry) -> None:
        """Pass an entry of the agenda to its node.

        An entry for a paused node waits until the node resumes; only TCP's handshake does not need the process. An entry is dropped if the
        receiver's end of its connection is gone, or if it is a timer of a former process.
        """
        journal = self.journal
        journal.now, _, name, sender, connection, message, cause = entry
        if self.paused and name in self.paused and not (type(message) is Opening and not message.greets):
            self.paused[name][1].append(entry)
            return
        node, network = self.nodes[name], self.network
        if sender == name:
            if connection != node.incarnation:
                return
        elif network.connections:
            if not network.receive(sender, name, connection, message, journal.now, cause):
                return
        elif not network.alive.get(name, False):
            return
        journal.cause = cause
        node.handle(message, sender)

    def pause(self, address: str) -> None:
        """Pause a node. While the node is paused, the messages and timers that reach it wait."""
        self.network.polls.interrupt(address)
        self.network.disturbances.begin(address, PAUSED, self.journal.cause, self.now)
        self.paused[address] = (self.now, [])

    def resume(self, address: str) -> int:
        """Resume a node, and schedule the entries that were waiting for it. Return the time at which the node was paused."""
        since, waiting = self.paused.pop(address)
        self.network.disturbances.end(address, PAUSED, self.now)
        for entry in waiting:
            self.agenda.add(self.now, entry.node, entry.sender, entry.connection, entry.message, entry.cause)
        return since

    def is_live(self, entry: Entry) -> bool:
        """Return whether an entry would have an effect: the timer belongs to the current process, or the connection is open or is reset."""
        if entry.sender == entry.node:
            return entry.connection == self.nodes[entry.node].incarnation
        network, (_, _, node, sender, connection, _, _) = self.network, entry
        return network.is_open(sender, node, connection) or network.is_reset(sender, node, connection)

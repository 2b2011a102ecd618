"""A breadth-first search through everything that can happen to a majority log of three nodes within small bounds.

    python -m tests.core.models.quorum_search                       the bounds of the test
    python -m tests.core.models.quorum_search --terms 3 --writes 2 --kills 1 --limit 300000

The candidates start elections whenever the search chooses; messages arrive in every order that connections allow. The search checks the
safety properties of the Raft paper (figure 3) after each step, and prints how many states it has seen.
"""

from __future__ import annotations

import argparse
import time
from typing import Any

from core.models import acts
from core.models.client_messages import Row
from core.models.quorum.node import CANDIDATE, LEADER
from core.models.quorum.quorum_messages import Appended, Entry, Vote
from core.models.quorum.settings import QuorumSettings
from core.models.quorum.system import Quorum
from core.models.server import Server
from core.sim.exploration.choices import Choice, act
from core.sim.exploration.search import Outcome, search
from core.sim.state.fields import Declared, Table

FIELDS: Table = {
    Quorum: Declared(history=("account", "clients", "servers", "seed", "dead_for_good", "traffic")),
    Server: Declared(wiring=("settings",), history=("_random", "heard", "heard_from", "election_due", "engine", "incarnation")),
}


class Checked:
    """A majority log, the acts that the search can choose, and the properties that must never be broken.

    Attributes:
        leaders: the leader of each term.
        committed: the entries that at least one node has considered committed.
        begun: the number of elections, writes, and kills so far.
    """

    def __init__(self, terms: int, writes: int, kills: int, candidates: int = 2, **settings: Any) -> None:
        self.system = Quorum(QuorumSettings(automatic=False, **settings))
        for name in self.system.servers:
            self.system.node(name).write_time = 0
        self.bounds = (terms, writes, kills)
        self.candidates = list(self.system.servers)[:candidates]
        self.ghost = Ghost()

    def acts(self) -> list[Choice]:
        """The acts that the search can choose from."""
        system, ghost = self.system, self.ghost
        terms, writes, kills = self.bounds
        found = []
        for name in system.running():
            node = system.node(name)
            if name in self.candidates and node.role != LEADER and node.term < terms:
                found.append(act(f"{name} stands for election", node.start_election))
            if node.role == LEADER and ghost.writes < writes:
                found.append(act(f"write at {name}", lambda name=name: self.write(name)))
            if ghost.kills < kills:
                found.append(act(f"kill and restart {name}", lambda name=name: self.kill(name)))
        return found

    def write(self, name: str) -> None:
        """Let a client write the next row at a leading node."""
        self.ghost.writes += 1
        self.system.node(name).append(Row("k", self.ghost.writes, self.ghost.writes))

    def kill(self, name: str) -> None:
        """Kill a node's process and start it again."""
        self.ghost.kills += 1
        self.system.execute(acts.Kill(name))
        self.system.execute(acts.Restart(name))

    def bad(self) -> str:
        """Return the broken property (figure 3 of the Raft paper), if any."""
        nodes = [self.system.node(name) for name in self.system.servers]
        ghost = self.ghost
        for node in nodes:
            if node.role == LEADER and ghost.leaders.setdefault(node.term, node.address) != node.address:
                return f"election safety: {node.address} and {ghost.leaders[node.term]} lead term {node.term}"
            for index in range(len(ghost.committed), node.commit):
                ghost.committed.append(node.log.entries[index])
                ghost.terms.append(node.term)
            if node.log.entries[: node.commit] != ghost.committed[: node.commit]:
                return f"state machine safety: {node.address} has taken other entries for committed"
            if node.role == LEADER:
                for index, entry in enumerate(ghost.committed):
                    if ghost.terms[index] < node.term and node.log.entries[index : index + 1] != [entry]:
                        return f"leader completeness: {node.address} leads term {node.term} without entry {index + 1}"
        for one in nodes:
            for other in nodes:
                both = min(len(one.log), len(other.log))
                same = [index for index in range(both) if one.log.entries[index].term == other.log.entries[index].term]
                if same and one.log.entries[: same[-1] + 1] != other.log.entries[: same[-1] + 1]:
                    return f"log matching: {one.address} and {other.address} differ before index {same[-1] + 1}"
        return ""

    def changes_nothing(self, choice: Choice) -> bool:
        """Return whether a choice is a response that comes too late to change anything, now or later. Such a response can arrive
        immediately.
        """
        if choice.entry is None:
            return False
        node, message = self.system.node(choice.entry.node), choice.entry.message
        if isinstance(message, Vote):
            return message.term < node.term or (message.term == node.term and node.role != CANDIDATE)
        return isinstance(message, Appended) and message.term < node.term

    def search(self, limit: int) -> Outcome:
        """Search for the closest state that breaks a property."""
        return search(self.system, self.bad, self.acts, also=(self.ghost,), first=self.changes_nothing, until=0, limit=limit, table=FIELDS)


class Ghost:
    """The data that no node knows, but that the properties refer to.

    Attributes:
        leaders: the leader of each term.
        committed, terms: the entries that at least one node has considered committed, and the term in which it did so.
        writes, kills: the numbers of writes and kills so far.
    """

    def __init__(self) -> None:
        self.leaders: dict[int, str] = {}
        self.committed: list[Entry] = []
        self.terms: list[int] = []
        self.writes = 0
        self.kills = 0


def main() -> None:
    """Run the command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--terms", type=int, default=2)
    parser.add_argument("--writes", type=int, default=1)
    parser.add_argument("--kills", type=int, default=0)
    parser.add_argument("--candidates", type=int, default=2)
    parser.add_argument("--limit", type=int, default=100_000)
    arguments = parser.parse_args()
    begun = time.perf_counter()
    outcome = Checked(arguments.terms, arguments.writes, arguments.kills, arguments.candidates).search(arguments.limit)
    print(f"{outcome.states:,} states, {outcome.taken:,} choices, complete: {outcome.complete}, {time.perf_counter() - begun:.0f} s")
    print(f"broken: {outcome.bad}: {' / '.join(outcome.path)}" if outcome.bad else "no property is broken")


if __name__ == "__main__":
    main()

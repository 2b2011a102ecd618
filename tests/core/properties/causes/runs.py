"""The runs whose chains of causes are checked: the whole library, and random timelines of the three swarms under all releases.

Each run can be played again without one of its acts.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator
from contextlib import contextmanager
from typing import Final
from unittest import mock

import attrs

from core.kafka.release import RELEASES
from core.lab.acts import Act
from core.lab.cluster import Cluster
from core.sim.errors import ActRefused
from scenarios import catalogue
from scenarios.language.script import releases_of
from scenarios.releases import release_named
from scenarios.running.runner import run_scenario
from tests.core.properties.causes.chains import Log
from tests.core.properties.groups import play as groups
from tests.core.properties.groups.timeline import group_swarm
from tests.core.properties.swarm import swarm
from tests.core.properties.timelines import play
from tests.core.properties.transactions import play as transactions
from tests.core.properties.transactions.timeline import transactional_swarm

REPLICATION: Final = "replication"
TRANSACTIONS: Final = "transactions"
GROUPS: Final = "groups"
LIBRARY: Final = "library"


@attrs.frozen
class Played:
    """A run that can be played again.

    Attributes:
        source: the swarm, or the library.
        name: the seed, or the name of the scenario.
        release: the release; the timelines of groups have their own.
    """

    source: str
    name: str
    release: str

    def __str__(self) -> str:
        return f"{self.source} {self.name} {self.release}".rstrip()

    def play(self, without: Collection[int] = (), refused: Collection[tuple[int, Act]] = ()) -> Log:
        """Play the run without the acts that have the given numbers, and return its events. The first act of a run has the number 1. Acts
        that were refused when the run was first played are refused again, each given with its time.
        """
        log = Log()
        with _without(log, without, refused):
            if self.source == LIBRARY:
                run_scenario(catalogue.load(self.name), release_named(self.release), sink=log)
            elif self.source == REPLICATION:
                seed = int(self.name)
                play(swarm(seed, harsh=seed % 2 == 1, moves=seed % 3 == 0), release_named(self.release), log, Cluster.run_until)
            elif self.source == TRANSACTIONS:
                transactions.heal(transactions.play(transactional_swarm(int(self.name)), release_named(self.release), log))
            else:
                groups.play(group_swarm(int(self.name)), log)
        return log


@contextmanager
def _without(log: Log, left_out: Collection[int], refused: Collection[tuple[int, Act]]) -> Iterator[None]:
    """Leave out acts by their number, and refuse the acts that were refused before: they did nothing, so they do nothing now."""
    done = 0
    do = Cluster.do

    def some(cluster: Cluster, act: Act) -> int:
        nonlocal done
        if (cluster.now, act) in refused:
            raise ActRefused("refused when the run was first played")
        done += 1
        if done in left_out:
            return cluster.journal.seq
        try:
            return do(cluster, act)
        except ActRefused:
            done -= 1
            log.refused.add((cluster.now, act))
            raise

    with mock.patch.object(Cluster, "do", some):
        yield


def library() -> list[Played]:
    """Return the runs of the library, each under each release that its scenario names."""
    return [Played(LIBRARY, name, release.name) for name in catalogue.names() for release in releases_of(catalogue.load(name), ())]


def random_runs(count: int) -> list[Played]:
    """Return the given number of random timelines: half of them of replication, and a quarter each of transactions and of groups."""
    releases = list(RELEASES)
    transactional = [release.name for release in RELEASES.values() if release.transactions]
    of_replication = [Played(REPLICATION, str(seed), releases[seed % len(releases)]) for seed in range(count - count // 2)]
    others = range(count // 4)
    of_transactions = [Played(TRANSACTIONS, str(seed), transactional[seed % len(transactional)]) for seed in others]
    return [*of_replication, *of_transactions, *(Played(GROUPS, str(seed), "") for seed in range(count // 2 - count // 4))]

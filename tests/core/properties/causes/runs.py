"""The runs whose chains of causes are checked: the whole library, and random timelines of the three swarms under all releases.

Each run can be played again without some of its acts.
"""

from __future__ import annotations

from collections.abc import Collection
from typing import Final
from unittest import mock

import attrs

from core.kafka.release import RELEASES, Release
from core.lab.acts import Act
from core.lab.cluster import Cluster
from core.lab.spec import ClusterSpec, Pace
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
    """A run that can be played.

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

    def play(self) -> Recording:
        """Play the run."""
        log = Log()
        played: list[tuple[int, Act]] = []
        clusters: list[Cluster] = []
        do = Cluster.do

        def recorded(cluster: Cluster, act: Act) -> int:
            event = do(cluster, act)
            played.append((cluster.now, act))
            clusters[:] = [cluster]
            return event

        with mock.patch.object(Cluster, "do", recorded):
            if self.source == LIBRARY:
                run_scenario(catalogue.load(self.name), release_named(self.release), sink=log)
            elif self.source == REPLICATION:
                seed = int(self.name)
                play(swarm(seed, harsh=seed % 2 == 1, moves=seed % 3 == 0), release_named(self.release), log, Cluster.run_until)
            elif self.source == TRANSACTIONS:
                transactions.heal(transactions.play(transactional_swarm(int(self.name)), release_named(self.release), log))
            else:
                groups.play(group_swarm(int(self.name)), log)
        cluster = clusters[0]
        return Recording(log, cluster.spec, cluster.release, cluster.seed, tuple(played))


@attrs.frozen
class Recording:
    """A run that was played, and what is needed to play it again without some of its acts.

    The other acts are executed again at their times. Conditions of a script and reactions of applications are not evaluated again, because
    their acts would then happen at other times, which would be a second difference between the runs.

    Attributes:
        log: the events.
        spec, release, seed: the cluster.
        acts: the acts, each with its time. The first one has the number 1.
    """

    log: Log
    spec: ClusterSpec
    release: Release
    seed: int
    acts: tuple[tuple[int, Act], ...]

    @property
    def by_hand(self) -> bool:
        """Whether time stands still in the run."""
        return self.spec.pace is Pace.BY_HAND

    def again(self, without: Collection[int] = ()) -> Rerun:
        """Return the run without the acts that have the given numbers, before its first act."""
        return Rerun(self, without)


class Rerun:
    """A run that is played again without some acts. Acts that have become impossible are left out, too.

    Attributes:
        log: the events so far.
    """

    def __init__(self, recording: Recording, without: Collection[int] = ()) -> None:
        self.log = Log()
        self._acts = recording.acts
        self._without = without
        self._cluster = Cluster(recording.spec, recording.release, recording.seed, self.log)

    def run_until(self, time: int) -> None:
        """Continue the run up to and including a time."""
        log, cluster = self.log, self._cluster
        while log.acts < len(self._acts) and self._acts[log.acts][0] <= time:
            due, act = self._acts[log.acts]
            cluster.run_until(due)
            if log.acts + 1 in self._without:
                log.leave_out()
                continue
            acts = log.acts
            try:
                cluster.do(act)
            except ActRefused:
                log.leave_out()
            assert log.acts == acts + 1, "each act records one event"
        if cluster.now < time:
            cluster.run_until(time)


def library() -> list[Played]:
    """Return the runs of the library, each under each release that its scenario names."""
    return [Played(LIBRARY, name, release.name) for name in catalogue.names() for release in releases_of(catalogue.load(name), ())]


def random_runs(count: int) -> list[Played]:
    """Return the given number of random timelines: half of them of replication, and a quarter each of transactions and of groups. The
    kinds alternate, so that a part of the list is a fair sample."""
    releases = list(RELEASES)
    transactional = [release.name for release in RELEASES.values() if release.transactions]
    of_replication = [Played(REPLICATION, str(seed), releases[seed % len(releases)]) for seed in range(count - count // 2)]
    others = range(count // 4)
    of_transactions = [Played(TRANSACTIONS, str(seed), transactional[seed % len(transactional)]) for seed in others]
    of_groups = [Played(GROUPS, str(seed), "") for seed in range(count // 2 - count // 4)]
    placed = [(at / len(runs), run) for runs in (of_replication, of_transactions, of_groups) for at, run in enumerate(runs)]
    return [run for _, run in sorted(placed, key=lambda each: each[0])]

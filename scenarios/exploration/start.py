"""Where a search begins: a cluster with everything that was done to it, so that findings can be run again from the start."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Final

import attrs

from core.kafka.errors import KafkaError
from core.kafka.events import Acted
from core.kafka.ids import broker_at
from core.kafka.release import Release
from core.kafka.topic_spec import PartitionSpec, TopicSpec
from core.lab.acts import Load
from core.lab.cluster import Cluster
from core.lab.recorded_acts import act_of
from core.lab.spec import ClusterSpec
from core.lab.views.cluster_view import ClusterView
from core.sim.errors import ActRefused
from core.sim.events import kind_of, time_of
from core.sim.units import US_PER_MS
from scenarios.conditions.conditions import Names
from scenarios.cut_sets.standing import Harm, Moment, Standing
from scenarios.cut_sets.standing import standings as standings_of
from scenarios.errors import InputError
from scenarios.exploration.goal import Timed
from scenarios.language.script import Scenario
from scenarios.logs.recorded_session import RecordedSession
from scenarios.running.runner import Run

RATE: Final = 2
"""The rate of each of the two loads that a cluster without load gets, in records per second and partition. The second producer sends while the
fetches of the followers are on their way, because only then a record can be acknowledged (with acks=1) and not be sent to a follower. What a
cluster does between faults takes seconds, so a higher rate makes runs slower and finds no more."""

EVERY: Final = 500 * US_PER_MS
"""The interval between the batches of such a load, in µs."""

MOST_LOADED: Final = 20
"""The largest number of topics that get such a load."""


@attrs.frozen
class Start:
    """The beginning of a search.

    Attributes:
        spec, release, seed: the cluster, its release, and the seed of its random streams.
        acts: what was done to it, in order.
        time: the virtual time at which the search begins, in µs.
        load: the load during the search, in words.
    """

    spec: ClusterSpec
    release: Release
    seed: int
    acts: tuple[Timed, ...]
    time: int
    load: str = ""

    @classmethod
    def of_scenario(cls, scenario: Scenario, release: Release, seed: int | None, time: int | None) -> Start:
        """Run a script up to a virtual time in µs, or to its end if `time` is None.

        Raises:
            InputError: the cluster of the script cannot be built.
        """
        acts: list[Timed] = []
        run = Run(scenario, release, seed, lambda event: _note(event, acts))
        if time is None:
            run.run()
        else:
            run.advance_to(time)
        return cls(scenario.spec, run.release, run.seed, tuple(acts), run.cluster.now)

    @classmethod
    def of_session(cls, session: RecordedSession, time: int | None) -> Start:
        """Begin at a virtual time in µs of a recorded session, or at its end if `time` is None."""
        end = session.end if time is None else time
        return cls(session.spec, session.release, session.seed, tuple(each for each in session.acts if each[0] <= end), end)

    def cluster(self) -> Cluster:
        """Build the cluster, and do everything that was done to it.

        Raises:
            InputError: the acts cannot be done again, or the cluster is stepped by hand, so that no timeout ends.
        """
        cluster = Cluster(self.spec, self.release, self.seed)
        try:
            do(cluster, self.acts)
            cluster.run_until(max(self.time, cluster.now))
            if cluster.by_hand:
                raise InputError("the search needs time to pass, and this cluster is stepped by hand; set its pace to timeline")
        except (ActRefused, KafkaError, ValueError) as wrong:
            raise InputError(f"the acts before the search cannot be done again: {wrong}") from None
        return cluster

    def names(self) -> Names:
        """Return the topics and brokers of the cluster, which conditions can name."""
        return names_of(self.cluster().view())

    def only_worst(self, number: int) -> tuple[Start, tuple[str, ...]]:
        """Return the beginning of a cluster with only the partitions that the fewest failures of brokers harm, and their brokers. Each partition
        becomes a topic of its own. Also return a line about each.

        Raises:
            InputError: something was done to the cluster already.
        """
        if self.acts or self.time:
            raise InputError("--worst: needs a cluster to which nothing was done yet, such as the output of kafka-topics --describe")
        cluster = self.cluster()
        standings = standings_of(cluster, cluster.view())
        worst = sorted(range(len(standings)), key=lambda at: (_needed(standings[at]), at))[:number]
        topics: list[TopicSpec] = []
        lines: list[str] = []
        specs = {topic.name: topic for topic in self.spec.topics}
        for at in sorted(worst):
            standing = standings[at]
            tp, topic = standing.partition, specs[standing.partition.topic]
            registration = cluster.controller.registry.partitions[tp]
            partition = topic.assignment[tp.partition] if topic.assignment else PartitionSpec(tuple(registration.replicas))
            name = f"{tp.topic}-{tp.partition}"
            topics.append(TopicSpec(name, assignment=(partition,), config=topic.config))
            replicas = ",".join(map(str, partition.replicas))
            lines.append(f"{tp}: replicas {replicas}, min.insync.replicas {standing.min_isr}; here, it is partition 0 of the topic {name}")
        kept = {broker for topic in topics for broker in topic.assignment[0].replicas}
        spec = attrs.evolve(
            self.spec,
            brokers=tuple([broker for broker in self.spec.brokers if broker.id in kept]),
            topics=tuple(topics),
            controllers=tuple([name for name in self.spec.controllers if broker_at(name) is None or broker_at(name) in kept]),
            controller="",
            groups=(),
        )
        return attrs.evolve(self, spec=spec), tuple(lines)

    def with_load(self, acks: str, view: ClusterView | None = None) -> Start:
        """Return the same beginning, with a load on each topic if the cluster has no load. `view` is the state of the cluster at the beginning, if
        it is known.
        """
        view = self.cluster().view() if view is None else view
        producers = [each for each in view.producers if each.rate]
        if producers:
            rate = sum(each.rate for each in producers)
            return attrs.evolve(self, load=f"the load of the cluster, {rate:,} records/s")
        topics = [each for each in view.topics if not each.name.startswith("__")][:MOST_LOADED]
        later = self.time + self.spec.network.latency
        loads = tuple(
            (begun, Load(each.name, RATE * each.partitions, acks=acks, every=EVERY, producer=f"{name}-{each.name}"))
            for name, begun in (("load", self.time), ("second", later))
            for each in topics
        )
        if not loads:
            return attrs.evolve(self, load="no load, because the cluster has no topics")
        return attrs.evolve(self, acts=(*self.acts, *loads), load=f"twice {RATE} records/s for each partition with acks={acks}")


def _needed(standing: Standing) -> tuple[int, int]:
    """Return how many brokers must fail until a partition refuses writes or has no leader, whichever comes first, and how many for both."""
    needs = [standing.need(harm, Moment.AT_ONCE) for harm in (Harm.REFUSES, Harm.NO_LEADER)]
    numbers = [len(need.members) - need.least + 1 for need in needs if need is not None]
    return min(numbers), sum(numbers)


def names_of(view: ClusterView) -> Names:
    """Return the topics and brokers in a view, which conditions can name."""
    return Names(topics={each.name: each.partitions for each in view.topics}, brokers=frozenset(each.id for each in view.brokers))


def do(cluster: Cluster, acts: Iterable[Timed]) -> None:
    """Do acts at their times.

    Raises:
        ActRefused: an act is impossible.
    """
    for time, act in acts:
        cluster.run_until(max(time, cluster.now))
        cluster.do(act)


def _note(event: tuple[Any, ...], acts: list[Timed]) -> None:
    if kind_of(event) == Acted.kind:
        acts.append((time_of(event), act_of(event)))

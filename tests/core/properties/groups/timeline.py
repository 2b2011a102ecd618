"""The timeline of a seed of the swarm of groups: a cluster, its members and services, and the acts that affect them. A timeline is plain
data, so that it can be shortened.
"""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import Any, Final

import attrs

from core.kafka.ids import broker_address
from core.kafka.release import RELEASES, Release
from core.kafka.topic_spec import TopicSpec
from core.lab import acts
from core.lab.spec import BrokerSpec, ClusterSpec
from core.sim.units import SECOND, US_PER_MS
from tests.core.properties.timelines import CLIENTS

GROUP: Final = "g"
CONSUMED: Final = {"t": 4, "u": 2}
"""The topics that members consume, with their partitions."""

SOURCE, OUTPUT = "in", "out"
"""The topics of processes."""

JOBS: Final = "jobs"
"""The topic of the retry service."""

DELAYED: Final = "later"
"""The topic of the delay service."""

RELEASE_NAMES: Final = ("2.4", "2.8", "3.3", "3.9", "4.1", "4.3")
MEMBERS: Final = ("m1", "m2", "m3", "m4")
STATIC: Final = "m4"
"""The member with a group.instance.id."""

SHORT: Final = (("session.timeout.ms", "8000"), ("heartbeat.interval.ms", "2000"), ("max.poll.interval.ms", "15000"))


@attrs.frozen
class KillCoordinator:
    """Kills the broker that coordinates the group."""


@attrs.frozen
class KillLeader:
    """Kills the leader of a partition that members consume. `number` chooses the partition."""

    number: int


Deed = acts.Act | KillCoordinator | KillLeader
Step = tuple[int, Deed]
"""A waiting time in µs, and the act that follows it."""


@attrs.frozen
class GroupTimeline:
    """A cluster with a group and services, and the steps that befall it.

    Attributes:
        seed: the seed of the cluster.
        release: the release.
        unclean: whether unclean elections are allowed.
        opening: the acts that start producers, members, processes, and services.
        steps: the acts that affect the cluster, with their waiting times.
    """

    seed: int
    release: str
    unclean: bool
    opening: tuple[acts.Act, ...]
    steps: tuple[Step, ...]

    @property
    def kafka(self) -> Release:
        """The release in which the cluster runs."""
        return RELEASES[self.release]

    @property
    def members(self) -> acts.JoinGroup:
        """The act that starts the first member. The other members are started in the same way."""
        return next(act for act in self.opening if isinstance(act, acts.JoinGroup))

    def spec(self) -> ClusterSpec:
        """Return the cluster: three brokers, and replication factor 3."""
        settings: list[tuple[str, object]] = [
            ("offsets.topic.num.partitions", 1),
            ("transaction.state.log.num.partitions", 1),
            ("group.initial.rebalance.delay.ms", 1000),
            ("replica.lag.time.max.ms", 5_000),
            ("unclean.leader.election.enable", self.unclean),
            ("min.insync.replicas", 1 if self.unclean else 2),
        ]
        topics = {**CONSUMED, SOURCE: 1, OUTPUT: 2, JOBS: 1, DELAYED: 1}
        return ClusterSpec(
            tuple(BrokerSpec(broker) for broker in (1, 2, 3)),
            topics=tuple(TopicSpec(name, count, 3) for name, count in topics.items()),
            settings=tuple(settings),
            clients=CLIENTS,
        )


def join(draw: random.Random, name: str, template: acts.JoinGroup) -> acts.JoinGroup:
    """Return an act that starts a member."""
    static = f"i-{name}" if name == STATIC else None
    return attrs.evolve(template, consumer=name, instance_id=static, record_time=draw.choice([0, 500, 2000]))


def _member_acts(template: acts.JoinGroup) -> list[Callable[[random.Random], Deed]]:
    return [
        lambda draw: join(draw, draw.choice(MEMBERS), template),
        lambda draw: join(draw, draw.choice(MEMBERS), template),
        lambda draw: acts.KillConsumer(draw.choice(MEMBERS)),
        lambda draw: acts.CloseConsumer(draw.choice(MEMBERS)),
        lambda draw: acts.FreezeConsumer(draw.choice(MEMBERS)),
        lambda draw: acts.ThawConsumer(draw.choice(MEMBERS)),
        lambda draw: acts.StallConsumer(draw.choice([3, 20]) * SECOND, draw.choice(MEMBERS)),
    ]


_BROKERS: Final[tuple[Callable[[random.Random], Deed], ...]] = (
    lambda draw: acts.Kill(draw.randint(1, 3)),
    lambda draw: acts.Start(draw.randint(1, 3)),
    lambda draw: acts.Start(draw.randint(1, 3)),
    lambda draw: acts.Shutdown(draw.randint(1, 3)),
    lambda draw: acts.Pause(draw.randint(1, 3)),
    lambda draw: acts.Resume(draw.randint(1, 3)),
    lambda draw: acts.Isolate(broker_address(draw.randint(1, 3))),
    lambda draw: acts.Heal(),
    lambda draw: KillCoordinator(),
    lambda draw: KillLeader(draw.randrange(sum(CONSUMED.values()))),
)


def _services(draw: random.Random) -> tuple[list[acts.Act], list[Callable[[random.Random], Deed]]]:
    """Return the acts that start the services of a seed, and the acts that can affect them."""
    opening: list[acts.Act] = []
    later: list[Callable[[random.Random], Deed]] = []
    if draw.random() < 0.5:
        transactional = draw.random() < 0.4
        commit = "done" if transactional else draw.choice(["done", "done", "position"])
        delay = acts.StartDelayService(DELAYED, ("2s", "5s"), commit=commit, transactional=transactional, commit_every=2 * SECOND)
        opening += [delay, acts.ProduceDelayed(1_500 * US_PER_MS, 300, rate=20), acts.ProduceDelayed(4 * SECOND, 300, rate=20)]
        crash = attrs.evolve(delay, crash_after=draw.choice([None, "send", "forward", "commit"]))
        later += [lambda _: acts.KillService("delay"), lambda _: acts.StopService("delay"), lambda _: delay, lambda _: crash]
    if draw.random() < 0.5:
        transactional = draw.random() < 0.4
        commit = "done" if transactional else draw.choice(["done", "done", "position"])
        blocking = draw.random() < 0.3
        retry = acts.StartRetryService(
            JOBS, ("1s", "3s"), blocking=blocking, commit=commit, transactional=transactional, commit_every=2 * SECOND
        )
        fail = acts.FailProcessing(draw.choice([200_000, 500_000, 1_000_000]), tries=draw.choice([0, 1, 2]))
        opening += [retry, fail, acts.Load(JOBS, 20, every=200 * US_PER_MS, producer="boss")]
        crash_retry = attrs.evolve(retry, crash_after=draw.choice([None, "send", "forward", "commit"]))
        later += [lambda _: acts.KillService("app"), lambda _: acts.StopService("app"), lambda _: retry, lambda _: crash_retry]
    if draw.random() < 0.5:
        delivery = draw.choice(["exactly-once", "at-least-once", "at-most-once"])
        process = acts.StartProcess(SOURCE, OUTPUT, "worker", "w", delivery, copies=draw.choice([1, 2]), max_poll_records=10)
        opening += [process, acts.Load(SOURCE, 20, every=200 * US_PER_MS, producer="input")]
        crash_process = attrs.evolve(process, crash_after=draw.choice(["poll", "produce"]))
        later += [lambda _: acts.KillProcess("worker"), lambda _: acts.StopProcess("worker"), lambda _: process, lambda _: crash_process]
    return opening, later


def _membership(draw: random.Random, release: str) -> dict[str, Any]:
    """Return the fields that describe how the instances of a service are members of their group."""
    modern = RELEASES[release].consumer_protocol and draw.random() < 0.4
    fields: dict[str, Any] = {"config": SHORT[2:] if modern else SHORT, "record_time": draw.choice([0, 0, 0, 1_000])}
    if draw.random() < 0.2:
        fields["instance_id"] = "i"
    if modern:
        return {**fields, "protocol": "consumer", "remote_assignor": draw.choice([None, "uniform", "range"])}
    return {**fields, "assignors": draw.choice([(), ("range",), ("roundrobin",), ("sticky",), ("cooperative-sticky",)])}


def _shared(
    draw: random.Random, memberships: random.Random, release: str, opening: list[acts.Act], later: list[Callable[[random.Random], Deed]]
) -> tuple[list[acts.Act], list[Callable[[random.Random], Deed]]]:
    """Let some services have two instances, which share the partitions of each topic. Either of them can die, and only the dead ones start
    again. Either of them can hang and leave its group."""
    found = {}
    for act in opening:
        if isinstance(act, acts.StartDelayService | acts.StartRetryService) and draw.random() < 0.4:
            found[act.service] = act, _membership(memberships, release)

    def share(deed: Deed) -> Deed:
        if isinstance(deed, acts.StartDelayService | acts.StartRetryService) and deed.service in found:
            return attrs.evolve(deed, instances=2, partitions=2, **found[deed.service][1])
        return deed

    def killing(service: str, worker: str) -> Callable[[random.Random], Deed]:
        return lambda draw: draw.choice([acts.KillService, acts.StopService])(service, f"{worker}-{draw.randint(1, 2)}")

    def sharing(deed: Callable[[random.Random], Deed]) -> Callable[[random.Random], Deed]:
        return lambda draw: share(deed(draw))

    def stalling(worker: str) -> Callable[[random.Random], Deed]:
        return lambda draw: acts.StallConsumer(draw.choice([3, 20]) * SECOND, f"{worker}-{draw.randint(1, 2)}")

    deeds = [sharing(each) for each in later]
    for service, (act, _) in found.items():
        worker = "delay-2s" if isinstance(act, acts.StartDelayService) else f"app-{JOBS}"
        deeds += [killing(service, worker), stalling(worker)]
    return [share(each) for each in opening], deeds  # type: ignore[misc]


def group_swarm(seed: int) -> GroupTimeline:
    """Return the timeline of a seed. The seed draws the release, the protocol, the services, and the acts that affect them."""
    draw = random.Random(f"{seed}:groups")
    release = draw.choice(RELEASE_NAMES)
    unclean = draw.random() < 0.2
    modern = RELEASES[release].consumer_protocol and draw.random() < 0.5
    assignor = draw.choice([("range",), ("roundrobin",), ("sticky",), ("cooperative-sticky",)])
    commit = draw.choice(["after", "after", "auto", "async", "before"])
    template = acts.JoinGroup(
        tuple(CONSUMED), "m2", GROUP, () if modern else assignor, commit=commit, config=() if modern else SHORT,
        protocol="consumer" if modern else "classic",
    )  # fmt: skip
    if modern:
        template = attrs.evolve(template, config=(("max.poll.interval.ms", "15000"),))
    services, later = _shared(random.Random(f"{seed}:instances"), random.Random(f"{seed}:memberships"), release, *_services(draw))
    idempotent = draw.random() < 0.5
    opening = (
        acts.Load("t", rate=60, every=100 * US_PER_MS, producer="pt", acks="all", idempotence=idempotent),
        acts.Load("u", rate=20, every=200 * US_PER_MS, producer="pu", acks=draw.choice(["all", "1"])),
        template,
        *services,
    )
    kinds = (_member_acts(template), list(_BROKERS), later)
    weights = (5, 4, 3 if later else 0)
    steps: list[Step] = []
    for _ in range(draw.randint(8, 20)):
        deed = draw.choice(draw.choices(kinds, weights)[0])(draw)
        steps.append((draw.randrange(200 * US_PER_MS, draw.choice([1, 4, 8]) * SECOND), deed))
    return GroupTimeline(seed, release, unclean, opening, tuple(steps))

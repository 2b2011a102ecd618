"""What a seed of the transactional swarm means: a cluster, its applications, and what befalls them. Data only, so that it can be shortened.

The draws have streams of their own: the timelines of `tests.core.properties.swarm` do not depend on them.
"""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import Final

import attrs

from core.kafka.ids import CONTROLLER, broker_address
from core.kafka.release import Release
from core.kafka.topic_spec import TopicSpec
from core.lab import acts
from core.lab.spec import BrokerSpec, ClusterSpec, NetworkSpec
from core.sim.units import SECOND, US_PER_MS
from tests.core.properties.timelines import CLIENTS, DEFAULT_LATENCY
from tests.core.properties.transactions.applications import BANK, OUTPUT, SOURCE, Bank, Worker
from tests.core.properties.transactions.deeds import BANK_PARTITIONS, Cast, Deed, HoldClient, Lead, Lose, ReleaseHeld, Step, TakeOver
from tests.core.properties.transactions.shapes import MIXED, SHAPES

SETTINGS: Final = (
    ("min.insync.replicas", 2),
    ("unclean.leader.election.enable", False),
    ("replica.lag.time.max.ms", 3_000),
    ("transaction.abort.timed.out.transaction.cleanup.interval.ms", 1_000),
    ("offsets.topic.num.partitions", 1),
)
"""Clean elections only. What waits, waits briefly, so that more happens in the same virtual time."""

QUORUM_SETTINGS: Final = (("broker.session.timeout.ms", 3_000), ("broker.heartbeat.interval.ms", 500))
ZOOKEEPER_SETTINGS: Final = (("zookeeper.session.timeout.ms", 4_000),)


@attrs.frozen
class TransactionalTimeline:
    """A cluster with transactional applications, and the steps that befall it.

    Attributes:
        brokers: how many brokers there are.
        seed: the seed of the cluster and of its applications.
        latency: the latency of a link, in µs.
        banks: how many applications write transactions.
        workers: the names of the processes that take turns.
        coordinators: the number of partitions of `__transaction_state`.
        pause: the mean pause of an application between two actions, in µs.
        config: the settings of the transactional clients.
        steps: what befalls the cluster.
    """

    brokers: int
    seed: int
    latency: int
    banks: int
    workers: tuple[str, ...]
    coordinators: int
    pause: int
    config: tuple[tuple[str, str], ...]
    steps: tuple[Step, ...]

    def spec(self, release: Release) -> ClusterSpec:
        """Return the cluster: replication factor 3, an input topic, an output topic, and one that transactions write."""
        own = ZOOKEEPER_SETTINGS if release.zookeeper else QUORUM_SETTINGS
        return ClusterSpec(
            brokers=tuple(BrokerSpec(broker) for broker in range(1, self.brokers + 1)),
            topics=(TopicSpec(SOURCE, 1, 3), TopicSpec(OUTPUT, 2, 3), TopicSpec(BANK, BANK_PARTITIONS, 3)),
            settings=(*SETTINGS, *own, ("transaction.state.log.num.partitions", self.coordinators)),
            network=NetworkSpec(latency=self.latency),
            clients=CLIENTS,
        )

    def applications(self) -> tuple[list[Bank], Worker]:
        """Return the applications, which have not begun."""
        banks = [Bank(f"bank{number}", self.seed, BANK_PARTITIONS, self.config, self.pause) for number in range(self.banks)]
        return banks, Worker(self.seed, self.workers, self.config, max_poll_records=4)


Draw = Callable[[random.Random, Cast], Deed]
"""Makes a deed of a fault."""

FAULTS: Final[dict[str, tuple[Draw, Draw | None]]] = {
    "kill": (lambda draw, cast: cast.kill(draw, acts.Kill), lambda draw, cast: cast.start(draw)),
    "shutdown": (lambda draw, cast: cast.kill(draw, acts.Shutdown), lambda draw, cast: cast.start(draw)),
    "pause": (lambda draw, cast: cast.pause(draw), lambda draw, cast: cast.resume(draw)),
    "cut": (lambda draw, cast: acts.Cut(cast.two(draw), draw.random() < 0.5), lambda draw, cast: acts.Heal()),
    "isolate": (lambda draw, cast: acts.Isolate(broker_address(cast.broker(draw))), lambda draw, cast: acts.Heal()),
    "cut-controller": (
        lambda draw, cast: acts.Cut((CONTROLLER, broker_address(cast.broker(draw))), one_way=draw.random() < 0.5),
        lambda draw, cast: acts.Heal(),
    ),
    "hold": (lambda draw, cast: acts.Hold(cast.two(draw)), lambda draw, cast: ReleaseHeld(draw.randrange(6))),
    "hold-client": (
        lambda draw, cast: HoldClient(draw.randrange(cast.banks), cast.broker(draw), requests=draw.random() < 0.7),
        lambda draw, cast: ReleaseHeld(draw.randrange(6)),
    ),
    "hold-process": (
        lambda draw, cast: acts.Hold((draw.choice(cast.workers), broker_address(cast.broker(draw)))),
        lambda draw, cast: ReleaseHeld(draw.randrange(6)),
    ),
    "cut-client": (lambda draw, cast: acts.Cut(cast.client_link(draw), draw.random() < 0.5), lambda draw, cast: acts.Heal()),
    "slow": (
        lambda draw, cast: acts.Link(cast.two(draw), latency=draw.choice((20_000, 300_000, 2_000_000))),
        lambda draw, cast: acts.Link(cast.two(draw), latency=DEFAULT_LATENCY),
    ),
    "kill-process": (lambda draw, cast: acts.KillProcess(draw.choice(cast.workers)), None),
    "stop-process": (lambda draw, cast: acts.StopProcess(draw.choice(cast.workers)), None),
    "take-over": (lambda draw, cast: TakeOver(draw.randrange(cast.banks)), None),
    "lose": (lambda draw, cast: Lose(draw.randrange(cast.banks)), None),
    "lead": (lambda draw, cast: Lead(cast.partition(draw), cast.broker(draw)), lambda draw, cast: acts.Elect()),
    "input": (lambda draw, cast: acts.Produce(SOURCE, draw.choice((1, 3, 9)), producer="input"), None),
}  # fmt: skip
"""Each fault, and what undoes it."""

PACES: Final = (3 * US_PER_MS, 40 * US_PER_MS, 500 * US_PER_MS, 3 * SECOND)
"""The mean times between two steps, in µs."""


def transactional_swarm(seed: int, shape: str | None = None) -> TransactionalTimeline:
    """Return the timeline of a seed: it draws which faults there are, how often each, and how fast they come.

    Args:
        seed: the seed.
        shape: the timeline is full of this shape.
    """
    draw = random.Random(f"{seed}:transactions")
    workers = draw.choice((("app0",), ("app0", "app1")))
    cast = Cast(draw.choice((3, 3, 4)), draw.choice((1, 1, 2)), workers, draw.choice((1, 1, 2)))
    pauses: tuple[int, ...] = (5, 100, 1_000)
    if shape == "late-marker":  # another transaction makes the coordinator write the marker again, and the next one is open for long
        cast, pauses = attrs.evolve(cast, banks=2, coordinators=1), (1_000,)
    chosen = [name for name in FAULTS if draw.random() < 0.4] or ["kill"]
    weights = [draw.choice((1, 2, 6)) for _ in chosen]
    undoing = draw.choice((0.3, 0.5, 0.7))
    paces = draw.sample(PACES, draw.randint(1, 3))
    shapely = 0.1 if shape is None else 0.5
    own = shape or draw.choice((None, None, *MIXED))
    steps: list[Step] = []
    for _ in range(draw.randint(15, 50) if shape is None else 8):
        if own is not None and draw.random() < shapely:
            steps += SHAPES[own](draw, cast)
            continue
        deed, undo = FAULTS[draw.choices(chosen, weights)[0]]
        act = undo if undo is not None and draw.random() < undoing else deed
        steps.append((draw.randrange(2 * draw.choice(paces)), act(draw, cast)))
        if draw.random() < 0.15:
            steps.append((0, acts.Produce(SOURCE, draw.choice((1, 4)), producer="input")))
    request = draw.choice((1_500, 4_000, 30_000))
    config = (
        ("transaction.timeout.ms", str(draw.choice((2_000, 10_000, 40_000)))),
        ("request.timeout.ms", str(request)),
        ("delivery.timeout.ms", str(draw.choice((request, request + 3_000, 60_000)))),
        ("metadata.max.age.ms", str(draw.choice((2_000, 300_000)))),
    )
    return TransactionalTimeline(
        cast.brokers, seed, draw.choice((DEFAULT_LATENCY, 15_000)), cast.banks, workers, cast.coordinators,
        draw.choice(pauses) * US_PER_MS, config, tuple(steps),
    )  # fmt: skip

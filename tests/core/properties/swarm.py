"""Swarm timelines: each seed draws the kinds of faults, the frequency of each kind, and the pace (as TigerBeetle does).

A constant mix of all faults never tests any single fault in depth, but a seed with only three kinds does. All draws come from
`random.Random`, so that a seed always means the same timeline, and a harm that was found once can be found again. `python -m
tests.core.properties.swarm 300 0.10.2 "4.1 without maximal-isr"` prints the harm that each seed does.
"""

from __future__ import annotations

import random
import sys
from collections import Counter
from collections.abc import Callable
from typing import Final

from core.kafka import events
from core.kafka.ids import CONTROLLER, ZOOKEEPER, TopicPartition, broker_address
from core.kafka.release import Release
from core.lab import acts
from core.lab.cluster import Cluster
from core.sim.units import SECOND, US_PER_MS
from scenarios.releases import release_named
from tests.core.properties.timelines import DEFAULT_LATENCY, Step, Timeline, play

Draw = Callable[[random.Random, int], acts.Act]
"""A function that creates an act of a fault from a random stream and the number of brokers."""


def _broker(draw: random.Random, brokers: int) -> int:
    return draw.randint(1, brokers)


def _two(draw: random.Random, brokers: int) -> tuple[str, str]:
    a, b = draw.sample(range(1, brokers + 1), 2)
    return broker_address(a), broker_address(b)


def _client(draw: random.Random) -> str:
    return draw.choice(("load0", "sure0", "reader0"))


def _of_client(draw: random.Random, brokers: int) -> tuple[str, str]:
    return _client(draw), broker_address(_broker(draw, brokers))


def _clock(draw: random.Random, brokers: int) -> acts.SetClock:
    node = draw.choice((broker_address(_broker(draw, brokers)), CONTROLLER, _client(draw)))
    skew = draw.choice((0, -SECOND, 90 * SECOND, -3_600 * SECOND))
    return acts.SetClock(node, skew, draw.choice((0, 200, -200, 50_000, 300_000, -300_000)))


def _of_controller(draw: random.Random, brokers: int) -> tuple[str, str]:
    pair = (CONTROLLER, broker_address(_broker(draw, brokers)))
    return pair if draw.random() < 0.7 else (pair[1], pair[0])


FAULTS: Final[dict[str, tuple[Draw, Draw | None]]] = {
    "kill": (lambda draw, n: acts.Kill(_broker(draw, n)), lambda draw, n: acts.Start(_broker(draw, n))),
    "shutdown": (lambda draw, n: acts.Shutdown(_broker(draw, n)), lambda draw, n: acts.Start(_broker(draw, n))),
    "pause": (lambda draw, n: acts.Pause(_broker(draw, n)), lambda draw, n: acts.Resume(_broker(draw, n))),
    "cut": (lambda draw, n: acts.Cut(_two(draw, n), draw.random() < 0.5), lambda draw, n: acts.Heal()),
    "cut-controller": (lambda draw, n: acts.Cut(_of_controller(draw, n), one_way=True), lambda draw, n: acts.Heal()),
    "isolate": (lambda draw, n: acts.Isolate(broker_address(_broker(draw, n))), lambda draw, n: acts.Heal()),
    "hold": (lambda draw, n: acts.Hold(_two(draw, n)), lambda draw, n: acts.Release(_two(draw, n))),
    "hold-controller": (lambda draw, n: acts.Hold(_of_controller(draw, n)), lambda draw, n: acts.Release(_of_controller(draw, n))),
    "slow": (
        lambda draw, n: acts.Link(_two(draw, n), latency=draw.choice((20_000, 300_000, 2_000_000)), jitter=draw.choice((0, 1_500_000))),
        lambda draw, n: acts.Link(_two(draw, n), latency=DEFAULT_LATENCY, jitter=0),
    ),
    "lossy": (
        lambda draw, n: acts.Link(_two(draw, n), loss_ppm=300_000),
        lambda draw, n: acts.Link(_two(draw, n), loss_ppm=0),
    ),
    "clock": (_clock, lambda draw, n: acts.SetClock(broker_address(_broker(draw, n)))),
    "proxy": (
        lambda draw, n: acts.Link(_of_client(draw, n), duplicate_ppm=draw.choice((0, 200_000)), reorder_ppm=draw.choice((0, 200_000))),
        lambda draw, n: acts.Link(_of_client(draw, n), duplicate_ppm=0, reorder_ppm=0),
    ),
    "elect": (lambda draw, n: acts.Elect(), None),
    "lag": (lambda draw, n: acts.Set("replica.lag.time.max.ms", str(draw.choice((1_000, 5_000, 30_000)))), None),
    "burst": (lambda draw, n: acts.Produce("t0", draw.choice((1, 30, 4_000)), producer="burst0", acks="all", idempotence=False), None),
}  # fmt: skip
"""Each fault, and the act that ends it."""

HARSH: Final[dict[str, tuple[Draw, Draw | None]]] = {
    "unclean": (
        lambda draw, n: acts.Set("unclean.leader.election.enable", "true"),
        lambda draw, n: acts.Set("unclean.leader.election.enable", "false"),
    ),
    "power-loss": (
        lambda draw, n: acts.PowerLoss(_broker(draw, n), ((TopicPartition("t0", 0), draw.randint(0, 400)),)),
        lambda draw, n: acts.Start(_broker(draw, n)),
    ),
    "min-isr": (lambda draw, n: acts.Set("min.insync.replicas", str(draw.choice((1, 2)))), None),
}  # fmt: skip
"""Faults after which records can be lost under any release. Even with these faults, replicas that differ permanently count as harm."""


def _zombie_follower(draw: random.Random, brokers: int) -> list[Step]:
    """A follower receives nothing from the controller and ZooKeeper and continues to fetch, while its leader fails, truncates, and leads
    again (S4).
    """
    leader, zombie, other = draw.sample(range(1, brokers + 1), 3)
    lead, zom, oth = broker_address(leader), broker_address(zombie), broker_address(other)
    return [
        (0, acts.Elect()),
        (2 * SECOND, acts.Cut((zom, ZOOKEEPER))),
        (0, acts.Hold((CONTROLLER, zom))),
        (draw.choice((0, 8)) * SECOND, acts.Hold((lead, oth))),
        (0, acts.Produce("t0", 30, acks="0", producer="flood0")),
        (draw.choice((100, 1_000)) * US_PER_MS, acts.Pause(leader)),
        (0, acts.Cut((oth, lead))),
        (draw.randint(7, 25) * SECOND, acts.Resume(leader)),
        (0, acts.Release((lead, oth))),
        (0, acts.Heal((oth, lead))),
        (draw.randint(1, 15) * SECOND, acts.Elect()),
        (draw.randint(1, 10) * SECOND, acts.Heal((zom, ZOOKEEPER))),
        (0, acts.Release((CONTROLLER, zom))),
    ]


def _slow_expansion(draw: random.Random, brokers: int) -> list[Step]:
    """The controller adds a follower to the ISR, its leader does not learn of this, and the follower stops again (S10)."""
    leader, late, other = draw.sample(range(1, brokers + 1), 3)
    lead, lat, oth = broker_address(leader), broker_address(late), broker_address(other)
    return [
        (0, acts.Set("replica.lag.time.max.ms", "1000", force=True)),
        (0, acts.Elect()),
        (2 * SECOND, acts.Hold((lat, lead))),
        (draw.choice((3, 17)) * SECOND, acts.Hold((CONTROLLER, lead))),
        (0, acts.Release((lat, lead))),
        (draw.choice((2, 20, 300)) * US_PER_MS, acts.Hold((lat, lead))),
        (draw.randint(1, 4) * SECOND, acts.Produce("t0", 10, producer="burst0", acks="all", idempotence=False)),
        (draw.choice((100, 2_000)) * US_PER_MS, acts.Cut((oth, CONTROLLER), one_way=True)),
        (0, acts.Kill(leader)),
        (0, acts.Kill(other)) if draw.random() < 0.7 else (0, acts.Elect()),
        (draw.randint(9, 14) * SECOND, acts.Release((lat, lead))),
    ]


def _early_join(draw: random.Random, brokers: int) -> list[Step]:
    """A follower outside the ISR reaches the offset that a new leader knows to be committed, but not the actual end of the committed
    records. Then all replicas with the remaining records die (S6).

    The pause makes `first` lead, and keeps the connection of `late` to `preferred`: a fetch can arrive while the responses are held.
    """
    preferred, first, late = draw.sample(range(1, brokers + 1), 3)
    pref, fir, lat = broker_address(preferred), broker_address(first), broker_address(late)
    return [
        (0, acts.Heal()),
        *((0, acts.Start(broker)) for broker in range(1, brokers + 1)),
        (0, acts.StopLoad("load0")),
        (0, acts.StopLoad("sure0")),
        (0, acts.Set("replica.lag.time.max.ms", "1000", force=True)),
        (10 * SECOND, acts.Elect()),
        (SECOND, acts.Pause(preferred)),
        (draw.randint(11, 14) * SECOND, acts.Resume(preferred)),
        (draw.randint(6, 9) * SECOND, acts.Hold((lat, fir))),
        (0, acts.Produce("t0", 10, producer="burst0", acks="all", idempotence=False)),
        (draw.choice((50, 140, 160)) * US_PER_MS, acts.Hold((fir, pref))),
        (0, acts.Hold((pref, lat))),
        (draw.randint(2, 4) * SECOND, acts.Elect()),
        (draw.choice((100, 600)) * US_PER_MS, acts.Kill(first)),
        (0, acts.Kill(preferred)),
        (draw.randint(9, 14) * SECOND, acts.Release((lat, fir))),
        (0, acts.Release((fir, pref))),
        (0, acts.Release((pref, lat))),
    ]


def _late_orders(draw: random.Random, brokers: int) -> list[Step]:
    """The controller's messages to a broker are held during two leader changes."""
    one, two = draw.sample(range(1, brokers + 1), 2)
    return [
        (0, acts.Hold((CONTROLLER, broker_address(one)))),
        (draw.randint(0, 3) * SECOND, acts.Pause(two)),
        (draw.randint(7, 20) * SECOND, acts.Resume(two)),
        (draw.randint(0, 5) * SECOND, acts.Elect()),
        (draw.randint(0, 5) * SECOND, acts.Release((CONTROLLER, broker_address(one)))),
    ]


def _turns(draw: random.Random, brokers: int) -> list[Step]:
    """Two replicas lead in turns, each while the other is down, and write records that the other never gets (S3).

    Each turn has a new producer, because a producer whose last metadata names only the dead broker finds no other (before 4.0).
    """
    one, other = draw.sample(range(1, brokers + 1), 2)
    steps: list[Step] = [
        (0, acts.Heal()),
        *((0, acts.Start(broker)) for broker in range(1, brokers + 1)),
        (0, acts.StopLoad("load0")),
        (0, acts.StopLoad("sure0")),
        (0, acts.Set("unclean.leader.election.enable", "true")),
        (0, acts.Set("min.insync.replicas", "1")),
        (20 * SECOND, acts.Produce("t0", draw.randint(1, 4), acks="1", producer="turn0")),
        *((SECOND, acts.Kill(broker)) for broker in range(1, brokers + 1) if broker not in (one, other)),
    ]
    for turn, (stays, goes) in enumerate([(other, one), (one, other)] * 2, 1):
        steps += [
            (SECOND, acts.Kill(goes)),
            (0, acts.Start(stays)),
            (draw.randint(22, 26) * SECOND, acts.Produce("t0", draw.randint(1, 4), acks="1", producer=f"turn{turn}")),
        ]
    return [*steps, (5 * SECOND, acts.Start(other)), (15 * SECOND, acts.Elect())]


def _last_standing(draw: random.Random, brokers: int) -> list[Step]:
    """Two ISR members shut down cleanly, one after the other, and the machine of the last one loses its unflushed data (S11)."""
    first, second, last = draw.sample(range(1, brokers + 1), 3)
    return [
        (0, acts.Heal()),
        *((0, acts.Start(broker)) for broker in range(1, brokers + 1)),
        (20 * SECOND, acts.Produce("t0", draw.choice((30, 300)), producer="burst0", acks="all", idempotence=False)),
        (SECOND, acts.Shutdown(first)),
        (draw.randint(3, 14) * SECOND, acts.Shutdown(second)),
        (draw.randint(10, 14) * SECOND, acts.PowerLoss(last, ((TopicPartition("t0", 0), draw.randint(0, 400)),))),
        (draw.randint(0, 12) * SECOND, acts.Start(last)),
        (draw.randint(8, 14) * SECOND, acts.Start(second)),
        (draw.randint(0, 5) * SECOND, acts.Start(first)),
    ]


def _rejoined_empty(draw: random.Random, brokers: int) -> list[Step]:
    """A follower catches up, is proposed for the ISR, and loses its disk. It is back, with an empty log, when the proposal reaches the
    controller (S8).
    """
    leader, late, other = draw.sample(range(1, brokers + 1), 3)
    lead, lat = broker_address(leader), broker_address(late)
    return [
        (0, acts.Heal()),
        *((0, acts.Start(broker)) for broker in range(1, brokers + 1)),
        (0, acts.StopLoad("load0")),
        (0, acts.StopLoad("sure0")),
        (20 * SECOND, acts.Elect()),
        (SECOND, acts.Produce("t0", draw.choice((30, 300)), producer="burst0", acks="all", idempotence=False)),
        (SECOND, acts.Kill(late)),
        (draw.randint(10, 12) * SECOND, acts.Hold((lat, lead))),
        (0, acts.Start(late)),
        (7 * SECOND, acts.Cut((lat, CONTROLLER), one_way=True)),
        (5 * SECOND, acts.Hold((lead, CONTROLLER))),
        (0, acts.Release((lat, lead))),
        (draw.choice((100, 300)) * US_PER_MS, acts.PowerLoss(late, ((TopicPartition("t0", 0), 0),))),
        (0, acts.Heal((lat, CONTROLLER))),
        (0, acts.Hold((lead, lat))),
        (SECOND, acts.Start(late)),
        (draw.choice((4_500, 5_000, 5_500)) * US_PER_MS, acts.Release((lead, CONTROLLER))),
        (200 * US_PER_MS, acts.Kill(leader)),
        (0, acts.Kill(other)),
        (draw.randint(10, 14) * SECOND, acts.Release((lead, lat))),
        (0, acts.Start(leader)),
        (0, acts.Start(other)),
    ]


def _well(brokers: int) -> list[Step]:
    """Repair everything. From then on, only the shape itself writes records."""
    return [
        (0, acts.Heal()),
        *((0, acts.Start(broker)) for broker in range(1, brokers + 1)),
        (0, acts.StopLoad("load0")),
        (0, acts.StopLoad("sure0")),
    ]


def _missed_leadership(draw: random.Random, brokers: int) -> list[Step]:
    """A follower learns twice that the same broker leads, but misses the leadership in between, because the controller that would have
    reported it is gone (S5).

    The first controller is broker 1. The leader in between never had the first leader's last records, but the follower has them.
    """
    leader, between, late = draw.sample(range(2, brokers + 1), 3) if brokers > 3 else draw.sample(range(1, 4), 3)
    lead, betw, lat = broker_address(leader), broker_address(between), broker_address(late)
    return [
        *_well(brokers),
        (20 * SECOND, acts.Elect()),
        (2 * SECOND, acts.Hold((betw, lead))),
        (draw.choice((700, 1_500)) * US_PER_MS, acts.Produce("t0", 10, acks="0", producer="hasty0")),
        (draw.choice((100, 300)) * US_PER_MS, acts.Hold((CONTROLLER, lat))),
        (0, acts.Hold((lat, lead))),
        (0, acts.Pause(leader)),
        (draw.randint(7, 9) * SECOND, acts.Release((betw, lead))),
        (0, acts.Resume(leader)),
        (draw.randint(2, 4) * SECOND, acts.Elect()),
        (SECOND, acts.Produce("t0", 10, acks="0", producer="hasty0")),
        (0, acts.Kill(1)),
        (draw.randint(7, 9) * SECOND, acts.Release((lat, lead))),
        (SECOND, acts.Release((CONTROLLER, lat))),
        (0, acts.Release(("b1", lat))),
        (2 * SECOND, acts.Produce("t0", 10, producer="burst0", acks="all", idempotence=False)),
    ]


def _older_order(draw: random.Random, brokers: int) -> list[Step]:
    """A follower fetches as in a former epoch, and its fetch counts. Then it obeys an order that is older than the records committed with
    its help (S7).
    """
    leader, between, late = draw.sample(range(1, brokers + 1), 3)
    lead, betw, lat = broker_address(leader), broker_address(between), broker_address(late)
    slow = draw.choice((1, 2)) * SECOND
    return [
        *_well(brokers),
        (0, acts.Set("min.insync.replicas", "2")),
        (20 * SECOND, acts.Elect()),
        (2 * SECOND, acts.Produce("t0", 10, producer="burst0", acks="all", idempotence=False)),
        (SECOND, acts.Hold((CONTROLLER, lat))),
        (0, acts.Pause(leader)),
        (draw.randint(10, 12) * SECOND, acts.Resume(leader)),
        (draw.randint(3, 5) * SECOND, acts.Hold((CONTROLLER, betw))),
        (0, acts.Elect()),
        (draw.choice((100, 1_000)) * US_PER_MS, acts.Hold((betw, lead))),
        (0, acts.Cut((betw, CONTROLLER), one_way=True)),
        (draw.choice((9, 12)) * SECOND, acts.Produce("t0", 10, producer="burst0", acks="all", idempotence=False)),
        (draw.choice((700, 2_000)) * US_PER_MS, acts.Link((CONTROLLER, lat), latency=slow)),
        (0, acts.Release((CONTROLLER, lat))),
        (draw.choice((300, 800, 1_500)) * US_PER_MS, acts.Kill(leader)),
        (12 * SECOND, acts.Release((CONTROLLER, betw))),
        (0, acts.Link((CONTROLLER, lat), latency=DEFAULT_LATENCY)),
        (5 * SECOND, acts.Heal()),
    ]


def _silent_heartbeats(draw: random.Random, brokers: int) -> list[Step]:
    """A follower's heartbeats do not arrive, but its fetches do (S9)."""
    zombie = draw.sample(range(1, brokers + 1), 3)[1]
    return [
        *_well(brokers),
        (20 * SECOND, acts.Elect()),
        (SECOND, acts.Cut((broker_address(zombie), CONTROLLER), one_way=True)),
        (0, acts.Produce("t0", 10, producer="burst0", acks="all", idempotence=False)),
        (draw.randint(10, 14) * SECOND, acts.Produce("t0", 10, producer="burst0", acks="all", idempotence=False)),
        (draw.randint(1, 3) * SECOND, acts.Kill(zombie)),
        (draw.randint(1, 3) * SECOND, acts.Heal()),
    ]


def _diverging_tail(draw: random.Random, brokers: int) -> list[Step]:
    """A former leader asks the next leader for the records after a tail that only the former leader has, and remains alone when the next
    leader dies (S12). The pause makes the former leader lead, and keeps its connection: a fetch can arrive while the responses are held.
    """
    one, other = draw.sample(range(1, brokers + 1), 2)
    to_lead, former = broker_address(one), broker_address(other)
    return [
        *_well(brokers),
        (0, acts.Set("min.insync.replicas", "1")),
        (20 * SECOND, acts.Elect()),
        (SECOND, acts.Produce("t0", 10, producer="burst0", acks="all", idempotence=False)),
        *((SECOND, acts.Shutdown(broker)) for broker in range(1, brokers + 1) if broker not in (one, other)),
        (0, acts.Pause(one)),
        (12 * SECOND, acts.Resume(one)),
        (12 * SECOND, acts.Hold((to_lead, former))),
        (draw.choice((600, 1_200)) * US_PER_MS, acts.Produce("t0", draw.choice((3, 6)), acks="0", producer="hasty0")),
        (0, acts.Hold((former, to_lead))),
        (0, acts.Elect()),
        (draw.choice((50, 200)) * US_PER_MS, acts.Produce("t0", draw.choice((3, 6)), producer="burst0", acks="all", idempotence=False)),
        (draw.choice((20, 100)) * US_PER_MS, acts.Hold((to_lead, former))),
        (0, acts.Release((former, to_lead))),
        (draw.choice((20, 100, 300)) * US_PER_MS, acts.Kill(one)),
        (12 * SECOND, acts.Heal()),
        (0, acts.Release((to_lead, former))),
    ]


SHAPES: Final[dict[str, Callable[[random.Random, int], list[Step]]]] = {
    "zombie-follower": _zombie_follower,
    "slow-expansion": _slow_expansion,
    "late-orders": _late_orders,
    "early-join": _early_join,
    "rejoined-empty": _rejoined_empty,
    "turns": _turns,
    "last-standing": _last_standing,
    "missed-leadership": _missed_leadership,
    "older-order": _older_order,
    "silent-heartbeats": _silent_heartbeats,
    "diverging-tail": _diverging_tail,
}
"""Faults that are harmful only in sequence. A seed can have at most one of them, several times, with random brokers and durations."""

MIXED: Final = ("zombie-follower", "slow-expansion", "late-orders")
"""The shapes that a seed draws by itself. The other shapes begin with a healthy cluster, which would undo other faults."""

PACES: Final = (2 * US_PER_MS, 50 * US_PER_MS, 700 * US_PER_MS, 4 * SECOND, 12 * SECOND)
"""The mean time between two steps, in µs."""


def _with_moves(steps: list[Step], seed: int, brokers: int) -> list[Step]:
    """Return the same steps with moves of the first partition among them. A move can begin while another runs, or can be canceled.

    Brokers that the controller knows to be dead are refused. The replication factor remains at 2 or more, like min.insync.replicas.
    """
    draw = random.Random(f"{seed}:moves")
    tp = TopicPartition("t0", 0)
    haste = draw.choice((0.3, 0.7))
    moved: list[Step] = []
    for step in steps:
        moved.append(step)
        while draw.random() < haste:
            pause = draw.choice((0, 300, 2 * US_PER_MS, 40 * US_PER_MS, SECOND))
            if draw.random() < 0.2:
                moved.append((pause, acts.CancelReassignment(tp)))
            elif draw.random() < 0.2:
                moved.append((pause, acts.Elect()))
            else:
                moved.append((pause, acts.Reassign(tp, tuple(draw.sample(range(1, brokers + 1), draw.choice((2, 3)))))))
    return moved


def swarm(seed: int, *, harsh: bool = False, only: tuple[str, ...] = (), shape: str | None = None, moves: bool = False) -> Timeline:
    """Return the timeline of a seed.

    Args:
        harsh: whether to include faults that lose records.
        only: the only faults to include.
        shape: the shape that the timeline repeats.
        moves: whether to add moves to the same steps, drawn from a separate stream.
    """
    draw = random.Random(f"{seed}:swarm")
    brokers = draw.randint(3, 5)
    faults = {**FAULTS, **HARSH} if harsh else FAULTS
    chosen = list(only) or [name for name in faults if draw.random() < (0.7 if name in HARSH else 0.4)] or ["kill"]
    weights = [draw.choice((1, 2, 6)) for _ in chosen]
    undoing = draw.choice((0.3, 0.5, 0.7))
    paces = draw.sample(PACES, draw.randint(1, 3))
    steps: list[Step] = []
    shapely = 0.12 if shape is None else 0.4
    shape = shape or draw.choice((None, None, None, *MIXED))
    for _ in range(draw.randint(20, 50) if shapely < 0.4 else 8):
        if shape is not None and draw.random() < shapely:
            steps += SHAPES[shape](draw, brokers)
            continue
        deed, undo = faults[draw.choices(chosen, weights)[0]]
        act = undo if undo is not None and draw.random() < undoing else deed
        steps.append((draw.randrange(2 * draw.choice(paces)), act(draw, brokers)))
    partitions, latency = (draw.randint(1, 2),), draw.choice((DEFAULT_LATENCY, 15_000))
    return Timeline(brokers, partitions, seed, latency, tuple(_with_moves(steps, seed, brokers) if moves else steps))


HARMS: Final = ("records-lost", "records-diverged")
"""The events that report harm."""

FENCED_JOINED: Final = "fenced-joined"
"""A harm that no event reports: a broker entered an ISR while it was fenced by the controller, and therefore blocks commits."""


def harms(seed: int, release: Release, *, harsh: bool = False, shape: str | None = None) -> Counter[str]:
    """Return how often a seed's timeline does each kind of harm under a release."""
    found: Counter[str] = Counter()
    fenced: set[int] = set()
    isrs: dict[tuple[str, int], tuple[int, ...]] = {}

    def sink(event: tuple) -> None:
        kind = event[3]
        if kind in HARMS:
            found[kind] += 1
        elif kind == events.PartitionChanged.kind:
            tp, isr = event[4:6], event[10]
            found[FENCED_JOINED] += len(fenced.intersection(isr).difference(isrs.get(tp, isr)))
            isrs[tp] = isr
        elif kind == events.BrokerFenced.kind:
            fenced.add(event[4])
        elif kind == events.BrokerUnfenced.kind:
            fenced.discard(event[4])

    play(swarm(seed, harsh=harsh, shape=shape), release, sink, Cluster.run_until)
    return found


if __name__ == "__main__":
    for name in sys.argv[2:]:
        release = release_named(name)
        harmful: dict[str, list[int]] = {f"{kind}{mark}": [] for kind in (*HARMS, FENCED_JOINED) for mark in ("", " (harsh)")}
        for seed in range(int(sys.argv[1])):
            for harsh in (False, True):
                for kind in +harms(seed, release, harsh=harsh):
                    harmful[kind + " (harsh)" * harsh].append(seed)
        print(name, {kind: seeds[:8] for kind, seeds in harmful.items()}, flush=True)

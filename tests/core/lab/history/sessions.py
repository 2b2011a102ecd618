"""Sessions for tests of time travel: a small cluster, random acts, and some activity."""

from __future__ import annotations

import contextlib
import random
from collections.abc import Iterator

import attrs

from core.kafka.errors import KafkaError
from core.kafka.topic_spec import TopicSpec
from core.lab import acts
from core.lab.history.history import History
from core.lab.history.position import Position
from core.lab.spec import BrokerSpec, ClusterSpec
from core.lab.views.cluster_view import ClusterView
from core.sim.errors import ActRefused
from core.sim.units import SECOND

SMALL = ClusterSpec(
    brokers=tuple(BrokerSpec(i) for i in (1, 2, 3)),
    topics=(TopicSpec("orders", partitions=2, replication_factor=3),),
    settings=(("min.insync.replicas", 2),),
)


@attrs.frozen
class Seen:
    """A moment of a session, with its view and its events."""

    position: Position
    view: ClusterView
    events: int


def an_act(dice: random.Random) -> acts.Act:
    """Return a random act, which can be refused."""
    broker = dice.randint(1, 3)
    return dice.choice(
        (
            acts.Kill(broker), acts.Start(broker), acts.Pause(broker), acts.Resume(broker), acts.Isolate(f"b{broker}"), acts.Heal(),
            acts.Cut((f"b{broker}", f"b{broker % 3 + 1}"), one_way=dice.random() < 0.5), acts.Shutdown(broker),
            acts.Produce("orders", dice.randint(1, 30), partition=dice.randint(0, 1), acks=dice.choice(("0", "1", "all"))),
            acts.Load("orders", 40), acts.StopLoad(), acts.Set("min.insync.replicas", str(dice.randint(1, 3)), topic="orders"),
            acts.Set("unclean.leader.election.enable", "true"), acts.Elect("preferred"), acts.PowerLoss(broker),
            acts.Link(("b1", "b2"), latency=dice.randint(1, 5_000)),
        )
    )  # fmt: skip


def live(history: History, dice: random.Random, moves: int) -> list[Seen]:
    """Play at random, and return the visited moments."""
    seen = []
    for _ in range(moves):
        what = dice.random()
        if what < 0.45:
            with contextlib.suppress(ActRefused, KafkaError):
                history.do(an_act(dice))
        elif what < 0.7:
            for _ in range(dice.randint(1, 5)):
                if (history.replay_run.next_due() or 0) < history.cluster.now + 5 * SECOND:
                    history.replay_run.step()
        else:
            history.replay_run.advance_to(history.cluster.now + dice.choice((1, 700, 40_000, 900_000, 4_000_000)))
        history.keyframe_cache.maybe_add(history.replay_run)
        seen.append(Seen(history.replay_run.position, history.view(), history.replay_run.event_tap.seq))
    return seen


def stroll(history: History, dice: random.Random, *, stops: int, least: int) -> Iterator[None]:
    """Execute some steps and occasionally an act, again and again. At every stop, the session can go back to that moment."""
    for _ in range(stops):
        for _ in range(dice.randint(least, 120)):
            history.replay_run.step()
        history.keyframe_cache.maybe_add(history.replay_run)
        if dice.random() < 0.3:
            with contextlib.suppress(ActRefused, KafkaError):
                history.do(an_act(dice))
        history.record_branch_end()
        yield

"""Stopping at states, changes, and events, and going back to them. Both directions find the same moment."""

from __future__ import annotations

import pytest

from core.kafka.events import EventTuple
from core.kafka.release import CURRENT
from core.lab.acts import Kill, Load, Start
from core.lab.cluster import Cluster
from core.lab.history.history import History
from core.sim.units import SECOND
from scenarios.running.watchpoint_parser import parse_watchpoint
from tests.core.lab.history.sessions import SMALL

RATE = 4
"""The rate of the load, in records per second. A view is built after each event, which takes much longer than the event."""


def a_life() -> History:
    """Return a session under load in which broker 2 dies at 5 s and returns at 20 s."""
    history = History.of(SMALL, seed=7)
    history.do(Load("orders", RATE, acks="all"))
    history.run_until(5 * SECOND)
    history.do(Kill(2))
    history.run_until(20 * SECOND)
    history.do(Start(2))
    history.run_until(40 * SECOND)
    return history


WATCHES = [
    "urp > 0",
    "isr(orders-0) < 3",
    "isr(orders-0) changes",
    "isr changes",
    "leader changes",
    "leader-epoch changes",
    "isr-expands changes",
    "fenced(2)",
    "fenced(2) changes",
    "state(2) == stopped",
    "state(2) changes",
    "lost > 0 or urp > 0",
    "broker-fenced",
    "broker-fenced {broker=2}",
    "happened isr-expanded",
    "act {act=kill}",
]


@pytest.fixture(scope="module")
def lived() -> History:
    """Return the session at its end."""
    history = a_life()
    history.record_branch_end()
    return history


@pytest.fixture(scope="module")
def last_moments() -> dict[str, int]:
    """Return the sequence number of the last event after which each condition came true, from one run that looks after each event."""
    watches = {text: parse_watchpoint(text, Cluster(SMALL, CURRENT, 7).view()) for text in WATCHES}

    def sink(event: EventTuple) -> None:
        for watch in watches.values():
            watch.on_event(event)

    cluster = Cluster(SMALL, CURRENT, 7, sink)
    cluster.do(Load("orders", RATE, acks="all"))
    acts, seen = [(5 * SECOND, Kill(2)), (20 * SECOND, Start(2))], 0
    moments: dict[str, int] = {}
    build = Cluster.view
    view = build(cluster)
    with pytest.MonkeyPatch.context() as patch:
        # All conditions look at the same view.
        patch.setattr(Cluster, "view", lambda cluster: view)
        while (due := cluster.next_time()) is not None and due <= 40 * SECOND:
            if acts and due > acts[0][0]:
                cluster.run_until(acts[0][0])
                cluster.do(acts.pop(0)[1])
            else:
                cluster.step()
            if cluster.journal.seq != seen:
                seen = cluster.journal.seq
                view = build(cluster)
                moments.update({text: seen for text, watch in watches.items() if watch.came_true(cluster)})
    return moments


@pytest.mark.parametrize("text", WATCHES)
def test_the_last_moment_found_forward_is_the_one_found_backward(text: str, lived: History, last_moments: dict[str, int]) -> None:
    lived.go_to_end()
    end = lived.end
    back: list[bool] = []
    lived.back_to_when(parse_watchpoint(text, lived.view()), text, back.append)
    assert back == [True]
    found = lived.replay_run.position
    assert found.place < end.place
    assert last_moments[text] == found.seq


def test_forward_it_stops_at_each_change() -> None:
    history = History.of(SMALL, seed=7)
    history.run_until(5 * SECOND)
    history.do(Kill(2))
    stops = []
    for _ in range(3):
        history.stop_when(parse_watchpoint("leader changes", history.view()))
        stops.append((history.cluster.now, {p.tp: p.leader for p in history.view().partitions}))
    assert stops[0][0] > 5 * SECOND
    assert 2 not in stops[0][1].values() or 2 not in stops[1][1].values()
    assert stops[0][1] != {}


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("losst > 0", "did you mean 'lost'?"),
        ("isr(orders-9) changes", "orders-9 does not exist; orders has 2 partitions, numbered from 0"),
        ("lost > 0 changes", "is not a single reading; write, for example, 'isr(orders-0) changes' or 'leader changes'"),
        ("count truncated > 2", "this condition looks at past events; write a state"),
        ("truncated {brokr=2}", "brokr"),
        ("never records-lost", "this condition looks at past events"),
        ("leader-elected {election=nonsense", ""),
    ],
)
def test_a_wrong_condition_is_reported(text: str, told: str) -> None:
    with pytest.raises(ValueError) as wrong:
        parse_watchpoint(text, History.of(SMALL).view())
    assert told in str(wrong.value)

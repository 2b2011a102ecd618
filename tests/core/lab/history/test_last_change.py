"""The last change of a reading: the named event is the one at which the reading got its current value, compared with every step."""

from __future__ import annotations

import random
from typing import Any

import pytest

from core.kafka.events import DETAIL
from core.kafka.ids import TopicPartition
from core.lab.acts import Kill, Load, Produce, Start
from core.lab.history.event_buffer import EventRing
from core.lab.history.history import History
from core.lab.history.last_change import tracked_values_of
from core.lab.views.cluster_view import ClusterView
from core.sim.errors import ActRefused
from core.sim.units import SECOND
from tests.core.lab.history.sessions import SMALL

TP = TopicPartition("orders", 0)


def readings(view: ClusterView, broker: int) -> dict[str, Any]:
    """Return the values of the cells by name."""
    partition = next(p for p in view.partitions if p.tp == TP)
    replica = next(c for c in partition.replica_views if c.broker == broker)
    return {"leader": partition.leader, "isr": sorted(partition.isr), "hw": replica.hw, "leo": replica.leo}


@pytest.mark.parametrize("seed", range(6))
def test_the_event_named_is_the_one_that_changed_the_cell(seed: int) -> None:
    history, dice = History.of(SMALL, seed=7), random.Random(seed)
    history.do(Load("orders", 30, acks="all"))
    lived: dict[int, list[tuple[int, dict[str, Any]]]] = {1: [], 2: [], 3: []}

    def look() -> None:
        view = history.cluster.view()
        for broker, seen in lived.items():
            seen.append((history.replay_run.event_tap.seq, readings(view, broker)))

    look()
    for act in (Kill(2), Start(2), Kill(dice.choice((1, 3))), None):
        for _ in range(dice.randint(200, 900)):
            history.replay_run.step()
            if history.replay_run.event_tap.seq != lived[1][-1][0]:
                look()
        if act is not None and not any(
            b.id == getattr(act, "broker", 0) and b.state == "stopped" and isinstance(act, Kill) for b in history.view().brokers
        ):
            try:
                history.do(act)
            except ActRefused:
                continue
            look()
    view, ring = history.view(), history.event_buffer.ring(DETAIL)
    checked = 0
    for broker, seen in lived.items():
        partition = next(p for p in view.partitions if p.tp == TP)
        shown = next(b for b in view.brokers if b.id == broker)
        for cell in tracked_values_of(partition, shown):
            event = cell.last_change(ring)
            if cell.name == "state":
                continue
            now = seen[-1][1][cell.name]
            assert cell.value == now
            since = next((at for at in range(len(seen) - 1, 0, -1) if seen[at - 1][1][cell.name] != now), None)
            if since is None or event is None:
                continue
            assert seen[since - 1][0] < event[0] <= seen[since][0], (cell.label, event, seen[since - 1], seen[since])
            checked += 1
    assert checked >= 6


def test_what_memory_has_lost_is_not_guessed() -> None:
    history = History.of(SMALL, seed=7)
    history.replay_run.advance_to(2 * SECOND)
    history.do(Produce("orders", 5))
    history.replay_run.advance_to(4 * SECOND)
    view = history.view()
    leader = next(p for p in view.partitions if p.tp == TP).leader
    cells = {cell.name: cell for cell in tracked_values_of(view.partitions[0], next(b for b in view.brokers if b.id == leader))}
    small = EventRing(3)
    for index in range(history.event_buffer.ring(DETAIL).total):
        small.append(history.event_buffer.ring(DETAIL).at(index))
    assert small.first > 0
    assert cells["isr"].last_change(small) is None

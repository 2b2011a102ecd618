"""Back to cause from a cell: the event named is the one at which the value really became what it is, held against every step."""

from __future__ import annotations

import random
from typing import Any

import pytest

from core.kafka.events import DETAIL
from core.kafka.ids import TopicPartition
from core.lab.acts import Kill, Load, Produce, Start
from core.lab.history.rings import Ring, Rings
from core.lab.views.view import ClusterView
from core.sim.units import SECOND
from tests.tui.test_app import playing, screen_text
from tests.tui.test_history import arrive, stage_of
from tui.causes import cells_of
from tui.dialogs import Ask
from tui.session import Session

TP = TopicPartition("orders", 0)


def readings(view: ClusterView, broker: int) -> dict[str, Any]:
    """The cells' values by their keys."""
    partition = next(p for p in view.partitions if p.tp == TP)
    copy = next(c for c in partition.copies if c.broker == broker)
    return {"l": partition.leader, "i": sorted(partition.isr), "h": copy.hw, "e": copy.leo}


@pytest.mark.parametrize("seed", range(6))
def test_the_event_named_is_the_one_that_changed_the_cell(seed: int) -> None:
    session, dice = stage_of().session, random.Random(seed)
    session.do(Load("orders", 30, acks="all"))
    history: dict[int, list[tuple[int, dict[str, Any]]]] = {1: [], 2: [], 3: []}

    def look() -> None:
        view = session.cluster.view()
        for broker, seen in history.items():
            seen.append((session.tape.outlet.seq, readings(view, broker)))

    look()
    for act in (Kill(2), Start(2), Kill(dice.choice((1, 3))), None):
        for _ in range(dice.randint(200, 900)):
            session.tape.step()
            if session.tape.outlet.seq != history[1][-1][0]:
                look()
        if act is not None and not any(
            b.id == getattr(act, "broker", 0) and b.state == "stopped" and isinstance(act, Kill) for b in session.view().brokers
        ):
            try:
                session.do(act)
            except Exception:
                continue
            look()
    view, ring = session.view(), session.rings.of(DETAIL)
    checked = 0
    for broker, seen in history.items():
        partition = next(p for p in view.partitions if p.tp == TP)
        shown = next(b for b in view.brokers if b.id == broker)
        for cell in cells_of(partition, shown):
            event = cell.last_change(ring)
            if cell.key == "b":
                continue
            now = seen[-1][1][cell.key]
            assert cell.value == now
            since = next((at for at in range(len(seen) - 1, 0, -1) if seen[at - 1][1][cell.key] != now), None)
            if since is None or event is None:
                continue
            assert seen[since - 1][0] < event[0] <= seen[since][0], (cell.label, event, seen[since - 1], seen[since])
            checked += 1
    assert checked >= 6


def test_what_memory_has_lost_is_not_guessed() -> None:
    session = stage_of().session
    session.tape.advance_to(2 * SECOND)
    session.do(Produce("orders", 5))
    session.tape.advance_to(4 * SECOND)
    view = session.view()
    leader = next(p for p in view.partitions if p.tp == TP).leader
    cells = {cell.key: cell for cell in cells_of(view.partitions[0], next(b for b in view.brokers if b.id == leader))}
    small = Ring(3)
    for index in range(session.rings.of(DETAIL).total):
        small.append(session.rings.of(DETAIL).at(index))
    assert small.first > 0
    assert cells["i"].last_change(small) is None


async def test_from_a_cell_to_its_event_and_on_to_causes_by_keys() -> None:
    async with playing(until=3 * SECOND) as (app, board, pilot):
        await pilot.press("right", "k")
        board.session.tape.advance_to(20 * SECOND)
        board.refresh_view()
        await pilot.press("backspace")
        assert isinstance(app.screen, Ask)
        assert "ISR of orders-0" in screen_text(app)
        await pilot.press("i")
        await pilot.pause()
        event = board.events.selected
        assert event is not None
        assert board.events.has_focus
        seen = [event[3]]
        while board.events.selected is not None and board.events.selected[2]:
            await pilot.press("less_than_sign")
            await pilot.pause()
            event = board.events.selected
            assert event is not None
            seen.append(event[3])
        assert seen[-1] in ("act", "session-expired", "broker-fenced")
        assert len(seen) >= 2


async def test_an_event_that_memory_has_lost_is_gone_back_to() -> None:
    async with playing(until=3 * SECOND) as (app, board, pilot):
        await pilot.press("less_than_sign")
        assert "has not changed since the start" in screen_text(app)
        await pilot.press("escape")
        session: Session = board.session
        await pilot.press("k")
        session.tape.advance_to(30 * SECOND)
        forgotten = Rings({0: 40, 1: 40, 2: 2})
        for index in range(session.rings.of(DETAIL).first, session.rings.of(DETAIL).total):
            forgotten.take(session.rings.of(DETAIL).at(index))
        end = session.tape.outlet.seq
        session.rings = forgotten
        board.refresh_view()
        await pilot.press("down", "less_than_sign", "l")
        arrive(session)
        board.refresh_view()
        assert session.tape.outlet.seq < end
        found = session.rings.find(session.tape.outlet.seq)
        assert found is not None
        kinds = {session.rings.of(DETAIL).at(i)[3] for i in range(session.rings.of(DETAIL).total - 3, session.rings.of(DETAIL).total)}
        assert "leader-elected" in kinds

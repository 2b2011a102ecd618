"""The lines of the event log: consequences that are folded into their cause, opened, and closed, and events that match words."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from textual.events import Click
from textual.geometry import Size

from core.kafka.events import NOTABLE
from core.lab import acts
from core.lab.act_sentences import sentence
from core.lab.history.event_buffer import EventRing
from core.sim.events import seq_of
from core.sim.units import SECOND
from tests.tui.app.test_playground import playing, screen_text
from tests.tui.main_screen.test_first_minute import hundred
from tui.analysis.word_filter import matcher
from tui.panels import event_rows
from tui.panels.event_rows import LEAST_FOLDED, FoldedRows, MatchingRows
from tui.panels.events import EventLog
from tui.rendering.palette import COLOR


def fenced(seq: int, broker: int, now: int = 0) -> tuple:  # type: ignore[type-arg]
    return (seq, now, 0, "broker-fenced", broker, 9_000_000, 9_000_000)


def elected(seq: int, cause: int, number: int, now: int = 0, election: str = "clean") -> tuple:  # type: ignore[type-arg]
    return (seq, now, cause, "leader-elected", "orders", number, 2, 55, 1, (2, 3), election, "b55 fenced")


def lost(seq: int, cause: int, number: int, now: int = 0) -> tuple:  # type: ignore[type-arg]
    return (seq, now, cause, "records-lost", "orders", number, 2, 0, 5, 9, 1, cause)


def ring_of(*events: tuple) -> EventRing:  # type: ignore[type-arg]
    ring = EventRing(20_000)
    for event in events:
        ring.append(event)
    return ring


def log_of(ring: EventRing, width: int = 160, height: int = 12) -> EventLog:
    log = EventLog(COLOR, ring, id="events")
    log.box = Size(width, height)
    log.post_message = lambda message: True  # type: ignore[method-assign, assignment]
    log.update()
    return log


def lines(log: EventLog) -> list[str]:
    log.update()
    return [line.text.rstrip() for line in log.lines]


def test_a_death_with_many_consequences_is_one_line() -> None:
    log = log_of(ring_of(fenced(1, 55), *(elected(2 + n, 1, n) for n in range(92)), fenced(100, 7)))
    shown = lines(log)
    assert "b55 fenced: 92 new leaders ▸" in shown[1]
    assert "fenced b7" in shown[2]
    assert shown[3] == ""
    assert "Events 94" in shown[0], "as many have happened"


def test_a_long_event_continues_on_the_next_line_and_loses_nothing() -> None:
    said = sentence(fenced(1, 7))
    log = log_of(ring_of(*(fenced(seq, seq) for seq in range(1, 9))), width=60)
    shown = lines(log)
    assert " ".join(" ".join(shown[-3:])[12:].split()).endswith(said.replace("b7", "b8"))
    assert ["…" in line for line in shown].index(True) == 2, "only the first event ends early"
    assert not any("…" in line for line in shown[3:])
    log.go_to(2)
    shown = lines(log)
    assert [line[0] for line in shown if line[:1] == "►"] == ["►"]
    assert " ".join(" ".join(shown[shown.index(next(line for line in shown if line[:1] == "►")) :][:3])[13:].split()).endswith(
        said.replace("b7", "b2")
    ), "the selected event is in sight with all its lines"
    log.on_click(Click(log, 20, 3, 0, 0, 1, shift=False, meta=False, ctrl=False))
    assert log.selected is not None
    assert seq_of(log.selected) == seq_of(log.rows.at(log._top)[0]), "the third line below the headline still belongs to the first event"


def test_a_low_log_shows_only_one_event_on_more_than_one_line() -> None:
    log = log_of(ring_of(*(fenced(seq, seq) for seq in range(1, 9))), width=60, height=6)
    shown = lines(log)
    assert [line[-1] == "…" for line in shown[1:]] == [True, True, False, False, False]
    log.move(-2)
    assert [line[-1] == "…" for line in lines(log)[1:]].count(False) == 3


def test_events_at_the_same_time_show_their_numbers() -> None:
    log = log_of(ring_of(fenced(41, 1), fenced(57, 2), fenced(103, 3, now=SECOND), fenced(104, 4, now=SECOND)))
    assert [line[:11].strip() for line in lines(log)[1:5]] == ["00:00.000", "#57", "00:01.000", "#104"]
    assert [line[:11].strip() for line in lines(log_of(log.ring, height=3))[1:]] == ["00:01.000", "#104"], "the first line has a time"


def test_few_consequences_stand_for_themselves() -> None:
    log = log_of(ring_of(fenced(1, 55), *(elected(2 + n, 1, n) for n in range(LEAST_FOLDED - 1))))
    assert len([line for line in lines(log)[1:] if line]) == LEAST_FOLDED
    assert not any("▸" in line for line in lines(log))


def test_the_line_opens_and_closes() -> None:
    log = log_of(ring_of(fenced(1, 55), *(elected(2 + n, 1, n) for n in range(5)), fenced(100, 7)))
    log.move(-2)
    assert log.selected == fenced(1, 55)
    assert log.toggle()
    shown = lines(log)
    assert "▾" in shown[1]
    assert ["leads orders-" in line for line in shown[2:8]] == [True] * 5 + [False]
    assert all("└ ★" in line for line in shown[2:7])
    log.move(3)
    assert log.selected == elected(4, 1, 2)
    assert not log.toggle(), "nothing is folded into this one"
    log.move(-3)
    assert log.toggle()
    assert len([line for line in lines(log)[1:] if line]) == 2


def test_a_loss_and_an_unclean_election_are_shown_in_the_line() -> None:
    ring = ring_of(fenced(1, 55), *(elected(2 + n, 1, n, election="unclean" if n == 3 else "clean") for n in range(5)), lost(10, 5, 3))
    assert "b55 fenced: LOST in 1 partition, 5 new leaders, 1 of them unclean ▸" in lines(log_of(ring))[1]


def test_what_comes_of_an_event_that_is_not_listed_is_one_line_too() -> None:
    shown = lines(log_of(ring_of(*(elected(20 + n, 3, n) for n in range(6)))))
    assert "6 new leaders ▸" in shown[1]
    assert shown[2] == ""


def test_what_comes_long_after_is_a_line_of_its_own() -> None:
    ring = ring_of(fenced(1, 55), *(elected(2 + n, 1, n) for n in range(5)), elected(50, 1, 77, now=2 * SECOND))
    shown = lines(log_of(ring))
    assert "5 new leaders" in shown[1]
    assert "leads orders-77" in shown[2]


def test_the_selection_stays_when_lines_above_it_are_folded() -> None:
    ring = ring_of(fenced(1, 55), *(elected(2 + n, 1, n) for n in range(LEAST_FOLDED - 1)), fenced(50, 9))
    log = log_of(ring)
    log.move(-1)
    assert log.selected == fenced(50, 9)
    ring.append(elected(60, 1, 99))
    log.update()
    assert log.selected == fenced(50, 9)
    assert f"{LEAST_FOLDED} new leaders" in lines(log)[1]


def test_going_to_an_event_inside_opens_its_line() -> None:
    log = log_of(ring_of(fenced(1, 55), *(elected(2 + n, 1, n) for n in range(30)), fenced(100, 7)))
    assert log.go_to(12)
    assert log.selected == elected(12, 1, 10)
    assert any(line.startswith("►") and "leads orders-10" in line for line in lines(log))


_KINDS = st.sampled_from(["fence", "elect", "lose"])


@given(
    st.lists(st.tuples(_KINDS, st.integers(0, 6), st.integers(0, 3)), max_size=80),
    st.lists(st.integers(0, 79), max_size=6),
    st.integers(1, 5),
)
def test_no_event_is_missing_and_none_stands_twice(drawn: list[tuple[str, int, int]], opened: list[int], stride: int) -> None:
    """This holds for any number of new events at a time, and whatever lines are opened meanwhile."""
    ring, rows, now, came = EventRing(20_000), None, 0, []
    for seq, (kind, back, later) in enumerate(drawn, start=1):
        now += later * SECOND // 3
        cause = max(0, seq - 1 - back)
        event = (
            fenced(seq, seq, now) if kind == "fence" else elected(seq, cause, seq, now) if kind == "elect" else lost(seq, cause, seq, now)
        )
        came.append(event)
        ring.append(event)
        rows = rows or FoldedRows(ring)
        if seq % stride == 0:
            rows.update()
            for at in opened:
                if at < rows.total:
                    rows.toggle(at)
    if rows is None:
        return
    rows.update()
    seen = []
    for at in range(rows.total):
        event, group, _inside = rows.at(at)
        if group is not None:
            assert len(group.members) >= LEAST_FOLDED
            if not group.opened:
                seen += [each[0] for each in group.members if each is not event]
            elif event in group.members:
                continue
        seen.append(event[0])
    assert sorted(seen) == [event[0] for event in came]
    for event in came:
        at = rows.index_of(event[0])
        assert at is not None
        assert rows.at(at)[0] == event


# --- words ---------------------------------------------------------------------------------------------------------


def test_a_number_is_meant_whole_and_a_word_in_part() -> None:
    def has(words: str, text: str) -> bool:
        return matcher(words)(text)

    assert has("b5", "b5 leads orders-55")
    assert not has("b5", "b55 leads orders-55")
    assert has("55", "orders-55")
    assert not has("5", "orders-55")
    assert has("1", "orders-1 ISR [1,2]")
    assert has("2", "ISR [1,2]")
    assert not has("1", "1,000 records")
    assert not has("2", "after 2.5s")
    assert has("OFFLINE orders-", "orders-3 offline")
    assert not has("offline orders-", "payments-3 offline")
    assert has("#12", "#12 broker-fenced")
    assert not has("12", "#12 broker-fenced 3")
    assert has("", "anything")


def test_only_events_with_the_words_are_listed() -> None:
    ring = ring_of(fenced(1, 55), *(elected(2 + n, 1, n) for n in range(30)), fenced(100, 7))
    log = log_of(ring)
    log.filter_by("b7")
    shown = lines(log)
    assert "Events 1 of 32 with 'b7'" in shown[0]
    assert "fenced b7" in shown[1]
    ring.append(fenced(101, 7))
    ring.append(fenced(102, 77))
    assert "Events 2 of 34" in lines(log)[0]
    log.filter_by("orders-12")
    assert "leads orders-12 " in lines(log)[1], "events with the words stand for themselves"
    log.filter_by("nothing")
    assert "No event matches 'nothing'. To change the filter, press /. To clear it, press Esc." in " ".join(map(str.strip, lines(log)))
    log.filter_by("")
    assert "30 new leaders" in lines(log)[1]


@pytest.mark.parametrize("listed", [lambda ring: MatchingRows(ring, "fenced"), FoldedRows])
def test_events_that_the_ring_has_forgotten_are_gone(listed: Callable[[EventRing], Any], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(event_rows, "FORGOTTEN_AT_ONCE", 8)
    ring = EventRing(10)
    rows = listed(ring)
    for seq in range(1, 4_001):
        ring.append(fenced(seq, seq))
        rows.update()
        assert [rows.at(at)[0][0] for at in range(rows.first, rows.total)] == list(range(max(1, seq - 9), seq + 1))
    assert (rows.total, rows.index_of(3_995), rows.index_of(7)) == (4_000, 3_994, None)
    kept = [len(value) for name in ("_found", "_rows", "_groups") if (value := getattr(rows, name, None)) is not None]
    assert max(kept) < 30, "lines of events that are gone take no memory"


def test_a_folded_line_stays_whole_when_the_lines_before_it_are_forgotten(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(event_rows, "FORGOTTEN_AT_ONCE", 8)
    ring = EventRing(20)
    rows = FoldedRows(ring)
    for seq in range(1, 301):
        ring.append(fenced(seq, seq) if seq % 10 == 1 else elected(seq, seq - (seq - 1) % 10, seq))
        rows.update()
        if seq % 30 == 15:
            rows.toggle(rows.total - 1)
        seen = set()
        for at in range(rows.first, rows.total):
            event, group, _ = rows.at(at)
            seen |= {event[0], *(each[0] for each in group.members)} if group is not None else {event[0]}
        assert {event[0] for event in ring.since(ring.first)} <= seen | set(range(ring.first + 1, ring.first + 11))


async def test_words_filter_partitions_brokers_and_events_on_the_overview() -> None:
    async with playing(hundred(), size=(120, 40), until=SECOND) as (app, main_screen, pilot):
        main_screen.session.history.do(acts.Kill(55))
        main_screen.session.history.replay_run.advance_to(13 * SECOND)
        main_screen.refresh_view()
        await pilot.press("slash", *"b55", "enter")
        await pilot.pause()
        text = screen_text(app)
        assert "Brokers 1 of 100, 0 up · ✕ b55 stopped" in text
        assert "'b55' only, of 600" in text
        assert 0 < len(main_screen.panels.grid.order) < 60
        assert all(55 in p.replicas for p in main_screen.panels.grid.order)
        assert main_screen.selection.broker == 55
        assert main_screen.selection.partition in {p.tp for p in main_screen.panels.grid.order}
        assert "with 'b55'" in text
        await pilot.press("escape")
        assert len(main_screen.panels.grid.order) == 600
        assert "Brokers 99 of 100 up" in screen_text(app)
        assert main_screen.panels.events.ring is main_screen.session.history.event_buffer.ring(NOTABLE)


async def test_words_that_name_a_topic_leave_all_brokers_there() -> None:
    async with playing(size=(80, 24), until=3 * SECOND) as (app, main_screen, pilot):
        await pilot.press("slash", *"payments-", "enter")
        await pilot.pause()
        assert "Brokers 3 of 3 up" in screen_text(app)
        assert [p.tp.topic for p in main_screen.panels.grid.order] == ["payments"] * 3
        await pilot.press("slash", *"under-min", "enter")
        await pilot.pause()
        assert "press / to change the words, or Esc to show" in screen_text(app)


async def test_a_death_on_a_large_cluster_is_one_line_on_the_screen_and_enter_opens_it() -> None:
    async with playing(hundred(), size=(80, 24), until=SECOND) as (app, main_screen, pilot):
        main_screen.session.history.do(acts.Kill(55))
        main_screen.session.history.replay_run.advance_to(13 * SECOND)
        main_screen.refresh_view()
        await pilot.pause()
        text = screen_text(app)
        assert "b55 fenced: " in text
        assert " new leaders ▸" in text
        assert "leads orders-" not in text
        await pilot.press("tab", "up", "enter")
        await pilot.pause()
        assert "▾" in screen_text(app)
        await pilot.press("down")
        assert main_screen.panels.events.selected is not None
        assert main_screen.panels.events.selected[3] == "leader-elected"

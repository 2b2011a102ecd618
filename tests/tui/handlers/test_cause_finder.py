"""The keys that find causes: from a value to the event that last changed it, and from an event to its cause."""

from __future__ import annotations

from core.kafka.events import DETAIL, NORMAL, NOTABLE
from core.lab.history.event_buffer import EventBuffer
from core.sim.units import SECOND, format_clock
from tests.tui.app.test_playground import playing, screen_text
from tests.tui.fake_screen import FakeScreen
from tests.tui.session.test_history import arrive
from tui.dialogs.question import QuestionDialog
from tui.handlers.cause_finder import CauseFinder
from tui.handlers.time_travel import TimeTravel
from tui.session.session import Session


async def test_from_a_cell_to_its_event_and_on_to_causes_by_keys() -> None:
    async with playing(until=3 * SECOND) as (app, main_screen, pilot):
        await pilot.press("right", "k")
        main_screen.session.history.replay_run.advance_to(20 * SECOND)
        main_screen.refresh_view()
        await pilot.press("backspace")
        assert isinstance(app.screen, QuestionDialog)
        assert "ISR of orders-0" in screen_text(app)
        await pilot.press("i")
        await pilot.pause()
        event = main_screen.panels.events.selected
        assert event is not None
        assert main_screen.panels.events.has_focus
        seen = [event[3]]
        while main_screen.panels.events.selected is not None and main_screen.panels.events.selected[2]:
            await pilot.press("less_than_sign")
            await pilot.pause()
            event = main_screen.panels.events.selected
            assert event is not None
            seen.append(event[3])
        assert seen[-1] in ("act", "session-expired", "broker-fenced")
        assert len(seen) >= 2


async def test_an_event_that_memory_has_lost_is_gone_back_to() -> None:
    async with playing(until=3 * SECOND) as (app, main_screen, pilot):
        await pilot.press("less_than_sign")
        assert "has not changed since the start" in screen_text(app)
        await pilot.press("escape")
        session: Session = main_screen.session
        await pilot.press("k")
        session.history.replay_run.advance_to(30 * SECOND)
        forgotten = EventBuffer({0: 40, 1: 40, 2: 2})
        for index in range(session.history.event_buffer.ring(DETAIL).first, session.history.event_buffer.ring(DETAIL).total):
            forgotten.append(session.history.event_buffer.ring(DETAIL).at(index))
        end = session.history.replay_run.event_tap.seq
        session.history.event_buffer = forgotten
        main_screen.refresh_view()
        await pilot.press("down", "less_than_sign", "l")
        arrive(session)
        main_screen.refresh_view()
        assert session.history.replay_run.event_tap.seq < end
        found = session.history.event_buffer.find(session.history.replay_run.event_tap.seq)
        assert found is not None
        kinds = {
            session.history.event_buffer.ring(DETAIL).at(i)[3]
            for i in range(session.history.event_buffer.ring(DETAIL).total - 3, session.history.event_buffer.ring(DETAIL).total)
        }
        assert "leader-elected" in kinds


def test_a_cause_that_is_no_longer_in_memory_is_gone_back_to_and_the_dialog_says_what_is_in_memory() -> None:
    screen = FakeScreen()
    history = screen.session.history
    history.event_buffer = EventBuffer({DETAIL: 600, NORMAL: 600, NOTABLE: 600})
    history.run_until(20 * SECOND)
    travel = TimeTravel(screen.session, screen)
    finder = CauseFinder(screen.session, screen, travel)
    assert history.event_buffer.find(40) is None
    oldest = history.event_buffer.ring(DETAIL).since(0)[0]
    travel.go_to()
    assert f"All events since {format_clock(oldest[1])} are in memory." in screen.about
    assert "repeated from a keyframe" in screen.about
    end = history.replay_run.position
    finder.show_or_go_back(40)
    arrive(screen.session)
    assert history.replay_run.event_tap.seq in range(40, 60)
    found = history.event_buffer.find(40)
    assert found is not None
    assert found[0] == 40
    history.go_to_end()
    arrive(screen.session)
    assert history.replay_run.position == end

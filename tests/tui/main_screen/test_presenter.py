"""The presenter: the content that it computes from a frozen frame, without a screen."""

from __future__ import annotations

import pytest

from core.kafka.events import DETAIL
from core.lab import acts
from core.lab.spec import Pace
from core.sim.units import SECOND
from tests.tui.fake_screen import FakeScreen


def text(lines: object) -> str:
    return "\n".join(strip.text for strip in lines)  # type: ignore[attr-defined]


@pytest.fixture
def screen() -> FakeScreen:
    return FakeScreen(until=3 * SECOND)


def test_the_header_tells_the_session_and_the_view(screen: FakeScreen) -> None:
    clock = screen.presenter.clock(screen.frame())
    assert (clock.now, clock.playing, clock.speed, clock.title, clock.branch) == (3 * SECOND, False, 1.0, "three brokers under load", "")
    assert (clock.past, clock.task_target) == (-1, None)


def test_the_past_is_shown_with_its_distance_from_the_end(screen: FakeScreen) -> None:
    screen.session.history.do(acts.Kill(1))
    screen.session.history.replay_run.advance_to(5 * SECOND)
    screen.session.history.undo(lambda: None)
    screen.arrive()
    clock = screen.presenter.clock(screen.frame())
    assert clock.past == 2 * SECOND
    assert clock.events_past > 0


def test_a_context_has_what_is_selected_and_what_holds(screen: FakeScreen) -> None:
    screen.selection.choose(broker=2)
    context = screen.presenter.context(screen.frame(focus="brokers"))
    assert (context.the_broker.id, context.focus, context.pace, context.can_undo) == (2, "brokers", Pace.TIMELINE, False)
    assert context.setting("min.insync.replicas", None) == 2
    screen.session.history.do(acts.Set("min.insync.replicas", "1"))
    assert context.setting("min.insync.replicas", None) == 2, "a frame is one moment"
    after = screen.presenter.context(screen.frame())
    assert after.setting("min.insync.replicas", None) == 1
    assert after.can_undo


def test_unclean_election_is_shown_in_the_note_of_the_brokers(screen: FakeScreen) -> None:
    presenter = screen.presenter
    assert presenter.settings_note(screen.frame(), 120) == "unclean election off"
    screen.session.history.do(acts.Set("unclean.leader.election.enable", "true", topic="orders"))
    assert presenter.settings_note(screen.frame(), 120) == "unclean election off, ON for orders"
    screen.session.history.do(acts.Set("unclean.leader.election.enable", "true"))
    assert presenter.settings_note(screen.frame(), 120) == "unclean election ON"


def test_what_has_the_keys_is_shown_in_full(screen: FakeScreen) -> None:
    presenter, paint = screen.presenter, screen.paint
    title, lines, _ = presenter.selected_in_full(screen.frame(), paint, 80)
    assert (title, "orders-0" in text(lines)) == ("Partition", True)
    title, lines, _ = presenter.selected_in_full(screen.frame(focus="brokers"), paint, 80)
    assert title == "Broker b1"
    ring = screen.session.history.event_buffer.ring(DETAIL)
    event = next(ring.at(at) for at in range(ring.first, ring.total) if ring.at(at)[2])
    title, lines, note = presenter.selected_in_full(screen.frame(focus="events", event=event), paint, 80)
    assert (title, note) == ("Why", "< goes to its cause")
    title, lines, _ = presenter.selected_in_full(screen.frame(), paint, 80, everything=True)
    assert all(word in text(lines) for word in ("orders-0", "Broker b1", "last notable event"))


def test_nothing_selected_is_said(screen: FakeScreen) -> None:
    from tui.actions.selection import Selection

    screen.presenter.selection = Selection()
    assert screen.presenter.selected_in_full(screen.frame(), screen.paint, 80)[0] == "Nothing selected"


def test_a_mark_is_described_by_its_event(screen: FakeScreen) -> None:
    screen.session.history.do(acts.Kill(1))
    mark = screen.session.history.branch.marks[-1]
    assert screen.presenter.mark_text(screen.frame(), mark).endswith("⏎ goes to the event")
    assert f"#{mark.seq} " in screen.presenter.mark_text(screen.frame(), mark)
    assert screen.presenter.mark_text(screen.frame(), None) == ""

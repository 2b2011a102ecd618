"""Views of a session: exact at rest and, while the session moves, exact for the offsets on the screen."""

from __future__ import annotations

from core.kafka.ids import TopicPartition
from core.sim.units import SECOND
from tui.main_screen.view_source import ViewSource
from tui.session.loading import load_session

FIRST = TopicPartition("orders", 0)
OTHER = TopicPartition("orders", 1)


def leo(view: object, tp: TopicPartition) -> int:
    return next(max(replica.leo for replica in p.replica_views) for p in view.partitions if p.tp == tp)  # type: ignore[attr-defined]


def test_a_session_that_rests_is_looked_at_exactly() -> None:
    session = load_session(None).session
    source = ViewSource(session)
    session.history.pause()
    session.history.replay_run.advance_to(2 * SECOND)
    assert source.take(None) == session.history.view()
    assert not source.has_stale


def test_one_that_moves_has_the_offsets_that_are_shown() -> None:
    session = load_session(None).session
    source = ViewSource(session)
    session.playback.play()
    source.take(FIRST)
    source.shown = (FIRST,)
    session.history.replay_run.advance_to(2 * SECOND)
    source.take(FIRST)
    exact = session.history.view()
    assert leo(source.view, FIRST) == leo(exact, FIRST)
    source.refresh_offsets([OTHER], FIRST)
    assert leo(source.view, OTHER) == leo(exact, OTHER)


def test_a_view_stays_as_it_is() -> None:
    session = load_session(None).session
    source = ViewSource(session)
    before, seq = source.view, source.view.seq
    session.history.replay_run.advance_to(2 * SECOND)
    assert before.seq == seq < source.take(None).seq

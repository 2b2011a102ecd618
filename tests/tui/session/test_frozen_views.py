"""The views that screens get from a session never change, whatever the cluster does next."""

from __future__ import annotations

from core.kafka.ids import TopicPartition
from core.lab import acts
from core.sim.units import SECOND
from tui.session.loading import load_session

NAME = "min.insync.replicas"


def test_settings_are_those_of_their_moment() -> None:
    session = load_session(None).session
    before = session.settings()
    session.history.do(acts.Set(NAME, "1", topic="orders"))
    after = session.settings()
    assert (before.get(NAME, topic="orders"), after.get(NAME, topic="orders")) == (2, 1)
    assert (before.origin(NAME, topic="orders"), after.origin(NAME, topic="orders")) == ("cluster", "topic")
    assert after.release is before.release


def test_settings_are_copied_when_something_was_done_and_not_before() -> None:
    session = load_session(None).session
    first = session.settings()
    session.history.replay_run.advance_to(2 * SECOND)
    assert session.settings() is first
    session.history.do(acts.Set(NAME, "1"))
    assert session.settings() is not first


def test_settings_go_back_in_time_too() -> None:
    session = load_session(None).session
    session.history.replay_run.advance_to(SECOND)
    session.history.do(acts.Set(NAME, "1"))
    assert session.settings().get(NAME) == 1
    session.history.undo(lambda: None)
    while session.history.task is not None:
        session.history.continue_task()
    assert session.settings().get(NAME) == 2


def test_a_partition_in_full_and_how_far_the_run_is_stay_as_they_were() -> None:
    session = load_session(None).session
    session.history.replay_run.advance_to(SECOND)
    detail, run = session.history.cluster.partition_detail(TopicPartition("orders", 0)), session.run_so_far()
    leo = detail.view.replica_views[0].leo
    session.history.do(acts.Kill(1))
    session.history.replay_run.advance_to(3 * SECOND)
    assert (
        detail.view.replica_views[0].leo
        == leo
        < session.history.cluster.partition_detail(TopicPartition("orders", 0)).view.replica_views[0].leo
    )
    assert len(session.run_so_far().acts) == len(run.acts) + 1
    assert session.history.cluster.now == 3 * SECOND

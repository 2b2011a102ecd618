"""Handlers without a real screen: their effects on the session, their messages, and their questions."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import attrs
import pytest

from core.kafka.ids import TopicPartition
from core.lab import acts
from core.sim.units import SECOND
from tests.tui.fake_screen import FakeScreen
from tui.actions.all_actions import ACTIONS, BROKER, BY_ID
from tui.handlers.action_runner import ActionRunner
from tui.handlers.cause_finder import CauseFinder
from tui.handlers.playback_controls import PlaybackControls
from tui.handlers.saving import Saving
from tui.handlers.time_travel import TimeTravel
from tui.session.playback import AS_FAST_AS_IT_CAN


class Desk:
    """All handlers on a fake screen."""

    def __init__(self, until: int = 3 * SECOND) -> None:
        self.screen = screen = FakeScreen(until=until)
        self.session = screen.session
        self.travel = TimeTravel(self.session, screen)
        self.cause_finder = CauseFinder(self.session, screen, self.travel)
        self.controls = PlaybackControls(self.session, screen)
        self.saving = Saving(screen.loaded, screen)
        self.called: list[str] = []
        calls: dict[str, Callable[[], object]] = {
            name: lambda name=name: self.called.append(name)
            for name in (a.call for a in ACTIONS)
            if name  # type: ignore[misc]
        }
        self.pages: list[str] = []
        self.runner = ActionRunner(screen.loaded, screen, screen.selection, self.saving, calls, self.pages.append)

    @property
    def said(self) -> str:
        return self.screen.said[-1][0]


@pytest.fixture
def desk() -> Desk:
    return Desk()


# --- acts ----------------------------------------------------------------------------------------------------------


def test_an_action_acts_and_says_it(desk: Desk) -> None:
    desk.runner.run("kill")
    assert desk.screen.said == [("kill b1", False)]
    assert desk.saving.unsaved == 1
    assert not desk.screen.view.broker(1).up


def test_an_impossible_action_says_why_and_does_nothing(desk: Desk) -> None:
    desk.runner.run("start")
    assert desk.screen.said[-1][1]
    assert desk.saving.unsaved == 0


def test_an_answer_acts(desk: Desk) -> None:
    desk.runner.run("cut")
    desk.screen.answer("cut b1 ↔ b2")
    assert "cut b1 and b2" in desk.said


def test_actions_that_call_or_open_a_page_do_that(desk: Desk) -> None:
    desk.runner.run("help")
    desk.runner.run("screen-metrics")
    assert (desk.called, desk.pages) == (["show_help"], ["metrics"])


def test_a_new_topic_is_selected(desk: Desk) -> None:
    desk.runner.execute((acts.CreateTopic("new", 1, 1),))
    assert desk.screen.selection.partition == TopicPartition("new", 0)


def test_a_refusal_of_the_cluster_is_said_and_ends_the_acts(desk: Desk) -> None:
    desk.runner.execute((acts.Kill(1), acts.Kill(1), acts.Kill(2)))
    assert desk.screen.said[-1][1]
    assert desk.saving.unsaved == 1
    assert desk.screen.view.broker(2).up


def test_the_menu_offers_the_acts_of_a_group(desk: Desk) -> None:
    desk.runner.menu("b1", (BROKER,))
    question, _ = desk.screen.asked[-1]
    assert [o.label for o in question.options] == [a.label for a in ACTIONS if a.acts and a.group == BROKER]
    desk.screen.answer(BY_ID["kill"].label)
    assert desk.said == "kill b1"


# --- time ----------------------------------------------------------------------------------------------------------


def test_play_and_pause(desk: Desk) -> None:
    desk.controls.toggle_play()
    assert desk.session.playback.playing
    desk.controls.toggle_play()
    assert not desk.session.playback.playing


def test_full_speed_goes_back_to_the_speed_before(desk: Desk) -> None:
    desk.controls.faster()
    desk.controls.full_speed()
    assert desk.session.playback.speed == AS_FAST_AS_IT_CAN
    desk.controls.full_speed()
    assert desk.session.playback.speed == 2.0


def test_a_step_says_what_it_did(desk: Desk) -> None:
    desk.runner.run("kill")
    desk.controls.step_notable()
    desk.screen.arrive()
    desk.controls.report_notices()
    count = len(desk.screen.said)
    assert desk.said.startswith("#")
    desk.controls.report_notices()
    assert len(desk.screen.said) == count, "once"


def test_undo_and_redo(desk: Desk) -> None:
    desk.runner.run("kill")
    desk.travel.undo()
    desk.screen.arrive()
    assert desk.said.startswith("undone: kill b1")
    assert desk.screen.view.broker(1).up
    desk.travel.redo()
    desk.screen.arrive()
    assert not desk.screen.view.broker(1).up


def test_going_to_a_moment_by_its_time_and_by_its_event(desk: Desk) -> None:
    desk.travel.go_to()
    desk.screen.fill_in("1s")
    desk.screen.arrive()
    assert desk.session.history.cluster.now == SECOND
    desk.travel.go_to()
    last = desk.session.history.end.seq
    desk.screen.fill_in(f"#{last // 2}")
    desk.screen.arrive()
    assert last // 2 <= desk.screen.view.seq < last


@pytest.mark.parametrize("text", ["12", "#", "#0", "#99999999", "soon"])
def test_a_wrong_moment_is_reported_while_it_is_typed(desk: Desk, text: str) -> None:
    desk.travel.go_to()
    assert desk.screen.lines[-1][1](text)


def test_what_differs_from_a_moment_that_was_left(desk: Desk) -> None:
    desk.travel.go_to_time(SECOND)
    desk.screen.arrive()
    desk.travel.diff()
    desk.screen.answer("before the last jump")
    assert desk.screen.shown[-1][0] == "Difference"


def test_a_mark_is_gone_to_and_without_one_it_is_said_how_to_choose_one(desk: Desk) -> None:
    desk.travel.go_to_mark(None)
    assert "choose a mark" in desk.said
    desk.runner.run("kill")
    desk.session.history.replay_run.advance_to(5 * SECOND)
    mark = desk.session.history.branch.marks[-1]
    desk.travel.go_to_mark(mark)
    desk.screen.arrive()
    assert desk.screen.view.seq == mark.seq


# --- causes --------------------------------------------------------------------------------------------------------


def test_from_a_reading_to_the_event_that_changed_it_last(desk: Desk) -> None:
    desk.runner.run("kill")
    desk.session.history.replay_run.advance_to(15 * SECOND)
    desk.cause_finder.ask_for_reading()
    desk.screen.answer("ISR")
    assert desk.screen.events_shown


def test_a_cause_that_memory_has_is_shown_and_another_gone_back_to(desk: Desk) -> None:
    desk.cause_finder.show_or_go_back(desk.screen.view.seq)
    assert desk.screen.events_shown == [desk.screen.view.seq]


# --- saving --------------------------------------------------------------------------------------------------------


def test_a_session_is_saved_under_a_name(desk: Desk, tmp_path: Path) -> None:
    desk.runner.run("kill")
    desk.saving.save()
    desk.screen.fill_in(str(tmp_path / "it.yaml"))
    assert (tmp_path / "it.yaml").exists()
    assert desk.saving.unsaved == 0


def test_what_is_not_saved_is_asked_for_before_the_end(desk: Desk) -> None:
    ended: list[bool] = []
    desk.saving.confirm_unsaved("Quit", "quit", "q", lambda: ended.append(True))
    assert ended == [True]
    desk.runner.run("kill")
    desk.saving.confirm_unsaved("Quit", "quit", "q", lambda: ended.append(True))
    assert ended == [True]
    desk.screen.answer("quit")
    assert ended == [True, True]


def test_a_partition_is_copied_as_kafka_topics_says_it(desk: Desk) -> None:
    desk.saving.copy()
    assert desk.screen.copied.startswith("Topic: orders")


def test_read_only_nobody_acts() -> None:
    desk = Desk()
    loaded = attrs.evolve(desk.screen.loaded, read_only=True)
    ActionRunner(loaded, desk.screen, desk.screen.selection, desk.saving, {}, print).execute((acts.Kill(1),))
    assert desk.screen.said[-1][1]
    assert desk.screen.view.broker(1).up

"""A lesson in a session: it comes to its end as without a screen, and goes back to earlier steps."""

from __future__ import annotations

import pytest

from core.lab.acts import Kill, Pause, Produce
from scenarios.lessons.headless import HeadlessLesson
from scenarios.lessons.lessons_library import find_lesson, lesson_names
from scenarios.lessons.phases import Phase
from scenarios.lessons.player import Player
from scenarios.lessons.progress import LessonProgress
from tui.lessons.lessons_page import lesson_target
from tui.session.lesson_run import LessonRun
from tui.session.loading import load_session


def begin(player: Player) -> LessonRun:
    again = player.phase is Phase.AGAIN
    run = LessonRun(load_session(lesson_target(player.lesson, player if again else None)).session, player)
    run.begin()
    return run


def answer(run: LessonRun) -> None:
    """Do what the person does: answer rightly, and otherwise press Enter."""
    choices = run.player.choices
    run.enter(next((number for number, choice in enumerate(choices) if choice.right), 0))


@pytest.mark.parametrize("name", lesson_names())
def test_a_lesson_in_a_session_says_what_it_says_without_a_screen(name: str) -> None:
    lesson = find_lesson(name)
    headless = HeadlessLesson(lesson)
    headless.play()
    said: list[str] = []
    run = begin(Player(lesson))
    while run.player.phase is not Phase.END:
        assert run.player.phase is not Phase.STUCK, run.player.stuck
        for text in (run.player.now.said, run.player.now.replied):
            if text and text not in said[-2:]:
                said.append(text)
        if run.player.phase is Phase.AGAIN:
            run = begin(run.player)
        else:
            answer(run)
    assert [*said, run.player.now.said] == headless.texts
    assert run.player.table == headless.player.table
    assert run.player.now.compared == headless.player.now.compared


@pytest.mark.parametrize(("name", "step"), [("hw-and-leo", 12), ("epochs", 13), ("transaction-hangs", 10)])
def test_a_lesson_goes_on_at_the_step_that_was_reached(name: str, step: int) -> None:
    lesson = find_lesson(name)
    target = lesson_target(lesson, progress=LessonProgress(step, len(lesson.steps)))
    assert target.player is not None
    run = begin(target.player)
    while run.player.phase is Phase.AGAIN:
        run = begin(run.player)
    assert run.player.now.index == step - 1
    assert run.player.now.wrong == 0
    assert not run.session.playback.playing


def test_a_step_back_undoes_what_was_done_since() -> None:
    run = begin(Player(find_lesson("hw-and-leo")))
    history, came = run.session.history, []
    while run.player.phase is not Phase.ACT:
        answer(run)
    here = run.player.now.index
    history.do(Produce("orders", 7))
    run.settle()
    assert run.player.now.index == here
    assert run.player.now.replied.startswith("That was another number")
    assert run.back(lambda: came.append(1))
    assert (run.player.now.index, run.player.now.replied, history.view().partitions[0].committed) == (here, "", 0)
    assert history.view().partitions[0].accepted == 0
    history.do(Produce("orders", 10))
    assert run.settle()
    assert run.player.now.index == here + 1
    for _ in range(2):
        run.back(lambda: came.append(1))
    assert run.player.now.index == here - 1
    assert history.view().partitions[0].accepted == 0
    assert len(came) == 3
    assert not all(run.back(lambda: None) for _ in range(here))


def test_a_lesson_that_is_stuck_goes_on_after_a_step_back() -> None:
    run = begin(Player(find_lesson("hw-and-leo")))
    while run.player.step.wait_for is None:
        answer(run)
    answer(run)
    assert run.player.phase is Phase.READ
    run.session.history.do(Kill(1))
    while run.player.phase is not Phase.STUCK:
        answer(run)
    assert "refused" in run.player.stuck or "expects" in run.player.stuck
    while run.session.history.view().brokers[0].state != "running":
        assert run.back(lambda: None)
    for _ in range(3):
        answer(run)
    assert run.player.phase is not Phase.STUCK


def test_a_lesson_that_acts_itself_first_takes_back_what_was_done_in_vain() -> None:
    """Otherwise, the wrong act would leave the lesson at a dead end later."""
    run = begin(Player(find_lesson("who-is-in-sync")))
    history, came = run.session.history, []
    while run.player.phase is not Phase.ACT:
        answer(run)
    here = run.player.now.index
    history.do(Pause(2))
    run.settle()
    assert run.player.now.replied.startswith("That was another broker")
    run.enter(0, lambda: came.append(run.player.now.index))
    assert came == [here + 1]
    assert [broker.state.value for broker in history.view().brokers] == ["running", "running", "paused"]
    assert run.player.now.helped == 1
    while run.player.phase is not Phase.END:
        assert run.player.phase is not Phase.STUCK, run.player.stuck
        answer(run)

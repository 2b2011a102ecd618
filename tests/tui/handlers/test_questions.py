"""Questions about the cluster on the screen: Q."""

from __future__ import annotations

from core.kafka.release import CURRENT
from core.kafka.topic_spec import TopicSpec
from core.lab.spec import BrokerSpec, ClusterSpec, Pace
from core.sim.units import SECOND
from scenarios.questions.all_questions import QUESTIONS
from scenarios.questions.asked import Answer, AskedCluster
from tests.tui.app.test_playground import playing, screen_text
from tests.tui.fake_screen import FakeScreen
from tests.tui.handlers.test_time_travel import settled, write
from tui.dialogs.details import DetailsDialog
from tui.dialogs.text_line import TextLineDialog
from tui.handlers.questions import ClusterQuestions, paint_answer
from tui.rendering.palette import palette_of
from tui.session.play_target import PlayTarget


async def test_a_question_about_brokers_is_answered_in_a_dialog() -> None:
    async with playing(until=2 * SECOND) as (app, main_screen, pilot):
        before = main_screen.session.history.view().seq
        await pilot.press("Q")
        await settled(main_screen, pilot)
        assert "Ask about this cluster" in screen_text(app)
        await pilot.press("1")
        await settled(main_screen, pilot)
        assert isinstance(app.screen, TextLineDialog)
        await write(app, pilot, "1,2")
        await settled(main_screen, pilot)
        assert isinstance(app.screen, DetailsDialog)
        assert "No: do not stop b1, b2 together." in screen_text(app)
        await pilot.press("escape")
        assert main_screen.session.history.view().seq == before, "the session does not change"


async def test_a_wrong_broker_is_named_while_typing() -> None:
    async with playing(until=2 * SECOND) as (app, main_screen, pilot):
        await pilot.press("Q")
        await settled(main_screen, pilot)
        await pilot.press("1")
        await settled(main_screen, pilot)
        await write(app, pilot, "9")
        assert "'9' is not a broker" in screen_text(app)


async def test_a_copy_is_run_in_slices_that_escape_cancels() -> None:
    async with playing(until=2 * SECOND) as (app, main_screen, pilot):
        session = main_screen.session
        before = session.history.view()
        expected = QUESTIONS["rolling-restart"].answer(AskedCluster(session.history.cluster, "this cluster"), [])
        session.history.yield_policy = lambda task: lambda: True  # each slice is one step of the copy
        work_later, main_screen._work_later = main_screen._work_later, lambda: None  # type: ignore[method-assign]
        await pilot.press("Q", "2")
        await write(app, pilot, "")
        assert "answering rolling-restart  0%  Esc cancels" in screen_text(app)
        assert app.screen is main_screen, "no answer is shown yet"
        await pilot.press("escape")
        assert "answering" not in screen_text(app)
        assert session.history.task is None
        session.history.yield_policy = session.playback.slice_limit
        main_screen._work_later = work_later  # type: ignore[method-assign]
        await pilot.press("Q", "2")
        await write(app, pilot, "")
        await settled(main_screen, pilot)
        assert isinstance(app.screen, DetailsDialog)
        said = " ".join(app.screen.text.split())
        assert expected.verdict in said
        assert all(" ".join(line.split()) in said for line in expected.lines)
        assert session.history.view() == before, "the session does not change"


def test_a_question_that_cannot_be_answered_says_why() -> None:
    by_hand = ClusterSpec((BrokerSpec(1),), topics=(TopicSpec("orders", 1, 1),), pace=Pace.BY_HAND)
    screen = FakeScreen(PlayTarget(scenario=None, spec=by_hand, release=CURRENT))
    ClusterQuestions(screen.session, screen).choose()
    screen.answer("What happens if these brokers die?")
    screen.session.history.yield_policy = lambda task: lambda: True
    screen.fill_in("lose 1")
    screen.arrive()
    assert screen.said == [("the answer comes from running a copy, and this cluster can run only in by-hand mode", True)]
    assert not screen.shown


def test_each_point_of_an_answer_has_one_bullet() -> None:
    paint = palette_of("dark")
    plain = paint_answer(Answer("Yes.", ("one", "two, which is longer than a line"), "how"), paint, 24)
    assert [line.text.rstrip() for line in plain] == ["Yes.", "· one", "· two, which is longer", "  than a line", "how"]
    listed = paint_answer(Answer("No.", ("brokers:", "· b1", "· b2"), "how"), paint, 24)
    assert [line.text.rstrip() for line in listed] == ["No.", "brokers:", "· b1", "· b2", "how"]

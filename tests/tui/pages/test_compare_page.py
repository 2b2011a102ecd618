"""Runs in lockstep: other settings, another release or branch, the first event that differs, repeated and refused acts, and time travel."""

from __future__ import annotations

import attrs
import pytest
from textual.pilot import Pilot

from core.kafka.release import RELEASES, Release
from core.lab import acts
from core.lab.history.parallel_run import FirstDifference, ParallelRun
from core.sim.units import SECOND
from scenarios import catalogue
from scenarios.running.client_summary import ClientSummary
from scenarios.variations.variation import VariedRun, read_variations
from tests.tui.app.test_playground import playing, screen_text
from tests.tui.states import partition, replica, view_of
from tui.main_screen.screen import MainScreen
from tui.pages.compare_painting import Column, hidden_difference, paint_compare
from tui.rendering.palette import COLOR
from tui.session.loading import LoadedSession, load_session
from tui.session.play_target import PlayTarget
from tui.session.session import Session


def session_of(name: str, release: str) -> LoadedSession:
    scenario = catalogue.load(name)
    return load_session(PlayTarget(scenario, scenario.spec, Release.named(release), title=name))


def catch_up(other: ParallelRun, session: Session) -> None:
    replay_run = session.history.replay_run
    while not other.advance_to(session.history.view().now, replay_run.steps, replay_run.acts[: replay_run.acts_done]):
        pass


def test_a_scenario_by_hand_goes_step_by_step_under_both() -> None:
    loaded = session_of("e1-data-loss", "4.3")
    other = ParallelRun("Kafka 0.10.2", loaded.under(RELEASES["0.10.2"]))
    replay_run = loaded.session.history.replay_run
    while replay_run.playable.stepwise and replay_run.step():
        catch_up(other, loaded.session)
        assert other.replay_run.steps <= replay_run.steps
        parted = other.compare(loaded.session.history.event_buffer, settled=True)
        assert (parted is None) == (other.view().exposed == loaded.session.history.view().exposed == 0 == other.view().lost)
    catch_up(other, loaded.session)
    assert (loaded.session.history.view().lost, other.view().lost) == (0, 1)
    parted = other.compare(loaded.session.history.event_buffer)
    assert parted is not None
    assert parted.there is not None
    assert parted.there[3] == "truncated"


def test_differences_stand_first_and_are_marked() -> None:
    fine = partition(replica(1, 10, 10), replica(2, 10, 10))
    bad = attrs.evolve(partition(replica(1, 10, 10), replica(2, 8, 8, in_isr=False)), lost=3)
    lines, count = paint_compare((Column("here", view_of(fine)), Column("there", view_of(bad))), ("a note",), COLOR, (80, 21), 0)
    text = [line.text for line in lines]
    assert count == 1
    assert "1 of 1 partitions differ" in text[0]
    assert all(len(line) == 80 for line in text)
    (row,) = [line for line in text if "orders-0" in line]
    assert "≠" in row
    assert "[1,2] HW 10 LEO 10/10" in row
    assert "[1] HW 10 LEO 10/8 lost 3" in row
    assert "a note" in "\n".join(text)
    assert "All events so far are the same, although the states differ." in "\n".join(text)


def test_the_difference_of_two_events_with_the_same_sentence_is_shown() -> None:
    one = (7, 20 * SECOND, 6, "broker-started", 2, False, 1_500_164)
    two = (*one[:6], 1_500_324)
    assert hidden_difference(FirstDifference(7, one, two)) == ["The events differ in recovery, µs: 1500164 and 1500324."]
    late = (7, 20 * SECOND + 3, *one[2:])
    assert hidden_difference(FirstDifference(7, one, late)) == ["The events differ in time, µs: 20000000 and 20000003."]
    assert (
        hidden_difference(FirstDifference(7, one, (*one[:4], 3, *one[5:])))
        == hidden_difference(FirstDifference(7, one, None))
        == hidden_difference(None)
        == []
    )


def test_what_only_one_run_has_had_is_where_they_part() -> None:
    loaded = load_session(None)
    session = loaded.session
    session.history.replay_run.advance_to(SECOND)
    main = ParallelRun("main", loaded.under(RELEASES["4.3"]), acts=tuple(session.history.replay_run.acts), end=SECOND)
    session.history.do(acts.Kill(2))
    catch_up(main, session)
    assert main.compare(session.history.event_buffer) is None
    parted = main.compare(session.history.event_buffer, settled=True)
    assert parted is not None
    assert parted.there is None
    assert parted.here is not None
    assert parted.here[3] == "act"
    view = session.history.view()
    columns = (Column("here", view), Column("main", main.view(), parted=parted))
    below = "\n".join(line.text for line in paint_compare(columns, (), COLOR, (100, 24), 0)[0])
    assert "kill b2" in below
    assert "main            no further event yet" in below
    assert main.ended_before(SECOND) is None
    assert main.ended_before(2 * SECOND) == SECOND


@pytest.mark.parametrize("size", [(80, 24), (120, 40), (200, 60)])
async def test_two_branches_beside_each_other(size: tuple[int, int]) -> None:
    async with playing(size=size, until=2 * SECOND) as (app, main_screen, pilot):
        await pilot.press("k")
        main_screen.session.history.replay_run.advance_to(20 * SECOND)
        main_screen.refresh_view()
        await pilot.press("g", *"1s", "enter")
        while main_screen.session.playback.moving:
            await pilot.pause(0.02)
        await pilot.press("right", "k")
        assert main_screen.session.history.branch.name == "branch 2"
        main_screen.session.history.replay_run.advance_to(18 * SECOND)
        main_screen.refresh_view()
        await pilot.press("8")
        assert "another branch of this session" in " ".join(screen_text(app).split())
        await pilot.press("enter", "1")
        await arrived(pilot, main_screen)
        text = screen_text(app)
        assert "branch 2" in text
        assert "main" in text
        assert "partitions differ" in text
        assert "First difference" in text
        if size != (80, 24):
            return
        await pilot.press("ampersand", *["backspace"] * len("min.insync.replicas=1"), *"acks=0,2", "enter")
        assert "unknown word '2'" in screen_text(app)
        await pilot.press("backspace", "1", "enter")
        await arrived(pilot, main_screen)
        acks, acknowledged = (next(line for line in screen_text(app).splitlines() if word in line) for word in (" acks ", " acknowledged "))
        assert acks.replace("│", "").split() == ["acks", "as", "it", "is", "as", "it", "is", "0", "1"]
        *_, without_answers, with_answers = acknowledged.replace("│", "").split()
        assert (without_answers, int(with_answers.replace(",", "")) > 1_000) == ("0", True)
        await pilot.press("ampersand")
        assert "3 runs are beside the session already" in screen_text(app)
        await pilot.press("left_curly_bracket")
        await arrived(pilot, main_screen)
        assert main_screen.view.now == SECOND
        assert all(other.run.now == SECOND for other in main_screen.pages.page.others)  # type: ignore[union-attr]
        await pilot.press("enter", "c")
        assert "To choose a run, press" in " ".join(screen_text(app).split())


async def arrived(pilot: Pilot[None], screen: MainScreen) -> None:
    """Wait until all runs are where the session is."""
    for _ in range(2_000):
        await pilot.pause(0.01)
        if not screen.session.playback.moving and screen.pages.page._arrived:  # type: ignore[union-attr]
            return
    raise AssertionError("the runs did not arrive")


def test_settings_and_what_clients_felt_have_rows_and_columns() -> None:
    loaded = load_session(None)
    session = loaded.session
    varied = [VariedRun.of(each, loaded.spec, loaded.release) for each in read_variations(["min.insync.replicas=3", "acks=1,all"])]
    others = [ParallelRun(one.name, loaded.varied(one), change=one.act, observe=ClientSummary) for one in varied]
    session.history.replay_run.advance_to(SECOND)
    session.history.do(acts.Kill(2))
    session.history.replay_run.advance_to(14 * SECOND)
    columns = [Column("here", session.history.view())]
    for other, one in zip(others, varied, strict=True):
        catch_up(other, session)
        observer = other.observer
        assert isinstance(observer, ClientSummary)
        felt = observer.felt(other.now, other.view())
        assert felt.acknowledged == other.view().acked
        parted = other.compare(session.history.event_buffer)
        assert parted is not None
        assert parted.there is not None
        assert parted.there[3] != "act", "the acts differ only in the setting that varies"
        columns.append(Column(one.name, other.view(), one.values, felt, parted))
    columns[0] = attrs.evolve(columns[0], felt=columns[1].felt)
    text = [line.text.rstrip() for line in paint_compare(columns, (), COLOR, (120, 30), 0)[0]]
    rows = {line[:23].strip(" ≠"): [cell.strip() for cell in line[23:].split("│")] for line in text if "│" in line}
    assert rows["min.insync.replicas"] == ["as it is", "3", "3"]
    assert rows["acks"] == ["as it is", "1", "all"]
    assert rows["refused"][:2] == ["0", "0"]
    assert rows["refused"][2].endswith(" times")
    assert sum(line.startswith(" min.insync.replicas=3") for line in text) == 2

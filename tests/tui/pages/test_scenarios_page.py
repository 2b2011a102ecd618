"""The page with the scenarios: every scenario is under its subject, the list can be filtered, and a scenario starts under the chosen release."""

from __future__ import annotations

import gc
import re
import weakref
from itertools import groupby
from pathlib import Path

import pytest
from textual.widgets import Input

from core.kafka.release import RELEASES, Release
from core.sim.units import SECOND
from scenarios import catalogue
from scenarios.finding.entries import scenario_entry
from scenarios.finding.index import Index
from scenarios.language.subjects import SUBJECTS
from scenarios.logs.log_reader import LogReader
from scenarios.releases import release_named
from tests.tui.app.test_playground import playing, screen_text
from tui.pages.scenarios import FREE, _about, library, matching, paint_scenarios, release_question
from tui.rendering.palette import COLOR
from tui.session.play_target import PlayTarget


def test_everything_is_there_under_its_subject() -> None:
    entries = library()
    assert {entry.name for entry in entries} == {FREE, *catalogue.names()}
    assert entries[0].name == FREE
    titles = {header.name: header.title for header in catalogue.headers()}
    assert all(entry.title == titles[entry.name] for entry in entries[1:])
    subjects = [tag for tag, _ in groupby(entry.tags[0] for entry in entries[1:])]
    assert subjects == [tag for tag in SUBJECTS if tag in subjects], "each subject once, in their order"
    by_name = {entry.name: entry for entry in entries}
    assert (by_name["e1-data-loss"].id, by_name["captures-kill-9"].id, by_name[FREE].id) == ("E1", "", "")
    names = [entry.name for entry in entries]
    assert names.index("s6-join-at-the-epoch-start") < names.index("s10-maximal-isr"), "in the order of their numbers"


@pytest.mark.parametrize("words", ["hanging", "zone", "data center", "maintenance", "poison pill", "lost messages acks=1", "E1-"])
def test_the_filter_finds_what_isrlab_find_finds(words: str) -> None:
    entries = library()
    names = {entry.name for entry in entries}
    shown = [entry.name for entry in matching(entries, words)]
    found = Index(scenario_entry(header) for header in catalogue.headers() if header.for_kafka).find(words, len(entries))
    assert shown == [one.name for one in found if one.name in names]
    assert shown


def test_without_words_the_filter_shows_everything() -> None:
    entries = library()
    assert matching(entries, " ") == entries
    assert matching(entries, "xyzzy") == []
    assert [entry.name for entry in matching(entries, "E1-")] == ["e1-data-loss"]


async def test_a_filter_selects_the_best_answer_and_escape_shows_all_again() -> None:
    async with playing() as (app, _main_screen, pilot):
        await pilot.press("7", "slash")
        app.screen.query_one(Input).value = "hanging"
        await pilot.press("enter")
        await pilot.pause()
        text = screen_text(app)
        assert re.search(r"filter: hanging · \d+ of \d+, best first", text)
        assert re.search(r"► T1 +A transaction that hangs: a late batch opens it", text)
        await pilot.press("escape")
        await pilot.pause()
        assert f"{len(library())} of {len(library())}" in screen_text(app)


def test_the_releases_it_was_written_for_come_first() -> None:
    entry = next(entry for entry in library() if entry.name == "e1-data-loss")
    question, targets = release_question(entry)
    assert [option.label for option in question.options[:2]] == ["Kafka 4.3", "Kafka 0.10.2"]
    assert len(targets) == len(RELEASES)
    assert targets[1].release.name == "0.10.2"
    assert targets[1].scenario is not None


@pytest.mark.parametrize("size", [(80, 21), (120, 37), (200, 57)])
def test_it_fits(size: tuple[int, int]) -> None:
    entries = library()
    for selected in (0, 30, len(entries) - 1):
        lines = paint_scenarios(entries, COLOR, size, selected, "", FREE, len(entries))
        assert len(lines) == size[1]
        assert {line.cell_length for line in lines} == {size[0]}
        assert entries[selected].name in "\n".join(line.text for line in lines)


@pytest.mark.parametrize("size", [(80, 24), (120, 40), (200, 60)])
async def test_another_scenario_is_started_in_the_same_application(size: tuple[int, int], tmp_path: Path) -> None:
    log = tmp_path / "first.jsonl"
    target = PlayTarget(None, None, RELEASES["4.1"], log=log)
    async with playing(target, size=size) as (app, main_screen, pilot):
        await pilot.press("7")
        assert "Three brokers, nine" in screen_text(app)
        await pilot.press("slash")
        app.screen.query_one(Input).value = "e1-"
        await pilot.press("enter")
        await pilot.pause()
        assert "1 of " in screen_text(app)
        await pilot.press("down", "enter", "2")
        await pilot.pause()
        assert app.main_screen is not main_screen
        assert app.screen is app.main_screen
        assert app.loaded.title == "e1-data-loss"
        assert "Kafka 0.10.2" in screen_text(app)
        await pilot.press("space")
        assert LogReader(log).release.name == "4.1", "the first session's log is finished"
        assert list(LogReader(log))[-1][1] <= SECOND
        while app.loaded.session.history.replay_run.step():
            pass
        assert app.loaded.session.history.view().lost == 1


async def test_a_session_that_is_over_is_let_go() -> None:
    async with playing() as (app, main_screen, pilot):
        ended = [weakref.ref(main_screen.session.history.cluster), weakref.ref(main_screen.session.history.keyframe_cache)]
        scenario = catalogue.load("e1-data-loss")
        main_screen.start_over(PlayTarget(scenario, scenario.spec, Release.named("4.1"), title=scenario.name))
        await pilot.pause()
        assert app.screen is app.main_screen is not main_screen
        await pilot.press("n")
        assert app.main_screen.session.history.cluster.journal.seq
        await pilot.pause()
        gc.collect()
        assert [each() for each in ended] == [None, None], "its cluster and keyframes take no memory any more"


@pytest.mark.parametrize("size", [(80, 24), (80, 20), (120, 40), (200, 60)])
async def test_what_is_selected_and_what_is_expected_stand_beside_each_other(size: tuple[int, int]) -> None:
    script = catalogue.load("e1-data-loss")
    target = PlayTarget(script, script.spec, release_named("0.10.2"), script.seed, title=script.name)
    async with playing(target, size=size, until=0) as (app, main_screen, pilot):
        for _ in range(9):
            main_screen.session.history.replay_run.step()
        main_screen.refresh_view()
        await pilot.pause()
        text = screen_text(app)
        assert "leader epoch" in text
        assert "LOST 1 (1 acked)" in text
        assert "held" in text
        await pilot.press("tab", "up")
        await pilot.pause()
        assert re.search(r"event \d+", main_screen.panels.inspector.lines[0].text + main_screen.panels.inspector.lines[1].text)
        assert main_screen.panels.inspector.box.height >= 4


def test_a_filter_without_matches_says_how_to_leave_it_at_every_width() -> None:
    for width in (40, 80):
        lines = paint_scenarios([], COLOR, (width, 10), 0, "zzz", FREE, 1)[1:]
        said = " ".join(line.text.strip() for line in lines)
        assert said == "No scenario matches 'zzz'. To change the filter, press /. To clear the filter, press Esc."


def test_a_single_broker_is_not_plural() -> None:
    (entry,) = [entry for entry in library() if entry.name == "j1-initial-delay"]
    assert any(line.text.startswith(" 1 broker, ") for line in _about(entry, COLOR, 100))

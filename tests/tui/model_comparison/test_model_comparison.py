"""The screen with the replication models: its counts and messages after a fault, its appearance, and its keys."""

from __future__ import annotations

import asyncio
from pathlib import Path

import attrs
import pytest

from core.lab.model_comparison.live import WEAK_NAMES, LiveComparison, LiveEvent, LiveView
from core.lab.model_comparison.systems import variant_named
from core.lab.model_comparison.table import COLUMNS
from core.models.server import CopyView
from core.sim.units import SECOND
from tui.cli import main
from tui.model_comparison import screenshot
from tui.model_comparison.app import ModelComparison
from tui.model_comparison.painting import Scene, bar_parts, event_lines, paint_scene, table_lines
from tui.rendering.palette import PLAIN

SIZES = ((80, 24), (120, 40), (200, 60))


@pytest.fixture(scope="module")
def killed() -> LiveComparison:
    comparison = LiveComparison([variant_named(name) for name in WEAK_NAMES])
    comparison.run_until(SECOND)
    assert comparison.do("kill") == "killed the primary in all systems"
    comparison.run_until(33 * SECOND)
    return comparison


@pytest.fixture(scope="module")
def views(killed: LiveComparison) -> tuple[LiveView, ...]:
    return killed.views()


def text_of(scene: Scene, width: int, height: int) -> list[str]:
    lines = paint_scene(scene, width, height, PLAIN)
    assert len(lines) == height
    assert {line.cell_length for line in lines} == {width}
    return [line.text for line in lines]


def test_the_views_say_who_lost_what_and_why(views: tuple[LiveView, ...]) -> None:
    """Only Kafka loses the write: a follower asks for records, but MySQL's source had sent the transaction before its process died."""
    assert [view.cells[COLUMNS.index("lost")] for view in views] == ["1", "0", "0", "0"]
    assert [view.is_harmed for view in views] == [True, False, False, False]
    kafka, mysql, elasticsearch, quorum = views
    assert kafka.why.startswith("LOST: at 1s, a was told that version 51 of ka was written; b2 lacks it. Why: b2 leads t-0 in epoch 1")
    assert mysql.why.startswith(
        "No acknowledged write is lost. For 30.0 s, no client could write, until an operator makes n2 the source; it has received 112"
    )
    assert elasticsearch.why.startswith("No acknowledged write is lost. After the fault, n2 is the primary of term 2")
    assert "no client could write, until n" in quorum.why
    assert all(view.primary not in ("", "b1", "n1") for view in views)


def test_the_history_goes_from_the_write_to_the_takeover(killed: LiveComparison) -> None:
    for run, first, last in zip(
        killed.runs[:2], ("version 51 of ka", "kill the process of n1"), ("b2 leads t-0", "makes n2 the source"), strict=True
    ):
        history = run.history_of_harm()
        assert first in history[0].text
        assert last in history[-1].text
        assert any("kill" in event.text for event in history)


def test_a_source_that_is_cut_off_loses_what_it_acknowledged() -> None:
    comparison = LiveComparison([variant_named("mysql")])
    comparison.run_until(SECOND)
    comparison.do("isolate")
    comparison.run_until(33 * SECOND)
    (view,) = comparison.views()
    assert view.is_harmed
    assert view.why.startswith("LOST: at ")
    assert "n2 lacks it. Why: an operator makes n2 the source" in view.why


@pytest.mark.parametrize(("width", "height"), SIZES)
def test_the_screen_fits_and_shows_as_many_systems_as_it_can(views: tuple[LiveView, ...], width: int, height: int) -> None:
    for selected in (0, 3):
        lines = text_of(Scene(views, selected=selected), width, height)
        text = "\n".join(lines)
        shown = [view.title[:13] in text for view in views]
        assert shown == ([True] * 4 if width > 80 else [selected == 0] * 2 + [selected == 3] * 2)
        assert all(any(view.name in line and view.cells[0] in line for line in lines) for view in views)
    assert "LOST" in "\n".join(text_of(Scene(views), width, height))


def test_on_a_narrow_screen_text_has_20_columns_and_is_complete(views: tuple[LiveView, ...]) -> None:
    said = "k: kill the primary in all systems; Space: let time pass"
    lines = text_of(Scene(views, selected=3, said=said), 40, 30)
    assert said in " ".join(" ".join(lines).split())
    assert not any("│" in line for line in lines), "only one system"
    text = " ".join(" ".join(line.text for line in event_lines(LiveEvent(0, "a sentence about an event"), 24, PLAIN)).split())
    assert text == "0.000 a sentence about an event", "below the time"


@pytest.mark.parametrize(("width", "height"), SIZES)
def test_help_and_history_fit(killed: LiveComparison, views: tuple[LiveView, ...], width: int, height: int) -> None:
    help_text = " ".join(" ".join(text_of(Scene(views, help=True), width, height)).split())
    assert "kill the primary's process" in help_text
    assert "the maximum latency of acknowledged writes" in help_text
    history = text_of(Scene(views, history=killed.runs[0].history_of_harm()), width, height)
    assert any("b2 leads t-0 in epoch 1" in line for line in history)


def test_a_bar_shows_what_readers_see_and_what_is_only_acknowledged_or_stored() -> None:
    copy = CopyView("n1", "source", True, 0, stored=9, durable=8, visible=4, acknowledged=7)
    assert "".join(text for text, _ in bar_parts(copy, 0, 10, 10, PLAIN)) == "████▓▓▓▒▒·"
    missing = attrs.evolve(copy, stored=0, visible=0, acknowledged=0)
    assert "".join(text for text, _ in bar_parts(missing, 0, 10, 10, PLAIN)) == "··········"


def test_the_picture_of_the_readme_is_drawn_without_a_terminal(tmp_path: Path) -> None:
    file = tmp_path / "models.svg"
    assert screenshot.main([str(file), "--seconds", "2"]) == 0
    assert "killed&#160;the&#160;primary&#160;in&#160;all&#160;systems" in file.read_text("utf-8")


def test_a_narrow_table_leaves_out_the_last_columns(views: tuple[LiveView, ...]) -> None:
    assert "longest" in table_lines(Scene(views), 120, PLAIN)[1].text
    narrow = table_lines(Scene(views), 80, PLAIN)[1].text
    assert "median" in narrow
    assert "longest" not in narrow


def test_the_table_of_the_copies_fits_and_says_what_a_copy_costs(views: tuple[LiveView, ...]) -> None:
    for width, height in SIZES:
        lines = text_of(Scene(views, copies=True), width, height)
        assert any("1 loss" in line and "2 losses" in line for line in lines)
        (kafka,) = [line for line in lines if line.strip("► ").startswith("kafka-acks-1 ")]
        (quorum,) = [line for line in lines if line.strip("► ").startswith("quorum ")]
        assert kafka.split()[-1] == "–"
        assert quorum.rstrip().endswith("3 / 3    5 / 5")
        assert quorum.split()[1:3] == ["0", "0.0"]
    help_text = " ".join(" ".join(text_of(Scene(views, help=True, copies=True), 80, 24)).split())
    assert "copies needed" in help_text


def test_kafka_with_acks_1_says_why_a_client_misses_its_own_write() -> None:
    comparison = LiveComparison([variant_named(name) for name in ("kafka", "kafka-acks-1")])
    comparison.run_until(SECOND)
    views = comparison.views()
    own = [view.cells[COLUMNS.index("own")] for view in views]
    assert own[0] == "0"
    assert int(own[1]) > 0
    while "of that client's own writes" not in views[1].why:
        comparison.run_until(comparison.now + 7_000)
        views = comparison.views()
        assert comparison.now < 2 * SECOND
    assert "With acks=1, the leader acknowledges a record before the high watermark passes it" in views[1].why


def test_without_a_primary_there_is_nothing_to_kill() -> None:
    comparison = LiveComparison([variant_named("mysql")])
    comparison.do("kill")
    assert comparison.do("kill") == "killed the primary, but not in mysql: there is no primary"
    (view,) = comparison.views()
    assert view.why.startswith("NO PRIMARY")
    assert "An operator promotes a replica in 30 s" in view.why
    comparison.repair()
    assert comparison.views()[0].primary == "n1"


def test_a_source_that_gave_up_semi_synchronous_replication_is_the_reason_of_the_loss() -> None:
    comparison = LiveComparison([variant_named("mysql-semi-sync")])
    comparison.run_until(SECOND)
    comparison.do("isolate")
    comparison.run_until(33 * SECOND)
    (view,) = comparison.views()
    assert "Why: n1 falls back to asynchronous replication: a commit has waited 10s for a replica" in view.why
    assert "and then an operator makes n2 the source" in view.why
    assert any("falls back" in event.text for event in comparison.runs[0].history_of_harm())


def test_a_user_kills_the_primary_in_all_and_reads_who_lost_what() -> None:
    async def session() -> None:
        app = ModelComparison()
        async with app.run_test(size=(120, 40)) as pilot:
            await pilot.press("w", "k")
            assert "killed the primary in all systems" in app.said
            before = app.systems.now
            await pilot.press("n")
            assert app.systems.now > before
            app.systems.run_until(33 * SECOND)
            await pilot.press("space")
            assert app.playing
            await pilot.press("space", "tab")
            text = "\n".join(line.text for line in app.query_one("Models").lines)  # type: ignore[attr-defined]
            assert text.count("LOST: at") == 1
            assert "► MySQL, asynchronous" in text
            await pilot.press("less_than_sign")
            assert "what led to the latest harm" in app.query_one("Models").lines[2].text  # type: ignore[attr-defined]
            await pilot.press("escape", "question_mark")
            assert "Keys" in app.query_one("Models").lines[2].text  # type: ignore[attr-defined]
            await pilot.press("escape", "s", "r")
            assert app.systems.now == SECOND // 2
            await pilot.press("q")
        assert app.return_value == 0

    asyncio.run(session())


def test_options_that_make_no_sense_are_refused(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["play", "compare-models", "--log", "x.jsonl"]) == 2
    assert "--log: compare-models does not use this option" in capsys.readouterr().err

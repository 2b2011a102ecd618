"""Every screen shows control sequences and markup in foreign text literally, and does not interpret them."""

from __future__ import annotations

from pathlib import Path

import pytest
from textual.widgets import Input

from core.kafka.release import CURRENT
from core.kafka.topic_spec import TopicSpec
from core.lab.acts import CreateTopic, Kill
from core.lab.spec import BrokerSpec, ClusterSpec
from core.sim.units import SECOND
from scenarios.io.escaping import escape_value
from scenarios.language.script import read_script
from tests.tui.app.test_playground import playing, screen_text, searched
from tests.tui.test_snapshots import SCREENS
from tui.actions.all_actions import ACTIONS
from tui.actions.context import Option, Question
from tui.app.playground import Playground
from tui.dialogs.details import DetailsDialog
from tui.dialogs.question import QuestionDialog
from tui.dialogs.text_line import TextLineDialog
from tui.rendering.palette import palette_of
from tui.rendering.rows import Row, clip, fit, wrap
from tui.session.play_target import PlayTarget

HOSTILE = "x\x1b]52;c;QUFB\x07\x9bm\u202e\u2028[red]y\x7f"
SIZES = {"80x24": (80, 24), "120x40": (120, 40), "200x60": (200, 60)}


def assert_harmless(app: Playground) -> None:
    """Check that nothing on the screen has an effect beyond being shown."""
    for strip in app.screen._compositor.render_strips():
        for segment in strip:
            assert segment.control is None
            assert segment.text.isprintable(), segment.text
        assert strip.cell_length == app.size.width


def spec() -> ClusterSpec:
    brokers = tuple(BrokerSpec(number, rack=f"{number}{HOSTILE}") for number in (1, 2, 3))
    topics = (TopicSpec(f"a{HOSTILE}", 2, 3, config=(("compression.type", HOSTILE),)), TopicSpec("orders", 2, 3))
    return ClusterSpec(brokers, topics)


def target() -> PlayTarget:
    return PlayTarget(None, spec(), CURRENT, title=HOSTILE, notes=(HOSTILE,))


def script() -> PlayTarget:
    text = (
        'scenario: hostile\nabout: "{0}"\ncluster: {{brokers: 3, topics: {{orders: {{partitions: 1, replication-factor: 3}}}}}}\n'
        'timeline:\n- {{at: 1s, kill: 2, note: "{0}"}}\n- {{at: 2s, expect: {{lost: 1}}, note: "{0}"}}\n- {{at: 60s, note: "{0}"}}\n'
    ).format(r"x\e]52;c;QUFB\a\x9bm\u202e\u2028[red]y\x7f")
    read = read_script(text, HOSTILE)
    return PlayTarget(read, read.spec, CURRENT, title=HOSTILE)


@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("what", [target, script])
async def test_every_screen_paints_it_as_it_is_written(what: object, size: str) -> None:
    seen = ""
    async with playing(what(), size=SIZES[size], until=3 * SECOND) as (app, main_screen, pilot):  # type: ignore[operator]
        main_screen.session.history.do(Kill(3))
        main_screen.session.history.replay_run.advance_to(15 * SECOND)
        main_screen.refresh_view()
        for keys in SCREENS.values():
            await pilot.press(*keys)
            await pilot.pause()
            assert_harmless(app)
            seen += screen_text(app)
            await pilot.press("escape", "escape", "1")
        for key in ("i", "I", "enter"):
            await pilot.press(key)
            await pilot.pause()
            assert_harmless(app)
            await pilot.press("escape")
    assert escape_value(HOSTILE)[:9] in seen


@pytest.mark.parametrize("action", [action.id for action in ACTIONS if action.id not in ("quit", "picture", "suspend")])
async def test_every_action_says_it_as_it_is_written(action: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    async with playing(target(), size=(120, 40), until=2 * SECOND) as (app, main_screen, pilot):
        main_screen.session.history.do(CreateTopic("b-topic", 1, 1))
        main_screen.refresh_view()
        main_screen.action_do(action)
        await pilot.pause()
        await pilot.pause()
        assert_harmless(app)


async def test_dialogs_and_messages_take_nothing_for_markup() -> None:
    paint = palette_of("dark")
    question = Question(f"title {HOSTILE}", f"about {HOSTILE}", (Option("a", HOSTILE, (), HOSTILE), Option("b", "b", (), refused=HOSTILE)))
    shown = escape_value(HOSTILE)
    async with playing(size=(120, 40)) as (app, main_screen, pilot):
        main_screen.prompts.say(HOSTILE)
        await pilot.pause()
        assert shown in screen_text(app)
        for dialog in (
            QuestionDialog(question, paint),
            TextLineDialog(f"title {HOSTILE}", f"about {HOSTILE}", HOSTILE, lambda text: HOSTILE, paint),
            DetailsDialog(f"title {HOSTILE}", lambda width: [Row().add(HOSTILE, paint.text).strip(80)]),
        ):
            app.push_screen(dialog)
            await pilot.pause()
            await pilot.pause()
            assert_harmless(app)
            text = screen_text(app)
            assert f"title {shown}" in text
            assert isinstance(dialog, DetailsDialog) or f"about {shown}" in text
            if isinstance(dialog, TextLineDialog):
                dialog.query_one(Input).value = HOSTILE + "z"
                await pilot.pause()
                assert_harmless(app)
            await pilot.press("escape")
            await pilot.pause()


async def test_the_palette_of_commands_takes_nothing_for_markup(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tui.actions.action.Action.words", lambda self, context: f"of {HOSTILE}")
    async with playing(size=(120, 40)) as (app, _, pilot):
        await pilot.press("colon")
        await pilot.pause()
        await pilot.press(*"kill")
        await searched(app, pilot)
        assert f"of {escape_value(HOSTILE)}" in screen_text(app)
        assert_harmless(app)


def test_a_line_is_as_wide_as_what_is_painted() -> None:
    paint = palette_of("dark")
    row = Row().add(HOSTILE, paint.text)
    assert row.strip(60).text == escape_value(HOSTILE).ljust(60)
    assert row.width == len(escape_value(HOSTILE))
    assert clip("a\x1bbcdef", 6) == r"a\x1b…"
    assert fit("\x1b", 6) == "\\x1b  "
    assert wrap("a\x1bb c", 20) == [r"a\x1bb c"]

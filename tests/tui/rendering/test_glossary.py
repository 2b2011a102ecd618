"""Terms and symbols: every one is explained, the explanation is true under the current release, and `?`, a key, and the palette lead to it."""

from __future__ import annotations

import pytest

from core.kafka.health import PartitionStatus
from core.kafka.ids import TopicPartition
from core.kafka.release import RELEASES, Release
from tests.tui.app.test_playground import playing, screen_text, searched
from tests.tui.main_screen.test_first_minute import hundred
from tui.app.command_palette_names import named
from tui.dialogs.details import DetailsDialog
from tui.panels.partition_grid import LEGENDS
from tui.rendering import states
from tui.rendering.glossary import STATES, SYMBOLS, all_terms, paint_glossary
from tui.rendering.palette import COLOR

TERMS = ("HW", "LEO", "ISR", "OSR", "ELR", "AR", "min ISR", "acks", "unclean election", "fencing", "LSO")


def text(release: str, *, zookeeper: bool | None = None, width: int = 100, first: str = "") -> str:
    profile = Release.named(release)
    lines = paint_glossary(profile, COLOR, width, zookeeper=profile.zookeeper if zookeeper is None else zookeeper, first=first)
    assert all(line.cell_length == width for line in lines)
    return " ".join(" ".join(line.text.split()) for line in lines)


@pytest.mark.parametrize("release", RELEASES)
@pytest.mark.parametrize("width", [60, 66, 120])
def test_every_word_and_symbol_is_explained_under_every_release(release: str, width: int) -> None:
    said = text(release, width=width)
    for term in (*TERMS, "epoch, leader", "epoch, partition", "epoch, controller", "epoch, broker"):
        assert f" {term} " in f" {said} ", term
    for glyph, word, _ in states.STATUS_LOOKS.values():
        assert f"{glyph} {word}" in said
    assert "…" not in said, "nothing is cut"


def test_every_symbol_of_a_replica_a_broker_and_the_legend_is_explained() -> None:
    explained = "".join(term.term for term in SYMBOLS)
    for glyph in (states.LEADER, states.BELIEVES, states.IN_ISR, states.OUT, states.DOWN, states.DOWN_IN_ISR, "‖", "◌", "▸"):
        assert glyph in explained
    for char in set("".join(LEGENDS)):
        assert char in explained or char.isascii(), char
    assert set(STATES) == set(states.STATUS_LOOKS) == set(PartitionStatus)


def test_what_is_said_is_true_under_the_release() -> None:
    assert "does not advance while the ISR is smaller" in text("4.1")
    assert "does not advance while the ISR is smaller" not in text("2.8")
    assert "eligible leader replicas" in text("4.1").lower()
    assert "This cluster does not track them" in text("3.7")
    assert "replica.lag.max.messages" in text("0.8.2")
    assert "replica.lag.max.messages" not in text("0.9")
    assert "broker.session.timeout.ms" in text("4.1")
    assert "broker.session.timeout.ms" not in text("2.8")
    assert "zookeeper.session.timeout.ms" in text("2.8")
    assert "unclean.leader.election.interval.ms" in text("3.9")
    assert "unclean.leader.election.interval.ms" not in text("3.6")
    assert "the controller ignores the setting unclean.leader.election.enable" in text("3.6")
    assert "ignores the setting" not in text("2.8") + text("3.9")
    assert "the controller acts immediately" in text("2.8")
    assert "truncate to their own high watermark" in text("0.10.2")
    assert "truncate to their own high watermark" not in text("0.11")


def test_the_word_that_was_asked_for_comes_first_and_once() -> None:
    said = text("4.1", first="ISR")
    assert said.startswith("ISR In-sync replicas.")
    assert said.count("In-sync replicas.") == 1
    assert len(all_terms(Release.named("4.1"), zookeeper=False)) == len(
        {term.term for term in all_terms(Release.named("4.1"), zookeeper=False)}
    )


@pytest.mark.parametrize("size", [(80, 24), (120, 40), (200, 60)])
async def test_a_key_shows_it_and_help_leads_to_it(size: tuple[int, int]) -> None:
    async with playing(size=size) as (app, main_screen, pilot):
        await pilot.press("K")
        await pilot.pause()
        assert isinstance(app.screen, DetailsDialog)
        assert "High watermark. The offset below which" in screen_text(app)
        await pilot.press("escape", "question_mark")
        await pilot.pause()
        assert "K: terms and symbols" in screen_text(app)
        await pilot.press("end")
        await pilot.wait_for_animation()
        assert "Marks on the timeline" in screen_text(app)
        await pilot.press("K")
        assert isinstance(app.screen, DetailsDialog)
        await pilot.press("escape")
        assert app.screen is main_screen


# --- names in the palette ------------------------------------------------------------------------------------------


async def test_the_palette_goes_to_a_partition_a_broker_and_a_word_by_name() -> None:
    async with playing(hundred(), size=(80, 24)) as (app, main_screen, pilot):
        for query, seen in (("orders-217", None), ("b55", None), ("ELR", "Eligible leader replicas.")):
            await pilot.press("colon")
            await pilot.press(*(key if key != "-" else "minus" for key in query))
            await searched(app, pilot)
            await pilot.press("enter")
            await pilot.press(*(["enter"] if app.screen is not main_screen and not isinstance(app.screen, DetailsDialog) else []))
            assert seen is None or seen in screen_text(app)
        await pilot.press("escape")
        assert main_screen.selection.partition == TopicPartition("orders", 217)
        assert main_screen.selection.broker == 55
        assert "►" in next(line for line in screen_text(app).splitlines() if "orders-217" in line)


async def test_names_that_are_whole_come_first_and_few_are_offered() -> None:
    async with playing(hundred()) as (_, main_screen, _pilot):
        assert named(main_screen, "b5")[0][1] == "b5"
        assert len(named(main_screen, "orders-")) == 20
        assert named(main_screen, "orders-299")[0][1] == "orders-299"
        assert [each[1] for each in named(main_screen, "watermark")] == ["HW: high watermark"]
        assert named(main_screen, " ") == []


async def test_going_to_a_partition_that_a_filter_hides_drops_the_filter() -> None:
    async with playing(until=1) as (_, main_screen, pilot):
        await pilot.press("slash", *"orders-", "enter")
        await pilot.pause()
        assert len(main_screen.panels.grid.order) == 6
        main_screen.navigation.select_by_name(partition=TopicPartition("payments", 1))
        assert main_screen.selection.partition == TopicPartition("payments", 1)
        assert len(main_screen.panels.grid.order) == 9

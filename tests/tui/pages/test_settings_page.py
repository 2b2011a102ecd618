"""The page with the settings: values and their origins, the effects of changes, and edits, which are acts."""

from __future__ import annotations

import attrs
import pytest
from textual.widgets import Input

from core.kafka.ids import TopicPartition
from core.kafka.release import Release
from core.kafka.settings.registry import SETTINGS
from core.kafka.settings.setting import MAX_LONG
from core.kafka.settings.settings import Settings
from core.sim.units import SECOND
from tests.tui.actions.test_questions import context, fresh
from tests.tui.app.test_playground import done, playing, said, screen_text
from tests.tui.states import partition, replica, view_of
from tui.actions.questions import min_isr
from tui.pages.settings import SettingsScope, consequences, edit_question, gather, in_words, paint_settings, sentence_of
from tui.rendering.palette import COLOR
from tui.session.loading import load_session


def settings_of(release: str = "4.1") -> Settings:
    return Settings(Release.named(release))


def test_who_set_a_value() -> None:
    settings = settings_of()
    assert settings.origin("min.insync.replicas", topic="orders") == "default"
    settings.set("min.insync.replicas", 2)
    assert settings.origin("min.insync.replicas", topic="orders") == "cluster"
    settings.set("min.insync.replicas", 3, topic="orders")
    assert settings.origin("min.insync.replicas", topic="orders") == "topic"
    settings.set("log.retention.ms", 5, broker=2)
    assert settings.origin("retention.ms", topic="orders", broker=2) == "broker"
    assert settings.origin("retention.ms", topic="orders", broker=1) == "default"


def test_what_somebody_set_stands_first_and_the_filter_looks_at_names_and_meanings() -> None:
    settings = settings_of()
    settings.set("replica.lag.time.max.ms", 10_000)
    place = SettingsScope("orders", 1, settings.release)
    known = gather(settings, place)
    assert len(known) == len(SETTINGS)
    assert known[0].setting.name == "replica.lag.time.max.ms"
    assert (known[0].value, known[0].default, known[0].origin) == ("10000", "30000", "cluster")
    assert [each.setting.name for each in gather(settings, place, "UNCLEAN")] == [
        "unclean.leader.election.enable",
        "unclean.leader.election.interval.ms",
    ]
    assert "replica.lag.time.max.ms" in [each.setting.name for each in gather(settings, place, "caught up")]


@pytest.mark.parametrize(
    ("name", "release", "exists"),
    [
        ("replica.lag.max.messages", "0.8.2", True), ("replica.lag.max.messages", "0.9", False), ("zookeeper.session.timeout.ms", "4.0", False),
        ("log.dir.failure.timeout.ms", "3.6", False), ("log.dir.failure.timeout.ms", "3.7", True), ("min.insync.replicas", "0.8.2", True),
    ],
)  # fmt: skip
def test_what_a_release_has(name: str, release: str, exists: bool) -> None:
    assert SETTINGS[name].exists_in(Release.named(release)) is exists


@pytest.mark.parametrize("width", [80, 120])
def test_the_default_of_a_changed_setting_is_shown_on_a_small_screen_too(width: int) -> None:
    settings = settings_of()
    settings.set("replica.lag.time.max.ms", 10_000)
    place = SettingsScope("orders", 1, settings.release)
    view = load_session(None).session.history.view()
    known = gather(settings, place)
    for selected in range(0, len(known), 5):
        lines = [line.text for line in paint_settings(known, place, view, settings, COLOR, (width, 21), selected, "")]
        assert " default " in lines[1]
        assert {len(line) for line in lines} == {width}
    first = [line.text for line in paint_settings(known, place, view, settings, COLOR, (width, 21), 0, "")][2]
    assert first.split()[:4] == ["►", "replica.lag.time.max.ms", "10000", "30000"]


def test_what_a_change_would_do_now_in_numbers() -> None:
    loaded = load_session(None)
    loaded.session.history.replay_run.advance_to(SECOND)
    cluster = loaded.session.history.cluster
    from core.lab import acts

    loaded.session.history.do(acts.Kill(2))
    loaded.session.history.replay_run.advance_to(20 * SECOND)
    view = loaded.session.history.view()
    place = SettingsScope("orders", 1, loaded.release)
    known = {each.setting.name: each for each in gather(cluster.settings, place)}
    told = consequences(known["min.insync.replicas"], place, view, cluster.settings)
    assert told == [
        "with 1, no partition would refuse acks=all writes now",
        "with 2, no partition would refuse acks=all writes now, but 9 would if one more replica left the ISR",
        "with 3, 9 of 9 partitions would refuse acks=all writes now",
    ]
    assert "after 30 to 45 s; leaders check every 15 s" in consequences(known["replica.lag.time.max.ms"], place, view, cluster.settings)[0]
    assert "are then lost" in consequences(known["unclean.leader.election.enable"], place, view, cluster.settings)[0]


@pytest.mark.parametrize(("release", "ignored"), [("2.8", False), ("3.3", True), ("3.7", True), ("3.9", False)])
def test_unclean_election_has_no_consequence_where_the_controller_ignores_it(release: str, ignored: bool) -> None:
    settings = settings_of(release)
    place = SettingsScope(None, 1, Release.named(release))
    known = {each.setting.name: each for each in gather(settings, place)}
    offline = attrs.evolve(partition(replica(1, 9, 9, alive=False), replica(2, 5, 5)), leader=-1)
    (said,) = consequences(known["unclean.leader.election.enable"], place, view_of(offline), settings)
    assert ("ignore this setting" in said) == ignored
    assert ("would get a leader" in said) != ignored


@pytest.mark.parametrize(
    ("release", "topic", "told"),
    [
        ("4.1", "own", ["with 1, no partition would refuse acks=all writes now, but 1 would if one more replica left the ISR"]),
        (
            "4.1",
            "other",
            [
                "with 1, no partition would refuse acks=all writes now, but 1 would if one more replica left the ISR",
                "with 2, 1 of 1 partitions would refuse acks=all writes now",
            ],
        ),
    ],
)
def test_a_change_is_counted_where_it_would_hold(release: str, topic: str, told: list[str]) -> None:
    """If a topic has its own value, a change to the cluster's value does not affect it, and a change here affects only this topic."""
    own = partition(replica(1, 5, 5), tp=TopicPartition("own", 0), min_isr=1)
    other = partition(replica(1, 5, 5), replica(2, 5, 5, in_isr=False), tp=TopicPartition("other", 0), min_isr=1)
    settings = settings_of(release)
    settings.set("min.insync.replicas", 1, topic="own")
    place = SettingsScope(topic, 1, Release.named(release))
    known = {each.setting.name: each for each in gather(settings, place)}
    assert consequences(known["min.insync.replicas"], place, view_of(own, other), settings) == told
    unclean = attrs.evolve(other, leader=-1, replica_views=(replica(1, 9, 9, alive=False), replica(2, 5, 5)))
    said = consequences(known["unclean.leader.election.enable"], place, view_of(own, unclean), settings)
    assert said == ["With the value true, 1 offline partition would get a leader; the live replicas lack up to 4 records."]


@pytest.mark.parametrize(
    ("release", "words"),
    [("4.1", "counts as 2: tolerates no broker failure"), ("3.6", "more than the replication factor: acks=all writes are refused")],
)
def test_more_than_there_are_replicas(release: str, words: str) -> None:
    two = partition(replica(1, 5, 5), replica(2, 5, 5))
    view = attrs.evolve(view_of(two), release=release)
    asked = min_isr(attrs.evolve(context(fresh()), view=view, partition=two))
    assert [option.note for option in asked.options] == ["tolerates one broker failure", "tolerates no broker failure", words]


def test_a_read_only_setting_is_forced_and_says_so() -> None:
    place = SettingsScope("orders", 2, Release.named("4.1"))
    question = edit_question(SETTINGS["replica.lag.time.max.ms"], "5000", place)
    assert "isrlab forces the change" in question.about
    assert [(option.key, option.acts[0].force, option.acts[0].broker) for option in question.options] == [("c", True, None), ("b", True, 2)]  # type: ignore[attr-defined]
    question = edit_question(SETTINGS["min.insync.replicas"], "1", place)
    assert [option.label for option in question.options] == ["topic orders", "the whole cluster", "b2 only"]
    assert not any(option.acts[0].force for option in question.options)  # type: ignore[attr-defined]


@pytest.mark.parametrize("size", [(80, 21), (120, 37), (200, 57)])
def test_it_fits(size: tuple[int, int]) -> None:
    loaded = load_session(None)
    place = SettingsScope("orders", 1, loaded.release)
    settings = loaded.session.history.cluster.settings
    known = gather(settings, place)
    for selected in (0, 20, len(known) - 1):
        lines = paint_settings(known, place, loaded.session.history.view(), settings, COLOR, size, selected, "")
        assert len(lines) == size[1]
        assert {line.cell_length for line in lines} == {size[0]}
        assert f"\n {known[selected].setting.name} " in "\n" + "\n".join(line.text for line in lines)


@pytest.mark.parametrize("size", [(80, 24), (120, 40), (200, 60)])
async def test_an_edit_is_an_act(size: tuple[int, int]) -> None:
    async with playing(size=size) as (app, main_screen, pilot):
        await pilot.press("6")
        assert "Settings on b1 for orders" in screen_text(app)
        await pilot.press("enter")
        app.screen.query_one(Input).value = "0"
        await pilot.press("enter")
        assert app.screen is not main_screen, "min.insync.replicas is at least 1"
        app.screen.query_one(Input).value = "3"
        await pilot.press("enter", "t")
        await pilot.pause()
        assert done(main_screen) == ["set min.insync.replicas = 3 for orders"]
        assert "min.insync.replicas = 3" in said(app, main_screen)
        main_screen.session.history.replay_run.advance_to(2 * SECOND)
        main_screen.refresh_view()
        await pilot.pause()
        assert main_screen.session.history.cluster.settings.origin("min.insync.replicas", topic="orders") == "topic"


async def test_the_filter_by_its_key() -> None:
    async with playing() as (app, main_screen, pilot):
        await pilot.press("6", "slash")
        app.screen.query_one(Input).value = "unclean"
        await pilot.press("enter")
        await pilot.pause()
        assert "2 of 44" in screen_text(app).replace(str(len(SETTINGS)), "44")
        await pilot.press("enter", "c")
        await pilot.pause()
        assert done(main_screen) == ["set unclean.leader.election.enable = true"]
        await pilot.press("escape")
        assert main_screen.pages.page is not None, "the filter goes first"
        await pilot.press("escape")
        assert main_screen.pages.page is None


def test_milliseconds_and_bytes_are_shown_in_readable_units() -> None:
    assert in_words("log.retention.ms", 604_800_000) == "7 days"
    assert in_words("replica.lag.time.max.ms", 30_000) == "30 s"
    assert in_words("segment.bytes", 1_073_741_824) == "1 GiB"
    assert in_words("message.max.bytes", 1_048_588) == "about 1 MiB"
    assert in_words("leader.replication.throttled.rate", 2_097_152) == "2 MiB/s"
    assert [in_words(name, value) for name, value in (("flush.ms", MAX_LONG), ("retention.ms", -1), ("num.io.threads", 8_000))] == [""] * 3
    assert sentence_of("read-only: Kafka reads it") == "Read-only: Kafka reads it."

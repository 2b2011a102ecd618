"""The state of a partition on the screens is what its clients experience. The reason is shown beside it, and is true under the current
release.
"""

from __future__ import annotations

import attrs
import pytest

from core.kafka.health import PartitionStatus
from core.kafka.ids import TopicPartition
from core.kafka.release import Release
from core.kafka.topic_spec import PartitionSpec, TopicSpec
from core.lab import acts
from core.lab.spec import BrokerSpec, ClusterSpec
from core.sim.units import SECOND
from scenarios import catalogue
from scenarios.releases import release_named
from tests.tui.app.test_playground import playing, screen_text
from tests.tui.states import partition, replica, view_of
from tui.main_screen.screen import MainScreen
from tui.pages.partition import high_watermark_reasons
from tui.panels.inspector import high_watermark_sentence, paint_partition
from tui.rendering.palette import COLOR
from tui.session.play_target import PlayTarget

TP = TopicPartition("orders", 0)

SPEC = ClusterSpec(
    brokers=tuple(BrokerSpec(i) for i in (1, 2, 3)),
    topics=(TopicSpec("orders", assignment=(PartitionSpec((1, 2, 3)),)),),
    settings=(("min.insync.replicas", 2),),
)


def target(release: str = "4.1", spec: ClusterSpec = SPEC) -> PlayTarget:
    return PlayTarget(None, spec, Release.named(release), title="status")


def go(main_screen: MainScreen, seconds: float) -> None:
    main_screen.session.history.replay_run.advance_to(main_screen.session.history.cluster.now + int(seconds * SECOND))
    main_screen.refresh_view()


def words(app: object) -> str:
    """Return the text on the screen as one line."""
    return " ".join(screen_text(app).replace("│", " ").split())  # type: ignore[arg-type]


# --- no lie about who is served ------------------------------------------------------------------------------------


@pytest.mark.parametrize("size", [(80, 24), (120, 40), (200, 60)])
async def test_a_dead_leader_is_not_healthy_and_a_dead_follower_stalls(size: tuple[int, int]) -> None:
    async with playing(target(), size=size, until=2 * SECOND) as (app, main_screen, pilot):
        main_screen.session.history.do(acts.Load("orders", 100, acks="all", producer="load"))
        go(main_screen, 1)
        main_screen.session.history.do(acts.Kill(1))
        go(main_screen, 1)
        await pilot.pause()
        text = words(app)
        assert "✓" not in text
        assert "⊘ unserved" in text or "⊘ b1" in text
        assert "b1 is not running, but there is no new leader yet." in text
        assert "unserved 1" in text
        go(main_screen, 12)
        main_screen.session.history.do(acts.Kill(3))
        go(main_screen, 2)
        await pilot.pause()
        text = words(app)
        assert "‖ stalled" in text
        assert "stalled 1" in text
        assert "✓" not in text


async def test_a_stuck_follower_is_named_before_anybody_writes() -> None:
    async with playing(target(), until=2 * SECOND) as (app, main_screen, pilot):
        main_screen.session.history.do(acts.Pause(3))
        go(main_screen, 0.5)
        await pilot.pause()
        assert "b3 cannot fetch but is in the ISR, so the next acks=all write waits." in words(app)


async def test_what_is_lost_is_said_where_everything_is_committed() -> None:
    script = catalogue.load("e1-data-loss")
    lost = PlayTarget(script, script.spec, release_named("0.10.2"), 0, title=script.name)
    async with playing(lost, size=(200, 60), until=0) as (app, main_screen, pilot):
        for _ in range(30):
            main_screen.session.history.replay_run.step()
        main_screen.refresh_view()
        await pilot.pause()
        assert "LOST 1" in words(app)
        assert "All records are committed" not in words(app)
        assert "are committed, but other records were lost: 1" in words(app)
        await pilot.press("2")
        await pilot.pause()
        assert "All records are committed" not in words(app)


async def test_under_min_isr_says_that_writes_are_refused() -> None:
    async with playing(target("3.6"), until=2 * SECOND) as (app, main_screen, pilot):
        main_screen.session.history.do(acts.Kill(2))
        main_screen.session.history.do(acts.Kill(3))
        go(main_screen, 30)
        await pilot.pause()
        assert main_screen.view.partitions[0].status is PartitionStatus.UNDER_MIN_ISR
        assert "Writes with acks=all are refused: the ISR [1] is smaller than min.insync.replicas 2." in words(app)


# --- why a replica is outside the ISR -------------------------------------------------------------------------------

LEFT = [
    ("4.1", acts.Kill(2), "no heartbeat for 9", "(broker.session.timeout.ms 9s)"),
    ("2.8", acts.Kill(2), "no heartbeat for 18", "(zookeeper.session.timeout.ms 18s)"),
    ("0.10.2", acts.Kill(2), "no heartbeat for 6", "(zookeeper.session.timeout.ms 6s)"),
    ("4.1", acts.Cut(("b1", "b2")), "not caught up for ", "(replica.lag.time.max.ms 30s)"),
    ("2.8", acts.Cut(("b1", "b2")), "not caught up for ", "(replica.lag.time.max.ms 30s)"),
    ("0.10.2", acts.Cut(("b1", "b2")), "not caught up for ", "(replica.lag.time.max.ms 10s)"),
    ("4.1", acts.Shutdown(2), "controlled shutdown", ""),
    ("2.8", acts.Shutdown(2), "controlled shutdown", ""),
]


@pytest.mark.parametrize(("release", "act", "rule", "setting"), LEFT, ids=[f"{each[0]}-{each[1].word}" for each in LEFT])
async def test_who_is_out_of_the_isr_is_so_by_a_rule_with_numbers_and_a_setting(
    release: str, act: acts.Act, rule: str, setting: str
) -> None:
    async with playing(target(release), size=(120, 40), until=2 * SECOND) as (app, main_screen, pilot):
        main_screen.session.history.do(acts.Load("orders", 100, acks="all", producer="load"))
        go(main_screen, 1)
        main_screen.session.history.do(act)
        go(main_screen, 50)
        await pilot.pause()
        assert 2 not in main_screen.view.partitions[0].isr
        said = main_screen.isr_reasons.of(main_screen.view.partitions[0], main_screen.session.history.event_buffer)[2]
        assert said.startswith("left 00:")
        assert rule in said
        assert setting in said
        assert f"out: b2 {said}" in words(app)
        detail = main_screen.session.history.cluster.partition_detail(TP)
        assert any(said in sentence for sentence in high_watermark_reasons(detail, main_screen.view, {2: said}))


async def test_the_reason_stands_at_80_columns_and_goes_when_the_replica_is_back() -> None:
    async with playing(target(), size=(80, 24), until=2 * SECOND) as (app, main_screen, pilot):
        main_screen.session.history.do(acts.Kill(2))
        go(main_screen, 12)
        await pilot.pause()
        assert "b2 left 00:" in words(app)
        assert "no heartbeat for 9" in words(app)
        main_screen.session.history.do(acts.Start(2))
        go(main_screen, 20)
        await pilot.pause()
        assert sorted(main_screen.view.partitions[0].isr) == [1, 2, 3]
        assert "b2 left" not in words(app)


# --- unclean election that is allowed ------------------------------------------------------------------------------

TWO = ClusterSpec(
    brokers=(BrokerSpec(1), BrokerSpec(2)),
    topics=(TopicSpec("orders", assignment=(PartitionSpec((1, 2)),)),),
    settings=(("min.insync.replicas", 1),),
)


async def _leaderless(main_screen: MainScreen) -> None:
    """Return a cluster in which broker 1, the only member of the ISR, is dead, and broker 2 is back."""
    main_screen.session.history.do(acts.Produce("orders", 10))
    go(main_screen, 1)
    main_screen.session.history.do(acts.Kill(2))
    go(main_screen, 25)
    main_screen.session.history.do(acts.Produce("orders", 10))
    go(main_screen, 1)
    main_screen.session.history.do(acts.Kill(1))
    go(main_screen, 25)
    main_screen.session.history.do(acts.Start(2))
    go(main_screen, 20)
    assert main_screen.view.partitions[0].offline


@pytest.mark.parametrize("size", [(80, 24), (120, 40), (200, 60)])
async def test_the_controller_looks_again_after_a_time_that_is_counted_down(size: tuple[int, int]) -> None:
    async with playing(target("4.1", TWO), size=size, until=SECOND) as (app, main_screen, pilot):
        await _leaderless(main_screen)
        await pilot.press("u")
        main_screen.refresh_view()
        await pilot.pause()
        main_screen.prompts.drop_message()
        wait = main_screen.view.unclean_check_us
        assert 0 < wait < 300 * SECOND
        minutes, seconds = divmod(wait // SECOND, 60)
        at = f"{minutes}m{seconds}s" if seconds else f"{minutes}m"
        by_key = "U elects a leader for the selected partition only" if size[0] == 200 else "U elects now"
        assert f"unclean ON: the next check is in {at}; {by_key}" in words(app)
        go(main_screen, 10)
        assert main_screen.view.unclean_check_us == wait - 10 * SECOND
        go(main_screen, wait / SECOND - 9)
        await pilot.pause()
        assert main_screen.view.partitions[0].leader == 2, "and then it does"
        assert "looks again" not in words(app)


async def test_before_3_9_nothing_is_promised_that_the_controller_does_not_do() -> None:
    async with playing(target("3.7", TWO), until=SECOND) as (app, main_screen, pilot):
        await _leaderless(main_screen)
        await pilot.press("u")
        go(main_screen, 1)
        await pilot.pause()
        assert main_screen.view.partitions[0].offline
        assert "the next check is in" not in words(app)
        assert "unclean ON, but this release's controller ignores it; U elects now" in words(app)


async def test_the_zookeeper_controller_acts_at_once() -> None:
    async with playing(target("2.8", TWO), until=SECOND) as (app, main_screen, pilot):
        await _leaderless(main_screen)
        await pilot.press("u")
        go(main_screen, 1)
        await pilot.pause()
        assert main_screen.view.partitions[0].leader == 2
        assert "the next check is in" not in words(app)
        assert "unclean election ON" in words(app)


async def test_nobody_is_promised_where_no_replica_is_up() -> None:
    async with playing(target("4.1", TWO), until=SECOND) as (app, main_screen, pilot):
        await _leaderless(main_screen)
        main_screen.session.history.do(acts.Kill(2))
        go(main_screen, 15)
        await pilot.press("u")
        await pilot.pause()
        assert "but no replica is up" in words(app)
        assert high_watermark_sentence(main_screen.view.partitions[0], main_screen.view).startswith("No leader")


async def test_what_a_client_sent_counts_though_no_leader_has_it() -> None:
    async with playing(size=(120, 40), until=2 * SECOND) as (app, main_screen, pilot):
        assert f"acked {main_screen.view.acked:,} of " in words(app)
        for broker in (1, 2, 3):
            main_screen.session.history.do(acts.Pause(broker))
        go(main_screen, 5)
        await pilot.pause()
        view = main_screen.view
        clients = sum(producer.sent for producer in view.producers)
        assert clients > view.accepted
        assert clients - view.acked >= sum(producer.in_flight for producer in view.producers) > 0
        assert f"acked {view.acked:,} of {clients:,}" in words(app)
        await pilot.press("5")
        await pilot.pause()
        assert f"sent {clients:,} accepted {view.accepted:,} acked {view.acked:,}" in words(app)


@pytest.mark.parametrize(("rows", "room"), [(1, 1), (3, 2)])
def test_a_sentence_without_room_ends_in_dots(rows: int, room: int) -> None:
    copies = tuple(replica(number, 5, 5, in_isr=number < 7) for number in range(1, 9))
    p = attrs.evolve(partition(*copies), not_fetching=(2, 3, 4, 5, 6))
    view = view_of(p)
    said = high_watermark_sentence(p, view)
    assert said.startswith("b2 and b3 and b4 and b5 and b6 cannot fetch")
    lines = [line.text.strip() for line in paint_partition(p, view, COLOR, 40, rows)[1 : room + 1]]
    assert lines[-1].endswith("…")
    assert said.startswith(" ".join(lines)[:-1].strip())


async def test_the_headline_about_unclean_election_is_the_clusters() -> None:
    spec = attrs.evolve(TWO, topics=(*TWO.topics, TopicSpec("payments", assignment=(PartitionSpec((2, 1)),))))
    async with playing(target("4.1", spec), size=(200, 60), until=SECOND) as (_app, main_screen, pilot):
        await _leaderless(main_screen)
        await pilot.press("u")
        main_screen.refresh_view()
        notes = []
        for tp in (TP, TopicPartition("payments", 0)):
            main_screen.selection.choose(partition=tp)
            await pilot.pause()
            notes.append(main_screen.presenter.settings_note(main_screen.frame(), main_screen.panels.brokers.box.width))
        assert notes[0] == notes[1]
        assert "the next check is in" in notes[0]
        assert "U elects a leader for the selected partition only" in notes[0]

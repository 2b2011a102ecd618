"""The page with a partition of the real cluster: the explanation of the HW, the table of replicas, the logs, and the purgatory."""

from __future__ import annotations

from itertools import pairwise

import attrs
import pytest

from core.kafka.ids import TopicPartition
from core.kafka.release import Release
from core.kafka.topic_spec import PartitionSpec, TopicSpec
from core.lab import acts
from core.lab.cluster import Cluster
from core.lab.reports.partition_detail import PartitionDetail
from core.lab.reports.segment_report import MOST_SEGMENTS, replica_log
from core.lab.spec import BrokerSpec, ClusterSpec
from core.sim.units import SECOND
from scenarios import catalogue
from scenarios.running.runner import Run
from tests.tui.app.test_playground import playing, screen_text
from tui.pages.partition import high_watermark_reasons, paint_partition_page
from tui.pages.segments import lookup_target, paint_segments
from tui.panels.tabs import paint_tabs
from tui.rendering.palette import COLOR

TP = TopicPartition("orders", 0)


def running(release: str = "4.1", **changes: object) -> Cluster:
    spec = ClusterSpec(
        brokers=tuple(BrokerSpec(i) for i in (1, 2, 3)),
        topics=(TopicSpec("orders", partitions=1, replication_factor=3, config=(("min.insync.replicas", "2"),)),),
    )
    cluster = Cluster(spec, Release.named(release), seed=1)
    cluster.do(acts.Load("orders", 100, acks="all"))
    cluster.run_until(5 * SECOND)
    return cluster


def text(cluster: Cluster, width: int = 80, tp: TopicPartition = TP) -> str:
    return "\n".join(line.text for line in paint_partition_page(cluster.partition_detail(tp), cluster.view(), COLOR, width, 1))


def followers(cluster: Cluster) -> tuple[int, int, int]:
    view = cluster.partition_view(TP)
    one, two = (b for b in view.replicas if b != view.leader)
    return view.leader, one, two


def test_who_holds_the_high_watermark_back_and_until_when() -> None:
    cluster = running()
    leader, one, _ = followers(cluster)
    cluster.do(acts.Pause(one))
    cluster.run_until(8_200_000)
    detail = cluster.partition_detail(TP)
    (said,) = high_watermark_reasons(detail, cluster.view())
    view = cluster.partition_view(TP)
    held = view.replica_on(leader).hw
    assert said.startswith(
        f"HW is held at {held:,}, and {view.replica_on(leader).leo - held} records wait: b{one} has the records up to {held:,}, and last fetched 3."
    )
    assert detail.leads is not None
    seen = detail.leads.follower(one)
    assert seen is not None
    first = 30 * SECOND - seen.caught_up_us
    assert f"leaves the ISR in {first / SECOND:.1f}–{first / SECOND + 15:.1f} s" in said
    assert f"removes it in {45 - 8.2:.1f} s, at 00:45.000, because isr-expiration runs every 15.0 s" in said
    assert "silent for" in said
    assert {(each.producer, each.waits_for) for each in detail.leads.waiting} == {("load", (one,))}


def test_the_planned_time_is_the_one_at_which_it_really_leaves() -> None:
    """While heartbeats continue, only the leader's own check removes a follower that cannot fetch."""
    cluster = running()
    leader, one, _ = followers(cluster)
    cluster.do(acts.Cut((f"b{one}", f"b{leader}")))
    cluster.run_until(8 * SECOND)
    (said, *_) = high_watermark_reasons(cluster.partition_detail(TP), cluster.view())
    assert "at 00:45.000" in said
    cluster.run_until(45 * SECOND - 1)
    assert one in cluster.partition_view(TP).isr
    cluster.run_until(45 * SECOND + 100_000)
    assert one not in cluster.partition_view(TP).isr
    assert any(f"b{one} is outside the ISR" in each for each in high_watermark_reasons(cluster.partition_detail(TP), cluster.view()))


@pytest.mark.parametrize("release", ["0.8.2", "0.9"])
def test_before_0_10_2_the_leader_looks_once_in_the_lag_time(release: str) -> None:
    """Before 0.9, the check uses the time at which a follower last fetched."""
    cluster = running(release)
    _leader, one, _ = followers(cluster)
    cluster.do(acts.Pause(one))
    cluster.run_until(8 * SECOND)
    detail = cluster.partition_detail(TP)
    (said, *_) = high_watermark_reasons(detail, cluster.view())
    assert detail.leads is not None
    seen = detail.leads.follower(one)
    assert seen is not None
    first = 10 * SECOND - (seen.fetched_us if release == "0.8.2" else seen.caught_up_us)
    assert f"leaves the ISR in {first / SECOND:.1f}–{first / SECOND + 10:.1f} s" in said
    assert "isr-expiration runs every 10.0 s" in said


def test_below_min_isr_nothing_is_committed_since_3_7() -> None:
    cluster = running()
    leader, one, two = followers(cluster)
    cluster.do(acts.Load("orders", 100, acks="1", producer="careless"))
    cluster.do(acts.Kill(one))
    cluster.do(acts.Kill(two))
    cluster.run_until(40 * SECOND)
    said = high_watermark_reasons(cluster.partition_detail(TP), cluster.view())
    assert f"ISR [{leader}] is smaller than min.insync.replicas 2" in said[0]
    older = running("3.6")
    leader, one, two = followers(older)
    older.do(acts.Kill(one))
    older.do(acts.Kill(two))
    older.run_until(60 * SECOND)
    said = " ".join(high_watermark_reasons(older.partition_detail(TP), older.view()))
    assert "Writes with acks=all are refused: the ISR" in said
    assert "HW held" not in said, "before 3.7 what acks=1 wrote is committed all the same"


def test_nobody_leads() -> None:
    cluster = running()
    for broker in (1, 2, 3):
        cluster.do(acts.Kill(broker))
    cluster.run_until(30 * SECOND)
    first, second = high_watermark_reasons(cluster.partition_detail(TP), cluster.view())
    assert first.startswith("orders-0 has no leader and is waiting for a live member of the ISR")
    assert second == "The controller cannot elect any replica now."


@pytest.mark.parametrize("release", ["2.8", "4.1"])
def test_a_replica_in_a_failed_directory_cannot_be_elected(release: str) -> None:
    """Kafka: `ReplicationControlManager#isAcceptableLeader`, `ControllerContext#isReplicaOnline`. The broker itself is alive."""
    config = (("unclean.leader.election.enable", "true"),)
    topics = (TopicSpec("orders", assignment=(PartitionSpec((1, 2, 3)),), config=config),)
    cluster = Cluster(ClusterSpec(tuple(BrokerSpec(each, log_dirs=2) for each in (1, 2, 3)), topics), Release.named(release))
    cluster.run_until(5 * SECOND)
    assert cluster.partition_detail(TP).eligible == ((2, "ISR"), (3, "ISR"))
    cluster.do(acts.FailDir(2, 1))
    cluster.do(acts.Kill(3))
    cluster.run_until(60 * SECOND)
    assert cluster.partition_view(TP).isr == (1,)
    cluster.do(acts.Cut(("b1", "b3")))
    cluster.do(acts.Start(3))
    cluster.run_until(80 * SECOND)
    assert cluster.partition_detail(TP).eligible == ((3, "unclean"),)


def test_what_waits_and_for_whom() -> None:
    cluster = running()
    _, one, _ = followers(cluster)
    cluster.do(acts.Pause(one))
    cluster.run_until(6 * SECOND)
    detail = cluster.partition_detail(TP)
    assert detail.leads is not None
    assert detail.leads.waiting
    assert all(write.waits_for == (one,) for write in detail.leads.waiting)
    assert all(one.required == two.base for one, two in pairwise(detail.leads.waiting))
    partition = cluster.partition_view(TP)
    assert detail.leads.waiting[-1].required == partition.replica_on(partition.leader).leo
    assert f"waits for b{one}" in text(cluster)
    assert f"{len(detail.leads.waiting)} acks=all writes wait" in text(cluster)
    assert "if the leader fails: " in text(cluster)


def test_looking_changes_nothing() -> None:
    """Looking at a session all the time does not change it, including its segments and recovery points."""
    spec = ClusterSpec(
        brokers=tuple(BrokerSpec(i) for i in (1, 2, 3)),
        topics=(TopicSpec("orders", partitions=1, replication_factor=3, config=(("segment.bytes", "20000"),)),),
    )
    logs: list[list[tuple]] = [[], []]
    for looked, log in zip((False, True), logs, strict=True):
        cluster = Cluster(spec, seed=3, sink=log.append)
        cluster.do(acts.Load("orders", 500))
        for second in range(1, 100):
            cluster.run_until(second * SECOND)
            if looked:
                cluster.partition_detail(TP)
            if second == 40:
                cluster.do(acts.PowerLoss(2))
            if second == 60:
                cluster.do(acts.Start(2))
    assert logs[0] == logs[1]
    detail = cluster.partition_detail(TP)
    segments = detail.replicas[0].segments
    assert len(segments) > 3
    assert all(one.end == two.base for one, two in pairwise(segments))
    assert detail.replicas[0].recovery_point >= segments[-1].base


def test_logs_side_by_side_show_terms_divergence_and_loss() -> None:
    run = Run(catalogue.load("e2-divergence"), Release.named("0.10.2"), 0)
    run.run()
    tp = next(iter(run.cluster.controller.registry.partitions))
    shown = text(run.cluster, tp=tp)
    assert "≠" in shown
    detail: PartitionDetail = run.cluster.partition_detail(tp)
    assert any(each.diverged for each in detail.replicas)
    assert {run.epoch for each in detail.replicas for run in each.runs} >= {0, 1}
    lost = Run(catalogue.load("e1-data-loss"), Release.named("0.10.2"), 0)
    lost.run()
    tp = next(iter(lost.cluster.controller.registry.partitions))
    assert " lost   " in text(lost.cluster, tp=tp)
    assert "✖" in text(lost.cluster, tp=tp)


@pytest.mark.parametrize("width", [80, 120, 200])
def test_no_line_is_wider_than_the_screen(width: int) -> None:
    cluster = running()
    cluster.do(acts.Kill(2))
    cluster.run_until(8 * SECOND)
    for line in paint_partition_page(cluster.partition_detail(TP), cluster.view(), COLOR, width, 1):
        assert line.cell_length == width


def test_a_tab_has_the_same_name_at_every_width_or_only_its_key() -> None:
    tabs = (("1", "Overview", "overview"), ("2", "Partition", "screen-partition"), ("9", "Transactions", "screen-transactions"))
    assert paint_tabs(tabs, "Partition", COLOR, 80).text.rstrip() == "1 Overview  2 Partition 9 Transactions"
    assert paint_tabs(tabs, "Partition", COLOR, 30).text.rstrip() == "1 Overview  2 Partition 9"
    assert paint_tabs(tabs, "Partition", COLOR, 20).text.rstrip() == "1  2 Partition 9"


@pytest.mark.parametrize("size", [(80, 24), (120, 40), (200, 60)])
async def test_the_page_opens_moves_and_closes(size: tuple[int, int]) -> None:
    async with playing(size=size, until=3 * SECOND) as (app, main_screen, pilot):
        await pilot.press("2")
        assert "2 Partition" in screen_text(app)
        assert "orders-0" in screen_text(app)
        await pilot.press("down")
        assert main_screen.selection.partition == TopicPartition("orders", 1)
        assert "orders-1" in screen_text(app)
        await pilot.press("right", "k")
        assert main_screen.session.history.cluster.view().broker(2).state == "stopped"
        await pilot.press("pagedown", "pageup")
        await pilot.press("escape")
        assert "Partitions" in screen_text(app)
        assert main_screen.panels.grid.has_focus


async def test_a_tab_is_clicked() -> None:
    async with playing() as (_app, main_screen, pilot):
        await pilot.press("2")
        await pilot.click("#tabs", offset=(3, 0))
        assert main_screen.pages.page is None


async def test_no_heading_of_the_replicas_is_cut_with_four_digits() -> None:
    async with playing(size=(80, 24), until=120 * SECOND) as (app, _, pilot):
        await pilot.press("2")
        await pilot.pause()
        head = next(line for line in screen_text(app).split("\n") if line.startswith(" replica  role"))
        assert "…" not in head
        assert "epoch:start" in head


# --- the segments of a replica ---------------------------------------------------------------------------------------


def test_segments_and_a_lookup_fit_every_width() -> None:
    run = Run(catalogue.load("l2-segment-lookup"), Release.named("4.3"))
    run.advance_to(20 * SECOND)
    report = run.cluster.segment_report(TP, 2, offset=1234)
    assert report is not None
    for width in (40, 73, 149):
        lines = [line.text.rstrip() for line in paint_segments(report, COLOR, width)]
        assert all(len(line) <= width for line in lines)
        said = " ".join(" ".join(lines).split())
        assert "orders-0 on b2: 7 segments, log start offset 1234" in said
        assert "3. The scan of 00000000000000000990.log reads 2 batch headers, starting at position 22500." in said
    assert "00000000000000002970 active" in said
    assert run.cluster.segment_report(TP, 9) is None


def test_only_the_newest_segments_and_those_of_the_lookup_are_listed() -> None:
    cluster = running()
    log = replica_log(cluster, TP, 1)
    assert log is not None
    log.config = attrs.evolve(log.config, segment_bytes=500)
    report = cluster.segment_report(TP, 1, timestamp=900)
    assert report is not None
    assert len(report.rows) == MOST_SEGMENTS + 1
    lines = [line.text.rstrip() for line in paint_segments(report, COLOR, 120)]
    assert lines[0].startswith(f"orders-0 on b1: {len(report.rows) + report.omitted} segments")
    assert report.lookup is not None
    assert f"{report.rows[0].base:020d}.log" == report.lookup.steps[0].file
    assert f" and {report.omitted} older segments" in lines


@pytest.mark.parametrize(
    ("typed", "target"), [("", (None, None)), ("1234", (1234, None)), ("4s", (None, 4_000)), ("1m30s", (None, 90_000)), ("0", (0, None))]
)
def test_an_offset_or_a_time_is_looked_up(typed: str, target: tuple[int | None, int | None]) -> None:
    assert lookup_target(typed) == target


@pytest.mark.parametrize("typed", ["x", "-1", "15us", "٣"])
def test_anything_else_is_refused(typed: str) -> None:
    with pytest.raises(ValueError, match=r"duration|millisecond"):
        lookup_target(typed)


async def test_enter_asks_and_shows_the_segments() -> None:
    async with playing(until=3 * SECOND) as (app, _, pilot):
        await pilot.press("down", "2", "enter")
        assert "Enter the offset or the virtual time to look up" in screen_text(app)
        await pilot.press("5", "enter")
        await pilot.pause()
        shown = screen_text(app)
        assert "Segments of " in shown
        assert "1. Among 1 segment, 00000000000000000000.log has the greatest base offset that is at most 5." in " ".join(shown.split())
        await pilot.press("escape", "enter", "enter")
        await pilot.pause()
        assert "log end offset" in screen_text(app)
        assert "has the greatest base offset" not in screen_text(app)

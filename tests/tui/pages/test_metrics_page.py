"""The page with the metrics: the same numbers as `isrlab metrics`, the worst first, with curves over virtual time and a history for each
branch.
"""

from __future__ import annotations

import pytest

from core.kafka.release import CURRENT
from core.lab import acts
from core.lab.metrics.observer import MetricsObserver
from core.sim.units import SECOND
from tests.tui.app.test_playground import playing, screen_text
from tests.tui.states import partition, replica, view_of
from tui.analysis.event_metrics import EventMetrics
from tui.analysis.metrics_history import METRICS, MOST, MetricsHistory, Series
from tui.app.screenshot import play_to
from tui.pages.metrics import MetricLine, _rate, grade, number, paint_metrics, rates, sparkline, worst_first
from tui.rendering.palette import COLOR
from tui.session.loading import load_session

BY_SHORT = {metric.short: metric for metric in METRICS}


def test_gauges_are_those_of_the_metrics_made_from_events() -> None:
    """A metric has the same value whether it is computed from the frozen view or, as `isrlab metrics` does, from the events."""
    loaded = load_session(None)
    loaded.session.history.replay_run.advance_to(2 * SECOND)
    loaded.session.history.do(acts.Kill(2))
    for second in (5, 14, 30):
        loaded.session.history.replay_run.advance_to(second * SECOND)
        if second == 14:
            loaded.session.history.do(acts.Start(2))
        view = loaded.session.history.view()
        observer = MetricsObserver(loaded.spec, loaded.release)
        ring = loaded.session.history.event_buffer.ring(0)
        for index in range(ring.first, ring.total):
            observer.on_event(ring.at(index))
        told = {(s.name, s.broker): s.attributes[0][1] for s in observer.samples(view.now)}
        for name in ("OfflinePartitionsCount", "UnderMinIsrPartitionCount", "UnderReplicatedPartitions", "FencedBrokerCount", "LeaderCount",
                     "ReassigningPartitions", "PreferredReplicaImbalanceCount", "ActiveControllerCount"):  # fmt: skip
            metric = BY_SHORT[name]
            assert metric.of is not None
            values = {broker: value for broker, value in metric.of(view).items() if (metric.name, broker) in told}
            assert values
            assert values == {broker: told[metric.name, broker] for broker in values}, name


def test_samples_come_at_steps_and_thin_out() -> None:
    series = Series()
    for time in range(MOST + 2):
        series.add(time * series.step, {"x": float(time)})
    assert len(series.times) <= MOST
    assert series.step == 400_000
    assert len(series.values["x"]) == len(series.times)


def test_a_branch_has_the_past_of_where_it_parted() -> None:
    history = MetricsHistory()
    healthy = view_of(partition(replica(1, 5, 5), replica(2, 5, 5)))
    for second in range(10):
        history.observe(_at(healthy, second * SECOND), "main", "")
    history.observe(_at(healthy, 4 * SECOND), "branch 2", "main")
    history.observe(_at(healthy, 5 * SECOND), "branch 2", "main")
    assert history.of("main").times[-1] == 9 * SECOND
    assert history.of("branch 2").times == [n * SECOND for n in range(6)]


def _at(view, now: int):  # type: ignore[no-untyped-def]
    import attrs

    return attrs.evolve(view, now=now)


def test_counts_become_rates_and_gauges_curves() -> None:
    assert rates([0, SECOND, 3 * SECOND], [0.0, 10.0, 10.0]) == [0.0, 10.0, 0.0]
    assert sparkline([0, 1, 2, 3], [0, 0, 7, 7], 0, 4, 4) == "▁▁██"
    assert sparkline([2, 3], [1, 1], 0, 4, 4) == "  ██"
    assert sparkline([0, 0, 1], [1, 0.1, 1], 0, 2, 2, low=True)[0] != "█"
    assert sparkline([], [], 0, 0, 10) == ""
    assert (number(3.0), number(0.25), number(2_500_000.0), number(1234.5)) == ("3", "0.25", "2.5M", "1,234")


def test_what_is_bad_stands_first_and_a_count_calms_down() -> None:
    shrinks = BY_SHORT["IsrShrinksPerSec"]
    assert grade(shrinks, 5.0, [0.0, 5.0], [0, 10 * SECOND], 20 * SECOND) == 1
    assert grade(shrinks, 5.0, [0.0, 5.0, 5.0], [0, 10 * SECOND, 90 * SECOND], 95 * SECOND + 60 * SECOND) == 2
    offline = BY_SHORT["OfflinePartitionsCount"]
    lines = [MetricLine(metric, 0.0, {}, [], [], 2) for metric in METRICS if metric is not offline] + [
        MetricLine(offline, 1.0, {}, [], [], 0)
    ]
    assert worst_first(lines)[0].metric is offline


@pytest.mark.parametrize("size", [(80, 21), (120, 37), (200, 57)])
@pytest.mark.parametrize("selected", [0, 10, 23])
def test_it_fits(size: tuple[int, int], selected: int) -> None:
    lines = [MetricLine(metric, 12.0, {1: 5.0, 2: 7.0}, [0, SECOND], [1.0, 12.0], 2) for metric in METRICS]
    painted = paint_metrics(lines, (1, 2, 3), SECOND, COLOR, size, selected)
    assert len(painted) == size[1]
    assert {line.cell_length for line in painted} == {size[0]}
    assert METRICS[selected].short in "\n".join(line.text for line in painted)
    assert METRICS[selected].name in painted[-4].text + painted[-3].text + painted[-5].text


def test_a_flow_is_shown_as_rates_in_every_column() -> None:
    flow = BY_SHORT["BytesInPerSec"]
    line = MetricLine(flow, 9_000.0, {1: 4_000.0, 2: 5_000.0}, [0, SECOND], [0.0, 9_000.0], 2, 70.0, {1: 30.0, 2: 40.0})
    row, *about = [strip.text for strip in paint_metrics([line], [1, 2], SECOND, COLOR, (120, 20), 0)[2:]]
    assert row.split()[2:7] == ["BytesInPerSec", "70", "B/s", "30", "40"]
    assert "The count is 9,000. The curve shows its rate, now 70 per second; by broker: b1 4,000 b2 5,000" in "\n".join(about)


def test_the_folded_ones_follow_time_there_and_back() -> None:
    loaded = load_session(None)
    play_to(loaded, 5 * SECOND, [])
    folded = EventMetrics(lambda: MetricsObserver(loaded.spec, CURRENT))
    folded.update(loaded.session.history.event_buffer, 5 * SECOND)
    bytes_in = BY_SHORT["BytesInPerSec"]
    before = folded.values(bytes_in)
    assert sum(before.values()) > 0
    play_to(loaded, 8 * SECOND, [])
    folded.update(loaded.session.history.event_buffer, 8 * SECOND)
    assert sum(folded.values(bytes_in).values()) > sum(before.values())
    assert folded.series.times[0] == 0
    assert [time // SECOND for time in folded.series.times] == [*range(8)]
    again = EventMetrics(lambda: MetricsObserver(loaded.spec, CURRENT))
    assert again.rates(bytes_in) == {}
    again.update(loaded.session.history.event_buffer.prefix(10**9), 8 * SECOND)
    assert again.values(bytes_in) == folded.values(bytes_in)
    assert sum(folded.rates(bytes_in).values()) == pytest.approx(_rate(folded.series.times, folded.series.values[bytes_in.name]))
    assert again.rates(bytes_in) == folded.rates(bytes_in)
    assert min(folded.rates(bytes_in).values()) > 0


def test_in_helpings_it_comes_to_the_same_while_more_happens() -> None:
    loaded = load_session(None)
    play_to(loaded, 5 * SECOND, [])
    event_buffer = loaded.session.history.event_buffer
    helpings, whole = (EventMetrics(lambda: MetricsObserver(loaded.spec, CURRENT)) for _ in range(2))
    shares = []
    for turn in range(10_000):
        if turn < 5:
            play_to(loaded, (6 + turn) * SECOND, [])
        helpings.update(event_buffer, loaded.session.history.cluster.now, most=100)
        shares.append(helpings.progress)
        if helpings.progress == 1:
            break
    assert len(shares) > 10
    assert shares[-1] == 1
    assert min(shares) < 0.2
    whole.update(event_buffer, loaded.session.history.cluster.now)
    for metric in METRICS:
        assert helpings.values(metric) == whole.values(metric)
    assert helpings.series == whole.series


async def test_a_paused_page_reads_on_until_all_events_are_in(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tui.pages.metrics.MOST_EVENTS", 100)
    async with playing(until=5 * SECOND) as (app, main_screen, pilot):
        main_screen.session.history.pause()
        main_screen.refresh_view()
        await pilot.press("4")
        await pilot.pause()
        assert "reading events" in screen_text(app)
        assert "BytesInPerSec" not in screen_text(app), "what is not known yet is not told as nothing"
        for _ in range(400):
            if not main_screen._frame_timer._active.is_set():
                break
            await pilot.pause(0.02)
        assert "reading events" not in screen_text(app)
        assert "BytesInPerSec" in screen_text(app)
        assert not main_screen._frame_timer._active.is_set(), "and rests"


@pytest.mark.parametrize("size", [(80, 24), (120, 40), (200, 60)])
async def test_the_page_by_its_keys(size: tuple[int, int]) -> None:
    async with playing(size=size, until=SECOND) as (app, main_screen, pilot):
        await pilot.press("k", "4")
        main_screen.session.history.replay_run.advance_to(20 * SECOND)
        main_screen.refresh_view()
        await pilot.pause()
        text = screen_text(app)
        assert "UnderReplicatedPartitions" in text
        assert "to check" in text
        assert text.index("UnderReplicatedPartitions") < text.index("OfflinePartitionsCount")
        await pilot.press("down", "down", "down")
        assert "Meaning" in screen_text(app)
        await pilot.press("home", "1")
        assert "Partitions" in screen_text(app)


def test_traffic_is_a_part_of_all_samples() -> None:
    loaded = load_session(None)
    play_to(loaded, 12 * SECOND, [])
    observer = MetricsObserver(loaded.spec, loaded.release)
    ring = loaded.session.history.event_buffer.ring(0)
    for index in range(ring.first, ring.total):
        observer.on_event(ring.at(index))
    told = {(sample.name, sample.broker): sample.attributes for sample in observer.samples(12 * SECOND)}
    traffic = {(sample.name, sample.broker): sample.attributes for sample in observer.request_samples(12 * SECOND)}
    assert {metric.name for metric in METRICS if metric.of is None} - {name for name, _ in traffic} <= {
        BY_SHORT["FailedProduceRequestsPerSec"].name
    }
    assert traffic.items() <= told.items()

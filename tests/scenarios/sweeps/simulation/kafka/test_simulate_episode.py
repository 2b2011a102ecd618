"""The result of a run: unavailability that was checked by hand, losses that scenarios reproduce, and the same rows with any worker."""

from __future__ import annotations

import attrs
import pytest

from core.lab.acts import Kill, KillController, Load, SlowDisk, Start, StartController, StopLoad
from core.lab.cluster import Cluster
from core.sim.units import SECOND
from scenarios.language.script import read_script
from scenarios.running.runner import Run as ScenarioRun
from scenarios.sweeps.execution.rounds import rounds, sweep_runs
from scenarios.sweeps.execution.workers import ThisProcess
from scenarios.sweeps.grid_file.read_grid import read_grid
from scenarios.sweeps.output.kafka.loss_scenario import losing_episode, script_of
from scenarios.sweeps.simulation.kafka.episodes import Episode, episodes_of
from scenarios.sweeps.simulation.kafka.experiment import KAFKA, KafkaRun
from scenarios.sweeps.simulation.kafka.simulate_episode import simulate_episode
from scenarios.sweeps.simulation.runs import as_row, run_of
from tests.scenarios.sweeps.grids import EVERY_FAULT, TEXT, small, whole
from tests.spark_reports.summaries.looks import STEP, Looks

LOSES = read_grid(TEXT.replace("every: 2h", "every: 30m").replace("horizon: 10h", "horizon: 3h"), "loses.yaml")
"""A grid with about six crashes in each run. With acks=1, records are lost."""


@pytest.fixture(scope="module")
def losing() -> KafkaRun:
    """Return a run of the first cell (acks=1) that lost records."""
    return next(run for seed in range(1, 9) if (run := KAFKA.simulate(LOSES, LOSES.cells[0], seed)).lost_acknowledged)


def test_unavailability_is_what_the_clock_says() -> None:
    """A leader dies permanently at 10 s. Its partition cannot be read until its session has expired and another broker knows that it leads."""
    grid = small()
    cell = grid.cells[1]
    load = Load("orders", 100, "all", 100_000, 100, "app1")
    acts = ((0, load), (10 * SECOND, Kill(1)), (50 * SECOND, Start(1)), (80 * SECOND, StopLoad("app1")))
    seen: list[tuple] = []
    played = simulate_episode(cell, Episode(1, 0, 0, 90 * SECOND, acts, 1), seen.append)
    elected = [event for event in seen if event[3] == "leader-elected" and event[1] > 10 * SECOND and event[7] == 1]
    assert [event[4] for event in elected] == ["orders"]
    (waited,) = [
        event[1] - 10 * SECOND for event in seen if event[3] == "became-leader" and event[1] > 10 * SECOND and event[5:7] == elected[0][4:6]
    ]
    assert 7 * SECOND <= waited <= 12 * SECOND
    assert played.meter.read_down == played.meter.write_down == waited
    assert played.meter.unclean == 0, "the new leader was in sync"
    slowest = max(event[11] for event in seen if event[3] == "produce-acked")
    assert played.meter.latencies.percentiles([1.0])[0].value == pytest.approx(slowest, rel=1 / 64)
    assert (played.recovered, played.lost, played.end) == (True, 0, 90 * SECOND)


def test_a_dead_follower_in_the_isr_stalls_acks_all_and_nothing_else() -> None:
    """Broker 3 dies at 10 s. Until it leaves the ISR, acks=all writes to the partitions that it follows wait: they don't fail, but they
    aren't acknowledged.
    """
    grid = small()
    acts = ((10 * SECOND, Kill(3)), (40 * SECOND, Start(3)), (80 * SECOND, StopLoad("app1")))
    for cell, acks in ((grid.cells[0], "1"), (grid.cells[1], "all")):
        seen: list[tuple] = []
        load = Load("orders", 100, acks, 100_000, 100, "app1")
        meter = simulate_episode(cell, Episode(1, 0, 0, 90 * SECOND, ((0, load), *acts), 1), seen.append).meter
        began = {(event[4], event[5]): event for event in seen if event[3] == "partition-changed" and event[1] < 10 * SECOND}
        ended = {(event[4], event[5]): event[1] for event in reversed(seen) if event[3] == "partition-changed" and event[1] > 10 * SECOND}
        followed = [tp for tp, event in began.items() if event[6] != 3 and 3 in event[10]]
        led = [tp for tp, event in began.items() if event[6] == 3]
        leads = {(event[5], event[6]): event[1] for event in reversed(seen) if event[3] == "became-leader" and event[1] > 10 * SECOND}
        assert meter.write_down == sum(leads[tp] - 10 * SECOND for tp in led)
        assert followed
        # The leader learns a moment after the controller that the ISR is smaller.
        assert meter.stalled == (pytest.approx(sum(ended[tp] - 10 * SECOND for tp in followed), abs=2_000) if acks == "all" else 0)
        assert meter.unanswered == 0
        assert meter.failed == sum(meter.waits.counts.values())


@pytest.mark.parametrize("release", ["0.10.2", "4.1"])
def test_the_meter_says_what_the_core_says(release: str) -> None:
    """Random faults come and go. The meter's times equal the sums of the core's statuses, except for half a sampling interval for each
    change.
    """
    grid = read_grid(EVERY_FAULT, "every.yaml")
    cell = next(cell for cell in grid.cells if cell.release.name == release)
    looks, measured = Looks(), dict.fromkeys(("read_down", "write_down", "stalled"), 0)
    for episode in episodes_of(grid, cell, 2)[:3]:
        played = simulate_episode(cell, episode)
        cluster = Cluster(cell.spec, cell.release, episode.seed)
        looks.begin()
        for time, act in (*played.acts, (played.end, None)):
            looks.run_until(cluster, time)
            if act is not None:
                cluster.do(act)
        for name in measured:
            measured[name] += getattr(played.meter, name)
    assert min(measured.values()) > 10 * SECOND
    for name, time in measured.items():
        assert time == pytest.approx(looks.total(name), abs=looks.changes * STEP), name


@pytest.mark.parametrize("release", ["0.10.2", "4.1"])
def test_the_meter_counts_a_slow_disk_and_a_leader_that_does_not_lead_yet_as_the_core_does(release: str) -> None:
    """Writes wait for slow disks; two brokers stop, and one of them starts again and leads."""
    grid = read_grid(EVERY_FAULT, "every.yaml")
    cell = next(cell for cell in grid.cells if cell.release.name == release)
    load = Load("orders", 100, "all", 20_000, 100, "safe")
    acts = [(10, SlowDisk(1, 400_000)), (20, SlowDisk(1, 0)), (40, SlowDisk(2, 1_500_000)), (45, SlowDisk(2, 0))]
    acts += [(60, Kill(broker)) for broker in (1, 2, 3)] + [(65, Start(broker)) for broker in (1, 2, 3)]
    episode = Episode(1, 0, 0, 120 * SECOND, ((0, load), *((time * SECOND, act) for time, act in acts)), 3, final=True)
    played, looks = simulate_episode(cell, episode), Looks()
    cluster = Cluster(cell.spec, cell.release, episode.seed)
    for time, act in (*played.acts, (played.end, None)):
        looks.run_until(cluster, time)
        if act is not None:
            cluster.do(act)
    assert looks.slow_disk > 10 * SECOND
    partitions = len(cluster.controller.registry.partitions)
    for name in ("read_down", "write_down", "stalled"):
        assert getattr(played.meter, name) == pytest.approx(looks.total(name), abs=4 * STEP * partitions), name


def test_under_min_isr_only_writes_with_acks_all_wait() -> None:
    """Two of three brokers are down from 10 s to 60 s, and min.insync.replicas is 2."""
    grid = small()
    acts = ((10 * SECOND, Kill(1)), (10 * SECOND, Kill(2)), (60 * SECOND, Start(1)), (60 * SECOND, Start(2)))
    for cell, strict in ((grid.cells[2], False), (grid.cells[3], True)):
        meter = simulate_episode(cell, Episode(1, 0, 0, 120 * SECOND, acts, 2)).meter
        # Partitions of brokers 1 and 2 have no leader for about nine seconds; then broker 3 leads all, alone in the ISR.
        assert 12 * SECOND < meter.read_down < 24 * SECOND
        under = meter.write_down - meter.read_down
        assert under > 2 * 40 * SECOND if strict else under == 0


def test_a_cluster_that_is_not_whole_gets_more_time() -> None:
    grid = small()
    cell = grid.cells[0]
    acts = ((10 * SECOND, Kill(1)), (58 * SECOND, Start(1)))
    played = simulate_episode(cell, Episode(1, 0, 0, 60 * SECOND, acts, 1))
    assert played.recovered
    assert played.end == 90 * SECOND
    assert not simulate_episode(cell, Episode(1, 0, 0, 60 * SECOND, acts[:1], 1)).recovered


def test_acks_1_loses_what_acks_all_keeps(losing: KafkaRun) -> None:
    assert losing.lost >= losing.lost_acknowledged > 0
    assert losing.losing
    kept = KAFKA.simulate(LOSES, LOSES.cells[1], losing.seed)
    assert (kept.lost, kept.losing, kept.faults) == (0, (), losing.faults)


def test_a_losing_seed_replays_as_a_scenario_to_the_same_loss(losing: KafkaRun) -> None:
    cell = LOSES.cells[0]
    played = losing_episode(LOSES, cell, losing.seed)
    assert played is not None
    assert (played.episode.number, played.lost_acknowledged > 0) == (losing.losing[0], True)
    seen: list[tuple] = []
    simulate_episode(cell, played.episode, seen.append)
    scenario = read_script(script_of(LOSES, cell, losing.seed, played), "loss.yaml")
    replayed: list[tuple] = []
    run = ScenarioRun(scenario, cell.release, sink=replayed.append)
    result = run.run()
    assert result.held
    harm, losses = result.harm, result.harm.losses
    assert (harm.lost, harm.lost_acknowledged, harm.lost_read) == (played.lost, played.lost_acknowledged, played.lost_read)
    assert sum(loss.end - loss.start for loss in losses) == played.lost
    assert sum(loss.end - loss.start for loss in losses if loss.acknowledged) == played.lost_acknowledged
    assert sum(loss.end - loss.start for loss in losses if loss.read) == played.lost_read
    assert replayed == seen


def test_every_kind_of_fault_under_old_and_new_releases_ends_in_order() -> None:
    grid = read_grid(EVERY_FAULT, "every.yaml")
    for cell in grid.cells:
        run = KAFKA.simulate(grid, cell, 1)
        assert run.faults > 10
        assert run.read_down_us > 0
        assert run.write_down_us >= run.read_down_us
        assert run.acked > 100 * run.simulated_us / SECOND * 0.5
        assert run_of(grid, as_row(run)) == run
        played = [simulate_episode(cell, episode) for episode in episodes_of(grid, cell, 1)]
        assert sum(one.events for one in played) == run.events
        for name in ("lost", "lost_acknowledged", "lost_read"):
            assert sum(getattr(one, name) for one in played) == getattr(run, name)
        assert any(act.word == "heal" for one in played for _, act in one.acts)


def test_a_quorum_of_controllers_crashes_and_recovers() -> None:
    """While two of three controllers are down, there is no majority. A partition leader that dies then is not replaced until a controller
    is back.
    """
    text = TEXT.replace("brokers: 3", "brokers: 3\n  controllers: [c1, c2, c3]").replace("  crash: {", "  controller-crash: {")
    grid = read_grid(text, "quorum.yaml")
    assert KAFKA.simulate(grid, grid.cells[1], 1).faults > 2
    load = Load("orders", 100, "all", 100_000, 100, "app1")
    away = ((10 * SECOND, KillController("c1")), (10 * SECOND, KillController("c2")), (11 * SECOND, Kill(1)))
    back = (
        (60 * SECOND, StartController("c1")),
        (60 * SECOND, StartController("c2")),
        (70 * SECOND, Start(1)),
        (90 * SECOND, StopLoad("app1")),
    )
    played = simulate_episode(grid.cells[1], Episode(1, 0, 0, 100 * SECOND, ((0, load), *away, *back), 3))
    assert (played.recovered, played.lost) == (True, 0)
    assert played.meter.read_down > 49 * SECOND


def test_a_whole_horizon_is_one_cluster_and_its_own_seed() -> None:
    grid = whole(attrs.evolve(small(**{"1000us": "100ms", "1100us": "100ms"}), horizon=120 * SECOND))
    played = losing_episode(grid, grid.cells[0], 5)
    assert played is not None
    assert (played.episode.seed, played.end) == (5, 120 * SECOND)


def test_rounds_double_and_depend_on_nothing_else() -> None:
    assert rounds(1_000, None) == [1_000]
    assert rounds(1_000, 0.1) == [100, 200, 400, 800, 1_000]
    assert rounds(100, 0.1) == [100]


def test_a_cell_that_is_clear_gets_no_more_runs() -> None:
    grid = read_grid(TEXT.replace("every: 2h", "every: 30h").replace("horizon: 10h", "horizon: 1h"), "rare.yaml")
    grid = attrs.evolve(grid, cells=grid.cells[1:2])
    grid = attrs.evolve(grid, cells=(attrs.evolve(grid.cells[0], number=1),))
    outcome, every = sweep_runs(grid, 250, ThisProcess(), width=0.05)
    assert (outcome.cells[0].runs, outcome.cells[0].settled, len(every)) == (100, True, 100)
    assert outcome.cells[0].loss.width <= 0.05
    wider, _ = sweep_runs(grid, 120, ThisProcess(), width=0.001)
    assert (wider.cells[0].runs, wider.cells[0].settled) == (120, False)

"""The faults that a seed draws: they are the same in every cell, each has an effect, and faults that are close together are in one episode."""

from __future__ import annotations

import itertools

import attrs

from core.lab.acts import Kill, KillController, Load, PowerLoss, Start, StartController, StopLoad
from core.lab.spec import BrokerSpec, ZoneSpec
from scenarios.sweeps.grid.fault_model import Duration, Fault, FaultKind
from scenarios.sweeps.grid.grid import Grid
from scenarios.sweeps.grid_file.read_grid import read_grid
from scenarios.sweeps.simulation.draw_faults import DrawnFault, HealLinks, draw_faults
from scenarios.sweeps.simulation.kafka.episodes import SOON_EVERY, START_GRAIN, _groups, _merged, _within, episodes_of
from tests.scenarios.sweeps.grids import EVERY_FAULT, small, whole

DAY = 86_400_000_000


def test_cells_face_the_same_faults() -> None:
    grid = small()
    first = [episode.acts for episode in episodes_of(grid, grid.cells[0], 7)]
    for cell in grid.cells[1:]:
        theirs = [episode.acts for episode in episodes_of(grid, cell, 7)]
        bare = lambda acts: [(time, act) for time, act in acts if not isinstance(act, Load)]  # noqa: E731
        assert list(map(bare, theirs)) == list(map(bare, first))
    assert first != [episode.acts for episode in episodes_of(grid, grid.cells[0], 8)]


def test_another_kind_of_fault_does_not_move_the_ones_that_were_there() -> None:
    spec = small().cells[0].spec
    crash = Fault(FaultKind.CRASH, DAY, Duration(mean=60_000_000))
    pause = Fault(FaultKind.PAUSE, DAY, Duration(mean=5_000_000))
    alone = [drawn for drawn in draw_faults((crash,), spec, 3, 100 * DAY) if drawn.kind is FaultKind.CRASH]
    both = [drawn for drawn in draw_faults((pause, crash), spec, 3, 100 * DAY) if drawn.kind is FaultKind.CRASH]
    assert alone == both


def test_as_many_come_as_the_rate_says() -> None:
    spec = small().cells[0].spec
    lasts = Duration(1_000, 1_000)
    once = [len(draw_faults((Fault(FaultKind.CRASH, 7 * DAY, lasts),), spec, seed, 365 * DAY)) for seed in range(60)]
    assert 49 < sum(once) / 60 < 55
    each = [len(draw_faults((Fault(FaultKind.CRASH, 7 * DAY, lasts, each_broker=True),), spec, seed, 365 * DAY)) for seed in range(30)]
    assert 150 < sum(each) / 30 < 163


def test_a_broker_that_is_down_does_not_crash_and_starts_once() -> None:
    spec = attrs.evolve(small().cells[0].spec, brokers=(BrokerSpec(1, "a"), BrokerSpec(2, "a"), BrokerSpec(3, "b")))
    model = (
        Fault(FaultKind.CRASH, 3_600_000_000, Duration(mean=3_600_000_000)),
        Fault(FaultKind.RACK_OUTAGE, 4 * 3_600_000_000, Duration(mean=7_200_000_000)),
    )
    up: dict[int, bool] = {1: True, 2: True, 3: True}
    acts = sorted((act for drawn in draw_faults(model, spec, 1, 10 * DAY) for act in drawn.acts), key=lambda act: act[0])
    kinds = set()
    for _, act in acts:
        assert isinstance(act, (Kill, PowerLoss, Start))
        assert up[act.broker] is not isinstance(act, Start)
        up[act.broker] = isinstance(act, Start)
        kinds.add(type(act))
    assert kinds == {Kill, PowerLoss, Start}
    assert all(up.values())


def test_the_controllers_of_a_zone_fail_with_its_rack() -> None:
    zones = (ZoneSpec("a", ("b1", "c1", "c2")), ZoneSpec("b", ("b2", "c3")))
    spec = attrs.evolve(
        small().cells[0].spec, brokers=(BrokerSpec(1, "a"), BrokerSpec(2, "b")), controllers=("c1", "c2", "c3"), zones=zones
    )
    drawn = draw_faults((Fault(FaultKind.RACK_OUTAGE, DAY, Duration(1_000, 1_000)),), spec, 1, 10 * DAY)
    hit: dict[int, set[object]] = {}
    for fault in drawn:
        act = fault.acts[0][1]
        hit.setdefault(fault.start, set()).add(act.broker if isinstance(act, Kill | PowerLoss) else act.node)
    assert {frozenset(nodes) for nodes in hit.values()} == {frozenset({1, "c1", "c2"}), frozenset({2, "c3"})}


def test_what_is_near_shares_an_episode_and_nothing_is_left_out() -> None:
    grid = small()
    cell = grid.cells[0]
    around = cell.around
    assert around is not None
    for seed in range(20):
        faults = draw_faults(grid.faults, cell.spec, seed, grid.horizon)
        episodes = episodes_of(grid, cell, seed)
        assert sum(episode.faults for episode in episodes) == len(faults)
        found = [(episode.start + time, act) for episode in episodes for time, act in episode.acts if not isinstance(act, (Load, StopLoad))]
        assert found == sorted((act for drawn in faults for act in drawn.acts), key=lambda act: act[0])
        for one, following in itertools.pairwise(episodes):
            assert one.start + one.end <= following.start
        for episode in episodes:
            acts_of_faults = [time for time, act in episode.acts if not isinstance(act, (Load, StopLoad))]
            assert around.before <= acts_of_faults[0] < around.before + START_GRAIN
            assert acts_of_faults[-1] + around.after == episode.end


def test_loads_are_fine_near_faults_and_keep_their_rate() -> None:
    grid = small()
    cell = grid.cells[0]
    producing = cell.producers[0]
    assert cell.around is not None
    for episode in episodes_of(grid, cell, 3):
        loads = [(time, act) for time, act in episode.acts if isinstance(act, (Load, StopLoad)) and act.producer == producing.name]
        at = [time for time, act in episode.acts if not isinstance(act, (Load, StopLoad))]

        def period(time: int, loads: list = loads) -> int:
            act = [act for when, act in loads if when <= time][-1]
            return act.every if isinstance(act, Load) else 0

        for time in at:
            assert period(time - cell.around.near) == period(time) == period(time + cell.around.near - 1) == producing.every
            assert period(time + 2 * SOON_EVERY) == SOON_EVERY or any(abs(time + 2 * SOON_EVERY - other) < SOON_EVERY for other in at)
        ticks = sent = 0
        for (time, act), (until, _) in itertools.pairwise(loads):
            if isinstance(act, Load):
                ticks = -(-(until - time) // act.every)
                sent += ticks * act.rate * act.every
        stop = loads[-1][0]
        assert abs(sent / producing.rate - stop) < 0.2 * stop + producing.between * 1_000_000 / 1_000_000


def test_every_fault_ends_again() -> None:
    grid = read_grid(EVERY_FAULT, "g.yaml")
    drawn = draw_faults(grid.faults, grid.cells[0].spec, 5, 60 * grid.horizon)
    # Controllers that fail need a quorum, where no link to the controller can be cut.
    assert {one.kind for one in drawn} == set(FaultKind) - {FaultKind.CONTROLLER_CRASH}
    for one in drawn:
        assert one.start < one.end
        assert any(time == one.end for time, _ in one.acts)
    assert any(isinstance(act, HealLinks) for one in drawn for _, act in one.acts)


def test_controllers_crash_one_by_one_and_start_again() -> None:
    spec = attrs.evolve(small().cells[0].spec, controllers=("c1", "b1", "c2", "c3"))
    fault = Fault(FaultKind.CONTROLLER_CRASH, 3_600_000_000, Duration(mean=3_600_000_000))
    drawn = draw_faults((fault,), spec, 1, 20 * DAY)
    up = {"c1": True, "c2": True, "c3": True}
    for _, act in sorted((act for one in drawn for act in one.acts), key=lambda act: act[0]):
        assert isinstance(act, (KillController, StartController))
        assert up[act.node] is isinstance(act, KillController)
        up[act.node] = not up[act.node]
    assert all(up.values())
    assert len(drawn) > 200


def test_without_around_a_run_is_one_episode_with_the_runs_own_seed() -> None:
    grid = whole(attrs.evolve(small(), horizon=3_600_000_000))
    assert isinstance(grid, Grid)
    (episode,) = episodes_of(grid, grid.cells[0], 42)
    assert (episode.seed, episode.start, episode.end, episode.final) == (42, 0, grid.horizon, True)


def test_intervals_widen_to_whole_grains_and_merge_if_they_touch() -> None:
    given = [(30_001, 45_000), (-5, 10_000), (10_000, 12_000), (60_000, 61_000), (31_000, 32_000)]
    merged = _merged(given)
    assert merged == [(0, 20_000), (30_000, 50_000), (60_000, 70_000)]
    assert [_within(merged, time) for time in (0, 19_999, 20_000, 30_000, 49_999, 50_000)] == [True, True, False, True, True, False]


def test_faults_are_in_one_group_if_less_than_the_gap_is_between_them() -> None:
    faults = [DrawnFault(FaultKind.PAUSE, start, end, ()) for start, end in ((0, 100), (20, 30), (110, 115), (124, 130))]
    assert [[fault.start for fault in group] for group in _groups(faults, 10)] == [[0, 20], [110, 124]]
    assert [[fault.start for fault in group] for group in _groups(faults, 9)] == [[0, 20], [110], [124]]
    assert list(_groups([], 10)) == []

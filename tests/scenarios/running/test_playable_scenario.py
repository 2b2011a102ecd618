"""A scenario as a playable: it ends where its script ends, and a saved run continues byte for byte."""

from __future__ import annotations

import random

import attrs
import pytest

from core.kafka.events import EventTuple
from core.kafka.release import CURRENT
from core.lab.history.destination import Destination
from core.lab.history.history import History
from core.lab.history.position import Position
from core.lab.spec import Pace
from scenarios import catalogue
from scenarios.language.script import read_script
from scenarios.releases import release_named
from scenarios.running.playable_scenario import PlayableScenario, PlayableScenarioSnapshot
from scenarios.running.runner import Check, Run

ENDS_AT_ONCE = """
scenario: ends-at-once
about: On a network without latency the condition holds as soon as the script waits for it.
cluster:
  brokers: 3
  topics: {orders: {partitions: 3, replication-factor: 3}}
  network: {latency: 0ms}
timeline:
  - at: 1s
    kill: 1
  - until: urp == 0
    within: 30s
"""


def standing(run: Run) -> list[Check]:
    """Return the current states of the expectations."""
    return [attrs.evolve(check) for check in run.expectations]


def test_a_script_may_end_where_more_is_due_at_once() -> None:
    """The consequences of the last acts are still to be handled at that moment, and every step handles something."""
    scenario = read_script(ENDS_AT_ONCE, "ends.yaml")
    playable = PlayableScenario(Run(scenario, CURRENT))
    while not playable.finished:
        playable.step()
    assert playable.next_due() == playable.cluster.now == 1_000_000
    for _ in range(100):
        playable.step()
    assert playable.cluster.now > 1_000_000


@pytest.mark.parametrize(
    ("name", "release", "seed"),
    [
        ("e1-data-loss", "0.10.2", 1),
        ("c1-paused-follower", "4.1", 2),
        ("d6-unclean-election-on", "4.1", 3),
        ("f2-min-isr-2-two-down", "4.1", 4),
        ("e1-data-loss", "4.1 without fetch-epoch-fencing", 5),
    ],
)
def test_a_kept_scenario_goes_on_byte_for_byte(name: str, release: str, seed: int) -> None:
    dice = random.Random(seed)
    scenario = catalogue.load(name)
    taken: list[EventTuple] = []
    first = PlayableScenario(Run(scenario, release_named(release), scenario.seed, taken.append))
    kept: list[tuple[PlayableScenarioSnapshot, int, list[Check]]] = []
    due = dice.randint(3, 9)
    while not first.finished and first.step():
        due -= 1
        if due == 0:
            due = dice.randint(3, 9) if scenario.spec.pace is Pace.BY_HAND else dice.randint(200, 3_000)
            kept.append((first.snapshot(), len(taken), standing(first.run)))
    result = first.run.result()
    assert kept, "otherwise this shows nothing"
    for moment, seen, checks in kept:
        again: list[EventTuple] = taken[:seen]
        playable = moment.restore(again.append)
        assert standing(playable.run) == checks
        while not playable.finished and playable.step():
            pass
        assert again == taken
        assert playable.run.result() == result, "checks, times and what was got"
        assert playable.run.notes == first.run.notes


def test_a_scenario_is_gone_back_on_without_a_screen() -> None:
    scenario = catalogue.load("e1-data-loss")
    history = History(lambda sink: PlayableScenario(Run(scenario, release_named("0.10.2"), None, sink)))
    while history.replay_run.steps < 7:
        history.replay_run.step()
    middle = history.view()
    while not history.replay_run.playable.finished:
        history.replay_run.step()
    end, whole = history.view(), history.events()
    history.go_to(Destination(position=Position(7, 0, middle.now)))
    assert history.view() == middle
    history.go_to_end()
    assert (history.view(), history.events()) == (end, whole)
    assert history.view().lost == 1

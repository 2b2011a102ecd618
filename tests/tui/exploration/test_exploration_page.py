"""The search in the playground: asked with !, listed on its page, and played on a branch."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from unittest import mock

import attrs
import pytest

from core.kafka.release import CURRENT
from core.kafka.topic_spec import TopicSpec
from core.lab.spec import BrokerSpec, ClusterSpec, Pace
from core.sim.units import SECOND
from scenarios.exploration.execution.beside import SearchBeside, Told
from scenarios.exploration.exploration import Exploration
from scenarios.language.script import read_script
from scenarios.running.runner import run_scenario
from tests.tui.fake_screen import FakeScreen
from tui.exploration.exploration_page import ExplorationPage, paint_search
from tui.handlers.exploring import Exploring
from tui.rendering.palette import palette_of
from tui.session.play_target import PlayTarget


class Screen(FakeScreen):
    """A screen with an open page and a timer that does not run."""

    opened = ""

    def open_page(self, name: str) -> None:
        self.opened = name

    def context(self) -> object:  # type: ignore[override]
        return self.presenter.context(self.frame(page=self.opened))

    def set_interval(self, seconds: float, look: Callable[[], None]) -> mock.Mock:
        return mock.Mock()


def screen(pace: Pace = Pace.TIMELINE) -> Screen:
    spec = ClusterSpec(brokers=tuple(BrokerSpec(number) for number in (1, 2, 3)), topics=(TopicSpec("orders", 1, 3),), pace=pace)
    return Screen(PlayTarget(None, spec, CURRENT), until=SECOND)


@pytest.fixture(autouse=True)
def no_process() -> Iterator[None]:
    with mock.patch.object(SearchBeside, "begin"):
        yield


def words(page: ExplorationPage, width: int = 100, height: int = 24) -> str:
    return "\n".join(line.text.rstrip() for line in page.lines(width, height))


def search_here(beside: SearchBeside) -> None:
    """Do the search in this process."""
    beside.request = attrs.evolve(beside.request, faults=("kill",), at_most=1, within=12 * SECOND)  # type: ignore[misc]
    exploration = Exploration(beside.request.start, beside.request.bounds(), "session")
    for _ in exploration.steps():
        pass
    beside.take_in(Told(tuple(exploration.layers), tuple(exploration.found), ended=True))


def test_a_search_from_the_present_moment_is_played_on_a_branch(tmp_path: Path) -> None:
    screen_ = screen()
    exploring = Exploring(screen_.loaded, screen_, screen_.open_page)  # type: ignore[arg-type]
    page = ExplorationPage(screen_)  # type: ignore[arg-type]
    assert "No search yet. Press !" in words(page)
    exploring.explore()
    title, wrong, _ = screen_.lines[-1]
    assert title.startswith("What can go wrong?")
    assert wrong("leader(nope-0) == none") == "unknown topic 'nope'; use one of orders"
    assert "not its events" in (wrong("happened leader-elected") or "")
    screen_.fill_in("isr(orders-0) < 3")
    assert screen_.opened == "explore"
    beside = screen_.loaded.search.beside
    assert beside is not None
    assert beside.request.start.load == "twice 2 records/s for each partition with acks=all"
    assert "the search begins …" in words(page)

    search_here(beside)
    shown = words(page)
    assert " 0 faults  not found within 12s   1 run, 4 new situations" in shown
    assert " 1 fault   found 1 " in shown
    assert "►      1  kill b" in shown
    assert "isr(orders-0) is [" in shown
    steps = shown[shown.index("Step by step") :].splitlines()
    assert [line.split()[1:3] for line in steps[1:3]] == [["kill", "b3"], ["isr(orders-0)", "is"]]
    assert " Evidence " not in shown, "there is no room for it"
    large = words(page, 200, 60)
    assert "   · kill: a broker's process dies (kill -9)" in large
    assert next(line for line in large.splitlines() if line.startswith("►")).index("isr(orders-0)") < 40, "columns stand side by side"

    assert page.takes("elect-preferred")
    assert screen_.shown[-1][0] == "Evidence of the search"
    assert not page.takes("kill")
    assert page.takes("start")
    _, wrong, then = screen_.lines.pop()
    assert wrong("x") == "the name of a script ends in .yaml"
    then(str(tmp_path / "found.yaml"))
    assert run_scenario(read_script((tmp_path / "found.yaml").read_text(), "found.yaml"), CURRENT).held

    history = screen_.session.history
    assert page.enter()
    screen_.arrive()
    found = beside.found[0].finding
    assert (history.branch.name, len(history.branches)) == ("branch 2", 2)
    assert history.cluster.now <= found.acts[0][0]
    assert all(broker.state == "running" for broker in history.view().brokers)
    assert screen_.said[-1][0].startswith(f"branch 2, just before {beside.found[0].acts}; to see it happen, play")
    history.go_to_end()
    screen_.arrive()
    assert history.cluster.now == found.time
    assert len(history.view().partitions[0].isr) < 3


def test_what_is_found_is_told_on_other_screens_too() -> None:
    screen_ = screen()
    exploring = Exploring(screen_.loaded, screen_, screen_.open_page)  # type: ignore[arg-type]
    exploring.explore()
    screen_.fill_in("lost > 0")
    screen_.opened = ""
    beside = screen_.loaded.search.beside
    assert beside is not None
    with mock.patch.object(beside, "poll", return_value=True):
        beside.take_in(Told(ended=True, failed="the process of the search has died"))
        exploring.look()
    assert screen_.said == [("the process of the search has died", True)]
    painted = [line.text for line in paint_search(beside, palette_of("dark"), (80, 20), 0)]
    assert any("the process of the search has died" in line for line in painted)
    exploring.explore()
    assert screen_.opened == "explore", "the search is shown first; there, the key asks for another one"
    exploring.explore()
    assert len(screen_.lines) == 1


def test_a_cluster_that_is_stepped_by_hand_has_no_search() -> None:
    screen_ = screen(Pace.BY_HAND)
    Exploring(screen_.loaded, screen_, screen_.open_page).explore()  # type: ignore[arg-type]
    _, wrong, _ = screen_.lines[-1]
    assert wrong("lost > 0") == "the search needs time to pass, and this cluster is stepped by hand"

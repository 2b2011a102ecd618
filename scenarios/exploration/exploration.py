"""A whole exploration: a search from a starting point, the findings in their simplest form, and a script for each of them."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any, Final

import attrs

from core.lab.act_handlers import act_arguments
from core.lab.act_sentences import act_sentence
from core.lab.cluster import Cluster
from scenarios.conditions.conditions import Compare
from scenarios.exploration.goal import Goal, Timed, mend
from scenarios.exploration.player import Bounds, Player, Plays
from scenarios.exploration.search import Finding, Layer, Search
from scenarios.exploration.shrink import Shrinker
from scenarios.exploration.start import Start, do
from scenarios.io.termination_signals import Terminated
from scenarios.language.acts import act_as_data
from scenarios.language.script import read_script
from scenarios.logs.recorded_session import session_script
from scenarios.running.runner import LiveMoment, run_scenario


@attrs.frozen
class Counterexample:
    """A finding in its simplest form, which was run again from the start.

    Attributes:
        finding: the acts, and the moment at which the goal becomes true.
        value: what the goal reads at that moment, in words.
        script: the script that shows it; its expectations hold.
    """

    finding: Finding
    value: str
    script: str

    @property
    def acts(self) -> str:
        """The acts, in words."""
        return acts_in_words(self.finding.acts)

    def as_data(self) -> dict[str, Any]:
        """Return the counterexample for JSON."""
        return {
            "faults": list(self.finding.faults),
            "acts": [{"at": time, act.word: act_as_data(act)} for time, act in self.finding.acts],
            "time": self.finding.time,
            "value": self.value,
            "script": self.script,
        }


class Exploration:
    """A search whose findings are made as simple as they can be, and are run again from the start.

    Attributes:
        bounds: the bounds of the search.
        found: the counterexamples so far, in the order in which they were found.
        dropped: the number of findings that did not happen again when they were run from the start.
        stopped: the signal that ended the search; None if none did.
    """

    def __init__(self, start: Start, bounds: Bounds, name: str, seconds: float | None = None, plays: Plays | None = None) -> None:
        """Prepare a search.

        Args:
            start: where the search begins.
            bounds: the bounds.
            name: the name of the cluster, for the scripts.
            seconds: the time limit in seconds of real time; None for no limit.
            plays: plays the runs after the first; None to play them here.

        Raises:
            InputError: the cluster cannot be built.
        """
        cluster = start.cluster()
        self.bounds: Final = bounds
        self.found: Final[list[Counterexample]] = []
        self.dropped = 0
        self.stopped: Terminated | None = None
        self._start = start
        self._goal = bounds.goal
        self._name = name
        self._shrinker = Shrinker(cluster, cluster.snapshots.take(cluster), bounds.goal, cluster.now + bounds.within)
        self._search = Search(Player(cluster, bounds), bounds, self._confirm, plays, seconds)

    @property
    def layers(self) -> Sequence[Layer]:
        """What the search has done so far, by number of faults."""
        return self._search.layers

    @property
    def complete(self) -> bool:
        """Whether no layer was left before its end."""
        return all(layer.complete for layer in self.layers)

    def steps(self) -> Iterator[Layer]:
        """Search, and yield the present layer after each run."""
        return self._search.steps()

    def _confirm(self, finding: Finding) -> tuple[str, ...] | None:
        simple = self._shrinker.shrunk(finding)
        shown = _counterexample(self._start, self._goal, simple, self._name)
        if shown is None:
            self.dropped += 1
            return None
        self.found.append(shown)
        return simple.faults


def explore(
    start: Start,
    bounds: Bounds,
    name: str,
    tell: Callable[[Layer], None] = lambda layer: None,
    seconds: float | None = None,
    plays: Plays | None = None,
) -> Exploration:
    """Search for the fewest faults that make a goal true. `tell` is called after each run, to show progress (see `Exploration`). If a signal
    ends the search, the layers before the present one are complete.

    Raises:
        InputError: the cluster cannot be built.
    """
    exploration = Exploration(start, bounds, name, seconds, plays)
    try:
        for layer in exploration.steps():
            tell(layer)
    except Terminated as stopped:
        exploration.layers[-1].complete = False
        exploration.stopped = stopped
    return exploration


def acts_in_words(acts: Sequence[Timed]) -> str:
    """Return acts in words, for example `kill b2, start b2`."""
    return ", ".join(act_sentence(act.word, act_arguments(act)) for _, act in acts) or "nothing"


def value_of(goal: Goal, cluster: Cluster) -> str:
    """Return what the goal reads now, in words, for example `lost is 1`."""
    got = goal.condition.got(LiveMoment(cluster, {}))
    return f"{goal.condition.left.text} is {got}" if isinstance(goal.condition, Compare) and not goal.condition.left.literal else got


def _counterexample(start: Start, goal: Goal, found: Finding, name: str) -> Counterexample | None:
    """Run a finding again from the start, and write its script. Return None if the script does not show it."""
    cluster = start.cluster()
    do(cluster, found.acts)
    cluster.run_until(found.time)
    value = value_of(goal, cluster)
    after: list[Timed] = mend(cluster) if goal.is_lasting else []
    end = cluster.now if goal.is_lasting else found.time
    script = session_script(
        start.spec,
        start.release,
        start.seed,
        (*start.acts, *found.acts, *after),
        end,
        name=f"{name}-counterexample",
        about=f"{goal.condition.text} after {acts_in_words(found.acts)}. Found by isrlab explore.",
        expects=[(end, goal.condition.text)],
    )
    result = run_scenario(read_script(script, f"{name}-counterexample"), start.release, start.seed)
    return Counterexample(found, value, script) if result.held else None

"""A whole exploration: a search from a starting point, the findings in their simplest form, and a script for each of them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import attrs

from core.lab.act_handlers import act_arguments
from core.lab.act_sentences import act_sentence
from core.lab.cluster import Cluster
from scenarios.conditions.conditions import Compare
from scenarios.exploration.goal import Goal, Timed, mend
from scenarios.exploration.menu import Fault
from scenarios.exploration.search import Bounds, Finding, Layer, Search
from scenarios.exploration.shrink import Shrinker
from scenarios.exploration.start import Start, do
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


@attrs.frozen
class Outcome:
    """The result of an exploration.

    Attributes:
        layers: what the search did, by number of faults.
        found: the counterexamples, those with the fewest faults first.
        dropped: the number of findings that did not happen again when they were run from the start.
    """

    layers: Sequence[Layer]
    found: Sequence[Counterexample]
    dropped: int

    @property
    def complete(self) -> bool:
        """Whether the search came to its end, not to its time limit."""
        return all(layer.complete for layer in self.layers)


def explore(
    start: Start, goal: Goal, faults: Sequence[Fault], at_most: int, within: int, seconds: float | None, name: str,
    tell: Callable[[Layer], None] = lambda layer: None,
) -> Outcome:  # fmt: skip
    """Search for the fewest faults that make a goal true.

    Args:
        start: where the search begins.
        goal: the goal.
        faults: the kinds of faults to try.
        at_most: the largest number of faults.
        within: how long the cluster runs, in µs of virtual time.
        seconds: the time limit in seconds of real time; None for no limit.
        name: the name of the cluster, for the scripts.
        tell: a function that is called after each run, to show progress.

    Raises:
        InputError: the cluster cannot be built.
    """
    cluster = start.cluster()
    begin = cluster.snapshots.take(cluster)
    end = cluster.now + within
    search = Search(cluster, Bounds(goal, faults, at_most, within, seconds), tell)
    layers = search.run()
    shrinker = Shrinker(cluster, begin, goal, end)
    found: dict[tuple[str, ...], Counterexample] = {}
    dropped = 0
    for layer in layers:
        for each in layer.findings:
            simple = shrinker.shrunk(each)
            if any(_includes(simple.faults, known) for known in found):
                continue
            shown = _counterexample(start, goal, simple, name)
            if shown is None:
                dropped += 1
            else:
                found[simple.faults] = shown
    return Outcome(layers, sorted(found.values(), key=lambda one: len(one.finding.faults)), dropped)


def acts_in_words(acts: Sequence[Timed]) -> str:
    """Return acts in words, for example `kill b2, start b2`."""
    return ", ".join(act_sentence(act.word, act_arguments(act)) for _, act in acts) or "nothing"


def value_of(goal: Goal, cluster: Cluster) -> str:
    """Return what the goal reads now, in words, for example `lost is 1`."""
    got = goal.condition.got(LiveMoment(cluster, {}))
    return f"{goal.condition.left.text} is {got}" if isinstance(goal.condition, Compare) and not goal.condition.left.literal else got


def _includes(faults: Sequence[str], fewer: Sequence[str]) -> bool:
    left = list(faults)
    for fault in fewer:
        if fault not in left:
            return False
        left.remove(fault)
    return True


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

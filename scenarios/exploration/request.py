"""What is asked of a search, in a form that can be sent to another process."""

from __future__ import annotations

import attrs

from core.sim.units import SECOND
from scenarios.conditions.condition_parser import parse_condition
from scenarios.conditions.conditions import Names
from scenarios.exploration.goal import Goal
from scenarios.exploration.menu import FAULTS, USUAL
from scenarios.exploration.player import Bounds
from scenarios.exploration.start import Start


@attrs.frozen
class Request:
    """What is asked of a search.

    Attributes:
        start: where the search begins.
        goal: the condition that is to become true.
        faults, at_most, within, prune: the bounds (`Bounds`), the kinds of faults as words.
    """

    start: Start
    goal: str
    faults: tuple[str, ...] = USUAL
    at_most: int = 2
    within: int = 30 * SECOND
    prune: frozenset[str] = frozenset()

    def bounds(self, *, check_names: bool = True) -> Bounds:
        """Return the bounds of the search. To check the names in the goal, the cluster is built.

        Raises:
            ConditionError: the goal is not a condition.
            ValueError: the condition cannot be a goal.
        """
        faults = tuple([FAULTS[word] for word in self.faults])
        return Bounds(
            Goal(parse_condition(self.goal, self.start.names() if check_names else Names())), faults, self.at_most, self.within, self.prune
        )

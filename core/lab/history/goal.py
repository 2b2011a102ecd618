"""A moment to go to, and the keyframe that the way there begins at."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

import attrs

from core.lab.history.keeper import Keeper, Kept
from core.lab.history.position import Played, Position
from core.lab.history.rings import Rings
from core.lab.history.step_ends import StepEnds
from core.lab.history.tape import Tape
from core.sim.repr_mixin import ReprMixin

NEAR: Final = 16_000
"""Steps, or events, that are gone at once: some tenth of a second, which nobody notices."""

OBJECTS_A_STEP: Final = 4
"""Objects that are made anew of a keyframe in the time of a step, or of an event."""


@attrs.frozen(repr=False)
class Known(ReprMixin):
    """The events of a branch that are still in memory, and how far they reach: its acts, the place of its last moment, where steps ended."""

    rings: Rings
    acts: Sequence[Played]
    place: tuple[int, int, int]
    ends: StepEnds | None = None


@attrs.frozen(repr=False)
class Goal(ReprMixin):
    """Where to go: the step that records an event, a position, or the end of a virtual time, µs. One of them is given."""

    what: str = "that moment"
    seq: int = -1
    position: Position | None = None
    time: int = -1

    @property
    def clock(self) -> int | None:
        """Its virtual time, µs, if that is known."""
        return self.position.time if self.position is not None else self.time if self.time >= 0 else None

    def reached(self, tape: Tape) -> bool:
        """Whether no further step is needed."""
        if self.position is not None:
            return (tape.steps, tape.done) >= (self.position.steps, self.position.acts)
        if self.seq >= 0:
            return tape.outlet.seq >= self.seq
        due = tape.next_due()
        return due is None or due > self.time

    def is_known(self, known: Known) -> bool:
        """Whether the events up to there are among those that are known."""
        if self.position is not None:
            return self.position.place <= known.place
        if self.seq >= 0:
            return known.ends is not None and self.seq <= known.ends.last
        return self.time < known.place[2]

    def progress(self, tape: Tape) -> float:
        """How much of the way from the start is done, 0 to 1."""
        if self.position is not None:
            done, whole = tape.steps + tape.done, self.position.steps + self.position.acts
        elif self.seq >= 0:
            done, whole = tape.outlet.seq, self.seq
        else:
            done, whole = tape.cluster.now, self.time
        return min(1.0, done / whole) if whole > 0 else 1.0

    def nearest(self, keeper: Keeper, acts: Sequence[Played], known: Known) -> Kept | None:
        """The kept cluster to begin with: on the way, and one whose events are known."""
        for kept in reversed(keeper.kept):
            position = kept.position
            if self._not_past(position) and position.place <= known.place and kept.leads_to(acts) and kept.leads_to(known.acts):
                return kept
        return None

    def is_near(self, kept: Kept, keeper: Keeper, known: Known) -> bool:
        """Whether the way from a kept cluster is so short that it can be gone at once, or no longer than to make a new cluster takes."""
        near = max(NEAR, len(kept.course.keyframe) // OBJECTS_A_STEP)
        if self.position is not None:
            return self.position.steps - kept.position.steps <= near
        if self.seq >= 0:
            return self.seq - kept.position.seq <= near
        later = [known.place[0], *(one.position.steps for one in keeper.kept if one.position.time > self.time)]
        return min(later) - kept.position.steps <= near

    def _not_past(self, position: Position) -> bool:
        if self.position is not None:
            return position.place <= self.position.place
        return position.seq < self.seq if self.seq >= 0 else position.time <= self.time

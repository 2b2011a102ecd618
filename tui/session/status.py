"""How a session stands at one moment: frozen, for the screens."""

from __future__ import annotations

import attrs

from core.lab.history.position import PlayedAct, Position
from core.sim.repr_mixin import ReprMixin


@attrs.frozen(repr=False)
class SessionStatus(ReprMixin):
    """How a session stands.

    Attributes:
        playing: whether virtual time goes on by itself.
        moving: whether frames change anything: it plays, or is on its way somewhere.
        speed: virtual seconds per wall second.
        reached: the speed that was really kept, when that is less than wished; else None.
        task_target: what it is on its way to, in words; else None.
        task_verb: what it does about that, in a word or two.
        progress: how much of that way is done, 0 to 1; None when nobody can tell.
        branch: the name of the branch.
        branches: how many there are.
        end: how far the branch was lived.
        in_the_past: whether there is a future that was lived already.
        by_hand: whether a cluster that ran by itself is moved by hand now.
        stepwise: whether it goes by steps that take no virtual time.
        finished: whether the script has come to its end.
        can_undo, can_redo: whether there is an act to undo, or to redo.
    """

    playing: bool
    moving: bool
    speed: float
    reached: float | None
    task_target: str | None
    task_verb: str
    progress: float | None
    branch: str
    branches: int
    end: Position
    in_the_past: bool
    by_hand: bool
    stepwise: bool
    finished: bool
    can_undo: bool
    can_redo: bool


@attrs.frozen(repr=False)
class RunSoFar(ReprMixin):
    """How far a session has come.

    Attributes:
        steps: taken so far.
        acts: done so far.
        next_due: when the next step is due, virtual µs; None: never.
        stepwise: whether it is moved by hand.
        moving: whether it goes on by itself, or is on its way somewhere.
    """

    steps: int
    acts: tuple[PlayedAct, ...]
    next_due: int | None
    stepwise: bool
    moving: bool

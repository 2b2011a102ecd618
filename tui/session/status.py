"""The frozen status of a session at one moment, for the screens."""

from __future__ import annotations

import attrs

from core.lab.history.position import PlayedAct, Position
from core.sim.repr_mixin import ReprMixin


@attrs.frozen(repr=False)
class SessionStatus(ReprMixin):
    """The status of a session.

    Attributes:
        playing: whether virtual time advances by itself.
        moving: whether frames change anything: the session plays, or a task runs.
        speed: virtual seconds per wall second.
        reached: the actual speed when it is lower than `speed`; else None.
        task_target: the target of the running task in words; else None.
        task_verb: what the task does, in a word or two.
        progress: the share of the task that is done, 0 to 1; None when it is unknown.
        branch: the name of the branch.
        branches: the number of branches.
        end: the last position of the branch that was played.
        in_the_past: whether the branch has a future that was already played.
        by_hand: whether a cluster that ran by itself was switched to by-hand mode.
        stepwise: whether the next step takes no virtual time.
        finished: whether the script has ended.
        can_undo: whether there is an act to undo.
        can_redo: whether there is an act to redo.
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
    """The progress of a session.

    Attributes:
        steps: steps so far.
        acts: acts so far.
        next_due: virtual time of the next step, µs; None: never.
        stepwise: whether the cluster is moved by hand.
        moving: whether the session plays or a task runs.
    """

    steps: int
    acts: tuple[PlayedAct, ...]
    next_due: int | None
    stepwise: bool
    moving: bool

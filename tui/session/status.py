"""The frozen status of a session at one moment, for the screens."""

from __future__ import annotations

import attrs

from core.lab.history.position import PlayedAct, Position
from core.sim.repr_mixin import ReprMixin


@attrs.frozen(repr=False)
class SessionStatus(ReprMixin):
    """The status of a session.

    Attributes:
        playing: whether virtual time advances on its own.
        moving: whether the next frame can differ from this one, because the session is playing or a task is running.
        speed: the number of virtual seconds per wall second.
        reached: the actual speed if it is lower than `speed`, otherwise None.
        task_target: the target of the running task in words, or None.
        task_verb: the verb that describes the running task.
        progress: the completed share of the task, from 0 to 1, or None if it is unknown.
        branch: the name of the branch.
        branches: the number of branches in the session.
        end: the last position that has been played on the branch.
        in_the_past: whether the branch has already been played beyond this moment.
        by_hand: whether a cluster that ran on its own was switched to the pace `by-hand`.
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
        steps: the number of steps that have been executed so far.
        acts: the acts that have been performed so far.
        next_due: the virtual time of the next step in µs, or None if there is no next step.
        stepwise: whether the next step takes no virtual time.
        moving: whether the session is playing or a task is running.
    """

    steps: int
    acts: tuple[PlayedAct, ...]
    next_due: int | None
    stepwise: bool
    moving: bool

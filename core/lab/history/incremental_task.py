"""Long computations that run in slices, so that a caller can handle key presses between two slices."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final, Protocol

ShouldYield = Callable[[], bool]
"""A function that returns whether a task must pause now. A task calls this function every few steps. For example, the function can read a
clock."""

STEPS_PER_CHECK: Final = 64
"""The number of steps between two calls to a `ShouldYield` function."""


def never_yield() -> bool:
    """Return False, so that the task runs to its end."""
    return False


class IncrementalTask(Protocol):
    """A long computation that runs in slices."""

    @property
    def progress(self) -> float | None:
        """The share of the computation that is complete, from 0 to 1; None if it is unknown."""

    def advance(self, should_yield: ShouldYield = never_yield) -> bool:
        """Run until `should_yield` returns True. Return whether the task has finished."""

    def cancel(self) -> bool:
        """Stop the task. Return whether the caller must treat the stopped task as finished."""


def run_to_completion(task: IncrementalTask) -> ShouldYield:
    """Return the default policy: every task runs to its end without a pause."""
    return never_yield


def do_nothing() -> None:
    """Do nothing when a task has finished."""


class TaskRunner:
    """A runner of tasks, one at a time.

    Attributes:
        task: the running task; None if there is none.
        task_target: a description of the running task's target; None if there is no task.
        yield_policy: the function that returns the `should_yield` function for a task. A slice of the task ends when `should_yield` returns
            True.
    """

    def __init__(self, yield_policy: Callable[[IncrementalTask], ShouldYield]) -> None:
        self.task: IncrementalTask | None = None
        self.task_target: str | None = None
        self.yield_policy = yield_policy
        self._arrived: Callable[[], None] = do_nothing

    @property
    def progress(self) -> float | None:
        """The completed share of the running task, from 0 to 1; None if there is no task or its length is unknown."""
        return None if self.task is None else self.task.progress

    def prepare_task(self, what: str, task: IncrementalTask, arrived: Callable[[], None]) -> None:
        """Start a task. Each call to `continue_task` runs a slice of the task.

        Args:
            what: a description of the task's target.
            task: the task to start.
            arrived: the function to call when the task has finished.
        """
        self.task_target, self.task, self._arrived = what, task, arrived

    def start_task(self, what: str, task: IncrementalTask, arrived: Callable[[], None]) -> None:
        """Start a task, and run its first slice. For the arguments, see `prepare_task`."""
        self.prepare_task(what, task, arrived)
        self.continue_task()

    def continue_task(self) -> None:
        """Run the next slice of the running task."""
        task = self.task
        if task is not None and task.advance(self.yield_policy(task)):
            self._end_task()()

    def _end_task(self) -> Callable[[], None]:
        arrived = self._arrived
        self.task = self.task_target = None
        self._arrived = do_nothing
        return arrived

    def cancel_task(self) -> None:
        """Cancel the running task. If a move into the past is canceled before it is complete, nothing changes."""
        task = self.task
        if task is not None:
            arrived = self._end_task()
            if task.cancel():
                arrived()

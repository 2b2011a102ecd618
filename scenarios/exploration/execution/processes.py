"""Plays the runs of a search in processes of this machine. The search takes in their results in the order of the tasks, so it finds the same
with any number of processes.
"""

from __future__ import annotations

import multiprocessing
from collections import deque
from collections.abc import Callable, Iterator, Set
from concurrent.futures import Future, ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from types import TracebackType
from typing import Final

from scenarios.errors import InputError
from scenarios.exploration.player import REPEATS, Player, Run, Runs, Task
from scenarios.exploration.request import Request
from scenarios.io.child_processes import end_with_parent, terminal_signals_blocked

AHEAD: Final = 3
"""The number of tasks for each process that are under way or wait to be taken in."""

_player: Player | None = None


def _begin(request: Request) -> None:
    """Initialize a process of the pool."""
    global _player
    end_with_parent()
    _player = Player(request.start.cluster(), request.bounds())


def _play(task: Task, fewer: frozenset[bytes], last: bool) -> list[Run | None]:
    assert _player is not None
    return [_player.run(task, fewer, last, number) for number in range(len(task.acts))]


class Processes:
    """Processes that play tasks. Use it in a `with` statement, which ends them."""

    def __init__(self, request: Request, parallel: int) -> None:
        self._request = request
        self._parallel = parallel
        self._pool: ProcessPoolExecutor | None = None

    def __enter__(self) -> Processes:
        """Prepare the pool. The processes start with the first tasks."""
        context = multiprocessing.get_context("spawn")
        with terminal_signals_blocked():
            self._pool = ProcessPoolExecutor(self._parallel, context, _begin, (self._request,))
        return self

    def __exit__(self, kind: type[BaseException] | None, wrong: BaseException | None, trace: TracebackType | None) -> None:
        """End the processes, also in the middle of a task."""
        assert self._pool is not None
        for process in list((self._pool._processes or {}).values()):
            process.terminate()
        self._pool.shutdown(wait=True, cancel_futures=True)
        self._pool = None

    def play(self, take: Callable[[], Task | None], fewer: Set[bytes], *, last: bool) -> Iterator[tuple[Task, Runs]]:
        """Play tasks (see `Plays.play`).

        Raises:
            InputError: a process died.
        """
        assert self._pool is not None
        sent = frozenset(fewer) if REPEATS in self._request.prune else frozenset[bytes]()
        under_way: deque[tuple[Task, Future[list[Run | None]]]] = deque()
        try:
            while True:
                while len(under_way) < AHEAD * self._parallel and (task := take()) is not None:
                    with terminal_signals_blocked():  # submitting starts another process if there are too few
                        under_way.append((task, self._pool.submit(_play, task, sent, last)))
                if not under_way:
                    return
                task, future = under_way.popleft()
                yield task, future.result().__getitem__
        except BrokenProcessPool:
            raise InputError("a process of the search died; if memory is short, give a smaller number with --processes") from None

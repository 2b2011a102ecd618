"""The controller's event queue (Kafka: `ControllerEventManager`): one event after the other.

An event that reads and writes ZooKeeper goes on when the answer is there, and only callback the next begins.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable

from core.kafka.zookeeper.protocol import Op, Result
from core.kafka.zookeeper_mode.client import ZooKeeperClient
from core.sim.journal import Journal

Callback = Callable[..., None]
"""How an event goes on."""


class ControllerEventManager:
    """The queue of one broker's controller.

    Attributes:
        active: this broker believes to be the controller: events are handled.
        generation: counts its controllerships; an answer for a former one counts no more.
    """

    def __init__(self, journal: Journal, zk: ZooKeeperClient) -> None:
        self._journal = journal
        self._zk = zk
        self.active = False
        self.generation = 0
        self._events: deque[tuple[int, Callback, tuple[object, ...]]] = deque()
        self._busy = False
        self._running = False

    def begin_failover(self) -> None:
        """The controllership begins, with an event of its own under way."""
        self.active = self._busy = True

    def activate(self) -> None:
        """Have been controller for long, with nothing to do."""
        self.active = True

    def clear(self) -> None:
        """The controllership is over."""
        self.active = self._busy = False
        self.generation += 1
        self._events.clear()

    def add(self, handler: Callback, *about: object) -> None:
        """Queue an event behind the one under way."""
        self._events.append((self._journal.cause, handler, about))

    def put(self, handler: Callback, *about: object) -> None:
        """Queue an event, and begin it if nothing is under way."""
        self.add(handler, *about)
        self._run()

    def done(self) -> None:
        """The event is handled."""
        self._busy = False
        self._run()

    def _run(self) -> None:
        if self._running:
            return
        self._running = True
        journal = self._journal
        before = journal.cause
        while self._events and not self._busy and self.active:
            self._busy = True
            journal.cause, handler, about = self._events.popleft()
            handler(*about)
        journal.cause = before
        self._running = False

    def submit(self, ops: Iterable[Op], callback: Callback, *about: object) -> None:
        """Ask ZooKeeper; the answer counts only while this is the same controllership."""
        self._zk.submit(tuple(ops), self._on_results, self.generation, callback, about)

    def _on_results(self, results: tuple[Result, ...], generation: int, callback: Callback, about: tuple[object, ...]) -> None:
        if generation == self.generation:
            callback(results, *about)

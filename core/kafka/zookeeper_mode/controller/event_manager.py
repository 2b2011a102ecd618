"""The controller's event queue (Kafka: `ControllerEventManager`): one event after the other.

An event that reads and writes ZooKeeper goes on when the answer is there, and only then the next begins.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable

from core.kafka.zookeeper.protocol import Op, Result
from core.kafka.zookeeper_mode.client import ZooKeeperClient
from core.sim.journal import Journal

Then = Callable[..., None]
"""How an event goes on."""


class ControllerEventManager:
    """The queue of one broker's controller.

    Attributes:
        active: this broker believes to be the controller: events are handled.
        term: counts its controllerships; an answer for a former one counts no more.
    """

    def __init__(self, journal: Journal, zk: ZooKeeperClient) -> None:
        self._journal = journal
        self._zk = zk
        self.active = False
        self.term = 0
        self._events: deque[tuple[int, Then, tuple[object, ...]]] = deque()
        self._busy = False
        self._running = False

    def open(self) -> None:
        """The controllership begins, with an event of its own under way."""
        self.active = self._busy = True

    def adopt(self) -> None:
        """Have been controller for long, with nothing to do."""
        self.active = True

    def clear(self) -> None:
        """The controllership is over."""
        self.active = self._busy = False
        self.term += 1
        self._events.clear()

    def add(self, handler: Then, *about: object) -> None:
        """Queue an event behind the one under way."""
        self._events.append((self._journal.cause, handler, about))

    def put(self, handler: Then, *about: object) -> None:
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

    def ask(self, ops: Iterable[Op], then: Then, *about: object) -> None:
        """Ask ZooKeeper; the answer counts only while this is the same controllership."""
        self._zk.submit(tuple(ops), self._told, self.term, then, about)

    def _told(self, results: tuple[Result, ...], term: int, then: Then, about: tuple[object, ...]) -> None:
        if term == self.term:
            then(results, *about)

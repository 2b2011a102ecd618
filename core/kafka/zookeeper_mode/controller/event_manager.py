"""The controller's event queue, which handles one event at a time (Kafka: `ControllerEventManager`).

If the handling of an event reads from or writes to ZooKeeper, it continues when the response arrives. The next event starts only when the
current one is complete.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable

from core.kafka.zookeeper_mode.client import ZooKeeperClient
from core.kafka.zookeeper_server.protocol import Op, Result
from core.sim.journal import Journal

Callback = Callable[..., None]
"""A function that continues to handle an event when the response from ZooKeeper arrives."""


class ControllerEventManager:
    """The event queue of one broker's controller.

    Attributes:
        active: whether this broker considers itself the controller. The queue handles events only while `active` is true.
        generation: the number of times that this broker has stopped acting as controller. Responses to requests from an earlier generation
            are ignored.
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
        """Begin to act as controller. The failover becomes the event that is being processed, so that other events wait."""
        self.active = self._busy = True

    def activate(self) -> None:
        """Become the controller without a failover, as if this broker had been the controller for a long time."""
        self.active = True

    def clear(self) -> None:
        """Stop acting as controller, and drop all events."""
        self.active = self._busy = False
        self.generation += 1
        self._events.clear()

    def add(self, handler: Callback, *about: object) -> None:
        """Add an event to the queue."""
        self._events.append((self._journal.cause, handler, about))

    def put(self, handler: Callback, *about: object) -> None:
        """Queue an event. If no other event is in progress, start it."""
        self.add(handler, *about)
        self._run()

    def done(self) -> None:
        """Complete the current event, and start the next one."""
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
        """Send operations to ZooKeeper. The callback runs only if this broker remains the controller without interruption."""
        self._zk.submit(tuple(ops), self._on_results, self.generation, callback, about)

    def _on_results(self, results: tuple[Result, ...], generation: int, callback: Callback, about: tuple[object, ...]) -> None:
        if generation == self.generation:
            callback(results, *about)

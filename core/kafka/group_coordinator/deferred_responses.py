"""The responses that a group coordinator delays until its log is committed (Kafka: `CoordinatorRuntime`, `DeferredEventQueue`).

Since 4.0, a coordinator decides immediately, but responds only when all records that it has written so far are committed. The coordinator
delays even the response to a request for which it writes no records. If a response has waited for offsets.commit.timeout.ms, the client
gets an error instead.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

from core.kafka import errors
from core.kafka.group_coordinator.append_errors import APPEND_ERRORS
from core.kafka.group_coordinator.classic_group.classic_group_member import ClassicGroupMember, Parked
from core.kafka.group_coordinator.coordinator_context import GroupCoordinatorContext
from core.kafka.ids import TopicPartition
from core.kafka.log.leader_term import BatchFields
from core.kafka.transaction.coordinator_context import Completion, InternalTopics

TIMER: Final = "coordinator-response-timeout"
"""The name of the timer that limits how long a response waits."""

NOT_ENDED: Final = ""
"""The value of `error` for a write that has not ended."""


class Deferred:
    """A response that is waiting.

    Attributes:
        sender: the address of the client.
        response: the response; None if another part of the coordinator sends it.
        failure: the response to send instead if a write fails or the wait times out. `complete` fills in the error of this response.
        member: the member whose JoinGroup or SyncGroup request is waiting for the group; None for other requests.
        done: whether the wait has ended.
    """

    __slots__ = ("broker", "done", "failure", "member", "response", "sender")

    broker: Final[GroupCoordinatorContext]
    sender: Final[str]
    response: Final[object]
    failure: Final[Any]
    member: Final[ClassicGroupMember | None]

    def __init__(
        self, broker: GroupCoordinatorContext, sender: str, response: object, failure: Any, member: ClassicGroupMember | None
    ) -> None:
        self.broker = broker
        self.sender = sender
        self.response = response
        self.failure = failure
        self.member = member
        self.done = False

    def complete(self, error: str) -> None:
        """Send the response or, if `error` is not NONE, an error response."""
        if self.done:
            return
        self.done = True
        if error == errors.NONE:
            if self.response is not None:
                self.broker.node.reply(self.sender, self.response)
        elif self.member is None or Parked(self.sender, self.failure.correlation) in (self.member.join, self.member.sync):
            self.broker.node.reply(self.sender, self.failure._replace(error=error))


class CountedWrite:
    """A write to a partition of `__consumer_offsets`, and the responses that are waiting for it.

    Attributes:
        completion: the function to call with the result; None if there is none.
        error: the result; NOT_ENDED before the write has ended.
        responses: the responses that are waiting for this write and for the writes before it.
    """

    __slots__ = ("completion", "error", "queue", "responses")

    queue: Final[DeferredResponses]
    completion: Final[Completion | None]
    responses: Final[list[Deferred]]

    def __init__(self, queue: DeferredResponses, completion: Completion | None) -> None:
        self.queue = queue
        self.completion = completion
        self.error = NOT_ENDED
        self.responses = []

    @property
    def was_refused(self) -> bool:
        """Whether the log refused the records."""
        return self.error not in (NOT_ENDED, errors.NONE)

    def append_completed(self, error: str) -> None:
        """Pass the result to the caller, and send the responses. Writes end in the order in which they began."""
        self.error = error
        self.queue.ended(self)
        if self.completion is not None:
            self.completion.append_completed(error)
        self.complete(APPEND_ERRORS.get(error, error))

    def complete(self, error: str) -> None:
        """Send the responses or, if `error` is not NONE, error responses."""
        responses = tuple(self.responses)
        self.responses.clear()
        for each in responses:
            each.complete(error)


class DeferredResponses:
    """The uncommitted writes to one partition of `__consumer_offsets`, and the responses that are waiting for them.

    Attributes:
        replicas: the partitions of `__consumer_offsets` that the broker hosts.
        writes: the uncommitted writes, in the order in which they began.
    """

    __slots__ = ("broker", "replicas", "writes")

    broker: Final[GroupCoordinatorContext]
    replicas: Final[InternalTopics]

    def __init__(self, broker: GroupCoordinatorContext, replicas: InternalTopics) -> None:
        self.broker = broker
        self.replicas = replicas
        self.writes: list[CountedWrite] = []

    def append(
        self,
        tp: TopicPartition,
        make: Callable[[int], BatchFields],
        deadline: int,
        completion: Completion | None,
        guard: int = 0,
        *,
        below_min_isr: bool = True,
    ) -> CountedWrite:
        """Append a batch, and keep track of the write until it ends. The arguments are those of `InternalTopics.append_internally`."""
        write = CountedWrite(self, completion)
        self.writes.append(write)
        self.replicas.append_internally(tp, make, deadline, write, guard, below_min_isr=below_min_isr)
        return write

    def ended(self, write: CountedWrite) -> None:
        """Forget a write."""
        self.writes = [each for each in self.writes if each is not write]

    @property
    def _waits(self) -> bool:
        return bool(self.writes) and self.broker.release.responses_wait_for_writes

    def respond(self, sender: str, response: object, failure: Any) -> None:
        """Send a response when all writes that have begun are committed. If a write fails, or if the response has waited for too long, send
        `failure` with the error instead of the response."""
        if self._waits:
            self._defer(Deferred(self.broker, sender, response, failure, None))
        else:
            self.broker.node.reply(sender, response)

    def limit(self, sender: str, failure: Any, member: ClassicGroupMember) -> None:
        """Fail a JoinGroup or SyncGroup request if it is still waiting for its group when offsets.commit.timeout.ms has elapsed.

        A request can time out only while writes that began before the request are uncommitted.
        """
        if self._waits:
            self._defer(Deferred(self.broker, sender, None, failure, member))

    def _defer(self, deferred: Deferred) -> None:
        broker = self.broker
        self.writes[-1].responses.append(deferred)
        broker.node.timer(broker.settings.us("offsets.commit.timeout.ms", broker=broker.id), TIMER, deferred)

    def unloaded(self) -> None:
        """Send errors instead of the waiting responses, because another broker now coordinates the groups."""
        writes, self.writes = self.writes, []
        for write in writes:
            write.complete(errors.NOT_COORDINATOR)


def timed_out(deferred: object) -> None:
    """Send an error, because offsets.commit.timeout.ms has elapsed."""
    assert isinstance(deferred, Deferred)
    deferred.complete(APPEND_ERRORS[errors.REQUEST_TIMED_OUT])

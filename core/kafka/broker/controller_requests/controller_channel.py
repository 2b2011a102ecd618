"""A broker's connection to the active controller (Kafka: `NodeToControllerChannelManager`, and `KafkaRaftClient` as an observer).

If there is only one controller, it is always the active one. In a quorum, a broker regards one voter as the active controller until this
voter responds that it is not active, refuses the connection, or does not respond to a metadata fetch for
`controller.quorum.fetch.timeout.ms`. The broker then switches to the voter that the response names as the active controller. If the
response names no active controller, the broker asks the next voter.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from core.kafka.broker.context import BrokerContext
from core.kafka.ids import CONTROLLER
from core.kafka.messages import MetadataFetchRequest, NotController
from core.sim.units import US_PER_MS

RETRY: Final = 50 * US_PER_MS
"""The delay before the broker asks the next voter, in µs. The broker waits if the voter that it asked last has stopped, or is not the
active controller and does not know which voter is.
"""


class ControllerChannel:
    """The connection to the active controller.

    Attributes:
        voters: the names of the controllers; empty for a cluster with a single controller.
        dedicated: the controllers whose processes contain no broker.
        controller: the node that this broker regards as the active controller.
        epoch: the highest controller epoch seen.
        controller_changed: called when the broker has switched to another controller, to send all pending requests again.
    """

    __slots__ = ("_broker", "_fetches", "_retry_armed", "controller", "controller_changed", "dedicated", "epoch", "voters")

    _broker: Final[BrokerContext]
    voters: Final[tuple[str, ...]]
    controller_changed: Final[Callable[[], None]]

    def __init__(self, broker: BrokerContext, voters: tuple[str, ...], controller_changed: Callable[[], None]) -> None:
        self._broker = broker
        self.controller_changed = controller_changed
        self.voters = voters
        self.dedicated = tuple(voter for voter in voters if not voter.startswith("b")) or (CONTROLLER,)
        self.controller = voters[0] if voters else CONTROLLER
        self.epoch = -1
        self._fetches = 0
        self._retry_armed = False
        if voters:
            broker.node.handlers[NotController] = self._handle_not_controller
            broker.node.timers.update({"controller-silent": self._fetch_timed_out, "find-controller": self._retry})

    def reset(self) -> None:
        """Forget pending retries, because the process has ended."""
        self._fetches += 1
        self._retry_armed = False

    def send(self, message: object) -> None:
        """Send a request to the active controller, which might be in the same process."""
        broker = self._broker
        if self.controller == broker.node.address:
            journal = broker.journal
            broker.network.agenda.add(
                journal.now, broker.node.address, broker.node.address, broker.node.incarnation, message, journal.cause
            )
        else:
            broker.node.send(self.controller, message)

    def fetch_metadata(self, offset: int) -> None:
        """Fetch the metadata log, starting at an offset."""
        self.send(MetadataFetchRequest(self._broker.id, offset))
        if self.voters:
            self._fetches += 1
            self._broker.node.timer(self._broker.config.quorum_fetch_timeout, "controller-silent", self._fetches)

    def disconnect(self) -> None:
        """Close the connection to the active controller."""
        self._broker.network.disconnect(self._broker.node.address, self.controller)

    def disconnected(self) -> None:
        """Ask another voter after a delay, because the active controller's process has ended."""
        if self.voters and not self._retry_armed:
            self._retry_armed = True
            self._broker.node.timer(RETRY, "find-controller")

    def _fetch_timed_out(self, number: object) -> None:
        """Switch to the next voter if the last metadata fetch got no response."""
        if number == self._fetches:
            self.disconnect()
            self.try_next()

    def _retry(self, _: object) -> None:
        self._retry_armed = False
        self.try_next()

    def try_next(self) -> None:
        """Switch to the next voter."""
        at = self.voters.index(self.controller)
        self.controller = self.voters[(at + 1) % len(self.voters)]
        self.controller_changed()

    def _handle_not_controller(self, answer: NotController, sender: str) -> None:
        if answer.leader and answer.epoch >= self.epoch and sender == self.controller:
            self.epoch = answer.epoch
            self.controller = answer.leader
            self.controller_changed()
        elif sender == self.controller:
            self.disconnected()

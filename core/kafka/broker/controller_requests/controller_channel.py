"""A broker's way to the active controller (Kafka: `NodeToControllerChannelManager`, and the observer's side of `KafkaRaftClient`).

With a single controller there is nothing to find. In a quorum a broker keeps to the voter it takes for the active one
until that one says it is not, refuses the connection, or leaves a metadata fetch without an answer for
`controller.quorum.fetch.timeout.ms`; then it goes where it is pointed, or asks the next voter.
"""

from __future__ import annotations

from typing import Final

from core.kafka.broker.context import BrokerContext
from core.kafka.ids import CONTROLLER
from core.kafka.messages import MetadataFetchRequest, NotController
from core.sim.units import US_PER_MS

RETRY: Final = 50 * US_PER_MS
"""µs until the next voter is asked when one was not the active controller and knew no other."""


class ControllerChannel:
    """The connection to the active controller.

    Attributes:
        voters: the controllers' names; empty for a cluster with its one controller.
        dedicated: those of them, or the one controller, that are no brokers.
        controller: whom this broker takes for the active one.
        epoch: the highest controller epoch that it has heard of.
    """

    __slots__ = ("_broker", "_fetches", "_retry_armed", "controller", "dedicated", "epoch", "voters")

    _broker: Final[BrokerContext]
    voters: Final[tuple[str, ...]]

    def __init__(self, broker: BrokerContext, voters: tuple[str, ...]) -> None:
        self._broker = broker
        self.voters = voters
        self.dedicated = tuple(voter for voter in voters if not voter.startswith("b")) or (CONTROLLER,)
        self.controller = voters[0] if voters else CONTROLLER
        self.epoch = -1
        self._fetches = 0
        self._retry_armed = False
        if voters:
            broker.handlers[NotController] = self._handle_not_controller
            broker.timers.update({"controller-silent": self._fetch_timed_out, "find-controller": self._retry})

    def reset(self) -> None:
        """The process ended."""
        self._fetches += 1
        self._retry_armed = False

    def send(self, message: object) -> None:
        """Send a request to the active controller, perhaps in this very process."""
        broker = self._broker
        if self.controller == broker.address:
            journal = broker.journal
            broker.network.agenda.add(journal.now, broker.address, broker.address, broker.incarnation, message, journal.cause)
        else:
            broker.send(self.controller, message)

    def fetch_metadata(self, offset: int) -> None:
        """Ask for the metadata log from an offset on."""
        self.send(MetadataFetchRequest(self._broker.id, offset))
        if self.voters:
            self._fetches += 1
            self._broker.timer(self._broker.quorum_fetch_timeout, "controller-silent", self._fetches)

    def disconnect(self) -> None:
        """Give the connection up."""
        self._broker.network.disconnect(self._broker.address, self.controller)

    def disconnected(self) -> None:
        """The active controller's process is gone: after a moment another is asked."""
        if self.voters and not self._retry_armed:
            self._retry_armed = True
            self._broker.timer(RETRY, "find-controller")

    def _fetch_timed_out(self, number: object) -> None:
        """The last metadata fetch has had no answer."""
        if number == self._fetches:
            self.disconnect()
            self.try_next()

    def _retry(self, _: object) -> None:
        self._retry_armed = False
        self.try_next()

    def try_next(self) -> None:
        """Ask the next voter."""
        at = self.voters.index(self.controller)
        self.controller = self.voters[(at + 1) % len(self.voters)]
        self._broker.ask_controller_again()

    def _handle_not_controller(self, answer: NotController, sender: str) -> None:
        if answer.leader and answer.epoch >= self.epoch and sender == self.controller:
            self.epoch = answer.epoch
            self.controller = answer.leader
            self._broker.ask_controller_again()
        elif sender == self.controller:
            self.disconnected()

"""A broker's registration with the controller (Kafka: the registration part of `BrokerLifecycleManager`).

The broker repeats its request until it gets a response. With each refusal, the broker waits longer before it repeats the request.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from core.kafka import errors
from core.kafka.broker.context import BrokerContext
from core.kafka.broker.controller_requests.controller_channel import ControllerChannel
from core.kafka.messages import BrokerRegistrationRequest, BrokerRegistrationResponse
from core.sim.units import SECOND, US_PER_MS

REGISTRATION_RETRY: Final = SECOND
"""The delay before the broker resends a registration that got no response, in µs."""

RESEND_BACKOFF: Final = 100 * US_PER_MS
"""The delay before the broker resends a registration that was refused, in µs.

The delay doubles with each refusal, up to broker.session.timeout.ms (`BrokerLifecycleManager`).
"""

MAX_DOUBLINGS: Final = 20
"""The number of refusals after which the delay no longer doubles."""


class BrokerRegistration:
    """The registration of one broker.

    Attributes:
        incarnation: the incarnation of the process that was registered last.
        registered: called when the controller has registered the process.
        started_clean: whether the process found its logs cleanly closed when it started.
    """

    __slots__ = (
        "_attempt",
        "_broker",
        "_channel",
        "_online_directories",
        "_refusals",
        "_refused",
        "incarnation",
        "registered",
        "started_clean",
    )

    _broker: Final[BrokerContext]
    _channel: Final[ControllerChannel]
    _online_directories: Final[Callable[[], tuple[str, ...]]]
    registered: Final[Callable[[], None]]

    def __init__(
        self,
        broker: BrokerContext,
        channel: ControllerChannel,
        online_directories: Callable[[], tuple[str, ...]],
        registered: Callable[[], None],
    ) -> None:
        self._broker = broker
        self.registered = registered
        self._channel = channel
        self._online_directories = online_directories
        self.incarnation = 0
        self.started_clean = True
        self._attempt = 0
        self._refused = False
        self._refusals = 0
        broker.node.handlers[BrokerRegistrationResponse] = self._answered
        broker.node.timers["register"] = self._register_again

    def reset(self) -> None:
        """Forget how many times the controller refused to register the previous process."""
        self._refused = False
        self._refusals = 0

    @property
    def is_current(self) -> bool:
        """Whether the current process is registered."""
        return self.incarnation == self._broker.node.incarnation

    def register(self) -> None:
        """Register the current process, and repeat the request if it gets no response."""
        if self.is_current:
            return
        self.send()
        if not self._broker.by_hand:
            self._register_in(REGISTRATION_RETRY)

    def send(self) -> None:
        """Send one registration request."""
        broker = self._broker
        self._channel.send(BrokerRegistrationRequest(broker.id, broker.node.incarnation, self.started_clean, self._online_directories()))

    def _register_in(self, delay: int) -> None:
        self._attempt += 1
        self._broker.node.timer(delay, "register", self._attempt)

    def _register_again(self, about: object) -> None:
        if about not in (None, self._attempt):
            return
        if not self._channel.voters or self._refused:
            self._refused = False
            self.register()
        elif not self.is_current:
            self._register_in(REGISTRATION_RETRY)
            self._channel.try_next()

    def _answered(self, response: BrokerRegistrationResponse, _: str) -> None:
        broker = self._broker
        if self.is_current:
            return
        if response.error != errors.NONE:
            if not broker.by_hand:
                self._refused = True
                self._register_in(min(RESEND_BACKOFF << self._refusals, broker.settings.us("broker.session.timeout.ms")))
                self._refusals = min(self._refusals + 1, MAX_DOUBLINGS)
            return
        self.incarnation = broker.node.incarnation
        broker.broker_epoch = response.broker_epoch
        self.registered()

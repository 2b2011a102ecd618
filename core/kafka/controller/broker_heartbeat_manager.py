"""The heartbeat state of brokers: which brokers are alive, and which state each broker enters next (Kafka: `BrokerHeartbeatManager`).

The heartbeat state is kept in memory only; it is not in the metadata log. All times are virtual times, in µs, that the caller passes in.
"""

from __future__ import annotations

import enum
from collections import OrderedDict
from collections.abc import Callable, Iterator
from typing import Final, NamedTuple

import attrs

from core.sim.repr_mixin import ReprMixin
from core.sim.units import US_PER_MS

NEXT_FENCING_DELAY: Final = 10 * US_PER_MS
"""The delay between a check that fenced a broker and the next check, in µs (`PeriodicTaskControlManager#nextDelayTimeNs`)."""

_CHECKS_A_SESSION: Final = 8
"""The number of periodic checks per session timeout (`QuorumController#maybeFenceStaleBrokerPeriodNs`)."""

_NOT_SHUTTING_DOWN: Final = -1
"""The `controlled_shutdown_offset` of a broker that is not in controlled shutdown."""


class BrokerControlState(enum.StrEnum):
    """A broker's state from the controller's point of view (Kafka: `BrokerControlState`)."""

    FENCED = "FENCED"
    """The broker is registered, but it can neither lead nor be in an ISR."""
    UNFENCED = "UNFENCED"
    """The broker is alive and usable."""
    CONTROLLED_SHUTDOWN = "CONTROLLED_SHUTDOWN"
    """The broker is shutting down. Before the broker stops, other brokers take over the leadership of its partitions."""
    SHUTDOWN_NOW = "SHUTDOWN_NOW"
    """The broker is allowed to stop."""


class BrokerControlStates(NamedTuple):
    """A broker's states before and after a heartbeat."""

    current: BrokerControlState
    next: BrokerControlState


@attrs.define(repr=False)
class _HeartbeatState(ReprMixin):
    fenced: bool = True
    metadata_offset: int = -1
    controlled_shutdown_offset: int = _NOT_SHUTTING_DOWN
    last_contact: int = 0


class BrokerHeartbeatManager:
    """The heartbeat state of all registered brokers. Without scanning all brokers, this class finds the broker whose last heartbeat is the
    oldest.
    """

    __slots__ = ("_brokers", "_unfenced", "session_timeout_us")

    _brokers: Final[dict[int, _HeartbeatState]]
    _unfenced: Final[OrderedDict[int, _HeartbeatState]]

    def __init__(self, session_timeout_us: int) -> None:
        """Create an empty manager. `session_timeout_us` is `broker.session.timeout.ms` in µs.

        Raises:
            ValueError: the timeout is not positive.
        """
        if session_timeout_us <= 0:
            raise ValueError(f"broker session timeout is {session_timeout_us} µs; it must be more than 0")
        self.session_timeout_us = session_timeout_us
        self._brokers = {}
        # Unfenced brokers, oldest contact first. Time never goes backward, so each touch moves its broker to the end.
        self._unfenced = OrderedDict()

    def touch(self, broker: int, fenced: bool, metadata_offset: int, now: int) -> None:
        """Record that a broker registered or sent a heartbeat at `now` (Kafka: `#touch`). `fenced` says whether the broker is fenced after
        the registration or heartbeat.

        If `fenced` is True, the broker's controlled shutdown ends. If the manager does not know the broker yet, it adds the broker.
        """
        state = self._brokers.get(broker)
        if state is None:
            state = self._brokers[broker] = _HeartbeatState()
        state.fenced, state.metadata_offset, state.last_contact = fenced, metadata_offset, now
        if fenced:
            state.controlled_shutdown_offset = _NOT_SHUTTING_DOWN
            self._unfenced.pop(broker, None)
        else:
            self._unfenced[broker] = state
            self._unfenced.move_to_end(broker)

    def fence(self, broker: int) -> None:
        """Mark a broker as fenced, which ends its session (Kafka: `#fence`). Ignore unknown brokers."""
        state = self._brokers.get(broker)
        if state is not None:
            state.fenced, state.controlled_shutdown_offset = True, _NOT_SHUTTING_DOWN
            self._unfenced.pop(broker, None)

    def remove(self, broker: int) -> None:
        """Remove an unregistered broker (Kafka: `#remove`). Ignore unknown brokers."""
        self._brokers.pop(broker, None)
        self._unfenced.pop(broker, None)

    def __contains__(self, broker: object) -> bool:
        return broker in self._brokers

    def __iter__(self) -> Iterator[int]:
        """Return an iterator over the known broker IDs in ascending order."""
        return iter(sorted(self._brokers))

    def has_valid_session(self, broker: int, now: int) -> bool:
        """Return whether a broker is unfenced and was last in contact within the session timeout (Kafka: `#hasValidSession`)."""
        state = self._unfenced.get(broker)
        return state is not None and state.last_contact + self.session_timeout_us >= now

    def session_end(self, broker: int) -> int | None:
        """Return the time at which a broker's session ends unless the broker sends a heartbeat, in µs; None if the broker is fenced or
        unknown.
        """
        state = self._brokers.get(broker)
        return None if state is None or state.fenced else state.last_contact + self.session_timeout_us

    def stale_broker(self, now: int) -> int | None:
        """Return the unfenced broker whose last heartbeat is the oldest if its session has expired; otherwise, return None (Kafka:
        `#findOneStaleBroker`).

        The controller fences one broker at a time, so each step starts from the ISRs that the previous step produced.
        """
        for broker, state in self._unfenced.items():
            return broker if state.last_contact + self.session_timeout_us < now else None
        return None

    def next_check_time(self) -> int | None:
        """Return the last time at which the oldest session is still valid, in µs; None if no broker is unfenced (Kafka:
        `#nextCheckTimeNs`).

        The session expires 1 µs after this time. Until then, `stale_broker` does not return the broker of the session.
        """
        for state in self._unfenced.values():
            return state.last_contact + self.session_timeout_us
        return None

    @property
    def fencing_period(self) -> int:
        """The time between two periodic checks for stale brokers, in µs. The controller might fence a broker as late as one period after
        the broker's session expires."""
        return max(US_PER_MS, self.session_timeout_us // _CHECKS_A_SESSION)

    def next_check_in(self, now: int, *, periodic: bool, fenced: bool) -> int | None:
        """Return the time in µs until the controller looks for a stale broker again; None if there is no broker to check.

        Args:
            now: the current time, in µs.
            periodic: whether the controller checks at fixed intervals (`Release.fences_periodically`), instead of only when the oldest
                session might have expired.
            fenced: whether the controller has just fenced a broker.
        """
        if periodic:
            return NEXT_FENCING_DELAY if fenced else self.fencing_period
        due = self.next_check_time()
        return None if due is None else max(due + 1 - now, 0)

    def is_active(self, broker: int) -> bool:
        """Return whether a broker is unfenced and not in controlled shutdown (Kafka: `ClusterControlManager#isActive`)."""
        state = self._unfenced.get(broker)
        return state is not None and state.controlled_shutdown_offset < 0

    def in_controlled_shutdown(self, broker: int) -> bool:
        """Return whether a broker is in controlled shutdown. Return False for an unknown broker."""
        state = self._brokers.get(broker)
        return state is not None and state.controlled_shutdown_offset >= 0

    def controlled_shutdown_offset(self, broker: int) -> int | None:
        """Return the metadata offset that every active broker must reach before this broker can stop; None if this broker is not in
        controlled shutdown."""
        state = self._brokers.get(broker)
        return state.controlled_shutdown_offset if state is not None and state.controlled_shutdown_offset >= 0 else None

    def maybe_update_controlled_shutdown_offset(self, broker: int, offset: int) -> None:
        """Put a broker in controlled shutdown, and set its controlled shutdown offset unless this offset is already set (Kafka:
        `#maybeUpdateControlledShutdownOffset`).

        Raises:
            ValueError: the broker is not registered or is fenced.
        """
        state = self._state(broker)
        if state.fenced:
            raise ValueError("Fenced brokers cannot enter controlled shutdown.")
        if state.controlled_shutdown_offset < 0:
            state.controlled_shutdown_offset = offset

    def lowest_active_offset(self) -> int | None:
        """Return the lowest metadata offset among active brokers; None if no broker is active (Kafka: `#lowestActiveOffset`)."""
        offsets = (state.metadata_offset for state in self._unfenced.values() if state.controlled_shutdown_offset < 0)
        return min(offsets, default=None)

    def current_state(self, broker: int) -> BrokerControlState:
        """Return a broker's state (Kafka: `#currentBrokerState`).

        Raises:
            ValueError: the broker is not registered.
        """
        state = self._state(broker)
        if state.controlled_shutdown_offset >= 0:
            return BrokerControlState.CONTROLLED_SHUTDOWN
        return BrokerControlState.FENCED if state.fenced else BrokerControlState.UNFENCED

    def next_state(
        self,
        broker: int,
        *,
        want_fence: bool,
        want_shut_down: bool,
        metadata_offset: int,
        registration_offset: int,
        has_leaderships: Callable[[], bool],
    ) -> BrokerControlStates:
        """Return the state that the sender of a heartbeat enters (Kafka: `#calculateNextBrokerState`). `next_state` does not change the
        heartbeat state.

        Args:
            want_fence: whether the broker asks to be fenced or to remain fenced.
            want_shut_down: whether the broker asks to shut down.
            metadata_offset: the last offset of the metadata log that the broker has read.
            registration_offset: the offset of the broker's registration record, which the broker must read before it can be unfenced.
            has_leaderships: a function that returns whether the broker leads any partition; called only if the next state depends on the
                result.

        Raises:
            ValueError: the broker is not registered.
        """
        current = self.current_state(broker)
        return BrokerControlStates(
            current,
            self._next(broker, current, want_fence, want_shut_down, metadata_offset >= registration_offset, has_leaderships),
        )

    def _next(
        self,
        broker: int,
        current: BrokerControlState,
        want_fence: bool,
        want_shut_down: bool,
        caught_up: bool,
        has_leaderships: Callable[[], bool],
    ) -> BrokerControlState:
        if current is BrokerControlState.FENCED:
            if want_shut_down:
                return BrokerControlState.SHUTDOWN_NOW
            return BrokerControlState.UNFENCED if caught_up and not want_fence else BrokerControlState.FENCED
        if current is BrokerControlState.UNFENCED:
            if want_fence:
                return BrokerControlState.SHUTDOWN_NOW if want_shut_down else BrokerControlState.FENCED
            if want_shut_down:
                return BrokerControlState.CONTROLLED_SHUTDOWN if has_leaderships() else BrokerControlState.SHUTDOWN_NOW
            return BrokerControlState.UNFENCED
        if has_leaderships():
            return BrokerControlState.CONTROLLED_SHUTDOWN
        lowest = self.lowest_active_offset()
        passed = lowest is None or self._state(broker).controlled_shutdown_offset <= lowest
        return BrokerControlState.SHUTDOWN_NOW if passed else BrokerControlState.CONTROLLED_SHUTDOWN

    def _state(self, broker: int) -> _HeartbeatState:
        state = self._brokers.get(broker)
        if state is None:
            raise ValueError(f"Broker {broker} is not registered.")
        return state

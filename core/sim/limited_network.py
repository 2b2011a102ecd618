"""A network in which machines send and receive a limited number of bytes per second.

A network interface sends one message after another, in the order in which they were sent, and receives one after another, in the order in
which they begin to arrive. It works at its full rate as long as a message waits. A message is received while it is sent: it takes as long as the
slower one of both interfaces needs, not as long as both. A message without a size takes no time, and waits only for earlier messages between the
same two nodes. Real TCP connections share an interface, so that a message overtakes a longer one of another connection; here, only messages
without a size do.

What a paused machine has not received waits at its sender, as TCP's flow control makes it.
"""

from __future__ import annotations

import heapq
from collections.abc import Callable, Mapping
from typing import Final

from core.sim.agenda import Agenda
from core.sim.kernel_messages import Arriving
from core.sim.network import Direction, LinkState, Network
from core.sim.random_stream import RandomStream
from core.sim.units import SECOND


class Interface:
    """One direction of a network interface.

    Attributes:
        rate: the bytes per second.
        carried: the bytes that were accepted so far, including those that wait.
    """

    __slots__ = ("_free", "_marks", "carried", "rate")

    def __init__(self, rate: int) -> None:
        self.rate = rate
        self.carried = 0
        self._free = 0
        """The time at which everything that was accepted is through, in µs times `rate`, so that no rounding adds up."""
        self._marks = (0, 0, 0)
        """The current second when the last message was accepted, and what had passed one second before its start, and at its start."""

    def carry(self, size: int, now: int) -> tuple[int, int]:
        """Accept a message. Return the times at which its first and its last byte pass, in µs."""
        if now // SECOND != self._marks[0]:
            self._marks = self._marks_at(now)
        start = max(now * self.rate, self._free)
        self._free = start + size * SECOND
        self.carried += size
        return -(-start // self.rate), -(-self._free // self.rate)

    def busy(self, now: int) -> int:
        """Return how long the interface works on what was accepted, in µs."""
        return max(0, -(-self._free // self.rate) - now)

    def waiting(self, now: int) -> int:
        """Return how many of the accepted bytes are not through yet."""
        return -(-max(0, self._free - now * self.rate) // SECOND)

    def last_second(self, now: int) -> int:
        """Return how many bytes passed in the last full second of virtual time, at most `rate`. If now is 7.3 s, that is from 6 s to 7 s."""
        _, before, after = self._marks_at(now)
        return (after - before) // SECOND

    def _passed(self, time: int) -> int:
        """Return how many bytes, times `SECOND`, had passed at a time since which no message was accepted."""
        return self.carried * SECOND - max(0, self._free - time * self.rate)

    def _marks_at(self, now: int) -> tuple[int, int, int]:
        """Return the marks of the current second. They are known if a message has been accepted in it."""
        second = now // SECOND
        known, _, at_start = self._marks
        if second == known:
            return self._marks
        before = at_start if second == known + 1 else self._passed((second - 1) * SECOND)
        return second, before, self._passed(second * SECOND)


class LimitedNetwork(Network):
    """A network in which some machines have a limited bandwidth.

    Attributes:
        rates: the bytes per second that a machine can send, and that it can receive, by address. Other machines have no limit.
        sending, receiving: the two directions of the interface of each of these machines that has been used, by address.
    """

    __slots__ = ("_received", "_sent", "_size_of", "rates", "receiving", "sending")

    def __init__(
        self, agenda: Agenda, latency: int, jitter: int, loss_ppm: int, random: RandomStream, rates: Mapping[str, int],
        size_of: Callable[[object], int], sites: Mapping[str, str], distances: Mapping[tuple[str, str], int],
    ) -> None:  # fmt: skip
        super().__init__(agenda, latency, jitter, loss_ppm, random, sites=sites, distances=distances)
        self.rates: Final[dict[str, int]] = dict(rates)
        self.sending: Final[dict[str, Interface]] = {}
        self.receiving: Final[dict[str, Interface]] = {}
        self._size_of = size_of
        self._sent: Final[dict[Direction, int]] = {}
        self._received: Final[dict[Direction, int]] = {}
        """The times at which the last message in a direction has been sent, and has been received, in µs."""
        self.uniform = False
        self.connection("", "")  # if there are connections, the simulation passes each message to `receive` first

    def steady_latency(self, sender: str, node: str) -> int:
        """Return -1, because the time that a message takes depends on what else is under way."""
        return -1

    def backlogs(self, now: int) -> tuple[tuple[str, int, int], ...]:
        """Return, for each machine whose interface is busy, how long it works on what it has to send, and on what it receives, in µs."""
        found = []
        for node in sorted(self.rates):
            sends, receives = (each[node].busy(now) if node in each else 0 for each in (self.sending, self.receiving))
            if sends or receives:
                found.append((node, sends, receives))
        return tuple(found)

    def _interface(self, interfaces: dict[str, Interface], node: str) -> Interface | None:
        found = interfaces.get(node)
        if found is None and node in self.rates:
            found = interfaces[node] = Interface(self.rates[node])
        return found

    def _transmit(self, sender: str, node: str, link: LinkState | None, ticket: int, message: object, now: int, cause: int) -> None:
        """Let a message leave after those that the sender has sent before."""
        if isinstance(message, Arriving):
            message = message.message
        if self.zero_latency:
            super()._transmit(sender, node, link, ticket, message, now, cause)
            return
        size = self._size_of(message)
        interface = self._interface(self.sending, sender) if size else None
        if interface is None:
            first = last = max(now, self._sent.get((sender, node), 0))
        else:
            first, last = interface.carry(size, now)
        self._sent[sender, node] = last
        super()._transmit(sender, node, link, ticket, Arriving(message, size, last - first), first, cause)
        link = self.links.get((sender, node))
        if link is not None:
            link.last_arrival += last - first

    def receive(self, sender: str, node: str, ticket: int, message: object, now: int, cause: int) -> bool:
        """Receive a message at the machine of a node, after those that began to arrive before. Return whether the node's process handles it
        now.
        """
        if not isinstance(message, Arriving) or not self.alive.get(node, False):
            return super().receive(sender, node, ticket, message, now, cause)
        interface = self._interface(self.receiving, node) if message.size else None
        last = 0 if interface is None else interface.carry(message.size, now)[1]
        self._received[sender, node] = last = max(last, now + message.lasts, self._received.get((sender, node), 0))
        self.agenda.add(last, node, sender, ticket, message.message, cause)
        return False

    def _lose_untransmitted(self, node: str, now: int) -> None:
        """Lose what the machine of a node has not sent completely. Its interface is empty afterwards."""
        super()._lose_untransmitted(node, now)
        self.sending.pop(node, None)
        self.receiving.pop(node, None)
        for times in (self._sent, self._received):
            for direction in [each for each in times if node in each]:
                del times[direction]
        agenda = self.agenda
        agenda.entries[:] = [
            entry
            for entry in agenda.entries
            if entry.sender != node
            or not isinstance(entry.message, Arriving)
            or entry.time + entry.message.lasts - self.default_latency(node, entry.node) <= now
        ]
        heapq.heapify(agenda.entries)

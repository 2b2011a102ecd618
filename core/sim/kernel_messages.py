"""The messages that the simulation kernel itself sends; the simulated protocol defines all other messages."""

from __future__ import annotations

from typing import Any, NamedTuple


class Disconnected(NamedTuple):
    """The notice that the connection to a node is closed: the node's process ended, or refused or closed the connection.

    Attributes:
        only_opened: whether only the connection that the receiver opened has ended, as after a refusal or a reset. The requests that the
            node has sent on its own connection still wait for a response. Otherwise, the node's process and all of its connections ended.
    """

    node: str
    only_opened: bool = False


class Opening(NamedTuple):
    """The first message on a new connection. The network answers with `Opened`; no process sees these messages.

    `greets` is False for TCP's own handshake, which a machine answers even if the process is paused. It is True for the protocol's
    handshake, which the process answers.
    """

    greets: bool


class Opened(NamedTuple):
    """The answer to `Opening`, with the same `greets`."""

    greets: bool


class Arriving(NamedTuple):
    """A message that begins to arrive at the network interface of a machine. No process sees it.

    Attributes:
        message: the message.
        size: its size in bytes.
        lasts: the time from the first to the last byte as it left the sender, in µs.
    """

    message: Any
    size: int
    lasts: int


class Timer(NamedTuple):
    """A timer that a node has set for itself: the timer's name, and the argument for the function with that name."""

    name: str
    about: object = None


def inner(message: object) -> object:
    """Return the message that a process sees: of a message that begins to arrive, the one that arrives."""
    return message.message if isinstance(message, Arriving) else message

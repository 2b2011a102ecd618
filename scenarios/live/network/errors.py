"""What can go wrong while a cluster is read."""

from __future__ import annotations

from scenarios.errors import InputError


class LiveError(InputError):
    """The cluster cannot be read at all. The message names the address, what is wrong, and what to do."""


class BrokerError(Exception):
    """One broker, or one answer of it, cannot be read; the others can. The message is a phrase, such as `no answer within 15 s`.

    Attributes:
        silent: whether the broker did not answer in time, so that asking it again would take as long.
    """

    def __init__(self, message: str, *, silent: bool = False) -> None:
        super().__init__(message)
        self.silent = silent


class Refused(Exception):
    """A broker answered a request with an error code of Kafka, or does not have the API. The message is the error's name in Kafka."""

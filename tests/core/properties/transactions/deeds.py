"""What a step of the transactional swarm can do, besides the acts of the laboratory, and who can be in it."""

from __future__ import annotations

import random
from typing import Final

import attrs

from core.kafka.ids import TopicPartition, broker_address
from core.kafka.transaction.transaction_log import GROUP_METADATA_TOPIC, TRANSACTION_STATE_TOPIC
from core.lab import acts
from tests.core.properties.transactions.applications import BANK, OUTPUT

BANK_PARTITIONS: Final = 2
"""The number of partitions of the topic that transactions write."""


@attrs.frozen
class TakeOver:
    """Another instance of an application starts while the present one goes on."""

    application: int


@attrs.frozen
class Lose:
    """The machine of an application's present instance loses its network, and another instance starts."""

    application: int


@attrs.frozen
class Rest:
    """An application does nothing until another instance of it starts."""

    application: int


@attrs.frozen
class Lead:
    """A broker is made the leader of a partition, if it can be."""

    partition: TopicPartition
    broker: int


@attrs.frozen
class HoldClient:
    """Messages between an application's present instance and a broker are held back, in one direction."""

    application: int
    broker: int
    requests: bool


@attrs.frozen
class ReleaseHeld:
    """One of the links that hold messages back delivers them; `number` chooses which."""

    number: int


Deed = acts.Act | TakeOver | Lose | Rest | Lead | HoldClient | ReleaseHeld
Step = tuple[int, Deed]
"""Wait that many µs, then do this."""


@attrs.frozen
class Cast:
    """Who can be in a fault.

    Attributes:
        brokers: how many brokers there are.
        banks: how many applications write transactions.
        workers: the names of the processes.
        coordinators: the number of partitions of `__transaction_state`.
        down: the brokers that earlier steps stop.
        paused: the brokers that earlier steps pause.
    """

    brokers: int
    banks: int
    workers: tuple[str, ...]
    coordinators: int
    down: list[int] = attrs.Factory(list)
    paused: list[int] = attrs.Factory(list)

    def kill(self, draw: random.Random, act: type[acts.Kill | acts.Shutdown]) -> Deed:
        """Return an act that stops any broker."""
        self.down.append(self.broker(draw))
        return act(self.down[-1])

    def start(self, draw: random.Random) -> Deed:
        """Return an act that starts a broker that was stopped."""
        return acts.Start(self.down.pop(draw.randrange(len(self.down))) if self.down else self.broker(draw))

    def pause(self, draw: random.Random) -> Deed:
        """Return an act that pauses any broker."""
        self.paused.append(self.broker(draw))
        return acts.Pause(self.paused[-1])

    def resume(self, draw: random.Random) -> Deed:
        """Return an act that resumes a broker that was paused."""
        return acts.Resume(self.paused.pop(draw.randrange(len(self.paused))) if self.paused else self.broker(draw))

    def broker(self, draw: random.Random) -> int:
        """Return any broker."""
        return draw.randint(1, self.brokers)

    def two(self, draw: random.Random) -> tuple[str, str]:
        """Return the addresses of any two brokers."""
        a, b = draw.sample(range(1, self.brokers + 1), 2)
        return broker_address(a), broker_address(b)

    def client(self, draw: random.Random) -> str:
        """Return a client that may exist: one of the first instances, or a process."""
        return draw.choice((*(f"bank{draw.randrange(self.banks)}-{draw.randint(1, 3)}" for _ in range(2)), *self.workers))

    def client_link(self, draw: random.Random) -> tuple[str, str]:
        """Return a client and a broker, in the order of requests or of responses."""
        pair = (self.client(draw), broker_address(self.broker(draw)))
        return pair if draw.random() < 0.6 else (pair[1], pair[0])

    def partition(self, draw: random.Random) -> TopicPartition:
        """Return a partition that matters to transactions."""
        return draw.choice(
            (
                TopicPartition(TRANSACTION_STATE_TOPIC, draw.randrange(self.coordinators)),
                TopicPartition(GROUP_METADATA_TOPIC, 0),
                TopicPartition(BANK, draw.randrange(BANK_PARTITIONS)),
                TopicPartition(OUTPUT, draw.randrange(2)),
            )
        )

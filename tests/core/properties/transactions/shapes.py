"""Faults that only do harm in a row, each named after what is late or moves. Who is in them, and how long they last, is drawn."""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import Final

from core.kafka.ids import TopicPartition, broker_address
from core.kafka.transaction.transaction_log import GROUP_METADATA_TOPIC, TRANSACTION_STATE_TOPIC
from core.lab import acts
from core.sim.units import SECOND, US_PER_MS
from tests.core.properties.transactions.applications import BANK
from tests.core.properties.transactions.deeds import Cast, HoldClient, Lead, ReleaseHeld, Rest, Step, TakeOver

EXPIRATION: Final = 620 * SECOND
"""A time in which leaders check for idle producers, in µs."""


def _pause(draw: random.Random) -> int:
    return draw.choice((2, 50, 400)) * US_PER_MS


def _late_batch(draw: random.Random, cast: Cast) -> list[Step]:
    """A batch arrives after its producer has given it up and aborted its transaction."""
    return [
        (_pause(draw), HoldClient(draw.randrange(cast.banks), cast.broker(draw), requests=True)),
        (draw.choice((3, 6, 9)) * SECOND + _pause(draw), ReleaseHeld(0)),
    ]


def _late_request(draw: random.Random, cast: Cast) -> list[Step]:
    """A request of a process arrives after the process has sent it again to another leader, and the former leader leads again."""
    broker, other = draw.sample(range(1, cast.brokers + 1), 2)
    tp = TopicPartition(GROUP_METADATA_TOPIC, 0)
    return [
        (0, acts.Produce("in", 4, producer="input")),
        (_pause(draw), acts.Hold((draw.choice(cast.workers), broker_address(broker)))),
        (2 * SECOND, Lead(tp, other)),
        (draw.choice((2, 4)) * SECOND, Lead(tp, broker)),
        (_pause(draw), ReleaseHeld(0)),
    ]


def _late_marker(draw: random.Random, cast: Cast) -> list[Step]:
    """A marker arrives at a former leader that leads again, while the next transaction is open."""
    coordinator, broker, other = draw.sample(range(1, cast.brokers + 1), 3)
    tp = TopicPartition(BANK, draw.randrange(2))
    return [
        (0, Lead(TopicPartition(TRANSACTION_STATE_TOPIC, 0), coordinator)),
        (SECOND, Lead(tp, broker)),
        (_pause(draw), acts.Hold((broker_address(coordinator), broker_address(broker)))),
        (draw.choice((1, 3)) * SECOND, Lead(tp, other)),
        (draw.choice((3, 32)) * SECOND, Lead(tp, broker)),
        (_pause(draw), ReleaseHeld(0)),
    ]


def _late_answer(draw: random.Random, cast: Cast) -> list[Step]:
    """A leader's answer to a marker is late, while another broker becomes the coordinator, and then the first one again."""
    coordinator, broker, other = draw.sample(range(1, cast.brokers + 1), 3)
    tp = TopicPartition(TRANSACTION_STATE_TOPIC, 0)
    return [
        (0, Lead(tp, coordinator)),
        (SECOND, acts.Hold((broker_address(broker), broker_address(coordinator)))),
        (0, acts.Hold((broker_address(other), broker_address(broker)))),
        (_pause(draw), Lead(tp, other)),
        (draw.choice((1, 2)) * SECOND, Lead(tp, coordinator)),
        (_pause(draw), ReleaseHeld(0)),
        (_pause(draw), ReleaseHeld(0)),
    ]


def _early_successor(draw: random.Random, cast: Cast) -> list[Step]:
    """A process dies after its commit, and the next one begins before the marker for the offsets arrives.

    The link of the marker is held back for so long that both coordinators replicate without each other.
    """
    coordinator, group_coordinator = draw.sample(range(1, cast.brokers + 1), 2)
    return [
        (0, Lead(TopicPartition(TRANSACTION_STATE_TOPIC, draw.randrange(cast.coordinators)), coordinator)),
        (0, Lead(TopicPartition(GROUP_METADATA_TOPIC, 0), group_coordinator)),
        (SECOND, acts.Hold((broker_address(coordinator), broker_address(group_coordinator)))),
        (draw.choice((6, 8)) * SECOND, acts.Produce("in", 4, producer="input")),
        (draw.choice((200, 800)) * US_PER_MS, acts.KillProcess(cast.workers[0])),
        (0, acts.KillProcess(cast.workers[-1])),
        (draw.choice((3, 5)) * SECOND, ReleaseHeld(0)),
    ]


def _forgotten_producer(draw: random.Random, cast: Cast) -> list[Step]:
    """The first batch of a fenced instance arrives when leaders have looked for idle producers."""
    application = draw.randrange(cast.banks)
    return [
        (_pause(draw), TakeOver(application)),
        (2 * US_PER_MS, HoldClient(application, cast.broker(draw), requests=True)),
        (draw.choice((1, 3)) * SECOND, TakeOver(application)),
        (2 * SECOND, Rest(application)),
        (EXPIRATION, ReleaseHeld(0)),
        (SECOND, TakeOver(application)),
    ]


SHAPES: Final[dict[str, Callable[[random.Random, Cast], list[Step]]]] = {
    "late-batch": _late_batch,
    "late-request": _late_request,
    "late-marker": _late_marker,
    "late-answer": _late_answer,
    "early-successor": _early_successor,
    "forgotten-producer": _forgotten_producer,
}
"""The shapes by name."""

MIXED: Final = ("late-batch", "late-request", "late-marker", "late-answer", "early-successor")
"""The shapes that a seed draws by itself; the others take long."""

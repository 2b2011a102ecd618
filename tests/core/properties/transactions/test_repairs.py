"""What each repair of transactions cured: a seed does harm under the release before it, and does not with the rule alone, nor under the next release."""

from __future__ import annotations

from collections import Counter
from functools import cache
from typing import Any, Final, NamedTuple

import attrs
import pytest

from core.kafka import errors, events
from core.kafka.clients.producer_transaction_state import ProducerTransactionState
from core.kafka.release import Release, UnknownProducer
from tests.core.properties.transactions.play import harms
from tests.core.properties.transactions.timeline import transactional_swarm
from tests.core.properties.transactions.verdict import HALF, HANGING, LOST, STUCK, TWICE, UNDEAD

FAILED: Final = "producer-fails"
"""A producer cannot be used anymore, although no other producer has taken over its transactional.id."""

FENCED: Final = frozenset({errors.PRODUCER_FENCED, errors.INVALID_PRODUCER_EPOCH})


class Repair(NamedTuple):
    """A repair, and a seed that shows it.

    Attributes:
        before: the last release without the repair.
        rules: the fields of `Release` that are the repair.
        after: the first release with it.
        shape: the shape of the seed's faults; None for a mix.
        seed: the seed.
        harm: the harm.
    """

    before: str
    rules: tuple[tuple[str, Any], ...]
    after: str
    shape: str | None
    seed: int
    harm: str


REPAIRS: Final = {
    "KAFKA-6119, half of a timed-out transaction is committed": Repair(
        "0.11", (("timeout_fences_producer", True),), "1.1", None, 1, HALF
    ),
    "KAFKA-9144, a leader forgets the epoch of a fenced producer": Repair(
        "2.1", (("markers_have_timestamps", True),), "2.4", "forgotten-producer", 26, HALF
    ),
    "KIP-360, a batch of unknown fate is fatal": Repair(
        "2.4",
        (("bumps_producer_epoch", True), ("unknown_producer", UnknownProducer.ACCEPTED), ("marker_only_is_unknown", False)),
        "2.7", None, 7, FAILED,
    ),
    "KIP-447, a successor reads offsets too early": Repair("2.4", (("stable_offsets", True),), "2.7", "early-successor", 35, TWICE),
    "KIP-890 part 1, a late batch joins the next transaction": Repair(
        "3.3", (("verifies_transactions", True),), "3.6", "late-batch", 13, UNDEAD
    ),
    "KAFKA-15784, a late offset commit opens a transaction": Repair(
        "3.6", (("verifies_offset_commits", True),), "3.7", "late-request", 6, HANGING
    ),
    "KAFKA-16352, a late answer makes a coordinator forget markers": Repair(
        "3.7", (("ignores_late_marker_answers", True),), "3.9", "late-answer", 7, STUCK
    ),
    "KIP-890 part 2, a late batch of the same epoch joins the next transaction": Repair(
        "3.9", (("transaction_version", 2),), "4.0", "late-batch", 41, UNDEAD
    ),
    "KIP-1228, a late marker ends the next transaction": Repair(
        "4.1", (("marker_epoch_must_rise", True),), "4.2", "late-marker", 24, LOST
    ),
}  # fmt: skip
"""The repairs, oldest first."""


@cache
def found(release: Release, shape: str | None, seed: int) -> Counter[str]:
    """Play a seed, and count its harms and the producers that fail."""
    failed: Counter[str] = Counter()

    def sink(event: tuple) -> None:
        if event[3] == events.ProducerStateChanged.kind:
            state, error = event[7:9]
            failed[FAILED] += state == ProducerTransactionState.FATAL_ERROR.value and error not in FENCED

    return harms(transactional_swarm(seed, shape), release, sink) + failed


@pytest.mark.parametrize("name", REPAIRS)
def test_a_repair_ends_the_harm(name: str) -> None:
    repair = REPAIRS[name]
    before = Release.named(repair.before)
    assert found(before, repair.shape, repair.seed)[repair.harm]
    assert not found(attrs.evolve(before, **dict(repair.rules)), repair.shape, repair.seed)[repair.harm]
    assert not found(Release.named(repair.after), repair.shape, repair.seed)[repair.harm]

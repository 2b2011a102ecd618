"""What each repair of transactions cured: a seed does harm under the release before it, and does not with the rule alone, nor under the next release."""

from __future__ import annotations

from collections import Counter
from functools import cache
from typing import Any, Final, NamedTuple

import attrs
import pytest

from core.kafka import errors, events
from core.kafka.clients.producer.producer_transaction_state import ProducerTransactionState
from core.kafka.release import Release, UnknownProducer
from core.kafka.topic_spec import PartitionSpec, TopicSpec
from core.lab import acts
from core.lab.cluster import Cluster
from core.lab.spec import BrokerSpec, ClusterSpec
from core.sim.units import SECOND
from scenarios import catalogue
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
        "0.11", (("timeout_fences_producer", True),), "1.1", None, 82, HALF
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


BY_SCENARIO: Final = {
    "producers_outlive_segments": "t6-retention-forgets-producer",
    "timeout_fences_producer": "t7-timeout-without-fencing",
    "markers_have_timestamps": "t8-marker-without-time",
    "bumps_producer_epoch": "t9-new-producer-id",
    "verifies_transactions": "t1-late-produce",
    "marker_epoch_must_rise": "t3-late-marker",
    "ignores_late_marker_answers": "t12-same-coordinator",
    "skips_markers_of_offline_partitions": "t13-end-while-offline",
    "stable_offsets": "i2-stable-offsets",
}
"""The rules whose harm a scenario of the library shows under one release, and not under another."""

NO_HARM: Final = {
    "retained_batches": "before KAFKA-5494, a producer has one batch in flight, so the leader needs to remember only one",
    "idempotent_in_flight": "one batch in flight makes a producer slower, but does no harm to records",
    "refuses_more_in_flight": "a producer with other settings is idempotent, or does not start",
    "limited_calls": "a call waits for a shorter time; an application that repeats it loses no records",
    "retries_first_partition_soon": "a producer waits for 100 ms instead of 20 ms",
    "ignores_empty_transactions": "the transaction without records is complete at once, and its entry in the index hides no record",
    "producer_expiration_setting": "another setting applies; both defaults are longer than any test",
    "transactions": "the feature itself",
    "producer_fenced": "KIP-588 as released makes one error abortable, but the producer is fenced when it aborts (recording c-timeout-tv0)",
    "answers_producer_fenced": "KIP-588 as released gives the error of a fenced producer another name",
    "invalid_transition_is_fatal": "the model refuses calls that are impossible in the state of a producer, so no impossible change occurs",
    "timed_out_call_must_be_repeated": "a call that timed out must be made again before any other; an application that does so loses no records",
    "unknown_producer_is_fatal": "an error is fatal instead of abortable; the application starts another producer",
    "end_txn_epoch_must_match": "only handwritten requests have an epoch above that of the coordinator (recordings m-answers)",
    "fence_survives_failed_append": "an epoch is skipped with each failed write; after 32,767 of them, the producer gets another ID",
    "tests_pending_first": "the order of two checks decides which retriable error a producer gets",
    "verifies_current_epoch": "the leader answers an old epoch without asking the coordinator, which gives the same answer",
    "checks_epoch_before_guard": "the order of two checks decides which error a late batch gets",
    "transaction_abortable": "the producer aborts in both cases",
    "expires_uninitialized_ids": "the coordinator keeps IDs that nobody uses",
    "transaction_feature": "the feature level is `transaction_version`",
    "transactional_commits_name_members": "processes of the model are not members of a group; their transactional.id fences them",
}
"""The rules that repair no harm to records in this model, with the reason."""

BY_SEED: Final = {rule for repair in REPAIRS.values() for rule, _ in repair.rules}
"""The rules whose harm a seed shows."""


def test_each_rule_of_transactions_is_shown_or_does_no_harm() -> None:
    fields = [field.name for field in attrs.fields(Release)]
    first, last = fields.index("unknown_producer"), fields.index("verifies_offset_commits")
    assert set(fields[first : last + 1]) == BY_SEED | BY_SCENARIO.keys() | NO_HARM.keys()
    assert not NO_HARM.keys() & (BY_SEED | BY_SCENARIO.keys())
    assert set(BY_SCENARIO.values()) <= set(catalogue.names())


@pytest.mark.parametrize(("release", "usable"), [("2.4", False), ("2.7", False), ("3.9", False), ("4.0", True)])
def test_a_producer_whose_transaction_timed_out_is_usable_since_transaction_version_2(release: str, usable: bool) -> None:
    """KIP-588 was to repair this in 2.7, but its second half was never released."""
    topics = (TopicSpec("t", assignment=(PartitionSpec((1, 2, 3)),)),)
    settings = (("transaction.state.log.num.partitions", 1), ("transaction.abort.timed.out.transaction.cleanup.interval.ms", 1_000))
    cluster = Cluster(ClusterSpec(tuple(BrokerSpec(broker) for broker in (1, 2, 3)), topics, settings=settings), Release.named(release))
    cluster.do(acts.InitTransactions("t", "app", "app", (("transaction.timeout.ms", "3000"),)))
    cluster.run_until(2 * SECOND)
    cluster.do(acts.BeginTransaction("app"))
    cluster.do(acts.Produce("t", 5, producer="app"))
    cluster.run_until(15 * SECOND)
    cluster.do(acts.Produce("t", 5, producer="app"))
    cluster.run_until(17 * SECOND)
    producer = cluster.clients.producer("app")
    assert producer is not None
    assert producer.transactions is not None
    if release != "2.4":
        assert producer.transactions.state is ProducerTransactionState.ABORTABLE_ERROR
        cluster.do(acts.AbortTransaction("app"))
        cluster.run_until(20 * SECOND)
    assert producer.transactions.state is (ProducerTransactionState.READY if usable else ProducerTransactionState.FATAL_ERROR)


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

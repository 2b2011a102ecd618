"""Each rule is implemented once: if a rule is disabled, scenarios of the library or vectors of transactions fail, and only the rule itself
moves the high watermark.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

import core
from core.kafka import events
from core.kafka.broker.follower import fetch_response, offset_responses
from core.kafka.broker.partition import Partition
from core.kafka.broker.replica import Replica
from core.kafka.broker.requests import fetch_manager
from core.kafka.broker.requests.fetch_manager import FetchManager
from core.kafka.broker.transactions.add_partitions_to_txn_manager import AddPartitionsToTxnManager
from core.kafka.controller import partition_change
from core.kafka.controller.partition_change import ElectionResult
from core.kafka.controller.placement import StripedReplicaPlacer
from core.kafka.ids import NO_EPOCH
from core.kafka.log import producer_state
from core.kafka.log.index.transaction_index import IndexSearch
from core.kafka.log.log_records import LogRecords
from core.kafka.log.producer_state import ProducerStateManager
from core.kafka.log.replica_log import ReplicaLog
from core.kafka.release import CURRENT
from core.kafka.topic_spec import TopicSpec
from core.kafka.transaction import transaction_coordinator
from core.kafka.transaction.transaction_marker_channel_manager import TransactionMarkerChannelManager
from core.kafka.transaction.transaction_metadata import TransactionMetadata
from core.kafka.transaction.transaction_state_manager import TransactionStateManager
from core.lab import acts
from core.lab.cluster import Cluster
from core.lab.spec import BrokerSpec, ClusterSpec
from core.sim.units import SECOND
from scenarios import catalogue
from scenarios.running.runner import run_scenario
from tests.core.kafka.broker.transactions import test_read_committed as reads
from tests.core.kafka.broker.transactions import test_recorded_late_requests as late
from tests.core.kafka.broker.transactions import test_verification as verification
from tests.core.kafka.log import test_last_stable_offset as stable
from tests.core.kafka.log import test_producer_state_vectors as producers
from tests.core.kafka.transaction import test_recorded_answers as answers
from tests.core.kafka.transaction import test_transaction_coordinator as coordinator
from tests.core.kafka.transaction import test_transaction_markers as markers

pytestmark = pytest.mark.skipif(core.is_compiled(), reason="a compiled rule cannot be replaced")


def test_only_the_rule_raises_a_leaders_high_watermark(monkeypatch: pytest.MonkeyPatch) -> None:
    rule = Partition.maybe_increment_leader_hw
    raised = 0
    advances: list[tuple] = []

    def counted(partition: Partition) -> bool:
        nonlocal raised
        rose = rule(partition)
        raised += rose
        return rose

    def sink(event: tuple) -> None:
        if event[3] == events.HighWatermarkAdvanced.kind:
            advances.append(event)

    monkeypatch.setattr(Partition, "maybe_increment_leader_hw", counted)
    cluster = Cluster(ClusterSpec(tuple(BrokerSpec(each) for each in (1, 2, 3)), (TopicSpec("t", 6, 3),)), CURRENT, 7, sink)
    for acks in ("all", "1", "0"):
        cluster.do(acts.Load("t", 200, acks=acks, producer=f"load{acks}", every=5_000))
    cluster.run_until(2 * SECOND)
    assert raised == len(advances) > 500


def _first_brokers(_placer: Any, partitions: int, replication_factor: int, brokers: Any) -> tuple[tuple[int, ...], ...]:
    return (tuple(sorted(each.broker for each in brokers)[:replication_factor]),) * partitions


@pytest.mark.parametrize(
    ("where", "rule", "instead", "scenario"),
    [
        (Partition, "maybe_increment_leader_hw", lambda _: False, "b2-high-watermark"),
        (Partition, "_is_follower_in_sync", lambda *_: False, "c4-reentry-at-high-watermark"),
        (Partition, "out_of_sync_replicas", lambda _: (), "c1-stopped-follower"),
        (Partition, "effective_min_isr", lambda _: 1, "f2-min-isr-2-two-down"),
        (fetch_manager, "check_fetch", lambda *_: None, "e2-divergence"),
        (Partition, "maybe_expand_isr", lambda *_: None, "c4-reentry-at-high-watermark"),
        (Replica, "update_fetch_state", lambda *_: None, "b2-high-watermark"),
        (LogRecords, "read", lambda *_: None, "b2-high-watermark"),
        (ReplicaLog, "append_as_leader", lambda log, *_: log.leo, "b2-high-watermark"),
        (ReplicaLog, "append_as_follower", lambda log, *_: log.leo, "b2-high-watermark"),
        (ReplicaLog, "update_high_watermark", lambda *_: False, "b2-high-watermark"),
        (ReplicaLog, "maybe_increment_high_watermark", lambda *_: False, "b2-high-watermark"),
        (FetchManager, "read_from_log", lambda *_, **__: [], "b2-high-watermark"),
        (fetch_response, "process_fetch_request", lambda *_: None, "b2-high-watermark"),
        (fetch_response, "truncate_on_fetch_response", lambda *_: None, "e2-divergence"),
        (offset_responses, "truncation_point", lambda partition, *_: (partition.log.leo, NO_EPOCH), "e2-divergence"),
        (partition_change, "elect_leader", lambda partition, **_: ElectionResult(partition.leader, "none"), "captures-kill-9"),
        (StripedReplicaPlacer, "place", _first_brokers, "a2-racks"),
    ],
)
def test_without_the_rule_the_library_fails(
    where: Any, rule: str, instead: Callable[..., Any], scenario: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert run_scenario(catalogue.load(scenario), CURRENT).held
    monkeypatch.setattr(where, rule, instead)
    assert not run_scenario(catalogue.load(scenario), CURRENT).held


def _nothing(*_: Any, **__: Any) -> None:
    """Do nothing, in place of a rule."""


def _none(*_: Any, **__: Any) -> str:
    """Find no error, in place of a check."""
    return "NONE"


@pytest.mark.parametrize(
    ("where", "rule", "instead", "vector", "values"),
    [
        (ProducerStateManager, "duplicate", _nothing, producers.test_recorded_answers_to_an_idempotent_producer, ()),
        (ProducerStateManager, "validate", _none, producers.test_recorded_answers_to_an_idempotent_producer, ()),
        (ProducerStateManager, "validate_marker", _none, producers.test_prd_16_markers_of_old_epochs_and_old_coordinators, ()),
        (ProducerStateManager, "verifies", lambda *_: True, producers.test_psm_13_an_empty_transaction_clears_the_guard, ()),
        (ProducerStateManager, "remove_expired", _nothing, producers.test_psm_18_idle_producers_expire_at_the_periodic_check, ()),
        (ProducerStateManager, "truncate_head", _nothing, producers.test_t6_deleted_records_take_producers_along, ("2.1", [2])),
        (ProducerStateManager, "truncate_and_reload", _nothing, producers.test_prd_14_a_transaction_is_open_again_after_a_truncation, ()),
        (ProducerStateManager, "take_snapshot", _nothing, producers.test_psm_07_a_full_truncation_forgets_everything, ()),
        (ProducerStateManager, "remove_stray_snapshots", _nothing, producers.test_psm_08_stray_snapshots_are_removed, ((42,), [42])),
        (ProducerStateManager, "segments_deleted", _nothing, producers.test_snapshots_and_index_entries_leave_with_their_segments, ()),
        (ProducerStateManager, "has_late_transaction", lambda *_: False, producers.test_prd_19_late_transactions, ()),
        (ProducerStateManager, "first_unstable_offset", lambda *_: -1, stable.test_lso_01_unstable_until_the_marker_is_committed, ()),
        (
            ProducerStateManager,
            "high_watermark_updated",
            lambda each, _: each.unreplicated.clear(),
            stable.test_lso_09_a_follower_is_one_fetch_behind,
            (),
        ),
        (
            ReplicaLog,
            "last_stable_offset",
            lambda log: log.high_watermark,
            stable.test_prd_21_the_first_open_transaction_bounds_what_is_stable,
            (),
        ),
        (ReplicaLog, "reload_producers", _nothing, producers.test_prd_14_a_transaction_is_open_again_after_a_truncation, ()),
        (
            producer_state,
            "collect_aborted",
            lambda *_: IndexSearch((), complete=False),
            reads.test_prd_27_the_aborted_transactions_come_along,
            (),
        ),
        (AddPartitionsToTxnManager, "needs_verification", lambda *_: False, late.test_t1_verification_refuses_the_late_batch, ("4.1",)),
        (AddPartitionsToTxnManager, "_queue", _nothing, verification.test_txc_17_questions_are_queued_by_coordinator_and_id, ()),
        (transaction_coordinator, "end_txn_answer", _nothing, answers.test_the_answers_are_those_of_the_recording, (0, answers.TV0, "4.1")),
        (transaction_coordinator, "end_txn_answer", _nothing, answers.test_the_answers_are_those_of_the_recording, (2, answers.TV2, "4.1")),
        (TransactionMetadata, "error_of_expected", _none, answers.test_the_answers_are_those_of_the_recording, (0, answers.TV0, "4.1")),
        (TransactionMetadata, "is_epoch_exhausted", property(lambda _: False), coordinator.test_txn_08_retries_and_overflow, ()),
        (TransactionStateManager, "timed_out", lambda *_: [], coordinator.test_txc_13_a_timed_out_transaction_is_aborted, ("4.3", 2)),
        (TransactionStateManager, "expired", lambda *_: [], coordinator.test_txn_06_idle_ids_expire_with_tombstones_in_one_batch, ()),
        (
            TransactionMarkerChannelManager,
            "remove_partition",
            _nothing,
            markers.test_txk_04_markers_leave_with_their_partition_of_the_log,
            (),
        ),
        (TransactionMarkerChannelManager, "disconnected", _nothing, markers.test_txk_09_a_broken_connection_queues_everything_again, ()),
        (TransactionMarkerChannelManager, "_retry_later", _nothing, markers.test_txk_03_a_leader_whose_broker_is_down_is_waited_for, ()),
    ],
)
def test_without_the_rule_a_vector_of_transactions_fails(
    where: Any, rule: str, instead: Any, vector: Callable[..., None], values: tuple[Any, ...], monkeypatch: pytest.MonkeyPatch
) -> None:
    vector(*values)
    monkeypatch.setattr(where, rule, instead)
    with pytest.raises((AssertionError, ValueError, KeyError, IndexError)):
        vector(*values)

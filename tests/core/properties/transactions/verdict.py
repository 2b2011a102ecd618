"""What a read_committed reader finds in the end, compared with what each application knows of its transactions.

The reader goes by the batches and markers alone, so it is independent of the index of aborted transactions and of the last stable offset.
"""

from __future__ import annotations

from collections import Counter
from typing import Final

from core.kafka.applications.processes.process import Process
from core.kafka.ids import TopicPartition
from core.kafka.log.control_record import COMMIT
from core.kafka.log.replica_log import ReplicaLog
from core.kafka.transaction.transaction_log import GROUP_METADATA_TOPIC
from core.kafka.transaction.transaction_metadata import TransactionMetadata
from core.lab.cluster import Cluster
from core.lab.views.process_views import process_counts
from tests.core.properties.transactions.applications import BANK, OUTPUT, Bank, Transaction

LOST: Final = "committed-record-missing"
DUPLICATED: Final = "record-twice"
UNDEAD: Final = "aborted-record-visible"
HALF: Final = "transaction-half-visible"
REORDERED: Final = "transactions-reordered"
HANGING: Final = "hanging-transaction"
STUCK: Final = "stuck-in-prepare"
STOPPED: Final = "application-stands-still"
TWICE: Final = "processed-twice"
HALF_PROCESSED: Final = "half-visible"
NEVER: Final = "never-processed"

HARMS: Final = (LOST, DUPLICATED, UNDEAD, HALF, REORDERED, HANGING, STUCK, STOPPED, TWICE, HALF_PROCESSED, NEVER)
"""All harms. The last three are events of the durability account."""

Seen = list[tuple[str, str]]
"""The value and the key of each record that a reader sees."""


def committed_records(log: ReplicaLog) -> Seen:
    """Return the keyed records of transactions whose COMMIT marker follows, in offset order."""
    pending: dict[int, list[tuple[int, str, str]]] = {}
    visible: list[tuple[int, str, str]] = []
    for run in log.runs():
        for batch in run.term.batches_within(run.start, run.end):
            if batch.marker is not None:
                ended = pending.pop(batch.producer_id, [])
                visible += ended if batch.marker.control_type == COMMIT else ()
            elif isinstance(batch.content, tuple) and batch.transactional:
                records = [(batch.base + number, value, key) for number, (key, value) in enumerate(batch.content)]
                pending.setdefault(batch.producer_id, []).extend(records)
    return [(value, key) for _, value, key in sorted(visible)]


def atomicity(transactions: list[Transaction], logs: dict[TopicPartition, ReplicaLog]) -> Counter[str]:
    """Compare what readers see with what the applications know."""
    found: Counter[str] = Counter()
    seen = {tp.partition: committed_records(log) for tp, log in logs.items() if tp.topic == BANK}
    order = {each.tag: each.order for each in transactions}
    for records in seen.values():
        by_instance: dict[str, list[tuple[tuple[int, int], int]]] = {}
        for value, key in records:
            by_instance.setdefault(value.rpartition("/")[0], []).append((order[value], int(key[1:])))
        found[REORDERED] += sum(each != sorted(each) for each in by_instance.values())
    counts = Counter((partition, value, key) for partition, records in seen.items() for value, key in records)
    for each in transactions:
        copies = [counts[partition, each.tag, key] for partition, key in each.sent]
        found[DUPLICATED] += any(count > 1 for count in copies)
        if each.outcome == "committed":
            found[LOST] += not all(copies)
        elif each.outcome == "unknown":
            found[HALF] += any(copies) and not all(copies)
        else:
            found[UNDEAD] += any(copies)
    return +found


def coordinated(cluster: Cluster) -> dict[str, TransactionMetadata]:
    """Return the state of each transactional.id at its newest coordinator."""
    newest: dict[int, tuple[int, dict[str, TransactionMetadata]]] = {}
    for broker in cluster.brokers.values():
        for number, cache in broker.transactions.states.caches.items():
            if number not in newest or newest[number][0] < cache.coordinator_epoch:
                newest[number] = (cache.coordinator_epoch, cache.entries)
    return {transactional_id: metadata for _, entries in newest.values() for transactional_id, metadata in entries.items()}


def open_partitions(cluster: Cluster) -> list[TopicPartition]:
    """Return the partitions with a transaction that has no marker."""
    topics = (BANK, OUTPUT, GROUP_METADATA_TOPIC)
    logs = cluster.account.leader_logs()
    return [tp for tp, log in logs.items() if tp.topic in topics and (state := log.producer_state()) is not None and state.ongoing]


def prepared(cluster: Cluster) -> list[str]:
    """Return the transactional.ids that wait for markers."""
    return [transactional_id for transactional_id, metadata in coordinated(cluster).items() if metadata.state.is_prepared]


def unprocessed(cluster: Cluster) -> int:
    """Return how many input records have no complete output."""
    process = next((client for client in cluster.clients.values() if isinstance(client, Process)), None)
    if process is None:
        return 0
    counts = process_counts(cluster, process)
    return counts.input - counts.processed


def is_quiet(cluster: Cluster, banks: list[Bank]) -> bool:
    """Whether all applications are done, and nothing is left open."""
    return all(bank.finished for bank in banks) and not prepared(cluster) and not open_partitions(cluster) and not unprocessed(cluster)


def verdict(cluster: Cluster, banks: list[Bank]) -> Counter[str]:
    """Return the harms that a finished run shows, by kind."""
    found = atomicity([each for bank in banks for each in bank.transactions], cluster.account.leader_logs())
    stuck = prepared(cluster)
    if stuck:  # what waits for its markers is neither lost nor half visible
        found[LOST] = found[HALF] = 0
    found[STUCK] = len(stuck)
    found[HANGING] = 0 if stuck else len(open_partitions(cluster))
    found[STOPPED] = sum(not bank.finished for bank in banks) + bool(unprocessed(cluster))
    return +found

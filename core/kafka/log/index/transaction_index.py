"""The aborted transactions of a log (Kafka: `TransactionIndex`, `AbortedTxn`, `CompletedTxn`, file `.txnindex`)."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final, NamedTuple

ENTRY_BYTES: Final = 34
"""The size of an entry, in bytes: two for the version, and eight each for the producer ID, the two offsets, and the last stable offset."""


class CompletedTransaction(NamedTuple):
    """A transaction that a marker ended on this partition (`CompletedTxn`). `last_offset` is the offset of the marker."""

    producer_id: int
    first_offset: int
    last_offset: int
    aborted: bool


class AbortedTransaction(NamedTuple):
    """An entry of the transaction index (`AbortedTxn`).

    `last_stable_offset` is the first offset of the oldest transaction that was still open when this transaction was aborted. If no other
    transaction was open, `last_stable_offset` is the offset after the marker.
    """

    producer_id: int
    first_offset: int
    last_offset: int
    last_stable_offset: int


class IndexSearch(NamedTuple):
    """The result of a search in the transaction index (`TxnIndexSearchResult`).

    Attributes:
        aborted: the aborted transactions that have records or a marker in the searched range.
        complete: whether the search is complete, because no later entry can belong to the searched range.
    """

    aborted: tuple[AbortedTransaction, ...]
    complete: bool


def collect_aborted(entries: Iterable[AbortedTransaction], start: int, end: int) -> IndexSearch:
    """Search the entries, in the order of their markers, for transactions in [start, end) (`TransactionIndex#collectAbortedTxns`)."""
    found = []
    for entry in entries:
        if entry.last_offset >= start and entry.first_offset < end:
            found.append(entry)
        if entry.last_stable_offset >= end:
            return IndexSearch(tuple(found), complete=True)
    return IndexSearch(tuple(found), complete=False)

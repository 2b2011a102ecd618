"""The budget of a run, which is the same for every kind of script, and for the grids of sweeps: how many servers, clients, partitions, and requests it can have, how much
virtual time it can take, and how many events it can record.

A script that asks for more is refused with the place of the excess, because such a run would end only when the memory or the patience runs
out.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Final

from core.lab.spec import MAX_BROKERS, MAX_CLIENTS, MAX_PARTITIONS
from scenarios.language.nodes import Node
from scenarios.language.values import MAX_DURATION

MAX_SERVERS: Final = MAX_BROKERS
"""The maximum number of servers of a replication model."""

MAX_REQUESTS: Final = 1_000_000
"""The maximum number of requests that one act sends."""

MAX_EVENTS: Final = 1_000_000_000
"""The number of events after which a run stops, unless `--max-events` gives another number."""

_YEARS: Final = MAX_DURATION // (365 * 86_400 * 1_000_000)


def check_clients(clients: Collection[str], node: Node, *, whole: str = "script") -> None:
    """Refuse a script, or a `whole` of another kind, that names too many clients."""
    if len(clients) > MAX_CLIENTS:
        raise node.error(f"the {whole} has {len(clients):,} clients", f"use at most {MAX_CLIENTS:,}")


def check_partitions(topics: Mapping[str, int], node: Node) -> None:
    """Refuse a script whose topics, with their numbers of partitions, are too large together."""
    total = sum(max(count, 0) for count in topics.values())
    if total > MAX_PARTITIONS:
        raise node.error(f"the topics of the script have {total:,} partitions", f"use at most {MAX_PARTITIONS:,}")


def check_requests(count: int, node: Node) -> None:
    """Refuse an act that sends too many requests."""
    if count > MAX_REQUESTS:
        raise node.error(f"the act sends {count:,} requests", f"use at most {MAX_REQUESTS:,}")


def check_time(end: int, node: Node) -> None:
    """Refuse a script that can take too much virtual time. `end` is the time at which it ends at the latest, in µs."""
    if end > MAX_DURATION:
        raise node.error(f"the script can take more than {_YEARS} years", "the times of all steps together must be shorter")

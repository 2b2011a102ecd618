"""The systems of a comparison: Kafka and the other models, each with settings that people often compare."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from functools import partial
from typing import ClassVar, Final, Protocol

import attrs

from core.lab.model_comparison.kafka_reads import KIP_392
from core.lab.model_comparison.kafka_system import KafkaSettings, KafkaSystem
from core.models import acts, tolerance
from core.models.account import Account
from core.models.client import ReadLoop, WriteLoop
from core.models.client_messages import Row
from core.models.elasticsearch.settings import ElasticsearchSettings
from core.models.elasticsearch.system import Elasticsearch
from core.models.mysql.settings import MySQLSettings
from core.models.mysql.system import MySQL
from core.models.quorum.settings import QuorumSettings
from core.models.quorum.system import Quorum
from core.models.report import Report
from core.models.server import CopyView
from core.models.tolerance import CopiesNeeded, Tolerance, copies_needed
from core.sim.journal import Sink


class WorkloadSource(Protocol):
    """A client of the workload."""

    def start(self, loop: WriteLoop | ReadLoop) -> None:
        """Start a loop of writes or reads."""


class Compared(Protocol):
    """A system that can take part in a comparison."""

    model: ClassVar[str]

    @property
    def account(self) -> Account:
        """The account of the clients' requests and their outcomes."""

    @property
    def now(self) -> int:
        """Virtual time, in µs."""

    def next_time(self) -> int | None:
        """Return the time of the next step, in µs; None if nothing is scheduled."""

    def run_until(self, time: int) -> None:
        """Run until a given time, in µs."""

    def add_client(self, name: str, servers: tuple[str, ...] = ()) -> WorkloadSource:
        """Add a client that can connect to the given servers; by default, to all servers."""

    def do(self, act: acts.Act) -> object:
        """Execute an act, or raise ActRefused."""

    def authority(self) -> str:
        """Return the authoritative server: the leader, source, or primary; empty if there is none."""

    def electable(self) -> tuple[str, ...]:
        """Return the servers that could replace the primary now, other than the primary itself."""

    def holds(self, server: str, row: Row) -> bool:
        """Return whether a server has received a row."""

    def copy_state(self, server: str) -> tuple[int, int]:
        """Return a number that changes if the copy's content is replaced, and the length of the copy."""

    def received_since(self, server: str, length: int) -> Iterable[Row]:
        """Return the rows that a server has received since its copy had a given length."""

    def copies(self) -> tuple[CopyView, ...]:
        """Return a frozen view of each copy."""

    def repair(self) -> None:
        """End all faults."""

    def report(self) -> Report:
        """Return the counts, with the current data of the authoritative server as the final state."""

    def settle(self, quiet: int) -> Report:
        """End all faults and the load, wait until nothing changes anymore, and return the counts."""


Build = Callable[[int, Sink], Compared]
"""A function that builds a system from a seed and a sink for events."""


@attrs.frozen
class Variant:
    """A system with its settings, for a column of a comparison.

    Attributes:
        name: the name of the variant on the command line.
        title: the title of the variant's column.
        model: the name of the replication model.
        build: the function that builds the system from a seed and a sink for events.
        secondary_reads: the mode in which clients read from secondaries.
        tolerances: the function that returns, for a given number of copies, how many of the copies can be lost under each relevant setting.
        resized: the function that returns `build` for a different number of servers; None if the settings determine the number.
    """

    name: str
    title: str
    model: str
    build: Build
    secondary_reads: str
    tolerances: Callable[[int], Sequence[Tolerance]] = tolerance.asynchronous_copies
    resized: Callable[[int], Build] | None = None

    def sized(self, servers: int) -> Build:
        """Return the function that builds the system with the given number of servers. If the system's settings determine the number of
        servers, ignore the given number and return `build`.
        """
        return self.build if self.resized is None else self.resized(servers)

    def copies_needed(self, losses: int) -> CopiesNeeded:
        """Return how many copies are needed to tolerate a given number of lost copies."""
        return copies_needed(self.tolerances, losses)


def _kafka(servers: int, seed: int, sink: Sink) -> Compared:
    return KafkaSystem(KafkaSettings(servers), seed, sink)


def _kafka_acks_1(servers: int, seed: int, sink: Sink) -> Compared:
    return KafkaSystem(KafkaSettings(servers, acks=1), seed, sink)


def _mysql(servers: int, seed: int, sink: Sink) -> Compared:
    return MySQL(MySQLSettings(servers - 1, read_only=True), seed, sink)


def _mysql_semi_sync(servers: int, seed: int, sink: Sink) -> Compared:
    return MySQL(MySQLSettings(servers - 1, read_only=True, semi_sync=True), seed, sink)


def _elasticsearch(servers: int, seed: int, sink: Sink) -> Compared:
    """Build a cluster with a copy on each server. Two servers cannot elect a master, so a third node, which has no copy, takes part in the
    election.
    """
    return Elasticsearch(ElasticsearchSettings(max(servers, 3), servers, "n2" if servers > 2 else "n3"), seed, sink)


def _quorum(servers: int, seed: int, sink: Sink) -> Compared:
    system = Quorum(QuorumSettings(servers), seed, sink)
    system.elect_first()
    return system


def _variant(
    name: str,
    title: str,
    model: str,
    build: Callable[[int, int, Sink], Compared],
    reads: str,
    tolerances: Callable[[int], Sequence[Tolerance]],
) -> Variant:
    """Return a variant with three servers, which can also be built with a different number of servers."""
    return Variant(name, title, model, partial(build, 3), reads, tolerances, partial(partial, build))


VARIANTS: Final = (
    _variant("kafka", "Kafka, acks=all, min.insync.replicas=2", "kafka", _kafka, KIP_392, tolerance.isr_by_min_isr),
    _variant("kafka-acks-1", "Kafka, acks=1", "kafka", _kafka_acks_1, KIP_392, tolerance.asynchronous_copies),
    _variant("mysql", "MySQL, asynchronous", "mysql", _mysql, "committed", tolerance.asynchronous_copies),
    _variant(
        "mysql-semi-sync", "MySQL, semi-synchronous (AFTER_SYNC)", "mysql", _mysql_semi_sync, "committed", tolerance.semi_sync_by_count
    ),
    _variant("elasticsearch", "Elasticsearch", "elasticsearch", _elasticsearch, "get", tolerance.in_sync_copies_of),
    _variant("quorum", "Majority log (Raft)", "quorum", _quorum, "local", tolerance.majorities),
)
"""The systems that can be compared."""


def variant_named(name: str) -> Variant:
    """Return the variant with the given name.

    Raises:
        KeyError: there is no variant with this name.
    """
    return {each.name: each for each in VARIANTS}[name]

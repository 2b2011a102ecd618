"""The systems of a comparison: Kafka and the other models, each with settings whose merits are often debated."""

from __future__ import annotations

from collections.abc import Callable
from typing import ClassVar, Final, Protocol

import attrs

from core.lab.comparison.kafka_reads import KIP_392
from core.lab.comparison.kafka_system import KafkaSettings, KafkaSystem
from core.models import acts
from core.models.account import Account
from core.models.client import ReadLoop, WriteLoop
from core.models.elasticsearch.settings import ElasticsearchSettings
from core.models.elasticsearch.system import Elasticsearch
from core.models.mysql.settings import MySQLSettings
from core.models.mysql.system import MySQL
from core.models.quorum.settings import QuorumSettings
from core.models.quorum.system import Quorum
from core.models.report import Report
from core.models.server import CopyView
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
        """What clients asked and were told."""

    @property
    def now(self) -> int:
        """Virtual time, µs."""

    def run_until(self, time: int) -> None:
        """Run until a time, µs."""

    def add_client(self, name: str, servers: tuple[str, ...] = ()) -> WorkloadSource:
        """Add a client that can connect to these servers; by default, to all."""

    def do(self, act: acts.Act) -> object:
        """Execute an act, or raise ActRefused."""

    def authority(self) -> str:
        """Return the server whose data counts; empty if there is none."""

    def copies(self) -> tuple[CopyView, ...]:
        """Return a frozen view of each copy."""

    def repair(self) -> None:
        """End all faults."""

    def report(self) -> Report:
        """Return the counts, with the present data of the authority as the final state."""

    def settle(self, quiet: int) -> Report:
        """End all faults and the load, wait, and return the counts."""


@attrs.frozen
class Variant:
    """A system with its settings, for a column of a comparison.

    Attributes:
        name: the name on the command line.
        title: the title of the column.
        model: the model.
        build: the function that builds the system from a seed and a sink of events.
        secondary_reads: the way of reading at secondaries.
    """

    name: str
    title: str
    model: str
    build: Callable[[int, Sink], Compared]
    secondary_reads: str


def _kafka(seed: int, sink: Sink) -> Compared:
    return KafkaSystem(KafkaSettings(), seed, sink)


def _kafka_acks_1(seed: int, sink: Sink) -> Compared:
    return KafkaSystem(KafkaSettings(acks=1), seed, sink)


def _mysql(seed: int, sink: Sink) -> Compared:
    return MySQL(MySQLSettings(read_only=True), seed, sink)


def _mysql_semi_sync(seed: int, sink: Sink) -> Compared:
    return MySQL(MySQLSettings(read_only=True, semi_sync=True), seed, sink)


def _elasticsearch(seed: int, sink: Sink) -> Compared:
    return Elasticsearch(ElasticsearchSettings(master="n2"), seed, sink)


def _quorum(seed: int, sink: Sink) -> Compared:
    system = Quorum(QuorumSettings(), seed, sink)
    system.elect_first()
    return system


VARIANTS: Final = (
    Variant("kafka", "Kafka, acks=all, min.insync.replicas=2", "kafka", _kafka, KIP_392),
    Variant("kafka-acks-1", "Kafka, acks=1", "kafka", _kafka_acks_1, KIP_392),
    Variant("mysql", "MySQL, asynchronous", "mysql", _mysql, "committed"),
    Variant("mysql-semi-sync", "MySQL, semi-synchronous (AFTER_SYNC)", "mysql", _mysql_semi_sync, "committed"),
    Variant("elasticsearch", "Elasticsearch", "elasticsearch", _elasticsearch, "get"),
    Variant("quorum", "Majority log (Raft)", "quorum", _quorum, "local"),
)
"""The systems that can be compared."""


def variant_named(name: str) -> Variant:
    """Return a variant.

    Raises:
        KeyError: there is no variant with this name.
    """
    return {each.name: each for each in VARIANTS}[name]

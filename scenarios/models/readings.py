"""The readings of expectations: counts of the whole run, facts about a server, the last read by a client, and the write of a version.

A reading that currently has no value, such as the semi-synchronous state of a system that is not MySQL, is None. Every comparison with None
is false.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

import attrs

from core.lab.model_comparison.kafka_system import TP, KafkaSystem
from core.lab.model_comparison.systems import Compared
from core.models.account import ReadRecord, WriteRecord
from core.models.elasticsearch.node import ElasticsearchNode
from core.models.exposure import Exposure
from core.models.mysql.server import MySQLServer
from core.models.mysql.system import MySQL
from core.models.quorum.node import QuorumNode
from core.models.report import Report
from core.models.server import CopyView, Server
from core.models.system import ReplicationSystem
from scenarios.readings.reading import BOOL, DURATION, NUMBER, WORD

NAMES: Final = "list of names"

NONE: Final = "none"
"""The value that a reading returns instead of the name of a server if there is no such server."""


class Moment:
    """The present state of a replication system, from which expectations take readings. The report and the views of the servers' data are
    computed on first use.

    Attributes:
        system: the replication system.
        start: the virtual time at which the script starts, in µs.
        events: the recorded events of the kinds that the script expects, by kind.
        exposure: the account of the acknowledged writes that the system would lose if the primary failed.
    """

    def __init__(
        self, system: Compared, start: int, events: dict[str, list[tuple[Any, ...]]], exposure: Exposure, report: Report | None = None
    ) -> None:
        self.system = system
        self.start = start
        self.events = events
        self.exposure = exposure
        self._report = report
        self._copies: dict[str, CopyView] | None = None

    @property
    def report(self) -> Report:
        """The counts of the run, computed as if the current data of the authoritative server were the final data."""
        if self._report is None:
            self._report = self.exposure.added_to(self.system.report())
        return self._report

    def copy(self, server: str) -> CopyView | None:
        """Return the view of a server's copy of the data."""
        if self._copies is None:
            self._copies = {common_name(copy.name): copy for copy in self.system.copies()}
        return self._copies.get(server)

    def server(self, name: str) -> Server | None:
        """Return a server of MySQL, Elasticsearch, or a majority log; None for Kafka."""
        return self.system.servers[name] if isinstance(self.system, ReplicationSystem) else None

    def write(self, key: str, version: int) -> WriteRecord | None:
        """Return the completed write of a version, or None if there is none."""
        writes = self.system.account.writes
        return next((each for each in writes if each.row.key == key and each.row.version == version), None)

    def last_read(self, client: str, number: int) -> ReadRecord | None:
        """Return a client's completed read by its number, counted from 1. If `number` is 0, return the client's last completed
        read. Return None if there is no such read.
        """
        reads = [each for each in self.system.account.reads if each.client == client]
        if number:
            return reads[number - 1] if number <= len(reads) else None
        return reads[-1] if reads else None


def common_name(server: str) -> str:
    """Return the name that a server has in all models: `n2` for Kafka's `b2`."""
    return f"n{server[1:]}" if server[:1] == "b" and server[1:].isdecimal() else server


@attrs.frozen
class Reading:
    """A reading.

    Attributes:
        type: the type of the value.
        take: the function that returns the value. The function's argument is the object that the reading describes.
        meaning: the description of the value, for the script reference.
    """

    type: str
    take: Callable[[Any], Any]
    meaning: str


def _of_mysql(take: Callable[[MySQLServer], Any]) -> Callable[[tuple[Moment, str]], Any]:
    def read(about: tuple[Moment, str]) -> Any:
        server = about[0].server(about[1])
        return take(server) if isinstance(server, MySQLServer) else None

    return read


def _of_node(take: Callable[[ElasticsearchNode], Any]) -> Callable[[tuple[Moment, str]], Any]:
    def read(about: tuple[Moment, str]) -> Any:
        server = about[0].server(about[1])
        return take(server) if isinstance(server, ElasticsearchNode) else None

    return read


def _of_copy(name: str) -> Callable[[tuple[Moment, str]], Any]:
    return lambda about: getattr(about[0].copy(about[1]), name, None)


def _errant(about: tuple[Moment, str]) -> int | None:
    system = about[0].system
    return len(system.errant(about[1])) if isinstance(system, MySQL) else None


def _in_sync(about: tuple[Moment, str]) -> list[str] | None:
    moment, name = about
    system = moment.system
    if isinstance(system, KafkaSystem):
        return [f"n{broker}" for broker in sorted(system.cluster.partition_view(TP).isr)]
    server = moment.server(name)
    return list(server.state.in_sync) if isinstance(server, ElasticsearchNode) else None


def _is_master(node: ElasticsearchNode) -> bool:
    return node.coordination.mode == "master"


def _last_index(about: tuple[Moment, str]) -> int | None:
    server = about[0].server(about[1])
    return len(server.log) if isinstance(server, QuorumNode) else None


def _high_watermark(about: tuple[Moment, str]) -> int | None:
    moment, name = about
    system = moment.system
    if not isinstance(system, KafkaSystem):
        server = moment.server(name)
        return server.commit if isinstance(server, QuorumNode) else None
    return system.cluster.brokers[int(name[1:])].disk.logs[TP].high_watermark


COUNTS: Final[dict[str, Reading]] = {
    "acked": Reading(NUMBER, lambda m: m.report.acked, "acknowledged writes"),
    "failed": Reading(NUMBER, lambda m: m.report.failed, "refused writes"),
    "unknown": Reading(NUMBER, lambda m: m.report.unknown, "writes whose outcome the client doesn't know"),
    "lost": Reading(NUMBER, lambda m: m.report.lost, "acknowledged writes that the final data lacks"),
    "phantom": Reading(NUMBER, lambda m: m.report.phantom, "refused writes that the final data contains"),
    "unknown-present": Reading(NUMBER, lambda m: m.report.unknown_present, "writes of unknown outcome that the final data contains"),
    "unknown-absent": Reading(NUMBER, lambda m: m.report.unknown_absent, "writes of unknown outcome that the final data lacks"),
    "duplicates": Reading(NUMBER, lambda m: m.report.duplicates, "additional copies of rows in the final data"),
    "reads": Reading(NUMBER, lambda m: m.report.reads, "reads that returned a value"),
    "stale": Reading(NUMBER, lambda m: m.report.stale, "reads that miss an acknowledged write"),
    "stale-because-lost": Reading(NUMBER, lambda m: m.report.stale_because_lost, "stale reads whose missed writes were all lost"),
    "stale-versions": Reading(NUMBER, lambda m: m.report.stale_versions, "the largest number of versions by which a read was behind"),
    "stale-time": Reading(DURATION, lambda m: m.report.stale_us, "the longest time from the acknowledgment of a write to a read that misses it"),
    "own-missing": Reading(NUMBER, lambda m: m.report.own_broken, "reads that miss a write by the same client"),
    "backward": Reading(NUMBER, lambda m: m.report.backward, "reads that miss a version that the same client has already read"),
    "unacknowledged": Reading(NUMBER, lambda m: m.report.unacknowledged, "reads of rows that had not been acknowledged yet"),
    "dirty": Reading(NUMBER, lambda m: m.report.dirty, "reads of rows that the final data lacks"),
    "divergence": Reading(NUMBER, lambda m: m.report.divergence, "positions at which a copy differs from the authoritative copy"),
    "no-writes": Reading(DURATION, lambda m: m.report.write_unavailable_us, "the time during which the probe's writes failed"),
    "no-reads": Reading(DURATION, lambda m: m.report.read_unavailable_us, "the time during which the probe's reads failed"),
    "median": Reading(DURATION, lambda m: m.report.latency(0.5), "the median latency of acknowledged writes"),
    "p99": Reading(DURATION, lambda m: m.report.latency(0.99), "the 99th percentile of the latency of acknowledged writes"),
    "longest": Reading(DURATION, lambda m: m.report.latency(1), "the longest latency of an acknowledged write"),
    "exposed": Reading(NUMBER, lambda m: m.report.exposed, "the largest number of acknowledged writes that were missing from every copy that could replace the primary"),
    "exposed-time": Reading(DURATION, lambda m: m.report.exposed_us, "the number of exposed writes, multiplied by the time for which they were exposed"),
    "bytes-sent": Reading(NUMBER, lambda m: m.report.bytes_sent, "the number of bytes in the messages that servers received from each other"),
    "primary": Reading(WORD, lambda m: common_name(m.report.authority) or NONE, "the server whose data is authoritative, or `none`"),
}  # fmt: skip
"""The readings that describe the whole run."""

OF_SERVER: Final[dict[str, Reading]] = {
    "role": Reading(WORD, _of_copy("role"), "the role, as the model names it"),
    "running": Reading(BOOL, _of_copy("running"), "whether the process is running"),
    "term": Reading(NUMBER, _of_copy("term"), "the term or epoch that the server knows"),
    "stored": Reading(NUMBER, _of_copy("stored"), "rows that the server has received"),
    "durable": Reading(NUMBER, _of_copy("durable"), "rows that would survive a power loss"),
    "visible": Reading(NUMBER, _of_copy("visible"), "rows that a read at the server can return"),
    "acknowledged": Reading(NUMBER, _of_copy("acknowledged"), "acknowledged rows that the server has received"),
    "in-sync": Reading(NAMES, _in_sync, "the in-sync copies of Elasticsearch as the server knows them, or Kafka's ISR"),
    "semi-sync": Reading(BOOL, _of_mysql(lambda s: s.semi_sync.on), "MySQL: whether commits wait for replicas"),
    "known-replicas": Reading(NUMBER, _of_mysql(lambda s: s.semi_sync.known_replicas), "MySQL: replicas that the source considers connected"),
    "error": Reading(NUMBER, _of_mysql(lambda s: s.error), "MySQL: the error that stopped replication, or 0"),
    "errant": Reading(NUMBER, _errant, "MySQL: transactions that the source lacks"),
    "master": Reading(BOOL, _of_node(_is_master), "Elasticsearch: whether the node is the master"),
    "primary-term": Reading(NUMBER, _of_node(lambda n: n.state.primary_term), "Elasticsearch: the primary term in the node's cluster state"),
    "max-seqno": Reading(NUMBER, _of_node(lambda n: n.shard.max_seqno), "Elasticsearch: the highest sequence number"),
    "global-checkpoint": Reading(NUMBER, _of_node(lambda n: n.shard.global_checkpoint), "Elasticsearch: the global checkpoint"),
    "no-ops": Reading(
        NUMBER,
        _of_node(lambda n: sum(op.row is None for op in n.shard.indexed.values())),
        "Elasticsearch: the number of no-ops, which fill gaps between sequence numbers",
    ),
    "last-index": Reading(NUMBER, _last_index, "majority log: the last index of the log"),
    "commit": Reading(NUMBER, _high_watermark, "majority log: the commit index; Kafka: the high watermark"),
}  # fmt: skip
"""The readings that describe a server."""

OF_WRITE: Final[dict[str, Reading]] = {
    "outcome": Reading(WORD, lambda w: w.outcome, "ok, fail, or unknown"),
    "took": Reading(DURATION, lambda w: w.ended - w.invoked, "how long the write took"),
}
"""The readings that describe the write of one version of a key."""

OF_READ: Final[dict[str, Reading]] = {
    "outcome": Reading(WORD, lambda r: r.outcome, "ok, fail, or unknown"),
    "version": Reading(NUMBER, lambda r: r.row.version, "the returned version; 0 for none"),
    "stale": Reading(NUMBER, lambda r: r.stale, "acknowledged versions that the read misses"),
    "stale-time": Reading(DURATION, lambda r: r.stale_us, "the time from the acknowledgment of the first missed version to the read"),
    "own-missing": Reading(NUMBER, lambda r: r.own_missing, "versions from the client's own writes that the read misses"),
    "backward": Reading(NUMBER, lambda r: r.backward, "versions by which the read is behind an earlier read by the same client"),
    "unacknowledged": Reading(BOOL, lambda r: r.unacknowledged, "whether the read ended before the row's write was acknowledged"),
    "server": Reading(WORD, lambda r: common_name(r.server), "the server that answered"),
}
"""The readings that describe a single read by a client."""

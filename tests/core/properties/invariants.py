"""What must hold at every moment of a run: a watch that takes every event, looks into every log, and speaks up at once.

It keeps its own copy of what was ever committed (below some leader's high watermark), and holds all replicas against it.
"""

from __future__ import annotations

from typing import Final

from core.clients.consumer import Consumer
from core.clients.producer import Producer
from core.ids import NO_LEADER, TopicPartition
from core.log.replica_log import ReplicaLog
from core.release import Release, Truncation
from core.sim.cluster import Cluster

_AFFECTING: Final = frozenset(
    {
        "partition-changed", "became-leader", "became-follower", "truncated", "high-watermark", "follower-append",
        "follower-high-watermark", "isr-shrunk", "isr-expanded", "append",
    }
)  # fmt: skip
"""Events after which the logs of their partition are looked at."""


class Broken(AssertionError):
    """An invariant does not hold."""


class Watch:
    """Watches one cluster; give `sink` to it, and call `step` through `run`.

    Attributes:
        committed: by partition what was ever below a leader's high watermark, as a log.
        lossless: whether committed records must survive (not so before epochs and fencing were complete).
    """

    def __init__(self, release: Release) -> None:
        self.release = release
        self.lossless = release.truncation is not Truncation.HIGH_WATERMARK and release.fetch_epoch_fencing and release.maximal_isr
        self.cluster: Cluster | None = None
        self.committed: dict[TopicPartition, ReplicaLog] = {}
        self.leaders: dict[tuple[TopicPartition, int], int] = {}
        self.high_watermarks: dict[tuple[TopicPartition, int], int] = {}
        self.epochs: dict[TopicPartition, tuple[int, int]] = {}
        self.positions: dict[tuple[str, TopicPartition], int] = {}
        self.changed: dict[TopicPartition, None] = {}
        self.events = 0

    # --- driving ---------------------------------------------------------------------------------------------------

    def run(self, cluster: Cluster, time: int) -> None:
        """Take the cluster to a time step by step, and look after each."""
        self.cluster = cluster
        self.look()
        while (due := cluster.next_time()) is not None and due <= time:
            cluster.step()
            if self.changed:
                self.look()
        cluster.run_until(time)

    # --- events ----------------------------------------------------------------------------------------------------

    def sink(self, event: tuple) -> None:
        """Take one event."""
        self.events += 1
        kind = event[3]
        if kind in _AFFECTING:
            at = 4 if kind == "partition-changed" else 5
            self.changed[TopicPartition(event[at], event[at + 1])] = None
        handler = getattr(self, "_" + kind.replace("-", "_"), None)
        if handler is not None:
            handler(event)

    def _partition_changed(self, event: tuple) -> None:
        topic, number, leader, leader_epoch, partition_epoch, replicas, isr, elr = event[4:12]
        tp = TopicPartition(topic, number)
        before = self.epochs.get(tp)
        self.epochs[tp] = (leader_epoch, partition_epoch)
        if before is not None:
            must(leader_epoch >= before[0] and partition_epoch == before[1] + 1, f"epochs {before} to {self.epochs[tp]}", event)
        must(set(isr) <= set(replicas) and len(set(isr)) == len(isr), "the ISR is no set of assigned replicas", event)
        must(bool(isr) or (self.release.elr and leader == NO_LEADER), "the ISR is empty", event)
        must(leader == NO_LEADER or leader in isr, "the leader is outside the ISR", event)
        must(not set(elr) & set(isr) and set(elr) <= set(replicas), "a wrong ELR", event)

    def _became_leader(self, event: tuple) -> None:
        broker, topic, number, epoch = event[4:8]
        must(self.leaders.setdefault((TopicPartition(topic, number), epoch), broker) == broker, "two leaders in one epoch", event)

    def _high_watermark(self, event: tuple) -> None:
        broker, topic, number, epoch, old, new = event[4:10]
        tp = TopicPartition(topic, number)
        known = self.high_watermarks.get((tp, epoch), -1)
        must(known <= old < new, f"the high watermark of epoch {epoch} was {known}", event)
        self.high_watermarks[tp, epoch] = new
        assert self.cluster is not None or event[1] == 0
        if self.cluster is not None:
            self._commit(tp, self.cluster.brokers[broker].disk.logs[tp], new)

    def _commit(self, tp: TopicPartition, log: ReplicaLog, end: int) -> None:
        committed = self.committed.setdefault(tp, ReplicaLog(keeps_epochs=False))
        for run in log.runs():
            start, stop = max(run.start, committed.leo), min(run.end, end)
            if start < stop:
                committed.append_as_follower((run._replace(start=start, end=stop),))

    def _follower_append(self, event: tuple) -> None:
        end, high_watermark = event[9:11]
        must(high_watermark <= end, "a follower's high watermark is past its log's end", event)

    def _records_lost(self, event: tuple) -> None:
        must(not self.lossless, "acknowledged records are lost", event)

    def _records_diverged(self, event: tuple) -> None:
        must(self.release.truncation < Truncation.EPOCH_ROUNDS, "a follower fetches on with another log", event)

    def _consumed(self, event: tuple) -> None:
        consumer, topic, number, _, start, end, high_watermark = event[4:11]
        key = (consumer, TopicPartition(topic, number))
        must(self.positions.get(key, start) == start, f"the consumer stood at {self.positions.get(key)}", event)
        must(start < end <= high_watermark, "the consumer was given records at or above the high watermark", event)
        must(end <= self.committed[key[1]].leo, "the consumer was given records that were never committed", event)
        self.positions[key] = end

    def _consumer_reset(self, event: tuple) -> None:
        consumer, topic, number, _, position = event[4:9]
        must(not self.lossless, "a consumer's position is out of range", event)
        self.positions[consumer, TopicPartition(topic, number)] = position

    # --- state -----------------------------------------------------------------------------------------------------

    def look(self) -> None:
        """Look at the partitions that something happened to."""
        cluster = self.cluster
        assert cluster is not None
        changed, self.changed = self.changed, {}
        for tp in changed:
            self._look_at(cluster, tp)
        if self.lossless:
            must(cluster.account.lost == 0, "the account counts acknowledged records as lost")

    def _look_at(self, cluster: Cluster, tp: TopicPartition) -> None:
        registration = cluster.controller.replication.partitions[tp]
        committed = self.committed.setdefault(tp, ReplicaLog(keeps_epochs=False))
        leading: dict[int, int] = {}
        for broker in cluster.brokers.values():
            log = broker.disk.logs.get(tp)
            if log is None:
                continue
            where = f"{tp} on b{broker.id}"
            must(log.log_start <= log.high_watermark <= log.leo, f"{where}: high watermark {log.high_watermark} outside the log")
            partition = broker.partitions.get(tp)
            if partition is not None and partition.is_leader:
                must(partition.leader_epoch not in leading, f"{where} and b{leading.get(partition.leader_epoch)} lead in one epoch")
                leading[partition.leader_epoch] = broker.id
            if self.lossless:
                self._differs(where, log, committed, min(log.high_watermark, committed.leo))
                must(log.high_watermark <= committed.leo, f"{where}: high watermark {log.high_watermark} was never a leader's")
        if not self.lossless:
            return
        for member in (*registration.isr, *registration.elr):
            log = cluster.brokers[member].disk.logs.get(tp)
            leo = 0 if log is None else log.leo
            where = f"{tp} on b{member}, of ISR {registration.isr} ELR {registration.elr}"
            must(leo >= committed.leo, f"{where}: ends at {leo}, but {committed.leo} is committed")
            if log is not None:
                self._differs(where, log, committed, committed.leo)

    def _differs(self, where: str, log: ReplicaLog, committed: ReplicaLog, end: int) -> None:
        different = [stretch for stretch in log.differences(committed) if stretch[0] < end]
        must(not different, f"{where}: differs from what was committed at {different}")

    # --- after healing ---------------------------------------------------------------------------------------------

    def whole(self, cluster: Cluster) -> None:
        """Everything is online, in sync and equal, and nobody waits.

        A follower's high watermark may stay behind until the leader's moves again: it ignores the one in an answer with a
        diverging epoch, the leader's fetch session takes it for told (`CachedPartition#maybeUpdateResponseData`).
        """
        for tp, registration in cluster.controller.replication.partitions.items():
            must(registration.leader != NO_LEADER, f"{tp} has no leader: {registration}")
            must(set(registration.isr) == set(registration.replicas), f"{tp} is not in sync: {registration}")
            leader = cluster.brokers[registration.leader].disk.logs[tp]
            must(leader.high_watermark == leader.leo, f"{tp}: high watermark {leader.high_watermark} of {leader.leo}")
            for replica in registration.replicas:
                log = cluster.brokers[replica].disk.logs[tp]
                must(log.leo == leader.leo, f"{tp} on b{replica} ends at {log.leo}, its leader at {leader.leo}")
                state = cluster.brokers[replica].replicas.fetch_state(tp)
                must(replica == registration.leader or state == "fetching", f"{tp} on b{replica} is {state}")
                must(not log.differences(leader), f"{tp} on b{replica} differs from its leader: {log.differences(leader)}")
        for client in cluster.clients.values():
            if isinstance(client, Producer):
                waiting = sum(map(len, client.queues.values())) + len(client.in_flight)
                must(waiting == 0, f"{client.name} still has {waiting} batches")
                must(
                    client.acked + client.failed == client.sent, f"{client.name} sent {client.sent}, {client.acked} + {client.failed} ended"
                )
            elif isinstance(client, Consumer):
                for number, position in enumerate(client.positions):
                    tp = TopicPartition(client.topic, number)
                    leader = cluster.brokers[cluster.controller.replication.partitions[tp].leader].disk.logs[tp]
                    must(position == leader.high_watermark, f"{client.name} stands at {position} of {leader.high_watermark} in {tp}")


def must(holds: bool, what: str, event: tuple = ()) -> None:
    """Raise unless it holds.

    Raises:
        Broken: it does not.
    """
    if not holds:
        raise Broken(f"{what}: {event}" if event else what)

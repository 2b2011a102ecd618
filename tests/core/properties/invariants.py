"""The invariants of every moment of a run. A watch receives every event, looks into every log, and reports a violation immediately.

The watch keeps its own copy of all records that were ever committed (below a leader's high watermark), and compares all replicas with it.
"""

from __future__ import annotations

from typing import Final

from core.kafka.clients.consumer.consumer import Consumer
from core.kafka.clients.producer.producer import Producer
from core.kafka.ids import NO_LEADER, TopicPartition
from core.kafka.log.replica_log import ReplicaLog
from core.kafka.release import Release, Truncation
from core.kafka.zookeeper_mode.control_plane import ZooKeeperControlPlane
from core.lab.cluster import Cluster

_AFFECTING: Final = frozenset(
    {
        "partition-changed", "became-leader", "became-follower", "truncated", "high-watermark", "follower-append",
        "follower-high-watermark", "isr-shrunk", "isr-expanded", "append",
    }
)  # fmt: skip
"""The events after which the logs of their partition are checked."""


class Broken(AssertionError):
    """An invariant is violated."""


class Watch:
    """A watch of one cluster. Pass `sink` to the cluster, and call `step` through `run`.

    Attributes:
        committed: by partition, the records that were ever below a leader's high watermark, as a log.
        lossless: whether committed records must survive, which older releases do not promise, because their epochs and fencing are
            incomplete.
        abandoned: partitions whose ELR was cleared by setting min.insync.replicas while their ISR was empty, so that only an unclean
            election helps.
        ghosts: by partition, the members of the ELR that were temporarily not replicas (ordered sets). A canceled move drops replicas from
            the list, but not from the ELR (tests/recordings/moves-4.1.1.txt). A replica that is added again is empty, but still eligible.
        exited: brokers that ended instead of truncating a log (up to 1.1). When they are started again, they end again until an operator
            helps them (KAFKA-3410).
        equal: whether all replicas of a healed cluster hold the same records, which is not the case before fetches are fenced (E2, and S4's
            zombies).
    """

    def __init__(self, release: Release) -> None:
        self.release = release
        self.lossless = release.truncation is not Truncation.HIGH_WATERMARK and release.fetch_epoch_fencing and release.maximal_isr
        self.equal = release.fetch_epoch_fencing
        self.cluster: Cluster | None = None
        self.committed: dict[TopicPartition, ReplicaLog] = {}
        self.leaders: dict[tuple[TopicPartition, int], int] = {}
        self.high_watermarks: dict[tuple[TopicPartition, int], int] = {}
        self.epochs: dict[TopicPartition, tuple[int, int]] = {}
        self.positions: dict[tuple[str, TopicPartition], int] = {}
        self.renumbered: dict[tuple[str, TopicPartition], None] = {}
        self.changed: dict[TopicPartition, None] = {}
        self.abandoned: dict[TopicPartition, None] = {}
        self.ghosts: dict[TopicPartition, dict[int, None]] = {}
        self.exited: dict[int, None] = {}
        self.events = 0

    # --- driving ---------------------------------------------------------------------------------------------------

    def run(self, cluster: Cluster, time: int) -> None:
        """Run the cluster to a time step by step, and check the invariants after each step."""
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
        topic, number, leader, leader_epoch, partition_epoch, replicas, isr, elr, last_known = event[4:13]
        tp = TopicPartition(topic, number)
        if isr or elr or last_known:
            self.abandoned.pop(tp, None)
        elif tp not in self.abandoned:
            must(event[-1] == "min.insync.replicas was set", "nobody is left who may lead", event)
            self.abandoned[tp] = None
        before = self.epochs.get(tp)
        self.epochs[tp] = (leader_epoch, partition_epoch)
        if before is not None:
            must(leader_epoch >= before[0], f"epochs {before} to {self.epochs[tp]}", event)
            # With ZooKeeper replicas stand in another znode than the state, whose version the partition epoch is.
            of_replicas = self._zookeeper and event[-1] == "reassignment"
            must(partition_epoch == before[1] + (not of_replicas), f"epochs {before} to {self.epochs[tp]}", event)
        must(len(set(isr)) == len(isr), "the ISR is no set", event)
        must(self._zookeeper or set(isr) <= set(replicas), "the ISR holds brokers that are no replicas", event)
        must(self._zookeeper or leader == NO_LEADER or leader in replicas, "the leader is no replica", event)
        must(bool(isr) or (self.release.elr and leader == NO_LEADER), "the ISR is empty", event)
        must(leader == NO_LEADER or leader in isr, "the leader is outside the ISR", event)
        must(not set(elr) & set(isr), "a wrong ELR", event)
        before_gone = self.ghosts.get(tp, {})
        self.ghosts[tp] = {member: None for member in elr if member in before_gone or member not in replicas}
        if leader in before_gone:
            self.lossless = False

    @property
    def _zookeeper(self) -> bool:
        """Whether the cluster has a ZooKeeper controller, which first writes a move's replicas and then removes the dropped replicas from
        leadership and ISR (`whole` checks the final state).
        """
        return self.cluster is not None and isinstance(self.cluster.controller, ZooKeeperControlPlane)

    def _broker_stopped(self, event: tuple) -> None:
        if event[5] == "exited":
            must(self.release.halts_on_truncation, "a broker ended rather than cut its log", event)
            self.exited[event[4]] = None

    def _became_leader(self, event: tuple) -> None:
        broker, topic, number, epoch = event[4:8]
        key = (TopicPartition(topic, number), epoch)
        must(self.leaders.setdefault(key, broker) == broker, "two leaders in one epoch", event)
        if self.cluster is not None and isinstance(self.cluster.controller, ZooKeeperControlPlane):
            # A controller that took over after a leader's restart finds it living and leading: the same epoch, from the checkpoint on.
            self.high_watermarks.pop(key, None)

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
                committed.append_as_follower((start, stop, run.term, 0, None))

    def _follower_append(self, event: tuple) -> None:
        end, high_watermark = event[9:11]
        must(high_watermark <= end, "a follower's high watermark is past its log's end", event)

    def _records_lost(self, event: tuple) -> None:
        must(not self.lossless, "acknowledged records are lost", event)

    def _records_duplicated(self, event: tuple) -> None:
        renumbered = (event[7], TopicPartition(event[4], event[5])) in self.renumbered
        idempotent = event[7] == "sure0" and self.release.transactions  # since 0.11, like transactions (KIP-98)
        must(not idempotent or renumbered, "an idempotent producer's batch is written twice", event)

    def _producer_epoch_bumped(self, event: tuple) -> None:
        """The batches in flight are renumbered, although they may already be in the log (`TxnPartitionMap#startSequencesAtBeginning`)."""
        self.renumbered[event[4], TopicPartition(event[5], event[6])] = None

    def _records_diverged(self, event: tuple) -> None:
        must(not self.release.fetch_epoch_fencing, "a follower fetches on with another log", event)

    def _consumed(self, event: tuple) -> None:
        consumer, topic, number, _, start, end, high_watermark = event[4:11]
        key = (consumer, TopicPartition(topic, number))
        must(self.positions.get(key, start) == start, f"the consumer stood at {self.positions.get(key)}", event)
        must(start < end <= high_watermark, "the consumer was given records at or above the high watermark", event)
        must(end <= self.committed[key[1]].leo, "the consumer was given records that were never committed", event)
        self.positions[key] = end

    def _consumer_truncated(self, event: tuple) -> None:
        consumer, topic, number, _, position = event[4:9]
        must(not self.lossless, "what a consumer has read is not in the log any more", event)
        self.positions[consumer, TopicPartition(topic, number)] = position

    def _consumer_reset(self, event: tuple) -> None:
        consumer, topic, number, _, position = event[4:9]
        must(not self.lossless, "a consumer's position is out of range", event)
        self.positions[consumer, TopicPartition(topic, number)] = position

    # --- state -----------------------------------------------------------------------------------------------------

    def look(self) -> None:
        """Check the partitions that events have affected."""
        cluster = self.cluster
        assert cluster is not None
        changed, self.changed = self.changed, {}
        for tp in changed:
            self._look_at(cluster, tp)
        if self.lossless:
            must(cluster.account.lost == 0, "the account counts acknowledged records as lost")

    def _look_at(self, cluster: Cluster, tp: TopicPartition) -> None:
        registration = cluster.controller.registry.partitions[tp]
        committed = self.committed.setdefault(tp, ReplicaLog(keeps_epochs=False))
        leading: dict[int, int] = {}
        for broker in cluster.brokers.values():
            log = broker.disk.logs.get(tp)
            if log is None:
                continue
            # The messages are made only when they are needed: there are many looks, and making these takes as long as the rest.
            if not log.log_start <= log.high_watermark <= log.leo:
                raise Broken(f"{tp} on b{broker.id}: high watermark {log.high_watermark} outside the log")
            partition = broker.partitions.get(tp)
            if partition is not None and partition.is_leader:
                if partition.leader_epoch in leading:
                    raise Broken(f"{tp} on b{broker.id} and b{leading[partition.leader_epoch]} lead in one epoch")
                leading[partition.leader_epoch] = broker.id
            if self.lossless:
                self._differs(tp, broker.id, log, committed, min(log.high_watermark, committed.leo))
                if log.high_watermark > committed.leo:
                    raise Broken(f"{tp} on b{broker.id}: high watermark {log.high_watermark} was never a leader's")
        told = cluster.exposure.lacking_brokers.get(tp)
        if not self.lossless:
            exposed = cluster.exposure.exposed_offsets(tp)
            if bool(told) != bool(exposed):
                raise Broken(f"{tp}: {exposed} are exposed, told was {told}")
            return
        # A ZooKeeper controller tells the leader of the target, and writes the ISR without the others next.
        excused = {*self.ghosts.get(tp, ()), *(registration.removing if self._zookeeper else ())}
        if told and not excused.issuperset(told):
            raise Broken(f"{tp}: {told} expose {cluster.exposure.exposed_offsets(tp)}")
        for member in (*registration.isr, *registration.elr):
            if member in excused or member not in registration.replicas:
                continue
            log = cluster.brokers[member].disk.logs.get(tp)
            leo = 0 if log is None else log.leo
            if leo < committed.leo:
                raise Broken(
                    f"{tp} on b{member}, of ISR {registration.isr} ELR {registration.elr}: ends at {leo}, but {committed.leo} is committed"
                )
            if log is not None:
                self._differs(tp, member, log, committed, committed.leo)

    def _differs(self, tp: TopicPartition, broker: int, log: ReplicaLog, committed: ReplicaLog, end: int) -> None:
        different = [each for each in log.differences(committed) if each[0] < end]
        if different:
            raise Broken(f"{tp} on b{broker}: differs from what was committed at {different}")

    # --- after healing ---------------------------------------------------------------------------------------------

    def whole(self, cluster: Cluster) -> None:
        """Assert that everything is online, in sync, and equal, and that nothing waits.

        A follower's high watermark may remain behind until the leader's high watermark moves again: the follower ignores the high watermark
        in a response with a diverging epoch, but the leader's fetch session considers it sent (`CachedPartition#maybeUpdateResponseData`).
        """
        self._ends_for_a_reason(cluster)
        for tp, registration in cluster.controller.registry.partitions.items():
            if tp in self.abandoned or self._is_held_up(registration.isr):
                continue
            must(registration.leader != NO_LEADER, f"{tp} has no leader: {registration}")
            must(not registration.adding and not registration.removing, f"{tp} is still on its way: {registration}")
            must(registration.leader in registration.replicas, f"{tp} is led by no replica: {registration}")
            # A leader that writes the ISR itself may write it between the controller's look and its move.
            strangers = set(registration.isr).difference(registration.replicas)
            must(self.release.leader_writes_isr or not strangers, f"{tp} has strangers in sync: {registration}")
            must(set(registration.isr) >= set(registration.replicas) - set(self.exited), f"{tp} is not in sync: {registration}")
            leader = cluster.brokers[registration.leader].disk.logs[tp]
            must(leader.high_watermark == leader.leo, f"{tp}: high watermark {leader.high_watermark} of {leader.leo}")
            for replica in registration.replicas:
                if replica in self.exited:
                    continue
                log = cluster.brokers[replica].disk.logs[tp]
                must(log.leo == leader.leo, f"{tp} on b{replica} ends at {log.leo}, its leader at {leader.leo}")
                state = cluster.brokers[replica].fetcher_manager.fetch_state(tp)
                must(replica == registration.leader or state == "fetching", f"{tp} on b{replica} is {state}")
                must(
                    not self.equal or not log.differences(leader), f"{tp} on b{replica} differs from its leader: {log.differences(leader)}"
                )
            must(
                not self.equal or tp not in cluster.exposure.lacking_brokers,
                f"{tp}: {cluster.exposure.exposed_offsets(tp)} are still exposed",
            )
        for client in cluster.clients.values():
            if isinstance(client, Producer):
                waiting, metrics = client.sender.incomplete_batches(), client.metrics
                refused = [batch for batch in waiting if self.is_refused_for_good(cluster, batch.tp)]
                must(len(waiting) == len(refused), f"{client.name} still has {len(waiting)} batches")
                ended, sent = metrics.acked + metrics.failed, metrics.sent - sum(batch.count for batch in refused)
                must(ended == sent, f"{client.name} sent {sent}, {metrics.acked} + {metrics.failed} ended")
            elif isinstance(client, Consumer):
                for number, position in enumerate(client.positions):
                    tp = TopicPartition(client.topic, number)
                    if tp in self.abandoned or self._is_held_up(cluster.controller.registry.partitions[tp].isr):
                        continue
                    leader = cluster.brokers[cluster.controller.registry.partitions[tp].leader].disk.logs[tp]
                    must(position == leader.high_watermark, f"{client.name} stands at {position} of {leader.high_watermark} in {tp}")

    def is_refused_for_good(self, cluster: Cluster, tp: TopicPartition) -> bool:
        """Return whether acks=all writes remain refused because a broker that ends at each start is missing from the ISR. Producers before
        2.1 have no delivery.timeout.ms, so they continue to retry.
        """
        partition = cluster.partition_view(tp)
        return any(broker in self.exited for broker in partition.replicas) and len(partition.isr) < partition.min_isr

    def _is_held_up(self, isr: tuple[int, ...]) -> bool:
        """Return whether only brokers that end again and again could lead."""
        return bool(isr) and set(isr) <= set(self.exited)

    def _ends_for_a_reason(self, cluster: Cluster) -> None:
        """Check that a broker that ended last has a log that is longer than its leader's log. A broker that ended once and has recovered is
        treated like any other.
        """
        partitions = cluster.controller.registry.partitions
        for broker in list(self.exited):
            logs = cluster.brokers[broker].disk.logs
            longer = [
                tp
                for tp, registration in partitions.items()
                if tp in logs
                and registration.leader not in (NO_LEADER, broker)
                and logs[tp].leo > cluster.brokers[registration.leader].disk.logs[tp].leo
            ]
            if not longer:
                del self.exited[broker]


def must(holds: bool, what: str, event: tuple = ()) -> None:
    """Raise an error unless the condition holds.

    Raises:
        Broken: the condition does not hold.
    """
    if not holds:
        raise Broken(f"{what}: {event}" if event else what)

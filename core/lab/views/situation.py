"""The situation of a partition: what of a cluster's state decides which faults can harm the partition, without offsets and times.

Two moments of a run with the same situation differ in how many records there are and in how long something has lasted. A search for harmful
faults tries a fault once in each situation (`scenarios.exploration`), so the situation must tell apart whatever a fault can hit: who leads,
who is in sync, which records exist on which replicas, what is on disk, which processes and links work, and what the controller has noticed.
Partitions have situations of their own, because what is under way in one of them decides nothing in another.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable
from hashlib import blake2b
from typing import Final

from core.kafka.broker.broker import Broker
from core.kafka.ids import TopicPartition
from core.kafka.partition_registration import PartitionRegistration
from core.kafka.release import Truncation
from core.lab.accounts.partition_account import PartitionAccount
from core.lab.cluster_nodes import ClusterNodes

NOWHERE: Final = -1
"""The log end offset that stands for a missing log."""


Situation = tuple[TopicPartition | None, tuple[Hashable, ...], tuple[Hashable, ...], tuple[Hashable, ...], Hashable]
"""A partition, or None for a cluster without partitions; then, for each broker in the order of their numbers: its process and links, its
replica, and its place in the replica list; then the rest of the cluster."""


def situations(cluster: ClusterNodes) -> list[Situation]:
    """Return the situation of each partition of a cluster between two instants."""
    broken = [direction for direction, link in cluster.network.links.items() if link.cut or link.held]
    ends: dict[str, int] = Counter(node for direction in broken for node in direction) if broken else {}
    active = cluster.controller_address
    every = list(cluster.brokers.values())
    brokers = tuple([(*_broker(cluster, each), each.address == active, ends.get(each.address, 0)) for each in every])
    whole = {2 * (len(cluster.network.alive) - 1), 0}
    # An isolated broker needs no name, one of a pair does.
    pairs = () if not broken or set(ends.values()) <= whole else tuple(sorted(broken))
    controllers = tuple([(name, cluster.network.alive.get(name), name in cluster.paused) for name in cluster.controllers])
    rest = (pairs, controllers, active in cluster.controllers)
    found: list[Situation] = []
    for tp, registration in cluster.controller.registry.partitions.items():
        one = _Partition(cluster, tp, registration)
        replicas = tuple([one.replica(each) for each in every])
        places = tuple([one.place(each.id) for each in every])
        found.append((tp, brokers, replicas, places, (rest, one.recovering)))
    return found or [(None, brokers, (None,) * len(every), (NOWHERE,) * len(every), rest)]


def key_of(here: Situation, *, swaps: bool) -> bytes:
    """Return 16 bytes that are the same, in every process, for situations that count as the same.

    Brokers without a replica of the partition count as the same if they differ only by their numbers.

    Args:
        here: a situation.
        swaps: whether brokers also count as the same if they differ in their places in the replica list. The places decide who becomes the
            leader when several replicas are eligible.
    """
    tp, brokers, replicas, places, rest = here
    each = sorted(map(repr, zip(brokers, replicas, (0,) * len(places) if swaps else places, strict=True)))
    return blake2b(repr((str(tp), each, rest)).encode(), digest_size=16).digest()


def _broker(cluster: ClusterNodes, broker: Broker) -> tuple[Hashable, ...]:
    registration = cluster.controller.cluster_control.brokers.get(broker.id)
    fenced = registration is None or registration.fenced
    return (
        broker.context.rack,
        broker.context.state.name,
        broker.address in cluster.paused,
        fenced,
        broker.disk.failed_dirs,
        broker.log_directories.slow > 0,
    )


class _Partition:
    """A partition, against which its replicas are compared."""

    def __init__(self, cluster: ClusterNodes, tp: TopicPartition, registration: PartitionRegistration) -> None:
        account = cluster.account.of(tp)
        leads = cluster.brokers.get(registration.leader)
        log = None if leads is None else leads.disk.logs.get(tp)
        self.tp: Final = tp
        self.registration: Final = registration
        self.recovering: Final = registration.recovering
        self.committed: Final = account.committed_end
        self.acknowledged: Final = _acknowledged_end(account)
        self.end: Final = NOWHERE if log is None else log.leo

    def place(self, number: int) -> int:
        """Return the place of a broker in the replica list; -1 if it has no replica."""
        replicas = self.registration.replicas
        return replicas.index(number) if number in replicas else -1

    def replica(self, broker: Broker) -> Hashable:
        """Return what a broker is to the partition; None if it has no replica."""
        number, registration, tp = broker.id, self.registration, self.tp
        if number not in registration.replicas:
            return None
        partition, disk = broker.partitions.get(tp), broker.disk
        role = None if partition is None else (partition.is_leader, partition.leader_epoch == registration.leader_epoch)
        member = (
            number == registration.leader, number in registration.isr, number in registration.elr, number in registration.last_known_elr,
            number in registration.adding,
        )  # fmt: skip
        log = disk.logs.get(tp) or disk.offline.get(tp)
        if log is None:
            return role, member
        leo, committed, acknowledged = log.leo, self.committed, self.acknowledged
        records = (
            leo >= committed,
            leo >= acknowledged,
            (leo > self.end) - (leo < self.end),
            log.recovery_point >= max(committed, acknowledged),
        )
        if broker.context.release.truncation is not Truncation.HIGH_WATERMARK:
            return role, member, records
        known = disk.high_watermarks.get(tp, 0)  # what a restarted follower truncates its log to
        return role, member, records, log.high_watermark >= committed, known >= log.high_watermark, known >= committed


def _acknowledged_end(account: PartitionAccount) -> int:
    """Return the offset after the last record that was acknowledged."""
    return max((offsets.ends[-1] for offsets in account.acked.values() if offsets), default=0)

"""A fake of `core.lab.cluster.Cluster` with the same interface. It has plausible views and events, but no protocol.

Tests of widgets and of the session use it if they need a state or an event quickly.
"""

from __future__ import annotations

import json
from collections.abc import Callable

import attrs

from core.kafka.broker.broker_state import BrokerState
from core.kafka.health import PartitionStatus
from core.kafka.ids import NO_LEADER, TopicPartition, node_address
from core.kafka.release import CURRENT, Release
from core.kafka.settings.settings import Settings
from core.lab import acts
from core.lab.spec import ClusterSpec
from core.lab.views.broker_view import BrokerView
from core.lab.views.client_view import ConsumerView, ProducerView
from core.lab.views.cluster_view import ClusterView
from core.lab.views.partition_view import PartitionView, ReplicaView, TopicView
from core.sim.errors import ActRefused
from core.sim.units import US_PER_MS

TICK = 50 * US_PER_MS


class Journal:
    def __init__(self) -> None:
        self.seq = 0


class FakeCluster:
    def __init__(self, spec: ClusterSpec, release: Release = CURRENT, seed: int = 0, sink: Callable[[tuple], None] | None = None) -> None:
        self.spec, self.release, self.seed, self.sink = spec, release, seed, sink or (lambda event: None)
        self.now = 0
        self.journal = Journal()
        self.settings = Settings(release)
        self.brokers = {b.id: BrokerState.RUNNING if b.up else BrokerState.STOPPED for b in spec.brokers}
        self.ids = list(self.brokers)
        self.parts: dict[TopicPartition, dict] = {}
        for topic in spec.topics:
            for n in range(topic.partitions):
                rf = min(topic.replication_factor, len(self.ids))
                replicas = tuple(self.ids[(n + i) % len(self.ids)] for i in range(rf))
                self.parts[TopicPartition(topic.name, n)] = {
                    "replicas": replicas, "isr": list(replicas), "leader": replicas[0], "epoch": 0, "pe": 0, "hw": 0, "leo": dict.fromkeys(replicas, 0), "hws": dict.fromkeys(replicas, 0),
                }  # fmt: skip
        self.cuts: set[tuple[str, str]] = set()
        self.loads: dict[str, acts.Load] = {}
        self.consumers: list[acts.Consume] = []
        self.down_since: dict[int, int] = {}
        self.unclean = 0
        self.done: list[acts.Act] = []

    def emit(self, kind: str, *columns: object, cause: int = 0) -> int:
        self.journal.seq += 1
        self.sink((self.journal.seq, self.now, cause, kind, *columns))
        return self.journal.seq

    def do(self, act: acts.Act) -> int:
        match act:
            case acts.Kill(broker=b) | acts.Shutdown(broker=b):
                if self.brokers[b] is BrokerState.STOPPED:
                    raise ActRefused(f"b{b} is already stopped")
            case acts.Start(broker=b):
                if self.brokers[b] is not BrokerState.STOPPED:
                    raise ActRefused(f"b{b} is already running")
        fields = {k: v for k, v in attrs.asdict(act).items() if v is not None}
        cause = self.emit("act", act.word, json.dumps(fields))
        self.done.append(act)
        match act:
            case acts.Kill(broker=b):
                self.brokers[b] = BrokerState.STOPPED
                self.down_since[b] = self.now
                self.emit("broker-stopped", b, "killed", cause=cause)
            case acts.Shutdown(broker=b):
                self.brokers[b] = BrokerState.STOPPED
                self.emit("broker-stopped", b, "shutdown", cause=cause)
                self.fence(b, cause)
            case acts.Start(broker=b):
                self.brokers[b] = BrokerState.RUNNING
                self.down_since.pop(b, None)
                self.emit("broker-started", b, False, 1_500_000, cause=cause)
                for tp, p in self.parts.items():
                    if b in p["leo"] and b not in p["isr"]:
                        p["isr"].append(b)
                        self.emit("isr-expanded", p["leader"], *tp, tuple(p["isr"]), (b,), p["pe"], cause=cause)
                    if b in p["leo"] and p["leader"] == NO_LEADER:
                        p["leader"] = b
            case acts.Pause(broker=b):
                self.brokers[b] = BrokerState.PAUSED
                self.emit("broker-paused", b, cause=cause)
            case acts.Resume(broker=b):
                self.brokers[b] = BrokerState.RUNNING
                self.emit("broker-resumed", b, 1_000_000, cause=cause)
            case acts.Cut(between=(one, two)):
                for pair in ((one, two), (two, one)):
                    self.cuts.add(pair)
                    self.emit("link-cut", *pair, cause=cause)
            case acts.Isolate(node=node):
                for other in [*(f"b{i}" for i in self.ids), "controller"]:
                    if other != node:
                        self.cuts |= {(node, other), (other, node)}
            case acts.Heal(between=pair):
                gone = set(self.cuts) if pair is None else {tuple(pair), (pair[1], pair[0])}
                for src, dst in sorted(gone & self.cuts):
                    self.emit("link-healed", src, dst, cause=cause)
                self.cuts -= gone
            case acts.Set(name=name, value=value, topic=topic, broker=broker):
                old, new = self.settings.set(name, value, topic=topic, broker=broker)
                self.emit("setting-changed", name, topic or "", str(old).lower(), str(new).lower(), cause=cause)
            case acts.Load():
                self.loads[act.producer] = act
            case acts.StopLoad(producer=name):
                self.loads.pop(name, None)
            case acts.Acks(acks=value, producer=name):
                self.loads[name] = attrs.evolve(self.loads[name], acks=value)
            case acts.Consume():
                self.consumers.append(act)
            case acts.Produce(topic=topic, records=records, partition=number):
                for tp, p in self.parts.items():
                    if tp.topic == topic and (number is None or tp.partition == number) and p["leader"] >= 0:
                        old = p["leo"][p["leader"]]
                        p["leo"][p["leader"]] += records
                        self.emit("append", p["leader"], *tp, p["epoch"], old, old + records, 100 * records, act.producer, -1, cause=cause)
                        break
        return cause

    def fence(self, b: int, cause: int) -> None:
        fenced = self.emit("broker-fenced", b, 9_100_000, 9_000_000, cause=cause)
        for tp, p in self.parts.items():
            if b in p["isr"] and len(p["isr"]) > 1:
                p["isr"].remove(b)
                p["pe"] += 1
            if p["leader"] == b:
                live = [r for r in p["isr"] if r != b]
                p["epoch"] += 1
                p["leader"] = live[0] if live else NO_LEADER
                if live:
                    self.emit("leader-elected", *tp, live[0], b, p["epoch"], tuple(p["isr"]), "clean", f"b{b} was fenced", cause=fenced)
                else:
                    self.emit("partition-offline", *tp, b, p["epoch"], tuple(p["isr"]), f"b{b} was fenced", cause=fenced)

    def next_time(self) -> int | None:
        return self.now // TICK * TICK + TICK

    def step(self) -> bool:
        self.now = self.next_time() or 0
        for b, since in list(self.down_since.items()):
            if self.now - since >= 9_000_000:
                del self.down_since[b]
                self.fence(b, 0)
        for n, (tp, p) in enumerate(self.parts.items()):
            leader = p["leader"]
            if leader < 0 or self.brokers[leader] is not BrokerState.RUNNING:
                continue
            for load in self.loads.values():
                if load.topic == tp.topic:
                    old = p["leo"][leader]
                    new = old + max(1, load.rate * TICK // 1_000_000 // 6)
                    p["leo"][leader] = new
                    self.emit("append", leader, *tp, p["epoch"], old, new, 100, load.producer, -1)
            for r in p["replicas"]:
                if r != leader and self.brokers[r] is BrokerState.RUNNING and (f"b{r}", f"b{leader}") not in self.cuts:
                    lag = (n * 3 + r * 2 + self.now // TICK) % 6
                    p["leo"][r] = max(p["leo"][r], p["leo"][leader] - lag)
                    p["hws"][r] = min(p["hw"], p["leo"][r])
            p["hw"] = max(p["hw"], min(p["leo"][r] for r in p["isr"]))
            p["hws"][leader] = p["hw"]
        return True

    def run_until(self, time_us: int) -> None:
        while (self.next_time() or 0) <= time_us:
            self.step()
        self.now = time_us

    def partition_view(self, tp: TopicPartition) -> PartitionView:
        p = self.parts[tp]
        leader, isr = p["leader"], tuple(p["isr"])
        least = min(self.settings.integer("min.insync.replicas", topic=tp.topic), len(p["replicas"]))
        replica_views = tuple(
            ReplicaView(
                broker=r, role="offline" if self.brokers[r] is BrokerState.STOPPED else ("leader" if r == leader else "follower"),
                leo=p["leo"][r], hw=p["hws"][r], log_start=0, in_isr=r in isr, alive=self.brokers[r] is not BrokerState.STOPPED,
                fetch_state="fetching", caught_up_us=0 if r in isr else 12_000_000, epochs=((0, 0),), believes_leader=leader, believes_epoch=p["epoch"],
            )
            for r in p["replicas"]
        )  # fmt: skip
        if leader < 0:
            status = PartitionStatus.OFFLINE
        elif len(isr) < least:
            status = PartitionStatus.UNDER_MIN_ISR
        elif len(isr) < len(p["replicas"]):
            status = PartitionStatus.AT_MIN_ISR if len(isr) == least else PartitionStatus.UNDER_REPLICATED
        else:
            status = PartitionStatus.HEALTHY
        held = min(isr, key=lambda r: p["leo"][r])
        return PartitionView(
            tp=tp, leader=leader, leader_epoch=p["epoch"], partition_epoch=p["pe"], replicas=p["replicas"], isr=isr, elr=(), last_known_elr=(),
            adding=(), removing=(), recovering=False, min_isr=least, status=status, replica_views=replica_views, slowest_replicas=(held,), accepted=max(p["leo"].values()),
            acked=p["hw"], committed=p["hw"], lost=0, duplicated=0, diverged=0,
        )  # fmt: skip

    def view(self) -> ClusterView:
        parts = tuple(self.partition_view(tp) for tp in self.parts)
        brokers = tuple(
            BrokerView(
                id=b.id, rack=b.rack, state=self.brokers[b.id], fenced=self.brokers[b.id] is BrokerState.STOPPED and b.id not in self.down_since,
                broker_epoch=10 + b.id, leaders=sum(p.leader == b.id for p in parts), replicas=sum(b.id in p.replicas for p in parts),
                metadata_offset=100, silent_us=self.now - self.down_since.get(b.id, self.now),
            )
            for b in self.spec.brokers
        )  # fmt: skip
        producers = tuple(
            ProducerView(name=n, topic=load.topic, acks=-1 if load.acks == "all" else int(load.acks), rate=load.rate, sent=1000, acked=990, failed=0, in_flight=10, retries=0, last_latency_us=4_200)
            for n, load in self.loads.items()
        )  # fmt: skip
        return ClusterView(
            now=self.now, seq=self.journal.seq, release=self.release.name, controller="controller", brokers=brokers,
            topics=tuple(TopicView(t.name, "", t.partitions, t.replication_factor, t.config) for t in self.spec.topics), partitions=parts, producers=producers,
            consumers=tuple(ConsumerView(c.consumer, c.topic, sum(p.committed for p in parts if p.tp.topic == c.topic), ()) for c in self.consumers),
            cut_links=tuple(sorted(self.cuts)), held_links=(), accepted=sum(p.accepted for p in parts), acked=sum(p.acked for p in parts), lost=0,
            duplicated=0, diverged=0, unclean_elections=self.unclean, isr_shrinks=0, isr_expands=0,
        )  # fmt: skip


def node(name: str) -> str:
    return node_address(name)

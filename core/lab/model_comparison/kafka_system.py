"""Kafka with the common workload. The system offers the acts, clients, and counts of the other models, and runs on the laboratory's own
cluster.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import ClassVar, Final

import attrs

from core.kafka.broker.broker_state import BrokerState
from core.kafka.ids import TopicPartition
from core.kafka.log.replica_log import ReplicaLog
from core.kafka.messages import FetchResponse
from core.kafka.release import CURRENT, Release
from core.kafka.topic_spec import PartitionSpec, TopicSpec
from core.lab import acts as kafka_acts
from core.lab.cluster import Cluster
from core.lab.model_comparison.kafka_client import WorkloadClient
from core.lab.model_comparison.kafka_reads import READS, Replicas
from core.lab.spec import BrokerSpec, ClusterSpec, NetworkSpec, Pace
from core.models import acts
from core.models.account import Account
from core.models.client_messages import OVERHEAD, ROW_BYTES, Row
from core.models.report import Report, counts
from core.models.server import CopyView
from core.models.system import QUIET
from core.models.traffic import Traffic
from core.sim.errors import ActRefused
from core.sim.journal import Sink, null_sink
from core.sim.units import US_PER_MS

TP: Final = TopicPartition("t", 0)
"""The partition that the workload writes to."""


@attrs.frozen
class KafkaSettings:
    """The settings of Kafka in a comparison.

    Attributes:
        brokers: the number of brokers, each of which has a replica.
        acks: the value of acks for the writes: 0, 1, or -1 for all.
        min_isr: min.insync.replicas.
        unclean: unclean.leader.election.enable.
        latency: the latency of each link between brokers, in µs.
        by_hand: whether followers fetch only when an act tells them to.
    """

    brokers: int = 3
    acks: int = -1
    min_isr: int = 2
    unclean: bool = False
    latency: int = US_PER_MS
    by_hand: bool = False


class KafkaSystem:
    """A Kafka cluster with one partition. The brokers of the cluster are `b1`, `b2`, and so on; `n1` also means `b1`.

    Attributes:
        cluster: the simulated Kafka cluster.
        account: the clients' requests and how they ended.
        replicas: the answers of the replicas to reads.
        dead_for_good: the brokers whose machines are permanently lost.
        traffic: the traffic between brokers, and between brokers and the controller.
    """

    model: ClassVar[str] = "kafka"
    READS: ClassVar = READS

    def __init__(self, settings: KafkaSettings | None = None, seed: int = 0, sink: Sink = null_sink, release: Release = CURRENT) -> None:
        self.settings = settings = settings or KafkaSettings()
        brokers = tuple(BrokerSpec(number) for number in range(1, settings.brokers + 1))
        topic = TopicSpec(TP.topic, assignment=(PartitionSpec(tuple(broker.id for broker in brokers)),))
        given = (("min.insync.replicas", settings.min_isr), ("unclean.leader.election.enable", settings.unclean))
        pace = Pace.BY_HAND if settings.by_hand else Pace.TIMELINE
        spec = ClusterSpec(brokers, (topic,), given, NetworkSpec(settings.latency), pace=pace)
        self.cluster = Cluster(spec, release, seed, sink, elide=False)
        self.traffic = Traffic(tuple(self.cluster.nodes), wire_bytes)
        self.account = Account(self.cluster.journal)
        self.replicas = Replicas(self.cluster, TP)
        self.clients: dict[str, WorkloadClient] = {}
        self.servers = tuple(f"b{broker.id}" for broker in brokers)
        self.dead_for_good: set[str] = set()

    @property
    def now(self) -> int:
        """Virtual time, in µs."""
        return self.cluster.now

    def next_time(self) -> int | None:
        """Return the time of the next step, in µs; None if nothing is scheduled."""
        return self.cluster.next_time()

    def step(self) -> bool:
        """Handle the next scheduled event, and count the traffic. Return False if no event is scheduled."""
        entries = self.cluster.agenda.entries
        if entries:
            self.traffic.count(self.cluster, entries[0])
        return self.cluster.step()

    def run_until(self, time: int) -> None:
        """Run until a given time, in µs, and count the traffic. The run does not skip idle fetches, so that every message is counted
        (`core.sim.long_polling`).
        """
        cluster = self.cluster
        entries = cluster.agenda.entries
        while entries and entries[0].time <= time:
            self.step()
        cluster.run_until(time)

    def add_client(self, name: str, servers: tuple[str, ...] = (), *, confined: bool = False) -> WorkloadClient:
        """Add a client that needs no time to reach the brokers.

        Args:
            name: the name of the client.
            servers: the client's bootstrap servers; empty for all brokers.
            confined: whether the client can connect only to its bootstrap servers, and not to the other brokers that it learns of.
        """
        cluster, network = self.cluster, self.cluster.network
        brokers = tuple(broker_of(server) for server in servers or self.servers)
        reachable = brokers if confined else tuple(broker_of(server) for server in self.servers)
        client = WorkloadClient(
            name, TP, cluster.clients.context()._replace(brokers=brokers), reachable, self.account, self.settings.acks, self.replicas.serve
        )  # fmt: skip
        cluster.clients.add(client, by_hand=cluster.by_hand)
        self.clients[name] = client
        for server in self.servers:
            network.link((name, server)).latency = network.link((server, name)).latency = 0
        if self.settings.by_hand:
            client.leaders = list(cluster.controller.leaders(TP.topic))
        else:
            client.refresh_metadata()
        return client

    # --- acts ---------------------------------------------------------------------------------------------------------

    def do(self, act: acts.Act) -> None:
        """Translate an act that all models share into acts of the Kafka laboratory, and execute them.

        Raises:
            ActRefused: the act is impossible now or makes no sense in Kafka.
        """
        for each in self.translated(act):
            self.cluster.do(each)

    def translated(self, act: acts.Act) -> Iterable[kafka_acts.Act]:
        """Return the Kafka acts that correspond to an act of the other models.

        Raises:
            ActRefused: the act makes no sense in Kafka.
        """
        match act:
            case acts.Kill(server):
                return [kafka_acts.Kill(broker_of(server))]
            case acts.Shutdown(server):
                return [kafka_acts.Shutdown(broker_of(server))]
            case acts.Hold(a, b):
                return [kafka_acts.Hold((node_of(a), node_of(b)))]
            case acts.Release(a, b):
                return [kafka_acts.Release((node_of(a), node_of(b)))]
            case acts.Restart(server):
                return [kafka_acts.Start(broker_of(server))]
            case acts.Pause(server):
                return [kafka_acts.Pause(broker_of(server))]
            case acts.Resume(server):
                return [kafka_acts.Resume(broker_of(server))]
            case acts.PowerLoss(servers):
                return [kafka_acts.PowerLoss(broker_of(server), unflushed="lost") for server in servers]
            case acts.SlowLink(a, b, latency):
                return [kafka_acts.Link((node_of(a), node_of(b)), latency)]
            case acts.SlowDisk(server, delay):
                return [kafka_acts.SlowDisk(broker_of(server), delay)]
            case acts.Cut(a, b):
                return [kafka_acts.Cut((node_of(a), node_of(b)))]
            case acts.Heal(a, b):
                return [kafka_acts.Heal((node_of(a), node_of(b)))]
            case acts.HealAll():
                return [kafka_acts.Heal()] if any(link.cut for link in self.cluster.network.links.values()) else []
            case acts.Isolate(server, clients):
                inside = [node_of(server), *clients]
                outside = [name for name in self.cluster.nodes if name not in inside]
                pairs = [(a, b) for a in inside for b in outside if a not in clients or b not in self.clients]
                return [kafka_acts.Cut(pair) for pair in pairs]
            case acts.Promote(_, accept_data_loss):
                if not accept_data_loss:
                    raise ActRefused(
                        "Kafka's controller elects the leader from the ISR; only an unclean election can elect a replica outside "
                        "the ISR; to allow an unclean election, set accept_data_loss"
                    )
                return [kafka_acts.Elect("unclean", TP)]
            case _:
                raise ActRefused(f"Kafka has no act '{act.word}'")

    # --- the end of a run ---------------------------------------------------------------------------------------------

    def repair(self) -> None:
        """End all faults."""
        self.do(acts.HealAll())
        for a, b in [direction for direction, link in self.cluster.network.links.items() if link.held]:
            self.cluster.do(kafka_acts.Release((a, b)))
        for node in list(self.cluster.paused):
            self.do(acts.Resume(node))
        for server in self.servers:
            if not self.cluster.network.alive[server] and server not in self.dead_for_good:
                if self.cluster.brokers[broker_of(server)].context.state is BrokerState.STOPPED:  # others are starting already
                    self.do(acts.Restart(server))
            else:
                self.do(acts.SlowDisk(server, 0))
        for a, b in [pair for pair in self.cluster.network.links if pair[0] in self.servers and pair[1] in self.servers]:
            self.do(acts.SlowLink(a, b, self.settings.latency))

    def stop_load(self) -> None:
        """Stop all loops of all clients. Requests that have already been sent continue."""
        for client in self.clients.values():
            client.stop()

    def settle(self, quiet: int = QUIET) -> Report:
        """End all faults and the load, wait until nothing more changes, and return the counts."""
        self.repair()
        self.stop_load()
        self.run_until(self.now + quiet)
        return self.report()

    def authority(self) -> str:
        """Return the leader; empty if there is none."""
        leader = self.cluster.controller.registry.partitions[TP].leader
        return f"b{leader}" if leader > 0 and self.cluster.network.alive[f"b{leader}"] else ""

    def rows(self, server: str) -> dict[object, Row]:
        """Return the rows of a copy by offset: at a follower, the rows below its high watermark; at the leader, the rows below its log end."""
        log = self._log(server)
        end = log.leo if server == self.authority() else log.high_watermark
        return dict(self.replicas.index.rows(log, end))

    def report(self) -> Report:
        """Return the counts, with the leader's log as the final state."""
        authority = self.authority()
        places = self.rows(authority) if authority else {}
        others = [self.rows(name) for name in self.servers if authority and name != authority and self.cluster.network.alive[name]]
        return counts(self.account, authority, list(places.values()), places, others, self.traffic.bytes)

    def electable(self) -> tuple[str, ...]:
        """Return the running brokers that the controller could elect now, other than the leader."""
        leader, alive = self.authority(), self.cluster.network.alive
        names = [f"b{broker}" for broker, log in self.cluster.exposure.electable(TP) if log is not None]
        return tuple(name for name in names if name != leader and alive[name])

    def holds(self, server: str, row: Row) -> bool:
        """Return whether a broker's log contains the given row."""
        return self.replicas.index.has(self._log(server), row)

    def copy_state(self, server: str) -> tuple[int, int]:
        """Return a number that changes if the copy's content is replaced, and the length of the copy."""
        return self.cluster.brokers[broker_of(server)].incarnation, self._log(server).leo

    def received_since(self, server: str, length: int) -> Iterable[Row]:
        """Return the rows that a broker has received since its log had a given length."""
        log = self._log(server)
        return [row for _, row in self.replicas.index.rows(log, log.leo, length)]

    def _log(self, server: str) -> ReplicaLog:
        return self.cluster.brokers[broker_of(server)].disk.logs[TP]

    # --- views --------------------------------------------------------------------------------------------------------

    def copies(self) -> tuple[CopyView, ...]:
        """Return a frozen view of each replica."""
        view = self.cluster.partition_view(TP)
        oks = self.account.oks
        found = []
        for server in self.servers:
            broker = broker_of(server)
            log = self._log(server)
            role = "leader" if broker == view.leader else "in sync" if broker in view.isr else "out of sync"
            held = [row.uid for _, row in self.replicas.index.rows(log, log.leo)]
            found.append(
                CopyView(
                    server, role, self.cluster.network.alive[server], view.leader_epoch, len(held), min(log.leo, log.recovery_point),
                    log.high_watermark, sum(uid in oks for uid in held),
                )
            )  # fmt: skip
        return tuple(found)


def wire_bytes(message: object) -> int:
    """Return the size of a message on the network, in bytes. As in the other models, the size is the sum of a fixed overhead and the size
    of the rows.
    """
    rows = sum(each.end - each.start for part in message.parts() for each in part.records) if type(message) is FetchResponse else 0
    return OVERHEAD + ROW_BYTES * rows


def broker_of(server: str) -> int:
    """Return the ID of a broker that is named `b1` or, as in the other models, `n1`."""
    return int(server[1:])


def node_of(name: str) -> str:
    """Return the name that a node has in the cluster, for example `b1` for `n1`."""
    return f"b{name[1:]}" if name[:1] == "n" and name[1:].isdecimal() else name

"""The control plane of a ZooKeeper cluster: ZooKeeper, its contents, and the tools that write to it.

There is no controller node, because one of the brokers is the controller. Screens show the contents of ZooKeeper.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import attrs

from core.kafka import errors, events
from core.kafka.admin_requests import ElectionMode
from core.kafka.controller.metadata_log import BrokerRegistration, MetadataLog
from core.kafka.controller.placement import UsableBroker, assign_replicas_to_brokers
from core.kafka.controller.topic_registry import TopicRegistry
from core.kafka.durability_observer import DurabilityObserver
from core.kafka.ids import NO_LEADER, TopicPartition, broker_address, broker_at
from core.kafka.last_changes import EXPIRED
from core.kafka.partition_registration import PartitionRegistration
from core.kafka.settings.registry import SETTINGS
from core.kafka.settings.settings import Settings
from core.kafka.topic_spec import TopicSpec
from core.kafka.zookeeper_mode.controller.reassignments import reassign_to
from core.kafka.zookeeper_server import paths
from core.kafka.zookeeper_server.paths import ConfigChange, PartitionState, ReplicaAssignment, deletion_path, state_path, topic_path
from core.kafka.zookeeper_server.protocol import OK, Create, GetChildren, GetData, SetData
from core.kafka.zookeeper_server.server import ZooKeeper
from core.sim.journal import Journal
from core.sim.network import Network
from core.sim.random_stream import RandomStream

if TYPE_CHECKING:
    from core.kafka.zookeeper_mode.broker import ZooKeeperBroker


class ZooKeeperReplication(TopicRegistry):
    """The partitions and topics in ZooKeeper, and the administrator's tools that request changes (Kafka: `TopicCommand` and others).

    Attributes:
        zookeeper: the ZooKeeper node.
        nodes: the broker processes by id.
        booting: whether the cluster is being built.
        topic_configs: the settings of topics that a broker is creating, by topic.
    """

    zookeeper: ZooKeeper
    nodes: dict[int, ZooKeeperBroker]
    booting = True

    def attach(self, zookeeper: ZooKeeper, nodes: dict[int, ZooKeeperBroker], seed: int) -> None:
        """Connect to ZooKeeper and to the broker processes, which provide the state that ZooKeeper does not contain."""
        self.zookeeper = zookeeper
        self.nodes = nodes
        self._placement = RandomStream(f"{seed}:placement")
        self.topic_configs: dict[str, tuple[tuple[str, str], ...]] = {}

    def create_topic(self, spec: TopicSpec) -> None:
        """Write a new topic's assignment to ZooKeeper, so that the controller elects leaders for the topic's partitions.

        Raises:
            KafkaError: Kafka refuses the topic.
            ValueError: a setting of the topic is wrong.
        """
        super().create_topic(spec)
        if not self.booting:
            for name, value in spec.config:
                if name in SETTINGS:
                    self.write_config_change(ConfigChange(name, value, spec.name, None))
        tps = self.topics[spec.name].partitions
        self.zookeeper.apply(Create(topic_path(spec.name), tuple(ReplicaAssignment(self.partitions[tp].replicas) for tp in tps)))

    def delete_topic(self, name: str) -> None:
        """Request the deletion of a topic in ZooKeeper, so that the controller deletes the topic (`TopicCommand`,
        `AdminManager#deleteTopics`)."""
        for tp in self.topics[name].partitions:
            self.account.partition_deleted(tp)
        self.zookeeper.apply(Create(deletion_path(name)))

    def check_deletion(self, name: str) -> None:
        """Check a request to delete a topic.

        Raises:
            KafkaError: Kafka refuses the request, or a reassignment of the topic is running.
        """
        super().check_deletion(name)
        for tp in self.topics[name].partitions:
            if self.partitions[tp].adding or self.partitions[tp].removing:
                raise errors.KafkaError(
                    errors.INVALID_REQUEST,
                    f"{tp} is being reassigned. With ZooKeeper, Kafka deletes its topic when the reassignment is complete; request the deletion then.",
                )

    def topic_removed(self, name: str) -> int:
        """Record that the controller has deleted a topic, and return the sequence number of the event that records the deletion."""
        topic = self.topics[name]
        event = self.journal.emit(events.TopicDeleted.kind, name, topic.topic_id, len(topic.partitions))
        self.forget_topic(name)
        return event

    def write_config_change(self, change: ConfigChange) -> None:
        """Write a changed setting to ZooKeeper, from which the brokers read it."""
        self.zookeeper.apply(Create(f"{paths.CONFIG_CHANGES}/config_change_", change, sequential=True))

    def _place_replicas(self, spec: TopicSpec) -> list[PartitionRegistration]:
        usable = [UsableBroker(b, self.racks.get(b)) for b in sorted(self.brokers) if self.is_active(b)]
        placed = assign_replicas_to_brokers(usable, spec.partitions, spec.replication_factor, self._placement)
        return [self._build_partition_registration(replicas) for replicas in placed]

    def place_additional_partitions(self, name: str, count: int, factor: int) -> list[PartitionRegistration]:
        """Place more partitions of a topic, starting from the leader of its first partition (`AdminUtils#addPartitions`)."""
        usable = [UsableBroker(b, self.racks.get(b)) for b in sorted(self.brokers) if self.is_active(b)]
        first = self.partitions[self.topics[name].partitions[0]].replicas[0]
        start = max(0, next((index for index, broker in enumerate(usable) if broker.broker >= first), -1))
        existing = len(self.topics[name].partitions)
        placed = assign_replicas_to_brokers(usable, count, factor, self._placement, fixed_start_index=start, start_partition=existing)
        return [self._build_partition_registration(replicas) for replicas in placed]

    def partitions_created(self, name: str) -> None:
        """Add the new partitions to the topic's znode, from which the controller reads them."""
        data = tuple(
            ReplicaAssignment(state.replicas, state.adding, state.removing)
            for state in (self.partitions[tp] for tp in self.topics[name].partitions)
        )
        self.zookeeper.apply(SetData(topic_path(name), data))

    def _build_partition_registration(self, replicas: tuple[int, ...]) -> PartitionRegistration:
        """Return a new partition. If the partition is created while the simulation is running, it has no leader until the controller elects
        one."""
        if self.booting:
            return super()._build_partition_registration(replicas)
        return PartitionRegistration(replicas, (), NO_LEADER, -1, -1)

    def has_online_dir(self, broker: int, tp: TopicPartition) -> bool:
        """Return whether the log directory of a replica works."""
        node = self.nodes.get(broker)
        return node is None or tp not in node.disk.offline

    def _can_lead(self, broker: int, tp: TopicPartition) -> bool:
        return self.is_active(broker) and self.has_online_dir(broker, tp)

    def state_written(self, tp: TopicPartition, state: PartitionState, version: int) -> int:
        """Record a write to a partition's state znode. Return the sequence number of the event that records the write."""
        old = self.partitions[tp]
        new = attrs.evolve(old, isr=state.isr, leader=state.leader, leader_epoch=state.leader_epoch, partition_epoch=version)
        journal = self.journal
        before = journal.cause
        last_change = self.zookeeper.network.disturbances.last_change
        if old.leader not in (NO_LEADER, new.leader) and not self.is_active(old.leader):
            # The controller handles the deaths of several brokers at once. The death of the leader changes the leader.
            expired = last_change((EXPIRED, broker_address(old.leader)))
            journal.blame(tuple(dict.fromkeys(cause for cause in (expired, before) if cause)))
        if state.election:
            journal.cause = journal.emit(
                events.LeaderElected.kind, tp.topic, tp.partition, new.leader, old.leader, new.leader_epoch, new.isr, state.election, state.reason
            )  # fmt: skip
            self.account.leader_elected(state.election)
        elif new.leader == NO_LEADER and old.leader != NO_LEADER and not any(self._can_lead(member, tp) for member in new.isr):
            journal.cause = journal.emit(
                events.PartitionOffline.kind, tp.topic, tp.partition, old.leader, new.leader_epoch, new.isr, state.reason
            )
        self.commit_registration(tp, old, new, state.reason)
        cause = journal.cause if journal.cause != before else journal.seq
        journal.cause = before
        self.zookeeper.network.disturbances.changed(tp, cause)
        self.zookeeper.network.disturbances.changed((tp, new.leader, new.leader_epoch), cause)
        return cause

    def assignment_written(self, topic: str, assignments: tuple[ReplicaAssignment, ...]) -> None:
        """Record a write to a topic's znode, which might create the topic or change the replicas of partitions."""
        if topic not in self.topics:
            spec = TopicSpec(topic, len(assignments), len(assignments[0].replicas), config=self.topic_configs.pop(topic, ()))
            self.register_topic(spec, [self._build_partition_registration(each.replicas) for each in assignments])
            return
        for number, (replicas, adding, removing) in enumerate(assignments):
            tp = TopicPartition(topic, number)
            old = self.partitions.get(tp)
            if old is not None and (old.replicas, old.adding, old.removing) != (replicas, adding, removing):
                self.commit_registration(tp, old, attrs.evolve(old, replicas=replicas, adding=adding, removing=removing), "reassignment")

    # --- what tools ask for ----------------------------------------------------------------------------------------

    def _needs_no_preferred_election(self, partition: PartitionRegistration) -> bool:
        release = self.release
        leads = partition.has_preferred_leader and not release.elects_preferred_again
        return leads and not (release.preferred_leader_is_online and self.brokers[partition.leader].fenced)

    def elect_leaders(self, tp: TopicPartition | None, election: ElectionMode) -> list[tuple[TopicPartition, str]]:
        """Request elections in ZooKeeper. Return an error code for each partition.

        If an election is not necessary, the request is refused immediately, unless the release elects preferred leaders again. Events report the results of the elections that are not
        refused.
        """
        wanted = []
        answers = []
        preferred = election is ElectionMode.PREFERRED
        for each in [tp] if tp is not None else list(self.partitions):
            current = self.partitions.get(each)
            if current is None:
                answers.append((each, errors.UNKNOWN_TOPIC_OR_PARTITION))
            elif self._needs_no_preferred_election(current) if preferred else current.has_leader:
                if tp is not None:
                    self.journal.emit(
                        events.ElectionRefused.kind,
                        each.topic, each.partition, "preferred" if preferred else "unclean", errors.ELECTION_NOT_NEEDED,
                    )  # fmt: skip
                    answers.append((each, errors.ELECTION_NOT_NEEDED))
            else:
                wanted.append((each, election.name))
                answers.append((each, errors.NONE))
        if wanted:
            self._add_to(paths.PREFERRED_ELECTION, tuple(wanted))
        return answers

    def check_reassignment(self, tp: TopicPartition, replicas: tuple[int, ...] | None) -> None:
        """Check a request to move a partition, or to cancel its reassignment if `replicas` is None (`KafkaController#validateReplicas`).

        Raises:
            KafkaError: Kafka refuses the request.
        """
        now = self.partitions.get(tp)
        if now is None:
            raise errors.KafkaError(errors.UNKNOWN_TOPIC_OR_PARTITION, "The partition does not exist.")
        if replicas is None:
            if not (now.adding or now.removing):
                raise errors.KafkaError(errors.NO_REASSIGNMENT_IN_PROGRESS, errors.NO_REASSIGNMENT)
            return
        wrong = ""
        if not replicas:
            wrong = "Empty replica list specified in partition reassignment."
        elif len(set(replicas)) != len(replicas):
            wrong = f"Duplicate replica ids in partition reassignment replica list: {list(replicas)}"
        elif self.release.alters_reassignments:
            adding = reassign_to(tuple(replica for replica in now.replicas if replica not in now.adding), replicas).adding
            live = [broker for broker, registration in self.brokers.items() if not registration.fenced]
            if not set(adding) <= set(live):
                wrong = f"Replica assignment has brokers that are not alive. Replica list: {list(adding)}, live broker list: {sorted(live)}"
        if wrong:
            raise errors.KafkaError(errors.INVALID_REPLICA_ASSIGNMENT, wrong)

    def reassign(self, tp: TopicPartition, replicas: tuple[int, ...]) -> bool:
        """Request a reassignment in ZooKeeper."""
        self._add_to(paths.REASSIGNMENT, ((tp, replicas),))
        return True

    def cancel_reassignment(self, tp: TopicPartition) -> bool:
        """Request the cancellation of a running reassignment in ZooKeeper."""
        self._add_to(paths.REASSIGNMENT, ((tp, None),))
        return True

    def _add_to(self, path: str, entries: tuple[object, ...]) -> None:
        there = self.zookeeper.apply(GetData(path))
        if there.error == OK:
            self.zookeeper.apply(SetData(path, there.data + entries))
        else:
            self.zookeeper.apply(Create(path, entries))


class ZooKeeperControlPlane:
    """ZooKeeper and its contents. One of the brokers is the controller.

    Attributes:
        settings: the current settings, which the administrator's tools use.
        journal: the event journal.
        brokers: the brokers by id; a broker that has no znode counts as fenced.
        nodes: the broker processes by id.
        replication: the partitions and topics.
        zookeeper: the ZooKeeper node.
    """

    def __init__(
        self, settings: Settings, network: Network, journal: Journal, account: DurabilityObserver, racks: dict[int, str | None], *,
        seed: int, by_hand: bool,
    ) -> None:  # fmt: skip
        self.settings = settings
        self.journal = journal
        self.brokers: dict[int, BrokerRegistration] = {}
        self.nodes: dict[int, ZooKeeperBroker] = {}
        self.replication = ZooKeeperReplication(settings, MetadataLog(), journal, account, self.brokers, racks, seed)
        self.zookeeper = ZooKeeper(network, journal, by_hand=by_hand, observer=self._written)
        self.replication.attach(self.zookeeper, self.nodes, seed)

    @property
    def last_contact(self) -> dict[int, int]:
        """For each broker that has a session, the time, in µs, at which ZooKeeper last received a request from that broker."""
        return {int(session.address[1:]): session.last_heard for session in self.zookeeper.sessions.values()}

    @property
    def active(self) -> str:
        """The address of the broker in /controller; '' if there is none."""
        found = self.zookeeper.apply(GetData(paths.CONTROLLER_PATH))
        return broker_address(found.data) if found.error == OK else ""

    @property
    def controller_epoch(self) -> int:
        """The number of controllers that have been elected so far."""
        epoch: int = self.zookeeper.apply(GetData(paths.CONTROLLER_EPOCH)).data
        return epoch

    @property
    def active_count(self) -> int:
        """The number of brokers that consider themselves the controller, which is the sum of ActiveControllerCount over all brokers."""
        return sum(1 for broker in self.nodes.values() if broker.kafka_controller.active)

    def publish(self) -> None:
        """Do nothing, because the controller itself sends metadata to the brokers."""

    def leaders(self, topic: str) -> tuple[tuple[int, int], ...]:
        """Return (leader, leader epoch) for each partition of a topic."""
        known = self.replication.topics.get(topic)
        states = [] if known is None else [self.replication.partitions[tp] for tp in known.partitions]
        return tuple((state.leader, state.leader_epoch) for state in states)

    # --- what is written -------------------------------------------------------------------------------------------

    def _written(self, path: str, data: object, version: int, created: int) -> int:
        if path == paths.CONTROLLER_PATH and isinstance(data, int):
            self.replication.controller_node = data
        if self.replication.booting:
            return 0
        if path.startswith(paths.BROKER_IDS):
            return self._broker_written(int(path.rpartition("/")[2]), there=version >= 0, epoch=created)
        tp = paths.partition_of(path)
        if tp is not None:
            return self.replication.state_written(tp, data, version) if isinstance(data, PartitionState) else 0
        if version < 0 and path.startswith(f"{paths.TOPICS}/"):
            return self.replication.topic_removed(path.rpartition("/")[2])
        if path.startswith(f"{paths.TOPIC_CONFIGS}/") and isinstance(data, tuple):
            self.replication.topic_configs[path.rpartition("/")[2]] = data
        if path.startswith(f"{paths.TOPICS}/") and isinstance(data, tuple):
            self.replication.assignment_written(path.rpartition("/")[2], data)
        return 0

    def _broker_written(self, broker: int, *, there: bool, epoch: int) -> int:
        self.brokers[broker] = BrokerRegistration(broker, epoch, 0, fenced=not there)
        kind = events.BrokerJoined.kind if there else events.BrokerLeft.kind
        event = self.journal.emit(kind, broker, epoch)
        self.replication.account.electable_brokers_changed()
        return event

    # --- the start -------------------------------------------------------------------------------------------------

    def boot_broker(self, broker: int, *, up: bool) -> None:
        """Register a broker at the start of the simulation, whether it is running or not."""
        epoch = -1
        if up:
            session = self.zookeeper.open_session(broker_address(broker), self.settings.us("zookeeper.session.timeout.ms", broker=broker))
            epoch = self.zookeeper.apply(Create(paths.broker_path(broker), ephemeral=True), self.zookeeper.sessions[session]).created
        self.brokers[broker] = BrokerRegistration(broker, epoch, 0, fenced=not up)

    def boot(self, controller: str) -> None:
        """Write the states of the initial partitions, make one broker the controller, and give each broker its roles.

        Raises:
            ValueError: `controller` names a broker that is not running.
        """
        zookeeper, states = self.zookeeper, self.replication.partitions
        for tp, state in states.items():
            zookeeper.apply(Create(state_path(tp), PartitionState(state.leader, state.leader_epoch, state.isr, 1, "created")))
        self.replication.booting = False
        up = [broker for broker, registration in self.brokers.items() if not registration.fenced]
        first = broker_at(controller) if controller else up[0] if up else None
        if controller and first not in up:
            raise ValueError(f"controller {controller} cannot be active; the running brokers are {', '.join(map(broker_address, up))}")
        items = tuple(states.items())
        zookeeper.apply(Create(paths.CONTROLLER_EPOCH, 1 if up else 0))
        for broker in up:
            node = self.nodes[broker]
            session = zookeeper.session_of(node.address)
            assert session is not None
            zookeeper.apply(GetChildren(paths.CONFIG_CHANGES, watch=True), session)
            node.boot_with(session.number, self.brokers[broker].epoch)
            node.channel.epoch = 1
            assert first is not None
            node.channel.controller = broker_address(first)
            node.update_metadata_cache(tuple(up), items)
            mine = tuple((tp, state, 0) for tp, state in states.items() if broker in state.replicas)
            node.replicas.become_leader_or_follower(mine, tuple(up))
            node.replicas.announce_roles()
            if broker == first:
                zookeeper.apply(Create(paths.CONTROLLER_PATH, broker, ephemeral=True), session)
                assignments = {tp: ReplicaAssignment(state.replicas) for tp, state in states.items()}
                for op in node.kafka_controller.watches(self.replication.topics):
                    zookeeper.apply(op, session)
                node.kafka_controller.boot(1, {each: self.brokers[each].epoch for each in up}, assignments, dict(states))
            else:
                node.kafka_controller.elect()

    # --- what people do --------------------------------------------------------------------------------------------

    def fence(self, broker: int, *, by_session: bool) -> None:
        """Expire a broker's session now."""
        session = self.zookeeper.session_of(broker_address(broker))
        if session is not None:
            self.zookeeper.expire(session.number)

    def broker_bounced(self, broker: int) -> None:
        """Make the controller send roles to a broker whose process restarted in by-hand mode without losing its session."""
        for node in self.nodes.values():
            if node.kafka_controller.active:
                node.kafka_controller.broker_changes.send_roles(broker)

    def config_changed(self, name: str, value: str, topic: str | None, broker: int | None) -> None:
        """Publish a changed setting to the brokers through /config/changes."""
        self.replication.write_config_change(ConfigChange(name, value, topic, broker))

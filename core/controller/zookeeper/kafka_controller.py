"""The controller of ZooKeeper clusters: one of the brokers, elected by making /controller (Kafka: `KafkaController`).

It handles one event after the other, as Kafka's `ControllerEventManager`: an event that reads and writes ZooKeeper goes on
when the answer is there, and only then the next begins. What it decides it writes to ZooKeeper first, on condition that it
is still the controller and that nobody else has changed the partition, and then tells the brokers.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any, Final

from core import errors
from core.controller.partition_change import ElectionMode
from core.controller.reassignment import PartitionReassignmentReplicas
from core.controller.registration import PartitionRegistration
from core.controller.zookeeper.elections import (
    Elected,
    controlled_shutdown_partition_leader_election,
    imbalance_ratio,
    offline_partition_leader_election,
    preferred_replica_partition_leader_election,
    reassign_partition_leader_election,
)
from core.controller.zookeeper.requests import (
    ControlledShutdownRequest,
    ControlledShutdownResponse,
    LeaderAndIsrRequest,
    StopReplicaRequest,
    UpdateMetadataRequest,
)
from core.ids import NO_LEADER, TopicPartition, broker_address
from core.journal import events
from core.messages import AlterPartitionItem, AlterPartitionRequest, AlterPartitionResponse
from core.units import SECOND
from core.zookeeper import paths
from core.zookeeper.paths import ConfigChange, PartitionState, ReplicaAssignment, state_path, topic_path
from core.zookeeper.protocol import OK, Create, Delete, GetChildren, GetData, Multi, Op, Result, SetData

if TYPE_CHECKING:
    from core.broker.zookeeper_broker import ZooKeeperBroker

FIRST_BALANCE: Final = 5 * SECOND
"""µs from a controller's election to its first look for leaders that are not the preferred ones."""

Decide = Callable[[TopicPartition, PartitionRegistration], "tuple[int, tuple[int, ...], str] | None"]
"""A partition's new (leader, ISR, kind of election), or None if it stays as it is."""

Then = Callable[..., None]
"""How an event goes on."""


class KafkaController:
    """A broker's controller, active or not.

    Attributes:
        active: it believes to be the controller.
        epoch: the controller epoch it was elected in.
        live: the brokers that have a znode, with the zxid that made it.
        shutting_down: those that asked to shut down (ordered set).
        assignments, states: what it knows of the partitions.
    """

    def __init__(self, broker: ZooKeeperBroker) -> None:
        self.broker = broker
        self.journal = broker.journal
        self.active = False
        self.epoch = 0
        self.live: dict[int, int] = {}
        self.shutting_down: dict[int, None] = {}
        self.assignments: dict[TopicPartition, ReplicaAssignment] = {}
        self.states: dict[TopicPartition, PartitionRegistration] = {}
        self._epoch_version = 0
        self._events: deque[tuple[int, Then, tuple[Any, ...]]] = deque()
        self._busy = False
        self._running = False
        self._term = 0
        broker.handlers |= {AlterPartitionRequest: self._alter_partition_asked, ControlledShutdownRequest: self._shutdown_asked}
        broker.timers |= {"auto-leader-rebalance": self._balance_due}

    # --- the event queue -------------------------------------------------------------------------------------------

    def _put(self, handler: Then, *about: Any) -> None:
        self._events.append((self.journal.cause, handler, about))
        self._run()

    def _run(self) -> None:
        if self._running:
            return
        self._running = True
        before = self.journal.cause
        while self._events and not self._busy and self.active:
            self._busy = True
            self.journal.cause, handler, about = self._events.popleft()
            handler(*about)
        self.journal.cause = before
        self._running = False

    def _done(self) -> None:
        """The event is handled."""
        self._busy = False
        self._run()

    def _ask(self, ops: Iterable[Op], then: Then, *about: Any) -> None:
        """Ask ZooKeeper; the answer counts only while this is the same controllership."""
        self.broker.zk.submit(tuple(ops), self._told, self._term, then, about)

    def _told(self, results: tuple[Result, ...], term: int, then: Then, about: tuple[Any, ...]) -> None:
        if term == self._term:
            then(results, *about)

    # --- election --------------------------------------------------------------------------------------------------

    def elect(self) -> None:
        """Try to become controller, and watch who is (`#elect`)."""
        self._ask((Create(paths.CONTROLLER_PATH, self.broker.id, ephemeral=True), GetData(paths.CONTROLLER_PATH, watch=True)), self._voted)

    def _voted(self, results: tuple[Result, ...]) -> None:
        winner = results[1].data
        self.broker.channel.controller = broker_address(winner)
        if winner == self.broker.id and not self.active:
            self._ask((GetData(paths.CONTROLLER_EPOCH),), self._epoch_read)
        elif winner != self.broker.id and self.active:
            self.resign(f"b{winner} is controller")

    def _epoch_read(self, results: tuple[Result, ...]) -> None:
        self.epoch = results[0].data + 1
        self._ask((SetData(paths.CONTROLLER_EPOCH, self.epoch, results[0].version),), self._failover)

    def _failover(self, results: tuple[Result, ...]) -> None:
        """This broker is the controller (`#onControllerFailover`): read everything, tell everybody, then elect where nobody leads."""
        if results[0].error != OK:
            self.elect()
            return
        self._epoch_version = results[0].version
        self.active = self._busy = True
        self.journal.cause = self.journal.emit(events.ControllerElected.kind, self.broker.address, self.epoch, 0, 0)
        self._ask(
            (
                GetChildren(paths.BROKER_IDS, watch=True),
                GetChildren(paths.TOPICS, watch=True),
                GetChildren(paths.ISR_CHANGES, watch=True),
                GetData(paths.PREFERRED_ELECTION, watch=True),
                GetData(paths.REASSIGNMENT, watch=True),
            ),
            self._names_read,
        )

    def _names_read(self, results: tuple[Result, ...]) -> None:
        brokers, topics = results[0].data, results[1].data
        ops = [GetData(f"{paths.BROKER_IDS}/{name}") for name in brokers] + [GetData(topic_path(name)) for name in topics]
        self._ask(ops, self._cluster_read, brokers, topics, bool(results[2].data), results[3].error == OK, results[4].error == OK)

    def _cluster_read(
        self, results: tuple[Result, ...], brokers: tuple[str, ...], topics: tuple[str, ...], isr: bool, election: bool, moves: bool
    ) -> None:
        for name, result in zip(brokers, results, strict=False):
            if result.error == OK:
                self.live[int(name)] = result.created
        for topic, result in zip(topics, results[len(brokers) :], strict=True):
            self._take_assignment(topic, result.data)
        if isr:
            self._events.append((self.journal.cause, self._isr_changes, ()))
        if election:
            self._events.append((self.journal.cause, self._elections, ()))
        if moves:
            self._events.append((self.journal.cause, self._moves, ()))
        tps = list(self.assignments)
        self._ask((GetData(state_path(tp)) for tp in tps), self._loaded, tps)

    def _take_assignment(self, topic: str, data: tuple[ReplicaAssignment, ...]) -> None:
        for number, assignment in enumerate(data):
            self.assignments[TopicPartition(topic, number)] = assignment

    def _loaded(self, results: tuple[Result, ...], tps: list[TopicPartition]) -> None:
        self._take_states(results, tps)
        self._update_metadata(tps)
        self._leader_and_isr(list(self.states), dict(self.live))
        dead = {replica: None for assignment in self.assignments.values() for replica in assignment.replicas if replica not in self.live}
        self._offline_replicas(dead, f"b{self.broker.id} is the new controller", self._bring_online, "new controller", self._settled)

    def _settled(self) -> None:
        self.broker.timer(FIRST_BALANCE, "auto-leader-rebalance", self._term)
        self._resume_moves(self._done, begin=set(self.live))

    def boot(self, epoch: int, live: dict[int, int], assignments: dict[TopicPartition, ReplicaAssignment],
             states: dict[TopicPartition, PartitionRegistration]) -> None:  # fmt: skip
        """Have been controller for long."""
        self.active = True
        self.epoch = epoch
        self.live, self.assignments, self.states = live, assignments, states
        if not self.broker.by_hand:
            self.broker.timer(self._balance_interval(), "auto-leader-rebalance", self._term)

    @staticmethod
    def watches() -> tuple[Op, ...]:
        """What a controller watches."""
        return (
            GetData(paths.CONTROLLER_PATH, watch=True),
            GetChildren(paths.BROKER_IDS, watch=True),
            GetChildren(paths.TOPICS, watch=True),
            GetChildren(paths.ISR_CHANGES, watch=True),
            GetData(paths.PREFERRED_ELECTION, watch=True),
            GetData(paths.REASSIGNMENT, watch=True),
        )

    def resign(self, reason: str) -> None:
        """Be controller no more (`#onControllerResignation`)."""
        if self.active:
            self.journal.emit(events.ControllerResigned.kind, self.broker.address, self.epoch, reason, 0)
        self.reset()

    def reset(self) -> None:
        """Forget everything a controller knows."""
        self.active = self._busy = False
        self._term += 1
        self._events.clear()
        self.live.clear()
        self.shutting_down.clear()
        self.assignments.clear()
        self.states.clear()

    def watch_fired(self, path: str) -> None:
        """Something under watch has changed."""
        if path == paths.CONTROLLER_PATH:
            self.elect()
        elif self.active:
            handler = {
                paths.BROKER_IDS: self._brokers_changed,
                paths.TOPICS: self._topics_changed,
                paths.ISR_CHANGES: self._isr_changes,
                paths.PREFERRED_ELECTION: self._elections,
                paths.REASSIGNMENT: self._moves,
            }.get(path)
            if handler is not None:
                self._put(handler)

    # --- what it tells the brokers ---------------------------------------------------------------------------------

    def _leader_and_isr(self, tps: Iterable[TopicPartition], to: Iterable[int], causes: dict[TopicPartition, int] | None = None) -> None:
        """LeaderAndIsr to those of `to` that have a replica (`ControllerBrokerRequestBatch#addLeaderAndIsrRequestForBrokers`)."""
        items: dict[int, list[tuple[TopicPartition, PartitionRegistration, int]]] = {broker: [] for broker in to}
        for tp in tps:
            state = self.states[tp]
            for replica in state.replicas:
                if replica in items:
                    items[replica].append((tp, state, 0 if causes is None else causes.get(tp, 0)))
        for broker, about in items.items():
            if about:
                self.broker.send(broker_address(broker), LeaderAndIsrRequest(self.broker.id, self.epoch, tuple(about), tuple(self.live)))

    def _update_metadata(self, tps: Iterable[TopicPartition], to: Iterable[int] | None = None) -> None:
        """UpdateMetadata to all live brokers, or to some."""
        items = tuple((tp, self.states[tp].leader, self.states[tp].leader_epoch) for tp in tps if tp in self.states)
        for broker in self.live if to is None else to:
            self.broker.send(broker_address(broker), UpdateMetadataRequest(self.broker.id, self.epoch, items, tuple(self.live)))

    def _stop_replicas(self, broker: int, tps: Iterable[TopicPartition], *, delete: bool) -> None:
        items = tuple((tp, delete, self.states[tp].leader_epoch) for tp in tps)
        if items and broker in self.live:
            self.broker.send(broker_address(broker), StopReplicaRequest(self.broker.id, self.epoch, items))

    # --- changing partitions ---------------------------------------------------------------------------------------

    def _registration(self, tp: TopicPartition, state: PartitionState, version: int) -> PartitionRegistration:
        replicas, adding, removing = self.assignments[tp]
        return PartitionRegistration(replicas, state.isr, state.leader, state.leader_epoch, version, adding=adding, removing=removing)

    def _take_states(self, results: tuple[Result, ...], tps: list[TopicPartition]) -> None:
        for tp, result in zip(tps, results, strict=True):
            if result.error == OK:
                self.states[tp] = self._registration(tp, result.data, result.version)

    def _change(self, tps: list[TopicPartition], decide: Decide, reason: str, then: Then, *about: Any) -> None:
        """Read the partitions' states, decide, write each with the next leader epoch, tell the brokers, go on (`#doElectLeaderForPartitions`)."""
        if not tps:
            then(*about)
            return
        self._ask((GetData(state_path(tp)) for tp in tps), self._states_read, tps, decide, reason, then, about)

    def _states_read(
        self, results: tuple[Result, ...], tps: list[TopicPartition], decide: Decide, reason: str, then: Then, about: tuple[Any, ...]
    ) -> None:
        self._take_states(results, tps)
        writes = []
        for tp, result in zip(tps, results, strict=True):
            if result.error != OK or result.data.controller_epoch > self.epoch:
                continue
            decided = decide(tp, self.states[tp])
            if decided is not None:
                leader, isr, election = decided
                state = PartitionState(leader, result.data.leader_epoch + 1, isr, self.epoch, reason, election)
                writes.append((tp, state, result.version))
        if not writes:
            then(*about)
            return
        ops = [self._fenced(SetData(state_path(tp), state, version)) for tp, state, version in writes]
        self._ask(ops, self._states_written, writes, decide, reason, then, about)

    def _states_written(
        self, results: tuple[Result, ...], writes: list[tuple[TopicPartition, PartitionState, int]], decide: Decide, reason: str,
        then: Then, about: tuple[Any, ...],
    ) -> None:  # fmt: skip
        if any(result.fenced for result in results):
            self.resign("ZooKeeper holds a newer controller epoch")
            return
        changed: dict[TopicPartition, int] = {}
        again = []
        for (tp, state, _version), result in zip(writes, results, strict=True):
            if result.error == OK:
                self.states[tp] = self._registration(tp, state, result.version)
                changed[tp] = result.cause
            else:
                again.append(tp)
        self._leader_and_isr(changed, self.live, changed)
        self._update_metadata(changed)
        if again:
            self._change(again, decide, reason, then, *about)
        else:
            then(*about)

    def _fenced(self, op: Create | SetData) -> Multi:
        """A write that counts only while nobody has been elected after this controller (KAFKA-6082)."""
        return Multi(paths.CONTROLLER_EPOCH, self._epoch_version, op)

    # --- elections -------------------------------------------------------------------------------------------------

    def may_lead(self) -> dict[int, int]:
        """Live brokers that are not shutting down (`ControllerContext#liveBrokerIds`)."""
        return {broker: epoch for broker, epoch in self.live.items() if broker not in self.shutting_down}

    def _online(self, tp: TopicPartition, state: PartitionRegistration) -> tuple[int, tuple[int, ...], str] | None:
        live = self.may_lead()
        if state.leader in live:
            return None
        unclean = self.broker.settings.flag("unclean.leader.election.enable", topic=tp.topic)
        return _decision(offline_partition_leader_election(state.replicas, state.isr, live, unclean_enabled=unclean))

    def _online_unclean(self, tp: TopicPartition, state: PartitionRegistration) -> tuple[int, tuple[int, ...], str] | None:
        live = self.may_lead()
        if state.leader in live:
            return None
        return _decision(offline_partition_leader_election(state.replicas, state.isr, live, unclean_enabled=True))

    def _preferred(self, tp: TopicPartition, state: PartitionRegistration) -> tuple[int, tuple[int, ...], str] | None:
        if state.has_preferred_leader:
            return None
        return _decision(preferred_replica_partition_leader_election(state.replicas, state.isr, self.may_lead()), "preferred")

    def _moved_away(self, tp: TopicPartition, state: PartitionRegistration) -> tuple[int, tuple[int, ...], str] | None:
        if state.leader not in self.shutting_down:
            return None
        return _decision(controlled_shutdown_partition_leader_election(state.replicas, state.isr, self.live, self.shutting_down))

    def _moved(self, tp: TopicPartition, state: PartitionRegistration) -> tuple[int, tuple[int, ...], str] | None:
        if state.leader in state.replicas and state.leader in self.may_lead():
            return state.leader, state.isr, ""
        return _decision(reassign_partition_leader_election(state.replicas, state.isr, self.may_lead()))

    def _bring_online(self, reason: str, then: Then, *about: Any) -> None:
        """Elect where nobody that lives leads, and begin with new partitions (`PartitionStateMachine#triggerOnlinePartitionStateChange`)."""
        live = self.may_lead()
        waiting = [tp for tp, state in self.states.items() if state.leader not in live]
        self._change(waiting, self._online, reason, self._begin_new, then, *about)

    def _begin_new(self, then: Then, *about: Any) -> None:
        """New partitions: all live replicas are in sync, the first of them leads (`#initializeLeaderAndIsrForPartitions`)."""
        live = self.may_lead()
        new = []
        for tp, assignment in self.assignments.items():
            isr = tuple(replica for replica in assignment.replicas if replica in live)
            if tp not in self.states and isr:
                new.append((tp, PartitionState(isr[0], 0, isr, self.epoch, "created")))
        if not new:
            then(*about)
            return
        self._ask([self._fenced(Create(state_path(tp), state)) for tp, state in new], self._begun, new, then, about)

    def _begun(
        self, results: tuple[Result, ...], new: list[tuple[TopicPartition, PartitionState]], then: Then, about: tuple[Any, ...]
    ) -> None:
        if any(result.fenced for result in results):
            self.resign("ZooKeeper holds a newer controller epoch")
            return
        causes = {}
        for (tp, state), result in zip(new, results, strict=True):
            if result.error == OK:
                self.states[tp] = self._registration(tp, state, 0)
                causes[tp] = result.cause
        self._leader_and_isr(causes, self.live, causes)
        self._update_metadata(causes)
        then(*about)

    def _offline_replicas(self, gone: dict[int, None], reason: str, then: Then, *about: Any) -> None:
        """Replicas of those brokers leave the ISRs, the last one excepted; what they led has no leader (`#doRemoveReplicasFromIsr`)."""
        tps = [tp for tp, assignment in self.assignments.items() if tp in self.states and not gone.keys().isdisjoint(assignment.replicas)]

        def without(_tp: TopicPartition, state: PartitionRegistration) -> tuple[int, tuple[int, ...], str] | None:
            isr = state.isr
            for broker in gone:
                if broker in isr and len(isr) > 1:
                    isr = tuple(member for member in isr if member != broker)
            leader = NO_LEADER if state.leader in gone else state.leader
            return None if (leader, isr) == (state.leader, state.isr) else (leader, isr, "")

        self._change(tps, without, reason, then, *about)

    # --- brokers come and go ---------------------------------------------------------------------------------------

    def _brokers_changed(self) -> None:
        self._ask((GetChildren(paths.BROKER_IDS, watch=True),), self._brokers_listed)

    def _brokers_listed(self, results: tuple[Result, ...]) -> None:
        names = results[0].data
        self._ask((GetData(f"{paths.BROKER_IDS}/{name}") for name in names), self._brokers_read, names)

    def _brokers_read(self, results: tuple[Result, ...], names: tuple[str, ...]) -> None:
        now = {int(name): result.created for name, result in zip(names, results, strict=True) if result.error == OK}
        gone = {broker: None for broker, epoch in self.live.items() if now.get(broker) != epoch}
        new = [broker for broker, epoch in now.items() if self.live.get(broker) != epoch]
        self.live = {broker: epoch for broker, epoch in self.live.items() if broker not in gone}
        for broker in gone:
            self.shutting_down.pop(broker, None)
        if not gone:
            self._started(now, new)
            return
        reason = " ".join(f"b{broker}" for broker in gone) + " has no znode any more"
        led = [tp for tp, state in self.states.items() if state.leader in gone or state.leader == NO_LEADER]
        self._change(led, self._online, reason, self._offline_replicas, gone, reason, self._started, now, new)

    def _started(self, now: dict[int, int], new: list[int]) -> None:
        """New brokers learn everything, then partitions without a leader may get one (`#onBrokerStartup`)."""
        for broker in new:
            self.live[broker] = now[broker]
        self._update_metadata(())
        if not new:
            self._done()
            return
        self._update_metadata(list(self.states), new)
        tps = [tp for tp, assignment in self.assignments.items() if tp in self.states and not set(new).isdisjoint(assignment.replicas)]
        self._ask((GetData(state_path(tp)) for tp in tps), self._roles_told, tps, new)

    def _roles_told(self, results: tuple[Result, ...], tps: list[TopicPartition], new: list[int]) -> None:
        self._take_states(results, tps)
        self._leader_and_isr(tps, new)
        back = " ".join(f"b{broker}" for broker in new) + " is back"
        self._bring_online(back, self._then_resume, set(new))

    def _then_resume(self, new: set[int]) -> None:
        self._resume_moves(self._done, begin=new)

    def tell_roles(self, broker: int) -> None:
        """By hand: a broker's process was restarted unnoticed; it learns its roles anew."""
        self._put(self._tell_roles, broker)

    def _tell_roles(self, broker: int) -> None:
        tps = [tp for tp, state in self.states.items() if broker in state.replicas]
        self._ask((GetData(state_path(tp)) for tp in tps), self._told_roles, tps, broker)

    def _told_roles(self, results: tuple[Result, ...], tps: list[TopicPartition], broker: int) -> None:
        self._take_states(results, tps)
        self._leader_and_isr(tps, (broker,))
        self._done()

    def _shutdown_asked(self, request: ControlledShutdownRequest, sender: str) -> None:
        if not self.active:
            self.broker.reply(sender, ControlledShutdownResponse(errors.NOT_CONTROLLER, -1))
            return
        self._put(self._shut_down, request.broker, sender)

    def _shut_down(self, leaving: int, sender: str) -> None:
        """A broker wants to leave (`#doControlledShutdown`): move what it leads, stop what it follows."""
        journal = self.journal
        if leaving not in self.shutting_down:
            journal.cause = journal.emit(events.ShutdownBegun.kind, leaving)
        self.shutting_down[leaving] = None
        led = [tp for tp, state in self.states.items() if state.leader == leaving and len(state.replicas) > 1]
        followed = [
            tp for tp, state in self.states.items() if leaving in state.replicas and state.leader != leaving and len(state.replicas) > 1
        ]
        self._change(led, self._moved_away, f"b{leaving} shuts down", self._stop_followers, leaving, followed, sender)

    def _stop_followers(self, leaving: int, followed: list[TopicPartition], sender: str) -> None:
        self._stop_replicas(leaving, followed, delete=False)
        self._leave_followed(leaving, followed, sender)

    def _leave_followed(self, leaving: int, followed: list[TopicPartition], sender: str) -> None:
        def without(_tp: TopicPartition, state: PartitionRegistration) -> tuple[int, tuple[int, ...], str] | None:
            if leaving not in state.isr or state.leader == leaving or len(state.isr) == 1:
                return None
            return state.leader, tuple(member for member in state.isr if member != leaving), ""

        self._change(followed, without, f"b{leaving} shuts down", self._shut_down_answered, leaving, sender)

    def _shut_down_answered(self, leaving: int, sender: str) -> None:
        remaining = sum(1 for state in self.states.values() if state.leader == leaving and len(state.replicas) > 1)
        self.broker.reply(sender, ControlledShutdownResponse(errors.NONE, remaining))
        self._done()

    # --- topics and settings ---------------------------------------------------------------------------------------

    def _topics_changed(self) -> None:
        self._ask((GetChildren(paths.TOPICS, watch=True),), self._topics_listed)

    def _topics_listed(self, results: tuple[Result, ...]) -> None:
        known = {tp.topic for tp in self.assignments}
        new = tuple(name for name in results[0].data if name not in known)
        self._ask((GetData(topic_path(name)) for name in new), self._topics_read, new)

    def _topics_read(self, results: tuple[Result, ...], names: tuple[str, ...]) -> None:
        for name, result in zip(names, results, strict=True):
            self._take_assignment(name, result.data)
        self._begin_new(self._done)

    def config_changed(self, change: ConfigChange) -> None:
        """Unclean election was allowed: elect at once (`#processTopicUncleanLeaderElectionEnable`)."""
        if self.active and change.name == "unclean.leader.election.enable" and change.value == "true":
            self._put(self._elect_unclean, change.topic)

    def _elect_unclean(self, topic: str | None) -> None:
        live = self.may_lead()
        tps = [tp for tp, state in self.states.items() if state.leader not in live and topic in (None, tp.topic)]
        self._change(tps, self._online, "unclean.leader.election.enable is true", self._done)

    # --- ISR changes -----------------------------------------------------------------------------------------------

    def _isr_changes(self) -> None:
        """Leaders have written ISRs themselves and say which (`#processIsrChangeNotification`)."""
        self._ask((GetChildren(paths.ISR_CHANGES, watch=True),), self._isr_changes_listed)

    def _isr_changes_listed(self, results: tuple[Result, ...]) -> None:
        names = results[0].data
        self._ask((GetData(f"{paths.ISR_CHANGES}/{name}") for name in names), self._isr_changes_read, names)

    def _isr_changes_read(self, results: tuple[Result, ...], names: tuple[str, ...]) -> None:
        tps = list(dict.fromkeys(tp for result in results if result.error == OK for tp in result.data if tp in self.assignments))
        ops: list[Op] = [GetData(state_path(tp)) for tp in tps]
        ops += [Delete(f"{paths.ISR_CHANGES}/{name}") for name in names]
        self._ask(ops, self._isr_changes_known, tps)

    def _isr_changes_known(self, results: tuple[Result, ...], tps: list[TopicPartition]) -> None:
        self._take_states(results[: len(tps)], tps)
        self._update_metadata(tps)
        self._resume_moves(self._done)

    def _alter_partition_asked(self, request: AlterPartitionRequest, sender: str) -> None:
        if not self.active:
            self.broker.reply(sender, AlterPartitionResponse(request.correlation, errors.NOT_CONTROLLER, ()))
            return
        self._put(self._alter_partition, request, sender)

    def _alter_partition(self, request: AlterPartitionRequest, sender: str) -> None:
        """A leader proposes ISRs (`#processAlterPartition`, 2.7): each is written on condition of its version."""
        refused: dict[TopicPartition, str] = {}
        writes = []
        for item in request.items:
            error = self._validate(request.broker, item)
            if error != errors.NONE:
                refused[item.tp] = error
                self.journal.emit(events.AlterPartitionRefused.kind, request.broker, item.tp.topic, item.tp.partition, item.isr, error)
                continue
            state = self.states[item.tp]
            data = PartitionState(state.leader, state.leader_epoch, item.isr, self.epoch, f"b{request.broker} asked for it")
            writes.append((item.tp, data, state.partition_epoch))
        ops = [self._fenced(SetData(state_path(tp), state, version)) for tp, state, version in writes]
        self._ask(ops, self._altered, request, sender, refused, writes)

    def _validate(self, broker: int, item: AlterPartitionItem) -> str:
        state = self.states.get(item.tp)
        if state is None:
            return errors.UNKNOWN_TOPIC_OR_PARTITION
        if item.leader_epoch < state.leader_epoch:
            return errors.FENCED_LEADER_EPOCH
        if broker != state.leader or not set(item.isr) <= set(state.replicas) or broker not in item.isr:
            return errors.INVALID_REQUEST
        if item.partition_epoch != state.partition_epoch and self.broker.release.partition_epoch_check:
            return errors.INVALID_UPDATE_VERSION
        if self.broker.release.isr_eligibility and not set(item.isr) <= self.may_lead().keys():
            return errors.INELIGIBLE_REPLICA
        return errors.NONE

    def _altered(
        self, results: tuple[Result, ...], request: AlterPartitionRequest, sender: str, refused: dict[TopicPartition, str],
        writes: list[tuple[TopicPartition, PartitionState, int]],
    ) -> None:  # fmt: skip
        if any(result.fenced for result in results):
            self.resign("ZooKeeper holds a newer controller epoch")
            return
        done: dict[TopicPartition, int] = {}
        for (tp, state, _version), result in zip(writes, results, strict=True):
            if result.error == OK:
                self.states[tp] = self._registration(tp, state, result.version)
                done[tp] = result.cause
            else:
                refused[tp] = errors.INVALID_UPDATE_VERSION
        answers = tuple(
            (item.tp, refused.get(item.tp, errors.NONE), self.states.get(item.tp), done.get(item.tp, 0)) for item in request.items
        )
        self.broker.reply(sender, AlterPartitionResponse(request.correlation, errors.NONE, answers))
        self._update_metadata(done)
        self._resume_moves(self._done)

    # --- elections asked for, and balancing ------------------------------------------------------------------------

    def _elections(self) -> None:
        """Somebody asks for elections (`#processPreferredReplicaLeaderElection`)."""
        self._ask((GetData(paths.PREFERRED_ELECTION), Delete(paths.PREFERRED_ELECTION), GetData(paths.PREFERRED_ELECTION, watch=True)),
                  self._elections_read)  # fmt: skip

    def _elections_read(self, results: tuple[Result, ...]) -> None:
        wanted: tuple[tuple[TopicPartition, str], ...] = results[0].data if results[0].error == OK else ()
        preferred = [tp for tp, election in wanted if election == ElectionMode.PREFERRED.name and tp in self.states]
        unclean = [tp for tp, election in wanted if election != ElectionMode.PREFERRED.name and tp in self.states]
        self._change(preferred, self._preferred, "asked for", self._preferred_elected, preferred, unclean)

    def _preferred_elected(self, preferred: list[TopicPartition], unclean: list[TopicPartition]) -> None:
        for tp in preferred:
            if not self.states[tp].has_preferred_leader:
                self.journal.emit(events.ElectionRefused.kind, tp.topic, tp.partition, "preferred", errors.PREFERRED_LEADER_NOT_AVAILABLE)
        self._change(unclean, self._online_unclean, "asked for", self._unclean_elected, unclean)

    def _unclean_elected(self, unclean: list[TopicPartition]) -> None:
        for tp in unclean:
            if not self.states[tp].has_leader:
                self.journal.emit(events.ElectionRefused.kind, tp.topic, tp.partition, "unclean", errors.ELIGIBLE_LEADERS_NOT_AVAILABLE)
        self._done()

    def _balance_interval(self) -> int:
        return self.broker.settings.integer("leader.imbalance.check.interval.seconds") * SECOND

    def _balance_due(self, term: Any) -> None:
        if term == self._term and self.active and not self.broker.by_hand:
            self.broker.timer(self._balance_interval(), "auto-leader-rebalance", term)
            if self.broker.settings.flag("auto.leader.rebalance.enable"):
                self._put(self._balance)

    def imbalanced(self) -> list[TopicPartition]:
        """Partitions to be given back: per broker, if others lead more than the allowed share (`#checkAndTriggerAutoLeaderRebalance`)."""
        allowed = self.broker.settings.integer("leader.imbalance.per.broker.percentage") / 100
        found: list[TopicPartition] = []
        preferring: dict[int, list[TopicPartition]] = {}
        for tp, state in self.states.items():
            preferring.setdefault(state.preferred_replica, []).append(tp)
        live = self.may_lead()
        for broker, tps in preferring.items():
            elsewhere = [tp for tp in tps if self.states[tp].leader != broker]
            if broker in live and imbalance_ratio(len(tps), len(elsewhere)) > allowed:
                found += [
                    tp for tp in elsewhere if broker in self.states[tp].isr and not self.states[tp].adding and not self.states[tp].removing
                ]
        return found

    def _balance(self) -> None:
        self._change(self.imbalanced(), self._preferred, "leader balancing", self._done)

    # --- reassignment ----------------------------------------------------------------------------------------------

    def _moves(self) -> None:
        """Somebody asks for moves (`#processZkPartitionReassignment`); they are taken over into the topics' znodes."""
        self._ask((GetData(paths.REASSIGNMENT), Delete(paths.REASSIGNMENT), GetData(paths.REASSIGNMENT, watch=True)), self._moves_read)

    def _moves_read(self, results: tuple[Result, ...]) -> None:
        wanted: tuple[tuple[TopicPartition, tuple[int, ...] | None], ...] = results[0].data if results[0].error == OK else ()
        self._next_move(tuple((tp, target) for tp, target in wanted if tp in self.assignments))

    def _next_move(self, wanted: tuple[tuple[TopicPartition, tuple[int, ...] | None], ...]) -> None:
        if not wanted:
            self._done()
            return
        (tp, target), rest = wanted[0], wanted[1:]
        replicas, adding, removing = self.assignments[tp]
        original = tuple(replica for replica in replicas if replica not in adding)
        if target is None:
            if adding or removing:
                self._finish_move(tp, original, tuple(adding), f"the move of {tp} is given up", self._next_move, rest)
            else:
                self._next_move(rest)
            return
        lists = PartitionReassignmentReplicas.between(original, target)
        dropped = tuple(replica for replica in adding if replica not in lists.replicas)
        self.assignments[tp] = ReplicaAssignment(lists.replicas, lists.adding, lists.removing)
        self._stop_replicas_of(tp, dropped)
        self._ask((self._write_topic(tp.topic),), self._move_noted, tp, rest)

    def _write_topic(self, topic: str) -> SetData:
        count = sum(1 for tp in self.assignments if tp.topic == topic)
        return SetData(topic_path(topic), tuple(self.assignments[TopicPartition(topic, number)] for number in range(count)))

    def _move_noted(self, _results: tuple[Result, ...], tp: TopicPartition, rest: tuple[Any, ...]) -> None:
        self._step_move(tp, True, self._next_move, rest)

    def _resume_moves(self, then: Then, begin: set[int] | None = None) -> None:
        """Look at every running move: is its target in sync by now (`#maybeResumeReassignments`)?

        Moves that add one of `begin` are begun anew, so that the new broker learns of them.
        """
        moving = []
        for tp, assignment in self.assignments.items():
            if assignment.adding or assignment.removing:
                moving.append((tp, begin is not None and not begin.isdisjoint(assignment.adding)))
        self._resume_next(moving, then)

    def _resume_next(self, moving: list[tuple[TopicPartition, bool]], then: Then) -> None:
        if moving:
            (tp, begin), rest = moving[0], moving[1:]
            self._step_move(tp, begin, self._resume_next, rest, then)
        else:
            then()

    def _step_move(self, tp: TopicPartition, begin: bool, then: Then, *about: Any) -> None:
        self._ask((GetData(state_path(tp)),), self._step_read, tp, begin, then, about)

    def _step_read(self, results: tuple[Result, ...], tp: TopicPartition, begin: bool, then: Then, about: tuple[Any, ...]) -> None:
        """Phase A while the target is not in sync: all its replicas fetch. Phase B then: lead from the target, drop the rest (`#onPartitionReassignment`)."""
        self._take_states(results, [tp])
        state, assignment = self.states.get(tp), self.assignments[tp]
        if state is None:
            then(*about)
            return
        target = tuple(replica for replica in assignment.replicas if replica not in assignment.removing)
        if set(target) <= set(state.isr):
            self._finish_move(tp, target, assignment.removing, f"the move of {tp} is complete", then, *about)
        elif begin:
            self._change([tp], _same, f"{tp} moves to {list(target)}", then, *about)
        else:
            then(*about)

    def _finish_move(self, tp: TopicPartition, target: tuple[int, ...], out: tuple[int, ...], reason: str, then: Then, *about: Any) -> None:
        self.assignments[tp] = ReplicaAssignment(target)
        self._change([tp], self._moved, reason, self._drop_moved, tp, out, reason, then, about)

    def _drop_moved(self, tp: TopicPartition, out: tuple[int, ...], reason: str, then: Then, about: tuple[Any, ...]) -> None:
        def without(_tp: TopicPartition, state: PartitionRegistration) -> tuple[int, tuple[int, ...], str] | None:
            isr = tuple(member for member in state.isr if member not in out)
            return None if isr == state.isr else (state.leader, isr, "")

        self._change([tp], without, reason, self._delete_moved, tp, out, then, about)

    def _delete_moved(self, tp: TopicPartition, out: tuple[int, ...], then: Then, about: tuple[Any, ...]) -> None:
        self._stop_replicas_of(tp, out)
        self._ask((self._write_topic(tp.topic),), self._move_done, then, about)

    def _stop_replicas_of(self, tp: TopicPartition, brokers: tuple[int, ...]) -> None:
        for broker in brokers:
            self._stop_replicas(broker, (tp,), delete=True)

    def _move_done(self, _results: tuple[Result, ...], then: Then, about: tuple[Any, ...]) -> None:
        then(*about)


def _decision(elected: Elected | None, election: str = "clean") -> tuple[int, tuple[int, ...], str] | None:
    return None if elected is None else (elected.leader, elected.isr, "unclean" if elected.unclean else election)


def _same(_tp: TopicPartition, state: PartitionRegistration) -> tuple[int, tuple[int, ...], str]:
    """The same leader and ISR in a new leader epoch, so that brokers take the new replica list."""
    return state.leader, state.isr, ""

"""How a ZooKeeper-mode controller handles ISR changes.

Before 2.7, leaders write their ISR changes to ZooKeeper and publish them. Since 2.7, leaders propose ISR changes to the controller with
AlterIsr (KIP-497).
"""

from __future__ import annotations

from core.kafka import errors, events
from core.kafka.ids import TopicPartition
from core.kafka.messages import AlterPartitionItem, AlterPartitionRequest, AlterPartitionResponse
from core.kafka.zookeeper_mode.controller.controller_component import ControllerComponent, SharedParts
from core.kafka.zookeeper_mode.controller.partition_state_machine import PartitionStateMachine
from core.kafka.zookeeper_mode.controller.reassignments import PartitionReassignments
from core.kafka.zookeeper_server import paths
from core.kafka.zookeeper_server.paths import PartitionState, state_path
from core.kafka.zookeeper_server.protocol import OK, Delete, GetChildren, GetData, Op, Result, SetData


class IsrChanges(ControllerComponent):
    """Handles ISR changes from leaders."""

    def __init__(self, shared: SharedParts, partitions: PartitionStateMachine, reassignments: PartitionReassignments) -> None:
        super().__init__(shared)
        self.partitions = partitions
        self.reassignments = reassignments

    def process_isr_change_notification(self) -> None:
        """Read the ISR changes that leaders have written to ZooKeeper and published (`#processIsrChangeNotification`)."""
        self.queue.submit((GetChildren(paths.ISR_CHANGES, watch=True),), self._isr_changes_listed)

    def _isr_changes_listed(self, results: tuple[Result, ...]) -> None:
        names = results[0].data
        self.queue.submit((GetData(f"{paths.ISR_CHANGES}/{name}") for name in names), self._isr_changes_read, names)

    def _isr_changes_read(self, results: tuple[Result, ...], names: tuple[str, ...]) -> None:
        tps = list(dict.fromkeys(tp for result in results if result.error == OK for tp in result.data if tp in self.context.assignments))
        ops: list[Op] = [GetData(state_path(tp)) for tp in tps]
        ops += [Delete(f"{paths.ISR_CHANGES}/{name}") for name in names]
        self.queue.submit(ops, self._changed_states_read, tps)

    def _changed_states_read(self, results: tuple[Result, ...], tps: list[TopicPartition]) -> None:
        self.context.take_states(results[: len(tps)], tps)
        self.requests.update_metadata(tps)
        self.queue.done()

    def handle_alter_partition(self, request: AlterPartitionRequest, sender: str) -> None:
        """Handle a leader's ISR proposals. If this broker is not the controller, respond with NOT_CONTROLLER."""
        if not self.queue.active:
            self.broker.node.reply(sender, AlterPartitionResponse(request.correlation, errors.NOT_CONTROLLER, ()))
            return
        self.queue.put(self._alter_partition, request, sender)

    def _alter_partition(self, request: AlterPartitionRequest, sender: str) -> None:
        """Write each proposed ISR if the state znode has the expected version (`#processAlterPartition`, 2.7)."""
        if self.context.live.get(request.broker) != request.broker_epoch:
            self.broker.node.reply(sender, AlterPartitionResponse(request.correlation, errors.STALE_BROKER_EPOCH, ()))
            self.queue.done()
            return
        refused: dict[TopicPartition, str] = {}
        writes = []
        for item in request.items:
            if self._is_in_effect(request.broker, item):
                continue
            error = self._validate(request.broker, item)
            if error != errors.NONE:
                refused[item.tp] = error
                self.journal.emit(events.AlterPartitionRefused.kind, request.broker, item.tp.topic, item.tp.partition, item.isr, error)
                continue
            state = self.context.states[item.tp]
            data = PartitionState(state.leader, state.leader_epoch, item.isr, self.context.epoch, f"b{request.broker} asked for it")
            writes.append((item.tp, data, state.partition_epoch))
        ops = [self.partitions.with_epoch_check(SetData(state_path(tp), state, version)) for tp, state, version in writes]
        self.queue.submit(ops, self._altered, request, sender, refused, writes)

    def _is_in_effect(self, broker: int, item: AlterPartitionItem) -> bool:
        """Return whether an ISR proposal equals the current state of the partition. If the response to an earlier request was lost, the
        leader repeats a proposal that has already taken effect (`LeaderAndIsr#equalsIgnoreZk`)."""
        state = self.context.states.get(item.tp)
        return state is not None and (broker, item.leader_epoch, item.isr) == (state.leader, state.leader_epoch, state.isr)

    def _validate(self, broker: int, item: AlterPartitionItem) -> str:
        state = self.context.states.get(item.tp)
        if state is None:
            return errors.UNKNOWN_TOPIC_OR_PARTITION
        if item.leader_epoch < state.leader_epoch:
            return errors.FENCED_LEADER_EPOCH
        if broker != state.leader or not set(item.isr) <= set(state.replicas) or broker not in item.isr:
            return errors.INVALID_REQUEST
        if item.partition_epoch != state.partition_epoch and self.broker.release.partition_epoch_check:
            return errors.INVALID_UPDATE_VERSION
        if self.broker.release.isr_eligibility and not set(item.isr) <= self.context.may_lead().keys():
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
                self.context.states[tp] = self.context.registration(tp, state, result.version)
                done[tp] = result.cause
            else:
                refused[tp] = errors.INVALID_UPDATE_VERSION
        answers = tuple(
            (item.tp, refused.get(item.tp, errors.NONE), self.context.states.get(item.tp), done.get(item.tp, 0)) for item in request.items
        )
        self.broker.node.reply(sender, AlterPartitionResponse(request.correlation, errors.NONE, answers))
        self.requests.update_metadata(done)
        self.reassignments.resume(self.queue.done)

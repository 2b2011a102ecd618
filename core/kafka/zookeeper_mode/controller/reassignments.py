"""Partition reassignments in ZooKeeper mode (Kafka: `processZkPartitionReassignment`, `onPartitionReassignment`)."""

from __future__ import annotations

from collections.abc import Set

from core.kafka.ids import TopicPartition
from core.kafka.partition_registration import PartitionRegistration
from core.kafka.zookeeper_mode.controller.controller_component import ControllerComponent, SharedParts
from core.kafka.zookeeper_mode.controller.event_manager import Callback
from core.kafka.zookeeper_mode.controller.partition_state_machine import Decision, PartitionStateMachine
from core.kafka.zookeeper_server import paths
from core.kafka.zookeeper_server.paths import ReplicaAssignment, state_path, topic_path
from core.kafka.zookeeper_server.protocol import OK, Delete, GetData, Result, SetData


class PartitionReassignments(ControllerComponent):
    """Starts, advances, completes, and cancels reassignments."""

    def __init__(self, shared: SharedParts, partitions: PartitionStateMachine) -> None:
        super().__init__(shared)
        self.partitions = partitions

    def process_requested_reassignments(self) -> None:
        """Write the reassignments that an administrator has requested into the topics' znodes (`#processZkPartitionReassignment`)."""
        self.queue.submit(
            (GetData(paths.REASSIGNMENT), Delete(paths.REASSIGNMENT), GetData(paths.REASSIGNMENT, watch=True)), self._reassignments_read
        )

    def _reassignments_read(self, results: tuple[Result, ...]) -> None:
        wanted: tuple[tuple[TopicPartition, tuple[int, ...] | None], ...] = results[0].data if results[0].error == OK else ()
        context = self.context
        self._start_next(
            tuple((tp, target) for tp, target in wanted if tp in context.assignments and tp.topic not in context.topics_to_delete)
        )

    def _start_next(self, wanted: tuple[tuple[TopicPartition, tuple[int, ...] | None], ...]) -> None:
        if not wanted:
            self.queue.done()
            return
        (tp, target), rest = wanted[0], wanted[1:]
        now = self.context.assignments[tp]
        original = tuple(replica for replica in now.replicas if replica not in now.adding)
        if target is None and not (now.adding or now.removing):
            self._start_next(rest)
            return
        new_assignment = reassign_to(original, original if target is None else target)
        self.context.assignments[tp] = new_assignment
        if new_assignment == now:
            self._assignment_written((), tp, (), rest)
            return
        dropped = tuple(replica for replica in now.replicas if replica not in new_assignment.replicas)
        self.queue.submit((self._write_topic(tp.topic),), self._assignment_written, tp, dropped, rest)

    def _write_topic(self, topic: str) -> SetData:
        count = sum(1 for tp in self.context.assignments if tp.topic == topic)
        return SetData(topic_path(topic), tuple(self.context.assignments[TopicPartition(topic, number)] for number in range(count)))

    def _assignment_written(
        self, _results: tuple[Result, ...], tp: TopicPartition, dropped: tuple[int, ...], rest: tuple[object, ...]
    ) -> None:
        """Remove the replicas that an earlier reassignment was adding but that the new reassignment does not need
        (`#updateCurrentReassignment`).

        The removed replicas lose leadership and leave the ISR immediately.
        """
        reason = f"another move of {tp} does without" if self._is_reassigning(tp) else f"the move of {tp} is given up"
        self._stop_removed(tp, dropped, reason, self._dropped, (tp, rest))

    def _dropped(self, tp: TopicPartition, rest: tuple[object, ...]) -> None:
        self._advance(tp, True, self._start_next, rest)

    def _is_reassigning(self, tp: TopicPartition) -> bool:
        assignment = self.context.assignments.get(tp)
        return assignment is not None and bool(assignment.adding or assignment.removing)

    def resume(self, callback: Callback, begin: Set[int] | None = frozenset()) -> None:
        """Advance every running reassignment whose target is in sync (`#maybeResumeReassignments`).

        Reassignments that move a partition to a broker in `begin` (or, if `begin` is None, to any broker) start again, so that the broker
        gets its role in the partition.
        """
        moving = []
        for tp, assignment in self.context.assignments.items():
            if assignment.adding or assignment.removing:
                target = (replica for replica in assignment.replicas if replica not in assignment.removing)
                moving.append((tp, begin is None or not begin.isdisjoint(target)))
        self._resume_next(moving, callback)

    def _resume_next(self, moving: list[tuple[TopicPartition, bool]], callback: Callback) -> None:
        if moving:
            (tp, begin), rest = moving[0], moving[1:]
            self._advance(tp, begin, self._resume_next, rest, callback)
        else:
            callback()

    def state_written(self, tp: TopicPartition) -> None:
        """Advance a reassignment, because the state of its partition has been written, for example by the partition's leader.

        Kafka: `#processPartitionReassignmentIsrChange`.
        """
        if self._is_reassigning(tp):
            self._advance(tp, False, self.queue.done)
        else:
            self.queue.done()

    def _advance(self, tp: TopicPartition, begin: bool, callback: Callback, *about: object) -> None:
        watch = self.broker.release.leader_writes_isr
        self.queue.submit((GetData(state_path(tp), watch=watch),), self._step_read, tp, begin, callback, about)

    def _step_read(
        self, results: tuple[Result, ...], tp: TopicPartition, begin: bool, callback: Callback, about: tuple[object, ...]
    ) -> None:
        """Advance a reassignment (`#onPartitionReassignment`).

        In phase A, some target replicas are not in sync, and all replicas fetch. In phase B, a target replica becomes leader, and the other
        replicas are removed.
        """
        self.context.take_states(results, [tp])
        state, assignment = self.context.states.get(tp), self.context.assignments[tp]
        if state is None:
            callback(*about)
            return
        target = tuple(replica for replica in assignment.replicas if replica not in assignment.removing)
        if not self._is_reassigning(tp):
            self._complete(tp, target, (), f"the move of {tp} is given up", callback, *about)
        elif set(target) <= set(state.isr):
            self._complete(tp, target, assignment.removing, f"the move of {tp} is complete", callback, *about)
        elif begin:
            self.partitions.change([tp], _keep_leader_and_isr, f"{tp} moves to {list(target)}", callback, *about)
        else:
            callback(*about)

    def _complete(
        self, tp: TopicPartition, target: tuple[int, ...], out: tuple[int, ...], reason: str, callback: Callback, *about: object
    ) -> None:
        self.context.assignments[tp] = ReplicaAssignment(target)
        journal = self.broker.journal
        journal.cause = self.broker.account.last_move(tp) or journal.cause  # that a replica caught up only completes the move
        self.partitions.change([tp], self.partitions.elect_for_reassignment, reason, self._leader_moved, tp, out, reason, callback, about)

    def _leader_moved(self, tp: TopicPartition, out: tuple[int, ...], reason: str, callback: Callback, about: tuple[object, ...]) -> None:
        self._stop_removed(tp, out, reason, self._removed_stopped, (tp, callback, about))

    def _removed_stopped(self, tp: TopicPartition, callback: Callback, about: tuple[object, ...]) -> None:
        self.queue.submit((self._write_topic(tp.topic),), self._completed, callback, about)

    def _stop_removed(self, tp: TopicPartition, out: tuple[int, ...], reason: str, callback: Callback, about: tuple[object, ...]) -> None:
        """Remove replicas from the ISR, and then delete their logs (`#stopRemovedReplicasOfReassignedPartition`)."""
        self.partitions.remove_replicas_from_isr(out, [tp], reason, self._delete_removed, tp, out, callback, about)

    def _delete_removed(self, tp: TopicPartition, out: tuple[int, ...], callback: Callback, about: tuple[object, ...]) -> None:
        for broker in out:
            self.requests.stop_replicas(broker, (tp,), delete=True)
        callback(*about)

    def _completed(self, _results: tuple[Result, ...], callback: Callback, about: tuple[object, ...]) -> None:
        callback(*about)


def reassign_to(original: tuple[int, ...], target: tuple[int, ...]) -> ReplicaAssignment:
    """Return the replica lists of a reassignment: the target replicas, in the requested order, followed by the replicas to remove, in their
    current order.

    Kafka: `ReplicaAssignment#reassignTo`.
    """
    replicas = tuple(dict.fromkeys((*target, *original)))
    adding = tuple(replica for replica in replicas if replica not in original)
    return ReplicaAssignment(replicas, adding, tuple(replica for replica in replicas if replica not in target))


def _keep_leader_and_isr(_tp: TopicPartition, state: PartitionRegistration) -> Decision:
    """Raise the leader epoch without changing the leader or the ISR, so that the brokers use the new replica list."""
    return state.leader, state.isr, ""

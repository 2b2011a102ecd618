"""Reassignments in ZooKeeper clusters (Kafka: `processZkPartitionReassignment`, `onPartitionReassignment`)."""

from __future__ import annotations

from collections.abc import Set

from core.kafka.ids import TopicPartition
from core.kafka.partition_registration import PartitionRegistration
from core.kafka.zookeeper import paths
from core.kafka.zookeeper.paths import ReplicaAssignment, state_path, topic_path
from core.kafka.zookeeper.protocol import OK, Delete, GetData, Result, SetData
from core.kafka.zookeeper_mode.controller.controller_base import ControllerPart, Controllership
from core.kafka.zookeeper_mode.controller.event_manager import Then
from core.kafka.zookeeper_mode.controller.partition_state_machine import Decision, PartitionStateMachine


class Moves(ControllerPart):
    """What a controller does about moves."""

    def __init__(self, controller: Controllership, partitions: PartitionStateMachine) -> None:
        super().__init__(controller)
        self.partitions = partitions

    def asked(self) -> None:
        """Somebody asks for moves (`#processZkPartitionReassignment`); they are taken over into the topics' znodes."""
        self.queue.ask((GetData(paths.REASSIGNMENT), Delete(paths.REASSIGNMENT), GetData(paths.REASSIGNMENT, watch=True)), self._moves_read)

    def _moves_read(self, results: tuple[Result, ...]) -> None:
        wanted: tuple[tuple[TopicPartition, tuple[int, ...] | None], ...] = results[0].data if results[0].error == OK else ()
        self._next_move(tuple((tp, target) for tp, target in wanted if tp in self.context.assignments))

    def _next_move(self, wanted: tuple[tuple[TopicPartition, tuple[int, ...] | None], ...]) -> None:
        if not wanted:
            self.queue.done()
            return
        (tp, target), rest = wanted[0], wanted[1:]
        now = self.context.assignments[tp]
        original = tuple(replica for replica in now.replicas if replica not in now.adding)
        if target is None and not (now.adding or now.removing):
            self._next_move(rest)
            return
        wished = reassign_to(original, original if target is None else target)
        self.context.assignments[tp] = wished
        if wished == now:
            self._move_noted((), tp, (), rest)
            return
        dropped = tuple(replica for replica in now.replicas if replica not in wished.replicas)
        self.queue.ask((self._write_topic(tp.topic),), self._move_noted, tp, dropped, rest)

    def _write_topic(self, topic: str) -> SetData:
        count = sum(1 for tp in self.context.assignments if tp.topic == topic)
        return SetData(topic_path(topic), tuple(self.context.assignments[TopicPartition(topic, number)] for number in range(count)))

    def _move_noted(self, _results: tuple[Result, ...], tp: TopicPartition, dropped: tuple[int, ...], rest: tuple[object, ...]) -> None:
        """What a former move was adding, and this one does not want, goes at once, from leadership and ISR too (`#updateCurrentReassignment`)."""
        reason = f"another move of {tp} does without" if self._moves(tp) else f"the move of {tp} is given up"
        self._stop_removed(tp, dropped, reason, self._dropped, (tp, rest))

    def _dropped(self, tp: TopicPartition, rest: tuple[object, ...]) -> None:
        self._step_move(tp, True, self._next_move, rest)

    def _moves(self, tp: TopicPartition) -> bool:
        assignment = self.context.assignments[tp]
        return bool(assignment.adding or assignment.removing)

    def resume(self, then: Then, begin: Set[int] | None = frozenset()) -> None:
        """Look at every running move: is its target in sync by now (`#maybeResumeReassignments`)?

        Moves to one of `begin` (None: all) are begun anew, so that the new broker learns of them.
        """
        moving = []
        for tp, assignment in self.context.assignments.items():
            if assignment.adding or assignment.removing:
                target = (replica for replica in assignment.replicas if replica not in assignment.removing)
                moving.append((tp, begin is None or not begin.isdisjoint(target)))
        self._resume_next(moving, then)

    def _resume_next(self, moving: list[tuple[TopicPartition, bool]], then: Then) -> None:
        if moving:
            (tp, begin), rest = moving[0], moving[1:]
            self._step_move(tp, begin, self._resume_next, rest, then)
        else:
            then()

    def state_written(self, tp: TopicPartition) -> None:
        """The state of a partition that moves was written, by its leader perhaps (`#processPartitionReassignmentIsrChange`)."""
        if self._moves(tp):
            self._step_move(tp, False, self.queue.done)
        else:
            self.queue.done()

    def _step_move(self, tp: TopicPartition, begin: bool, then: Then, *about: object) -> None:
        watch = self.broker.release.leader_writes_isr
        self.queue.ask((GetData(state_path(tp), watch=watch),), self._step_read, tp, begin, then, about)

    def _step_read(self, results: tuple[Result, ...], tp: TopicPartition, begin: bool, then: Then, about: tuple[object, ...]) -> None:
        """Phase A while the target is not in sync: all its replicas fetch. Phase B then: lead from the target, drop the rest.

        Kafka: `#onPartitionReassignment`.
        """
        self.context.take_states(results, [tp])
        state, assignment = self.context.states.get(tp), self.context.assignments[tp]
        if state is None:
            then(*about)
            return
        target = tuple(replica for replica in assignment.replicas if replica not in assignment.removing)
        if not self._moves(tp):
            self._finish_move(tp, target, (), f"the move of {tp} is given up", then, *about)
        elif set(target) <= set(state.isr):
            self._finish_move(tp, target, assignment.removing, f"the move of {tp} is complete", then, *about)
        elif begin:
            self.partitions.change([tp], _same, f"{tp} moves to {list(target)}", then, *about)
        else:
            then(*about)

    def _finish_move(
        self, tp: TopicPartition, target: tuple[int, ...], out: tuple[int, ...], reason: str, then: Then, *about: object
    ) -> None:
        self.context.assignments[tp] = ReplicaAssignment(target)
        self.partitions.change([tp], self.partitions.moved, reason, self._leader_moved, tp, out, reason, then, about)

    def _leader_moved(self, tp: TopicPartition, out: tuple[int, ...], reason: str, then: Then, about: tuple[object, ...]) -> None:
        self._stop_removed(tp, out, reason, self._removed_stopped, (tp, then, about))

    def _removed_stopped(self, tp: TopicPartition, then: Then, about: tuple[object, ...]) -> None:
        self.queue.ask((self._write_topic(tp.topic),), self._move_done, then, about)

    def _stop_removed(self, tp: TopicPartition, out: tuple[int, ...], reason: str, then: Then, about: tuple[object, ...]) -> None:
        """Replicas leave the ISR, then their logs are deleted (`#stopRemovedReplicasOfReassignedPartition`)."""
        self.partitions.take_out(out, [tp], reason, self._delete_removed, tp, out, then, about)

    def _delete_removed(self, tp: TopicPartition, out: tuple[int, ...], then: Then, about: tuple[object, ...]) -> None:
        for broker in out:
            self.requests.stop_replicas(broker, (tp,), delete=True)
        then(*about)

    def _move_done(self, _results: tuple[Result, ...], then: Then, about: tuple[object, ...]) -> None:
        then(*about)


def reassign_to(original: tuple[int, ...], target: tuple[int, ...]) -> ReplicaAssignment:
    """The replica lists while a partition moves: the target, then what is removed, each in its order (`ReplicaAssignment#reassignTo`)."""
    replicas = tuple(dict.fromkeys((*target, *original)))
    adding = tuple(replica for replica in replicas if replica not in original)
    return ReplicaAssignment(replicas, adding, tuple(replica for replica in replicas if replica not in target))


def _same(_tp: TopicPartition, state: PartitionRegistration) -> Decision:
    """The same leader and ISR in a new leader epoch, so that brokers take the new replica list."""
    return state.leader, state.isr, ""

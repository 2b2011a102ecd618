"""How a ZooKeeper-mode controller handles broker changes: starts, failures, shutdowns, and failed log directories."""

from __future__ import annotations

from core.kafka import errors, events
from core.kafka.ids import TopicPartition
from core.kafka.partition_registration import PartitionRegistration
from core.kafka.zookeeper_mode.controller.controller_component import ControllerComponent, SharedParts
from core.kafka.zookeeper_mode.controller.partition_state_machine import PartitionStateMachine
from core.kafka.zookeeper_mode.controller.reassignments import PartitionReassignments
from core.kafka.zookeeper_mode.controller.requests import ControlledShutdownRequest, ControlledShutdownResponse, LeaderAndIsrResponse
from core.kafka.zookeeper_mode.controller.topic_deletion_manager import TopicDeletionManager
from core.kafka.zookeeper_server import paths
from core.kafka.zookeeper_server.paths import state_path
from core.kafka.zookeeper_server.protocol import OK, Delete, GetChildren, GetData, Result


class BrokerChanges(ControllerComponent):
    """Handles broker changes."""

    def __init__(
        self,
        shared: SharedParts,
        partitions: PartitionStateMachine,
        reassignments: PartitionReassignments,
        deletions: TopicDeletionManager,
    ) -> None:
        super().__init__(shared)
        self.partitions = partitions
        self.reassignments = reassignments
        self.deletions = deletions

    def process_broker_change(self) -> None:
        """Handle a change in the children of /brokers/ids (`#processBrokerChange`)."""
        self.queue.submit((GetChildren(paths.BROKER_IDS, watch=True),), self._brokers_listed)

    def _brokers_listed(self, results: tuple[Result, ...]) -> None:
        names = results[0].data
        self.queue.submit((GetData(f"{paths.BROKER_IDS}/{name}") for name in names), self._brokers_read, names)

    def _brokers_read(self, results: tuple[Result, ...], names: tuple[str, ...]) -> None:
        now = {int(name): result.created for name, result in zip(names, results, strict=True) if result.error == OK}
        gone = {broker: None for broker, epoch in self.context.live.items() if now.get(broker) != epoch}
        new = [broker for broker, epoch in now.items() if self.context.live.get(broker) != epoch]
        for broker in gone:
            del self.context.live[broker]
            self.channels.remove(broker)
            self.context.shutting_down.pop(broker, None)
            self.context.offline.pop(broker, None)
        if not gone:
            self._started(now, new)
            return
        self.partitions.mark_partitions_offline()
        reason = " ".join(f"b{broker}" for broker in gone) + " has no znode any more"
        hosted = [tp for tp in self.partitions.partitions_on_brokers(gone) if tp.topic not in self.context.topics_to_delete]
        self.partitions.trigger_online_state_change(
            reason, self.partitions.remove_replicas_from_isr, gone, hosted, reason, self._started, now, new
        )

    def _started(self, now: dict[int, int], new: list[int]) -> None:
        """Send all metadata to new brokers, and then elect leaders for offline partitions (`#onBrokerStartup`)."""
        for broker in new:
            self.context.live[broker] = now[broker]
            self.context.offline.pop(broker, None)
        self.requests.update_metadata(())
        if not new:
            self._resume_deletions()
            return
        self.requests.update_metadata(list(self.context.states), new)
        states, deleted = self.context.states, self.context.topics_to_delete
        tps = [tp for tp in self.partitions.partitions_on_brokers(new) if tp in states and tp.topic not in deleted]
        self.queue.submit((GetData(state_path(tp)) for tp in tps), self._send_roles, tps, new)

    def _send_roles(self, results: tuple[Result, ...], tps: list[TopicPartition], new: list[int]) -> None:
        self.context.take_states(results, tps)
        self.requests.leader_and_isr(tps, new)
        back = " ".join(f"b{broker}" for broker in new) + " is back"
        self.partitions.trigger_online_state_change(back, self._resume_reassignments, set(new))

    def _resume_reassignments(self, new: set[int]) -> None:
        self.reassignments.resume(self._resume_deletions, begin=new)

    def _resume_deletions(self) -> None:
        self.deletions.resume()
        self.queue.done()

    def send_roles(self, broker: int) -> None:
        """In by-hand mode, send roles to a broker whose process restarted without losing its session."""
        self.queue.put(self._read_states_of_broker, broker)

    def _read_states_of_broker(self, broker: int) -> None:
        tps = [tp for tp, state in self.context.states.items() if broker in state.replicas]
        self.queue.submit((GetData(state_path(tp)) for tp in tps), self._send_roles_to_broker, tps, broker)

    def _send_roles_to_broker(self, results: tuple[Result, ...], tps: list[TopicPartition], broker: int) -> None:
        self.context.take_states(results, tps)
        self.requests.leader_and_isr(tps, (broker,))
        self.queue.done()

    def handle_controlled_shutdown(self, request: ControlledShutdownRequest, sender: str) -> None:
        """Handle a broker's request to shut down. If this broker is not the controller, the response is NOT_CONTROLLER."""
        if not self.queue.active:
            self.broker.node.reply(sender, ControlledShutdownResponse(errors.NOT_CONTROLLER, -1))
            return
        self.queue.put(self._shut_down, request.broker, sender)

    def _shut_down(self, leaving: int, sender: str) -> None:
        """Elect other leaders for the partitions that a broker in shutdown leads, and stop its follower replicas
        (`#doControlledShutdown`)."""
        journal = self.journal
        if leaving not in self.context.shutting_down:
            journal.cause = journal.emit(events.ShutdownBegun.kind, leaving)
        self.context.shutting_down[leaving] = None
        moved = [tp for tp, state in self.context.states.items() if self._must_move(leaving, tp, state)]
        led = [tp for tp in moved if self.context.states[tp].leader == leaving]
        followed = [tp for tp in moved if self.context.states[tp].leader != leaving]
        self.partitions.change(
            led, self.partitions.elect_for_controlled_shutdown, f"b{leaving} shuts down", self._stop_followers, leaving, followed, sender
        )

    def _must_move(self, leaving: int, tp: TopicPartition, state: PartitionRegistration) -> bool:
        """Return whether a broker that is shutting down must give up its role as leader or follower of a partition. The broker keeps its
        role if it has the only replica, or if the topic is being deleted."""
        return leaving in state.replicas and len(state.replicas) > 1 and tp.topic not in self.context.topics_to_delete

    def _stop_followers(self, leaving: int, followed: list[TopicPartition], sender: str) -> None:
        self.requests.stop_replicas(leaving, followed, delete=False)
        self._remove_from_followed_isrs(leaving, followed, sender)

    def _remove_from_followed_isrs(self, leaving: int, followed: list[TopicPartition], sender: str) -> None:
        self.partitions.remove_replicas_from_isr((leaving,), followed, f"b{leaving} shuts down", self._respond_to_shutdown, leaving, sender)

    def _respond_to_shutdown(self, leaving: int, sender: str) -> None:
        states = self.context.states.items()
        remaining = sum(1 for tp, state in states if state.leader == leaving and self._must_move(leaving, tp, state))
        self.broker.node.reply(sender, ControlledShutdownResponse(errors.NONE, remaining))
        self.queue.done()

    # --- log directories -------------------------------------------------------------------------------------------

    def process_log_dir_event_notification(self) -> None:
        """Read the names of brokers that reported a failed log directory, and then ask these brokers which of their replicas are offline
        (`#processLogDirEventNotification`).
        """
        self.queue.submit((GetChildren(paths.LOG_DIR_EVENTS, watch=True),), self._log_dir_events_listed)

    def _log_dir_events_listed(self, results: tuple[Result, ...]) -> None:
        names = results[0].data
        self.queue.submit((GetData(f"{paths.LOG_DIR_EVENTS}/{name}") for name in names), self._log_dir_events_read, names)

    def _log_dir_events_read(self, results: tuple[Result, ...], names: tuple[str, ...]) -> None:
        """Send LeaderAndIsr with the current state to the brokers that reported a failed log directory (`#onBrokerLogDirFailure`).

        Each broker responds with KAFKA_STORAGE_ERROR for its offline replicas.
        """
        brokers = dict.fromkeys(result.data for result in results if result.error == OK and result.data in self.context.live)
        self.requests.leader_and_isr((tp for tp in self.partitions.partitions_on_brokers(brokers) if tp in self.context.states), brokers)
        self.queue.submit((Delete(f"{paths.LOG_DIR_EVENTS}/{name}") for name in names), self._log_dir_events_deleted)

    def _log_dir_events_deleted(self, _results: tuple[Result, ...]) -> None:
        self.queue.done()

    def handle_leader_and_isr_response(self, response: LeaderAndIsrResponse, sender: str) -> None:
        """Handle a broker's LeaderAndIsr response. If the broker reports offline replicas, or has reported some before, update the
        controller's record of them.

        Responses to requests from an earlier controller epoch are ignored.
        """
        self.channels.answered(sender, response.correlation)
        if not self.queue.active or response.error != errors.NONE or response.controller_epoch != self.context.epoch:
            return
        broker = int(sender[1:])
        if broker in self.context.offline or any(error == errors.KAFKA_STORAGE_ERROR for _, error in response.items):
            self.queue.put(self._replicas_offline, broker, response)

    def _replicas_offline(self, broker: int, response: LeaderAndIsrResponse) -> None:
        """Update a broker's offline replicas. Remove newly offline replicas from the ISRs, and elect new leaders for the partitions
        that these replicas led.

        Kafka: `#processLeaderAndIsrResponseReceived`, `#onReplicasBecomeOffline`.
        """
        if broker not in self.context.live:
            self.queue.done()
            return
        known = self.context.offline.get(broker, {})
        answers = dict(response.items)
        offline = {tp: None for tp in known if answers.get(tp) != errors.NONE}
        offline |= {tp: None for tp, error in answers.items() if error == errors.KAFKA_STORAGE_ERROR}
        self.context.offline[broker] = offline
        new = [tp for tp in offline if tp not in known]
        if not new:
            self.queue.done()
            return
        self.journal.cause = self.journal.emit(events.ReplicasOffline.kind, broker, len(new), len(offline))
        self.partitions.mark_partitions_offline()
        reason = f"a log directory of b{broker} has failed"
        self.partitions.trigger_online_state_change(
            reason, self.partitions.remove_replicas_from_isr, (broker,), new, reason, self.queue.done
        )

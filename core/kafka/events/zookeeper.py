"""Events of ZooKeeper clusters: sessions, the controller's elections, requests of a controller that has been replaced."""

from __future__ import annotations

from core.kafka.events.base import NOTABLE, Event, count_of
from core.sim.units import format_duration


class SessionExpired(Event, kind="session-expired", source="zookeeper.session.timeout.ms", level=NOTABLE):
    """A broker's ZooKeeper session expired: its ephemeral znodes are deleted."""

    broker: int
    silent_us: int
    limit_us: int

    def sentence(self) -> str:
        why = (
            ""
            if self.limit_us < 0
            else f": silent for {format_duration(self.silent_us)} (zookeeper.session.timeout.ms is {format_duration(self.limit_us)})"
        )
        return f"ZooKeeper deleted the session and znodes of b{self.broker}{why}"


class BrokerJoined(Event, kind="broker-joined", source="KafkaZkClient#registerBroker", level=NOTABLE):
    """A broker's znode was created: the broker counts as alive."""

    broker: int
    broker_epoch: int

    def sentence(self) -> str:
        return f"b{self.broker} is alive: its znode /brokers/ids/{self.broker} was created (zxid {self.broker_epoch})"


class BrokerLeft(Event, kind="broker-left", source="KafkaController#processBrokerChange", level=NOTABLE):
    """A broker's znode was deleted."""

    broker: int
    broker_epoch: int

    def sentence(self) -> str:
        return f"b{self.broker} is gone: its znode /brokers/ids/{self.broker} was deleted; the controller elects new leaders where it led"


class ControllerRequestRefused(Event, kind="controller-request-refused", source="ReplicaManager#becomeLeaderOrFollower", level=NOTABLE):
    """A broker refused a request from a controller that has been replaced."""

    broker: int
    sender: int
    request: str
    controller_epoch: int
    known_epoch: int

    def sentence(self) -> str:
        return (
            f"b{self.broker} refused {self.request} from b{self.sender}: STALE_CONTROLLER_EPOCH, "
            f"controller epoch {self.controller_epoch} is older than {self.known_epoch}"
        )


class LeaderAndIsrIgnored(Event, kind="leader-and-isr-ignored", source="ReplicaManager#becomeLeaderOrFollower"):
    """A broker ignored a role in a partition, because it already has that leader epoch or a newer one."""

    broker: int
    topic: str
    partition: int
    leader_epoch: int
    known_epoch: int

    def sentence(self) -> str:
        return (
            f"b{self.broker} ignored LeaderAndIsr for {self.topic}-{self.partition}: "
            f"leader epoch {self.leader_epoch} is not newer than its own, {self.known_epoch}"
        )


class LeaderUnavailable(Event, kind="leader-unavailable", source="ReplicaManager#makeFollowers"):
    """A broker cannot follow a leader that is not alive, or none: it stays what it was (`old_leader`, `old_epoch`; -1: nothing)."""

    broker: int
    topic: str
    partition: int
    leader: int
    leader_epoch: int
    old_leader: int
    old_epoch: int

    def sentence(self) -> str:
        whom = "there is no leader" if self.leader < 0 else f"b{self.leader} is not alive"
        if self.old_leader == self.broker:
            stays = f"still considers itself the leader in epoch {self.old_epoch}"
        elif self.old_leader < 0:
            stays = "has the log but follows no leader"
        else:
            stays = f"still follows b{self.old_leader} in epoch {self.old_epoch}"
        return f"b{self.broker} cannot become a follower of {self.tp} in epoch {self.leader_epoch}: {whom}; b{self.broker} {stays}"


class ReplicasOffline(Event, kind="replicas-offline", source="KafkaController#processLeaderAndIsrResponseReceived", level=NOTABLE):
    """A broker answered LeaderAndIsr with KAFKA_STORAGE_ERROR: the controller elects other leaders for what is in its failed log directory."""

    broker: int
    partitions: int
    offline: int

    def sentence(self) -> str:
        return (
            f"b{self.broker} answered LeaderAndIsr for {count_of(self.partitions, 'partition')} with KAFKA_STORAGE_ERROR, "
            f"so {count_of(self.offline, 'replica is', 'replicas are')} offline there"
        )


class IsrChangesPublished(Event, kind="isr-changes-published", source="ReplicaManager#maybePropagateIsrChanges"):
    """A leader tells the controller in which partitions it has changed the ISR."""

    broker: int
    partitions: int
    rested_us: int
    since_us: int

    def sentence(self) -> str:
        return (
            f"b{self.broker} published ISR changes of {count_of(self.partitions, 'partition')}: the last change was "
            f"{format_duration(self.rested_us)} ago (due after 5s), the last publication {format_duration(self.since_us)} ago (due after 60s)"
        )

"""Events of ZooKeeper clusters: sessions, the controller's elections, requests of a controller that has been replaced."""

from __future__ import annotations

from core.kafka.events.base import NOTABLE, Event, leader_name
from core.sim.units import format_duration


class SessionExpired(Event, kind="session-expired", source="zookeeper.session.timeout.ms", level=NOTABLE):
    """A broker's ZooKeeper session expired: its ephemeral znodes go."""

    broker: int
    silent_us: int
    limit_us: int

    def sentence(self) -> str:
        why = (
            ""
            if self.limit_us < 0
            else f": nothing heard for {format_duration(self.silent_us)}, zookeeper.session.timeout.ms is {format_duration(self.limit_us)}"
        )
        return f"ZooKeeper ends the session of b{self.broker}{why}; /brokers/ids/{self.broker} goes, and /controller if it held it"


class BrokerJoined(Event, kind="broker-joined", source="KafkaZkClient#registerBroker", level=NOTABLE):
    """A broker's znode is there: the controller counts it among the living."""

    broker: int
    broker_epoch: int

    def sentence(self) -> str:
        return f"/brokers/ids/{self.broker} is there: b{self.broker} lives (zxid {self.broker_epoch})"


class BrokerLeft(Event, kind="broker-left", source="KafkaController#processBrokerChange", level=NOTABLE):
    """A broker's znode is gone."""

    broker: int
    broker_epoch: int

    def sentence(self) -> str:
        return f"/brokers/ids/{self.broker} is gone: the controller will elect others where b{self.broker} led, and take it out of the ISRs"


class ControllerRequestRefused(Event, kind="controller-request-refused", source="ReplicaManager#becomeLeaderOrFollower", level=NOTABLE):
    """A broker refused a request of a controller that has been replaced."""

    broker: int
    sender: int
    request: str
    controller_epoch: int
    known_epoch: int

    def sentence(self) -> str:
        return (
            f"b{self.broker} refuses {self.request} from b{self.sender}: STALE_CONTROLLER_EPOCH, it was sent in controller epoch "
            f"{self.controller_epoch}, and there has been {self.known_epoch}"
        )


class LeaderAndIsrIgnored(Event, kind="leader-and-isr-ignored", source="ReplicaManager#becomeLeaderOrFollower"):
    """A broker ignored its role in a partition: it knows a newer leader epoch."""

    broker: int
    topic: str
    partition: int
    leader_epoch: int
    known_epoch: int

    def sentence(self) -> str:
        return (
            f"b{self.broker} ignores LeaderAndIsr for {self.topic}-{self.partition}: leader epoch {self.leader_epoch}, "
            f"and it is in {self.known_epoch} already"
        )


class LeaderUnavailable(Event, kind="leader-unavailable", source="ReplicaManager#makeFollowers"):
    """A broker was told to follow a leader that does not live, or nobody: it stays what it was (`old_leader`, `old_epoch`; -1: nothing)."""

    broker: int
    topic: str
    partition: int
    leader: int
    leader_epoch: int
    old_leader: int
    old_epoch: int

    def sentence(self) -> str:
        whom = "nobody leads" if self.leader < 0 else f"b{self.leader} does not live"
        if self.old_leader == self.broker:
            stays = f"stays leader in epoch {self.old_epoch}, as it believes"
        elif self.old_leader < 0:
            stays = "has the log, and follows nobody"
        else:
            stays = f"stays with {leader_name(self.old_leader)} in epoch {self.old_epoch}"
        return f"b{self.broker} cannot become follower of {self.tp} in epoch {self.leader_epoch}: {whom}; it {stays}"


class ReplicasOffline(Event, kind="replicas-offline", source="KafkaController#processLeaderAndIsrResponseReceived", level=NOTABLE):
    """A broker has answered LeaderAndIsr with KAFKA_STORAGE_ERROR: the controller moves what is in its failed log directory."""

    broker: int
    partitions: int
    offline: int

    def sentence(self) -> str:
        return (
            f"b{self.broker} answers LeaderAndIsr for {self.partitions} partitions KAFKA_STORAGE_ERROR: their replicas there are in a failed "
            f"log directory ({self.offline} in all); the controller takes them out of the ISRs and elects others where they led"
        )


class IsrChangesPublished(Event, kind="isr-changes-published", source="ReplicaManager#maybePropagateIsrChanges"):
    """A leader tells the controller which partitions' ISRs it has changed."""

    broker: int
    partitions: int
    rested_us: int
    since_us: int

    def sentence(self) -> str:
        many = "1 partition" if self.partitions == 1 else f"{self.partitions} partitions"
        return (
            f"b{self.broker} publishes ISR changes of {many}: the last one has rested {format_duration(self.rested_us)} (5 s are asked), "
            f"{format_duration(self.since_us)} after it last published (60 s at most)"
        )

"""Events in clusters with ZooKeeper: sessions, znodes, and requests from the controller."""

from __future__ import annotations

from core.kafka.events.base import BROKER, NOTABLE, NOTHING, Event, ReplicaEvent, count_of
from core.sim.units import SECOND, format_duration


class SessionExpired(Event, kind="session-expired", source="zookeeper.session.timeout.ms", level=NOTABLE, changes=BROKER):
    """A broker's ZooKeeper session expired, and its ephemeral znodes were deleted."""

    broker: int
    silent_us: int
    limit_us: int

    def sentence(self) -> str:
        why = (
            ""
            if self.limit_us < 0
            else f", which was silent for {format_duration(self.silent_us)} (zookeeper.session.timeout.ms is {format_duration(self.limit_us)})"
        )
        return f"ZooKeeper deleted the session and znodes of b{self.broker}{why}"


class BrokerJoined(Event, kind="broker-joined", source="KafkaZkClient#registerBroker", level=NOTABLE, changes=BROKER):
    """A broker's znode was created. From now on, the broker counts as alive."""

    broker: int
    broker_epoch: int

    template = "b{broker} is alive: its znode /brokers/ids/{broker} was created (zxid {broker_epoch})"


class BrokerLeft(Event, kind="broker-left", source="KafkaController#processBrokerChange", level=NOTABLE, changes=BROKER):
    """A broker's znode was deleted."""

    broker: int
    broker_epoch: int

    template = (
        "b{broker} is no longer alive: its znode /brokers/ids/{broker} was deleted; the controller elects new leaders for its partitions"
    )


class ControllerRequestRefused(
    Event, kind="controller-request-refused", source="ReplicaManager#becomeLeaderOrFollower", level=NOTABLE, changes=NOTHING
):
    """A broker refused a request from a controller that had been replaced."""

    broker: int
    sender: int
    request: str
    controller_epoch: int
    known_epoch: int

    template = "b{broker} refused {request} from b{sender}: STALE_CONTROLLER_EPOCH (controller epoch {controller_epoch} is older than {known_epoch})"


class LeaderAndIsrIgnored(ReplicaEvent, kind="leader-and-isr-ignored", source="ReplicaManager#becomeLeaderOrFollower"):
    """A broker ignored a LeaderAndIsr request for a partition, because it already has that leader epoch or a newer one."""

    leader_epoch: int
    known_epoch: int

    template = "b{broker} ignored LeaderAndIsr for {topic}-{partition}: leader epoch {leader_epoch} is not newer than the broker's own ({known_epoch})"


class LeaderUnavailable(ReplicaEvent, kind="leader-unavailable", source="ReplicaManager#makeFollowers"):
    """A broker cannot become a follower, because the leader is not alive or the partition has no leader.

    The broker keeps its previous role and still follows `old_leader` in `old_epoch`. If the broker had no role in the partition, both
    columns are -1.
    """

    leader: int
    leader_epoch: int
    old_leader: int
    old_epoch: int

    def sentence(self) -> str:
        whom = "the partition has no leader" if self.leader < 0 else f"b{self.leader} is not alive"
        if self.old_leader == self.broker:
            stays = f"still considers itself the leader in epoch {self.old_epoch}"
        elif self.old_leader < 0:
            stays = "has the log but follows no leader"
        else:
            stays = f"still follows b{self.old_leader} in epoch {self.old_epoch}"
        return f"b{self.broker} cannot become a follower of {self.tp} in epoch {self.leader_epoch}: {whom}; b{self.broker} {stays}"


class FetcherAwaited(Event, kind="fetcher-awaited", source="AbstractFetcherManager#shutdownIdleFetcherThreads", changes=BROKER):
    """A broker stopped a fetcher whose last fetch has no response yet (before 1.1).

    The broker handles no other request of the controller until the leader responds, the fetch times out, or the connection breaks.
    """

    broker: int
    leader: int

    def sentence(self) -> str:
        return f"b{self.broker} waits for the response to its last fetch from b{self.leader} before it handles another request of the controller"


class ReplicasOffline(
    Event, kind="replicas-offline", source="KafkaController#processLeaderAndIsrResponseReceived", level=NOTABLE, changes=BROKER
):
    """A broker answered LeaderAndIsr with KAFKA_STORAGE_ERROR.

    The controller elects new leaders for the partitions in the broker's failed log directory.
    """

    broker: int
    partitions: int
    offline: int

    def sentence(self) -> str:
        return (
            f"b{self.broker} answered LeaderAndIsr for {count_of(self.partitions, 'partition')} with KAFKA_STORAGE_ERROR, "
            f"so {count_of(self.offline, 'replica')} on b{self.broker} {'is' if self.offline == 1 else 'are'} offline"
        )


class IsrChangesPublished(Event, kind="isr-changes-published", source="ReplicaManager#maybePropagateIsrChanges", changes=BROKER):
    """A leader informed the controller about the partitions whose ISRs it has changed."""

    broker: int
    partitions: int
    rested_us: int
    since_us: int

    def sentence(self) -> str:
        what, us = ("change", self.rested_us) if self.rested_us > 5 * SECOND else ("publication", self.since_us)
        return (
            f"b{self.broker} published ISR changes of {count_of(self.partitions, 'partition')}, {format_duration(us)} after the last {what}"
        )

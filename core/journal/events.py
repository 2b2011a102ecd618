"""The kinds of events, their columns, and the sentence that explains each.

An event in flight is a plain tuple `(seq, time, cause, kind, *columns)`: `seq` counts from 1 in a session, `time` is
virtual µs, `cause` is the seq of the event that led to this one (0: none, a timer of its own), `kind` the string below.
Columns follow in the order of the class's fields. Across kinds a column name always has the same type, so that all
kinds fit one wide table. Offsets are Kafka's: `to_offset` is exclusive. Ids -1 mean none.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar, Final

import attrs

from core.units import format_duration

EventTuple = tuple  # (int, int, int, str, *columns)
"""A recorded event as a plain tuple."""

DETAIL: Final = 0
"""Level of events that every round trip makes."""
NORMAL: Final = 1
"""Level of ordinary traffic worth a line."""
NOTABLE: Final = 2
"""Level of events people look for: elections, ISR changes, truncations, errors, losses."""


@attrs.frozen
class Event:
    """Base of all kinds.

    `kind` is the name in the log, `level` how notable, `source` the Kafka class, method or KIP to read on.
    """

    kind: ClassVar[str] = ""
    level: ClassVar[int] = NORMAL
    source: ClassVar[str] = ""

    def sentence(self) -> str:
        """What happened and why, as a colleague would say it, with the numbers in it."""
        raise NotImplementedError(self.kind)


def _at(topic: str, partition: int) -> str:
    return f"{topic}-{partition}"


def _ids(ids: Sequence[int]) -> str:
    return "[" + ",".join(str(i) for i in ids) + "]"


def _records(count: int) -> str:
    return "1 record" if count == 1 else f"{count:,} records"


def _offsets(start: int, end: int) -> str:
    return f"offset {start}" if end == start + 1 else f"offsets {start}–{end - 1}"


def _leader(leader: int) -> str:
    return "nobody" if leader < 0 else f"b{leader}"


# --- what people did -----------------------------------------------------------------------------------------------


@attrs.frozen
class Acted(Event):
    """Somebody did something; `args` are the act's fields as JSON."""

    kind: ClassVar[str] = "act"
    level: ClassVar[int] = NOTABLE
    act: str
    args: str

    def sentence(self) -> str:
        return f"You: {self.act} {self.args}" if self.args != "{}" else f"You: {self.act}"


@attrs.frozen
class SettingChanged(Event):
    """A setting has a new value in force; `subject` is the broker or topic, empty for the whole cluster."""

    kind: ClassVar[str] = "setting-changed"
    level: ClassVar[int] = NOTABLE
    source: ClassVar[str] = "DynamicBrokerConfig, KIP-226"
    name: str
    subject: str
    old: str
    new: str

    def sentence(self) -> str:
        where = f" for {self.subject}" if self.subject else ""
        return f"{self.name} is now {self.new}{where} (it was {self.old})"


# --- brokers -------------------------------------------------------------------------------------------------------


@attrs.frozen
class BrokerStopped(Event):
    """A broker's process ended; `how`: killed, power-loss or shutdown."""

    kind: ClassVar[str] = "broker-stopped"
    level: ClassVar[int] = NOTABLE
    broker: int
    how: str

    def sentence(self) -> str:
        tail = {
            "killed": "was killed; its logs stay, nobody was told: the controller notices when its session expires",
            "power-loss": "lost power; what was not flushed is gone",
            "shutdown": "has shut down in good order, its high watermarks are on disk",
        }
        return f"b{self.broker} {tail[self.how]}"


@attrs.frozen
class UnflushedLost(Event):
    """The tail of a log went with the machine's page cache."""

    kind: ClassVar[str] = "unflushed-lost"
    level: ClassVar[int] = NOTABLE
    source: ClassVar[str] = "log.flush.interval.messages"
    broker: int
    topic: str
    partition: int
    from_offset: int
    to_offset: int

    def sentence(self) -> str:
        return f"b{self.broker} lost {_offsets(self.from_offset, self.to_offset)} of {_at(self.topic, self.partition)}: not flushed when the power went"


@attrs.frozen
class BrokerStarted(Event):
    """A broker's process runs again; `recovery_us` is spent on log recovery when there was no clean-shutdown file."""

    kind: ClassVar[str] = "broker-started"
    level: ClassVar[int] = NOTABLE
    source: ClassVar[str] = "LogManager#loadLogs"
    broker: int
    clean: bool
    recovery_us: int

    def sentence(self) -> str:
        if self.clean:
            return f"b{self.broker} starts: clean-shutdown file found, recovery skipped; high watermarks come from the checkpoint"
        return f"b{self.broker} starts: no clean-shutdown file, logs recovered in {format_duration(self.recovery_us)}; high watermarks come from the last checkpoint"


@attrs.frozen
class BrokerPaused(Event):
    """A broker's process stands still."""

    kind: ClassVar[str] = "broker-paused"
    level: ClassVar[int] = NOTABLE
    broker: int

    def sentence(self) -> str:
        return f"b{self.broker} stands still (as in a long GC pause): it handles and sends nothing, but believes what it believed"


@attrs.frozen
class BrokerResumed(Event):
    """A paused process goes on."""

    kind: ClassVar[str] = "broker-resumed"
    level: ClassVar[int] = NOTABLE
    broker: int
    paused_us: int

    def sentence(self) -> str:
        return f"b{self.broker} goes on after {format_duration(self.paused_us)}"


@attrs.frozen
class BrokerRegistered(Event):
    """The controller gave a broker a new epoch; it stays fenced until it has caught up with the metadata."""

    kind: ClassVar[str] = "broker-registered"
    source: ClassVar[str] = "ClusterControlManager#registerBroker"
    broker: int
    broker_epoch: int

    def sentence(self) -> str:
        return f"the controller registered b{self.broker} with broker epoch {self.broker_epoch}; fenced until it has the metadata"


@attrs.frozen
class RegistrationRefused(Event):
    """The controller refused a registration."""

    kind: ClassVar[str] = "registration-refused"
    source: ClassVar[str] = "ClusterControlManager#registerBroker"
    broker: int
    error: str

    def sentence(self) -> str:
        return f"the controller refused to register b{self.broker}: {self.error} (its former session is still valid); it tries again"


@attrs.frozen
class BrokerFenced(Event):
    """A broker's session expired, or it was fenced by hand."""

    kind: ClassVar[str] = "broker-fenced"
    level: ClassVar[int] = NOTABLE
    source: ClassVar[str] = "ReplicationControlManager#handleBrokerFenced"
    broker: int
    silent_us: int
    limit_us: int

    def sentence(self) -> str:
        if self.limit_us < 0:
            return f"the controller fenced b{self.broker}: it leaves every ISR, its leaderships are elected anew"
        return (
            f"the controller fenced b{self.broker}: no heartbeat for {format_duration(self.silent_us)}, more than "
            f"broker.session.timeout.ms {format_duration(self.limit_us)}; it leaves every ISR, its leaderships are elected anew"
        )


@attrs.frozen
class BrokerUnfenced(Event):
    """A registered broker has caught up with the metadata and may lead again; it re-enters no ISR by this."""

    kind: ClassVar[str] = "broker-unfenced"
    level: ClassVar[int] = NOTABLE
    source: ClassVar[str] = "ReplicationControlManager#handleBrokerUnfenced"
    broker: int

    def sentence(self) -> str:
        return f"b{self.broker} is unfenced: it may lead again; into an ISR it comes only by fetching up to the high watermark"


@attrs.frozen
class ShutdownBegun(Event):
    """A broker asked for controlled shutdown."""

    kind: ClassVar[str] = "shutdown-begun"
    level: ClassVar[int] = NOTABLE
    source: ClassVar[str] = "ReplicationControlManager#handleBrokerInControlledShutdown"
    broker: int

    def sentence(self) -> str:
        return f"b{self.broker} asks for controlled shutdown: it leaves every ISR and its leaderships move first"


@attrs.frozen
class HighWatermarksCheckpointed(Event):
    """A broker wrote `replication-offset-checkpoint`; `partitions` counts those that changed."""

    kind: ClassVar[str] = "checkpoint"
    level: ClassVar[int] = DETAIL
    source: ClassVar[str] = "ReplicaManager#checkpointHighWatermarks"
    broker: int
    partitions: int

    def sentence(self) -> str:
        return f"b{self.broker} wrote {self.partitions} changed high watermarks to replication-offset-checkpoint"


# --- network -------------------------------------------------------------------------------------------------------


@attrs.frozen
class LinkCut(Event):
    """Messages from `src` to `dst` are dropped from now on."""

    kind: ClassVar[str] = "link-cut"
    level: ClassVar[int] = NOTABLE
    src: str
    dst: str

    def sentence(self) -> str:
        return f"the link {self.src} → {self.dst} is cut"


@attrs.frozen
class LinkHealed(Event):
    """Messages from `src` to `dst` arrive again."""

    kind: ClassVar[str] = "link-healed"
    level: ClassVar[int] = NOTABLE
    src: str
    dst: str

    def sentence(self) -> str:
        return f"the link {self.src} → {self.dst} works again"


@attrs.frozen
class LinkChanged(Event):
    """A link's quality changed."""

    kind: ClassVar[str] = "link-changed"
    level: ClassVar[int] = NOTABLE
    src: str
    dst: str
    latency_us: int
    jitter_us: int
    loss_ppm: int

    def sentence(self) -> str:
        return (
            f"the link {self.src} → {self.dst} now takes {format_duration(self.latency_us)}"
            + (f" ± {format_duration(self.jitter_us)}" if self.jitter_us else "")
            + (f" and loses {self.loss_ppm / 10_000:g} % of messages" if self.loss_ppm else "")
        )


@attrs.frozen
class LinkHeld(Event):
    """Messages from `src` to `dst` are held back."""

    kind: ClassVar[str] = "link-held"
    level: ClassVar[int] = NOTABLE
    src: str
    dst: str

    def sentence(self) -> str:
        return f"messages {self.src} → {self.dst} are held back"


@attrs.frozen
class LinkReleased(Event):
    """Held messages are delivered."""

    kind: ClassVar[str] = "link-released"
    level: ClassVar[int] = NOTABLE
    src: str
    dst: str
    messages: int

    def sentence(self) -> str:
        return f"{self.messages} held messages {self.src} → {self.dst} are let go"


# --- controller ----------------------------------------------------------------------------------------------------


@attrs.frozen
class TopicCreated(Event):
    """A topic exists; its partitions follow as `partition-changed`."""

    kind: ClassVar[str] = "topic-created"
    level: ClassVar[int] = NOTABLE
    source: ClassVar[str] = "ReplicationControlManager#createTopic"
    topic: str
    topic_id: str
    partitions: int
    replication_factor: int

    def sentence(self) -> str:
        return f"topic {self.topic}: {self.partitions} partitions, replication factor {self.replication_factor}"


@attrs.frozen
class TopicRefused(Event):
    """A topic was refused; nothing was created."""

    kind: ClassVar[str] = "topic-refused"
    level: ClassVar[int] = NOTABLE
    source: ClassVar[str] = "ReplicationControlManager#createTopic"
    topic: str
    error: str
    message: str

    def sentence(self) -> str:
        return f"topic {self.topic} refused, nothing created: {self.error}: {self.message}"


@attrs.frozen
class PartitionChanged(Event):
    """The controller committed a partition's new state: the whole of it, as `PartitionRegistration` holds it."""

    kind: ClassVar[str] = "partition-changed"
    source: ClassVar[str] = "PartitionChangeBuilder#build"
    topic: str
    partition: int
    leader: int
    leader_epoch: int
    partition_epoch: int
    replicas: tuple[int, ...]
    isr: tuple[int, ...]
    elr: tuple[int, ...]
    last_known_elr: tuple[int, ...]
    adding: tuple[int, ...]
    removing: tuple[int, ...]
    recovering: bool
    reason: str

    def sentence(self) -> str:
        elr = f", ELR {_ids(self.elr)}" if self.elr else ""
        return (
            f"{_at(self.topic, self.partition)}: leader {_leader(self.leader)}, ISR {_ids(self.isr)}{elr}, leader epoch "
            f"{self.leader_epoch}, partition epoch {self.partition_epoch} ({self.reason})"
        )


@attrs.frozen
class LeaderElected(Event):
    """A leader was elected; `election`: clean, unclean, preferred, eligible (from the ELR) or last-known."""

    kind: ClassVar[str] = "leader-elected"
    level: ClassVar[int] = NOTABLE
    source: ClassVar[str] = "PartitionChangeBuilder#electLeader"
    topic: str
    partition: int
    leader: int
    old_leader: int
    leader_epoch: int
    isr: tuple[int, ...]
    election: str
    reason: str

    def sentence(self) -> str:
        name = _at(self.topic, self.partition)
        how = {
            "clean": "the first live ISR member in replica order",
            "preferred": "its preferred replica, in the ISR",
            "unclean": "outside the ISR, because unclean.leader.election.enable is true: what it lacks is lost",
            "eligible": "from the eligible leader replicas: it holds all that is committed",
            "last-known": "the last known leader: ISR and ELR are both empty",
        }
        return f"b{self.leader} leads {name} in epoch {self.leader_epoch} after {_leader(self.old_leader)}: {how[self.election]} ({self.reason})"


@attrs.frozen
class PartitionOffline(Event):
    """No replica may lead: the partition serves nothing until an ISR (or eligible) member returns."""

    kind: ClassVar[str] = "partition-offline"
    level: ClassVar[int] = NOTABLE
    source: ClassVar[str] = "PartitionChangeBuilder#electLeader"
    topic: str
    partition: int
    old_leader: int
    leader_epoch: int
    isr: tuple[int, ...]
    reason: str

    def sentence(self) -> str:
        return (
            f"{_at(self.topic, self.partition)} is offline: no live member of ISR {_ids(self.isr)}, and "
            f"unclean.leader.election.enable is false ({self.reason})"
        )


@attrs.frozen
class ElectionRefused(Event):
    """An election that somebody asked for was refused."""

    kind: ClassVar[str] = "election-refused"
    source: ClassVar[str] = "ReplicationControlManager#electLeaders"
    topic: str
    partition: int
    election: str
    error: str

    def sentence(self) -> str:
        return f"{self.election} election of {_at(self.topic, self.partition)} refused: {self.error}"


@attrs.frozen
class AlterPartitionRefused(Event):
    """The controller refused an ISR that a leader proposed."""

    kind: ClassVar[str] = "alter-partition-refused"
    level: ClassVar[int] = NOTABLE
    source: ClassVar[str] = "ReplicationControlManager#validateAlterPartitionData"
    broker: int
    topic: str
    partition: int
    isr: tuple[int, ...]
    error: str

    def sentence(self) -> str:
        return f"the controller refused ISR {_ids(self.isr)} of {_at(self.topic, self.partition)} from b{self.broker}: {self.error}"


# --- replicas ------------------------------------------------------------------------------------------------------


@attrs.frozen
class BecameLeader(Event):
    """A broker took up leadership: its log is now what counts."""

    kind: ClassVar[str] = "became-leader"
    source: ClassVar[str] = "Partition#makeLeader"
    broker: int
    topic: str
    partition: int
    leader_epoch: int
    offset: int
    high_watermark: int
    isr: tuple[int, ...]

    def sentence(self) -> str:
        return (
            f"b{self.broker} leads {_at(self.topic, self.partition)} from offset {self.offset} in epoch {self.leader_epoch}; "
            f"it keeps its own high watermark {self.high_watermark}"
        )


@attrs.frozen
class BecameFollower(Event):
    """A broker follows a leader; `offset` is its LEO."""

    kind: ClassVar[str] = "became-follower"
    source: ClassVar[str] = "Partition#makeFollower"
    broker: int
    topic: str
    partition: int
    leader: int
    leader_epoch: int
    offset: int
    high_watermark: int

    def sentence(self) -> str:
        return (
            f"b{self.broker} follows {_leader(self.leader)} for {_at(self.topic, self.partition)} in epoch {self.leader_epoch}, "
            f"with LEO {self.offset} and high watermark {self.high_watermark}"
        )


@attrs.frozen
class Appended(Event):
    """A leader appended a produced batch."""

    kind: ClassVar[str] = "append"
    level: ClassVar[int] = NORMAL
    source: ClassVar[str] = "Partition#appendRecordsToLeader"
    broker: int
    topic: str
    partition: int
    leader_epoch: int
    from_offset: int
    to_offset: int
    bytes: int
    producer: str
    acks: int

    def sentence(self) -> str:
        acks = "all" if self.acks < 0 else str(self.acks)
        return (
            f"b{self.broker} appended {_offsets(self.from_offset, self.to_offset)} of {self.producer} to "
            f"{_at(self.topic, self.partition)} (acks={acks}): LEO {self.to_offset}"
        )


@attrs.frozen
class AppendRefused(Event):
    """A leader (or a broker that is none) refused a produced batch; nothing was appended."""

    kind: ClassVar[str] = "append-refused"
    level: ClassVar[int] = NOTABLE
    source: ClassVar[str] = "Partition#appendRecordsToLeader"
    broker: int
    topic: str
    partition: int
    producer: str
    records: int
    error: str
    isr: tuple[int, ...]
    min_isr: int

    def sentence(self) -> str:
        why = f": ISR {_ids(self.isr)} is smaller than min.insync.replicas {self.min_isr}" if self.error == "NOT_ENOUGH_REPLICAS" else ""
        return f"b{self.broker} refused {_records(self.records)} of {self.producer} for {_at(self.topic, self.partition)}, nothing appended: {self.error}{why}"


@attrs.frozen
class FollowerFetched(Event):
    """The leader learned how far a follower's log reaches: the offset its fetch asks from."""

    kind: ClassVar[str] = "follower-fetched"
    level: ClassVar[int] = DETAIL
    source: ClassVar[str] = "Partition#updateFollowerFetchState"
    broker: int
    topic: str
    partition: int
    follower: int
    old_offset: int
    new_offset: int

    def sentence(self) -> str:
        return f"b{self.follower} asked b{self.broker} for {_at(self.topic, self.partition)} from offset {self.new_offset}: so it holds all below"


@attrs.frozen
class FollowerAppended(Event):
    """A follower appended what it was handed; `high_watermark` is its own after that."""

    kind: ClassVar[str] = "follower-append"
    level: ClassVar[int] = DETAIL
    source: ClassVar[str] = "ReplicaFetcherThread#processPartitionData"
    broker: int
    topic: str
    partition: int
    leader: int
    from_offset: int
    to_offset: int
    high_watermark: int

    def sentence(self) -> str:
        return (
            f"b{self.broker} copied {_offsets(self.from_offset, self.to_offset)} of {_at(self.topic, self.partition)} from "
            f"b{self.leader}: LEO {self.to_offset}, high watermark {self.high_watermark}"
        )


@attrs.frozen
class FollowerHighWatermark(Event):
    """A follower's high watermark moved without new records."""

    kind: ClassVar[str] = "follower-high-watermark"
    level: ClassVar[int] = DETAIL
    source: ClassVar[str] = "UnifiedLog#maybeUpdateHighWatermark"
    broker: int
    topic: str
    partition: int
    old_offset: int
    new_offset: int

    def sentence(self) -> str:
        return f"b{self.broker} learned the high watermark of {_at(self.topic, self.partition)}: {self.old_offset} → {self.new_offset}"


@attrs.frozen
class HighWatermarkAdvanced(Event):
    """A leader's high watermark rose; `held_by` is the replica with the smallest LEO that counts."""

    kind: ClassVar[str] = "high-watermark"
    level: ClassVar[int] = NORMAL
    source: ClassVar[str] = "Partition#maybeIncrementLeaderHW"
    broker: int
    topic: str
    partition: int
    leader_epoch: int
    old_offset: int
    new_offset: int
    held_by: int

    def sentence(self) -> str:
        why = (
            "every replica that counts has all"
            if self.held_by == self.broker
            else f"b{self.held_by} has fetched up to there, the others further"
        )
        return f"high watermark of {_at(self.topic, self.partition)} {self.old_offset} → {self.new_offset} on b{self.broker}: {why}"


@attrs.frozen
class EpochAnswered(Event):
    """A follower asked where its last epoch ends (OffsetsForLeaderEpoch) and was told (`epoch`, `end_offset`)."""

    kind: ClassVar[str] = "epoch-answered"
    source: ClassVar[str] = "AbstractFetcherThread#getOffsetTruncationState, KIP-101, KIP-279"
    broker: int
    topic: str
    partition: int
    leader: int
    asked_epoch: int
    epoch: int
    end_offset: int

    def sentence(self) -> str:
        return (
            f"b{self.broker} asked b{self.leader} where epoch {self.asked_epoch} of {_at(self.topic, self.partition)} ends: "
            f"epoch {self.epoch} ends at {self.end_offset}"
        )


@attrs.frozen
class Truncated(Event):
    """A replica cut its log to `from_offset`; it reached to `to_offset`. `rule`: high-watermark, leader-epoch, diverging-epoch or out-of-range."""

    kind: ClassVar[str] = "truncated"
    level: ClassVar[int] = NOTABLE
    source: ClassVar[str] = "UnifiedLog#truncateTo"
    broker: int
    topic: str
    partition: int
    leader: int
    from_offset: int
    to_offset: int
    high_watermark: int
    rule: str

    def sentence(self) -> str:
        why = {
            "high-watermark": "before 0.11 a follower cuts to its own high watermark",
            "leader-epoch": f"b{self.leader} said where the follower's last epoch ends (KIP-101)",
            "diverging-epoch": f"b{self.leader} answered the fetch with a diverging epoch (KIP-595)",
            "out-of-range": f"the log of b{self.leader} ends there",
        }
        return (
            f"b{self.broker} truncated {_at(self.topic, self.partition)} from {self.to_offset} to {self.from_offset} "
            f"({_offsets(self.from_offset, self.to_offset)} gone from it): {why[self.rule]}"
        )


@attrs.frozen
class FetchFailed(Event):
    """A follower's fetch came back with an error; it tries again after replica.fetch.backoff.ms, or waits for metadata."""

    kind: ClassVar[str] = "fetch-failed"
    source: ClassVar[str] = "AbstractFetcherThread#processFetchRequest"
    broker: int
    topic: str
    partition: int
    leader: int
    error: str

    def sentence(self) -> str:
        return f"b{self.broker} could not fetch {_at(self.topic, self.partition)} from b{self.leader}: {self.error}"


@attrs.frozen
class FetcherDisconnected(Event):
    """A follower lost the connection to a leader; all partitions of that fetcher back off."""

    kind: ClassVar[str] = "fetcher-disconnected"
    level: ClassVar[int] = DETAIL
    source: ClassVar[str] = "ReplicaFetcherBlockingSend"
    broker: int
    leader: int
    partitions: int
    error: str

    def sentence(self) -> str:
        return (
            f"b{self.broker} got no answer from b{self.leader} ({self.error}): {self.partitions} partitions wait replica.fetch.backoff.ms"
        )


# --- the ISR -------------------------------------------------------------------------------------------------------


@attrs.frozen
class IsrShrinkProposed(Event):
    """A leader asks the controller to drop followers that have not caught up in time."""

    kind: ClassVar[str] = "isr-shrink-proposed"
    source: ClassVar[str] = "Partition#maybeShrinkIsr"
    broker: int
    topic: str
    partition: int
    isr: tuple[int, ...]
    out: tuple[int, ...]
    lag_us: int
    limit_us: int

    def sentence(self) -> str:
        return (
            f"b{self.broker} wants {_ids(self.out)} out of the ISR of {_at(self.topic, self.partition)}: last caught up "
            f"{format_duration(self.lag_us)} ago, replica.lag.time.max.ms allows {format_duration(self.limit_us)}"
        )


@attrs.frozen
class IsrExpandProposed(Event):
    """A leader asks the controller to take a follower in that has reached the high watermark."""

    kind: ClassVar[str] = "isr-expand-proposed"
    source: ClassVar[str] = "Partition#maybeExpandIsr"
    broker: int
    topic: str
    partition: int
    follower: int
    isr: tuple[int, ...]
    offset: int
    high_watermark: int

    def sentence(self) -> str:
        return (
            f"b{self.broker} wants b{self.follower} in the ISR of {_at(self.topic, self.partition)}: its LEO {self.offset} has reached "
            f"the high watermark {self.high_watermark}; it counts for the high watermark from now on"
        )


@attrs.frozen
class IsrShrunk(Event):
    """The controller committed a smaller ISR that the leader had proposed."""

    kind: ClassVar[str] = "isr-shrunk"
    level: ClassVar[int] = NOTABLE
    source: ClassVar[str] = "Partition#handleAlterPartitionUpdate"
    broker: int
    topic: str
    partition: int
    isr: tuple[int, ...]
    out: tuple[int, ...]
    partition_epoch: int

    def sentence(self) -> str:
        return f"{_ids(self.out)} left the ISR of {_at(self.topic, self.partition)}: now {_ids(self.isr)}; the high watermark no longer waits for it"


@attrs.frozen
class IsrExpanded(Event):
    """The controller committed a larger ISR that the leader had proposed."""

    kind: ClassVar[str] = "isr-expanded"
    level: ClassVar[int] = NOTABLE
    source: ClassVar[str] = "Partition#handleAlterPartitionUpdate"
    broker: int
    topic: str
    partition: int
    isr: tuple[int, ...]
    joined: tuple[int, ...]
    partition_epoch: int

    def sentence(self) -> str:
        return f"{_ids(self.joined)} joined the ISR of {_at(self.topic, self.partition)}: now {_ids(self.isr)}"


@attrs.frozen
class IsrChangeFailed(Event):
    """A leader's ISR proposal came back with an error."""

    kind: ClassVar[str] = "isr-change-failed"
    source: ClassVar[str] = "Partition#handleAlterPartitionError"
    broker: int
    topic: str
    partition: int
    isr: tuple[int, ...]
    error: str

    def sentence(self) -> str:
        return f"b{self.broker} did not get ISR {_ids(self.isr)} for {_at(self.topic, self.partition)}: {self.error}"


# --- clients -------------------------------------------------------------------------------------------------------


@attrs.frozen
class ProduceAcked(Event):
    """A producer was told that its batch is in; `latency_us` from first send. With acks=0 it tells itself: offsets are -1."""

    kind: ClassVar[str] = "produce-acked"
    source: ClassVar[str] = "DelayedProduce#onComplete"
    producer: str
    topic: str
    partition: int
    from_offset: int
    to_offset: int
    records: int
    acks: int
    latency_us: int
    attempt: int

    def sentence(self) -> str:
        acks = "all" if self.acks < 0 else str(self.acks)
        if self.acks == 0:
            return f"{self.producer} sent {_records(self.records)} to {_at(self.topic, self.partition)} and takes them for written (acks=0)"
        return (
            f"{self.producer} was acknowledged {_offsets(self.from_offset, self.to_offset)} of {_at(self.topic, self.partition)} "
            f"after {format_duration(self.latency_us)} (acks={acks}, attempt {self.attempt})"
        )


@attrs.frozen
class ProduceFailed(Event):
    """A produce attempt failed; `retry` tells whether the producer tries again or gives up."""

    kind: ClassVar[str] = "produce-failed"
    source: ClassVar[str] = "Sender#failBatch, Sender#canRetry"
    producer: str
    topic: str
    partition: int
    records: int
    acks: int
    attempt: int
    error: str
    retry: bool

    def sentence(self) -> str:
        what = (
            f"{self.producer} got {self.error} for {_records(self.records)} to {_at(self.topic, self.partition)} (attempt {self.attempt})"
        )
        return what + (": it tries again" if self.retry else ": it gives up")


@attrs.frozen
class Consumed(Event):
    """A consumer was given records: always below the high watermark it was told."""

    kind: ClassVar[str] = "consumed"
    level: ClassVar[int] = DETAIL
    source: ClassVar[str] = "UnifiedLog#read, FetchIsolation"
    consumer: str
    topic: str
    partition: int
    broker: int
    from_offset: int
    to_offset: int
    high_watermark: int

    def sentence(self) -> str:
        return f"{self.consumer} read {_offsets(self.from_offset, self.to_offset)} of {_at(self.topic, self.partition)} from b{self.broker}, below the high watermark {self.high_watermark}"


@attrs.frozen
class ConsumerReset(Event):
    """A consumer's position was not in the log any more and was reset."""

    kind: ClassVar[str] = "consumer-reset"
    level: ClassVar[int] = NOTABLE
    source: ClassVar[str] = "auto.offset.reset"
    consumer: str
    topic: str
    partition: int
    from_offset: int
    to_offset: int
    error: str
    policy: str

    def sentence(self) -> str:
        return f"{self.consumer} stood at {self.from_offset} of {_at(self.topic, self.partition)} ({self.error}) and was reset to {self.policy}: {self.to_offset}"


# --- the durability account ----------------------------------------------------------------------------------------


@attrs.frozen
class RecordsLost(Event):
    """Acknowledged records are not in the log that now counts, the one of leader `broker`."""

    kind: ClassVar[str] = "records-lost"
    level: ClassVar[int] = NOTABLE
    source: ClassVar[str] = "durability account"
    topic: str
    partition: int
    broker: int
    epoch: int
    from_offset: int
    to_offset: int
    leader_epoch: int

    def sentence(self) -> str:
        return (
            f"LOST: {_records(self.to_offset - self.from_offset)} of {_at(self.topic, self.partition)}, {_offsets(self.from_offset, self.to_offset)} "
            f"of epoch {self.epoch}, acknowledged, are not in the log of b{self.broker}, which leads in epoch {self.leader_epoch}"
        )


@attrs.frozen
class RecordsRecovered(Event):
    """Records counted as lost are in the leader's log again, because a replica that kept them leads."""

    kind: ClassVar[str] = "records-recovered"
    level: ClassVar[int] = NOTABLE
    source: ClassVar[str] = "durability account"
    topic: str
    partition: int
    broker: int
    epoch: int
    from_offset: int
    to_offset: int
    leader_epoch: int

    def sentence(self) -> str:
        return (
            f"back again: {_offsets(self.from_offset, self.to_offset)} of epoch {self.epoch} of {_at(self.topic, self.partition)}, "
            f"which b{self.broker} had kept and now leads with"
        )


@attrs.frozen
class RecordsDiverged(Event):
    """Two replicas hold different records at the same offsets and no longer notice."""

    kind: ClassVar[str] = "records-diverged"
    level: ClassVar[int] = NOTABLE
    source: ClassVar[str] = "durability account"
    topic: str
    partition: int
    broker: int
    leader: int
    from_offset: int
    to_offset: int

    def sentence(self) -> str:
        return (
            f"DIVERGED: b{self.broker} and its leader b{self.leader} hold different records at {_offsets(self.from_offset, self.to_offset)} "
            f"of {_at(self.topic, self.partition)}, and replication goes on behind them"
        )


@attrs.frozen
class RecordsDuplicated(Event):
    """A retried batch was appended although its first attempt is in the log."""

    kind: ClassVar[str] = "records-duplicated"
    level: ClassVar[int] = NOTABLE
    source: ClassVar[str] = "durability account"
    topic: str
    partition: int
    broker: int
    producer: str
    from_offset: int
    to_offset: int

    def sentence(self) -> str:
        return f"duplicated: b{self.broker} appended {_offsets(self.from_offset, self.to_offset)} of {_at(self.topic, self.partition)}, a retry of a batch of {self.producer} that is already in the log"


EVENTS: Final[tuple[type[Event], ...]] = (
    Acted, SettingChanged, BrokerStopped, UnflushedLost, BrokerStarted, BrokerPaused, BrokerResumed, BrokerRegistered,
    RegistrationRefused, BrokerFenced, BrokerUnfenced, ShutdownBegun, HighWatermarksCheckpointed, LinkCut, LinkHealed,
    LinkChanged, LinkHeld, LinkReleased, TopicCreated, TopicRefused, PartitionChanged, LeaderElected, PartitionOffline,
    ElectionRefused, AlterPartitionRefused, BecameLeader, BecameFollower, Appended, AppendRefused, FollowerFetched,
    FollowerAppended, FollowerHighWatermark, HighWatermarkAdvanced, EpochAnswered, Truncated, FetchFailed,
    FetcherDisconnected, IsrShrinkProposed, IsrExpandProposed, IsrShrunk, IsrExpanded, IsrChangeFailed, ProduceAcked,
    ProduceFailed, Consumed, ConsumerReset, RecordsLost, RecordsRecovered, RecordsDiverged, RecordsDuplicated,
)  # fmt: skip
"""Every kind, in the order of this file."""

KINDS: Final[dict[str, type[Event]]] = {event.kind: event for event in EVENTS}
"""Every kind by its name."""


def column_types(event: type[Event]) -> dict[str, str]:
    """A kind's columns with their types: `int`, `str`, `bool` or `tuple[int, ...]`."""
    return {field.name: str(field.type) for field in attrs.fields(event)}


def decode(event: EventTuple) -> Event:
    """The typed event behind a recorded tuple."""
    return KINDS[event[3]](*event[4:])


def explain(event: EventTuple) -> str:
    """The sentence of a recorded tuple."""
    return decode(event).sentence()

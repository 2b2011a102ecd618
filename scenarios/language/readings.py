"""The readings of conditions. A reading has a name, arguments, a type, and a function that takes its value from a frozen view.

Readings use the snapshots of `core.lab.views.view` and the recorded events, never the running cluster. If a reading currently has no value,
such as the high watermark of a partition without a leader, its result is None. Every comparison with None is false.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final, Protocol

import attrs

from core.kafka.broker.broker_state import BrokerState
from core.kafka.clients.process_step import ProcessStep
from core.kafka.group_coordinator.classic.group_state import GroupState
from core.kafka.group_coordinator.consumer.member_state import ConsumerGroupState
from core.kafka.health import STALL_BOUND, PartitionStatus, is_at_min_isr, is_offline, is_under_min_isr, is_under_replicated
from core.kafka.ids import NO_LEADER, TopicPartition
from core.lab.burrow import LogEnds, Verdict, evaluate, group_verdict, windows
from core.lab.views.log_contents import LogContents
from core.lab.views.view import ClusterView, GroupView, MemberView, PartitionView, ReplicaView
from core.sim.units import format_duration

NUMBER: Final = "number"
DURATION: Final = "duration"
BOOL: Final = "truth"
WORD: Final = "word"
BROKER: Final = "broker"
IDS: Final = "set of brokers"
ROW: Final = "list of brokers"
EPOCHS: Final = "list of (epoch, start offset)"
TEXT: Final = "value of a key"


class Moment(Protocol):
    """The state at one moment, and the events up to that moment. Conditions are evaluated on a moment."""

    def view(self) -> ClusterView:
        """Return the view of the whole cluster."""

    def partition(self, tp: TopicPartition) -> PartitionView | None:
        """Return the view of a partition, or None if the partition does not exist at that moment."""

    def contents(self, tp: TopicPartition, broker: int) -> LogContents | None:
        """Return the records in a broker's log of a compacted topic, or None if there are none."""

    def events(self, kind: str) -> list[tuple[Any, ...]]:
        """Return the recorded events of a kind, oldest first."""


@attrs.frozen(repr=False)
class Reading:
    """A value that conditions can read, with its name in the condition language.

    Attributes:
        name: the name.
        arguments: the kinds of the arguments: `partition`, `broker`, `client`, `group`, `key`, or `partition-or-client`, with a trailing `?` if
            optional.
        type: the type of the value.
        meaning: one line of documentation.
        read: the function that reads the value from a moment.
        words: the possible values, if the value is a word.
        ages: whether the value can change without an event, merely because time passes.
        kinds: the kinds of the events that `read` reads.
    """

    name: str
    arguments: tuple[str, ...]
    type: str
    meaning: str
    read: Callable[..., Any]
    words: tuple[str, ...] = ()
    ages: bool = False
    kinds: tuple[str, ...] = ()

    @property
    def written(self) -> str:
        """The reading with its arguments, for example `hw(partition, broker)`."""
        inside = ", ".join(f"[{kind[:-1]}]" if kind.endswith("?") else kind for kind in self.arguments)
        return f"{self.name}({inside})" if inside else self.name


def _replica_on(view: PartitionView | None, broker: int | None) -> ReplicaView | None:
    """Return the replica on a broker, or the leader's replica if no broker is given."""
    if view is None:
        return None
    wanted = view.leader if broker is None else broker
    for replica in view.replica_views:
        if replica.broker == wanted:
            return replica
    return None


def _of_partition(take: Callable[[PartitionView], Any]) -> Callable[..., Any]:
    def read(moment: Moment, tp: TopicPartition) -> Any:
        view = moment.partition(tp)
        return None if view is None else take(view)

    return read


def _of_replica(take: Callable[[ReplicaView], Any]) -> Callable[..., Any]:
    def read(moment: Moment, tp: TopicPartition, broker: int | None = None) -> Any:
        replica = _replica_on(moment.partition(tp), broker)
        return None if replica is None else take(replica)

    return read


def _of_contents(take: Callable[..., Any]) -> Callable[..., Any]:
    """Return a function that reads the log of a compacted topic. The first argument of the reading is the partition, and the last one is
    the broker.
    """

    def read(moment: Moment, tp: TopicPartition, *arguments: Any) -> Any:
        broker = arguments[-1] if arguments and isinstance(arguments[-1], int) else None
        replica = _replica_on(moment.partition(tp), broker)
        contents = None if replica is None else moment.contents(tp, replica.broker)
        return None if contents is None else take(contents, *(each for each in arguments if isinstance(each, str)))

    return read


def _of_broker(take: Callable[[Any], Any]) -> Callable[..., Any]:
    def read(moment: Moment, broker: int) -> Any:
        for view in moment.view().brokers:
            if view.id == broker:
                return take(view)
        return None

    return read


def _account(name: str) -> Callable[..., Any]:
    """Return a function that reads a count of the durability account for the whole cluster, for a partition or, for `acked`, for a
    producer.
    """

    def read(moment: Moment, subject: TopicPartition | str | None = None) -> Any:
        if subject is None:
            return getattr(moment.view(), name)
        if isinstance(subject, TopicPartition):
            view = moment.partition(subject)
            return None if view is None else getattr(view, name)
        return _client(moment, subject, name)

    return read


def _client(moment: Moment, client: str, name: str) -> Any:
    clients: list[Any] = [*moment.view().producers, *moment.view().consumers]
    for view in clients:
        if view.name == client:
            return getattr(view, name, None)
    return None


def _of_client(name: str) -> Callable[..., Any]:
    return lambda moment, client: _client(moment, client, name)


def _committed(moment: Moment, tp: TopicPartition | None = None) -> Any:
    if tp is None:
        return sum(view.committed for view in moment.view().partitions)
    view = moment.partition(tp)
    return None if view is None else view.committed


def _count(holds: Callable[[PartitionView], bool]) -> Callable[..., Any]:
    return lambda moment: sum(1 for view in moment.view().partitions if holds(view))


def _position(moment: Moment, client: str, tp: TopicPartition) -> Any:
    consumers: list[Any] = [*moment.view().consumers, *moment.view().members]
    for view in consumers:
        if view.name == client:
            return dict(view.positions).get(tp)
    return None


def _of_group(take: Callable[[GroupView], Any]) -> Callable[..., Any]:
    def read(moment: Moment, group: str) -> Any:
        for view in moment.view().groups:
            if view.name == group:
                return take(view)
        return None

    return read


def _owner(moment: Moment, group: str, tp: TopicPartition) -> Any:
    """Return the client that owns a partition according to the coordinator, or None if there is none."""
    for view in moment.view().groups:
        if view.name == group:
            return next((member.client for member in view.members if tp in member.assignment), None)
    return None


def _lag(moment: Moment, group: str, tp: TopicPartition | None = None) -> Any:
    """Return the high watermark minus the committed offset of one partition, or the sum over all partitions with a committed offset."""
    for view in moment.view().groups:
        if view.name == group:
            lags = {each: _lag_behind(moment, each, offset) for each, offset in view.offsets if tp in (None, each)}
            return lags.get(tp) if tp is not None else sum(lag for lag in lags.values() if lag is not None)
    return None


def _lag_behind(moment: Moment, tp: TopicPartition, offset: int, *, stable: bool = False) -> int | None:
    view = moment.partition(tp)
    if view is None or view.offline:
        return None
    end = view.held_back_at if stable and view.held_back_at is not None else view.replica_on(view.leader).hw
    return end - offset


def _stable_lag(moment: Moment, group: str, tp: TopicPartition | None = None) -> Any:
    """Return the last stable offset minus the committed offset of one partition, or the sum over all partitions with a committed offset."""
    for view in moment.view().groups:
        if view.name == group:
            lags = {each: _lag_behind(moment, each, offset, stable=True) for each, offset in view.offsets if tp in (None, each)}
            return lags.get(tp) if tp is not None else sum(lag for lag in lags.values() if lag is not None)
    return None


def _burrow(moment: Moment, group: str, tp: TopicPartition | None = None) -> Any:
    """Return Burrow's verdict on a partition or on a group; None if the group has committed nothing."""
    ends, now = LogEnds(moment.events("high-watermark")), moment.view().now
    found = {
        each: evaluate(commits, _lag_behind(moment, each, commits[-1].offset) or 0, now, ends.recent(each, now))
        for each, commits in windows(group, moment.events("offset-committed"), ends).items()
        if tp in (None, each)
    }
    if not found:
        return None
    return (group_verdict(found.values()) if tp is None else found[tp]).name.lower()


def _consumption(name: str) -> Callable[..., Any]:
    def read(moment: Moment, group: str, tp: TopicPartition | None = None) -> Any:
        found = [getattr(view, name) for view in moment.view().consumption if view.group == group and tp in (None, view.tp)]
        return sum(found) if found else None

    return read


def _of_member(take: Callable[[MemberView], Any]) -> Callable[..., Any]:
    def read(moment: Moment, client: str) -> Any:
        for view in moment.view().members:
            if view.name == client:
                return take(view)
        return None

    return read


def _activity(view: MemberView) -> str:
    """Return what a consumer of a group does, in one word."""
    if view.frozen:
        return "frozen"
    return ENDED if not view.running else ACTIVITIES[view.phase]


def _processed(moment: Moment, client: str) -> Any:
    member = _of_member(lambda view: view.processed)(moment, client)
    return _of_process("processed")(moment, client) if member is None else member


def _committed_offset(moment: Moment, group: str, tp: TopicPartition) -> Any:
    for view in moment.view().groups:
        if view.name == group:
            return dict(view.offsets).get(tp)
    return None


def _of_process(name: str) -> Callable[..., Any]:
    def read(moment: Moment, client: str) -> Any:
        for view in moment.view().processes:
            if view.name == client:
                return getattr(view, name)
        return None

    return read


def _of_service(name: str, statistic: str = "") -> Callable[..., Any]:
    def read(moment: Moment, client: str) -> Any:
        for view in moment.view().services:
            if view.name == client:
                value = getattr(view, name)
                return value.get(statistic) if statistic else value
        return None

    return read


def _of_retries(name: str, statistic: str = "") -> Callable[..., Any]:
    def read(moment: Moment, client: str) -> Any:
        for view in moment.view().retries:
            if view.name == client:
                value = getattr(view, name)
                if statistic:
                    return value.get(statistic)
                return sum(value.values()) if isinstance(value, dict) else value
        return None

    return read


def _process_step(moment: Moment, client: str) -> Any:
    for view in moment.view().processes:
        if view.name == client:
            return view.step if view.running else ENDED
    return None


def _reads_from(moment: Moment, client: str, tp: TopicPartition) -> Any:
    for view in moment.view().consumers:
        if view.name == client:
            led = moment.partition(tp)
            return dict(view.reads_from).get(tp, None if led is None else led.leader)
    return None


def _latency(share: float) -> Callable[..., Any]:
    """Return a function that reads a percentile (nearest rank) of the time in µs that a producer's batches waited for a response.

    A batch that the producer gave up on counts with the time until the producer gave up. A batch that is still waiting after `STALL_BOUND`
    counts with its wait so far. If only acknowledged batches counted, the percentile would be too low.
    """

    def read(moment: Moment, client: str) -> Any:
        taken = [event[LATENCY] for event in moment.events("produce-acked") if event[4] == client]
        taken += [event[GIVEN_UP_AFTER] for event in moment.events("produce-given-up") if event[4] == client]
        taken += [wait for wait in _client(moment, client, "waits_us") or () if wait > STALL_BOUND]
        taken.sort()
        if not taken:
            return None
        rank = -(-len(taken) * int(share * 100) // 10_000)
        return taken[max(rank, 1) - 1]

    return read


LATENCY: Final = 11
"""The index of `latency_us` in a `produce-acked` tuple."""

GIVEN_UP_AFTER: Final = 10
"""The index of `waited_us` in a `produce-given-up` tuple."""


def _longest_wait(moment: Moment, client: str) -> Any:
    waits = _client(moment, client, "waits_us")
    return None if waits is None else max(waits, default=0)


def _of_batching(name: str) -> Callable[..., Any]:
    def value(moment: Moment, client: str) -> Any:
        batching = _client(moment, client, "batching")
        found = None if batching is None else getattr(batching, name)
        return None if found == -1 else found

    return value


def _records_per_batch(moment: Moment, client: str) -> Any:
    batching = _client(moment, client, "batching")
    return None if batching is None or not batching.batches else batching.records // batching.batches


def status_word(status: PartitionStatus) -> str:
    """Return a status in the notation of conditions, for example `under-min-isr`."""
    return status.name.lower().replace("_", "-")


def _stalled(moment: Moment, tp: TopicPartition | None = None) -> Any:
    if tp is None:
        return sum(1 for view in moment.view().partitions if view.status is PartitionStatus.STALLED)
    view = moment.partition(tp)
    return None if view is None else int(view.status is PartitionStatus.STALLED)


def _last_stable_offset(moment: Moment, tp: TopicPartition) -> int | None:
    """Return the leader's last stable offset, or None without a leader."""
    view = moment.partition(tp)
    if view is None or view.offline:
        return None
    return view.replica_on(view.leader).hw if view.held_back_at is None else view.held_back_at


STATISTICS: Final = {
    "mean": "the mean",
    "p50": "the median",
    "p95": "the 95th percentile (nearest rank)",
    "p99": "the 99th percentile (nearest rank)",
    "max": "the maximum",
}
"""The statistics of times, with their meanings."""

ENDED: Final = "ended"
"""The value of the reading `process-step` for a process whose instance has ended."""

ACTIVITIES: Final = {
    "in poll()": "polling", "committing before a rebalance": "committing", "committing before it processes": "committing",
    "processing": "processing", "committing": "committing", "closing": "closing", "stopped after an exception": "stopped",
    "ended": ENDED,
}  # fmt: skip
"""The word for each phase of a consumer of a group."""

GROUP_STATES: Final = {state.value: state.name.lower().replace("_", "-") for state in (*GroupState, *ConsumerGroupState)}
"""The word for each state of a group."""

_STATES: Final = tuple(str(state) for state in BrokerState)

ALL_READINGS: Final = (
    Reading("leader", ("partition",), BROKER, "the leader, or none", _of_partition(lambda view: view.leader)),
    Reading("leader-epoch", ("partition",), NUMBER, "the leader epoch", _of_partition(lambda view: view.leader_epoch)),
    Reading("partition-epoch", ("partition",), NUMBER, "the partition epoch", _of_partition(lambda view: view.partition_epoch)),
    Reading("isr", ("partition",), IDS, "the in-sync replicas, in any order", _of_partition(lambda view: view.isr)),
    Reading("isr-row", ("partition",), ROW, "the in-sync replicas in the order that kafka-topics --describe "
        "prints", _of_partition(lambda view: view.isr)),
    Reading("elr", ("partition",), IDS, "the eligible leader replicas", _of_partition(lambda view: view.elr)),
    Reading("replicas", ("partition",), ROW, "the assigned replicas, the preferred leader first", _of_partition(lambda view: view.replicas)),
    Reading("min-isr", ("partition",), NUMBER, "the effective min.insync.replicas", _of_partition(lambda view: view.min_isr)),
    Reading("leo", ("partition", "broker?"), NUMBER, "the log end offset of the leader, or of a broker's "
        "replica", _of_replica(lambda replica: replica.leo)),
    Reading("lso", ("partition",), NUMBER, "the leader's last stable offset, where consumers with read_committed stop", _last_stable_offset),
    Reading("hw", ("partition", "broker?"), NUMBER, "the high watermark of the leader, or of a broker's "
        "replica", _of_replica(lambda replica: replica.hw)),
    Reading(
        "log-start", ("partition", "broker?"), NUMBER, "the log start offset of the leader, or of a broker's replica",
        _of_replica(lambda replica: replica.log_start),
    ),
    Reading(
        "records", ("partition", "broker?"), NUMBER, "the number of records that log compaction left in the log of the leader or of a broker; only for compacted topics",
        _of_contents(lambda contents: contents.records()),
    ),
    Reading(
        "value", ("partition", "key", "broker?"), TEXT, "the last committed value of a key in the log of the leader or of a broker, or none; only for compacted topics",
        _of_contents(lambda contents, key: contents.value(key)),
    ),
    Reading("dir", ("partition", "broker"), NUMBER, "the log directory of a replica, counted from 1", _of_replica(lambda replica: replica.dir)),
    Reading("epochs", ("partition", "broker?"), EPOCHS, "the leader-epoch cache", _of_replica(lambda replica: replica.epochs)),
    Reading(
        "role", ("partition", "broker"), WORD, "the role of a replica, as its own broker sees it", _of_replica(lambda replica: replica.role), ("leader", "follower", "offline")
    ),
    Reading(
        "fetch-state", ("partition", "broker"), WORD, "the state of the partition in the follower's "
            "fetcher", _of_replica(lambda replica: replica.fetch_state),
        ("fetching", "truncating", "delayed", "failed", "idle"),
    ),
    Reading("state", ("broker",), WORD, "the state of a broker's process", _of_broker(lambda view: str(view.state)), _STATES),
    Reading("fenced", ("broker",), BOOL, "whether the controller has fenced a broker", _of_broker(lambda view: view.fenced)),
    Reading("leaders", ("broker",), NUMBER, "the number of partitions that a broker leads", _of_broker(lambda view: view.leaders)),
    Reading("accepted", ("partition?",), NUMBER, "the number of records that leaders have appended", _account("accepted")),
    Reading("acked", ("partition-or-client?",), NUMBER, "the number of records that were acknowledged to producers", _account("acked")),
    Reading("committed", ("partition?",), NUMBER, "the number of records below the high watermark", _committed),
    Reading("exposed", ("partition?",), NUMBER, "the number of committed records that at least one electable replica lacks", _account("exposed")),
    Reading("lost", ("partition?",), NUMBER, "the number of acknowledged or read records that the leader's log lacks, each counted "
        "once", _account("lost")),
    Reading(
        "lost-acknowledged", ("partition?",), NUMBER, "the number of lost records that were acknowledged to their producer (acks 1 or all)",
        _account("lost_acknowledged"),
    ),
    Reading("lost-read", ("partition?",), NUMBER, "the number of lost records that a consumer had read, whether acknowledged or "
        "not", _account("lost_read")),
    Reading("duplicated", ("partition?",), NUMBER, "the number of records that were appended twice", _account("duplicated")),
    Reading("diverged", ("partition?",), NUMBER, "the number of offsets at which replicas permanently have different records", _account("diverged")),
    Reading("sent", ("client",), NUMBER, "the number of records that a producer has sent", _of_client("sent")),
    Reading("failed", ("client",), NUMBER, "the number of records that a producer has given up on", _of_client("failed")),
    Reading("retries", ("client",), NUMBER, "the number of batches that a producer has retried", _of_client("retries")),
    Reading("batches", ("client",), NUMBER, "the number of batches that a producer with batching has sent, without retries", _of_batching("batches")),
    Reading("records-per-batch", ("client",), NUMBER, "the average number of records in these batches, rounded down", _records_per_batch),
    Reading("wire-bytes", ("client",), NUMBER, "the size of these batches on the network, in bytes", _of_batching("wire_bytes")),
    Reading(
        "queue-time", ("client",), DURATION,
        "the average time that records spent in a producer with batching, from send() to the sending of their batch", _of_batching("queue_time_us"),
    ),
    Reading(
        "record-latency", ("client",), DURATION,
        "the average time from send() to the acknowledgment of a record, for a producer with batching", _of_batching("record_latency_us"),
    ),
    Reading("buffer-available", ("client",), NUMBER, "the part of a producer's buffer.memory that is free, in bytes", _of_batching("available")),
    Reading("blocked", ("client",), NUMBER, "the number of records that an application wants to send while send() blocks", _of_batching("waiting")),
    Reading("in-flight", ("client",), NUMBER, "the number of batches whose responses a producer is waiting for", _of_client("in_flight")),
    Reading(
        "p50-latency", ("client",), DURATION,
        "the median time from the first send of a producer's batch until its acknowledgment or failure, or until now if the "
        "batch has waited for more than 1 s", _latency(50),
        ages=True,
    ),
    Reading("p99-latency", ("client",), DURATION, "the 99th percentile of the times that p50-latency measures", _latency(99), ages=True),
    Reading("max-latency", ("client",), DURATION, "the maximum of the times that p50-latency measures", _latency(100), ages=True),
    Reading("longest-wait", ("client",), DURATION, "the time that a producer's oldest batch has waited for an "
        "answer", _longest_wait, ages=True),
    Reading("read", ("client",), NUMBER, "the number of records that a consumer has read", _of_client("read")),
    Reading("position", ("client", "partition"), NUMBER, "a consumer's next offset", _position),
    Reading("reads-from", ("client", "partition"), BROKER, "the broker that a consumer fetches from, which is the leader or "
        "the replica that the leader chose", _reads_from),
    Reading("committed-offset", ("group", "partition"), NUMBER, "the committed offset of a group", _committed_offset),
    Reading(
        "group-state", ("group",), WORD, "the state of a group, as its coordinator knows it",
        _of_group(lambda view: GROUP_STATES[view.state]), tuple(GROUP_STATES.values()),
    ),
    Reading("generation", ("group",), NUMBER, "the generation of a group, or its epoch in the consumer protocol", _of_group(lambda view: view.generation)),
    Reading("members", ("group",), NUMBER, "the number of members of a group", _of_group(lambda view: len(view.members))),
    Reading("owner", ("group", "partition"), TEXT, "the consumer that has a partition in the assignment of its group", _owner),
    Reading("owned", ("client",), NUMBER, "the number of partitions that a consumer of a group owns", _of_member(lambda view: len(view.owned))),
    Reading("lag", ("group", "partition?"), NUMBER, "the high watermark minus the committed offset of a group, for one partition or for all", _lag),
    Reading("stable-lag", ("group", "partition?"), NUMBER, "the last stable offset minus the committed offset of a group, for one partition or for "
        "all: what consumers with read_committed can still read", _stable_lag),
    Reading("burrow", ("group", "partition?"), WORD, "the status that Burrow gives a group or one of its partitions, based on the last 10 commits and their lags; "
        "for a group, 'err' stands for 'stop', 'stall', and 'rewind'", _burrow, tuple(verdict.name.lower() for verdict in Verdict), ages=True,
        kinds=("high-watermark", "offset-committed")),
    Reading("activity", ("client",), WORD, "what a consumer of a group is doing", _of_member(_activity), tuple(dict.fromkeys((*ACTIVITIES.values(), "frozen")))),
    Reading("processed-by", ("group", "partition?"), NUMBER, "the number of records that the members of a group have processed, each counted "
        "once", _consumption("processed")),
    Reading("repeats", ("group", "partition?"), NUMBER, "how often the members of a group have processed a record that the group had "
        "processed before", _consumption("repeats")),
    Reading("skipped", ("group", "partition?"), NUMBER, "the number of records that a group has skipped: it has committed a higher offset, or "
        "started at one, and no member has processed them", _consumption("skipped")),
    Reading(
        "process-step", ("client",), WORD, "the current step of a process, or 'ended'", _process_step, (*map(str, ProcessStep), ENDED),
    ),
    Reading("processed", ("client",), NUMBER, "the number of a process's input records whose whole output is visible "
        "with read_committed; for a consumer of a group, the number of records that it has processed", _processed),
    Reading("processed-twice", ("client",), NUMBER, "the number of a process's input records with output that is visible "
        "more than once", _of_process("processed_twice")),
    Reading("half-visible", ("client",), NUMBER, "the number of a process's input records whose output is only partly "
        "visible", _of_process("half_visible")),
    Reading("never-processed", ("client",), NUMBER, "the number of a process's input records that are below its committed "
        "offset but have no output", _of_process("never_processed")),
    Reading("held", ("client",), NUMBER, "the number of records that a delay service, or one of its workers, holds in memory", _of_service("held")),
    Reading("overdue", ("client",), NUMBER, "the number of held records that are already due", _of_service("overdue")),
    Reading("paused", ("client",), NUMBER, "the number of partitions that a delay service, or one of its workers, has paused", _of_service("paused")),
    Reading("forwarded", ("client",), NUMBER, "the number of delayed records that are visible in the real topic with "
        "read_committed", _of_service("forwarded")),
    Reading("forwarded-twice", ("client",), NUMBER, "the number of delayed records that are visible in the real topic more than "
        "once", _of_service("forwarded_twice")),
    Reading("never-forwarded", ("client",), NUMBER, "the number of delayed records that are below the committed offset of the "
        "service but not in the real topic", _of_service("never_forwarded")),
    Reading("expired", ("client",), NUMBER, "the number of delayed records that were deleted in the topic of their level before they "
        "were forwarded", _of_service("expired")),
    Reading("too-early", ("client",), NUMBER, "the number of delayed records that were forwarded before they were due", _of_service("too_early")),
    Reading("too-soon", ("client",), NUMBER, "the number of delayed records that reached the real topic before the wanted delay had passed in "
        "virtual time, for example because of a wrong clock", _of_service("too_soon")),
    Reading("order-inversions", ("client",), NUMBER, "the number of delayed records that were forwarded after a record of the same "
        "partition with a higher offset", _of_service("inversions")),
    *(
        Reading(f"lateness-{name}", ("client",), DURATION, f"{meaning} of the times from when delayed records were due until they were "
            "acknowledged in the real topic", _of_service("lateness", name))
        for name, meaning in STATISTICS.items()
    ),
    Reading("tries", ("client",), NUMBER, "the number of tries of a retry service, counted per record", _of_retries("tried")),
    Reading("failed-tries", ("client",), NUMBER, "the number of tries of a retry service that failed, per record", _of_retries("failed")),
    Reading("waiting", ("client",), NUMBER, "the number of records that the workers of a retry service have fetched and are not done with", _of_retries("waiting")),
    Reading("succeeded", ("client",), NUMBER, "the number of different records that a retry service has processed successfully", _of_retries("succeeded")),
    Reading("succeeded-twice", ("client",), NUMBER, "the number of records of a retry service that succeeded again", _of_retries("succeeded_twice")),
    Reading("dead", ("client",), NUMBER, "the number of different records in the dead-letter topic of a retry service", _of_retries("dead")),
    Reading("dead-twice", ("client",), NUMBER, "the number of records of a retry service that reached the dead-letter topic again", _of_retries("dead_twice")),
    Reading("given-up", ("client",), NUMBER, "the number of records that a blocking retry service gave up without a dead-letter topic", _of_retries("skipped")),
    Reading("dropped", ("client",), NUMBER, "the number of records below a committed offset of a retry service that neither succeeded nor "
        "reached another topic", _of_retries("dropped")),
    Reading("overtaken", ("client",), NUMBER, "the number of records of a retry service that succeeded after a later record of their "
        "original partition", _of_retries("inversions")),
    *(
        Reading(f"recovery-{name}", ("client",), DURATION, f"{STATISTICS[name]} of the times from the first failure of a record until its "
            "success in a retry service", _of_retries("recovery", name))
        for name in ("mean", "max")
    ),
    *(
        Reading(f"rounding-{name}", ("client",), DURATION, f"{STATISTICS[name]} of the times by which the levels of delayed records are "
            "longer than the wanted delays", _of_service("rounding", name))
        for name in ("mean", "max")
    ),
    *(
        Reading(f"delay-error-{name}", ("client",), DURATION, f"{STATISTICS[name]} of the true delays of delayed records minus the wanted "
            "delays", _of_service("total_error", name))
        for name in ("mean", "max")
    ),
    Reading(
        "status", ("partition",), WORD, "the state of a partition as clients experience it",
        _of_partition(lambda view: status_word(view.status)), tuple(status_word(each) for each in PartitionStatus), ages=True,
    ),
    Reading(
        "stalled", ("partition?",), NUMBER,
        "the number of partitions whose acks=all writes wait although the leader and the ISR look healthy; for one partition, 1 or 0", _stalled, ages=True,
    ),
    Reading("urp", (), NUMBER, "the number of under-replicated partitions (UnderReplicatedPartitions)", _count(is_under_replicated)),
    Reading("offline", (), NUMBER, "the number of partitions without a leader (OfflinePartitionsCount)", _count(is_offline)),
    Reading(
        "under-min-isr", (), NUMBER, "the number of partitions with a leader whose ISR is smaller than the effective min.insync.replicas "
            "(UnderMinIsrPartitionCount)",
        _count(lambda view: is_under_min_isr(view, view.min_isr)),
    ),
    Reading(
        "at-min-isr", (), NUMBER, "the number of partitions with a leader whose ISR has exactly the effective min.insync.replicas "
            "(AtMinIsrPartitionCount)",
        _count(lambda view: is_at_min_isr(view, view.min_isr)),
    ),
    Reading("controller-epoch", (), NUMBER, "the epoch of the active controller of a controller "
        "quorum", lambda moment: moment.view().controller_epoch),
    Reading(
        "active-controllers", (), NUMBER, "the number of controllers that consider themselves active (ActiveControllerCount)",
        lambda moment: moment.view().active_controllers,
    ),
    Reading("majority", (), BOOL, "whether a majority of the controllers runs and can communicate", lambda moment: moment.view().majority),
    Reading("unclean-elections", (), NUMBER, "the number of unclean elections so far", lambda moment: moment.view().unclean_elections),
    Reading("isr-shrinks", (), NUMBER, "the number of ISR shrinks so far", lambda moment: moment.view().isr_shrinks),
    Reading("isr-expands", (), NUMBER, "the number of ISR expansions so far", lambda moment: moment.view().isr_expands),
)  # fmt: skip

READINGS: Final[dict[str, Reading]] = {reading.name: reading for reading in ALL_READINGS}
"""The readings by name."""


def show(value: Any, kind: str) -> str:
    """Return a value in the notation of conditions."""
    if value is None:
        return "nothing"
    if kind == BROKER:
        return "none" if value == NO_LEADER else str(value)
    if kind == BOOL:
        return "true" if value else "false"
    if kind == DURATION:
        return format_duration(value)
    if kind in (IDS, ROW):
        return "[" + ", ".join(map(str, value)) + "]"
    if kind == EPOCHS:
        return "[" + ", ".join(f"({epoch}, {start})" for epoch, start in value) + "]"
    return str(value)

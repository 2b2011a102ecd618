"""The acts of people and scripts on a cluster. Each act is a frozen class that names its word in the script language.

An act is plain data, which `Cluster.do` executes. The journal records it as an `act` event with its fields as JSON, so a recorded session can
be replayed or written as a script. Times are in µs. If an act has no `topic`, `broker`, or `partition`, it applies to all of them. The
name of a field is its word in the script language.
"""

from __future__ import annotations

from typing import ClassVar, Final

import attrs

from core.kafka.clients.services.delay_levels import LEVELS
from core.kafka.ids import TopicPartition
from core.sim.repr_mixin import ReprMixin


@attrs.frozen(eq=False, repr=False)
class Act(ReprMixin):
    """Base of all acts.

    Attributes:
        word: the act's word in the script language.
        does: a one-line description for help texts.
        by_hand: whether the act needs a cluster in by-hand mode.
    """

    word: ClassVar[str]
    does: ClassVar[str]
    by_hand: ClassVar[bool]

    def __init_subclass__(cls, *, word: str = "", does: str = "", by_hand: bool = False) -> None:
        if word:  # attrs creates each class again, with slots, and then passes no arguments
            cls.word, cls.does, cls.by_hand = word, does, by_hand

    # These methods are written once here, like `ReprMixin.__repr__`. Otherwise, attrs would generate them for each of forty classes.

    def __eq__(self, other: object) -> bool:
        return type(self) is type(other) and all(getattr(self, name) == getattr(other, name) for name in self.field_names())

    def __hash__(self) -> int:
        return hash((self.word, *(getattr(self, name) for name in self.field_names())))

    @classmethod
    def field_names(cls) -> tuple[str, ...]:
        """Return the names of the fields, in order."""
        return tuple(field.name for field in attrs.fields(cls))


# --- brokers -------------------------------------------------------------------------------------------------------


@attrs.frozen(eq=False, repr=False)
class Kill(Act, word="kill", does="kill a broker's process (kill -9); its logs survive"):
    """Kill the broker's process (`kill -9`). Its logs stay as they are, in the page cache of the machine."""

    broker: int


@attrs.frozen(eq=False, repr=False)
class PowerLoss(Act, word="power-loss", does="cut the power of a broker's machine; unflushed records can be lost"):
    """Cut the power of the broker's machine. Some or all records above the recovery point of a log can be lost.

    `unflushed` determines how many of these records had already reached the disk: `drawn` (a random number for each log, from the
    seed), `lost` (none), or `kept` (all). Alternatively, `keep` gives the offset up to which the log of each partition had reached
    the disk. Partitions that are not in `keep` lose nothing.
    """

    broker: int
    keep: tuple[tuple[TopicPartition, int], ...] = ()
    unflushed: str = "drawn"


@attrs.frozen(eq=False, repr=False)
class Shutdown(Act, word="shutdown", does="shut a broker down cleanly (controlled shutdown)"):
    """Shut the broker down cleanly (SIGTERM). Other brokers become leaders of its partitions, the broker writes its high watermarks to
    disk, and its process ends."""

    broker: int


@attrs.frozen(eq=False, repr=False)
class Start(Act, word="start", does="start a stopped broker"):
    """Start the process of a stopped broker again."""

    broker: int


@attrs.frozen(eq=False, repr=False)
class Pause(Act, word="pause", does="pause a broker's process, as a long GC pause does"):
    """Pause the broker's process, as a long GC pause or SIGSTOP does. It processes nothing and sends nothing, and messages wait."""

    broker: int


@attrs.frozen(eq=False, repr=False)
class Resume(Act, word="resume", does="resume a paused broker"):
    """Resume a paused broker."""

    broker: int


# --- disks ---------------------------------------------------------------------------------------------------------


@attrs.frozen(eq=False, repr=False)
class FailDir(Act, word="fail-dir", does="make a log directory of a broker fail"):
    """Make a log directory of the broker fail, as if its disk died. The replicas in it go offline.

    The broker halts if it has no other directory, or if its release cannot run with a failed one.
    """

    broker: int
    dir: int = 1


@attrs.frozen(eq=False, repr=False)
class RepairDir(Act, word="repair-dir", does="replace a failed log directory; the broker uses it after its next start"):
    """Replace a failed log directory with an empty one. With `empty: false`, restore the directory with its contents.

    The broker uses the directory after its next start.
    """

    broker: int
    dir: int = 1
    empty: bool = True


@attrs.frozen(eq=False, repr=False)
class MoveReplica(Act, word="move-replica", does="move a replica to another log directory of its broker"):
    """Move a replica to another log directory of its broker, as `kafka-reassign-partitions` does with log_dirs.

    A copy of the replica catches up with the replica, and then replaces it.
    """

    partition: TopicPartition
    broker: int
    dir: int


@attrs.frozen(eq=False, repr=False)
class SlowDisk(Act, word="slow-disk", does="slow down the disk writes of a broker, or restore the normal speed"):
    """Make each write to a broker's disk take `delay`. A delay of 0 restores the normal speed.

    Writes by the broker's fetchers and writes of producers' batches wait in the same queue.
    """

    broker: int
    delay: int


# --- controllers ---------------------------------------------------------------------------------------------------


@attrs.frozen(eq=False, repr=False)
class KillController(Act, word="kill-controller", does="kill a dedicated controller (kill -9)"):
    """Kill the process of a dedicated controller. Its log and its vote stay on disk. A combined controller is killed with its broker (`kill`)."""

    node: str


@attrs.frozen(eq=False, repr=False)
class StartController(Act, word="start-controller", does="start a killed controller"):
    """Start the process of a dedicated controller again."""

    node: str


@attrs.frozen(eq=False, repr=False)
class PauseController(Act, word="pause-controller", does="pause a dedicated controller, as a long GC pause does"):
    """Pause a dedicated controller. After it resumes, it keeps its old state until it learns of a newer epoch."""

    node: str


@attrs.frozen(eq=False, repr=False)
class ResumeController(Act, word="resume-controller", does="resume a paused controller"):
    """Resume a paused controller."""

    node: str


# --- network -------------------------------------------------------------------------------------------------------


@attrs.frozen(eq=False, repr=False)
class Cut(Act, word="cut", does="cut the link between two nodes"):
    """Cut the link between two nodes. With `one-way`, cut the link only in the direction from the first node to the second.

    A node is a broker such as `b1`, a controller such as `c1`, `controller`, `zookeeper`, or a client. With ZooKeeper, `controller` is
    the broker that is the controller.
    """

    between: tuple[str, str]
    one_way: bool = False


@attrs.frozen(eq=False, repr=False)
class Heal(Act, word="heal", does="heal a cut link, or all cut links"):
    """Heal the link between two nodes, or every cut link."""

    between: tuple[str, str] | None = None


@attrs.frozen(eq=False, repr=False)
class Isolate(Act, word="isolate", does="cut all links of a node"):
    """Cut every link of a node."""

    node: str


@attrs.frozen(eq=False, repr=False)
class Link(Act, word="link", does="change a link's latency, jitter, or loss, or make a client's proxy repeat or reorder requests"):
    """Change the latency, the jitter, or the loss of a link in both directions. Loss is the share of messages that are lost.

    TCP retransmits lost messages, and neither repeats nor reorders messages. A proxy between a client and a broker can repeat a
    request, or send a request on a different connection than the previous one. `duplicate` is the share of requests on a client's
    link that such a proxy delivers twice. `reorder` is the share of requests that later requests can overtake. Each response arrives
    once and in order.
    """

    between: tuple[str, str]
    latency: int | None = None
    jitter: int | None = None
    loss_ppm: int | None = None
    duplicate_ppm: int | None = None
    reorder_ppm: int | None = None


@attrs.frozen(eq=False, repr=False)
class Hold(Act, word="hold", does="hold back messages from one node to another"):
    """Hold back every message from the first node to the second until `release`. The messages stay in order."""

    between: tuple[str, str]


@attrs.frozen(eq=False, repr=False)
class Release(Act, word="release", does="deliver held messages"):
    """Deliver the messages that `hold` held back. With `messages`, deliver only that many, oldest first. The others remain held."""

    between: tuple[str, str]
    messages: int | None = None


# --- administration ------------------------------------------------------------------------------------------------


@attrs.frozen(eq=False, repr=False)
class Set(Act, word="set", does="change a Kafka setting while it runs"):
    """Change a Kafka setting for the whole cluster, for a topic, or for a broker.

    If Kafka reads a setting only when a broker starts, the act is refused in a running cluster. With `force`, the setting changes
    anyway, as if the brokers had restarted with the new value and nothing else had happened.
    """

    name: str
    value: str
    topic: str | None = None
    broker: int | None = None
    force: bool = False


@attrs.frozen(eq=False, repr=False)
class CreateTopic(Act, word="create-topic", does="create a topic"):
    """Create a topic. `replicas` assigns the replicas of its partitions to brokers."""

    topic: str
    partitions: int = 1
    replication_factor: int = 3
    replicas: tuple[tuple[int, ...], ...] = ()
    config: tuple[tuple[str, str], ...] = ()


@attrs.frozen(eq=False, repr=False)
class CreatePartitions(Act, word="create-partitions", does="give a topic more partitions"):
    """Increase the number of a topic's partitions to `partitions` (`kafka-topics --alter`).

    `replicas` assigns the replicas of the new partitions to brokers. Clients learn of the new partitions with their next metadata
    update, at the latest after metadata.max.age.ms (5 minutes by default).
    """

    topic: str
    partitions: int
    replicas: tuple[tuple[int, ...], ...] = ()


@attrs.frozen(eq=False, repr=False)
class Elect(Act, word="elect", does="elect preferred leaders, or leaders from outside the ISR"):
    """Elect preferred leaders, or leaders outside the ISR, for one partition or for all partitions (`kafka-leader-election`)."""

    election: str = "preferred"
    partition: TopicPartition | None = None


@attrs.frozen(eq=False, repr=False)
class Reassign(Act, word="reassign", does="move a partition to other replicas, or change their number or order"):
    """Move a partition to other replicas (`kafka-reassign-partitions --execute`).

    Added replicas must catch up before the replaced replicas are removed.
    """

    partition: TopicPartition
    replicas: tuple[int, ...]


@attrs.frozen(eq=False, repr=False)
class CancelReassignment(Act, word="cancel-reassignment", does="cancel a running reassignment"):
    """Cancel a running reassignment (`kafka-reassign-partitions --cancel`)."""

    partition: TopicPartition


@attrs.frozen(eq=False, repr=False)
class Unregister(Act, word="unregister", does="unregister a broker"):
    """Unregister a broker (`kafka-cluster unregister`, only with KRaft). The broker loses leadership of its partitions and leaves ISRs.

    Its replicas remain assigned to it, so reassign them first. If the broker's process still runs, the controller refuses its
    heartbeats. The broker does not join any ISR, and registers again only after a restart.
    """

    broker: int


@attrs.frozen(eq=False, repr=False)
class DeleteRecords(Act, word="delete-records", does="delete a partition's records below an offset"):
    """Delete the records of a partition below an offset (`kafka-delete-records`). Consumers can no longer read them.

    Without an offset, all records below the high watermark are deleted.
    """

    partition: TopicPartition
    offset: int | None = None


@attrs.frozen(eq=False, repr=False)
class SetClock(Act, word="clock", does="set a node's clock to a wrong time, or make it run too fast or too slow"):
    """Set the clock of a broker, a client, or the controller.

    `skew` is the time by which the clock is ahead; if negative, the clock is behind. `drift` is the rate at which the clock gains
    time from now on. Brokers and the controller measure the durations of their settings with their clocks. Retention compares the
    time of day of the broker with the timestamps of records, which come from the clock of the producer.
    """

    node: str
    skew: int = 0
    drift_ppm: int = 0


# --- clients -------------------------------------------------------------------------------------------------------


@attrs.frozen(eq=False, repr=False)
class Clean(Act, word="clean", does="run a broker's log cleaner now"):
    """Clean the compacted logs of a broker now, or the log of one partition, however few of their bytes are dirty.

    A pass covers closed segments below the last stable offset. Without this act, a broker cleans a log when more than
    min.cleanable.dirty.ratio of its bytes are dirty.
    """

    broker: int
    partition: TopicPartition | None = None


@attrs.frozen(eq=False, repr=False)
class Produce(Act, word="produce", does="produce a burst of records"):
    """Produce records once. Without `partition`, the records are spread over the partitions of the topic.

    If the pace is `by-hand`, `to` is the broker that the producer still considers the leader. `config` contains settings of a new
    producer by their Kafka names: delivery.timeout.ms, request.timeout.ms, metadata.max.age.ms, retries,
    max.in.flight.requests.per.connection. With linger.ms, batch.size, or buffer.memory, the producer collects records in batches
    as Kafka's producers do; max.block.ms then limits how long send() blocks. Without them, each act makes one batch for each partition.

    Compacted topics take only records with `keys`: a list of names, or a number of keys `k0`, `k1`, …, which the records use in turn.
    `value` is the value of all these records. The value `none` makes them tombstones. Without `value`, the values are 0, 1, 2, and so on.
    """

    topic: str
    records: int
    partition: int | None = None
    acks: str = "all"
    bytes: int = 100
    """The size of a record in bytes."""
    producer: str = "producer"
    idempotence: bool = False
    """enable.idempotence of a new producer. Kafka enables it by default since 3.0; here, it is disabled by default."""
    to: int | None = None
    config: tuple[tuple[str, str], ...] = ()
    """Kafka settings of a new producer, by name (`core.kafka.clients.client_config`)."""
    keys: str = ""
    """The keys of the records, separated by commas, or the number of keys; empty if the records have no keys."""
    value: str = ""
    """The value of records with keys; if empty, each record's value is its number."""
    compression: int = 100
    """The size of a compressed batch, percent of its size before compression; 100 without compression. Only for producers that collect records."""


@attrs.frozen(eq=False, repr=False)
class Load(Act, word="load", does="produce steadily until stop-load"):
    """Produce `rate` records per second until `stop-load`. `every` is the time between two batches.

    `config`, `keys`, and `compression` have the same meaning as for `produce`.
    """

    topic: str
    rate: int
    acks: str = "all"
    every: int = 50_000
    bytes: int = 100
    producer: str = "load"
    idempotence: bool = False
    """enable.idempotence of a new producer. Kafka enables it by default since 3.0; here, it is disabled by default."""
    config: tuple[tuple[str, str], ...] = ()
    """Kafka settings of a new producer, by name (`core.kafka.clients.client_config`)."""
    keys: str = ""
    """The keys of the records, separated by commas, or the number of keys; empty if the records have no keys."""
    compression: int = 100
    """The size of a compressed batch, percent of its size before compression; 100 without compression. Only for producers that collect records."""


@attrs.frozen(eq=False, repr=False)
class StopLoad(Act, word="stop-load", does="stop a steady producer"):
    """Stop a steady producer. Batches that it has already sent are still answered."""

    producer: str = "load"


@attrs.frozen(eq=False, repr=False)
class Acks(Act, word="acks", does="change a producer's acks"):
    """Change the acks of a producer to 0, 1, or all, for the batches that it sends from now on."""

    acks: str
    producer: str = "load"


@attrs.frozen(eq=False, repr=False)
class Consume(Act, word="consume", does="start a consumer on a topic"):
    """Start a consumer that reads every partition of a topic.

    `reset` is its auto.offset.reset: `earliest` or `latest`. `rack` is its client.rack. With `replica.selector.class:
    RackAwareReplicaSelector`, leaders redirect the consumer to a replica in this rack (KIP-392). With `since`, the consumer starts
    at the first record of that virtual time or later (offsetsForTimes). If no such record exists, it starts at the end. `isolation` is
    its isolation.level: with `read_committed`, it skips the records of aborted transactions, and does not read past the first open one.
    `config` contains settings by their Kafka names: request.timeout.ms, metadata.max.age.ms.
    """

    topic: str
    consumer: str = "consumer"
    reset: str = "earliest"
    rack: str | None = None
    since: int | None = None
    isolation: str = "read_uncommitted"
    config: tuple[tuple[str, str], ...] = ()
    """Kafka settings of a new consumer, by name (`core.kafka.clients.client_config`)."""


@attrs.frozen(eq=False, repr=False)
class StopConsume(Act, word="stop-consume", does="stop a consumer"):
    """Stop a consumer."""

    consumer: str = "consumer"


# --- transactions --------------------------------------------------------------------------------------------------


@attrs.frozen(eq=False, repr=False)
class InitTransactions(Act, word="init-transactions", does="start a producer with a transactional.id"):
    """Start a producer with a transactional.id, and have it ask the transaction coordinator for its producer ID (initTransactions).

    An earlier producer with the same transactional.id is fenced, and its open transaction is aborted. The first act of this kind creates
    the topic `__transaction_state`. `config` contains settings by their Kafka names: transaction.timeout.ms, delivery.timeout.ms,
    request.timeout.ms, metadata.max.age.ms, retries, max.in.flight.requests.per.connection.
    """

    topic: str
    transactional_id: str
    producer: str = "producer"
    config: tuple[tuple[str, str], ...] = ()
    """Kafka settings of the producer, by name (`core.kafka.clients.client_config`)."""


@attrs.frozen(eq=False, repr=False)
class BeginTransaction(Act, word="begin-transaction", does="begin a transaction"):
    """Begin a transaction of a producer. Its subsequent `produce` acts belong to the transaction."""

    producer: str = "producer"


@attrs.frozen(eq=False, repr=False)
class CommitTransaction(Act, word="commit-transaction", does="commit a producer's transaction"):
    """Commit the transaction of a producer. The producer first waits until its batches are acknowledged."""

    producer: str = "producer"


@attrs.frozen(eq=False, repr=False)
class AbortTransaction(Act, word="abort-transaction", does="abort a producer's transaction"):
    """Abort the transaction of a producer. Batches that it has not sent yet are dropped."""

    producer: str = "producer"


@attrs.frozen(eq=False, repr=False)
class AbortHanging(Act, word="abort-hanging", does="abort a hanging transaction in a partition"):
    """Abort a transaction that no coordinator will end (`kafka-transactions abort`). The leader appends an ABORT marker for its producer.

    The coordinator is not involved. `start-offset` is the first offset of the open transaction.
    """

    partition: TopicPartition
    start_offset: int


# --- processes -----------------------------------------------------------------------------------------------------


@attrs.frozen(eq=False, repr=False)
class StartProcess(Act, word="process", does="start a process that reads a topic, writes a topic, and commits its offsets"):
    """Start a process that reads `source`, writes `output`, and commits its offsets for `group` (consume–transform–produce).

    Each input record produces `copies` output records. `delivery` is `exactly-once` (the output and the offsets are one transaction, 0.11
    and later), `at-least-once` (the offsets are committed after the output), or `at-most-once` (before it). If the last instance of the
    process has ended, another instance starts. By default, `transactional-id` is the name of the process. `reset` is auto.offset.reset, and
    `max-poll-records` is the maximum number of input records per round. With `crash-after`, the instance crashes when it has completed
    this step for the first time: init, fetch-offsets, poll, begin, produce, send-offsets, commit, or commit-offsets. The first act of this kind
    creates the topics `__consumer_offsets` and `__transaction_state`. `config` contains settings by their Kafka names, as for
    `init-transactions`.
    """

    source: str
    output: str
    process: str = "process"
    group: str | None = None
    delivery: str = "exactly-once"
    transactional_id: str | None = None
    copies: int = 1
    reset: str = "earliest"
    max_poll_records: int = 500
    crash_after: str | None = None
    config: tuple[tuple[str, str], ...] = ()
    """Kafka settings of the producer in the process, by name (`core.kafka.clients.client_config`)."""


@attrs.frozen(eq=False, repr=False)
class StopProcess(Act, word="stop-process", does="stop a process, which first aborts its open transaction"):
    """Stop a process. Its producer first aborts the open transaction, if there is one (close)."""

    process: str = "process"


@attrs.frozen(eq=False, repr=False)
class KillProcess(Act, word="kill-process", does="kill a process (kill -9)"):
    """Kill a process.

    Its transaction stays open until another instance with the same transactional.id starts, or until it exceeds transaction.timeout.ms.
    """

    process: str = "process"


# --- members of groups ---------------------------------------------------------------------------------------------


@attrs.frozen(eq=False, repr=False)
class JoinGroup(Act, word="join-group", does="start a consumer that is a member of a group"):
    """Start a consumer that subscribes to topics and joins a group. The group coordinator shares the partitions among its members.

    `assignors` is partition.assignment.strategy: `range`, `roundrobin`, `sticky`, `cooperative-sticky`. By default, it is that of the
    release. With `instance-id`, the member is static: it keeps its partitions when its process restarts within the session timeout.
    `commit` says when the consumer commits its offsets: `auto` (every auto.commit.interval.ms), `after` (after it has processed
    the records of a poll), `before`, `async`, or `none`. The application takes `poll-time` for each poll that returns records, and `record-time`
    for each record. `assign-time` is the time that the leader takes to assign the partitions. `reset` is auto.offset.reset: `earliest`, `latest`,
    `none`, or `by_duration:PT1H`. With `crash-after-records`, the process crashes when it has processed this number of records. If poll()
    throws an exception, the application closes the consumer; with `on-error: stop`, it only stops calling poll(). The first
    act of this kind creates the topic `__consumer_offsets`. `config` contains settings by their Kafka names: session.timeout.ms,
    heartbeat.interval.ms, max.poll.interval.ms, max.poll.records, auto.commit.interval.ms, default.api.timeout.ms, request.timeout.ms,
    metadata.max.age.ms. With `protocol: consumer`, the consumer speaks the protocol of KIP-848 (since 4.0): the coordinator assigns the partitions,
    with the assignor that most members name as `remote-assignor` (`uniform` or `range`); `member-id` is then the ID of the member. If the last
    process with this name has ended, another process starts.
    """

    topics: tuple[str, ...]
    consumer: str = "consumer"
    group: str = "group"
    assignors: tuple[str, ...] = ()
    instance_id: str | None = None
    reset: str = "earliest"
    commit: str = "auto"
    poll_time: int = 0
    record_time: int = 0
    assign_time: int = 0
    isolation: str = "read_uncommitted"
    rack: str | None = None
    crash_after_records: int | None = None
    config: tuple[tuple[str, str], ...] = ()
    """Kafka settings of the consumer, by name (`core.kafka.clients.client_config`)."""
    on_error: str = "close"
    protocol: str = "classic"
    remote_assignor: str | None = None
    member_id: str | None = None


@attrs.frozen(eq=False, repr=False)
class CloseConsumer(Act, word="close-consumer", does="close a consumer of a group; a dynamic member leaves the group"):
    """Close a consumer of a group after the present step of its application. A dynamic member leaves the group; a static one doesn't."""

    consumer: str = "consumer"


@attrs.frozen(eq=False, repr=False)
class KillConsumer(Act, word="kill-consumer", does="kill the process of a consumer of a group (kill -9)"):
    """Kill the process of a consumer. The coordinator notices this after the session timeout."""

    consumer: str = "consumer"


@attrs.frozen(eq=False, repr=False)
class FreezeConsumer(Act, word="freeze-consumer", does="stop the process of a consumer of a group (SIGSTOP)"):
    """Freeze the process of a consumer with SIGSTOP. It neither polls nor sends heartbeats, as during a long garbage collection."""

    consumer: str = "consumer"


@attrs.frozen(eq=False, repr=False)
class ThawConsumer(Act, word="thaw-consumer", does="let the process of a frozen consumer continue (SIGCONT)"):
    """Let the process of a frozen consumer continue. It does not know that time has passed."""

    consumer: str = "consumer"


@attrs.frozen(eq=False, repr=False)
class ProcessingTime(Act, word="processing-time", does="change the time that a consumer of a group takes to process its records"):
    """Change the time that the application takes for each poll that returns records, and for each record, from the next poll on."""

    consumer: str = "consumer"
    poll_time: int | None = None
    record_time: int | None = None


@attrs.frozen(eq=False, repr=False)
class StallConsumer(Act, word="stall-consumer", does="keep the application of a consumer of a group from calling poll()"):
    """Keep the application from calling poll() for some time. Its heartbeats go on (since 0.10.1)."""

    stall_time: int
    consumer: str = "consumer"


@attrs.frozen(eq=False, repr=False)
class CommitOffsets(Act, word="commit-offsets", does="make a consumer of a group commit its offsets (commitSync)"):
    """Make a consumer commit the offsets of the records that it has polled, as soon as the application is in poll()."""

    consumer: str = "consumer"


@attrs.frozen(eq=False, repr=False)
class PausePartitions(Act, word="pause-partitions", does="make a consumer of a group pause partitions"):
    """Make a consumer pause partitions (`KafkaConsumer#pause`): poll() returns no records from them, but the consumer keeps them."""

    consumer: str = "consumer"
    topic: str | None = None
    partition: int | None = None


@attrs.frozen(eq=False, repr=False)
class ResumePartitions(Act, word="resume-partitions", does="make a consumer of a group resume paused partitions"):
    """Make a consumer resume paused partitions (`KafkaConsumer#resume`)."""

    consumer: str = "consumer"
    topic: str | None = None
    partition: int | None = None


@attrs.frozen(eq=False, repr=False)
class RemoveMember(Act, word="remove-member", does="remove a static member from its group, as an administrator"):
    """Remove a static member from its group (`Admin#removeMembersFromConsumerGroup`)."""

    instance_id: str
    group: str = "group"


# --- services ------------------------------------------------------------------------------------------------------


@attrs.frozen(eq=False, repr=False)
class StartDelayService(Act, word="delay-service", does="start a service that holds delayed records until they are due"):
    """Start a delay service for a topic. Each level has its own topic, such as `delay_topic_30s`, and its own worker, such as `delay-30s`.

    A worker reads the topic of its level, holds the records in memory, and sends each record to `topic` when it is due: its timestamp plus
    the level. Levels are whole numbers with a unit. If the worker holds `bound` records of a partition, it pauses the partition until it
    holds fewer than `resume-at`. Every `commit-every`, the worker commits offsets: with `commit: done`, the lowest offset that it has not
    forwarded; with `commit: position`, the offset after the last record that it has polled. If the service is `transactional`, the
    forwarded records and the offsets are one transaction. `queue` is `priority` or `fifo`. `due-from` is the moment from which the delay
    counts: `timestamp` or `read`. With `delays: record`, each record has the delay that its producer asked for, instead of the delay of its level. With `tick`, a timing wheel rounds due times up. With `crash-after`, each worker crashes when it
    has sent its first records but not handled the response (`send`), when they are acknowledged (`forward`), or when it has committed offsets (`commit`). If the workers
    have ended, other instances start. `group` is the group of the workers; by default, it is the name of the service. `config` contains settings by their Kafka names, as for `init-transactions`.
    """

    topic: str
    levels: tuple[str, ...] = LEVELS
    service: str = "delay"
    partitions: int = 1
    bound: int = 1000
    resume_at: int | None = None
    commit_every: int = 5_000_000
    commit: str = "done"
    transactional: bool = False
    queue: str = "priority"
    due_from: str = "timestamp"
    delays: str = "level"
    tick: int = 0
    idempotence: bool = False
    crash_after: str | None = None
    group: str | None = None
    reset: str = "earliest"
    config: tuple[tuple[str, str], ...] = ()
    """Kafka settings of the producers of the service, by name (`core.kafka.clients.client_config`)."""


@attrs.frozen(eq=False, repr=False)
class ProduceDelayed(Act, word="produce-delayed", does="produce records that are to arrive after a delay"):
    """Produce records that should reach the topic of a delay service after the time `after`.

    They go to the topic of the smallest level that is long enough. With `rate`, the records are produced over time, one batch `every`
    interval. Without a delay, they go to the real topic at once. By default, the producer is named after the delay: `delayed-17s`.
    """

    after: int
    records: int
    service: str = "delay"
    rate: int = 0
    every: int = 100_000
    partition: int | None = None
    acks: str = "all"
    bytes: int = 100
    producer: str | None = None


@attrs.frozen(eq=False, repr=False)
class StartRetryService(Act, word="retry-service", does="start a service that retries records that fail"):
    """Start a service that processes a topic, and retries records that fail.

    A record that fails goes to the next retry topic, where another worker tries it again after the delay of that topic. If the last try fails, the
    record goes to the dead-letter topic. The names are those of Spring Kafka: for `orders`, they are `orders-retry-5000` and so on (with
    `names: index`, `orders-retry-0`), and `orders-dlt`. A worker is named after the service and its topic, for example `app-orders-retry-5000`.
    If the service is `blocking`, it tries a record again in place, and all later records of the partition wait. Without `dead-letters`, a
    blocking service skips records that fail for the last time. `bound`, `commit-every`, `commit`, `transactional`, `crash-after`, and `config`
    have the same meaning as for `delay-service`. The act `fail-processing` determines which records fail.
    """

    topic: str
    delays: tuple[str, ...] = ("5s", "10s", "30s")
    service: str = "app"
    blocking: bool = False
    dead_letters: bool = True
    names: str = "delay"
    partitions: int = 1
    bound: int = 1000
    commit_every: int = 5_000_000
    commit: str = "done"
    transactional: bool = False
    crash_after: str | None = None
    reset: str = "earliest"
    config: tuple[tuple[str, str], ...] = ()
    """Kafka settings of the producers of the service, by name (`core.kafka.clients.client_config`)."""


@attrs.frozen(eq=False, repr=False)
class FailProcessing(Act, word="fail-processing", does="let the processing of a share of the records of a retry service fail"):
    """From now on, let a share of the records of a retry service fail. A share of 0% ends this.

    In each batch, the first records fail, so that exactly this share fails. With `tries`, only the first tries of a record fail, up to this number. With
    `lasting`, records stop failing after that time. With `kills`, a record that fails kills the process before it can send the record
    anywhere. `reason` is the name of the exception.
    """

    share_ppm: int
    service: str = "app"
    tries: int = 0
    lasting: int | None = None
    kills: bool = False
    reason: str = "IllegalStateException"


@attrs.frozen(eq=False, repr=False)
class StopService(Act, word="stop-service", does="stop a service; its workers commit their offsets first"):
    """Stop the workers of a service. Each worker waits for its batches, commits its offsets, and ends."""

    service: str = "delay"


@attrs.frozen(eq=False, repr=False)
class KillService(Act, word="kill-service", does="kill the workers of a service (kill -9)"):
    """Kill the workers of a service. What they hold in memory is gone."""

    service: str = "delay"


# --- by hand -------------------------------------------------------------------------------------------------------


@attrs.frozen(eq=False, repr=False)
class SetPace(Act, word="pace", does="step a running cluster by hand, or let it run by itself again"):
    """Change the pace of a running cluster to `by-hand` or `timeline`.

    If the pace is `by-hand`, followers fetch and loads produce only when an act tells them to, and messages arrive at once. Brokers
    continue with their other tasks, but virtual time passes only when you advance it. If the pace is `timeline`, everything runs by
    itself.
    """

    pace: str


# --- single steps --------------------------------------------------------------------------------------------------


@attrs.frozen(eq=False, repr=False)
class Fetch(Act, word="fetch", does="make a follower fetch; the leader answers at once", by_hand=True):
    """Run one turn of a follower's fetcher: the follower sends a fetch, the leader answers at once, and the follower appends.

    Because the answer is immediate, it contains the high watermark from before this fetch. If the fetcher must truncate first, it
    does so in the same turn. If the follower fetches from several leaders, `leader` selects one.
    """

    follower: int
    leader: int | None = None
    records: int | None = None
    """The maximum number of records of a partition in the answer."""


@attrs.frozen(eq=False, repr=False)
class Arrive(Act, word="arrive", does="deliver a follower's fetch to the leader, where it waits", by_hand=True):
    """Deliver a follower's fetch to the leader. The fetch updates the leader's view of the follower, and waits in the purgatory."""

    follower: int
    leader: int | None = None


@attrs.frozen(eq=False, repr=False)
class Answer(Act, word="answer", does="answer a waiting fetch", by_hand=True):
    """Answer a follower's fetch that waits in the purgatory. The leader reads the log and the high watermark at this moment.

    `records` is the maximum number of records in the answer. `lost` drops the answer on its way. `corrupt` flips bits of the
    records, so that their checksums are wrong.
    """

    follower: int
    leader: int | None = None
    records: int | None = None
    lost: bool = False
    corrupt: bool = False


@attrs.frozen(eq=False, repr=False)
class Fence(Act, word="fence", does="make the controller fence a broker", by_hand=True):
    """Make the controller notice that the session of a broker has expired."""

    broker: int


@attrs.frozen(eq=False, repr=False)
class Bounce(Act, word="bounce", does="restart a broker faster than the controller notices", by_hand=True):
    """Restart a broker's process so fast that the controller does not notice.

    With `clean`, the broker first writes the high-watermark checkpoint, as in a clean shutdown. Otherwise, it uses the last
    checkpoint. With `keep`, the machine restarts instead of the process. The given partitions then keep only the records below the
    given offsets.
    """

    broker: int
    clean: bool = True
    keep: tuple[tuple[TopicPartition, int], ...] = ()


@attrs.frozen(eq=False, repr=False)
class Checkpoint(Act, word="checkpoint", does="make a broker write its high watermarks to disk", by_hand=True):
    """Write the high watermarks of a broker to disk."""

    broker: int


@attrs.frozen(eq=False, repr=False)
class CheckIsr(Act, word="check-isr", does="make a broker check its ISRs for followers to remove", by_hand=True):
    """Run the isr-expiration task of a broker for the partitions that it leads."""

    broker: int


ACTS: Final[dict[str, type[Act]]] = {
    act.word: act
    for act in (
        Kill, PowerLoss, Shutdown, Start, Pause, Resume, FailDir, RepairDir, MoveReplica, SlowDisk, KillController, StartController,
        PauseController, ResumeController, Cut, Heal, Isolate, Link, Hold, Release, Set, CreateTopic, CreatePartitions, SetClock, Elect,
        Reassign, CancelReassignment, Unregister, DeleteRecords, Clean, Produce, Load, StopLoad, Acks, Consume, StopConsume, InitTransactions,
        BeginTransaction, CommitTransaction, AbortTransaction, AbortHanging, StartProcess, StopProcess, KillProcess, JoinGroup, CloseConsumer, KillConsumer,
        FreezeConsumer, ThawConsumer, ProcessingTime, StallConsumer, CommitOffsets, PausePartitions, ResumePartitions, RemoveMember, StartDelayService,
        ProduceDelayed, StartRetryService, FailProcessing, StopService, KillService, SetPace, Fetch, Arrive, Answer, Fence, Bounce, Checkpoint, CheckIsr,
    )
}  # fmt: skip
"""All acts, by word."""

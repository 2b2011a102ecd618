"""The acts of people and scripts on a cluster. Each act is a frozen class that names its word in the script language.

An act is data. `Cluster.do` executes it. The journal records it as an `act` event with its fields as JSON, so a recorded session can
be replayed or written as a script. Times are in µs. If an act has no `topic`, `broker`, or `partition`, it applies to all of them. The
name of a field is its word in the script language.
"""

from __future__ import annotations

from typing import ClassVar, Final

import attrs

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
class Kill(Act, word="kill", does="kill -9 a broker's process; its logs survive"):
    """Kill a broker's process at once (kill -9). Its logs stay as they are, in the machine's page cache."""

    broker: int


@attrs.frozen(eq=False, repr=False)
class PowerLoss(Act, word="power-loss", does="cut the power of a broker's machine; unflushed records may be lost"):
    """Cut the power of a broker's machine. Some or all records above a log's recovery point can be lost.

    `unflushed` says how much of that tail had reached the disk by itself: `drawn` (for each log, from the seed), `lost`
    (nothing), or `kept` (everything). If `keep` is given, it replaces `unflushed`. `keep` has the offset up to which each log had
    reached the disk. Other partitions keep everything.
    """

    broker: int
    keep: tuple[tuple[TopicPartition, int], ...] = ()
    unflushed: str = "drawn"


@attrs.frozen(eq=False, repr=False)
class Shutdown(Act, word="shutdown", does="shut a broker down cleanly (controlled shutdown)"):
    """Shut down a broker cleanly (SIGTERM): leaderships move away, high watermarks are written, and then the process ends."""

    broker: int


@attrs.frozen(eq=False, repr=False)
class Start(Act, word="start", does="start a stopped broker"):
    """Start a stopped broker's process again."""

    broker: int


@attrs.frozen(eq=False, repr=False)
class Pause(Act, word="pause", does="pause a broker's process, as a long GC pause does"):
    """Pause a broker's process, as a long GC pause or SIGSTOP does. It processes and sends nothing, and messages wait."""

    broker: int


@attrs.frozen(eq=False, repr=False)
class Resume(Act, word="resume", does="resume a paused broker"):
    """Resume a paused process."""

    broker: int


# --- disks ---------------------------------------------------------------------------------------------------------


@attrs.frozen(eq=False, repr=False)
class FailDir(Act, word="fail-dir", does="make a log directory of a broker fail"):
    """Make a log directory of a broker fail, as a broken disk does. Its replicas go offline.

    The broker halts if it has no other directory, or if its release cannot run with a failed one.
    """

    broker: int
    dir: int = 1


@attrs.frozen(eq=False, repr=False)
class RepairDir(Act, word="repair-dir", does="replace a failed log directory; the broker uses it after its next start"):
    """Replace a failed log directory with an empty one. If `empty` is false, restore it with its contents.

    The broker uses the directory after its next start.
    """

    broker: int
    dir: int = 1
    empty: bool = True


@attrs.frozen(eq=False, repr=False)
class MoveReplica(Act, word="move-replica", does="move a replica to another log directory of its broker"):
    """Move a replica to another log directory of its broker. A copy catches up and then takes over.

    `kafka-reassign-partitions` does the same with log_dirs.
    """

    partition: TopicPartition
    broker: int
    dir: int


@attrs.frozen(eq=False, repr=False)
class SlowDisk(Act, word="slow-disk", does="slow down the disk writes of a broker; 0 restores the speed"):
    """Make each write to a broker's disk take `delay`. Writes of fetchers and of producers' batches queue up. 0 restores the speed."""

    broker: int
    delay: int


# --- controllers ---------------------------------------------------------------------------------------------------


@attrs.frozen(eq=False, repr=False)
class KillController(Act, word="kill-controller", does="kill -9 a dedicated controller"):
    """Kill a dedicated controller's process at once. Its log and its vote stay on disk. A combined one dies with its broker (`kill`)."""

    node: str


@attrs.frozen(eq=False, repr=False)
class StartController(Act, word="start-controller", does="start a killed controller"):
    """Start a dedicated controller's process again."""

    node: str


@attrs.frozen(eq=False, repr=False)
class PauseController(Act, word="pause-controller", does="pause a dedicated controller, as a long GC pause does"):
    """Pause a dedicated controller. When it resumes, it is a zombie: it keeps its old state until it learns of a newer epoch."""

    node: str


@attrs.frozen(eq=False, repr=False)
class ResumeController(Act, word="resume-controller", does="resume a paused controller"):
    """Resume a paused controller."""

    node: str


# --- network -------------------------------------------------------------------------------------------------------


@attrs.frozen(eq=False, repr=False)
class Cut(Act, word="cut", does="cut the link between two nodes"):
    """Cut the link between two nodes. With `one-way`, cut only the direction from the first node to the second.

    A node is `b1`, `controller` (or `c1`; with ZooKeeper, the broker that is the controller), `zookeeper`, or a client.
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
    """Change the latency and jitter (µs) and the loss (parts per million) of a link, in both directions.

    TCP retransmits lost messages, and neither repeats nor reorders messages. A proxy between a client and a broker can repeat a
    request, or send it on a different connection from the one before it. `duplicate` is the share of requests on a client's link that
    such a proxy delivers twice. `reorder` is the share that it lets later requests overtake. Each answer arrives once, and in order.
    """

    between: tuple[str, str]
    latency: int | None = None
    jitter: int | None = None
    loss_ppm: int | None = None
    duplicate_ppm: int | None = None
    reorder_ppm: int | None = None


@attrs.frozen(eq=False, repr=False)
class Hold(Act, word="hold", does="hold back messages from one node to another"):
    """Hold back every message from the first node to the second until `release`, and keep their order."""

    between: tuple[str, str]


@attrs.frozen(eq=False, repr=False)
class Release(Act, word="release", does="deliver held messages"):
    """Deliver the messages that `hold` held back. With `messages`, deliver only that many, oldest first. The other messages stay held."""

    between: tuple[str, str]
    messages: int | None = None


# --- administration ------------------------------------------------------------------------------------------------


@attrs.frozen(eq=False, repr=False)
class Set(Act, word="set", does="change a Kafka setting while it runs"):
    """Change a Kafka setting for the whole cluster, for a topic, or for a broker.

    A running cluster refuses a setting that Kafka reads only at start. `force` sets it anyway, as if the brokers had restarted
    with it and nothing else had happened.
    """

    name: str
    value: str
    topic: str | None = None
    broker: int | None = None
    force: bool = False


@attrs.frozen(eq=False, repr=False)
class CreateTopic(Act, word="create-topic", does="create a topic"):
    """Create a topic. `replicas` assigns its partitions to brokers."""

    topic: str
    partitions: int = 1
    replication_factor: int = 3
    replicas: tuple[tuple[int, ...], ...] = ()
    config: tuple[tuple[str, str], ...] = ()


@attrs.frozen(eq=False, repr=False)
class CreatePartitions(Act, word="create-partitions", does="give a topic more partitions"):
    """Increase the number of partitions of a topic to `partitions` (`kafka-topics --alter`). `replicas` assigns the new ones to brokers.

    Clients learn of the new partitions with their next metadata update, after metadata.max.age.ms (5 minutes) at the latest.
    """

    topic: str
    partitions: int
    replicas: tuple[tuple[int, ...], ...] = ()


@attrs.frozen(eq=False, repr=False)
class Elect(Act, word="elect", does="elect preferred leaders, or leaders from outside the ISR"):
    """Elect preferred or unclean leaders, for one partition or for all of them (`kafka-leader-election`)."""

    election: str = "preferred"
    partition: TopicPartition | None = None


@attrs.frozen(eq=False, repr=False)
class Reassign(Act, word="reassign", does="move a partition to other replicas, or change their number or order"):
    """Move a partition to other replicas (`kafka-reassign-partitions --execute`). Added replicas must catch up before removed ones go."""

    partition: TopicPartition
    replicas: tuple[int, ...]


@attrs.frozen(eq=False, repr=False)
class CancelReassignment(Act, word="cancel-reassignment", does="cancel a running reassignment"):
    """Cancel a running reassignment (`kafka-reassign-partitions --cancel`)."""

    partition: TopicPartition


@attrs.frozen(eq=False, repr=False)
class Unregister(Act, word="unregister", does="unregister a broker"):
    """Unregister a broker (`kafka-cluster unregister`, KRaft). The broker loses its registration and leaderships, and leaves ISRs.

    Its replicas remain assigned to it, so reassign them first. If the process still runs, the controller refuses its heartbeats.
    The broker then joins no ISR, and registers again only after a restart.
    """

    broker: int


@attrs.frozen(eq=False, repr=False)
class DeleteRecords(Act, word="delete-records", does="delete a partition's records below an offset"):
    """Delete the records of a partition below an offset, so that consumers can no longer read them (`kafka-delete-records`).

    Without an offset, delete all records below the high watermark.
    """

    partition: TopicPartition
    offset: int | None = None


@attrs.frozen(eq=False, repr=False)
class SetClock(Act, word="clock", does="set a node's clock to a wrong time, or make it run too fast or too slow"):
    """Set the clock of a broker, a client, or the controller. `skew` is how far it is ahead, and `drift` is how fast it gains.

    If `skew` is negative, the clock is behind. Brokers and the controller measure the durations of their settings by their clocks.
    Retention compares the broker's time of day with the timestamps of records, which come from the clock of the producer.
    """

    node: str
    skew: int = 0
    drift_ppm: int = 0


# --- clients -------------------------------------------------------------------------------------------------------


@attrs.frozen(eq=False, repr=False)
class Produce(Act, word="produce", does="produce a burst of records"):
    """Produce records once, through a producer client. Without `partition`, they are spread over the topic's partitions.

    In by-hand mode, `to` names the broker that the producer still considers the leader. `config` has settings of a new producer by their
    Kafka names: delivery.timeout.ms, request.timeout.ms, metadata.max.age.ms, retries, max.in.flight.requests.per.connection.
    """

    topic: str
    records: int
    partition: int | None = None
    acks: str = "all"
    bytes: int = 100
    """The size of one record, bytes."""
    producer: str = "producer"
    idempotence: bool = False
    """enable.idempotence of a new producer. Kafka turns it on by default since 3.0; here, it is off unless a script sets it."""
    to: int | None = None
    config: tuple[tuple[str, str], ...] = ()
    """Kafka settings of a new producer, by name (`core.kafka.clients.client_config`)."""


@attrs.frozen(eq=False, repr=False)
class Load(Act, word="load", does="produce steadily until stop-load"):
    """Produce `rate` records per second, sent at intervals of `every`, until `stop-load`. `config` is the same as for `produce`."""

    topic: str
    rate: int
    acks: str = "all"
    every: int = 50_000
    bytes: int = 100
    producer: str = "load"
    idempotence: bool = False
    """enable.idempotence of a new producer. Kafka turns it on by default since 3.0; here, it is off unless a script sets it."""
    config: tuple[tuple[str, str], ...] = ()
    """Kafka settings of a new producer, by name (`core.kafka.clients.client_config`)."""


@attrs.frozen(eq=False, repr=False)
class StopLoad(Act, word="stop-load", does="stop a steady producer"):
    """Stop a steady producer. Requests that the producer has sent are still answered."""

    producer: str = "load"


@attrs.frozen(eq=False, repr=False)
class Acks(Act, word="acks", does="change a producer's acks"):
    """Change a producer's acks for the requests that it sends from now on: 0, 1, or all."""

    acks: str
    producer: str = "load"


@attrs.frozen(eq=False, repr=False)
class Consume(Act, word="consume", does="start a consumer on a topic"):
    """Start a consumer that reads every partition of a topic. `reset` is its auto.offset.reset: earliest or latest.

    `rack` is its client.rack. With `replica.selector.class: RackAwareReplicaSelector`, leaders send it to a replica in that rack (KIP-392).
    With `since`, it starts at the first record of that virtual time (offsetsForTimes). If there is no such record, it starts at the end.
    `config` has settings by their Kafka names: request.timeout.ms, metadata.max.age.ms.
    """

    topic: str
    consumer: str = "consumer"
    reset: str = "earliest"
    rack: str | None = None
    since: int | None = None
    config: tuple[tuple[str, str], ...] = ()
    """Kafka settings of a new consumer, by name (`core.kafka.clients.client_config`)."""


@attrs.frozen(eq=False, repr=False)
class StopConsume(Act, word="stop-consume", does="stop a consumer"):
    """Stop a consumer."""

    consumer: str = "consumer"


# --- by hand -------------------------------------------------------------------------------------------------------


@attrs.frozen(eq=False, repr=False)
class SetPace(Act, word="pace", does="step a running cluster by hand, or let it run on its own again"):
    """Switch a running cluster to another pace: `by-hand` or `timeline`.

    In by-hand mode, followers fetch and loads produce only when an act says so. Messages that are in transit arrive at once. Brokers
    keep their other tasks, but virtual time passes only when you let it. Back on the timeline, everything runs by itself again.
    """

    pace: str


# --- single steps --------------------------------------------------------------------------------------------------


@attrs.frozen(eq=False, repr=False)
class Fetch(Act, word="fetch", does="by hand: a follower fetches, and the leader answers at once", by_hand=True):
    """In by-hand mode, run one turn of a follower's fetcher. The follower asks, the leader answers at once, and the follower appends.

    Because the answer is immediate, it carries the high watermark from before this fetch. If a fetcher must first truncate, it does
    so in this turn too. If the follower fetches from several leaders, `leader` picks one.
    """

    follower: int
    leader: int | None = None
    records: int | None = None
    """The maximum number of records of a partition in the answer."""


@attrs.frozen(eq=False, repr=False)
class Arrive(Act, word="arrive", does="by hand: a follower's fetch reaches the leader and waits there", by_hand=True):
    """In by-hand mode, let a follower's fetch reach the leader. The fetch updates the leader's view and waits in its purgatory."""

    follower: int
    leader: int | None = None


@attrs.frozen(eq=False, repr=False)
class Answer(Act, word="answer", does="by hand: the leader answers a waiting fetch", by_hand=True):
    """In by-hand mode, let the waiting fetch of a follower leave the purgatory. The leader reads log and HW now and delivers the answer.

    `records` limits the records in the answer. `lost` loses the answer on its way. `corrupt` flips bits of its records,
    so that their checksums are wrong.
    """

    follower: int
    leader: int | None = None
    records: int | None = None
    lost: bool = False
    corrupt: bool = False


@attrs.frozen(eq=False, repr=False)
class Fence(Act, word="fence", does="by hand: the controller fences a broker", by_hand=True):
    """In by-hand mode, let the controller notice that a broker's session has expired."""

    broker: int


@attrs.frozen(eq=False, repr=False)
class Bounce(Act, word="bounce", does="by hand: restart a broker faster than the controller notices", by_hand=True):
    """In by-hand mode, restart a broker's process so fast that the controller does not notice.

    `clean` writes the high-watermark checkpoint first, as a shutdown does. Otherwise, the last checkpoint counts. With
    `keep`, the machine restarts instead, and those partitions keep only records below the given offsets.
    """

    broker: int
    clean: bool = True
    keep: tuple[tuple[TopicPartition, int], ...] = ()


@attrs.frozen(eq=False, repr=False)
class Checkpoint(Act, word="checkpoint", does="by hand: a broker checkpoints its high watermarks", by_hand=True):
    """In by-hand mode, write a broker's high watermarks to disk."""

    broker: int


@attrs.frozen(eq=False, repr=False)
class CheckIsr(Act, word="check-isr", does="by hand: a broker checks its ISRs for followers to remove", by_hand=True):
    """In by-hand mode, run a broker's isr-expiration task over the partitions that it leads."""

    broker: int


ACTS: Final[dict[str, type[Act]]] = {
    act.word: act
    for act in (
        Kill, PowerLoss, Shutdown, Start, Pause, Resume, FailDir, RepairDir, MoveReplica, SlowDisk, KillController, StartController,
        PauseController, ResumeController, Cut, Heal, Isolate, Link, Hold, Release, Set, CreateTopic, CreatePartitions, SetClock, Elect,
        Reassign, CancelReassignment, Unregister, DeleteRecords, Produce, Load, StopLoad, Acks, Consume, StopConsume, SetPace, Fetch,
        Arrive, Answer, Fence, Bounce, Checkpoint, CheckIsr,
    )
}  # fmt: skip
"""All acts, by word."""

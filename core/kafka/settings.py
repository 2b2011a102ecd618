"""The settings that the laboratory models, by their names in Kafka, each with its type, default, scope, and releases.

A `Settings` object looks up a value as Kafka does: the topic's override, the broker's own value, the cluster-wide value, and finally the
default of the release. It refuses unknown names and values that are out of range.
"""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterable, Iterator, Mapping
from functools import lru_cache
from typing import Final

import attrs

from core.kafka.release import Release
from core.sim.clock import RIGHT
from core.sim.repr_mixin import ReprMixin

MAX_LONG: Final = 2**63 - 1
"""Kafka's `Long.MAX_VALUE`, the upper bound of its long settings."""

MAX_INT: Final = 2**31 - 1
"""Kafka's `Integer.MAX_VALUE`, the upper bound of its int settings."""

Value = int | bool | float | str
"""The value of a setting: an int in the unit of its name (ms, bytes), a bool, a ratio, or a list in Kafka's notation."""


def whole_number(text: str) -> int | None:
    """Parse a whole number in decimal digits; None if the text is not one. If there are more than 300 digits, only the first 300 count."""
    negative = text[:1] == "-"
    digits = text[1:] if negative else text
    if not (digits.isascii() and digits.isdecimal()):
        return None
    value = int((digits.lstrip("0") or "0")[:300])
    return -value if negative else value


def number_within(name: str, text: str, least: int, most: int) -> int:
    """Parse the value of a numeric setting.

    Raises:
        ValueError: the text is not a number, or the number is out of bounds.
    """
    digits = text.strip().replace("_", "")
    value = whole_number(digits)
    if value is None:
        raise ValueError(f"{name} takes a whole number, not '{text[:80]}'")
    if not least <= value <= most:
        raise ValueError(f"{name} takes a number from {least} to {most}, not {digits[:40]}")
    return value


@attrs.frozen(repr=False)
class Setting(ReprMixin):
    """A Kafka setting.

    Attributes:
        name: the name in Kafka.
        type: `int`, `long`, `double` (a ratio from 0 to 1), `boolean`, `class`, or `list`.
        default: the default in the newest release.
        scope: the scope in addition to the whole cluster: `broker`, `topic`, or `controller`. A list of replicas can be set only for a topic.
        dynamic: whether Kafka accepts a change at run time.
        meaning: one sentence for the settings screen.
        least: the lowest allowed value of a number.
        most: the highest allowed value of a number.
        older_defaults: `(release, default)` pairs; each default applies to that release and earlier ones.
        of_topic: for a broker setting, the topic setting that overrides it, with the same type, default, and bounds.
        synonym: for a topic setting, the broker setting that applies if the topic has no override.
        classes: for a `class`, the names that it accepts besides the empty name; the last part of a name is enough.
        words: for a `list`, the words that it accepts. A `list` without words is a list of replicas (`throttled_partitions`).
    """

    name: str
    type: str
    default: Value
    scope: str
    dynamic: bool
    meaning: str
    least: int = 0
    most: int = MAX_INT
    older_defaults: tuple[tuple[str, Value], ...] = ()
    of_topic: str = ""
    synonym: str = ""
    classes: tuple[str, ...] = ()
    words: tuple[str, ...] = ()

    @property
    def since(self) -> str:
        """The first release that has the setting; empty if the oldest known release has it."""
        return _SPANS.get(self.name, ("", ""))[0]

    @property
    def until(self) -> str:
        """The last release that has the setting; empty if the newest release has it."""
        return _SPANS.get(self.name, ("", ""))[1]

    def exists_in(self, release: Release) -> bool:
        """Return whether a release has the setting."""
        if self.since and release.order < Release.named(self.since).order:
            return False
        return not self.until or release.order <= Release.named(self.until).order

    def default_in(self, release: Release) -> Value:
        """Return the default in a release."""
        return _default(self.name, release.order) if self.older_defaults else self.default

    def parse(self, raw: object) -> Value:
        """Parse a value.

        Raises:
            ValueError: the value does not have the type of the setting, or is out of bounds.
        """
        if self.type == "list":
            return self._words(str(raw)) if self.words else _throttled_replicas(self.name, str(raw))
        if self.type == "double":
            return self._ratio(str(raw))
        if self.type == "class":
            return self._class(str(raw).strip())
        if self.type == "boolean":
            text = str(raw).strip().lower()
            if text in ("true", "false"):
                return text == "true"
            raise ValueError(f"{self.name} takes true or false, not '{raw}'")
        return number_within(self.name, str(raw), self.least, self.most)

    def _words(self, text: str) -> str:
        """Return a list of words without spaces (`ConfigDef.ValidList`)."""
        given = [word.strip() for word in text.split(",")]
        if not given or any(word not in self.words for word in given) or len(set(given)) < len(given):
            raise ValueError(f"{self.name} takes {', '.join(self.words)}, or several of them separated by commas, not '{text[:80]}'")
        return ",".join(given)

    def _ratio(self, text: str) -> float:
        """Return a number from 0 to 1."""
        if not re.fullmatch(r"[0-9]{0,9}\.?[0-9]{1,18}", text.strip()) or not float(text) <= 1:
            raise ValueError(f"{self.name} takes a number from 0 to 1, not '{text[:80]}'")
        return float(text)

    def _class(self, text: str) -> str:
        """Return the full name of a class, or an empty name."""
        names = {name: name for name in ("", *self.classes)} | {name.rpartition(".")[2]: name for name in self.classes}
        if text not in names:
            raise ValueError(
                f"{self.name} takes {' or '.join(name.rpartition('.')[2] for name in self.classes)}, not '{text}'; '' means none"
            )
        return names[text]

    def scope_error(self, *, broker: bool, topic: bool) -> str:
        """Return the reason that the setting cannot be set for a broker, a topic, or (if both are False) the whole cluster; empty if it can be set."""
        if topic and self.scope != "topic":
            return f"{self.name} is not a topic setting; set it for a broker or for the whole cluster"
        if broker and self.scope == "controller":
            return f"{self.name} is a setting of the controller; set it for the whole cluster"
        if self.type == "list" and not self.words and not topic:
            return f"{self.name} is a setting of topics only; set it for a topic"
        return ""


def _throttled_replicas(name: str, text: str) -> str:
    """Return a list of replicas without spaces (`ThrottledReplicaListValidator`)."""
    entries = [entry.strip() for entry in text.split(",")] if text.strip() else []
    if entries == ["*"] or all(re.fullmatch("[0-9]{1,9}:[0-9]{1,9}", entry) for entry in entries):
        return ",".join(entries)
    raise ValueError(f"{name} takes '*' or replicas as partition:broker,partition:broker, not '{text}'; '' means no replicas")


ALL_REPLICAS: Final = frozenset((-1,))
"""The value that names the replicas of all partitions of a topic (`Constants.AllReplicas`)."""


def throttled_partitions(value: str, broker: int) -> frozenset[int]:
    """Return the partitions whose replicas on a broker are in a list of replicas (`TopicConfigHandler#parseThrottledPartitions`)."""
    if value == "*":
        return ALL_REPLICAS
    replicas = (entry.split(":") for entry in value.split(",") if entry)
    return frozenset(int(partition) for partition, of in replicas if int(of) == broker)


@lru_cache(maxsize=1_024)
def _default(name: str, order: int) -> Value:
    """Return the default in the release at a position in time. The result is cached, because a lookup of releases by name takes time."""
    setting = SETTINGS[name]
    for upto, value in setting.older_defaults:
        if order <= Release.named(upto).order:
            return value
    return setting.default


_SPANS: Final[Mapping[str, tuple[str, str]]] = {
    "replica.lag.max.messages": ("", "0.8.2"),
    "zookeeper.session.timeout.ms": ("", "3.9"),
    "broker.heartbeat.interval.ms": ("2.8", ""),
    "broker.session.timeout.ms": ("2.8", ""),
    "controller.quorum.fetch.timeout.ms": ("2.8", ""),
    "controller.quorum.election.timeout.ms": ("2.8", ""),
    "leader.replication.throttled.rate": ("0.10.2", ""),
    "follower.replication.throttled.rate": ("0.10.2", ""),
    "leader.replication.throttled.replicas": ("0.10.2", ""),
    "follower.replication.throttled.replicas": ("0.10.2", ""),
    "replica.fetch.response.max.bytes": ("0.10.2", ""),
    "log.flush.start.offset.checkpoint.interval.ms": ("0.11", ""),
    "log.dir.failure.timeout.ms": ("3.7", ""),
    "replica.selector.class": ("2.4", ""),
    "transaction.max.timeout.ms": ("0.11", ""),
    "transactional.id.expiration.ms": ("0.11", ""),
    "transaction.state.log.num.partitions": ("0.11", ""),
    "transaction.state.log.replication.factor": ("0.11", ""),
    "transaction.state.log.min.isr": ("0.11", ""),
    "transaction.abort.timed.out.transaction.cleanup.interval.ms": ("0.11", ""),
    "transaction.remove.expired.transaction.cleanup.interval.ms": ("0.11", ""),
    "transaction.partition.verification.enable": ("3.6", ""),
    "producer.id.expiration.ms": ("3.6", ""),
    "log.cleaner.min.compaction.lag.ms": ("0.10.2", ""),
    "min.compaction.lag.ms": ("0.10.2", ""),
    "log.cleaner.max.compaction.lag.ms": ("2.4", ""),
    "max.compaction.lag.ms": ("2.4", ""),
    "offsets.retention.minutes": ("0.9", ""),
    "offsets.retention.check.interval.ms": ("0.9", ""),
    "group.min.session.timeout.ms": ("0.9", ""),
    "group.max.session.timeout.ms": ("0.9", ""),
    "group.initial.rebalance.delay.ms": ("0.11", ""),
    "group.max.size": ("2.4", ""),
    "group.consumer.heartbeat.interval.ms": ("4.0", ""),
    "group.consumer.session.timeout.ms": ("4.0", ""),
    "group.consumer.max.size": ("4.0", ""),
    "group.consumer.assignors": ("4.0", ""),
    "group.consumer.assignment.interval.ms": ("4.3", ""),
}
"""The first and last release of each setting that is not in all releases."""

_LONGEST_MS: Final = 3_650 * 86_400_000
"""The longest time that the laboratory's clock can measure, which is ten years."""

_ALL: Final = (
    Setting("min.insync.replicas", "int", 1, "topic", True, "The minimum number of in-sync replicas for a write with acks=all.", least=1),
    Setting(
        "unclean.leader.election.enable", "boolean", False, "topic", True,
        "Whether a replica outside the ISR can become leader when no member of the ISR is alive. Records that this replica lacks are lost.", older_defaults=(("0.10.2", True),),
    ),
    Setting(
        "replica.lag.time.max.ms", "long", 30_000, "broker", False,
        "A follower that has not caught up for this long leaves the ISR. Leaders check this periodically, so the removal can take up to 1.5 times as long.",
        least=1, most=MAX_LONG, older_defaults=(("2.4", 10_000),),
    ),
    Setting(
        "replica.lag.max.messages", "long", 4_000, "broker", False,
        "A follower that lacks more records than this leaves the ISR. This setting exists only in releases before 0.9.", least=1, most=MAX_LONG,
    ),
    Setting(
        "replica.fetch.wait.max.ms", "int", 500, "broker", False,
        "The maximum time that a leader delays the answer to a follower's fetch if there are no new records.",
    ),
    Setting("replica.fetch.min.bytes", "int", 1, "broker", False, "A leader answers a follower's fetch as soon as this many bytes are available."),
    Setting("replica.fetch.max.bytes", "int", 1_048_576, "broker", False, "The maximum number of bytes per partition in an answer to a follower."),
    Setting("replica.fetch.response.max.bytes", "int", 10_485_760, "broker", False, "The maximum number of bytes of all partitions in an answer to a follower."),
    Setting("replica.fetch.backoff.ms", "int", 1_000, "broker", False, "The time that a follower waits after an error before it fetches the partition again."),
    Setting(
        "replica.socket.timeout.ms", "int", 30_000, "broker", False,
        "The time that a follower waits for an answer before it closes the connection.", least=1,
    ),
    Setting(
        "num.replica.fetchers", "int", 1, "broker", True,
        "The number of threads with which a broker fetches from another broker. The threads share the partitions.", least=1, most=1_000,
    ),
    Setting(
        "replica.high.watermark.checkpoint.interval.ms", "long", 5_000, "broker", False,
        "The interval at which a broker writes its high watermarks to disk.", least=1, most=MAX_LONG,
    ),
    Setting("default.replication.factor", "int", 1, "broker", False, "The replication factor of a topic that does not specify one.", least=1),
    Setting("num.partitions", "int", 1, "broker", False, "The number of partitions of a topic that does not specify one.", least=1),
    Setting(
        "broker.heartbeat.interval.ms", "int", 2_000, "broker", False,
        "The interval at which a broker sends heartbeats to the controller.", least=1,
    ),
    Setting("broker.session.timeout.ms", "int", 9_000, "controller", False, "The controller fences a broker that sends no heartbeat for this long.", least=1),
    Setting(
        "controller.quorum.fetch.timeout.ms", "int", 2_000, "controller", False,
        "A voter that does not hear from the quorum leader for this long starts an election. A leader that does not hear from a majority for 1.5 times as long resigns.",
        least=1,
    ),
    Setting(
        "controller.quorum.election.timeout.ms", "int", 1_000, "controller", False,
        "The time that a voter waits for votes before it starts another election. A random delay of at most the same length is added.", least=1,
    ),
    Setting(
        "auto.leader.rebalance.enable", "boolean", True, "controller", False,
        "Whether the controller periodically moves leadership back to preferred leaders.",
    ),
    Setting(
        "leader.imbalance.check.interval.seconds", "long", 300, "controller", False,
        "The interval, in seconds, at which the controller checks for leaders that are not the preferred leaders.", least=1, most=MAX_LONG,
    ),
    Setting(
        "unclean.leader.election.interval.ms", "long", 300_000, "controller", False,
        "The interval at which the controller checks for partitions without a leader that an unclean election can bring online.",
        least=1, most=MAX_LONG,
    ),
    Setting(
        "leader.imbalance.per.broker.percentage", "int", 10, "controller", False,
        "A ZooKeeper controller moves leadership back to a broker only if the broker lacks more than this percentage of its preferred partitions. KRaft ignores this setting.",
    ),
    Setting(
        "zookeeper.session.timeout.ms", "int", 18_000, "broker", False,
        "If ZooKeeper does not hear from a broker for this long, the broker's session expires, and the controller considers the broker "
        "dead. This setting exists only in releases with ZooKeeper.",
        least=1, older_defaults=(("2.4", 6_000),),
    ),
    Setting(
        "controlled.shutdown.enable", "boolean", True, "broker", False,
        "Whether a broker moves leadership to other brokers before it stops.",
    ),
    Setting(
        "num.network.threads", "int", 3, "broker", True,
        "The number of threads that read requests and write responses (NetworkProcessorAvgIdlePercent).", least=1,
    ),
    Setting("num.io.threads", "int", 8, "broker", True, "The number of threads that process requests (RequestHandlerAvgIdlePercent).", least=1),
    Setting(
        "leader.replication.throttled.rate", "long", MAX_LONG, "broker", True,
        "The maximum number of bytes per second that a broker sends to followers of throttled partitions.", least=1, most=MAX_LONG,
    ),
    Setting(
        "follower.replication.throttled.rate", "long", MAX_LONG, "broker", True,
        "The maximum number of bytes per second that a broker copies as a follower of throttled partitions.", least=1, most=MAX_LONG,
    ),
    Setting(
        "leader.replication.throttled.replicas", "list", "", "topic", True,
        "The leaders that are throttled, in the form partition:broker,… or *. By default, these are the leaders of partitions that are being reassigned.",
    ),
    Setting(
        "follower.replication.throttled.replicas", "list", "", "topic", True,
        "The followers that are throttled, in the form partition:broker,… or *. By default, these are the replicas that a reassignment adds.",
    ),
    Setting(
        "replica.selector.class", "class", "", "broker", False,
        "The class that selects the replica that consumers read from. If empty, consumers read from the leader. With "
        "RackAwareReplicaSelector, consumers read from a replica in their rack (KIP-392).",
        classes=("org.apache.kafka.common.replica.LeaderSelector", "org.apache.kafka.common.replica.RackAwareReplicaSelector"),
    ),
    Setting(
        "message.max.bytes", "int", 1_048_588, "broker", True,
        "The largest record that a broker accepts from a producer.", older_defaults=(("2.4", 1_000_012),), of_topic="max.message.bytes",
    ),
    Setting(
        "log.segment.bytes", "int", 1_073_741_824, "broker", True,
        "The maximum size of a segment. A new segment starts before this size is exceeded.", least=14, of_topic="segment.bytes",
    ),
    Setting(
        "log.roll.ms", "long", 604_800_000, "broker", True,
        "The maximum age of a segment. A new segment starts when the first batch of the current segment is older.", least=1, most=_LONGEST_MS, of_topic="segment.ms",
    ),
    Setting(
        "log.index.interval.bytes", "int", 4_096, "broker", True,
        "The minimum number of bytes between two entries of a segment's offset index.", of_topic="index.interval.bytes",
    ),
    Setting(
        "log.index.size.max.bytes", "int", 10_485_760, "broker", True,
        "The maximum size of a segment's offset index, and of its time index. A new segment starts when one of them is full.", least=4,
        of_topic="segment.index.bytes",
    ),
    Setting(
        "log.flush.interval.messages", "long", MAX_LONG, "broker", True,
        "A log is flushed to disk when it has this many unflushed records. By default, it is flushed only when a segment is closed.",
        least=1, most=MAX_LONG, of_topic="flush.messages",
    ),
    Setting(
        "log.flush.interval.ms", "long", MAX_LONG, "broker", True,
        "A log is flushed to disk when it has not been flushed for this long. Brokers check this only every log.flush.scheduler.interval.ms.",
        least=0, most=MAX_LONG, of_topic="flush.ms",
    ),
    Setting(
        "log.flush.scheduler.interval.ms", "long", MAX_LONG, "broker", False,
        "The interval at which a broker checks for logs that log.flush.interval.ms requires it to flush. By default, it never checks.", least=1, most=MAX_LONG,
    ),
    Setting(
        "log.retention.ms", "long", 604_800_000, "broker", True,
        "A segment is deleted when its newest record is older than this. -1 means never.", least=-1, most=_LONGEST_MS, of_topic="retention.ms",
    ),
    Setting(
        "log.retention.bytes", "long", -1, "broker", True,
        "The oldest segment is deleted if the rest of the log still has at least this size. -1 means never.",
        least=-1, most=MAX_LONG, of_topic="retention.bytes",
    ),
    Setting(
        "log.retention.check.interval.ms", "long", 300_000, "broker", False,
        "The interval at which a broker checks for segments to delete.", least=1, most=_LONGEST_MS,
    ),
    Setting(
        "log.cleanup.policy", "list", "delete", "broker", True,
        "How a log gets rid of old records. With `delete`, retention deletes old segments. With `compact`, the log cleaner removes records whose key has a newer record.",
        of_topic="cleanup.policy", words=("delete", "compact"),
    ),
    Setting(
        "log.cleaner.min.cleanable.ratio", "double", 0.5, "broker", True,
        "A compacted log is cleaned when more than this fraction of its bytes has never been cleaned.", of_topic="min.cleanable.dirty.ratio",
    ),
    Setting(
        "log.cleaner.delete.retention.ms", "long", 86_400_000, "broker", True,
        "The minimum time that a tombstone stays in a cleaned log. A consumer that takes longer to read the log can miss a deletion.",
        most=_LONGEST_MS, of_topic="delete.retention.ms",
    ),
    Setting(
        "log.cleaner.min.compaction.lag.ms", "long", 0, "broker", True,
        "A record is not cleaned until it is older than this.", most=_LONGEST_MS, of_topic="min.compaction.lag.ms",
    ),
    Setting(
        "log.cleaner.max.compaction.lag.ms", "long", MAX_LONG, "broker", True,
        "A log is cleaned, however few of its bytes are dirty, when it has a record older than this that has never been cleaned. By default, there is no such limit.",
        least=1, most=MAX_LONG, of_topic="max.compaction.lag.ms",
    ),
    Setting(
        "log.cleaner.backoff.ms", "long", 15_000, "broker", True,
        "If the log cleaner finds no log to clean, it looks again after this time.", least=1, most=_LONGEST_MS,
    ),
    Setting(
        "log.cleaner.dedupe.buffer.size", "long", 134_217_728, "broker", True,
        "The size of the buffer in which the log cleaner stores the last offset of each key (24 bytes per key). If the buffer is full, a pass ends early.",
        least=1_048_576, most=MAX_LONG,
    ),
    Setting(
        "log.cleaner.io.buffer.load.factor", "double", 0.9, "broker", True,
        "The fraction of log.cleaner.dedupe.buffer.size that the log cleaner fills in one pass.", least=0, most=1,
    ),
    Setting(
        "transaction.max.timeout.ms", "int", 900_000, "broker", False,
        "The maximum transaction.timeout.ms that a producer can request.", least=1,
    ),
    Setting(
        "transactional.id.expiration.ms", "int", 604_800_000, "broker", False,
        "A transaction coordinator forgets a transactional.id that has had no transaction for this long. Before 3.4, leaders also forget idle producers after this time.",
        least=1,
    ),
    Setting(
        "producer.id.expiration.ms", "int", 86_400_000, "broker", True,
        "A partition forgets the sequence numbers of a producer that has been idle for this long.", least=1,
    ),
    Setting(
        "offsets.topic.num.partitions", "int", 50, "broker", False, "The number of partitions of __consumer_offsets.", least=1, most=1_000,
    ),
    Setting(
        "offsets.topic.replication.factor", "int", 3, "broker", False, "The replication factor of __consumer_offsets.", least=1, most=1_000,
    ),
    Setting(
        "offsets.commit.timeout.ms", "int", 5_000, "broker", False,
        "How long a group coordinator waits for the replication of offsets that a client commits.", least=1,
    ),
    Setting(
        "offsets.retention.minutes", "int", 10_080, "broker", False,
        "The time after which the committed offsets of an empty group expire. Before 2.1, it begins with the commit, even if the group is active.",
        least=1, older_defaults=(("1.1", 1_440),),
    ),
    Setting(
        "offsets.retention.check.interval.ms", "long", 600_000, "broker", False,
        "The interval at which a group coordinator checks for expired offsets.", least=1, most=_LONGEST_MS,
    ),
    Setting(
        "group.min.session.timeout.ms", "int", 6_000, "broker", False, "The minimum session.timeout.ms that a member of a group can request.",
    ),
    Setting(
        "group.max.session.timeout.ms", "int", 1_800_000, "broker", False, "The maximum session.timeout.ms that a member of a group can request.",
        older_defaults=(("0.9", 30_000), ("2.1", 300_000)),
    ),
    Setting(
        "group.initial.rebalance.delay.ms", "int", 3_000, "broker", False,
        "The time that a group coordinator waits for more members before the first rebalance of an empty group. Each new member extends it.",
    ),
    Setting(
        "group.max.size", "int", MAX_INT, "broker", False, "The maximum number of members of a group.", least=1,
    ),
    Setting(
        "group.consumer.heartbeat.interval.ms", "int", 5_000, "broker", False,
        "The time between two heartbeats of a member that speaks the consumer protocol. The coordinator tells it to the members.", least=1,
    ),
    Setting(
        "group.consumer.session.timeout.ms", "int", 45_000, "broker", False,
        "The time without a heartbeat after which the coordinator removes a member that speaks the consumer protocol.", least=1,
    ),
    Setting(
        "group.consumer.max.size", "int", MAX_INT, "broker", False, "The maximum number of members of a group of the consumer protocol.", least=1,
    ),
    Setting(
        "group.consumer.assignors", "list", "uniform,range", "broker", False,
        "The assignors that coordinators have for groups of the consumer protocol. The first one is the default.", words=("uniform", "range"),
    ),
    Setting(
        "group.consumer.assignment.interval.ms", "int", 1_000, "broker", False,
        "The minimum time between two target assignments of a group of the consumer protocol.",
    ),
    Setting(
        "transaction.state.log.num.partitions", "int", 50, "broker", False, "The number of partitions of __transaction_state.", least=1, most=1_000,
    ),
    Setting(
        "transaction.state.log.replication.factor", "int", 3, "broker", False, "The replication factor of __transaction_state.", least=1, most=1_000,
    ),
    Setting(
        "transaction.state.log.min.isr", "int", 2, "broker", False, "The min.insync.replicas of __transaction_state.", least=1,
    ),
    Setting(
        "transaction.abort.timed.out.transaction.cleanup.interval.ms", "int", 10_000, "broker", False,
        "The interval at which a transaction coordinator checks for transactions that have timed out.", least=1, older_defaults=(("2.4", 60_000),),
    ),
    Setting(
        "transaction.remove.expired.transaction.cleanup.interval.ms", "int", 3_600_000, "broker", False,
        "The interval at which a transaction coordinator checks for transactional.ids that have expired.", least=1,
    ),
    Setting(
        "transaction.partition.verification.enable", "boolean", True, "broker", True,
        "Whether a leader asks the transaction coordinator to confirm that a partition is part of a transaction before it appends the first batch (KIP-890).",
    ),
    Setting(
        "log.flush.offset.checkpoint.interval.ms", "int", 60_000, "broker", False,
        "The interval at which a broker writes its recovery points to disk.", least=1,
    ),
    Setting(
        "log.flush.start.offset.checkpoint.interval.ms", "int", 60_000, "broker", False,
        "The interval at which a broker writes its log start offsets to disk.", least=1,
    ),
    Setting(
        "num.recovery.threads.per.data.dir", "int", 2, "broker", True,
        "The number of threads per log directory that load and recover logs at startup, and flush them at shutdown.",
        least=1, most=1_000, older_defaults=(("3.9", 1),),
    ),
    Setting(
        "log.dir.failure.timeout.ms", "long", 30_000, "broker", False,
        "A broker halts if it cannot report a failed log directory to the controller for this long.", least=1, most=_LONGEST_MS,
    ),
)  # fmt: skip


def _with_those_of_topics(settings: Iterable[Setting]) -> Iterator[Setting]:
    """Yield each setting, followed by the topic setting that overrides it."""
    for each in settings:
        yield each
        if each.of_topic:
            yield attrs.evolve(
                each, name=each.of_topic, scope="topic", meaning=f"{each.name} for a single topic.", of_topic="", synonym=each.name
            )


SETTINGS: Final[Mapping[str, Setting]] = {setting.name: setting for setting in _with_those_of_topics(_ALL)}
"""All known settings, by their names in Kafka."""

TOPIC_SETTINGS: Final = frozenset(setting.name for setting in SETTINGS.values() if setting.scope == "topic")
"""The names of settings that a topic can override."""


def setting_named(name: str) -> Setting:
    """Return a setting by name.

    Raises:
        ValueError: there is no such setting. The message names a similar setting.
    """
    found = SETTINGS.get(name)
    if found is None:
        near = difflib.get_close_matches(name, SETTINGS, n=1, cutoff=0.5)
        raise ValueError(f"unknown setting '{name}'" + (f"; did you mean '{near[0]}'?" if near else ""))
    return found


class Settings:
    """The values in force: release defaults, cluster-wide values, values of single brokers, and topic overrides.

    Attributes:
        release: the rules of the release.
        clock: the clock that measures the durations of these settings.
    """

    __slots__ = ("_broker", "_cluster", "_topic", "clock", "release")

    release: Final[Release]
    _cluster: Final[dict[str, Value]]
    _broker: Final[dict[int, dict[str, Value]]]
    _topic: Final[dict[str, dict[str, Value]]]

    def __init__(self, release: Release) -> None:
        self.release = release
        self.clock = RIGHT
        self._cluster = {}
        self._broker = {}
        self._topic = {}

    def set(self, name: str, raw: object, *, broker: int | None = None, topic: str | None = None) -> tuple[Value, Value]:
        """Set a value for the whole cluster, a broker, or a topic. Return (earlier value in force, new value).

        Raises:
            ValueError: the name, type, value, or scope is wrong.
        """
        setting = setting_named(name)
        value = setting.parse(raw)
        misplaced = setting.scope_error(broker=broker is not None, topic=topic is not None)
        if misplaced:
            raise ValueError(misplaced)
        if setting.synonym and topic is None:
            setting = SETTINGS[setting.synonym]
            name = setting.name
        old = self.get(name, broker=broker, topic=topic)
        if topic is not None:
            self._topic.setdefault(topic, {})[name] = value
        elif broker is not None:
            self._broker.setdefault(broker, {})[name] = value
        else:
            self._cluster[name] = value
        return old, value

    def get(self, name: str, *, broker: int | None = None, topic: str | None = None) -> Value:
        """Return the value in force for a broker, for a topic, for both, or for the whole cluster."""
        if topic is not None:
            override = self._topic.get(topic)
            if override is not None and name in override:
                return override[name]
        name = SETTINGS[name].synonym or name
        if broker is not None:
            own = self._broker.get(broker)
            if own is not None and name in own:
                return own[name]
        if name in self._cluster:
            return self._cluster[name]
        return SETTINGS[name].default_in(self.release)

    def origin(self, name: str, *, broker: int | None = None, topic: str | None = None) -> str:
        """Return the level that sets the value in force: `topic`, `broker`, `cluster`, or `default`."""
        if topic is not None and name in self._topic.get(topic, {}):
            return "topic"
        name = SETTINGS[name].synonym or name
        if broker is not None and name in self._broker.get(broker, {}):
            return "broker"
        return "cluster" if name in self._cluster else "default"

    def integer(self, name: str, *, broker: int | None = None, topic: str | None = None) -> int:
        """Return the value of a numeric setting. See `get`."""
        return int(self.get(name, broker=broker, topic=topic))

    def ratio(self, name: str, *, broker: int | None = None, topic: str | None = None) -> float:
        """Return the value of a ratio. See `get`."""
        return float(self.get(name, broker=broker, topic=topic))

    def topic_lists(self, name: str, broker: int) -> dict[str, frozenset[int]]:
        """Return, for each topic with its own list, the partitions that the list names for a broker (`throttled_partitions`)."""
        return {topic: throttled_partitions(str(own[name]), broker) for topic, own in self._topic.items() if name in own}

    def flag(self, name: str, *, broker: int | None = None, topic: str | None = None) -> bool:
        """Return the value of a boolean setting. See `get`."""
        return bool(self.get(name, broker=broker, topic=topic))

    def us(self, name: str, *, broker: int | None = None) -> int:
        """Return a setting in milliseconds as µs of virtual time, measured by the clock of these settings."""
        duration = self.integer(name, broker=broker) * 1_000
        return duration if self.clock.drift_ppm == 0 else self.clock.true_duration(duration)


def render_value(value: Value) -> str:
    """Return a value as Kafka prints it, for example `true`, `2`, or `0:1,0:2`."""
    return ("true" if value else "false") if isinstance(value, bool) else str(value)

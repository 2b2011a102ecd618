"""Plays the acts of a recording of groups in the model. Members get the member IDs of the recording, because these decide ties in the
assignors."""

from __future__ import annotations

import contextlib
import itertools
import math
from collections.abc import Iterator
from typing import Any, Final
from unittest.mock import patch

import attrs

from core.kafka import events
from core.kafka.clients.group_member.consumer_coordinator import ConsumerCoordinator
from core.kafka.group_coordinator.classic_group_coordinator.group_joins import GroupJoins
from core.kafka.group_coordinator.group_requests import NOT_A_MEMBER, OffsetCommitRequest
from core.kafka.ids import TopicPartition
from core.kafka.release import RELEASES
from core.kafka.topic_spec import PartitionSpec, TopicSpec
from core.kafka.transaction.transaction_log import partition_for
from core.lab import acts
from core.lab.cluster import Cluster
from core.lab.spec import BrokerSpec, ClusterSpec
from core.sim.errors import ActRefused
from core.sim.units import SECOND, US_PER_MS
from tests.core.kafka.group_coordinator.raw_client import RawClient
from tests.fidelity.groups.recording import GroupRecording, Joiner

LEAD: Final = 10 * SECOND
"""The time in µs that the model runs before the drill begins."""

TRANSACTIONAL: Final = "transactional"
"""The name of the producer of transactions."""

PREFIX: Final = "x"
"""The beginning of the names of consumers: c1 is the name of a controller here."""

OFFSETS_TOPIC: Final = (("cleanup.policy", "compact"), ("min.insync.replicas", "2"))

READING: Final = 0.05
"""The time between the reading of the log end offsets and the end of a command that prints them, seconds."""

LATE: Final = 50 * US_PER_MS
"""How much later than others a late request arrives, in µs."""

UNFENCING: Final = SECOND
"""The time from a broker's registration until it is unfenced, in µs."""

PRODUCTION: Final = 0.02
"""The time between two productions of a load that is taken from samples, seconds."""

ELSEWHERE: Final = (
    "join", "new", "subscribe", "poll", "assign", "load", "unload", "report", "cli", "cli kafka-groups", "file", "commitTo",
)  # fmt: skip
"""Acts that other code plays (starts of members, steady production, commits of consumers that are no members), or that only look."""

CONFIG: Final = (
    "session.timeout.ms", "heartbeat.interval.ms", "max.poll.interval.ms", "max.poll.records", "auto.commit.interval.ms",
    "default.api.timeout.ms", "metadata.max.age.ms", "request.timeout.ms",
)  # fmt: skip
"""The settings of consumers that the model has under the same names."""

PLAYED_CONFIG: Final = (
    "group.id", "client.id", "group.protocol", "group.instance.id", "group.remote.assignor", "partition.assignment.strategy",
    "auto.offset.reset", "enable.auto.commit", "isolation.level",
)  # fmt: skip
"""The settings of consumers that are arguments of the model's act."""

BROKER_CONFIG: Final = ("group.max.size", "group.consumer.max.size", "offsets.retention.minutes", "offsets.retention.check.interval.ms")
"""The settings of brokers that the model has under the same names."""

PLAYED_SETTINGS: Final = (
    "consumer", "group.initial.rebalance.delay.ms", "min.insync.replicas", "broker.session.timeout.ms", "broker.heartbeat.interval.ms",
)  # fmt: skip
"""The settings that the acts or this module contain: those of consumers, and those that are the same in all recordings."""

ORDERS: Final = ("commit", "delay", "perRecord", "crashAfter", "trace")
"""The orders that a consumer can get from `set`. With `trace`, it only reports more."""

COMMITS: Final = {"after": "after", "before": "before", "async": "async", "none": "none"}


class GroupPlayer:
    """The model of one recording.

    Attributes:
        recording: the recording.
        cluster: the model.
        heard: its events since the beginning of the drill.
        positions: the answers of each consumer to the requests for its positions.
        phase: the number of the phase of the heartbeats. It makes each member join up to 1 s later than recorded.
        refused: the acts that the model refused.
        resets: for each reset of offsets, its time, the offsets that the tool printed, and the committed offsets afterwards.
        samples: the committed offset and the high watermark of each partition at the time of each recorded sample.
    """

    def __init__(self, recording: GroupRecording, phase: int = 0) -> None:
        self.recording = recording
        self.phase = phase
        self.heard: list[Any] = []
        self.positions: dict[str, list[dict[str, int]]] = {}
        self.refused: list[str] = []
        self.resets: list[tuple[float, dict[str, int], dict[str, int | None]]] = []
        self.samples: list[dict[str, tuple[int, int]]] = []
        self.ids = {joiner.who: list(joiner.ids) for joiner in recording.joiners}
        self.cluster = Cluster(_spec(recording), RELEASES[recording.release], sink=self.heard.append)
        begins = next((act for act in recording.acts if act["op"] == "transaction begins"), None)
        if begins is not None:
            self.cluster.do(acts.InitTransactions(TopicPartition.parse(begins["partition"]).topic, TRANSACTIONAL, TRANSACTIONAL))
        self.cluster.run_until(LEAD)
        self.heard.clear()

    def play(self) -> None:
        """Play the drill until 5 s after its last recorded event."""
        todo: list[tuple[float, int, Any]] = []
        for number, joiner in enumerate(self.recording.joiners):
            todo.append((joiner.at + 0.2 * (self.phase * (number + 1) % 6), 1, joiner))
            if joiner.polls_again is not None:
                todo += [(joiner.polls_again - 0.1, 2, {"op": "kill -9", "members": [joiner.who]}), (joiner.polls_again, 1, joiner)]
        todo += [(act["t"], 0, act) for act in self.recording.acts if act["op"] not in ("join", "new", "subscribe", "poll", "report")]
        todo += [
            (act["t"] + second, 2, {"op": "commit", "who": who})
            for act in self.recording.acts
            if act["op"].startswith("commit every second")
            for who in act["op"].removeprefix("commit every second by ").split(" and ")
            if who in self.ids
            for second in range(1, act["seconds"])
        ]
        todo += list(self._load())
        todo += [
            (sample.at, 4, {"op": "sample", "group": sample.group, "partitions": list(sample.rows)}) for sample in self.recording.samples
        ]
        with patch.object(GroupJoins, "new_member_id", self._member_id), self._late_requests():
            for at, _, act in sorted(todo, key=lambda each: (each[0], each[1])):
                self._run_to(at)
                try:
                    self._join(act) if isinstance(act, Joiner) else self._act(act)
                except ActRefused as refusal:
                    self.refused.append(f"{act}: {refusal}")
            last = max([event["t"] for event in self.recording.events] + [line[0] for line in self.recording.log])
            self._run_to(last + 5)

    def _load(self) -> Iterator[tuple[float, int, Any]]:
        """Yield the records of steady production: one by one, or as the recorded samples of the log end offsets require."""
        for act in self.recording.acts:
            if act["op"] == "load" and self.recording.samples:
                end = next(each for each in self.recording.acts if each["op"] == "unload" and each["partition"] == act["partition"])
                yield from self._sampled_load(act["partition"], act["t"], end["t"])
            elif act["op"] == "load":
                end = next(each for each in self.recording.acts if each["op"] == "unload" and each["partition"] == act["partition"])
                count = int(end["result"].partition("acked=")[2].partition(" ")[0])
                for number in range(count):
                    at = act["t"] + number * (end["t"] - act["t"]) / count
                    yield at, 3, {"op": "produce", "partition": act["partition"], "records": 1}

    def _sampled_load(self, partition: str, start: float, stop: float) -> Iterator[tuple[float, int, Any]]:
        """Yield records so that the log end offset is the recorded one at each sample, and grows steadily between two samples."""
        ends = [(sample.at - READING, sample.rows[partition][1]) for sample in self.recording.samples]
        points = [(start, 0), *(each for each in ends if each[0] < stop), (stop, ends[-1][1])]
        produced = 0
        for (since, first), (until, last) in itertools.pairwise(points):
            for step in range(1, max(math.ceil((until - since) / PRODUCTION), 1) + 1):
                share = min(step * PRODUCTION / (until - since), 1)
                count = first + int((last - first) * share) - produced
                if count > 0:
                    produced += count
                    yield since + (until - since) * share, 3, {"op": "produce", "partition": partition, "records": count}

    def _run_to(self, seconds: float) -> None:
        self.cluster.run_until(max(LEAD + int(seconds * SECOND), self.cluster.now))

    def _member_id(self, _cache: object, group: Any, request: Any, *, bare: bool = False) -> str:
        """Return the next recorded ID of a client."""
        who = request.client.removeprefix(PREFIX)
        known = self.ids.get(who)
        if known:
            return known.pop(0)
        group.next_id += 1
        return f"{request.instance_id or who}-{group.next_id:08x}"

    @contextlib.contextmanager
    def _late_requests(self) -> Iterator[None]:
        """Make those SyncGroup requests late that arrived after the next rebalance had begun."""
        send = ConsumerCoordinator._send_sync

        def send_late(coordinator: ConsumerCoordinator, assignments: Any) -> None:
            client = coordinator.client
            if (client.address.removeprefix(PREFIX), coordinator.membership[1]) not in self.recording.late:
                send(coordinator, assignments)
                return
            link = client.network.link((client.address, coordinator.calls.coordinator))
            link.latency += LATE
            send(coordinator, assignments)
            link.latency -= LATE

        with patch.object(ConsumerCoordinator, "_send_sync", send_late):
            yield

    def _join(self, joiner: Joiner) -> None:
        config, sets = joiner.config, joiner.sets
        for name in config:
            if name not in CONFIG and name not in PLAYED_CONFIG:
                raise ValueError(f"{self.recording.name}: a setting of consumer {joiner.who} is not known: {name}")
        remote = config.get("group.remote.assignor")
        later = [
            act["args"] for act in self.recording.acts if act["op"] == "set" and act["who"] == joiner.who and act["args"][0] == "commit"
        ]
        commit = COMMITS[later[0][1]] if later else "none"
        if config.get("enable.auto.commit") == "true":
            commit = "auto"
        consumer_protocol = config.get("group.protocol") == "consumer"
        self.cluster.do(
            acts.JoinGroup(
                joiner.topics,
                PREFIX + joiner.who,
                joiner.group,
                () if consumer_protocol else joiner.assignors,
                config.get("group.instance.id"),
                config.get("auto.offset.reset", "latest"),
                commit,
                int(sets.get("delay", 0)) * US_PER_MS,
                int(sets.get("perRecord", 0)) * US_PER_MS,
                6 * SECOND if "SlowRange" in str(config.get("partition.assignment.strategy")) else 0,
                crash_after_records=sets.get("crashAfter"),
                isolation=config.get("isolation.level", "read_uncommitted"),
                config=tuple((name, str(config[name])) for name in CONFIG if name in config),
                on_error="stop",
                protocol="consumer" if consumer_protocol else "classic",
                remote_assignor=remote if consumer_protocol else None,
                member_id=self.ids[joiner.who][0] if consumer_protocol and self.ids[joiner.who] else None,
                allow_missing_topics=True,
            )
        )

    def _act(self, act: dict[str, Any]) -> None:
        op, who = act["op"], PREFIX + str(act.get("who", ""))
        if op == "produce":
            tp = TopicPartition.parse(act["partition"])
            self.cluster.do(acts.Produce(tp.topic, act["records"], acks="all", producer=f"producer-{tp.topic}", partition=tp.partition))
        elif op == "sample":
            committed, tps = self.committed(), [TopicPartition.parse(name) for name in act["partitions"]]
            self.samples.append(
                {str(tp): (committed.get((act["group"], str(tp)), 0), self.cluster.partition_view(tp).committed) for tp in tps}
            )
        elif op == "commit":
            self.cluster.do(acts.CommitOffsets(who))
        elif op == "close":
            self.cluster.do(acts.CloseConsumer(who))
        elif op == "kill -9":
            for name in act["members"]:
                self.cluster.do(acts.KillConsumer(PREFIX + name))
        elif op == "SIGSTOP":
            self.cluster.do(acts.FreezeConsumer(who))
        elif op == "SIGCONT":
            self.cluster.do(acts.ThawConsumer(who))
        elif op == "set" and act["args"][0] in ("delay", "perRecord"):
            time = int(float(act["args"][1]) * US_PER_MS)
            self.cluster.do(acts.ProcessingTime(who, **{"poll_time" if act["args"][0] == "delay" else "record_time": time}))
        elif op == "set" and act["args"][0] in ORDERS:
            return  # the join contains it
        elif op == "sleep":
            self.cluster.do(acts.StallConsumer(int(act["args"][0]) * US_PER_MS, who))
        elif op == "remove-static":
            self.cluster.do(acts.RemoveMember(act["instance"], self.recording.groups[0]))
        elif op == "position":
            self._position(act["who"])
        elif op == "lag, position, commit of both":
            for joiner in self.recording.joiners:
                self._position(joiner.who)
                self.cluster.do(acts.CommitOffsets(PREFIX + joiner.who))
        elif op in ("pause", "resume"):
            self.cluster.do((acts.PausePartitions if op == "pause" else acts.ResumePartitions)(who))
        elif op == "transaction begins":
            tp = TopicPartition.parse(act["partition"])
            self.cluster.do(acts.BeginTransaction(TRANSACTIONAL))
            self.cluster.do(acts.Produce(tp.topic, act["records"], producer=TRANSACTIONAL, partition=tp.partition))
            self.cluster.run_until(self.cluster.now + 100 * US_PER_MS)
        elif op == "transaction commits":
            self.cluster.do(acts.CommitTransaction(TRANSACTIONAL))
        elif op == "transaction aborts":
            self.cluster.do(acts.AbortTransaction(TRANSACTIONAL))
        elif op == "create topic":
            placement = self.recording.topics[act["topic"]]["placement"]
            self.cluster.do(acts.CreateTopic(act["topic"], replicas=tuple(map(tuple, placement))))
        elif op == "delete topic":
            self.cluster.do(acts.DeleteTopic(act["topic"]))
        elif op == "cli" and "--reset-offsets" in act["args"] and "--execute" in act["args"]:
            self._reset(act)
        elif op == "cli" and ("--delete" in act["args"] or "--delete-offsets" in act["args"]):
            self._delete(act["args"])
        elif op == "config":
            for name in ("min.insync.replicas", "unclean.leader.election.enable"):
                if name in act:
                    self.cluster.do(acts.Set(name, str(act[name]), topic=act["topic"]))
        elif op == "add partitions" or op == "alter partitions":
            self.cluster.do(acts.CreatePartitions(act["topic"], act["count"]))
        elif op in ("alter", "alter (commit)"):
            if act["group"] not in self.recording.groups:
                return
            self._commit(act["group"], [(TopicPartition.parse(act["partition"]), act["offset"], _epoch(act))])
        elif op == "simple commit":
            tps = [TopicPartition.parse(name) for name in act["partitions"]]
            self._commit(act["group"], [(tp, self.cluster.partition_view(tp).committed, 0) for tp in tps])
        elif op == "delete-records":
            self.cluster.do(acts.DeleteRecords(TopicPartition.parse(act["partition"]), act["offset"]))
        elif op == "kill broker":
            self.cluster.do(acts.Kill(act["broker"]))
        elif op == "start broker":
            startup = round((act["done"] - act["t"]) * SECOND) - UNFENCING
            self.cluster.spec = attrs.evolve(self.cluster.spec, startup=max(startup, US_PER_MS), recovery=0)
            self.cluster.do(acts.Start(act["broker"]))
        elif op.startswith("elect preferred"):
            self.cluster.do(acts.Elect(election="preferred"))
        elif op not in ELSEWHERE and not op.startswith("commit every second"):
            raise ValueError(f"{self.recording.name}: an act is not known: {op} {act.get('args', '')}".rstrip())

    def _commit(self, group: str, offsets: list[tuple[TopicPartition, int, int]]) -> None:
        """Commit offsets for a group without being one of its members."""
        leader = self.cluster.partition_view(TopicPartition("__consumer_offsets", partition_for(group, 5))).leader
        raw = RawClient(self.cluster, f"admin-{len(self.cluster.nodes)}")
        raw.start(leader, OffsetCommitRequest, raw.address, group, NOT_A_MEMBER, tuple(offsets))

    def _position(self, who: str) -> None:
        member = self.cluster.clients.member(PREFIX + who)
        assert member is not None
        at = {
            str(TopicPartition(topic, number)): place
            for topic, reader in member.readers.items()
            for number, place in reader.consumed.items()
        }
        self.positions.setdefault(who, []).append(at)

    def _reset(self, act: dict[str, Any]) -> None:
        """Reset offsets as the tool does. Moments and files are those of the recording's machine, so the offsets that the tool printed are
        committed instead.
        """
        arguments = act["args"]
        (group,), topics = _values(arguments, "--group"), _values(arguments, "--topic")
        topic, _, number = topics[0].partition(":") if len(topics) == 1 else ("", "", "")
        option = next(name for name in arguments if name.startswith(("--to-", "--shift-by", "--from-file", "--by-duration")))
        printed = _printed_offsets(act)
        if option in ("--from-file", "--to-datetime", "--by-duration"):
            self._commit(group, [(TopicPartition.parse(name), offset, -1) for name, offset in printed.items()])
        else:
            target = option.removeprefix("--to-")
            self.cluster.do(
                acts.ResetOffsets(
                    group,
                    None if option == "--shift-by" else _values(arguments, option)[0] if target == "offset" else target,
                    (topic,) if topic else tuple(topics),
                    _values(arguments, option)[0] if option == "--shift-by" else None,
                    partition=int(number) if number else None,
                )
            )
        self._run_to(act["done"])
        committed = self.committed()
        self.resets.append((act["t"], printed, {name: committed.get((group, name)) for name in printed}))

    def _delete(self, arguments: list[str]) -> None:
        """Delete groups, or offsets, as the tool does. What the tool refuses changes nothing."""
        for group in _values(arguments, "--group"):
            if "--delete" in arguments:
                self._try(acts.DeleteGroup(group))
            for name in _values(arguments, "--topic") if "--delete-offsets" in arguments else ():
                topic, _, number = name.partition(":")
                self._try(acts.DeleteOffsets((topic,), group, int(number) if number else None))

    def _try(self, act: acts.Act) -> None:
        with contextlib.suppress(ActRefused):
            self.cluster.do(act)

    # --- what the model shows --------------------------------------------------------------------------------------

    def events(self, *kinds: type[events.Event]) -> list[tuple[float, Any]]:
        """Return the events of the given kinds, each with its time in seconds."""
        names = {kind.kind for kind in kinds}
        return [((each[1] - LEAD) / SECOND, events.decode(each)) for each in self.heard if each[3] in names]

    def committed(self) -> dict[tuple[str, str], int]:
        """Return the committed offset of each group and partition."""
        return {(view.name, str(tp)): offset for view in self.cluster.view().groups for tp, offset in view.offsets}


def _values(arguments: list[str], option: str) -> list[str]:
    """Return the values of an option, which can be given several times."""
    return [value for name, value in itertools.pairwise(arguments) if name == option]


def _printed_offsets(act: dict[str, Any]) -> dict[str, int]:
    """Return the column NEW-OFFSET of what the tool printed, by partition."""
    rows = [line.split() for line in act["result"].get("out", "").splitlines()]
    return {f"{row[1]}-{row[2]}": int(row[3]) for row in rows if len(row) == 4 and row[3].isdecimal()}


def _epoch(act: dict[str, Any]) -> int:
    """Return the leader epoch of an administrator's commit; -1 if it has none."""
    given = act.get("epoch", -1)
    return -1 if given in (None, "") else int(given)


def _spec(recording: GroupRecording) -> ClusterSpec:
    """Return a cluster with the recorded topics, in which the recorded brokers coordinate the groups."""
    created = {act["topic"] for act in recording.acts if act["op"] == "create topic"}
    topics = [
        TopicSpec(
            name,
            assignment=tuple(PartitionSpec(tuple(replicas)) for replicas in topic["placement"]),
            config=tuple(topic.get("config", {}).items()),
        )
        for name, topic in recording.topics.items()
        if name not in created
    ]
    leaders = {partition_for(group, 5): broker for group, broker in recording.coordinators.items()}
    rows = [leaders.get(number, 1) for number in range(5)]
    placement = tuple(PartitionSpec((first, *(broker for broker in (1, 2, 3) if broker != first))) for first in rows)
    topics.append(TopicSpec("__consumer_offsets", assignment=placement, config=OFFSETS_TOPIC))
    zookeeper = recording.version.startswith("2")
    settings: dict[str, object] = {
        "offsets.topic.num.partitions": 5,
        "replica.lag.time.max.ms": 4000,
        "auto.leader.rebalance.enable": False,
        **(
            {"zookeeper.session.timeout.ms": 4000}
            if zookeeper
            else {"broker.session.timeout.ms": 4000, "broker.heartbeat.interval.ms": 500}
        ),
    }
    for name, value in recording.settings.items():
        if name in BROKER_CONFIG:
            settings[name] = value
        elif name not in PLAYED_SETTINGS:
            raise ValueError(f"{recording.name}: a setting is not known: {name}")
    return ClusterSpec(tuple(BrokerSpec(broker) for broker in (1, 2, 3)), tuple(topics), settings=tuple(settings.items()))

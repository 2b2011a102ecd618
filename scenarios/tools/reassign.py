"""The exact output of `kafka-reassign-partitions` (`tools/reassign/ReassignPartitionsCommand`) with the options `--generate`, `--execute`,
`--verify`, `--list`, and `--cancel`.

The functions return what Kafka's tool would print at a given moment, and change nothing. To move partitions, a script uses the acts
`reassign` and `cancel-reassignment`. `as_acts` converts a plan to acts of a script.
"""

from __future__ import annotations

import json
import random
from collections import Counter
from collections.abc import Iterable, Sequence
from typing import Any, Final, TypeGuard, TypeVar

import attrs

from core.kafka.controller.placement import UsableBroker, assign_replicas_to_brokers
from core.kafka.controller.reassignment import dead_target_error
from core.kafka.errors import KafkaError
from core.kafka.ids import TopicPartition
from core.kafka.release import CURRENT, Release
from core.lab.spec import MAX_BROKER_ID
from scenarios.describe.described import DescribedPartition, DescribedTopic
from scenarios.errors import InputError

PENDING: Final = (
    "Cannot execute because there is an existing partition assignment.  Use --additional to override this and create a new partition "
    "assignment in addition to the existing one. The --additional option can also be used to change the throttle by resubmitting the "
    "current reassignment."
)
"""The error message for a second reassignment without --additional."""


@attrs.frozen
class State:
    """The state that the tool sees: the partitions, and the IDs of the brokers that are alive."""

    rows: dict[TopicPartition, DescribedPartition]
    brokers: tuple[int, ...]
    release: Release = CURRENT

    @staticmethod
    def of(topics: Iterable[DescribedTopic], brokers: Iterable[int], release: Release = CURRENT, *, all_known: bool = True) -> State:
        """Build the state from the given described topics. If `all_known` is false, every broker that has a replica is also assumed to be
        alive.
        """
        rows = {TopicPartition(row.topic, row.partition): row for topic in topics for row in topic.rows}
        named = set(brokers) if all_known else {*brokers, *(replica for row in rows.values() for replica in row.replicas)}
        return State(dict(sorted(rows.items())), tuple(sorted(named)), release)

    def active(self) -> dict[TopicPartition, DescribedPartition]:
        """Return the partitions that are being moved."""
        return {tp: row for tp, row in self.rows.items() if row.adding or row.removing}


_NAMED: Final = 100
_QUOTED: Final = 80
T = TypeVar("T")

Plan = dict[TopicPartition, tuple[int, ...]]
"""The target replicas of each partition, ordered by partition."""


def read_plan(text: str) -> Plan:
    """Read the reassignment JSON (`#parsePartitionReassignmentData`, `#parseExecuteAssignmentArgs`).

    Raises:
        InputError: the plan is invalid. If Kafka's tool reports the same error, the message is the same as Kafka's.
    """
    found: list[tuple[TopicPartition, tuple[int, ...]]] = []
    for entry in entries(document(text), "partitions"):
        replicas = entry.get("replicas")
        tp = partition_of(entry, "topic, partition and replicas")
        if not isinstance(replicas, list) or not all(_is_id(replica) for replica in replicas):
            raise InputError(f"no partition with topic, partition and replicas: {brief(entry)}")
        log_dirs = entry.get("log_dirs")
        if log_dirs is not None and not isinstance(log_dirs, list):
            raise InputError(f"log_dirs is not a list: {brief(entry)}")
        if log_dirs is not None and len(log_dirs) != len(replicas):
            raise InputError(
                f"Size of replicas list {str(replicas)[:_QUOTED]} is different from size of log dirs list "
                f"{str(log_dirs)[:_QUOTED]} for partition {tp}"
            )
        found.append((tp, tuple(replicas)))
    if not found:
        raise InputError("Partition reassignment list cannot be empty")
    if any(not replicas for _, replicas in found):
        raise InputError("Partition replica list cannot be empty")
    twice = doubles(tp for tp, _ in found)
    if twice:
        raise InputError(f"Partition reassignment contains duplicate topic partitions: {listed(twice)}")
    doubled = [(tp, doubles(replicas)) for tp, replicas in found]
    told = [f"{tp} contains multiple entries for {','.join(map(str, several))}" for tp, several in doubled if several]
    if told:
        raise InputError(f"Partition replica lists may not contain duplicate entries: {'. '.join(told[:_NAMED])}")
    return dict(sorted(found))


def read_topics(text: str) -> list[str]:
    """Read the topics from the topics-to-move JSON.

    Raises:
        InputError: the text does not have this format, or names a topic twice.
    """
    topics = [entry.get("topic") for entry in entries(document(text), "topics")]
    named = [topic for topic in topics if isinstance(topic, str)]
    if len(named) != len(topics):
        raise InputError('write the topics to move as {"topics":[{"topic":"foo"}],"version":1}')
    twice = doubles(named)
    if twice:
        raise InputError(f"List of topics to reassign contains duplicate entries: {listed(twice)}")
    return named


def document(text: str) -> dict[str, Any]:
    """Parse the text of a file in the tool's JSON format, and return the object.

    Raises:
        InputError: the text is not a JSON object of version 1. If Kafka's tool reports the same error, the message is the same as Kafka's.
    """
    try:
        found = json.loads(text)
    except RecursionError:
        raise InputError("Failed to parse the JSON: the nesting is too deep") from None
    except json.JSONDecodeError as wrong:
        raise InputError(f"Failed to parse the JSON: {wrong}") from None
    except ValueError:
        raise InputError("Failed to parse the JSON: a number has thousands of digits") from None
    if not isinstance(found, dict) or found.get("version", 1) != 1:
        raise InputError(f"Not supported version field value {brief(found.get('version')) if isinstance(found, dict) else 'none'}")
    return found


def entries(found: dict[str, Any], name: str) -> list[dict[str, Any]]:
    """Return the objects in the list `name` of a document, or an empty list if the document has no such list.

    Raises:
        InputError: the value is not a list of objects.
    """
    listed = found.get(name)
    if listed is None:
        return []
    if not isinstance(listed, list):
        raise InputError(f"{name} is not a list: {brief(listed)}")
    for entry in listed:
        if not isinstance(entry, dict):
            raise InputError(f"an entry of {name} is not an object: {brief(entry)}")
    return listed


def partition_of(entry: dict[str, Any], wanted: str = "topic and partition") -> TopicPartition:
    """Return the partition that an entry names. `wanted` describes the required fields in the error message.

    Raises:
        InputError: the entry does not name a partition.
    """
    topic, partition = entry.get("topic"), entry.get("partition")
    if not isinstance(topic, str) or not topic or not _is_id(partition):
        raise InputError(f"no partition with {wanted}: {brief(entry)}")
    return TopicPartition(topic, partition)


def _is_id(value: object) -> TypeGuard[int]:
    return type(value) is int and 0 <= value <= MAX_BROKER_ID


def doubles(names: Iterable[T]) -> list[T]:
    """Return the values that occur more than once, sorted."""
    return sorted(name for name, count in Counter(names).items() if count > 1)  # type: ignore[type-var]


def listed(names: Sequence[object]) -> str:
    """Return a list of names in the tool's format. Long lists are shortened."""
    return ",".join(map(str, names[:_NAMED])) + (f" and {len(names) - _NAMED:,} more" if len(names) > _NAMED else "")


def brief(value: object) -> str:
    """Return part of a JSON document as text that a message can quote."""
    try:
        written = json.dumps(value)
    except (ValueError, RecursionError):
        written = "a very large value"
    return written if len(written) <= _QUOTED else written[: _QUOTED - 1] + "…"


def write_plan(plan: Plan) -> str:
    """Return a plan in the tool's JSON format: version 1, with the value `any` for every log directory."""
    partitions = [
        {"topic": tp.topic, "partition": tp.partition, "replicas": list(replicas), "log_dirs": ["any"] * len(replicas)}
        for tp, replicas in plan.items()
    ]
    return json.dumps({"version": 1, "partitions": partitions}, separators=(",", ":"))


def generate(state: State, topics: Sequence[str], brokers: Sequence[int], seed: int = 0) -> list[str]:
    """Return the output of `--generate`: the current assignment, and a proposed assignment on the given brokers.

    The proposal follows `AdminUtils#assignReplicasToBrokers` with a random start.

    Raises:
        InputError: a topic or a broker is unknown, or there are too few brokers.
    """
    if len(set(brokers)) != len(brokers):
        raise InputError(f"Broker list contains duplicate entries: {','.join(map(str, brokers))}")
    _check_brokers(state, brokers)
    current: Plan = {}
    proposed: Plan = {}
    drawn = random.Random(f"{seed}:reassign")
    for topic in topics:
        rows = {tp: row for tp, row in state.rows.items() if tp.topic == topic}
        if not rows:
            raise InputError(f"Topic {topic} not found")
        current.update((tp, row.replicas) for tp, row in rows.items())
        factor = next(iter(rows.values())).replication_factor
        try:
            placed = assign_replicas_to_brokers([UsableBroker(broker) for broker in brokers], len(rows), factor, drawn)
        except KafkaError as refused:
            raise InputError(refused.message) from None
        proposed.update(zip(rows, (tuple(replicas) for replicas in placed), strict=True))
    return [
        "Current partition replica assignment", write_plan(current), "", "Proposed partition reassignment configuration",
        write_plan(proposed),
    ]  # fmt: skip


def _check_brokers(state: State, brokers: Iterable[int]) -> None:
    for broker in sorted(set(brokers)):
        if broker not in state.brokers:
            raise InputError(f"Unknown broker id {broker}")


def execute(state: State, plan: Plan, *, additional: bool = False, throttle: int | None = None) -> list[str]:
    """Return the output of `--execute`: the assignment for a rollback, and the reassignments that were started.

    Raises:
        InputError: Kafka's tool refuses the plan. The error message is the same as Kafka's.
    """
    if state.active() and not additional:
        raise InputError(PENDING)
    for tp, replicas in plan.items():
        if refusal := dead_target_error(state.release, tp, replicas, state.brokers):
            raise InputError(refusal)
    unknown = [tp for tp in plan if tp not in state.rows]
    if unknown:
        raise InputError(
            f"Error reassigning partition(s):\n{chr(10).join(f'{tp}: This server does not host this topic-partition.' for tp in unknown)}"
        )
    told = [
        "Current partition replica assignment", "", write_plan({tp: state.rows[tp].replicas for tp in plan}), "",
        "Save this to use as the --reassignment-json-file option during rollback",
    ]  # fmt: skip
    if throttle is not None:
        told.append("Warning: You must run --verify periodically, until the reassignment completes, to ensure the throttle is removed.")
        told.append(f"The inter-broker throttle limit was set to {throttle} B/s")
    told.append(f"Successfully started partition reassignment{_s(plan)} for {','.join(map(str, plan))}")
    return told


def verify(state: State, plan: Plan) -> list[str]:
    """Return the output of `--verify`: the state of each partition and, if no move is in progress, the throttles that are cleared."""
    told = ["Status of partition reassignment:"]
    running = False
    for tp, target in plan.items():
        row = state.rows.get(tp)
        if row is not None and (row.adding or row.removing):
            running = True
            told.append(f"Reassignment of partition {tp} is still in progress.")
        elif row is not None and row.replicas == target:
            told.append(f"Reassignment of partition {tp} is completed.")
        else:
            have = "" if row is None else ",".join(map(str, row.replicas))
            told.append(
                f"There is no active reassignment of partition {tp}, but replica set is {have} rather than {','.join(map(str, target))}."
            )
    if not running:
        topics = sorted({tp.topic for tp in plan})
        told += [
            "",
            f"Clearing broker-level throttles on broker{_s(state.brokers)} {','.join(map(str, state.brokers))}",
            f"Clearing topic-level throttles on topic{_s(topics)} {','.join(topics)}",
        ]
    return told


def listing(state: State) -> list[str]:
    """Return the output of `--list`: the partitions that are being moved."""
    active = state.active()
    if not active:
        return ["No partition reassignments found."]
    told = ["Current partition reassignments:"]
    for tp, row in active.items():
        line = f"{tp}: replicas: {','.join(map(str, row.replicas))}."
        if row.adding:
            line += f" adding: {','.join(map(str, row.adding))}."
        if row.removing:
            line += f" removing: {','.join(map(str, row.removing))}."
        told.append(line)
    return told


def cancellable(state: State, plan: Plan) -> list[TopicPartition]:
    """Return the partitions that `--cancel` cancels.

    The tool considers a reassignment that only adds replicas to be inactive, although the controller would cancel it.
    """
    active = state.active()
    return [tp for tp in plan if tp in active and (not active[tp].adding or active[tp].removing)]


def cancel(state: State, plan: Plan) -> list[str]:
    """Return the output of `--cancel`."""
    cancelled = cancellable(state, plan)
    if not cancelled:
        return ["None of the specified partition reassignments are active."]
    return [f"Successfully cancelled partition reassignment{_s(cancelled)} for: {','.join(map(str, cancelled))}"]


def as_acts(plan: Plan) -> list[str]:
    """Return a plan as steps of a script."""
    return [f"- reassign: {{partition: {tp}, replicas: [{', '.join(map(str, replicas))}]}}" for tp, replicas in plan.items()]


def throttle_acts(state: State, plan: Plan, rate: int) -> list[str]:
    """Return script steps that set the throttles of `--throttle` before the moves begin.

    Kafka: `#calculateLeaderThrottles`, `#calculateFollowerThrottles`.

    The throttle rate applies to every broker that takes part in a move, including moves in progress. Existing replicas are throttled as
    leaders, and new replicas are throttled as followers.
    """
    active = state.active()
    moves = {tp: ({*row.replicas} - {*row.adding}, {*row.adding}) for tp, row in active.items()}
    for tp, target in plan.items():
        sources, destinations = moves.get(tp, ({*state.rows[tp].replicas}, set()))
        moves[tp] = (sources, destinations | {*target})
    brokers = sorted({broker for sources, destinations in moves.values() for broker in sources | destinations})
    acts = [
        f"- set: {{broker: {broker}, leader.replication.throttled.rate: {rate}, follower.replication.throttled.rate: {rate}}}"
        for broker in brokers
    ]
    for topic in sorted({tp.topic for tp in moves}):
        own = [(tp.partition, *both) for tp, both in moves.items() if tp.topic == topic]
        leaders = sorted(f"{number}:{broker}" for number, sources, _ in own for broker in sources)
        followers = sorted(f"{number}:{broker}" for number, sources, destinations in own for broker in destinations - sources)
        acts.append(
            f"- set: {{topic: {topic}, leader.replication.throttled.replicas: '{','.join(leaders)}', "
            f"follower.replication.throttled.replicas: '{','.join(followers)}'}}"
        )
    return acts


def _s(things: Sequence[object] | Plan) -> str:
    return "" if len(things) == 1 else "s"

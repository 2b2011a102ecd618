"""The output of `kafka-leader-election` (`tools/LeaderElectionCommand`) at a given moment, with the elections that the tool would cause."""

from __future__ import annotations

from typing import Final

from core.kafka.errors import ELIGIBLE_LEADERS_NOT_AVAILABLE, PREFERRED_LEADER_NOT_AVAILABLE
from core.kafka.ids import TopicPartition
from scenarios.errors import InputError
from scenarios.tools.reassign import State, document, doubles, entries, listed, partition_of

EXCEPTIONS: Final = {
    PREFERRED_LEADER_NOT_AVAILABLE: "org.apache.kafka.common.errors.PreferredLeaderNotAvailableException: The preferred leader was not available.",
    ELIGIBLE_LEADERS_NOT_AVAILABLE: (
        "org.apache.kafka.common.errors.EligibleLeadersNotAvailableException: Eligible topic partition leaders are not available."
    ),
}
"""The exact texts of the tool's two error messages."""


def read_partitions(text: str) -> list[TopicPartition]:
    """Read the partitions from `{"partitions":[{"topic":"foo","partition":1}]}` (`#parseReplicaElectionData`).

    Raises:
        InputError: the text does not have this format, or names a partition twice.
    """
    found = [partition_of(entry) for entry in entries(document(text), "partitions")]
    if not found:
        raise InputError('Replica election data is empty; write {"partitions":[{"topic":"foo","partition":1}]}')
    twice = doubles(found)
    if twice:
        raise InputError(f"Replica election data contains duplicate partitions: {listed(twice)}")
    return found


def outcome(state: State, live: frozenset[int], tp: TopicPartition, *, preferred: bool) -> str:
    """Return an empty string if a leader would be elected, `needless` if no election is needed, or Kafka's error
    (`ReplicationControlManager#electLeader`).

    Raises:
        InputError: the partition does not exist.
    """
    row = state.rows.get(tp)
    if row is None:
        raise InputError(f"{tp}: This server does not host this topic-partition.")
    if preferred:
        first = row.replicas[0]
        if row.leader == first:
            return "needless"
        return "" if first in row.isr and first in live else PREFERRED_LEADER_NOT_AVAILABLE
    if row.has_leader:
        return "needless"
    return "" if any(replica in live for replica in row.replicas) else ELIGIBLE_LEADERS_NOT_AVAILABLE


def elect(state: State, live: frozenset[int], partitions: list[TopicPartition] | None, *, preferred: bool) -> tuple[list[str], int]:
    """Return the lines that the tool prints, and the number of failed elections.

    Args:
        partitions: the partitions to elect leaders for; None for all partitions. For None, the output omits partitions that need no
            election.

    Raises:
        InputError: a partition does not exist.
    """
    kind = "PREFERRED" if preferred else "UNCLEAN"
    outcomes = {tp: outcome(state, live, tp, preferred=preferred) for tp in (list(state.rows) if partitions is None else partitions)}
    done = [str(tp) for tp, what in outcomes.items() if not what]
    needless = [str(tp) for tp, what in outcomes.items() if what == "needless"]
    failed = {tp: what for tp, what in outcomes.items() if what in EXCEPTIONS}
    told = []
    if done:
        told.append(f"Successfully completed leader election ({kind}) for partitions {', '.join(done)}")
    if needless and partitions is not None:
        told.append(f"Valid replica already elected for partitions {', '.join(needless)}")
    told += [f"Error completing leader election ({kind}) for partition: {tp}: {EXCEPTIONS[error]}" for tp, error in failed.items()]
    return told, len(failed)

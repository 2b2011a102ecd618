"""The errors that `kafka-consumer-groups` prints. The tool ends with exit code 0 even if its command fails."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from core.kafka.ids import TopicPartition
from core.kafka.release import GroupsTool
from scenarios.groups.facts import Printed

FAILED: Final = "Error: Executing consumer group command failed due to "
"""The beginning of most error messages."""

ERRORS: Final = "org.apache.kafka.common.errors."
"""The Java package of the exceptions in the tool's error messages, with a trailing dot."""


def failed(reason: str, *trace: str) -> Printed:
    """Return the output of a command that fails; `trace` contains the known lines of the stack trace on stderr."""
    return Printed(f"\n{FAILED}{reason}\n", "".join(f"{line}\n" for line in trace))


def group_not_found(tool: GroupsTool, group: str) -> Printed:
    """Return the output for a group that does not exist."""
    if tool >= GroupsTool.EPOCHS:
        reason = f"{ERRORS}GroupIdNotFoundException: Group {group} not found."
        return failed(reason, f"java.util.concurrent.ExecutionException: {reason}", "\tat …", f"Caused by: {reason}")
    start = "\n" if tool >= GroupsTool.GROUP_COLUMN else ""
    return Printed(f"{start}Error: Consumer group '{group}' does not exist.\n")


def no_coordinator(tool: GroupsTool) -> Printed:
    """Return the output if no broker coordinates the group. Kafka's message also contains the number of attempts and the time of each
    attempt.
    """
    call = "describeConsumerGroups(api=FIND_COORDINATOR)" if tool >= GroupsTool.JAVA else "findCoordinator"
    reason = f"{ERRORS}TimeoutException: Call(callName={call}) timed out"
    return failed(reason, f"java.util.concurrent.ExecutionException: {reason}", "\tat …")


def leaderless(tool: GroupsTool, tps: Sequence[TopicPartition]) -> Printed:
    """Return the output if partitions have no leader. Up to 4.2, the tool repeatedly requests the metadata of leaderless partitions until
    its timeout expires.
    """
    if tool >= GroupsTool.SORTED:
        names = ",".join(map(str, tps))
        reason = f'The partitions "{names}" have no leader'
        return failed(reason, f"{ERRORS}LeaderNotAvailableException: {reason}")
    if tool >= GroupsTool.JAVA:
        reason = f"java.util.concurrent.ExecutionException: {ERRORS}TimeoutException: Call(callName=listOffsets(api=METADATA)) timed out"
        return failed(reason, f"java.lang.RuntimeException: {reason}", "\tat …")
    reason = f"{ERRORS}TimeoutException: Call(callName=metadata) timed out"
    return failed(reason, f"java.util.concurrent.ExecutionException: {reason}", "\tat …")


def unknown_topic(tool: GroupsTool) -> Printed:
    """Return the output of a reset for a topic that does not exist."""
    reason = "This server does not host this topic-partition."
    named = f"{ERRORS}UnknownTopicOrPartitionException: {reason}"
    if tool >= GroupsTool.JAVA:
        return failed(reason, named)
    return failed(named, f"java.util.concurrent.ExecutionException: {named}", "\tat …", f"Caused by: {named}")


def unknown_partitions(tool: GroupsTool, tps: Sequence[TopicPartition]) -> Printed:
    """Return the output of a reset for partitions that a topic does not have. Up to 4.2, the tool waits for the missing partitions to get
    leaders.
    """
    if tool >= GroupsTool.SORTED:
        reason = f'The partitions "{",".join(map(str, tps))}" do not exist'
        return failed(reason, f"{ERRORS}UnknownTopicOrPartitionException: {reason}")
    if tool >= GroupsTool.JAVA:
        timeout = f"{ERRORS}TimeoutException: Timed out waiting for a node assignment. Call: listOffsets(api=METADATA)"
        reason = f"java.util.concurrent.ExecutionException: {timeout}"
        return failed(reason, f"java.lang.RuntimeException: {reason}", "\tat …", f"Caused by: {reason}", "\tat …", f"Caused by: {timeout}")
    reason = f"{ERRORS}LeaderNotAvailableException: There is no leader for this topic-partition as we are in the middle of a leadership election."
    return failed(reason, f"java.util.concurrent.ExecutionException: {reason}", "\tat …", f"Caused by: {reason}")

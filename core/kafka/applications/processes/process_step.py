"""The steps of a process that reads, transforms, and writes records, in the order that its delivery guarantee requires."""

from __future__ import annotations

import enum
from typing import Final


class Delivery(enum.StrEnum):
    """The delivery guarantee of a process."""

    EXACTLY_ONCE = "exactly-once"
    """The output and the offsets are committed in one transaction."""
    AT_LEAST_ONCE = "at-least-once"
    """The offsets are committed after the output is acknowledged."""
    AT_MOST_ONCE = "at-most-once"
    """The offsets are committed before the output is produced."""


class ProcessStep(enum.StrEnum):
    """A step. A process can be killed during a step, or it can crash after a step."""

    INIT = "init"
    """Get a producer ID, which fences earlier instances (initTransactions)."""
    FETCH_OFFSETS = "fetch-offsets"
    """Fetch the committed offsets of the group, and start reading there."""
    POLL = "poll"
    """Wait for input records."""
    BEGIN = "begin"
    """Begin a transaction."""
    PRODUCE = "produce"
    """Write the output, and wait until it is acknowledged."""
    SEND_OFFSETS = "send-offsets"
    """Commit the offsets in the transaction (sendOffsetsToTransaction)."""
    COMMIT = "commit"
    """Commit the transaction."""
    COMMIT_OFFSETS = "commit-offsets"
    """Commit the offsets outside of a transaction (commitSync)."""
    ABORT = "abort"
    """Abort the transaction after an error."""


START: Final = {
    Delivery.EXACTLY_ONCE: (ProcessStep.INIT, ProcessStep.FETCH_OFFSETS),
    Delivery.AT_LEAST_ONCE: (ProcessStep.FETCH_OFFSETS,),
    Delivery.AT_MOST_ONCE: (ProcessStep.FETCH_OFFSETS,),
}
"""The steps that a new instance goes through before its loop."""

LOOP: Final = {
    Delivery.EXACTLY_ONCE: (ProcessStep.POLL, ProcessStep.BEGIN, ProcessStep.PRODUCE, ProcessStep.SEND_OFFSETS, ProcessStep.COMMIT),
    Delivery.AT_LEAST_ONCE: (ProcessStep.POLL, ProcessStep.PRODUCE, ProcessStep.COMMIT_OFFSETS),
    Delivery.AT_MOST_ONCE: (ProcessStep.POLL, ProcessStep.COMMIT_OFFSETS, ProcessStep.PRODUCE),
}
"""The steps of a process's loop, in order, for each delivery guarantee."""


def next_step(delivery: Delivery, step: ProcessStep) -> ProcessStep:
    """Return the step that follows a completed step. After an abort, the process returns to its committed offsets."""
    if step is ProcessStep.ABORT:
        return ProcessStep.FETCH_OFFSETS
    steps = (*START[delivery], *LOOP[delivery])
    after = steps.index(step) + 1
    return steps[after] if after < len(steps) else ProcessStep.POLL

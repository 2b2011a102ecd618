"""The phases of a worker in a service."""

from __future__ import annotations

import enum


class Phase(enum.Enum):
    """The phase that a worker is in."""

    INIT = "init"
    """The worker gets a producer ID, which fences earlier instances."""
    OFFSETS = "offsets"
    """The worker is fetching the committed offsets."""
    RUNNING = "running"
    """The worker polls, holds, and handles records."""
    HANDLING = "handling"
    """The worker is spending time on handling records that are due, and does not call poll()."""
    COUNTING = "counting"
    """The worker is waiting until the group coordinator has stored the number of the try that the worker is about to start."""
    FLUSHING = "flushing"
    """The worker is waiting until its batches are acknowledged. It then commits its offsets in the transaction."""
    SENDING_OFFSETS = "sending-offsets"
    """The worker is waiting until the group coordinator has the offsets in the transaction."""
    COMMITTING = "committing"
    """The worker is waiting until the transaction is committed."""
    ABORTING = "aborting"
    """The worker is waiting until the transaction is aborted. It then returns to the committed offsets."""

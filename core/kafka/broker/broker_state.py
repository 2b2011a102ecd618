"""The state of a broker's process."""

from __future__ import annotations

import enum


class BrokerState(enum.StrEnum):
    """The state of a broker's process and of its registration."""

    RUNNING = "running"
    """Process runs and is unfenced."""
    PAUSED = "paused"
    """Process is paused."""
    STARTING = "starting"
    """Process runs but is not yet unfenced."""
    STOPPING = "stopping"
    """In controlled shutdown."""
    STOPPED = "stopped"
    """No process."""

"""What a broker's process is doing."""

from __future__ import annotations

import enum


class BrokerState(enum.StrEnum):
    """What a broker's process and its registration are doing."""

    RUNNING = "running"
    """Process runs, unfenced."""
    PAUSED = "paused"
    """Process stands still."""
    STARTING = "starting"
    """Process runs but is not yet unfenced."""
    STOPPING = "stopping"
    """In controlled shutdown."""
    STOPPED = "stopped"
    """No process."""

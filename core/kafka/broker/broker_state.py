"""The state of a broker's process."""

from __future__ import annotations

import enum


class BrokerState(enum.StrEnum):
    """The state of a broker's process and of its registration."""

    RUNNING = "running"
    """The process is running, and the broker is unfenced."""
    PAUSED = "paused"
    """The process is paused."""
    STARTING = "starting"
    """The process is running, but the controller has not unfenced the broker yet."""
    STOPPING = "stopping"
    """The process is in a controlled shutdown."""
    STOPPED = "stopped"
    """The broker has no running process."""

"""Kafka's metrics, computed from events: meters, gauges, and a model of the request queue for the idle percentages."""

from typing import Final

CONTROLLER: Final = -1
"""The broker number of the controller's MBeans."""

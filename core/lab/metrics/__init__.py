"""Kafka's metrics, made from events: meters as Kafka's own, gauges, and the request queue behind the idle percentages."""

from typing import Final

CONTROLLER: Final = -1
"""The broker number under which the controller's MBeans are kept."""

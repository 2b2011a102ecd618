"""All readings, in the order in which the script reference lists them."""

from __future__ import annotations

from typing import Final

from scenarios.readings.audit_readings import AUDIT_READINGS
from scenarios.readings.client_readings import CLIENT_READINGS
from scenarios.readings.cluster_readings import BROKER_READINGS, CLUSTER_READINGS
from scenarios.readings.group_readings import GROUP_READINGS
from scenarios.readings.partition_readings import PARTITION_READINGS
from scenarios.readings.reading import Reading
from scenarios.readings.record_readings import RECORD_READINGS
from scenarios.readings.service_readings import PROCESS_READINGS, SERVICE_READINGS

ALL_READINGS: Final = (
    *PARTITION_READINGS,
    *BROKER_READINGS,
    *RECORD_READINGS,
    *CLIENT_READINGS,
    *GROUP_READINGS,
    *PROCESS_READINGS,
    *SERVICE_READINGS,
    *AUDIT_READINGS,
    *CLUSTER_READINGS,
)

READINGS: Final[dict[str, Reading]] = {reading.name: reading for reading in ALL_READINGS}
"""The readings, keyed by name."""

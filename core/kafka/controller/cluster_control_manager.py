"""The brokers that a control plane knows (Kafka: `ClusterControlManager`)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from core.kafka.controller.metadata_log import BrokerRegistration, BrokerUnregistration, MetadataRecords

if TYPE_CHECKING:
    from core.kafka.durability_observer import DurabilityObserver


class ClusterControlManager:
    """The registrations of the brokers.

    Attributes:
        brokers: the registrations, keyed by broker ID.
        racks: the rack of each broker.
        records: where changes are written: the metadata log, if the control plane has one.
        account: the durability account.
    """

    __slots__ = ("account", "brokers", "racks", "records")

    account: Final[DurabilityObserver]
    brokers: Final[dict[int, BrokerRegistration]]
    racks: Final[dict[int, str | None]]
    records: Final[MetadataRecords]

    def __init__(self, racks: dict[int, str | None], records: MetadataRecords, account: DurabilityObserver) -> None:
        self.records = records
        self.account = account
        self.brokers = {}
        self.racks = racks

    def is_active(self, broker: int) -> bool:
        """Return whether a broker is registered, unfenced, and not shutting down (`#isActive`)."""
        registration = self.brokers.get(broker)
        return registration is not None and not registration.fenced and not registration.in_controlled_shutdown

    def register(self, registration: BrokerRegistration) -> None:
        """Add or replace a broker's registration, and write it to the records."""
        self.brokers[registration.id] = registration
        self.records.append(registration)
        self.account.electable_brokers_changed()

    def unregister(self, registration: BrokerRegistration) -> None:
        """Delete a broker's registration."""
        del self.brokers[registration.id]
        self.records.append(BrokerUnregistration(registration.id, registration.epoch))
        self.account.electable_brokers_changed()

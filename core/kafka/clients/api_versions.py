"""What a client knows about the feature levels of its cluster (Kafka: `ApiVersions`).

A broker reports the finalized feature levels in its response to the first request on each connection. isrlab omits these requests until a
feature level changes, because every response would be the same.
"""

from __future__ import annotations

import attrs


@attrs.define(slots=True, eq=False)
class ApiVersions:
    """The newest feature levels that a client has learned about.

    Attributes:
        transaction_version: the finalized level of `transaction.version`; 0 if the client doesn't know it.
        epoch: the metadata offset at which a broker had this level; -1 if the client doesn't know it.
    """

    transaction_version: int = 0
    epoch: int = -1

    def update(self, epoch: int, transaction_version: int) -> None:
        """Adopt the feature level that a broker reports, unless another broker has reported a newer one."""
        if epoch > self.epoch:
            self.epoch, self.transaction_version = epoch, transaction_version

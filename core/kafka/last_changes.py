"""The names under which nodes record the last changes that explain later events (`Disturbances#changed`). Only causes depend on them."""

from __future__ import annotations

from typing import Final

RETENTION: Final = "retention"
"""With a topic or the empty string for all topics: the act that last changed for how long or how much is retained."""

GIVEN_UP: Final = "given up"
"""With a partition and a producer: the event that last gave up on a batch."""

REFUSED: Final = "refused"
"""With a producer and the number of a batch: the event because of which a leader last refused the batch."""

EXPIRED: Final = "expired"
"""With a broker: the event that last expired its session in ZooKeeper."""

LOG_START: Final = "log start"
"""With a partition: the event that last deleted records at the beginning of its log."""

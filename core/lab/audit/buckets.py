"""The buckets of the message audit. This module imports little, because reports on logs need it without the rest of the laboratory."""

from __future__ import annotations

from typing import Final

from core.sim.units import SECOND

DEFAULT_BUCKET: Final = 60 * SECOND
"""The default length of a bucket, in µs."""

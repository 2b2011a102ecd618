"""The interface through which fetchers use the broker as a whole."""

from __future__ import annotations

from typing import Protocol


class FetcherOwner(Protocol):
    """What fetchers ask of their broker as a whole."""

    def is_disk_slow(self) -> bool:
        """Return whether a write takes time, which is the case if the disk is slow or earlier writes have not finished."""

    def stop(self, how: str, /) -> None:
        """End the process (`Exit#exit`)."""

    def fetchers_shut_down(self) -> None:
        """Continue with the controller's requests, because all fetchers that had to end have ended."""

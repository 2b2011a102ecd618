"""Streams of random numbers."""

from __future__ import annotations

from random import Random


class RandomStream(Random):
    """A stream of random numbers that are determined by the stream's name. Normally distributed numbers are not supported, because Python
    generates them in pairs and keeps the second one.

    Attributes:
        name: the name of the stream, which is also its seed.
        drawn: the number of 32-bit words that were drawn, which is the position of the stream.
    """

    def __init__(self, name: str) -> None:
        super().__init__(name)
        self.name = name
        self.drawn = 0

    def getrandbits(self, k: int, /) -> int:
        """Return a random number of `k` bits. All other random integers are derived from the numbers that this method returns."""
        self.drawn += (k + 31) // 32
        return super().getrandbits(k)

    def random(self) -> float:
        """Return a random number with 53 bits of precision that is at least 0 and less than 1."""
        self.drawn += 2
        return super().random()

"""Streams of random numbers."""

from __future__ import annotations

from random import Random


class Stream(Random):
    """Random numbers that follow from a name; whole numbers, shuffles and the like, but no normal distributions, which draw ahead.

    Attributes:
        name: tells it from other streams, and what it is seeded with.
        drawn: how many 32-bit words were drawn: where the stream stands, said in one number.
    """

    def __init__(self, name: str) -> None:
        super().__init__(name)
        self.name = name
        self.drawn = 0

    def getrandbits(self, k: int, /) -> int:
        """A number of so many bits; all other whole numbers are made of these."""
        self.drawn += (k + 31) // 32
        return super().getrandbits(k)

    def random(self) -> float:
        """A number from 0 to 1, made of 53 bits."""
        self.drawn += 2
        return super().random()

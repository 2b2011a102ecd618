"""Streams of random numbers."""

from __future__ import annotations

from random import Random


class RandomStream(Random):
    """Random numbers determined by a name. Normal distributions are not supported, because they draw ahead.

    Attributes:
        name: identifies the stream, and is its seed.
        drawn: how many 32-bit words were drawn, which is the position of the stream.
    """

    def __init__(self, name: str) -> None:
        super().__init__(name)
        self.name = name
        self.drawn = 0

    def getrandbits(self, k: int, /) -> int:
        """A number of `k` bits. All other whole numbers are made of these."""
        self.drawn += (k + 31) // 32
        return super().getrandbits(k)

    def random(self) -> float:
        """A number from 0 to 1, made of 53 bits."""
        self.drawn += 2
        return super().random()

"""The keys and values that an application gives to its records, and the partition that the producer chooses for a key."""

from __future__ import annotations

from typing import Final, NamedTuple

Records = tuple[tuple[str, str | None], ...]
"""The key and the value of each record. The value of a tombstone is None."""

TOMBSTONE: Final = "none"
"""The string that represents the missing value of a tombstone."""

MAX_KEYS: Final = 100_000
"""The maximum number of distinct keys."""


class KeyedRecords(NamedTuple):
    """A rule that assigns keys and values to records. Each record gets the next key in turn.

    `value` is the value of each record. If `value` is empty, the value of each record is its number.
    """

    keys: tuple[str, ...]
    value: str

    def records(self, first: int, count: int) -> Records:
        """Return `count` records, starting with record number `first`."""
        keys, value = self.keys, self.value
        if value == TOMBSTONE:
            return tuple((keys[number % len(keys)], None) for number in range(first, first + count))
        return tuple((keys[number % len(keys)], value or str(number)) for number in range(first, first + count))


def keys_of(text: str) -> tuple[str, ...]:
    """Parse keys: either a comma-separated list, or a number of keys, which are named `k0`, `k1`, and so on.

    Raises:
        ValueError: the string contains no key or too many keys.
    """
    given = tuple(key.strip() for key in text.split(","))
    if len(given) == 1 and given[0].isascii() and given[0].isdecimal():
        if not 1 <= int(given[0][:9]) <= MAX_KEYS:
            raise ValueError(f"the number of keys must be from 1 to {MAX_KEYS}, not {given[0][:20]}")
        return tuple(f"k{number}" for number in range(int(given[0])))
    if not all(given):
        raise ValueError(f"keys must be a number, or names separated by commas, for example a,b, not '{text[:80]}'")
    return given


def partition_of(key: str, partitions: int) -> int:
    """Return the partition for a key (`BuiltInPartitioner#partitionForKey`)."""
    return (murmur2(key.encode()) & 0x7FFF_FFFF) % partitions


def murmur2(data: bytes) -> int:
    """Return Kafka's hash of some bytes, as an unsigned 32-bit number (`Utils#murmur2`)."""
    mask, factor = 0xFFFF_FFFF, 0x5BD1_E995
    value = 0x9747_B28C ^ len(data)
    whole = len(data) & ~3
    for at in range(0, whole, 4):
        word = int.from_bytes(data[at : at + 4], "little") * factor & mask
        word = (word ^ word >> 24) * factor & mask
        value = (value * factor & mask) ^ word
    if rest := data[whole:]:
        value = (value ^ int.from_bytes(rest, "little")) * factor & mask
    value = (value ^ value >> 13) * factor & mask
    return value ^ value >> 15

"""A compact form of batches that were written some time ago: some bytes for each batch instead of some hundreds.

Kafka keeps batches on disk, and reads those that a client asks for. A term does the same with memory: it keeps its last batches as tuples, and
packs older ones in blocks. A block is unpacked when something reads it. No batch is lost, so every count stays exact.
"""

from __future__ import annotations

import marshal
import zlib
from functools import lru_cache
from itertools import accumulate
from operator import sub
from typing import Any, Final

import attrs

BATCHES_PER_BLOCK: Final = 64
"""The number of batches in a block; the last block of a term that is over can have fewer or more. Larger blocks take less memory for each batch, but a keyframe that is far from others also holds the last
batches of every term, which are not packed.
"""

FEWEST: Final = 16
"""The number of batches at the end of a term from which they are packed when the term is over."""

BLOCKS_IN_CACHE: Final = 32
"""The number of blocks that stay unpacked after they were read. A consumer reads the batches of a block one after the other."""

FORMAT: Final = 1
"""The version of the marshal format, whose bytes depend only on the values."""

BASE, RECORDS, BYTES, PRODUCER, BATCH_ID, TIMESTAMP, PRODUCER_ID, PRODUCER_EPOCH, FIRST_SEQUENCE, TRANSACTIONAL, CONTENT = range(11)
"""The places of the fields of a `Batch`."""

GROWING: Final = (BASE, BATCH_ID, TIMESTAMP, FIRST_SEQUENCE)
"""The fields that usually grow from batch to batch. A block contains the differences, which are often the same or compress well."""

COMPRESSED_ABOVE: Final = 256
"""The size in bytes above which the fields are compressed. Most blocks are smaller, because their fields repeat, and compression takes longer
than everything else.
"""

ZLIB_HEADER: Final = 0x78
"""The first byte of compressed data. Data that is not compressed is a marshalled list, which starts with another byte."""


@attrs.frozen(eq=False)
class PackedBatches:
    """A block of batches of a term.

    Attributes:
        first, next: the number of the first batch of the block in its term, and of the first batch after the block.
        end: the offset after the last record of the block.
        floor: the size of the batches of the term before this block, in bytes.
        total: the size of the batches of the term up to the end of this block, in bytes.
        timestamp: the timestamp of the last batch, in µs.
        data: the compressed fields of the batches, without their contents.
        contents: the contents of the batches; None if all of them have plain records.
    """

    first: int
    next: int
    end: int
    floor: int
    total: int
    timestamp: int
    data: bytes
    contents: tuple[Any, ...] | None


def pack(batches: list[tuple[Any, ...]], first: int, floor: int) -> PackedBatches:
    """Return a block with at least two batches of a term. `first` is the number of the batches before them, and `floor` their size in bytes."""
    columns = list(zip(*batches, strict=True))
    last, total, contents = batches[-1], floor + sum(columns[BYTES]), columns.pop(CONTENT)
    firsts = []
    for place in GROWING:
        values = columns[place]
        firsts.append(values[0])
        columns[place] = (0,) if _is_constant(values) else tuple(map(sub, values[1:], values))
    data = marshal.dumps([firsts, [values[:1] if _is_constant(values) else values for values in columns]], FORMAT)
    if len(data) > COMPRESSED_ABOVE:
        data = zlib.compress(data, zlib.Z_BEST_SPEED)
    return PackedBatches(
        first,
        first + len(batches),
        last[BASE] + last[RECORDS],
        floor,
        total,
        last[TIMESTAMP],
        data,
        contents if contents.count(None) < len(contents) else None,
    )


def _is_constant(values: tuple[Any, ...]) -> bool:
    """Return whether all values of a column are the same, so that a block contains only the first one."""
    return values.count(values[0]) == len(values)


@lru_cache(maxsize=BLOCKS_IN_CACHE)
def unpack(block: PackedBatches) -> tuple[list[tuple[Any, ...]], list[int], list[int]]:
    """Return the fields of each batch of a block, the end offset of each batch, and the size of the term up to the end of each batch, in
    bytes.
    """
    data, count = block.data, block.next - block.first
    firsts, columns = marshal.loads(zlib.decompress(data) if data[0] == ZLIB_HEADER else data)
    columns = [values * count if len(values) == 1 else values for values in columns]
    for place, first in zip(GROWING, firsts, strict=True):
        columns[place] = tuple(accumulate(columns[place][: count - 1], initial=first))
    batches = list(zip(*columns, block.contents or (None,) * len(columns[BASE]), strict=True))
    return batches, [batch[BASE] + batch[RECORDS] for batch in batches], list(accumulate(columns[BYTES], initial=block.floor))[1:]

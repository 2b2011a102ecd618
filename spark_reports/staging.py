"""Logs on this machine as Parquet in a scratch directory, made by pyarrow in one pass, since Spark reads JSON Lines slowly.

Of 10^6 events Spark's own JSON reader takes most of a report's time, several times what all summaries take together. What is
staged has passed the checks that `frames.read_lines` makes, and stricter ones; a log that does not pass is left to that
function, which says what is wrong and where. Without pyarrow everything is.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Sequence
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO, Final

from core.journal.events import KINDS, column_types
from scenarios.eventlog import MAX_LINE
from spark_reports.schema import ENVELOPE, SESSION, event_columns
from spark_reports.sessions import Log

if TYPE_CHECKING:
    import pyarrow

BLOCK_BYTES: Final = 32 << 20
"""Of JSON Lines parsed at a time, and made one row group."""

_END: Final = b'{"end"'
_UNSAFE: Final = re.compile(r"[^-\w.]|%", re.ASCII)


def stage(logs: Sequence[Log], directory: Path, kinds: Collection[str], columns: Collection[str]) -> list[Log]:
    """Puts the events of those kinds, with the envelope and those columns, in a dataset; returns the logs of which all could be put there."""
    if not has_arrow():
        return []
    import pyarrow as pa

    staged = []
    for log in logs:
        part = directory / f"{SESSION}={escaped(log.session)}"
        try:
            part.mkdir(parents=True)
            _stage(log, part / "events.parquet", kinds, columns)
        except (pa.ArrowException, _NotInOrder, OSError, ValueError):
            for file in part.glob("*"):
                file.unlink()
            continue
        staged.append(log)
    return staged


def has_arrow() -> bool:
    """Whether pyarrow is installed."""
    return find_spec("pyarrow") is not None


def escaped(session: str) -> str:
    """A session's name as Spark takes it back from the name of a partition's directory."""
    return _UNSAFE.sub(lambda found: f"%{ord(found[0]):02X}" if found[0].isascii() else found[0], session)


class _NotInOrder(Exception):
    """A line that is not as this program writes it; Spark's reader tells what it makes of it."""


def _stage(log: Log, target: Path, kinds: Collection[str], columns: Collection[str]) -> None:
    import pyarrow as pa
    from pyarrow import compute as pc
    from pyarrow import parquet

    schema = arrow_schema(columns)
    texts = [field.name for field in schema if pa.types.is_string(field.type)]
    wanted = pa.array(sorted(kinds))
    seq = 0
    with Path(log.readable).open("rb") as file, parquet.ParquetWriter(target, schema, compression="lz4", use_dictionary=texts) as writer:
        file.readline()
        for block in blocks(file, ended=log.ended, torn=log.torn):
            table = parsed(block, schema)
            _check(table, block, seq, kinds, columns)
            seq += table.num_rows
            writer.write_table(table.filter(pc.is_in(table["kind"], wanted)))
    if seq != log.events:
        raise _NotInOrder


def arrow_schema(columns: Collection[str]) -> pyarrow.Schema:
    """The envelope and some of the events' columns, all of them if they are all named."""
    import pyarrow as pa

    types = {"int": pa.int64(), "str": pa.string(), "bool": pa.bool_(), "tuple[int, ...]": pa.list_(pa.int32())}
    envelope = [(field.name, pa.string() if field.name == "kind" else pa.int64()) for field in ENVELOPE]
    return pa.schema([*envelope, *((name, types[declared]) for name, declared in event_columns().items() if name in columns)])


def blocks(file: BinaryIO, *, ended: bool, torn: bool) -> Iterator[bytes]:
    """The lines of events of a log that is open behind its header, in blocks of whole lines; no end line, no torn one.

    Raises:
        _NotInOrder: a line is longer than any event's.
    """
    block = file.read(BLOCK_BYTES)
    while block:
        line = file.readline(MAX_LINE)
        if len(line) == MAX_LINE:
            raise _NotInOrder
        block += line
        following = file.read(BLOCK_BYTES)
        if not following:
            if torn:
                block = block[: block.rfind(b"\n") + 1]
            if ended:
                block = block[: block.rstrip(b"\n").rfind(b"\n") + 1]
        if block:
            yield block
        block = following


def parsed(block: bytes, schema: pyarrow.Schema) -> pyarrow.Table:
    """Lines as a table of that schema; fields that it does not have are left out.

    Raises:
        pyarrow.ArrowInvalid, ValueError: a line is not JSON of these types.
    """
    import pyarrow as pa
    from pyarrow import json

    if not block.isascii():
        block.decode()
    table = json.read_json(
        pa.BufferReader(block), parse_options=json.ParseOptions(explicit_schema=schema, unexpected_field_behavior="ignore")
    )
    return table.select(schema.names)


def _check(table: pyarrow.Table, block: bytes, before: int, kinds: Collection[str], columns: Collection[str]) -> None:
    """See that there is an event on every line, numbered onwards from `before`, of a known kind, with the wanted columns of its kind.

    Raises:
        _NotInOrder: there is not.
    """
    import pyarrow as pa
    from pyarrow import compute as pc

    count = table.num_rows
    lines = block.count(b"\n") + (not block.endswith(b"\n"))
    numbers = pa.array(range(before + 1, before + count + 1), pa.int64())
    if count != lines or any(table[field.name].null_count for field in ENVELOPE) or not pc.all(pc.equal(table["seq"], numbers)).as_py():
        raise _NotInOrder
    for kind in pc.unique(table["kind"]).to_pylist():
        if kind not in KINDS:
            raise _NotInOrder
        needed = [name for name in column_types(KINDS[kind]) if name in columns] if kind in kinds else []
        if needed and any(column.null_count for column in table.select(needed).filter(pc.equal(table["kind"], kind)).itercolumns()):
            raise _NotInOrder

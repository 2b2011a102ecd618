"""Turns lines of a log into rows with pyarrow.

If pyarrow cannot parse a log, or if a check of the rows fails, the log is left to `remote_lines_to_rows`, which reports the problem and its
place.
"""

from __future__ import annotations

import functools
import json
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from importlib.util import find_spec
from typing import TYPE_CHECKING, BinaryIO, Final

import attrs

from core.kafka.events import KINDS, column_types, required_columns
from scenarios.logs.log_file import MAX_LINE
from spark_reports.errors import ReportError
from spark_reports.rows.schema import DATASET_HEADER, DATASET_TAIL, ENVELOPE, ENVELOPE_NAMES, LINE, MORE_CAUSES, SESSION, event_columns

if TYPE_CHECKING:
    import pyarrow


BLOCK_BYTES: Final = 32 << 20
"""The size of a block of JSON Lines, in bytes. The lines of a block are parsed together, and their rows form one row group."""


def has_arrow() -> bool:
    """Whether pyarrow is installed."""
    return find_spec("pyarrow") is not None


class NotStageable(Exception):
    """The log cannot be staged, because it differs from what this program writes, or because staging was stopped. If the log has a problem,
    Spark's parser reports it.
    """


@attrs.frozen
class LogParts:
    """The parts of a log that are not events.

    Attributes:
        header: the header line.
        tail: the text after the last event.
        events: the number of events.
        end_us: the virtual time at which the session ended, in µs.
        ended: whether the last line is an end line.
        torn: whether the last line is incomplete.
        kept: the lines that would differ if they were rebuilt from columns, by event number.
    """

    header: str
    tail: str
    events: int
    end_us: int
    ended: bool
    torn: bool
    kept: dict[int, str] = attrs.field(factory=dict)


def arrow_schema(columns: Collection[str]) -> pyarrow.Schema:
    """Return the schema of the envelope and of the named event columns."""
    import pyarrow as pa

    types = {"int": pa.int64(), "str": pa.string(), "bool": pa.bool_(), "tuple[int, ...]": pa.list_(pa.int32())}
    envelope = [(field.name, pa.string() if field.name == "kind" else pa.int64()) for field in ENVELOPE]
    return pa.schema([*envelope, *((name, types[declared]) for name, declared in event_columns().items() if name in columns)])


def line_blocks(file: BinaryIO, *, ended: bool, torn: bool) -> Iterator[bytes]:
    """Yield the event lines of a log in blocks of whole lines. The end line and an incomplete last line are left out.

    The position in `file` must be just after the header line.

    Raises:
        NotStageable: a line is too long for an event.
    """
    block = file.read(BLOCK_BYTES)
    while block:
        line = file.readline(MAX_LINE)
        if len(line) == MAX_LINE:
            raise NotStageable
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


def block_to_table(block: bytes, schema: pyarrow.Schema, unknown: Counter[str] | None = None) -> pyarrow.Table:
    """Parse lines into rows with the given schema. Fields that are not in the schema are dropped.

    Args:
        unknown: where to count the events with each unknown column (`count_unknown_columns`); None to count nothing.

    Raises:
        pyarrow.ArrowInvalid, ValueError: a line is not JSON with the types of the schema.
    """
    import pyarrow as pa

    if not block.isascii():
        block.decode()
    if unknown is None:
        return _parse(block, schema, "ignore")
    try:
        table = _parse(block, schema, "infer")
    except pa.ArrowInvalid:
        # Unknown columns can have any types.
        known, _ = without_unknown(block, unknown)
        return _parse(known, schema, "ignore")
    count_unknown_columns(table, unknown)
    return table.select(schema.names)


def _parse(block: bytes, schema: pyarrow.Schema, other_fields: str) -> pyarrow.Table:
    import pyarrow as pa
    from pyarrow import json as arrow_json

    options = arrow_json.ParseOptions(explicit_schema=schema, unexpected_field_behavior=other_fields)
    table = arrow_json.read_json(pa.BufferReader(block), parse_options=options)
    return table.select(schema.names) if other_fields == "ignore" else table


def without_unknown(block: bytes, unknown: Counter[str]) -> tuple[bytes, list[str | None]]:
    """Drop the columns that a kind lacks, and all columns of unknown kinds. A newer version of isrlab writes such columns and kinds.

    Args:
        unknown: where to count the events of known kinds with each unknown column, as `KIND.COLUMN`.

    Returns:
        The changed block and, for each line from which something was dropped or whose kind is unknown, the original line.

    Raises:
        ValueError: a line is not a JSON object with a kind.
    """
    lines: list[bytes] = []
    kept: list[str | None] = []
    for line in block.splitlines():
        try:
            fields = json.loads(line)
        except RecursionError:
            raise ValueError("a line is nested too deeply") from None
        if not isinstance(fields, dict) or not isinstance(fields.get("kind"), str):
            raise ValueError("a line is not an event")
        kind = fields["kind"]
        known = {name: value for name, value in fields.items() if name in (columns_of(kind) if kind in KINDS else ENVELOPE_NAMES)}
        same = kind in KINDS and len(known) == len(fields)
        if kind in KINDS:
            unknown.update(f"{kind}.{name}" for name in fields.keys() - known.keys())
        lines.append(line if same else json.dumps(known).encode())
        kept.append(None if same else line.decode())
    return b"\n".join(lines) + b"\n", kept


def count_unknown_columns(table: pyarrow.Table, unknown: Counter[str]) -> None:
    """Count the events of known kinds with each column that their kind lacks, as `KIND.COLUMN`. A newer version of isrlab writes such
    columns.
    """
    from pyarrow import compute as pc

    kinds = table["kind"].dictionary_encode()
    for name in table.column_names:
        if table[name].null_count == table.num_rows:
            continue
        for each in pc.value_counts(kinds.filter(pc.is_valid(table[name]))).to_pylist():
            kind = each["values"]
            if kind in KINDS and name not in columns_of(kind):
                unknown[f"{kind}.{name}"] += each["counts"]


@functools.cache
def columns_of(kind: str) -> frozenset[str]:
    """Return the names of the fields that events of a kind have."""
    return frozenset((*column_types(KINDS[kind]), MORE_CAUSES, *(field.name for field in ENVELOPE)))


@functools.cache
def known_columns() -> frozenset[str]:
    """Return the names of all fields that rows of events can have."""
    return frozenset((*event_columns(), *(field.name for field in ENVELOPE), LINE, SESSION))


def check_rows(table: pyarrow.Table, block: bytes, before: int, kinds: Collection[str], columns: Collection[str]) -> None:
    """Check that every line is an event with the columns that its kind requires, and that the sequence numbers have no gaps.

    The first sequence number must be one more than `before`.

    Raises:
        NotStageable: the rows fail a check.
    """
    import pyarrow as pa
    from pyarrow import compute as pc

    count = table.num_rows
    lines = block.count(b"\n") + (not block.endswith(b"\n"))
    numbers = pa.array(range(before + 1, before + count + 1), pa.int64())
    if count != lines or any(table[field.name].null_count for field in ENVELOPE) or not pc.all(pc.equal(table["seq"], numbers)).as_py():
        raise NotStageable
    for kind in pc.unique(table["kind"]).to_pylist():
        needed = [name for name in required_columns(KINDS[kind]) if name in columns] if kind in kinds else []
        if needed and any(column.null_count for column in table.select(needed).filter(pc.equal(table["kind"], kind)).itercolumns()):
            raise NotStageable


def log_to_tables(path: str, file: BinaryIO, parts: LogParts) -> Iterator[pyarrow.Table]:
    """Yield the rows of a log as a dataset contains them, in the order of its lines, without the session: the header, the events, and what
    follows them.

    Args:
        path: the path of the log, for messages.
        file: the log, not compressed, from its start.

    Raises:
        pyarrow.ArrowInvalid, NotStageable, ValueError: a line is not an event as this program writes it.
        ReportError: the number of events differs from that in `parts`.
    """
    file.readline()
    yield marker_table(0, 0, DATASET_HEADER, parts.header)
    count = 0
    for table in events_to_tables(line_blocks(file, ended=parts.ended, torn=parts.torn), 0, parts.kept):
        yield table
        count += table.num_rows
    if count != parts.events:
        raise ReportError(
            f"{path}: {count:,} of its {parts.events:,} events were found when isrlab read the file again; the file has changed"
        )
    yield marker_table(count + 1, parts.end_us, DATASET_TAIL, parts.tail)


def events_to_tables(blocks: Iterable[bytes], before: int, kept: Mapping[int, str]) -> Iterator[pyarrow.Table]:
    """Yield the rows of the events in `blocks`, without the session. The column `line` has the lines of events of unknown kinds, and of events
    with unknown columns.

    Args:
        before: the number of events before the first block.
        kept: more lines of the column `line`, by event number.

    Raises:
        pyarrow.ArrowInvalid, NotStageable, ValueError: a line is not an event as this program writes it.
    """
    import pyarrow as pa

    columns = event_columns()
    schema = arrow_schema(columns)
    for block in blocks:
        table, lines = _rows_and_unknown_lines(block, schema)
        check_rows(table, block, before, KINDS, columns)
        numbers = range(before + 1, before + table.num_rows + 1)
        if kept:
            lines = [kept.get(seq, line) for seq, line in zip(numbers, lines, strict=True)]
        yield table.append_column(LINE, pa.array(lines, pa.string()))
        before = numbers.stop - 1


def _rows_and_unknown_lines(block: bytes, schema: pyarrow.Schema) -> tuple[pyarrow.Table, Sequence[str | None]]:
    """Parse lines into rows. Return the rows and, for each row of an unknown kind or with unknown columns, its line."""
    from pyarrow import compute as pc

    unknown: Counter[str] = Counter()
    table = block_to_table(block, schema, unknown)
    if not unknown and all(kind in KINDS for kind in pc.unique(table["kind"]).to_pylist()):
        return table, [None] * table.num_rows
    known, lines = without_unknown(block, unknown)
    return block_to_table(known, schema), lines


def marker_table(seq: int, t: int, kind: str, line: str) -> pyarrow.Table:
    """Return a table with one row, which is not an event."""
    import pyarrow as pa

    schema = arrow_schema(event_columns()).append(pa.field(LINE, pa.string()))
    return pa.Table.from_pylist([{"seq": seq, "t": t, "cause": 0, "kind": kind, LINE: line}], schema)


def of_session(table: pyarrow.Table, session: str) -> pyarrow.Table:
    """Add the column with the name of the session."""
    import pyarrow as pa

    return table.append_column(SESSION, pa.repeat(pa.scalar(session), table.num_rows))

"""What pyarrow prepares of logs on this machine while Spark starts, in a scratch directory.

Logs as JSON Lines are put in a dataset, in one pass, since Spark reads JSON Lines slowly: of 10^6 events its own reader takes most of
a report's time, several times what all summaries take together. What is staged has passed the checks that `frames.read_lines` makes,
and stricter ones; a log that does not pass is left to that function, which says what is wrong and where.

Events that are not frequent, a few in a hundred, are put in a dataset of their own besides, of those logs and of datasets, since
most summaries look at nothing else; and what a dataset's logs say of themselves is read. Spark would have to look through all
events for either before it could begin with the first summary. Without pyarrow nothing is staged.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Sequence
from importlib.util import find_spec
from pathlib import Path
from threading import Event
from typing import TYPE_CHECKING, BinaryIO, Final
from urllib.parse import unquote

import attrs

from core.kafka.events import KINDS, required_columns
from scenarios.eventlog import MAX_LINE
from spark_reports.schema import BULK, DATASET_HEADER, DATASET_TAIL, ENVELOPE, LINE, SESSION, event_columns
from spark_reports.sessions import Log

if TYPE_CHECKING:
    import pyarrow

BLOCK_BYTES: Final = 32 << 20
"""Of JSON Lines parsed at a time, and made one row group."""

_END: Final = b'{"end"'
_UNSAFE: Final = re.compile(r"[^-\w.]|%", re.ASCII)
_HIDDEN: Final = (".", "_")


@attrs.frozen
class Mark:
    """A row of a dataset that is no event (`schema.DATASET_HEADER`, `DATASET_TAIL`)."""

    session: str
    kind: str
    seq: int
    t: int
    line: str | None


@attrs.frozen
class Picked:
    """What was staged of a dataset.

    Attributes:
        rare: the dataset with its events that are not frequent.
        marks: what it has beside events.
    """

    rare: Path
    marks: list[Mark]


@attrs.frozen
class Staged:
    """What was prepared for a report.

    Attributes:
        logs: those of which all is in a dataset.
        events: that dataset.
        rare: the one with its events that are not frequent.
        picked: by address, datasets whose rare events were picked out.
    """

    logs: list[Log]
    events: Path
    rare: Path
    picked: dict[str, Picked]


def stage(
    logs: Sequence[Log],
    datasets: Sequence[str],
    directory: Path,
    kinds: Collection[str],
    columns: Collection[str],
    stop: Event | None = None,
) -> Staged:
    """Puts the events of those kinds, with the envelope and those columns, in datasets below a directory, as far as that can be done.

    Args:
        stop: when it is set the rest is left out.
    """
    stop = stop or Event()
    staged = Staged([], directory / "events", directory / "rare", {})
    if not has_arrow():
        return staged
    import pyarrow as pa

    for number, log in enumerate(logs):
        part, rare = staged.events / f"{SESSION}={escaped(log.session)}", staged.rare / f"{number:06d}.parquet"
        try:
            part.mkdir(parents=True)
            staged.rare.mkdir(exist_ok=True)
            _stage(log, part / "events.parquet", rare, kinds, columns, stop)
        except (pa.ArrowException, _NotInOrder, OSError, ValueError):
            for file in (*part.glob("*"), rare):
                file.unlink(missing_ok=True)
            continue
        staged.logs.append(log)
    for number, dataset in enumerate(datasets):
        target = directory / f"rare-{number}"
        try:
            target.mkdir(parents=True)
            marks = _pick(dataset, target / "events.parquet", kinds, columns, stop)
        except (pa.ArrowException, _NotInOrder, OSError, ValueError):
            continue
        staged.picked[dataset] = Picked(target, marks)
    return staged


def has_arrow() -> bool:
    """Whether pyarrow is installed."""
    return find_spec("pyarrow") is not None


def escaped(session: str) -> str:
    """A session's name as Spark takes it back from the name of a partition's directory."""
    return _UNSAFE.sub(lambda found: f"%{ord(found[0]):02X}" if found[0].isascii() else found[0], session)


class _NotInOrder(Exception):
    """Something that is not as this program writes it, or that is wanted no more; Spark's reader tells what it makes of it."""


def _stage(log: Log, target: Path, rare: Path, kinds: Collection[str], columns: Collection[str], stop: Event) -> None:
    import pyarrow as pa
    from pyarrow import compute as pc

    schema = arrow_schema(columns)
    wanted, often = pa.array(sorted(kinds)), pa.array(sorted(BULK))
    seq = 0
    with Path(log.readable).open("rb") as file, _writer(target, schema) as writer, _writer(rare, _with_session(schema)) as rare_writer:
        file.readline()
        for block in blocks(file, ended=log.ended, torn=log.torn):
            if stop.is_set():
                raise _NotInOrder
            table = parsed(block, schema)
            _check(table, block, seq, kinds, columns)
            seq += table.num_rows
            table = table.filter(pc.is_in(table["kind"], wanted))
            writer.write_table(table)
            few = table.filter(pc.invert(pc.is_in(table["kind"], often)))
            rare_writer.write_table(_of_session(few, log.session))
    if seq != log.events:
        raise _NotInOrder


def _pick(dataset: str, target: Path, kinds: Collection[str], columns: Collection[str], stop: Event) -> list[Mark]:
    """Writes the events of a dataset that are of no `BULK` kind to a file; returns what it has beside events.

    Raises:
        _NotInOrder: it is no dataset of this machine with a directory for each session.
    """
    import pyarrow as pa
    from pyarrow import compute as pc
    from pyarrow import dataset as arrow_dataset

    parts = _parts(dataset)
    schema = arrow_schema(columns)
    read = schema.append(pa.field(LINE, pa.string()))
    beside = [DATASET_HEADER, DATASET_TAIL]
    wanted = arrow_dataset.field("kind").isin([*sorted(set(kinds) - BULK), *beside])
    marks: list[Mark] = []
    with _writer(target, _with_session(schema)) as writer:
        for session, files in parts.items():
            for batch in arrow_dataset.dataset(files, schema=read, format="parquet").to_batches(filter=wanted):
                if stop.is_set():
                    raise _NotInOrder
                if not batch.num_rows:
                    continue
                table = pa.Table.from_batches([batch])
                is_mark = pc.is_in(table["kind"], pa.array(beside))
                for row in table.filter(is_mark).select(["kind", "seq", "t", LINE]).to_pylist():
                    marks.append(Mark(session, *row.values()))
                writer.write_table(_of_session(table.filter(pc.invert(is_mark)).drop_columns(LINE), session))
    return marks


def _parts(dataset: str) -> dict[str, list[str]]:
    """The files of each session of a dataset on this machine, given its address.

    Raises:
        _NotInOrder: there is none, or it has no directory for each session.
    """
    directory = Path(re.sub(r"\\(.)", r"\1", dataset.removeprefix("file://")))
    mark = f"{SESSION}="
    whole = not directory.name.startswith(mark)
    if not dataset.startswith("file:///") or (whole and any(directory.glob("*.parquet"))):
        raise _NotInOrder
    found = {
        unquote(part.name.removeprefix(mark)): sorted(str(file) for file in part.glob("*.parquet") if not file.name.startswith(_HIDDEN))
        for part in (sorted(directory.glob(f"{mark}*")) if whole else [directory])
    }
    if not found or not all(found.values()):
        raise _NotInOrder
    return found


def _writer(target: Path, schema: pyarrow.Schema) -> pyarrow.parquet.ParquetWriter:
    import pyarrow as pa
    from pyarrow import parquet

    texts = [field.name for field in schema if pa.types.is_string(field.type)]
    return parquet.ParquetWriter(target, schema, compression="lz4", use_dictionary=texts)


def _with_session(schema: pyarrow.Schema) -> pyarrow.Schema:
    import pyarrow as pa

    return schema.append(pa.field(SESSION, pa.string()))


def _of_session(table: pyarrow.Table, session: str) -> pyarrow.Table:
    import pyarrow as pa

    return table.append_column(SESSION, pa.repeat(pa.scalar(session), table.num_rows))


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
        needed = [name for name in required_columns(KINDS[kind]) if name in columns] if kind in kinds else []
        if needed and any(column.null_count for column in table.select(needed).filter(pc.equal(table["kind"], kind)).itercolumns()):
            raise _NotInOrder

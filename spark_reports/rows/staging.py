"""Staging, which converts logs on this machine to Parquet in a scratch directory while Spark starts.

Spark's parser for JSON Lines is slow: for 10⁶ events, it takes several times longer than all summaries together. Staging therefore uses the
faster parser of pyarrow.

Infrequent events (a few percent) are also written to a separate dataset, because most summaries need only infrequent events.
If infrequent events were not in a separate dataset, Spark would have to scan all events before the first summary. Without pyarrow, nothing
is staged.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Collection, Sequence
from pathlib import Path
from threading import Event
from typing import TYPE_CHECKING, Final
from urllib.parse import unquote

import attrs

from core.kafka.events import KINDS
from spark_reports.logs.session_log import SessionLog
from spark_reports.rows.lines_to_rows import (
    NotStageable,
    arrow_schema,
    block_to_table,
    check_rows,
    count_unknown_columns,
    has_arrow,
    known_columns,
    line_blocks,
    of_session,
)
from spark_reports.rows.schema import DATASET_HEADER, DATASET_TAIL, FREQUENT_KINDS, LINE, SESSION

if TYPE_CHECKING:
    import pyarrow


_UNSAFE: Final = re.compile(r"[^-\w.]|%", re.ASCII)

_HIDDEN: Final = (".", "_")


@attrs.frozen
class MarkerRow:
    """A row of a dataset that is not an event (`schema.DATASET_HEADER` or `DATASET_TAIL`)."""

    session: str
    kind: str
    seq: int
    t: int
    line: str | None


@attrs.frozen
class StagedDataset:
    """The parts of a dataset that staging reads or writes while Spark starts.

    Attributes:
        infrequent: the path of the infrequent events of the dataset.
        markers: the rows of the dataset that are not events.
        unknown: the number of events with each unknown column, by session.
    """

    infrequent: Path
    markers: list[MarkerRow]
    unknown: dict[str, Counter[str]] = attrs.field(factory=dict)


@attrs.frozen
class StagedLogs:
    """The staged logs and datasets of a report.

    Attributes:
        logs: the logs that are staged completely.
        events: the dataset that contains the events of the staged logs.
        infrequent: the dataset that contains the infrequent events of the staged logs.
        datasets: the staged parts of each dataset, by the dataset's path or URI.
        unknown: the number of events with each unknown column, by session (`count_unknown_columns`).
    """

    logs: list[SessionLog]
    events: Path
    infrequent: Path
    datasets: dict[str, StagedDataset]
    unknown: dict[str, Counter[str]] = attrs.field(factory=dict)


def stage_logs(
    logs: Sequence[SessionLog],
    datasets: Sequence[str],
    directory: Path,
    kinds: Collection[str],
    columns: Collection[str],
    stop: Event | None = None,
) -> StagedLogs:
    """Stage the events of the given kinds, with the envelope and the given columns, in a directory. Logs that cannot be staged are skipped.

    Args:
        stop: a threading event; when it is set, staging stops.
    """
    stop = stop or Event()
    staged = StagedLogs([], directory / "events", directory / "rare", {})
    if not has_arrow():
        return staged
    import pyarrow as pa

    for number, log in enumerate(logs):
        part, infrequent = staged.events / f"{SESSION}={escape_session(log.session)}", staged.infrequent / f"{number:06d}.parquet"
        try:
            part.mkdir(parents=True)
            staged.infrequent.mkdir(exist_ok=True)
            unknown = _stage_log(log, part / "events.parquet", infrequent, kinds, columns, stop)
        except (pa.ArrowException, NotStageable, OSError, ValueError):
            for file in (*part.glob("*"), infrequent):
                file.unlink(missing_ok=True)
            continue
        staged.logs.append(log)
        staged.unknown[log.session] = unknown
    for number, dataset in enumerate(datasets):
        target = directory / f"rare-{number}"
        try:
            target.mkdir(parents=True)
            markers, unknown_columns = _stage_dataset(dataset, target / "events.parquet", kinds, columns, stop)
        except (pa.ArrowException, NotStageable, OSError, ValueError):
            continue
        staged.datasets[dataset] = StagedDataset(target, markers, unknown_columns)
    return staged


def escape_session(session: str) -> str:
    """Escape the name of a session for use in the name of a partition directory. Spark unescapes the session's name when it reads the
    directory."""
    return _UNSAFE.sub(lambda found: f"%{ord(found[0]):02X}" if found[0].isascii() else found[0], session)


def _stage_log(
    log: SessionLog, target: Path, infrequent: Path, kinds: Collection[str], columns: Collection[str], stop: Event
) -> Counter[str]:
    """Write the events of a log to two files. Return the number of events with each unknown column."""
    import pyarrow as pa
    from pyarrow import compute as pc

    schema = arrow_schema(columns)
    wanted, often, known = pa.array(sorted(kinds)), pa.array(sorted(FREQUENT_KINDS)), pa.array(sorted(KINDS))
    seq = 0
    unknown: Counter[str] = Counter()
    with (
        Path(log.readable).open("rb") as file,
        _writer(target, schema) as writer,
        _writer(infrequent, _with_session(schema)) as infrequent_writer,
    ):
        file.readline()
        for block in line_blocks(file, ended=log.ended, torn=log.torn):
            if stop.is_set():
                raise NotStageable
            table = block_to_table(block, schema, unknown)
            check_rows(table, block, seq, kinds, columns)
            seq += table.num_rows
            # Events of unknown kinds are kept, so that the report can count them.
            table = table.filter(pc.or_(pc.is_in(table["kind"], wanted), pc.invert(pc.is_in(table["kind"], known))))
            writer.write_table(table)
            few = table.filter(pc.invert(pc.is_in(table["kind"], often)))
            infrequent_writer.write_table(of_session(few, log.session))
    if seq != log.events:
        raise NotStageable
    return unknown


def _stage_dataset(
    dataset: str, target: Path, kinds: Collection[str], columns: Collection[str], stop: Event
) -> tuple[list[MarkerRow], dict[str, Counter[str]]]:
    """Write the infrequent events of a dataset to a file. Return the rows that are not events and, by session, the number of events with
    each unknown column.

    Raises:
        NotStageable: the dataset is not on this machine, or does not have a directory for each session.
    """
    import pyarrow as pa
    from pyarrow import compute as pc
    from pyarrow import parquet

    parts = _session_files(dataset)
    schema = arrow_schema(columns)
    beside = pa.array([DATASET_HEADER, DATASET_TAIL])
    markers: list[MarkerRow] = []
    unknown: dict[str, Counter[str]] = {}
    with _writer(target, _with_session(schema)) as writer:
        for session, files in parts.items():
            unknown[session] = Counter()
            for name in files:
                with parquet.ParquetFile(name) as file:
                    for number in range(file.num_row_groups):
                        if stop.is_set():
                            raise NotStageable
                        table = _infrequent_rows(file, number, kinds, [*schema.names, LINE], unknown[session])
                        is_mark = pc.is_in(table["kind"], beside)
                        for row in table.filter(is_mark).select(["kind", "seq", "t", LINE]).to_pylist():
                            markers.append(MarkerRow(session, *row.values()))
                        rows = table.filter(pc.invert(is_mark)).select(schema.names).cast(schema)
                        writer.write_table(of_session(rows, session))
    return markers, unknown


def _infrequent_rows(
    file: pyarrow.parquet.ParquetFile, number: int, kinds: Collection[str], columns: Collection[str], unknown: Counter[str]
) -> pyarrow.Table:
    """Return the infrequent events and the markers in a row group of a dataset, and count unknown columns of all its events.

    Only the columns that have values there are read, because reading the others takes most of the time.

    Raises:
        NotStageable: the rows are not those of events.
    """
    import pyarrow as pa
    from pyarrow import compute as pc

    group = file.metadata.row_group(number)
    present = set()
    for place in range(group.num_columns):
        column = group.column(place)
        # Statistics do not tell an empty list from null.
        is_list = file.schema.column(place).max_repetition_level > 0
        if is_list or column.statistics is None or column.statistics.null_count != column.num_values:
            present.add(column.path_in_schema.partition(".")[0])
    if "kind" not in present:
        raise NotStageable
    if strange := sorted(present - known_columns()):
        count_unknown_columns(file.read_row_group(number, ["kind", *strange]), unknown)
    table = file.read_row_group(number, [name for name in columns if name in present])
    # Events of unknown kinds are kept, so that the report can count them.
    left_out = pa.array(sorted(FREQUENT_KINDS | (KINDS.keys() - set(kinds))))
    table = table.filter(pc.invert(pc.is_in(table["kind"], left_out)))
    for name in columns:
        if name not in present:
            table = table.append_column(name, pa.nulls(table.num_rows))
    return table


def _session_files(dataset: str) -> dict[str, list[str]]:
    """Return the files of each session of a dataset on this machine, given the path or URI of the dataset.

    Raises:
        NotStageable: the dataset is not on this machine, has no files, or does not have a directory for each session.
    """
    directory = Path(re.sub(r"\\(.)", r"\1", dataset.removeprefix("file://")))
    mark = f"{SESSION}="
    whole = not directory.name.startswith(mark)
    if not dataset.startswith("file:///") or (whole and any(directory.glob("*.parquet"))):
        raise NotStageable
    found = {
        unquote(part.name.removeprefix(mark)): sorted(str(file) for file in part.glob("*.parquet") if not file.name.startswith(_HIDDEN))
        for part in (sorted(directory.glob(f"{mark}*")) if whole else [directory])
    }
    if not found or not all(found.values()):
        raise NotStageable
    return found


def _writer(target: Path, schema: pyarrow.Schema) -> pyarrow.parquet.ParquetWriter:
    import pyarrow as pa
    from pyarrow import parquet

    texts = [field.name for field in schema if pa.types.is_string(field.type)]
    return parquet.ParquetWriter(target, schema, compression="lz4", use_dictionary=texts)


def _with_session(schema: pyarrow.Schema) -> pyarrow.Schema:
    import pyarrow as pa

    return schema.append(pa.field(SESSION, pa.string()))

"""The data source `isrlab` of Spark: `spark.read.format("isrlab").load(path)`, and `readStream` in the same way.

Spark creates the data source in a Python process on the machine of the driver, and sends it with its reader to the executors. There, only
`core`, attrs, and the packages that every data source of PySpark needs are imported. Therefore, the code that describes the logs on the
driver is in `log_partitions` and `log_positions`.
"""

from __future__ import annotations

import io
import json
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, BinaryIO, Final, cast

import attrs
from pyspark.sql.datasource import DataSource, DataSourceReader, DataSourceStreamReader, InputPartition
from pyspark.sql.streaming.datasource import ReadLimit, SupportsTriggerAvailableNow
from pyspark.sql.types import StructType

from scenarios.logs.log_file import open_log_file
from spark_reports.rows.lines_to_rows import (
    LogParts,
    NotStageable,
    events_to_tables,
    line_blocks,
    log_to_tables,
    marker_table,
    of_session,
)
from spark_reports.rows.schema import DATASET_HEADER, DATASET_TAIL, dataset_schema

if TYPE_CHECKING:
    import pyarrow


_BATCH_ROWS: Final = 10_000


class LogPartition(InputPartition):
    """One log.

    Args:
        path: the path of the log, which is the same on every executor.
        session: the name of its session.
        parts: the parts of the log that are not events.
    """

    def __init__(self, path: str, session: str, parts: LogParts) -> None:
        super().__init__(path)
        self.path = path
        self.session = session
        self.parts = parts


class LogSource(DataSource):
    """Event logs in JSON Lines, possibly compressed, as rows with the columns of a dataset (`schema.dataset_schema`).

    `load` takes a file, a directory, or a pattern, or a list of these (`logs.find_logs`).
    """

    @classmethod
    def name(cls) -> str:
        return "isrlab"

    def schema(self) -> StructType:
        return dataset_schema()

    def reader(self, schema: StructType) -> LogSourceReader:
        """Return a reader of all logs. The call runs on the driver.

        Raises:
            ReportError: see `log_partitions.log_partitions`.
        """
        from spark_reports.rows.log_partitions import log_partitions

        return LogSourceReader([LogPartition(*each) for each in log_partitions(self._paths())])

    def streamReader(self, schema: StructType) -> LogStreamReader:
        """Return a reader of logs that grow."""
        return LogStreamReader(self._paths())

    def _paths(self) -> list[str]:
        return json.loads(self.options["paths"]) if "paths" in self.options else [self.options["path"]]


class LogSourceReader(DataSourceReader):
    """Reads each log as one partition."""

    def __init__(self, logs: Sequence[LogPartition]) -> None:
        self._logs = logs

    def partitions(self) -> Sequence[InputPartition]:
        return list(self._logs)

    def read(self, partition: InputPartition) -> Iterator[pyarrow.RecordBatch]:
        """Yield the rows of a log.

        Raises:
            ValueError: the executor cannot read the log, or a line is not an event.
        """
        assert isinstance(partition, LogPartition)
        yield from _batches(partition.path, partition.session, _rows_of_log(partition))


class LogPiece(InputPartition):
    """Lines that were added to a log.

    Args:
        path: the path of the log, which is the same on every executor.
        start, stop: the positions before the first and after the last line, as JSON; `start` is None at the start of a log.
    """

    def __init__(self, path: str, start: Mapping[str, Any] | None, stop: Mapping[str, Any]) -> None:
        super().__init__(path)
        self.path = path
        self.start = start
        self.stop = stop


class LogStreamReader(DataSourceStreamReader, SupportsTriggerAvailableNow):
    """Reads logs while they grow. The offset has the position after the last complete line of each log (`log_positions.Position`), and each
    batch has a partition for each log that has grown. The header is the first row of a log. If the log ends, the end line is its last row.
    """

    def __init__(self, paths: Sequence[str]) -> None:
        self._paths = paths
        self._last: dict[str, Any] | None = None
        """The offset at which the query ends (trigger `availableNow`)."""
        self._available_now = False

    def initialOffset(self) -> dict[str, Any]:
        return {}

    def prepareForTriggerAvailableNow(self) -> None:
        self._available_now = True

    def latestOffset(self, start: dict[str, Any], limit: ReadLimit) -> dict[str, Any]:
        """Return the positions after the last complete lines.

        Raises:
            ReportError: see `log_positions.latest_positions`.
        """
        if self._last is not None:
            return self._last
        from spark_reports.rows.log_positions import Position, latest_positions

        before = {path: Position(**position) for path, position in start.items()}
        offset = {path: attrs.asdict(position) for path, position in latest_positions(self._paths, before).items()}
        if self._available_now:
            self._last = offset
        return offset

    def partitions(self, start: dict[str, Any], end: dict[str, Any]) -> Sequence[InputPartition]:
        return [LogPiece(path, start.get(path), stop) for path, stop in end.items() if stop != start.get(path)]

    def read(self, partition: InputPartition) -> Iterator[pyarrow.RecordBatch]:
        """Yield the rows of the added lines.

        Raises:
            ValueError: the executor cannot read the log, the log has changed, or a line is not an event.
        """
        assert isinstance(partition, LogPiece)
        yield from _batches(partition.path, partition.stop["session"], _rows_of_piece(partition))


def _rows_of_log(partition: LogPartition) -> Iterator[pyarrow.Table]:
    with open_log_file(partition.path) as file:
        yield from log_to_tables(partition.path, file, partition.parts)


def _rows_of_piece(piece: LogPiece) -> Iterator[pyarrow.Table]:
    at, seq = (0, 0) if piece.start is None else (piece.start["at"], piece.start["seq"])
    stop = piece.stop
    with open(piece.path, "rb") as file:
        if piece.start is None:
            header = file.readline()
            at = len(header)
            yield marker_table(0, 0, DATASET_HEADER, header.decode().rstrip("\n"))
        file.seek(at)
        until = stop["last"] if stop["ended"] else stop["at"]
        lines = cast("BinaryIO", io.BufferedReader(_Part(file, until - at)))
        for table in events_to_tables(line_blocks(lines, ended=False, torn=False), seq, {}):
            yield table
            seq += table.num_rows
        if seq != stop["seq"]:
            raise NotStageable
        if stop["ended"]:
            file.seek(until)
            yield marker_table(seq + 1, stop["t"], DATASET_TAIL, file.read(stop["at"] - until).decode())


class _Part(io.RawIOBase):
    """The next `size` bytes of a file."""

    def __init__(self, file: BinaryIO, size: int) -> None:
        self._file = file
        self._left = size

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        data = self._file.read(min(len(buffer), self._left))
        buffer[: len(data)] = data
        self._left -= len(data)
        return len(data)


def _batches(path: str, session: str, tables: Iterator[pyarrow.Table]) -> Iterator[pyarrow.RecordBatch]:
    """Yield rows for Spark.

    Raises:
        ValueError: the executor cannot read the log, or a line is not an event.
    """
    try:
        for table in tables:
            yield from of_session(table, session).to_batches(max_chunksize=_BATCH_ROWS)
    except OSError as failure:
        raise ValueError(
            f"{path}: a worker cannot read this file: {failure.strerror or failure}; every worker needs the logs at the same path"
        ) from None
    except (NotStageable, ValueError):
        raise ValueError(f"{path}: some lines are not events as isrlab writes them; 'isrlab report' names the first of them") from None

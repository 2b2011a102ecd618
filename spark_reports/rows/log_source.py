"""The data source `isrlab` of Spark: `spark.read.format("isrlab").load(path)`.

Spark creates the data source in a Python process on the machine of the driver, and sends it with its reader to the executors. There, only
`core`, attrs, and the packages that every data source of PySpark needs are imported. Therefore, the code that describes the logs on the
driver is in `log_partitions`.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Final

from pyspark.sql.datasource import DataSource, DataSourceReader, InputPartition
from pyspark.sql.types import StructType

from scenarios.logs.log_file import open_log_file
from spark_reports.rows.lines_to_rows import LogParts, NotStageable, log_to_tables, of_session
from spark_reports.rows.schema import dataset_schema

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

        paths = json.loads(self.options["paths"]) if "paths" in self.options else [self.options["path"]]
        return LogSourceReader([LogPartition(*each) for each in log_partitions(paths)])


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
        try:
            with open_log_file(partition.path) as file:
                for table in log_to_tables(partition.path, file, partition.parts):
                    yield from of_session(table, partition.session).to_batches(max_chunksize=_BATCH_ROWS)
        except OSError as failure:
            raise ValueError(
                f"{partition.path}: a worker cannot read this file: {failure.strerror or failure}; every worker needs the logs at the same path"
            ) from None
        except (NotStageable, ValueError):
            raise ValueError(
                f"{partition.path}: some lines are not events as isrlab writes them; 'isrlab report' names the first of them"
            ) from None

"""One Spark session for all tests of this directory that need one, and a way to put logs through every summary."""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest

from spark_reports.compute import session_settings
from spark_reports.spark.session import spark_session
from tests.spark_reports.together import WRITERS, Writer

Tables = dict[str, list[dict[str, Any]]]


@pytest.fixture(scope="session")
def spark() -> Iterator[Any]:
    """Interprets its plans, as reports of few events do: generating code for them and compiling it takes longer than to carry them out."""
    with spark_session("local[2]", {**session_settings.INTERPRETED, "spark.sql.adaptive.enabled": "false"}, brief=True) as session:
        yield session


@pytest.fixture(scope="session")
def summarise(spark: Any) -> Callable[[Sequence[Path]], Tables]:
    """Every summary of the given logs, and their overview, rows as dicts."""
    from spark_reports.compute.summary_inputs import session_table, summary_inputs
    from spark_reports.logs.session_log import name_sessions, open_log
    from spark_reports.rows.frames import read_frames
    from spark_reports.summaries.inputs import occurring_kinds
    from spark_reports.summaries.overview import SOURCES, overview
    from spark_reports.summaries.registry import CHARTS, SUMMARIES, columns_of, kinds_of

    def run(paths: Sequence[Path]) -> Tables:
        every = (*SUMMARIES, *CHARTS)
        logs = name_sessions([open_log(path) for path in paths])
        with tempfile.TemporaryDirectory() as links:
            frames = read_frames(spark, logs, [], kinds_of(every), columns_of(every), Path(links))
            assert frames.bad is not None
            assert frames.bad.collect() == []
            inputs = summary_inputs(frames, session_table(spark, logs), occurring_kinds(frames.infrequent))
            tables, measured = {}, {"sessions": inputs.sessions}
            for summary in every:
                frame = summary(inputs)
                assert [(field.name, field.dataType) for field in frame.schema] == [(f.name, f.dataType) for f in summary.schema]
                tables[summary.name] = [row.asDict() for row in frame.collect()]
                if summary.name in SOURCES:
                    measured[summary.name] = frame
            tables["overview"] = [row.asDict() for row in overview(measured, single_partition=False).collect()]
            spark.catalog.clearCache()
        return tables

    return run


@pytest.fixture(scope="session")
def logs_together(tmp_path_factory: pytest.TempPathFactory) -> dict[Writer, tuple[Sequence[Path], Any]]:
    """Write the logs of all modules."""
    return {write: write(tmp_path_factory.mktemp("logs")) for write in WRITERS}


@pytest.fixture(scope="session")
def tables_together(logs_together: dict[Writer, tuple[Sequence[Path], Any]], summarise: Callable[[Sequence[Path]], Tables]) -> Tables:
    """Put the logs of all modules through every summary once."""
    return summarise([path for paths, _ in logs_together.values() for path in paths])


@pytest.fixture(scope="session")
def summarized(logs_together: dict[Writer, tuple[Sequence[Path], Any]], tables_together: Tables) -> Callable[[Writer], tuple[Any, Tables]]:
    """Return a function from a writer of logs to what it returned beside their paths, and to the rows of these logs."""

    def rows_of(write: Writer) -> tuple[Any, Tables]:
        paths, about = logs_together[write]
        names = {path.stem for path in paths}
        return about, {table: [row for row in rows if row["session"] in names] for table, rows in tables_together.items()}

    return rows_of

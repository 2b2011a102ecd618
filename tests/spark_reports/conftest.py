"""One Spark session for all tests of this directory that need one, and a way to put logs through every summary."""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest

from spark_reports import computing
from spark_reports.spark import spark_session

Tables = dict[str, list[dict[str, Any]]]


@pytest.fixture(scope="session")
def spark() -> Iterator[Any]:
    """Interprets its plans, as reports of few events do: generating code for them and compiling it takes longer than to carry them out."""
    with spark_session("local[2]", {**computing.INTERPRETED, "spark.sql.adaptive.enabled": "false"}, brief=True) as session:
        yield session


@pytest.fixture(scope="session")
def summarise(spark: Any) -> Callable[[Sequence[Path]], Tables]:
    """Every summary of the given logs, and their overview, rows as dicts."""
    from spark_reports.frames import inputs_of, read_frames, session_table
    from spark_reports.sessions import name_sessions, open_log
    from spark_reports.summaries import CHARTS, SUMMARIES, columns_of, kinds_of
    from spark_reports.summaries.overview import MEASURED, overview
    from spark_reports.summaries.summary import kinds_in

    def run(paths: Sequence[Path]) -> Tables:
        every = (*SUMMARIES, *CHARTS)
        logs = name_sessions([open_log(path) for path in paths])
        with tempfile.TemporaryDirectory() as links:
            frames = read_frames(spark, logs, [], kinds_of(every), columns_of(every), Path(links))
            assert frames.bad is not None
            assert frames.bad.collect() == []
            inputs = inputs_of(frames, session_table(spark, logs), kinds_in(frames.rare))
            tables, measured = {}, {"sessions": inputs.sessions}
            for summary in every:
                frame = summary(inputs)
                assert [(field.name, field.dataType) for field in frame.schema] == [(f.name, f.dataType) for f in summary.schema]
                tables[summary.name] = [row.asDict() for row in frame.collect()]
                if summary.name in MEASURED:
                    measured[summary.name] = frame
            tables["overview"] = [row.asDict() for row in overview(measured, gathered=False).collect()]
            spark.catalog.clearCache()
        return tables

    return run

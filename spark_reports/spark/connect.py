"""Opens a session on a Spark Connect server (`sc://`). Opening the session does not start Java on this machine."""

from __future__ import annotations

import contextlib
import logging
import os
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, Final

from scenarios.io.termination_signals import defer_signals
from spark_reports.errors import ReportError
from spark_reports.spark.failures import reason_of
from spark_reports.spark.settings import SETTINGS

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


_CONNECT_MODE: Final = "SPARK_CONNECT_MODE_ENABLED"


@contextlib.contextmanager
def connect_session(master: str, settings: dict[str, str]) -> Iterator[SparkSession]:
    """Open a session on a Spark Connect server. The server continues to run after the session."""
    try:
        with defer_signals():
            from pyspark.errors import PySparkException
            from pyspark.sql.connect.session import SparkSession as ConnectSession
    except ImportError as missing:
        raise ReportError(
            f"--master {master} needs the client of Spark Connect, but {missing.name or missing} is missing; "
            "install isrlab with its connect extra"
        ) from missing
    for name in ("pyspark.sql.connect", "DataFrameQueryContextLogger", "SQLQueryContextLogger"):
        logging.getLogger(name).setLevel(logging.CRITICAL + 1)
    session: Any = None
    mode = os.environ.get(_CONNECT_MODE)
    # This tells PySpark's functions to use Spark Connect.
    os.environ[_CONNECT_MODE] = "1"
    try:
        session = ConnectSession.builder.remote(master).create()
        for name, value in {**{name: value for name, value in SETTINGS.items() if name.startswith("spark.sql.")}, **settings}.items():
            session.conf.set(name, value)
        yield session
    except PySparkException as failure:
        raise ReportError(f"Spark failed: {reason_of(failure)}") from failure
    finally:
        if session is not None:
            with contextlib.suppress(Exception):
                session.stop()
        if mode is None:
            del os.environ[_CONNECT_MODE]
        else:
            os.environ[_CONNECT_MODE] = mode

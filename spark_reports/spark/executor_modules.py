"""Makes the modules of this program available to Python workers on other machines."""

from __future__ import annotations

import contextlib
import hashlib
import tempfile
import zipfile
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from spark_reports.spark.master import LOCAL_MASTER, is_local

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


@contextlib.contextmanager
def ship_modules(spark: SparkSession, master: str | None, *more: str) -> Iterator[None]:
    """Make `core`, `scenarios`, `more` packages of this program, and the package attrs, available to the Python workers of a session. Apart
    from the standard library, the runs of a sweep need no other modules; those of a search also need PyYAML and msgspec.

    In local mode, workers find the modules in the same place as this process does. In other modes, each executor downloads a zip file when
    the executor starts. Executors can start at any time, so the zip file is kept until the block ends.
    """
    if is_local(master or LOCAL_MASTER):
        yield
        return
    import attr
    import attrs

    root = Path(__file__).resolve().parents[2]
    own = ("core", "scenarios", *more)
    packages = [*(root / name for name in own), *(Path(str(module.__file__)).parent for module in (attr, attrs))]
    with tempfile.TemporaryDirectory(prefix="isrlab-ship-") as scratch:
        written = Path(scratch) / "isrlab.zip"
        with zipfile.PyZipFile(str(written), "w", zipfile.ZIP_DEFLATED) as archive:
            for package in packages:
                archive.writepy(str(package))
        # Executors can keep the zip files of several sessions in one directory, so files that differ need different names.
        path = written.rename(written.with_stem(f"isrlab-{hashlib.sha256(written.read_bytes()).hexdigest()[:16]}"))
        spark.addArtifacts(str(path), pyfile=True)
        yield

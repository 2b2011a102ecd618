"""Writes the fetched rows of a table to a Parquet dataset on this machine.

Spark would take longer to plan and start its job than pyarrow takes to write a few thousand rows.
"""

from __future__ import annotations

import shutil
from collections.abc import Sequence
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from pyspark.sql.types import StructType

_ARROW_NAMES: Final = {"bigint": "int64", "int": "int32", "string": "string", "boolean": "bool", "double": "float64"}
"""The names of pyarrow types, keyed by the names of the corresponding Spark types."""


def can_write(schema: StructType) -> bool:
    """Return whether `write` can write tables with the given schema."""
    return find_spec("pyarrow") is not None and all(field.dataType.simpleString() in _ARROW_NAMES for field in schema.fields)


def write(name: str, schema: StructType, rows: Sequence[Sequence[object]], directory: Path) -> None:
    """Write all rows of a table to one file of the dataset `name` in a directory. An existing dataset is replaced.

    Raises:
        OSError: the file cannot be written.
    """
    import pyarrow as pa
    from pyarrow import parquet

    columns = zip(*rows, strict=True) if rows else [()] * len(schema.fields)
    arrays = [
        pa.array(values, pa.type_for_alias(_ARROW_NAMES[field.dataType.simpleString()]))
        for field, values in zip(schema.fields, columns, strict=True)
    ]
    dataset = directory / name
    shutil.rmtree(dataset, ignore_errors=True)
    dataset.mkdir(parents=True)
    parquet.write_table(pa.Table.from_arrays(arrays, names=list(schema.names)), dataset / "part-00000.snappy.parquet")
    (dataset / "_SUCCESS").touch()

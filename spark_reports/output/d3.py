"""The chart library of pages: D3, which Spark ships for its own pages (`org/apache/spark/ui/static/d3.min.js`, ISC license).

The text goes into each page as it is, with its notice. Nothing is downloaded, and no copy of it is in this repository.
"""

from __future__ import annotations

import functools
import os
import zipfile
from importlib.util import find_spec
from pathlib import Path
from typing import Final

_NAME: Final = "org/apache/spark/ui/static/d3.min.js"


@functools.cache
def d3() -> str:
    """Return the text of D3; empty if this installation of Spark has no jars. A page without it has lanes and tables, but no curves."""
    found = find_spec("pyspark")
    homes = [Path(place) for place in (found.submodule_search_locations or ())] if found is not None else []
    if os.environ.get("SPARK_HOME"):
        homes.append(Path(os.environ["SPARK_HOME"]))
    for jar in (jar for home in homes for jar in sorted((home / "jars").glob("spark-core_*.jar"))):
        try:
            with zipfile.ZipFile(jar) as files:
                text = files.read(_NAME).decode()
        except (OSError, KeyError, zipfile.BadZipFile, UnicodeDecodeError):
            continue
        # The end tag would end the script in the page.
        if "</script" not in text.lower():
            return text
    return ""

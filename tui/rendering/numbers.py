"""Parses record counts that users type."""

from __future__ import annotations

import re
from typing import Final

MOST_RECORDS: Final = 10_000_000
"""The maximum number of records in one request."""

_UNITS: Final = {"": 1, "k": 1_000, "m": 1_000_000}


def count_of(text: str) -> int:
    """Parse text such as `10`, `1,000`, or `10k`, and return the number of records.

    Raises:
        ValueError: the text is not a number, or the number is out of range. The error message describes valid input.
    """
    found = re.fullmatch(r"([0-9]{1,3}(?:,[0-9]{3})+|[0-9]{1,12}) ?([kKmM]?)", text.strip(), re.ASCII)
    count = int(found[1].replace(",", "")) * _UNITS[found[2].lower()] if found is not None else 0
    if not 1 <= count <= MOST_RECORDS:
        raise ValueError(f"enter a number of records from 1 to {MOST_RECORDS:,}, for example 10 or 5k")
    return count

"""Samples of the sentences of all event kinds in `sentences.txt`: `python -m tests.core.kafka.sentence_samples` writes the file again."""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import count
from pathlib import Path
from typing import Any, Final

from core.kafka.events import EVENTS, Event, column_types
from tests.core.events import made

FILE: Final = Path(__file__).with_name("sentences.txt")
OTHERS: Final[dict[str, tuple[Any, ...]]] = {
    "int": (-1, 0, 1, 1_000_000),
    "bool": (False,),
    "str": ("",),
    "tuple[int, ...]": ((), (1,), (3, 1, 2)),
}
"""For each type, the values that lead to different sentences: none, one, and many for numbers; true and false."""


def samples(event: type[Event]) -> Iterator[Event]:
    """Return a sample whose columns all differ, and samples in which one column has a different value."""
    number = count(11)
    types = column_types(event)
    first: dict[str, Any] = {}
    for name, kind in types.items():
        given = {"int": next(number), "bool": True, "str": f"<{name}>", "tuple[int, ...]": (4, 5)}[kind]
        first[name] = event.words[name][0] if name in event.words else given
    yield made(event, *first.values())
    for name, kind in types.items():
        for other in event.words[name][1:] if name in event.words else OTHERS[kind]:
            yield made(event, *(first | {name: other}).values())


def told(event: type[Event]) -> list[str]:
    """Return the sentences of a kind. Of sentences that differ only in numbers and names, only the first is included."""
    sentences = (sample.sentence() for sample in samples(event))
    shapes: dict[str, str] = {}
    for sentence in sentences:
        shapes.setdefault(re.sub(r"[-0-9.,]+(us|ms|s)?\b|<\w+>", "", sentence), sentence)
    return list(shapes.values())


def text() -> str:
    """Return each kind with its sentences."""
    return "\n".join(f"{event.kind}\n" + "".join(f"  {line}\n" for line in told(event)) for event in EVENTS)


if __name__ == "__main__":
    FILE.write_text(text(), encoding="utf-8")

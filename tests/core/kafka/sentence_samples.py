"""What events of every kind say, in `sentences.txt`: `python -m tests.core.kafka.sentence_samples` writes it anew."""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import count
from pathlib import Path
from typing import Any, Final

from core.kafka.events import EVENTS, Event, column_types

FILE: Final = Path(__file__).with_name("sentences.txt")
OTHERS: Final[dict[str, tuple[Any, ...]]] = {
    "int": (-1, 0, 1, 1_000_000),
    "bool": (False,),
    "str": ("",),
    "tuple[int, ...]": ((), (1,), (3, 1, 2)),
}
"""By type, what makes sentences differ: nobody and nothing, one and many, yes and no."""


def samples(event: type[Event]) -> Iterator[Event]:
    """One whose columns all differ, and those in which one column is another."""
    number = count(11)
    types = column_types(event)
    first: dict[str, Any] = {}
    for name, kind in types.items():
        given = {"int": next(number), "bool": True, "str": f"<{name}>", "tuple[int, ...]": (4, 5)}[kind]
        first[name] = event.words[name][0] if name in event.words else given
    yield event(*first.values())
    for name, kind in types.items():
        for other in event.words[name][1:] if name in event.words else OTHERS[kind]:
            yield event(*(first | {name: other}).values())


def told(event: type[Event]) -> list[str]:
    """What a kind says; of sentences that differ in numbers and names only the first."""
    sentences = (sample.sentence() for sample in samples(event))
    shapes: dict[str, str] = {}
    for sentence in sentences:
        shapes.setdefault(re.sub(r"[-0-9.,]+(us|ms|s)?\b|<\w+>", "", sentence), sentence)
    return list(shapes.values())


def text() -> str:
    """Each kind with its sentences."""
    return "\n".join(f"{event.kind}\n" + "".join(f"  {line}\n" for line in told(event)) for event in EVENTS)


if __name__ == "__main__":
    FILE.write_text(text(), encoding="utf-8")

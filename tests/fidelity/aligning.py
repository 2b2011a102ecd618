"""Pairs the steps of a recorded course with those of the model's course.

After a race, one of the two can have a step more, or other steps. The steps after the race are compared with each other again.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Sequence
from difflib import SequenceMatcher
from itertools import zip_longest
from typing import TypeVar

Step = TypeVar("Step", bound=Hashable)


def aligned(recorded: Sequence[Step], model: Sequence[Step]) -> Iterator[tuple[Step | None, Step | None]]:
    """Return the steps in pairs: the same step of both, or steps that differ. A step that only one of the two has is paired with None."""
    for _, begin, end, model_begin, model_end in SequenceMatcher(None, recorded, model, autojunk=False).get_opcodes():
        yield from zip_longest(recorded[begin:end], model[model_begin:model_end])

"""Words that somebody looks for, and whether a text has them all: `b55`, `offline`, `orders-`, `#120`.

A number, with or without the letter of a broker or the sign of an event, is meant whole: `b5` is not found in `b55`. Any other word may be
part of a longer one, in whatever case.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import lru_cache
from typing import Final

_WHOLE: Final = re.compile(r"[b#]?\d+")


@lru_cache(maxsize=16)
def matcher(words: str) -> Callable[[str], bool]:
    """What tells whether a text has every one of the words."""
    plain: list[str] = []
    whole: list[re.Pattern[str]] = []
    for word in words.lower().split():
        if _WHOLE.fullmatch(word):
            whole.append(re.compile(rf"(?<![\w.#]){re.escape(word)}(?!\w)(?!,\d{{3}}(?!\d))(?!\.\d)"))
        else:
            plain.append(word)

    def matches(text: str) -> bool:
        text = text.lower()
        return all(word in text for word in plain) and all(pattern.search(text) for pattern in whole)

    return matches

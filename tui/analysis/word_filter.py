"""A filter that matches text if it contains all search words, for example `b55`, `offline`, `orders-`, or `#120`.

A search word that is a number, with or without the prefix `b` or `#`, matches only the whole number. For example, `b5` does not match
`b55`. Any other search word also matches a part of a longer word. The comparison ignores case.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import lru_cache
from typing import Final

_WHOLE: Final = re.compile(r"[b#]?\d+")


@lru_cache(maxsize=16)
def matcher(words: str) -> Callable[[str], bool]:
    """Return a function that reports whether its argument contains all words."""
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

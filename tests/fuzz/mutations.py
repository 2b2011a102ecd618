"""Random changes of bytes, words, numbers, and lines in texts, of kinds that are known to cause problems for parsers."""

from __future__ import annotations

import random
from collections.abc import Sequence
from typing import Final

NASTY: Final[tuple[bytes, ...]] = (
    b"", b"0", b"-1", b"1", b"999999999999999999999", b"9" * 400, b"1e999", b"0x10", b"1_000", b"0.5%", b"100%", b"-0", b"NaN", b"null", b"~",
    b"true", b"none", b"''", b'""', b"[]", b"{}", b"[", b"]", b"{", b"}", b":", b",", b"-", b"- ", b"#", b"&a", b"*a", b"<<", b"!!str ", b"|", b">",
    b"\n", b"\r\n", b"\t", b"\0", b"\x1b[31m", b"\x1b]52;c;aGk=\x07", b"\x85", b"\xc2\x85", b"\xff", b"\xfe\xff", b"\xff\xfe", b"\xef\xbb\xbf",
    b"\xe2\x80\xa8", b"\xe2\x80\xae", b"\xf0\x9f\x98\x80", b"\xed\xa0\x80", b"\xd9\xa3", b"%s", b"{0}", b"\\", b"\\u0000", b"../", b"/dev/zero",
    b"  " * 40, b"[" * 300, b"{a: " * 60, b"9999999999999d", b"10y", b"5000ms", b"0s", b"b1", b"controller", b"orders-0", b"orders-99999999",
    b"1,2,3", b"2147483647", b"2147483648", b"9223372036854775807", b"9223372036854775808", b"18446744073709551616",
)  # fmt: skip
"""Data that is inserted, or that replaces a part of the text."""

_WORD: Final = frozenset(b"abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._-")
MOST_BYTES: Final = 20_000
"""The maximum size of a case. Large inputs are covered by the tests of limits."""


def mutated(draw: random.Random, text: bytes, corpus: Sequence[bytes]) -> bytes:
    """Return a text with one or more changes."""
    for _ in range(min(int(draw.expovariate(0.6)) + 1, 12)):
        text = draw.choice(_CHANGES)(draw, text, corpus)
    return text[:MOST_BYTES]


def _byte(draw: random.Random, text: bytes, _corpus: Sequence[bytes]) -> bytes:
    at = draw.randrange(len(text) + 1)
    return text[:at] + bytes([draw.randrange(256)]) + text[at + draw.randrange(2) :]


def _insert(draw: random.Random, text: bytes, _corpus: Sequence[bytes]) -> bytes:
    at = draw.randrange(len(text) + 1)
    return text[:at] + draw.choice(NASTY) + text[at:]


def _word_at(draw: random.Random, text: bytes) -> tuple[int, int]:
    at = draw.randrange(len(text) + 1)
    while at < len(text) and text[at] not in _WORD:
        at += 1
    end = at
    while end < len(text) and text[end] in _WORD:
        end += 1
    while at > 0 and text[at - 1] in _WORD:
        at -= 1
    return at, end


def _replace_word(draw: random.Random, text: bytes, _corpus: Sequence[bytes]) -> bytes:
    at, end = _word_at(draw, text)
    return text[:at] + draw.choice(NASTY) + text[end:]


def _move_word(draw: random.Random, text: bytes, corpus: Sequence[bytes]) -> bytes:
    other = draw.choice(corpus) if draw.random() < 0.5 else text
    start, stop = _word_at(draw, other)
    at, end = _word_at(draw, text)
    return text[:at] + other[start:stop] + text[end:]


def _cut(draw: random.Random, text: bytes, _corpus: Sequence[bytes]) -> bytes:
    at = draw.randrange(len(text) + 1)
    return text[:at] + text[at + int(draw.expovariate(0.05)) + 1 :]


def _truncate(draw: random.Random, text: bytes, _corpus: Sequence[bytes]) -> bytes:
    return text[: draw.randrange(len(text) + 1)]


def _lines(draw: random.Random, text: bytes, corpus: Sequence[bytes]) -> bytes:
    """Delete, duplicate, swap, or copy a line."""
    lines = text.split(b"\n")
    at, other = draw.randrange(len(lines)), draw.randrange(len(lines))
    sort = draw.randrange(5)
    if sort == 0:
        del lines[at]
    elif sort == 1:
        lines.insert(other, lines[at])
    elif sort == 2:
        lines[at], lines[other] = lines[other], lines[at]
    elif sort == 3:
        lines.insert(at, draw.choice(draw.choice(corpus).split(b"\n")))
    else:
        lines[at] = b" " * draw.randrange(6) + lines[at].strip()
    return b"\n".join(lines)


def _repeat(draw: random.Random, text: bytes, _corpus: Sequence[bytes]) -> bytes:
    at = draw.randrange(len(text) + 1)
    piece = text[at : at + draw.randrange(1, 40)]
    return text[:at] + piece * draw.choice((2, 3, 10, 100)) + text[at:]


def _encoding(draw: random.Random, text: bytes, _corpus: Sequence[bytes]) -> bytes:
    known = text.decode("utf-8", "replace")
    return known.encode(draw.choice(("utf-16", "utf-16-le", "utf-16-be", "latin-1", "utf-8-sig")), "replace")


_CHANGES: Final = (
    _byte, _insert, _insert, _replace_word, _replace_word, _replace_word, _move_word, _move_word, _cut, _truncate, _lines, _lines, _repeat, _encoding,
)  # fmt: skip

"""Selects and orders the topics that `kafka-topics --describe` prints.

Up to 2.1, the tool read the names from ZooKeeper and printed them sorted. Since 2.2, the tool asks the brokers and prints their answers in
the order of a Java hash table. The topic names pass through three hash tables. The capacity of the first table depends on the number of
requested names (`KafkaAdminClient#describeTopics`). Kafka copies the first hash table to a second one, and then inserts the names into a
third one (`DescribeTopicsResult#allTopicNames`). If more than eight names fall into one bucket of a table with 64 or more buckets, Java
keeps the names in a tree. The laboratory does not model the order of names in such a tree.
"""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterable, Sequence
from typing import Final

from core.kafka.release import Release
from core.kafka.transaction.transaction_log import java_hash
from scenarios.describe.described import DescribedTopic
from scenarios.describe.java_hash_table import hash_order, table_size_for
from scenarios.io.time_limit import TimeLimitExceeded, time_limit

PATTERN_SECONDS: Final = 5
"""The time limit for matching a pattern against all topics, in seconds.

Some patterns take practically forever because of backtracking, both in Python and in Java.
"""

_SHOWN: Final = 80
"""The maximum number of characters of a pattern that a message shows."""

_CLASSES: Final = {
    "Lower": "a-z", "Upper": "A-Z", "Alpha": "a-zA-Z", "Digit": "0-9", "Alnum": "a-zA-Z0-9", "ASCII": r"\x00-\x7f",
    "Punct": r"!-/:-@\[-`{-~", "Graph": "!-~", "Print": " -~", "Blank": r" \t", "Cntrl": r"\x00-\x1f\x7f", "XDigit": "0-9a-fA-F", "Space": r"\s",
}  # fmt: skip
"""The POSIX character classes of Java, as ranges."""

_TOKEN: Final = re.compile(
    r"\\Q(?P<quoted>.*?)(?:\\E|$)|\\p\{(?:Is)?(?P<is>\w+)\}|\\P\{(?:Is)?(?P<isnot>\w+)\}|\\k<(?P<back>\w+)>|\(\?<(?P<name>[A-Za-z]\w*)>"
    r"|(?P<end>\\[zZ])|(?P<set>\[\^?\]?)|(?P<foreign>\(\?P|\\[hHRXvVG]|&&)|\\.|.",
    re.DOTALL,
)
"""Matches the parts of a pattern that Java and Python treat differently.

Topic names are ASCII, so all other parts of a pattern have the same meaning in Java and Python.
"""


def select_topics(topics: Sequence[DescribedTopic], pattern: str | None, release: Release) -> list[DescribedTopic]:
    """Return the topics whose names match `--topic`, a Java regular expression in which a comma means `|` (`TopicFilter.IncludeList`).

    Raises:
        ValueError: the pattern is invalid or takes too long, or no topic matches and the release's tool reports this as an error.
    """
    if pattern is None:
        return list(topics)
    try:
        with time_limit(PATTERN_SECONDS):
            spelled = re.sub(r"^[\"']+|[\"']+$", "", pattern.strip().replace(",", "|").replace(" ", ""))
            matches = compile_java(spelled).fullmatch
            found = [topic for topic in topics if matches(topic.name)]
    except TimeLimitExceeded:
        shown = pattern if len(pattern) <= _SHOWN else f"{pattern[:_SHOWN]}…"
        raise ValueError(f"--topic: matching '{shown}' takes longer than {PATTERN_SECONDS} s; avoid nested repetitions") from None
    if not found and release.describe_asks_brokers:
        near = difflib.get_close_matches(spelled, [topic.name for topic in topics], n=1)
        raise ValueError(f"Topic '{pattern}' does not exist as expected" + (f"; did you mean '{near[0]}'?" if near else ""))
    return found


def compile_java(pattern: str) -> re.Pattern[str]:
    """Convert a Java regular expression to a Python one.

    Raises:
        ValueError: the pattern is invalid in Java, or it uses a feature that only Java has.
    """
    try:
        return re.compile(_as_python(pattern), re.ASCII)
    except (re.error, RecursionError, OverflowError):
        raise ValueError(f"{pattern} is an invalid regex.") from None


def _as_python(pattern: str) -> str:
    parts: list[str] = []
    at, depth = 0, 0
    while at < len(pattern):
        token = _TOKEN.match(pattern, at)
        assert token is not None
        at, text, kind = token.end(), token[0], token.lastgroup
        if kind == "foreign" and (text != "&&" or depth):
            if text == "(?P":
                raise re.error("Java writes named groups as (?<name>...)")
            raise ValueError(f"{pattern}: isrlab does not support '{text}' in Java regular expressions")
        if kind == "quoted":
            parts.append(re.escape(token[kind]))
        elif kind in ("is", "isnot"):
            parts.append(_class(pattern, token[kind], negated=kind == "isnot", inside=bool(depth)))
        elif kind == "back":
            parts.append(f"(?P={token[kind]})")
        elif kind == "name":
            parts.append(f"(?P<{token[kind]}>")
        elif kind == "end":
            parts.append(r"\Z")
        elif kind == "set" and depth:
            raise ValueError(f"{pattern}: isrlab does not support nested character classes in Java regular expressions")
        else:
            depth += (kind == "set") - (text == "]" and depth > 0)
            parts.append(text)
    return "".join(parts)


def _class(pattern: str, name: str, *, negated: bool, inside: bool) -> str:
    ranges = _CLASSES.get(name)
    if ranges is None or (negated and inside):
        raise ValueError(f"{pattern}: isrlab does not support the character class {name} in Java regular expressions")
    return ranges if inside else f"[{'^' * negated}{ranges}]"


def in_printed_order(topics: Iterable[DescribedTopic], release: Release) -> list[DescribedTopic]:
    """Return the topics in the order in which the tool of a release prints them."""
    by_name = {topic.name: topic for topic in sorted(topics, key=lambda topic: topic.name)}
    if not release.describe_asks_brokers:
        return list(by_name.values())
    count = len(by_name)
    asked = hash_order(list(by_name), java_hash, table_size_for(count))
    copied = hash_order(asked, java_hash, table_size_for(count * 4 // 3 + 1))
    return [by_name[name] for name in hash_order(copied, java_hash, table_size_for(count))]

"""The topics that `kafka-topics --describe` prints, and their order, compared with real tools of 2.8.2 and 4.1.1 (tests/recordings) and
with Java's hash tables.
"""

from __future__ import annotations

import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Final

import pytest

from core.kafka.release import RELEASES
from scenarios.describe import selection
from scenarios.describe.described import DescribedTopic
from scenarios.describe.java_hash_table import java_hash
from scenarios.describe.selection import in_printed_order, select_topics

ROOT: Final = Path(__file__).parents[3]
RECORDINGS: Final = ROOT / "tests" / "recordings"
NEW, OLD = RELEASES["4.1"], RELEASES["2.1"]


def topics(*names: str) -> list[DescribedTopic]:
    return [DescribedTopic(name, "", 1, 1, (), ()) for name in names]


def recorded(version: str, section: str) -> list[str]:
    """Return the topics that a section of a recording lists."""
    text = (RECORDINGS / f"tools-{version}.txt").read_text()
    part = next(part for part in text.split("== ") if part.splitlines()[0].endswith(section))
    return [line.removeprefix("Topic: ") for line in part.splitlines() if line.startswith("Topic: ")]


@pytest.mark.parametrize("version", ["2.8.2", "4.1.1"])
def test_the_order_is_that_of_a_real_tool(version: str) -> None:
    """11 names under 2.8.2 and 13 names under 4.1.1, in any input order."""
    printed = recorded(version, "topics")
    assert len(printed) > 10
    assert printed != sorted(printed)
    for given in (printed, printed[::-1], sorted(printed)):
        assert [topic.name for topic in in_printed_order(topics(*given), NEW)] == printed


def test_before_2_2_they_are_sorted() -> None:
    assert [topic.name for topic in in_printed_order(topics("users", "alpha", "foo"), OLD)] == ["alpha", "foo", "users"]


def test_hashes_are_javas() -> None:
    assert [java_hash(text) for text in ("", "a", "orders", "Aa", "BB")] == [0, 97, 0xC3DF62E5, 2112, 2112]
    assert java_hash("\N{GRINNING FACE}") == 1772899, "two units of UTF-16"


def test_names_in_one_place_of_the_table_stay_as_they_came() -> None:
    """Aa and BB have the same hash. Three names are requested in a table of 4, copied to a table of 8, and inserted into a table of 4
    again.
    """
    assert [topic.name for topic in in_printed_order(topics("BB", "Aa"), NEW)] == ["Aa", "BB"]
    assert [java_hash(name) % 8 for name in ("a", "e", "i")] == [1, 5, 1]
    assert [topic.name for topic in in_printed_order(topics("a", "e", "i"), NEW)] == ["a", "i", "e"]


@pytest.mark.parametrize("version", ["2.8.2", "4.1.1"])
def test_a_pattern_takes_what_a_real_tool_takes(version: str) -> None:
    """Quotes are removed, a comma means |, and the whole name must match."""
    known = topics(*recorded(version, "topics"))
    found = in_printed_order(select_topics(known, "'orders,pay.*'", NEW), NEW)
    assert [topic.name for topic in found] == recorded(version, "pattern") == ["orders", "payments"]


@pytest.mark.parametrize(
    ("pattern", "names"),
    [
        ("a.c", ["a.c", "abc"]),
        (r"a\.c", ["a.c"]),
        (r"\Qa.c\E", ["a.c"]),
        (r"\p{Upper}+", ["ABC"]),
        (r"\P{Lower}+", ["ABC"]),
        (r"[\p{Upper}b]+", ["ABC"]),
        ("(?<one>.)b.", ["abc"]),
        ("(?!a).*", ["ABC"]),
        ("(?i)abc", ["abc", "ABC"]),
        (" a b c ", ["abc"]),
        (r"abc\z", ["abc"]),
        ("&&|ABC", ["ABC"]),
    ],
)
def test_patterns_are_javas(pattern: str, names: list[str]) -> None:
    assert [topic.name for topic in select_topics(topics("a.c", "abc", "ABC"), pattern, NEW)] == names


@pytest.mark.parametrize(
    ("pattern", "words"),
    [
        ("or(ders", r"or\(ders is an invalid regex\."),
        ("(?P<x>a)", "is an invalid regex"),
        ("order", r"Topic 'order' does not exist as expected; did you mean 'orders'\?"),
        ("[a-z&&[^o]]+", "isrlab does not support '&&' in Java regular expressions"),
        ("[a[bc]]", "nested character classes"),
        (r"\p{IsGreek}", "the character class Greek"),
    ],
)
def test_patterns_that_are_refused(pattern: str, words: str) -> None:
    with pytest.raises(ValueError, match=words):
        select_topics(topics("orders", "payments"), pattern, NEW)


def test_before_2_2_a_pattern_that_nothing_matches_prints_nothing() -> None:
    assert select_topics(topics("orders"), "order", OLD) == []


@pytest.mark.parametrize("pattern", ["(a+)+", "(a|aa)+", "(?=(a+)+b)" * 3])
def test_a_pattern_that_backtracks_without_end_is_refused_in_time(pattern: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(selection, "PATTERN_SECONDS", 0.2)
    begin = time.process_time()
    with pytest.raises(ValueError, match=r"takes longer than 0\.2 s; avoid nested repetitions"):
        select_topics(topics("a" * 60 + "_"), pattern, NEW)
    assert time.process_time() - begin < 5
    assert signal.getitimer(signal.ITIMER_REAL) == (0, 0)
    monkeypatch.undo()
    assert [topic.name for topic in select_topics(topics("aaa"), "(a+)+", NEW)] == ["aaa"]


def test_the_command_says_in_one_line_that_a_pattern_takes_too_long(tmp_path: Path) -> None:
    assert selection.PATTERN_SECONDS <= 8
    script = tmp_path / "it.yaml"
    script.write_text(f"cluster: {{brokers: 1, topics: {{{'a' * 40}_: {{partitions: 1, replication-factor: 1}}}}}}\n")
    quick = (
        "import sys; from scenarios.describe import selection; from tui.cli import main; selection.PATTERN_SECONDS = 1; sys.exit(main())"
    )
    command = [sys.executable, "-c", quick, "describe", str(script), "--topic", "(a+)+$"]
    run = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=60, check=False)
    assert (run.returncode, run.stdout) == (2, "")
    assert run.stderr == (f"isrlab: {script}: --topic: matching '(a+)+$' takes longer than 1 s; avoid nested repetitions\n")

"""Writes the page with the questions of the public from their table: `python -m tests.questions_page docs/questions.md`."""

from __future__ import annotations

import re
import sys
from collections.abc import Callable, Iterator, Sequence
from itertools import groupby
from pathlib import Path
from typing import Final

from scenarios.finding.public_questions import QUESTIONS, Question

_HEAD: Final = """# Questions

<!-- Written by `python -m tests.questions_page` from scenarios/finding/public_questions.py. -->

{all} questions that people have asked in public about Kafka's replication, its clients, and consumer groups, in our own words, each with a
link to the place where it came up. {answered} of them are answered by a command, which takes a second or two. What stands in “quotation marks” is in the
command's output. To see the same thing step by step, type `play` instead of `run`. {open} questions have
[no answer yet](#not-answered-yet).

`isrlab find` searches these questions, too, for example `isrlab find hanging transaction`. The [index](#index) lists symptoms, errors, and settings.
Questions about your own cluster are answered by [`isrlab ask`](own-cluster.md#ask).
"""


def anchor(question: Question) -> str:
    """Return the anchor of a question's heading."""
    return re.sub(r"[^\w\- ]", "", question.text.lower()).replace(" ", "-")


def _body(question: Question) -> Iterator[str]:
    """Yield the lines of a question."""
    yield from (f"### {question.text}", "")
    if question.command:
        yield from (f"    {question.command}", "")
    yield from (f"{question.answer} ([asked here]({question.address}))", "")


def _index(title: str, words_of: Callable[[Question], Sequence[str]]) -> Iterator[str]:
    """Yield the lines of a table of words, each with the questions that have it."""
    found: dict[str, list[Question]] = {}
    for question in QUESTIONS:
        for word in words_of(question):
            found.setdefault(word, []).append(question)
    yield from (f"| {title} | questions |", "|---|---|")
    for word in sorted(found, key=str.lower):
        yield f"| {word} | {', '.join(f'[{each.name}](#{anchor(each)})' for each in found[word])} |"
    yield ""


def page() -> str:
    """Return the page."""
    answered = [question for question in QUESTIONS if question.command]
    unanswered = [question for question in QUESTIONS if not question.command]
    lines = _HEAD.format(all=len(QUESTIONS), answered=len(answered), open=len(unanswered)).splitlines()
    lines.append("")
    for subject, questions in groupby(answered, lambda question: question.subject):
        lines.extend((f"## {subject}", ""))
        for question in questions:
            lines.extend(_body(question))
    lines.extend(("## Not answered yet", ""))
    for question in unanswered:
        lines.extend(_body(question))
    lines.extend(("## Index", ""))
    lines.extend(_index("symptom", lambda question: question.symptoms))
    lines.extend(_index("error", lambda question: [f"`{error}`" for error in question.errors]))
    lines.extend(_index("setting", lambda question: [f"`{setting}`" for setting in question.settings]))
    return "\n".join(lines).rstrip() + "\n"


def main() -> int:
    """Run the command line and return the exit code."""
    if len(sys.argv) != 2:
        print(__doc__, file=sys.stderr)
        return 2
    Path(sys.argv[1]).write_text(page(), "utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())

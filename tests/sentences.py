"""Writes every sentence that people read to one page, so that somebody who does not know the code can read them in one sitting.

    python -m tests.sentences                    the page, on stdout
    python -m tests.sentences --draw 300         so many of them, drawn at random, numbered

Events are told as they happened: the library and the swarm are played under three releases, and of each kind one sentence is
shown for each way it can be worded. All other sentences are read from the sources: texts in the code, with `{…}` where a value goes, docstrings,
and the pages of the documentation.
"""

from __future__ import annotations

import argparse
import ast
import random
import re
import sys
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from core.kafka.events import KINDS, EventTuple
from core.lab.cluster import Cluster
from core.lab.sentences import sentence
from scenarios import catalogue
from scenarios.releases import release_named
from scenarios.running.runner import run_scenario
from tests.core.properties.swarm import swarm
from tests.core.properties.timelines import play

ROOT: Final = Path(__file__).parents[1]
RELEASES: Final = ("0.10.2", "2.8", "4.3")
TIMELINES: Final = 12
"""Random timelines under each release."""

MOST: Final = 5
"""Sentences of a kind under a release."""

FOLDERS: Final = ("core", "scenarios", "tui", "spark_reports")
PAGES: Final = ("README.md", "docs/*.md", "scenarios/*.md", "spark_reports/*.md")

_NUMBERS: Final = re.compile(r"\d[\d,.:]*|\b[a-z]+-[a-z]*\d+")
_ENDS: Final = re.compile(r"(?<=[.!?])\s+(?=[A-Z`\"'(])")
_TEXT: Final = re.compile(r"[A-Za-z][a-z']+[ ,:;]+\S*[a-z]\S*[ ,:;]+\S+")
"""At least three words."""


def events() -> dict[str, dict[str, str]]:
    """For each kind of event its sentences, by release; one for each way it is worded."""
    found: dict[str, dict[str, str]] = {kind: {} for kind in sorted(KINDS)}
    shapes: set[tuple[str, str]] = set()
    shown: Counter[tuple[str, str]] = Counter()

    def tell(release: str, told: list[EventTuple]) -> None:
        for event in told:
            said = sentence(event)
            shape = (event[3], said.split()[0] if event[3] == "act" else _NUMBERS.sub("0", said))
            if shape not in shapes and (shown[event[3], release] < MOST or event[3] == "act"):
                shapes.add(shape)
                shown[event[3], release] += 1
                found.setdefault(event[3], {})[said] = release

    for name in RELEASES:
        release = release_named(name)
        for scenario in map(catalogue.load, catalogue.names()):
            told: list[EventTuple] = []
            run_scenario(scenario, release, scenario.seed, told.append)
            tell(name, told)
        for seed in range(TIMELINES):
            told = []
            play(swarm(seed, harsh=seed % 2 == 1, moves=seed % 3 == 0), release, told.append, Cluster.run_until)
            tell(name, told)
    return found


def _strings(tree: ast.AST) -> Iterator[tuple[str, bool]]:
    """Every text in a module, and whether it is a docstring; of f-strings with `{…}` for what is filled in."""
    docstrings = set()
    within = set()
    for node in ast.walk(tree):
        if isinstance(node, (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)) and ast.get_docstring(node) is not None:
            assert isinstance(node.body[0], ast.Expr)
            docstrings.add(id(node.body[0].value))
        if isinstance(node, ast.JoinedStr):
            within |= {id(part) for part in ast.walk(node) if part is not node}
    for node in ast.walk(tree):
        if id(node) in within:
            continue
        if isinstance(node, ast.JoinedStr):
            yield "".join(str(part.value) if isinstance(part, ast.Constant) else "{…}" for part in node.values), False
        elif isinstance(node, ast.Constant) and isinstance(node.value, str):
            yield node.value, id(node) in docstrings


def _sentences(text: str) -> Iterator[str]:
    """The sentences of a text, paragraph by paragraph; what is set off by its indentation or is no sentence is left out."""
    for paragraph in re.split(r"\n\s*\n", text):
        for each in _ENDS.split(" ".join(paragraph.split())):
            if _TEXT.search(each):
                yield each


def sources() -> Iterator[tuple[str, str, str]]:
    """(sort, file, sentence) of every sentence in the code and in the pages."""
    for folder in FOLDERS:
        for file in sorted((ROOT / folder).rglob("*.py")):
            for text, is_docstring in _strings(ast.parse(file.read_text())):
                for each in _sentences(text):
                    yield "docstring" if is_docstring else "text", str(file.relative_to(ROOT)), each
    for pattern in PAGES:
        for file in sorted(ROOT.glob(pattern)):
            prose = re.sub(r"```.*?```", "", file.read_text(), flags=re.DOTALL)
            for each in _sentences(re.sub(r"^[|#>*-].*$", "", prose, flags=re.MULTILINE)):
                yield "page", str(file.relative_to(ROOT)), each
    for file in sorted((ROOT / "scenarios/library").glob("*.yaml")):
        about = re.search(r"^about: >?\n?(.*?)\n(?=\w)", file.read_text(), re.DOTALL | re.MULTILINE)
        for each in _sentences(about[1] if about else ""):
            yield "scenario", str(file.relative_to(ROOT)), each


def main() -> int:
    """Run as a command."""
    parser = argparse.ArgumentParser(description="every sentence that people read, on one page")
    parser.add_argument("--draw", type=int, metavar="N", help="only so many, drawn at random")
    parser.add_argument("--seed", type=int, default=1, help="what they are drawn by")
    arguments = parser.parse_args()
    told = events()
    read = list(sources())
    if arguments.draw:
        every = [("event", kind, said) for kind, sentences in told.items() for said in sentences] + read
        drawn = random.Random(arguments.seed).sample(every, min(arguments.draw, len(every)))
        for number, (sort, where, said) in enumerate(drawn, 1):
            print(f"{number}. [{sort} {where}] {said}")
        return 0
    print("# Events\n")
    for kind, sentences in told.items():
        print(f"{kind}" + ("" if sentences else ": not seen in these runs"))
        for said, release in sentences.items():
            print(f"  {release:<7} {said}")
    for sort, heading in (("text", "Texts in the code"), ("scenario", "Scenarios"), ("page", "Pages"), ("docstring", "Docstrings")):
        print(f"\n# {heading}\n")
        before = ""
        for of, file, said in read:
            if of == sort:
                if file != before:
                    print(f"\n{file}")
                    before = file
                print(f"  {said}")
    return 0


if __name__ == "__main__":
    sys.exit(main())

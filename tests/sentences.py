"""Writes every sentence that people read to one page, so that a person who does not know the code can read them all.

    python -m tests.sentences                       the page, on stdout
    python -m tests.sentences --sort help           one section of it
    python -m tests.sentences --draw 300 --seed 2   300 sentences, drawn at random and numbered

The sentences of events are from real runs: the library and the swarm run under three releases, and each kind has one sentence for each
wording. Help, keys, acts, settings, readings, the glossary, and the library are read from the objects that hold them. Everything else is
read from the sources: messages of errors, labels of screens, other texts in the code (with `{…}` where a value goes), the pages of the
documentation, and docstrings.
"""

from __future__ import annotations

import argparse
import ast
import inspect
import random
import re
import sys
from collections import Counter
from collections.abc import Collection, Iterator
from pathlib import Path
from typing import Final

from core.kafka.clients.client_settings import CLIENT_SETTINGS
from core.kafka.events import KINDS, EventTuple
from core.kafka.settings.registry import SETTINGS
from core.lab.act_sentences import sentence
from core.lab.acts import ACTS
from core.lab.cluster import Cluster
from scenarios import catalogue
from scenarios.readings.all_readings import READINGS
from scenarios.releases import release_named
from scenarios.running.runner import run_scenario
from tests.core.properties.swarm import swarm
from tests.core.properties.timelines import play
from tui.actions.all_actions import ACTIONS, MOVES
from tui.cli import parser_for
from tui.panels.timeline import WORDS
from tui.rendering.glossary import SYMBOLS, all_terms, states_of_partitions

ROOT: Final = Path(__file__).parents[1]
RELEASES: Final = ("0.10.2", "2.8", "4.3")
TIMELINES: Final = 12
"""The number of random timelines under each release."""

MOST: Final = 5
"""The maximum number of sentences of a kind under a release."""

FOLDERS: Final = ("core", "scenarios", "tui", "spark_reports")
PAGES: Final = ("README.md", "docs/*.md", "scenarios/*.md", "spark_reports/*.md")

SECTIONS: Final = {
    "event": "Events",
    "help": "Help of the command line",
    "key": "Keys",
    "act": "Acts",
    "setting": "Settings",
    "reading": "Readings of conditions",
    "glossary": "Glossary",
    "refusal": "Messages of errors",
    "label": "Labels of screens",
    "text": "Other texts in the code",
    "scenario": "Scenarios",
    "page": "Pages of the documentation",
    "docstring": "Docstrings",
}
"""The sections of the page, in order."""

_PAINTERS: Final = frozenset({"add", "rule", "Option", "Question", "TextPrompt", "Column", "show_details"})
"""Functions whose text arguments appear on a screen, even if they are short."""

_NUMBERS: Final = re.compile(r"\d[\d,.:]*|\b[a-z]+-[a-z]*\d+")
_ENDS: Final = re.compile(r"(?<=[.!?])\s+(?=[A-Z`\"'(])")
_TEXT: Final = re.compile(r"[A-Za-z][a-z']+[ ,:;]+\S*[a-z]\S*[ ,:;]+\S+")
"""Matches at least three words."""


def events() -> dict[str, dict[str, str]]:
    """Return the sentences of each kind of event with their releases, one sentence for each wording."""
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


def _sort_of_texts(tree: ast.Module) -> dict[int, str]:
    """Return the sort of each docstring, each text of a raised error, and each text that is painted, by the id of its node."""
    sorts: dict[int, str] = {}
    for node in ast.walk(tree):
        if isinstance(node, ast.Raise):
            sorts |= {id(part): "refusal" for part in ast.walk(node)}
        elif isinstance(node, ast.Call):
            name = node.func.attr if isinstance(node.func, ast.Attribute) else node.func.id if isinstance(node.func, ast.Name) else ""
            if name in _PAINTERS:
                sorts |= {id(part): "label" for each in node.args for part in ast.walk(each)}
    for node in ast.walk(tree):
        body = node.body if isinstance(node, (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)) else []
        for each in body:
            if isinstance(each, ast.Expr) and isinstance(each.value, ast.Constant):
                sorts[id(each.value)] = "docstring"
    return sorts


def _owners(tree: ast.Module) -> dict[int, str]:
    """Return what each text belongs to, by the id of its node: the class or the function around it, or the name that a docstring describes."""
    owners: dict[int, str] = {}

    def visit(node: ast.AST, owner: str) -> None:
        before = ""
        for child in ast.iter_child_nodes(node):
            named = isinstance(child, (ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef))
            described = before if isinstance(child, ast.Expr) and isinstance(child.value, ast.Constant) else ""
            before = _assigned(child)
            name = child.name if named else described
            inner = ".".join(filter(None, (owner, name)))
            owners[id(child)] = inner
            visit(child, inner)

    visit(tree, "")
    return owners


def _assigned(node: ast.AST) -> str:
    """Return the name that a statement assigns; an empty string if it assigns none."""
    target = node.target if isinstance(node, ast.AnnAssign) else node.targets[0] if isinstance(node, ast.Assign) else None
    return target.id if isinstance(target, ast.Name) else ""


def _strings(tree: ast.Module) -> Iterator[tuple[str, str, str]]:
    """Yield the sort of every string in a module, what the string belongs to, and its text. In f-strings, `{…}` stands for each value."""
    sorts, owners = _sort_of_texts(tree), _owners(tree)
    within: set[int] = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.JoinedStr):
            within |= {id(part) for value in node.values for part in ast.walk(value) if not _is_text(part) or part is value}
    for node in ast.walk(tree):
        if id(node) in within:
            continue
        if isinstance(node, ast.JoinedStr):
            text = "".join(str(part.value) if isinstance(part, ast.Constant) else "{…}" for part in node.values)
            yield sorts.get(id(node), "text"), owners[id(node)], text
        elif isinstance(node, ast.Constant) and isinstance(node.value, str):
            yield sorts.get(id(node), "text"), owners[id(node)], node.value


def _is_text(node: ast.AST) -> bool:
    return isinstance(node, ast.Constant) and isinstance(node.value, str)


_ENTRIES: Final = re.compile(r"\n\s*\n|\n\s*(?:Attributes|Args|Raises|Returns|Yields):\s*\n|\n(?= +(?:\w+, )*\w+: )|\n\s*- ")
"""Matches the ends of paragraphs, and of the entries of an `Attributes` or `Args` list, each of which is read separately."""


def _sentences(text: str) -> Iterator[str]:
    """Yield the sentences of a text, paragraph by paragraph. Indented blocks and texts that are not sentences are left out."""
    for paragraph in re.split(_ENTRIES, text):
        for each in _ENDS.split(" ".join(paragraph.split())):
            if _TEXT.search(each):
                yield each


def _options(parser: argparse.ArgumentParser) -> Iterator[tuple[str, str]]:
    """Yield (command, text) for a command, its options, and its sub-commands."""
    for text in (parser.description, parser.epilog):
        if text:
            yield parser.prog, text
    for action in parser._actions:
        if isinstance(action, argparse._SubParsersAction):
            for choice in action._choices_actions:
                yield f"{parser.prog} {choice.dest}", choice.help or ""
            for each in action.choices.values():
                yield from _options(each)
        elif action.help and action.dest != "help":
            name = ", ".join(action.option_strings) or action.metavar or action.dest
            yield f"{parser.prog} {name}", action.help.replace("%%", "%")


def held() -> Iterator[tuple[str, str, str]]:
    """Yield (sort, place, text) of the texts in objects: help, keys, acts, settings, readings, glossary, library."""
    for command, text in dict.fromkeys(_options(parser_for(""))):
        yield "help", command, text
    for key in ACTIONS:
        yield "key", key.label, key.help
    for keys, text in (*MOVES, *WORDS.items()):
        yield "key", keys, text
    for word, act in ACTS.items():
        yield "act", word, act.does
        yield "act", word, " ".join((inspect.getdoc(act) or "").split())
    for setting in (*SETTINGS.values(), *CLIENT_SETTINGS.values()):
        yield "setting", setting.name, setting.meaning
    for reading in READINGS.values():
        yield "reading", reading.written, reading.meaning
    for name in RELEASES:
        for term in all_terms(release_named(name), zookeeper=name != RELEASES[-1]):
            yield "glossary", f"{term.term} ({name})", f"{term.name}: {term.text}" if term.name else term.text
    for term in (*states_of_partitions(), *SYMBOLS):
        yield "glossary", term.term, f"{term.name}: {term.text}" if term.name else term.text
    for file in sorted((ROOT / "scenarios/library").glob("*.yaml")):
        text = file.read_text()
        about = re.search(r"^about: >?\n?(.*?)\n(?=\w)", text, re.DOTALL | re.MULTILINE)
        for each in _sentences(about[1] if about else ""):
            yield "scenario", file.stem, each
        for note in re.findall(r"\bnote: [\"']?(.*?)[\"']?\}?$", text, re.MULTILINE):
            yield "scenario", f"{file.stem}, note", note


def sources() -> Iterator[tuple[str, str, str]]:
    """Yield (sort, place, sentence) for every sentence in the code and in the pages. The place is the file, with what the text belongs to."""
    for folder in FOLDERS:
        for file in sorted((ROOT / folder).rglob("*.py")):
            for sort, owner, text in _strings(ast.parse(file.read_text())):
                place = " ".join(filter(None, (str(file.relative_to(ROOT)), owner)))
                if sort == "label" and folder == "tui" and re.search(r"[A-Za-z]{3}", text) and not _TEXT.search(text):
                    yield sort, place, " ".join(text.split())
                for each in _sentences(text):
                    yield sort, place, each
    for pattern in PAGES:
        for file in sorted(ROOT.glob(pattern)):
            prose = re.sub(r"```.*?```", "", file.read_text(), flags=re.DOTALL)
            prose = re.sub(r"^(?:[|#>]| {4,}).*$", "", prose, flags=re.MULTILINE)
            for each in _sentences(re.sub(r"^ *(?:[*-]|\d+\.) ", "\n\n", prose, flags=re.MULTILINE)):
                yield "page", str(file.relative_to(ROOT)), each


def every(sorts: Collection[str] = tuple(SECTIONS)) -> list[tuple[str, str, str]]:
    """Return (sort, place, sentence) of all sentences, in the order of the page. A text that an object holds is not repeated from the
    sources.

    Args:
        sorts: the sections to include.
    """
    found = [("event", kind, said) for kind, sentences in events().items() for said in sentences] if "event" in sorts else []
    objects = [(sort, place, " ".join(text.split())) for sort, place, text in held() if text]
    found += objects
    if any(sort in sorts for sort in ("refusal", "label", "text", "page", "docstring")):
        known = {each for _, _, text in objects for each in (text, *_sentences(text))}
        found += [each for each in dict.fromkeys(sources()) if each[2] not in known]
    order = list(SECTIONS)
    return sorted((each for each in found if each[0] in sorts), key=lambda each: order.index(each[0]))


def main() -> int:
    """Run the command."""
    parser = argparse.ArgumentParser(description="write every sentence that people read to one page")
    parser.add_argument("--sort", choices=list(SECTIONS), action="append", help="write only this section; can be given several times")
    parser.add_argument("--draw", type=int, metavar="N", help="write only N sentences, drawn at random")
    parser.add_argument("--seed", type=int, default=1, help="the seed of the random choice")
    arguments = parser.parse_args()
    found = every(arguments.sort or tuple(SECTIONS))
    if arguments.draw:
        for number, (sort, place, said) in enumerate(random.Random(arguments.seed).sample(found, min(arguments.draw, len(found))), 1):
            print(f"{number}. [{sort} {place}] {said}")
        return 0
    section = before = ""
    for sort, place, said in found:
        if sort != section:
            section, before = sort, ""
            print(f"\n# {SECTIONS[sort]}")
        if place != before:
            before = place
            print(f"\n{place}")
        print(f"  {said}")
    return 0


if __name__ == "__main__":
    sys.exit(main())

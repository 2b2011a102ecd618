"""Finds scenarios by name in the library that comes with isrlab."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Final

import attrs

from scenarios.errors import InputError, did_you_mean
from scenarios.io.shared_line import PREFIX, script_in
from scenarios.language.nodes import parse, read_file
from scenarios.language.script import Scenario, first_sentence, read_root
from scenarios.language.subjects import SUBJECTS, read_tags
from scenarios.language.values import as_text

if TYPE_CHECKING:
    from scenarios.models.script import ModelScenario

FOLDER: Final = Path(__file__).with_name("library")
"""The folder that contains the scripts of the library."""

MODEL_FOLDER: Final = Path(__file__).with_name("models") / "library"
"""The folder that contains the scripts for other replication models."""

SHARED: Final = "shared line"
"""The name of a script from a shared line in messages."""

PLAYGROUND: Final = "playground"
"""The scenario that `isrlab play` shows by default: a running cluster of three brokers."""


def names() -> list[str]:
    """Return the names of the library's scenarios for Kafka, sorted."""
    return _scripts(FOLDER)


def model_names() -> list[str]:
    """Return the names of the library's scenarios for other replication models, sorted."""
    return _scripts(MODEL_FOLDER)


def _scripts(folder: Path) -> list[str]:
    """Return the names of the scripts in a folder, sorted. `Path.glob` would take ten times as long, and every `load` needs the names."""
    return sorted(name.removesuffix(".yaml") for name in os.listdir(folder) if name.endswith(".yaml"))


@attrs.frozen
class ScenarioHeader:
    """What a script says about itself, without its cluster and its steps.

    Attributes:
        name: the name of the scenario.
        title: what it is about in one line.
        tags: its subjects.
        about: the whole description.
        for_kafka: whether it runs Kafka, not other replication models.
        script: the text of the script.
    """

    name: str
    title: str
    tags: tuple[str, ...]
    about: str
    for_kafka: bool
    script: str


_AFTER_HEADER: Final = re.compile(r"^(?:cluster|models?|settings|clients|timeline|steps|fault|expect|releases):", re.MULTILINE)


def headers() -> list[ScenarioHeader]:
    """Return the headers of all scenarios of the library, those for Kafka first. The scripts are not parsed beyond their headers."""
    return [*(_header(FOLDER, name, True) for name in names()), *(_header(MODEL_FOLDER, name, False) for name in model_names())]


def _header(folder: Path, name: str, for_kafka: bool) -> ScenarioHeader:
    script = (folder / f"{name}.yaml").read_text("utf-8")
    end = _AFTER_HEADER.search(script)
    fields = parse(script[: end.start()] if end else script, name).values

    def text(key: str) -> str:
        node = fields.get(key)
        return "" if node is None else as_text(node, "write text")

    about, tags = text("about"), fields.get("tags")
    return ScenarioHeader(name, text("title") or first_sentence(about), () if tags is None else read_tags(tags), about, for_kafka, script)


def by_subject(found: Iterable[ScenarioHeader]) -> list[tuple[str, list[ScenarioHeader]]]:
    """Return headers grouped by their main subject, which is their first tag, in the order of `SUBJECTS`, and within it in the order of their
    numbers. A header without tags is in a last group with an empty name."""
    groups: dict[str, list[ScenarioHeader]] = {}
    for header in sorted(found, key=lambda header: (not header.for_kafka, numbered(header.name))):
        groups.setdefault(header.tags[0] if header.tags else "", []).append(header)
    return [(tag, groups[tag]) for tag in (*SUBJECTS, "") if tag in groups]


def numbered(name: str) -> list[tuple[int, str]]:
    """Return a key that sorts names by their words and numbers, so that s2 comes before s10."""
    return [(int(part), "") if part.isdecimal() else (-1, part) for part in re.split(r"(\d+)", name)]


def path_of(name: str) -> Path:
    """Return the path of a scenario in the library.

    Raises:
        InputError: the library has no scenario with that name.
    """
    models = model_names()
    if name in models:
        return MODEL_FOLDER / f"{name}.yaml"
    known = [*names(), *models]
    if name not in known:
        raise InputError(
            f"{name}: neither a file nor a scenario in the library; "
            f"{did_you_mean(name, known, 'to list the scenarios, run isrlab scenarios list')}"
        )
    return FOLDER / f"{name}.yaml"


def find(name: str) -> Path:
    """Return the path of a library scenario or of a script file. A library scenario takes precedence over a file with the same name.

    Raises:
        InputError: there is no file and no library scenario with this name.
    """
    looks_like_path = "/" in name or name.endswith((".yaml", ".yml"))
    if not looks_like_path and name in (*names(), *model_names()):
        return path_of(name)
    try:
        exists = Path(name).exists()
    except (OSError, ValueError):
        exists = False
    if exists or looks_like_path:
        return Path(name)
    return path_of(name)


def load(name: str) -> Scenario:
    """Load a script file or a library scenario for Kafka.

    Raises:
        InputError: there is no such file or library scenario, the script has errors, or it is a script for other models.
    """
    found = load_any(name)
    if not isinstance(found, Scenario):
        raise InputError(f"{name}: this scenario runs other replication models; only isrlab run and isrlab scenarios accept it")
    return found


def load_any(name: str) -> Scenario | ModelScenario:
    """Load a script file, a library scenario, or a shared line (`scenarios.io.shared_line`), for Kafka or for other replication models.

    Raises:
        InputError: there is no such file or library scenario, the line is damaged, or the script has errors.
    """
    if name.startswith(PREFIX):
        return read_any(script_in(name), SHARED)
    path = find(name)
    return read_any(read_file(path, "name a script file or a scenario in the library"), str(path))


def read_any(text: str, source: str) -> Scenario | ModelScenario:
    """Read a script for Kafka or for other replication models from text. `source` is the name of the text in error messages.

    Raises:
        InputError: the script has errors.
    """
    try:
        root = parse(text, source)
    except InputError:
        from scenarios.describe.lines import looks_like_describe

        if not looks_like_describe(text):
            raise
        raise InputError(
            f"{source}: this is the output of kafka-topics --describe, which has no steps to run; 'isrlab ask FILE' answers questions about the "
            "cluster, and 'isrlab play FILE' opens it; to run it, make a script with 'isrlab import FILE -o mine.yaml', and add steps to it"
        ) from None
    if "lesson" in root.values:
        raise root.key_error("lesson", "this is a lesson, not a scenario", f"to start it, run isrlab learn {source}")
    if "model" in root.values or "models" in root.values:
        from scenarios.models.script import read_model_script

        return read_model_script(root, source)
    return read_root(root, source)

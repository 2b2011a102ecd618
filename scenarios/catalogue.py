"""Finds scenarios by name in the library that comes with isrlab."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING, Final

from scenarios.errors import InputError, did_you_mean
from scenarios.language.nodes import parse, read_file
from scenarios.language.script import Scenario, read_root

if TYPE_CHECKING:
    from scenarios.models.script import ModelScenario

FOLDER: Final = Path(__file__).with_name("library")
"""The folder that contains the scripts of the library."""

MODEL_FOLDER: Final = Path(__file__).with_name("models") / "library"
"""The folder that contains the scripts for other replication models."""

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
    """Load a script file or a library scenario, for Kafka or for other replication models.

    Raises:
        InputError: there is no such file or library scenario, or the script has errors.
    """
    path = find(name)
    return read_any(read_file(path, "name a script file or a scenario in the library"), str(path))


def read_any(text: str, source: str) -> Scenario | ModelScenario:
    """Read a script for Kafka or for other replication models from text. `source` is the name of the text in error messages.

    Raises:
        InputError: the script has errors.
    """
    root = parse(text, source)
    if "model" in root.values or "models" in root.values:
        from scenarios.models.script import read_model_script

        return read_model_script(root, source)
    return read_root(root, source)

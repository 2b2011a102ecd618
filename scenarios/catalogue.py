"""Finds scenarios by name in the library that comes with isrlab."""

from __future__ import annotations

from pathlib import Path
from typing import Final

from scenarios.errors import InputError, did_you_mean
from scenarios.language.script import Scenario, load_script

FOLDER: Final = Path(__file__).with_name("library")
"""The folder that contains the scripts of the library."""

PLAYGROUND: Final = "playground"
"""The scenario that `isrlab play` shows by default: a running cluster of three brokers."""


def names() -> list[str]:
    """Return the names of the library's scenarios, sorted."""
    return sorted(path.stem for path in FOLDER.glob("*.yaml"))


def path_of(name: str) -> Path:
    """Return the path of a scenario in the library.

    Raises:
        InputError: the library has no scenario of that name.
    """
    known = names()
    if name not in known:
        raise InputError(
            f"{name}: neither a file nor a scenario in the library; "
            f"{did_you_mean(name, known, 'to list the scenarios, run isrlab scenarios list')}"
        )
    return FOLDER / f"{name}.yaml"


def find(name: str) -> Path:
    """Return the path of a library scenario or of a script file. A library scenario takes precedence over a file of the same name.

    Raises:
        InputError: the name is neither a file nor a scenario in the library.
    """
    looks_like_path = "/" in name or name.endswith((".yaml", ".yml"))
    if not looks_like_path and name in names():
        return path_of(name)
    try:
        exists = Path(name).exists()
    except (OSError, ValueError):
        exists = False
    if exists or looks_like_path:
        return Path(name)
    return path_of(name)


def load(name: str) -> Scenario:
    """Load a script file or a library scenario.

    Raises:
        InputError: the name is neither a file nor a scenario in the library, or the script has errors.
    """
    return load_script(find(name))

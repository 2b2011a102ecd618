"""The library of scenarios that comes with isrlab, by name."""

from __future__ import annotations

from pathlib import Path
from typing import Final

from scenarios.errors import InputError, did_you_mean
from scenarios.language.script import Scenario, load_script

FOLDER: Final = Path(__file__).with_name("library")
"""Where the scripts stand."""

PLAYGROUND: Final = "playground"
"""The scenario that `isrlab play` shows when none is named: a cluster of three brokers that is already alive."""


def names() -> list[str]:
    """The names of the library's scenarios, sorted."""
    return sorted(path.stem for path in FOLDER.glob("*.yaml"))


def path_of(name: str) -> Path:
    """The file of a scenario of the library.

    Raises:
        InputError: there is none of that name.
    """
    known = names()
    if name not in known:
        raise InputError(
            f"{name}: neither a file nor a scenario of the library; {did_you_mean(name, known, 'isrlab scenarios list prints them')}"
        )
    return FOLDER / f"{name}.yaml"


def find(name: str) -> Path:
    """The file that a name means: a script file, or a scenario of the library.

    Raises:
        InputError: it is neither.
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
    """The scenario that a name means.

    Raises:
        InputError: there is none, or its script is wrong.
    """
    return load_script(find(name))

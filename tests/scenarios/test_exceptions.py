"""Exceptions reach the process that started a run or a sweep as they were raised: pickle makes an equal one, with the same message."""

from __future__ import annotations

import importlib
import inspect
import pickle
import pkgutil
from types import ModuleType
from typing import Any, Final

import core
import scenarios
from scenarios.errors import Place, ScriptError

MISTAKE: Final = ScriptError(Place("s.yaml", 3, 4), "timeline[1]", "unknown word 'kil'", "did you mean 'kill'?")
ARGUMENTS: Final[dict[str, Any]] = {
    "code": "NOT_CONTROLLER", "message": "words", "offset": 3, "problem": "unknown", "remedy": "use another", "place": Place("s", 1, 2), "field": "f",
    "mistakes": [MISTAKE], "unread": True, "source": "s", "line": 7, "event": (1, 2, 0, "kind"), "stamp": (1, 2, 0, "kind"), "number": 15,
    "wrong": BrokenPipeError(32, "Broken pipe"), "silent": True,
}  # fmt: skip
"""An argument for each parameter of a constructor."""


def exceptions(package: ModuleType) -> list[type[BaseException]]:
    """Return the exceptions that the modules of a package define."""
    modules = [importlib.import_module(each.name) for each in pkgutil.walk_packages(package.__path__, f"{package.__name__}.")]
    return [
        each
        for module in modules
        for each in vars(module).values()
        if isinstance(each, type) and issubclass(each, BaseException) and each.__module__ == module.__name__
    ]


def told(wrong: BaseException) -> tuple[Any, ...]:
    """Return everything that an exception tells, as values that can be compared."""
    return type(wrong), str(wrong), repr(sorted(vars(wrong).items())), repr(wrong.args)


def test_every_exception_is_the_same_after_pickling() -> None:
    found = [*exceptions(core), *exceptions(scenarios)]
    assert len(found) > 20
    for each in found:
        init = each.__init__
        names = [*inspect.signature(init).parameters][1:] if inspect.isfunction(init) else []
        wrong = each(**{name: ARGUMENTS[name] for name in names}) if names else each("some words")
        assert told(pickle.loads(pickle.dumps(wrong))) == told(wrong), each

"""Scripts know every declared act, and a cluster executes it."""

from __future__ import annotations

import importlib
import pkgutil

from core.lab import act_handlers, acts
from core.lab.acts import ACTS, Act
from core.lab.acts.applications import StartApplication, StartService


def test_every_act_is_known_by_its_word() -> None:
    modules = [importlib.import_module(f"core.lab.acts.{module.name}") for module in pkgutil.iter_modules(acts.__path__)]
    classes = {each for module in modules for each in vars(module).values() if isinstance(each, type) and issubclass(each, Act)}
    assert classes - {Act, StartApplication, StartService} == set(ACTS.values()), "core/lab/acts/__init__.py: ACTS lists every act"


def test_every_act_has_a_handler() -> None:
    (handlers,) = (each for each in vars(act_handlers).values() if isinstance(each, dict) and acts.Kill in each)
    assert handlers.keys() == set(ACTS.values())

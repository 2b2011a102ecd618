"""Scripts know every declared act, and a cluster executes it."""

from __future__ import annotations

from core.lab import act_handlers, acts
from core.lab.acts import ACTS, Act


def test_every_act_is_known_by_its_word() -> None:
    declared = {each for each in vars(acts).values() if isinstance(each, type) and issubclass(each, Act) and each is not Act}
    assert declared == set(ACTS.values()), "core/lab/acts.py: ACTS lists every act"


def test_every_act_has_a_handler() -> None:
    (handlers,) = (each for each in vars(act_handlers).values() if isinstance(each, dict) and acts.Kill in each)
    assert handlers.keys() == set(ACTS.values())

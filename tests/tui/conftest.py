"""Parses each style sheet once for all applications in a process, because parsing takes a tenth of the time of a short test."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from textual.css.model import RuleSet
from textual.css.stylesheet import Stylesheet


@pytest.fixture(scope="session", autouse=True)
def style_sheets_parsed_once() -> Iterator[None]:
    """Cache the rules of a style sheet by its text, its path, and the variables of the theme. This is safe because applications never
    change the rules.
    """
    parsed: dict[tuple[Any, ...], list[RuleSet]] = {}
    parse = Stylesheet._parse_rules

    def parse_once(sheet: Stylesheet, *args: Any, **kwargs: Any) -> list[RuleSet]:
        key = (args, tuple(sorted(kwargs.items())), tuple(sorted(sheet._variables.items())))
        if key not in parsed:
            parsed[key] = parse(sheet, *args, **kwargs)
        return parsed[key]

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Stylesheet, "_parse_rules", parse_once)
        yield

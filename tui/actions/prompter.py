"""The interface for messages and questions. `tui.handlers.prompts` implements the interface on a screen."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Protocol

from textual.strip import Strip

from tui.actions.context import Option, Question


class Prompter(Protocol):
    """An object that shows messages and asks questions. `Prompts` documents each method."""

    def say(self, text: str, *, refused: bool = False) -> None: ...
    def drop_message(self) -> None: ...
    def ask(self, question: Question, answered: Callable[[Option | None], None], *, leaves: bool = False) -> None: ...
    def ask_text(
        self, title: str, about: str, text: str, wrong: Callable[[str], str | None], then: Callable[[str], None], *, travels: bool = False
    ) -> None: ...
    def show_details(self, title: str, paint: Callable[[int], Sequence[Strip]]) -> None: ...

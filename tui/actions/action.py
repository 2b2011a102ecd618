"""What an action is: its keys and words, when it is impossible, and what it does.

An action either builds acts for the cluster, asks a question whose answers do, or calls a method of the screen. `refuse`
says why it is impossible now; then it is shown greyed, and pressed it tells the reason.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

import attrs

from core.lab.acts import Act
from core.sim.repr_mixin import ReprMixin
from tui.actions.context import ActionContext, Question, TextPrompt
from tui.actions.refusals import READ_ONLY, always

Refusal = Callable[[ActionContext], str | None]

SHOWN: Final = {"space": "Space", "enter": "⏎"}
"""Keys that are read otherwise than they are called, unless an action says so itself."""


@attrs.frozen(repr=False)
class Action(ReprMixin):
    """One thing to do.

    Attributes:
        id: its name in keymaps and tests.
        keys: Textual's names of the keys; the first is shown.
        label: two or three words for footer and palette.
        help: a sentence for the help screen.
        group: heading in the help screen.
        check: why it is impossible now, or None.
        build: makes the acts.
        ask: makes the question, or the line to be written, whose answers are acts.
        call: a method of the main screen.
        page: the screen it opens.
        effect: what it would do now, with the numbers of this moment; asked only when it is possible.
        shown: how the key is written, when that is not the key's own name.
        footer: place in the footer, lower is further left; 0: not there.
    """

    id: str
    keys: tuple[str, ...]
    label: str
    help: str
    group: str
    check: Refusal = always
    build: Callable[[ActionContext], tuple[Act, ...]] | None = None
    ask: Callable[[ActionContext], Question | TextPrompt] | None = None
    call: str | None = None
    page: str = ""
    effect: Callable[[ActionContext], str] | None = None
    shown: str = ""
    footer: int = 0

    @property
    def acts(self) -> bool:
        """Whether it does something to the cluster."""
        return self.build is not None or self.ask is not None

    def refuse(self, context: ActionContext) -> str | None:
        """Why it is impossible now, or None."""
        if context.read_only and self.acts:
            return READ_ONLY
        return self.check(context)

    def words(self, context: ActionContext) -> str:
        """What it does, and what that would mean now."""
        if self.effect is None or self.refuse(context) is not None:
            return self.help
        return f"{self.help} Now: {self.effect(context)}"

    @property
    def key(self) -> str:
        """The key as people read it."""
        return self.shown or SHOWN.get(self.keys[0], self.keys[0])

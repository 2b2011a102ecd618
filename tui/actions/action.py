"""Actions, with their keys, labels, conditions, and effects.

An action builds acts for the cluster, asks a question and builds acts from the answer, or calls a method of the screen. `refuse` returns
the reason why an action is impossible now. The footer grays out impossible actions, and pressing the key of an impossible action shows the
reason.
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
"""The display names of the keys whose display name differs from Textual's name, keyed by Textual's name. `Action.shown` takes precedence.
"""


@attrs.frozen(repr=False)
class Action(ReprMixin):
    """An action that a user can trigger.

    Attributes:
        id: the name of the action in keymaps and tests.
        keys: Textual's names of the keys; only the first key is shown.
        label: two or three words for the footer and the palette.
        help: a sentence for the help screen.
        group: the heading under which the help screen lists the action.
        check: the function that returns the reason why the action is impossible now, or None.
        build: the function that returns the acts.
        ask: the function that returns a question or a text prompt; the answer determines the acts.
        call: the name of the function to call (`MainScreen` maps names to functions).
        page: the name of the screen that the action opens.
        effect: the function that describes what the action would do now; called only if the action is possible.
        shown: the display name of the key, if it differs from the default display name.
        footer: the position in the footer; lower numbers are further left, and 0 means that the footer does not show the action.
        tags: other words by which people look for the action.
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
    tags: tuple[str, ...] = ()

    @property
    def acts(self) -> bool:
        """Whether the action can change the cluster."""
        return self.build is not None or self.ask is not None

    def refuse(self, context: ActionContext) -> str | None:
        """Return the reason why the action is impossible now, or None."""
        if context.read_only and self.acts:
            return READ_ONLY
        return self.check(context)

    def words(self, context: ActionContext) -> str:
        """Return the sentence for the help screen. If the action is currently possible, the sentence also describes its effect."""
        if self.effect is None or self.refuse(context) is not None:
            return self.help
        return f"{self.help} Now: {self.effect(context)}"

    @property
    def key(self) -> str:
        """The display name of the first key."""
        return self.shown or SHOWN.get(self.keys[0], self.keys[0])

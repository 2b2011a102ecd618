"""The hints in the footer. The hints show the most useful actions for the focused panel, each with a short label."""

from __future__ import annotations

from typing import Final

import attrs

from core.kafka.broker.broker_state import BrokerState
from core.lab.spec import Pace
from core.sim.repr_mixin import ReprMixin
from tui.actions.action import Action
from tui.actions.all_actions import ACTIONS, BY_ID
from tui.actions.context import ActionContext

_SHORTER: Final = {"step-notable": "notable", "unclean": "unclean", "cut": "cut"}
_BY_HAND: Final = ("by-hand-round", "produce", "by-hand-step", "undo", "by-hand")
_FOOTER: Final = tuple(sorted((a for a in ACTIONS if a.footer and a.id not in ("help", "quit")), key=lambda a: a.footer))


@attrs.frozen(repr=False)
class Hint(ReprMixin):
    """A key in the footer, with the label of its action."""

    action: str
    key: str
    label: str
    possible: bool


def hints(context: ActionContext, *, moving: bool) -> tuple[Hint, ...]:
    """Return the hints for this moment, the most useful first.

    Args:
        context: the state of the session.
        moving: whether something can change in the next frames.
    """
    wanted = list(_FOOTER)
    if context.focus == "events":
        wanted.sort(key=lambda a: a.id not in ("play", "step", "step-notable", "filter", "cause", "follow", "zoom"))
    elif context.page:
        wanted.insert(0, BY_ID["back"])
        wanted.sort(key=lambda a: a.id not in ("back", "play", "step", "step-notable", "cause"))
        if context.page == "explore":  # where their keys mean something else
            wanted = [a for a in wanted if a.id not in ("start", "elect-preferred")]
    by_hand = context.pace is Pace.BY_HAND
    chosen = [a for a in wanted if by_hand or a.id not in ("by-hand-round", "by-hand-step")]
    if by_hand:
        first = [*_BY_HAND, "step", "step-back"] if not context.built_by_hand else ["play", "step", *_BY_HAND]
        chosen.sort(key=lambda a: first.index(a.id) if a.id in first else len(first))
    found = [_hint(a, context, moving) for a in (*chosen, BY_ID["help"], BY_ID["quit"])]
    return tuple(hint for hint in found if hint is not None)


def _hint(action: Action, context: ActionContext, moving: bool) -> Hint | None:
    """Return the hint for an action. The two speed keys share the hint of `faster`, so `slower` has none."""
    possible = action.refuse(context) is None
    if action.id == "slower":
        return None
    label = action.label
    if action.id == "play":
        label = "pause" if moving else "play"
    elif action.id == "freeze":
        label = "thaw" if context.broker is not None and context.broker.state is BrokerState.PAUSED else "freeze"
    elif action.id == "faster":
        return Hint(action.id, context.key("faster") + context.key("slower"), "speed", True)
    elif action.id in _SHORTER:
        label = _SHORTER[action.id]
    return Hint(action.id, context.key(action.id), label, possible)

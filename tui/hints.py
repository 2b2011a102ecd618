"""The footer's hints: the actions that matter most where the keys are, each with what it would do now in one word."""

from __future__ import annotations

from typing import Final

from core.kafka.broker.broker_state import BrokerState
from core.lab.spec import Pace
from tui.action import Action
from tui.actions import ACTIONS, BY_ID
from tui.panels.footer import Hint
from tui.situation import Situation

_SHORTER: Final = {"step-notable": "notable", "unclean": "unclean", "cut": "cut"}
_BY_HAND: Final = ("by-hand-round", "produce", "by-hand-step", "undo", "by-hand")
_FOOTER: Final = tuple(sorted((a for a in ACTIONS if a.footer and a.id not in ("help", "quit")), key=lambda a: a.footer))


def hints(situation: Situation, *, moving: bool) -> tuple[Hint, ...]:
    """The hints for a situation, the most useful first; `moving`: whether frames change anything now."""
    wanted = list(_FOOTER)
    if situation.focus == "events":
        wanted.sort(key=lambda a: a.id not in ("play", "step", "step-notable", "filter", "cause", "follow", "zoom"))
    elif situation.page:
        wanted.insert(0, BY_ID["back"])
        wanted.sort(key=lambda a: a.id not in ("back", "play", "step", "step-notable", "cause"))
    by_hand = situation.pace is Pace.BY_HAND
    chosen = [a for a in wanted if by_hand or a.id not in ("by-hand-round", "by-hand-step")]
    if by_hand:
        first = [*_BY_HAND, "step", "step-back"] if not situation.built_by_hand else ["play", "step", *_BY_HAND]
        chosen.sort(key=lambda a: first.index(a.id) if a.id in first else len(first))
    found = [_hint(a, situation, moving) for a in (*chosen, BY_ID["help"], BY_ID["quit"])]
    return tuple(hint for hint in found if hint is not None)


def _hint(action: Action, situation: Situation, moving: bool) -> Hint | None:
    """What an action would do now in one word; the two speed keys are one."""
    possible = action.refuse(situation) is None
    if action.id == "slower":
        return None
    label = action.label
    if action.id == "play":
        label = "pause" if moving else "play"
    elif action.id == "freeze":
        label = "thaw" if situation.broker is not None and situation.broker.state is BrokerState.PAUSED else "freeze"
    elif action.id == "faster":
        return Hint(action.id, situation.key("faster") + situation.key("slower"), "speed", True)
    elif action.id in _SHORTER:
        label = _SHORTER[action.id]
    return Hint(action.id, situation.key(action.id), label, possible)

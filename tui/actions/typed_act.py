"""The prompt for an act in script notation. The prompt makes every act of the script language available in the playground."""

from __future__ import annotations

from typing import Final

from core.lab.acts import ACTS, Act
from scenarios.errors import ScriptError, did_you_mean
from tui.actions.context import ActionContext, TextPrompt

ABOUT: Final = (
    "Enter an act as a script writes it, for example `kill: 2`, `begin-transaction: {producer: app}`, or "
    "`load: {topic: orders, rate: 100, config: {linger.ms: 20}}`. The script reference, scenarios/SCRIPTS.md, lists all acts."
)


def read_act(text: str) -> tuple[Act, ...]:
    """Read an act in the notation of scripts.

    Raises:
        ValueError: the text is not an act. The error message says what is wrong with the text, and what would be valid.
    """
    # The script language is loaded when somebody types an act, so that the first frame of the playground comes sooner.
    from scenarios.language.acts import read_acts
    from scenarios.language.nodes import parse

    word, colon, _ = text.partition(":")
    if not colon:
        word, _, value = text.partition(" ")
        text = f"{word}: {value}"
    word = word.strip()
    if word not in ACTS:
        raise ValueError(f"there is no act '{word[:40]}'; {did_you_mean(word, ACTS, 'the script reference lists all acts')}")
    try:
        fields = parse(text, "act")
        others = [other for other in fields.values if other != word]
        if others:
            raise ValueError(f"the line has a second act, '{others[0][:40]}'; enter one act at a time")
        return read_acts(word, fields.values[word])
    except ScriptError as wrong:
        first = wrong.field.removeprefix(f"{word}.") if wrong.field and wrong.field != word else ""
        subject, remedy = f"{first}: " if first else "", f"; {wrong.remedy}" if wrong.remedy else ""
        raise ValueError(f"{subject}{wrong.problem}{remedy}") from None


def typed_act(context: ActionContext) -> TextPrompt:
    """Ask for an act. The first proposal is a burst of records to the topic of the selected partition."""
    topic = "orders" if context.partition is None else context.partition.tp.topic
    return TextPrompt("act", "Act", ABOUT, f"produce: {{topic: {topic}, records: 10}}", read_act)

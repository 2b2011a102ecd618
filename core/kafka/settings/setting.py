"""A setting: its name, type, bounds, default, scope, and releases, and the functions that parse its values."""

from __future__ import annotations

import re
from functools import lru_cache
from typing import Final

import attrs

from core.kafka.release import Release
from core.kafka.settings.throttled_replicas import parse_throttled_replicas
from core.sim.repr_mixin import ReprMixin

MAX_LONG: Final = 2**63 - 1
"""Kafka's `Long.MAX_VALUE`, which is the upper bound of its long settings."""

MAX_INT: Final = 2**31 - 1
"""Kafka's `Integer.MAX_VALUE`, which is the upper bound of its int settings."""

Value = int | bool | float | str
"""The value of a setting: an int in the unit that the setting's name gives (ms, bytes), a bool, a ratio, or a list in Kafka's notation."""

LONGEST_MS: Final = 3_650 * 86_400_000
"""The longest time that the laboratory's clock can measure, which is ten years."""


def whole_number(text: str) -> int | None:
    """Parse a whole number in decimal digits. Return None if the text is not a whole number. Digits after the first 300 are ignored."""
    negative = text[:1] == "-"
    digits = text[1:] if negative else text
    if not (digits.isascii() and digits.isdecimal()):
        return None
    value = int((digits.lstrip("0") or "0")[:300])
    return -value if negative else value


def number_within(name: str, text: str, least: int, most: int) -> int:
    """Parse the value of a numeric setting.

    Raises:
        ValueError: the text is not a number, or the number is out of bounds.
    """
    digits = text.strip().replace("_", "")
    value = whole_number(digits)
    if value is None:
        raise ValueError(f"{name} takes a whole number, not '{text[:80]}'")
    if not least <= value <= most:
        raise ValueError(f"{name} takes a number from {least} to {most}, not {digits[:40]}")
    return value


@attrs.frozen(repr=False)
class Setting(ReprMixin):
    """A Kafka setting.

    Attributes:
        name: Kafka's name for the setting.
        type: `int`, `long`, `double` (a ratio from 0 to 1), `boolean`, `class`, `list`, or `word`.
        default: the default in the newest release.
        scope: the level at which the setting can be set, in addition to the whole cluster: `broker`, `topic`, or `controller`. A list of
            replicas can be set only for a topic.
        dynamic: whether Kafka accepts a change at run time.
        meaning: a description for the settings screen.
        least: the lowest allowed value of a number.
        most: the highest allowed value of a number.
        older_defaults: `(release, default)` pairs. Each default applies to the release in its pair and to earlier releases.
        of_topic: for a broker setting, the topic setting that overrides it. The broker setting and the topic setting have the same type,
            default, and bounds.
        synonym: for a topic setting, the broker setting that applies if the topic has no override.
        classes: for a `class` setting, the names that it accepts besides the empty name. A value can omit the package of the class.
        words: for a `list` setting, the words that it accepts. A `list` setting that has no words takes a list of replicas
            (`throttled_partitions`).
        since: the first release that has the setting; empty if the oldest known release has it.
        until: the last release that has the setting; empty if the newest release has it.
    """

    name: str
    type: str
    default: Value
    scope: str
    dynamic: bool
    meaning: str
    least: int = 0
    most: int = MAX_INT
    older_defaults: tuple[tuple[str, Value], ...] = ()
    of_topic: str = ""
    synonym: str = ""
    classes: tuple[str, ...] = ()
    words: tuple[str, ...] = ()
    since: str = ""
    until: str = ""

    def exists_in(self, release: Release) -> bool:
        """Return whether a release has the setting."""
        if self.since and release.order < _order(self.since):
            return False
        return not self.until or release.order <= _order(self.until)

    def default_in(self, release: Release) -> Value:
        """Return the setting's default in a release."""
        for upto, value in self.older_defaults:
            if release.order <= _order(upto):
                return value
        return self.default

    def parse(self, raw: object) -> Value:
        """Parse a value of the setting.

        Raises:
            ValueError: the value does not have the type of the setting or is out of bounds.
        """
        if self.type == "list":
            return self._words(str(raw)) if self.words else parse_throttled_replicas(self.name, str(raw))
        if self.type == "double":
            return self._ratio(str(raw))
        if self.type == "class":
            return self._class(str(raw).strip())
        if self.type == "word":
            return self._word(str(raw).strip().lower())
        if self.type == "boolean":
            text = str(raw).strip().lower()
            if text in ("true", "false"):
                return text == "true"
            raise ValueError(f"{self.name} takes true or false, not '{raw}'")
        return number_within(self.name, str(raw), self.least, self.most)

    def _word(self, text: str) -> str:
        """Return the allowed word that matches a lowercase text, in the word's own case (`ConfigDef.ValidString`)."""
        for word in self.words:
            if word.lower() == text:
                return word
        raise ValueError(f"{self.name} takes {', '.join(self.words[:-1])}, or {self.words[-1]}, not '{text[:80]}'")

    def _words(self, text: str) -> str:
        """Check a list of words, and return it without spaces (`ConfigDef.ValidList`)."""
        given = [word.strip() for word in text.split(",")]
        if not given or any(word not in self.words for word in given) or len(set(given)) < len(given):
            raise ValueError(f"{self.name} takes {', '.join(self.words)}, or several of them separated by commas, not '{text[:80]}'")
        return ",".join(given)

    def _ratio(self, text: str) -> float:
        """Parse a number from 0 to 1, and return it."""
        if not re.fullmatch(r"[0-9]{0,9}\.?[0-9]{1,18}", text.strip()) or not float(text) <= 1:
            raise ValueError(f"{self.name} takes a number from 0 to 1, not '{text[:80]}'")
        return float(text)

    def _class(self, text: str) -> str:
        """Return the full name of a class. An empty name is returned unchanged."""
        names = {name: name for name in ("", *self.classes)} | {name.rpartition(".")[2]: name for name in self.classes}
        if text not in names:
            raise ValueError(
                f"{self.name} takes {' or '.join(name.rpartition('.')[2] for name in self.classes)}, not '{text}'; '' means none"
            )
        return names[text]

    def scope_error(self, *, broker: bool, topic: bool) -> str:
        """Return the reason why the setting cannot be set for a broker (`broker`), for a topic (`topic`), or for the whole cluster
        (neither). If the setting can be set in this scope, return an empty string.
        """
        if topic and self.scope != "topic":
            return f"{self.name} is not a topic setting; set it for a broker or for the whole cluster"
        if broker and self.scope == "controller":
            return f"{self.name} is a setting of the controller; set it for the whole cluster"
        if self.type == "list" and not self.words and not topic:
            return f"{self.name} is only a topic setting; set it for a topic"
        return ""


@lru_cache
def _order(release: str) -> int:
    """Return the position of a release in the order of releases. The result is cached, because looking up releases by name takes time."""
    return Release.named(release).order

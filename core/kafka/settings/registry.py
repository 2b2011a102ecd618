"""All settings that the laboratory models, by Kafka's names."""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Iterator, Mapping
from typing import Final

import attrs

from core.kafka.settings.coordinator_settings import COORDINATOR_SETTINGS
from core.kafka.settings.log_settings import LOG_SETTINGS
from core.kafka.settings.not_modeled import NOT_MODELED, TOPIC_NOT_MODELED, not_modeled
from core.kafka.settings.replication_settings import REPLICATION_SETTINGS
from core.kafka.settings.setting import Setting


def _with_those_of_topics(settings: Iterable[Setting]) -> Iterator[Setting]:
    """Yield each setting, followed by the topic setting that overrides it."""
    for each in settings:
        yield each
        if each.of_topic:
            yield attrs.evolve(
                each,
                name=each.of_topic,
                scope="topic",
                meaning=f"Overrides {each.name} for a single topic.",
                of_topic="",
                synonym=each.name,
            )


SETTINGS: Final[Mapping[str, Setting]] = {
    setting.name: setting for setting in _with_those_of_topics((*REPLICATION_SETTINGS, *LOG_SETTINGS, *COORDINATOR_SETTINGS))
}
"""All known settings, by Kafka's names."""

_HOUR: Final = 3_600_000

COARSER: Final[Mapping[str, tuple[str, int]]] = {
    "log.retention.minutes": ("log.retention.ms", 60_000),
    "log.retention.hours": ("log.retention.ms", _HOUR),
    "log.roll.hours": ("log.roll.ms", _HOUR),
}
"""Settings in hours or minutes, each with the setting in milliseconds that it stands for, and the factor between them."""

NAMES_OF: Final[Mapping[str, tuple[str, ...]]] = {
    "log.retention.ms": ("log.retention.ms", "log.retention.minutes", "log.retention.hours"),
    "log.roll.ms": ("log.roll.ms", "log.roll.hours"),
}
"""For each setting in milliseconds, the names under which it can be given. A name takes precedence over the names that follow it
(`KafkaConfig#getLogRetentionTimeMillis`, `#getLogRollTimeMillis`).
"""

TOPIC_SETTINGS: Final = frozenset(setting.name for setting in SETTINGS.values() if setting.scope == "topic")
"""The names of settings that a topic can override."""


def setting_named(name: str) -> Setting:
    """Return a setting by name.

    Raises:
        ValueError: no setting has the given name. The error message suggests a similar name, if there is one.
    """
    found = SETTINGS.get(name)
    if found is None:
        if name in NOT_MODELED or name in TOPIC_NOT_MODELED:
            raise ValueError(not_modeled(name))
        if name in COARSER:
            raise ValueError(f"{name} cannot be changed; set {COARSER[name][0]}")
        near = difflib.get_close_matches(name, SETTINGS, n=1, cutoff=0.5)
        raise ValueError(f"unknown setting '{name}'" + (f"; did you mean '{near[0]}'?" if near else ""))
    return found

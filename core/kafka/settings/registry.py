"""All settings that the laboratory models, by Kafka's names."""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Iterator, Mapping
from typing import Final

import attrs

from core.kafka.settings.coordinator_settings import COORDINATOR_SETTINGS
from core.kafka.settings.log_settings import LOG_SETTINGS
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

TOPIC_SETTINGS: Final = frozenset(setting.name for setting in SETTINGS.values() if setting.scope == "topic")
"""The names of settings that a topic can override."""


def setting_named(name: str) -> Setting:
    """Return a setting by name.

    Raises:
        ValueError: no setting has the given name. The error message suggests a similar name, if there is one.
    """
    found = SETTINGS.get(name)
    if found is None:
        near = difflib.get_close_matches(name, SETTINGS, n=1, cutoff=0.5)
        raise ValueError(f"unknown setting '{name}'" + (f"; did you mean '{near[0]}'?" if near else ""))
    return found

"""Finds the settings of a scenario that have no effect: Kafka has them but the laboratory doesn't model them, the release lacks
them, or they need a group and the consumer is in none.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from core.kafka.clients.client_settings import CLIENT_SETTINGS, OF_MEMBERS
from core.kafka.release import Release
from core.kafka.settings.registry import SETTINGS
from core.lab.acts import Consume, CreateTopic, Set
from scenarios.language.script import Scenario


def warnings(scenario: Scenario, releases: Sequence[Release]) -> tuple[str, ...]:
    """Return a line for each setting of a scenario that has no effect in any of the given releases."""
    names = " and ".join(release.name for release in releases)
    found = list(scenario.warnings)
    for name in dict.fromkeys(_names(scenario)):
        setting = SETTINGS.get(name)
        client = CLIENT_SETTINGS.get(name)
        if setting is not None and any(setting.exists_in(release) for release in releases):
            continue
        if client is not None and any(client.is_in(release) for release in releases):
            continue
        if setting is not None or client is not None:
            found.append(f"{scenario.source}: {name} has no effect, because Kafka {names} does not have this setting")
    found += [
        f"{scenario.source}: {name} has no effect on the consumer {consumer}, because it is in no group; 'join-group' starts a member of a group"
        for consumer, name in dict.fromkeys(_settings_without_group(scenario))
    ]
    return tuple(found)


def _settings_without_group(scenario: Scenario) -> Iterator[tuple[str, str]]:
    """Yield the consumers without a group, each with a setting of members of groups that it is given."""
    for step in scenario.steps:
        for act in step.acts:
            if isinstance(act, Consume):
                yield from ((act.consumer, name) for name, _ in act.config if name in OF_MEMBERS)


def _names(scenario: Scenario) -> Iterator[str]:
    """Yield the names of the settings that a scenario gives."""
    spec = scenario.spec
    for settings in (spec.settings, *(broker.settings for broker in spec.brokers)):
        yield from (name for name, _ in settings)
    for config in (spec.clients, *(topic.config for topic in spec.topics)):
        yield from (name for name, _ in config)
    for step in scenario.steps:
        for act in step.acts:
            if isinstance(act, Set):
                yield act.name
            elif isinstance(act, CreateTopic) or hasattr(act, "config"):
                yield from (name for name, _ in act.config)

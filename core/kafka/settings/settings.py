"""The effective values of settings.

A `Settings` object looks up a value in the same order as Kafka: the topic's override, the broker's own value, the cluster-wide value, and
finally the default of the release. A `Settings` object refuses unknown names and values that are out of range.
"""

from __future__ import annotations

from typing import Final

from core.kafka.release import Release
from core.kafka.settings.registry import SETTINGS, setting_named
from core.kafka.settings.setting import Value
from core.kafka.settings.throttled_replicas import throttled_partitions
from core.sim.clock import RIGHT


class Settings:
    """The effective values of settings: release defaults, cluster-wide values, values for single brokers, and topic overrides.

    Attributes:
        release: the rules of the simulated Kafka release.
        clock: the clock that measures the durations in the settings.
    """

    __slots__ = ("_broker", "_cluster", "_topic", "clock", "release")

    release: Final[Release]
    _cluster: Final[dict[str, Value]]
    _broker: Final[dict[int, dict[str, Value]]]
    _topic: Final[dict[str, dict[str, Value]]]

    def __init__(self, release: Release) -> None:
        self.release = release
        self.clock = RIGHT
        self._cluster = {}
        self._broker = {}
        self._topic = {}

    def set(self, name: str, raw: object, *, broker: int | None = None, topic: str | None = None) -> tuple[Value, Value]:
        """Set a value for the whole cluster, a broker, or a topic. Return the former effective value and the new value.

        Raises:
            ValueError: the name, type, value, or scope is wrong.
        """
        setting = setting_named(name)
        value = setting.parse(raw)
        misplaced = setting.scope_error(broker=broker is not None, topic=topic is not None)
        if misplaced:
            raise ValueError(misplaced)
        if setting.synonym and topic is None:
            setting = SETTINGS[setting.synonym]
            name = setting.name
        old = self.get(name, broker=broker, topic=topic)
        if topic is not None:
            self._topic.setdefault(topic, {})[name] = value
        elif broker is not None:
            self._broker.setdefault(broker, {})[name] = value
        else:
            self._cluster[name] = value
        return old, value

    def remove_topic(self, topic: str) -> None:
        """Drop the settings of a topic, because the topic was deleted (`ConfigurationControlManager#deleteTopicConfigs`)."""
        self._topic.pop(topic, None)

    def get(self, name: str, *, broker: int | None = None, topic: str | None = None) -> Value:
        """Return the effective value for a broker, for a topic, for a topic on a broker, or for the whole cluster."""
        if topic is not None:
            override = self._topic.get(topic)
            if override is not None and name in override:
                return override[name]
        name = SETTINGS[name].synonym or name
        if broker is not None:
            own = self._broker.get(broker)
            if own is not None and name in own:
                return own[name]
        if name in self._cluster:
            return self._cluster[name]
        return SETTINGS[name].default_in(self.release)

    def origin(self, name: str, *, broker: int | None = None, topic: str | None = None) -> str:
        """Return the level at which the effective value is set: `topic`, `broker`, `cluster`, or `default`."""
        if topic is not None and name in self._topic.get(topic, {}):
            return "topic"
        name = SETTINGS[name].synonym or name
        if broker is not None and name in self._broker.get(broker, {}):
            return "broker"
        return "cluster" if name in self._cluster else "default"

    def integer(self, name: str, *, broker: int | None = None, topic: str | None = None) -> int:
        """Return the value of a numeric setting. See `get`."""
        return int(self.get(name, broker=broker, topic=topic))

    def ratio(self, name: str, *, broker: int | None = None, topic: str | None = None) -> float:
        """Return the value of a setting that is a ratio. See `get`."""
        return float(self.get(name, broker=broker, topic=topic))

    def topic_lists(self, name: str, broker: int) -> dict[str, frozenset[int]]:
        """For each topic that has its own list, return the partitions that the list contains for a broker (`throttled_partitions`)."""
        return {topic: throttled_partitions(str(own[name]), broker) for topic, own in self._topic.items() if name in own}

    def flag(self, name: str, *, broker: int | None = None, topic: str | None = None) -> bool:
        """Return the value of a boolean setting. See `get`."""
        return bool(self.get(name, broker=broker, topic=topic))

    def us(self, name: str, *, broker: int | None = None) -> int:
        """Return the value of a setting in milliseconds, converted to µs of virtual time. If the clock of these settings runs too fast or
        too slow, the result is the true length of the duration that this clock measures."""
        duration = self.integer(name, broker=broker) * 1_000
        return duration if self.clock.drift_ppm == 0 else self.clock.true_duration(duration)


def render_value(value: Value) -> str:
    """Return a value in the form in which Kafka prints it, for example `true`, `2`, or `0:1,0:2`."""
    return ("true" if value else "false") if isinstance(value, bool) else str(value)

"""Events about acts, settings, features, and clocks."""

from __future__ import annotations

from core.kafka.events.base import EVERYTHING, NOTABLE, NOTHING, Event
from core.sim.units import format_clock, format_duration


class Acted(Event, kind="act", level=NOTABLE, changes=EVERYTHING):
    """A person or a script applied an act to the cluster. `args` are the fields of the act as JSON."""

    act: str
    args: str

    def sentence(self) -> str:
        return f"You: {self.act} {self.args}" if self.args != "{}" else f"You: {self.act}"


class ClusterObserved(Event, kind="cluster-observed", source="isrlab watch", changes=NOTHING):
    """A running cluster was read, and something was new. The events that have this event as their cause were seen in its metadata, not simulated:
    each happened after `since_us`, when the cluster was read before, and at the latest at the time of this event.
    """

    since_us: int

    def sentence(self) -> str:
        return f"the cluster was read; what follows happened after {format_clock(self.since_us)}"


class SettingChanged(Event, kind="setting-changed", source="DynamicBrokerConfig, KIP-226", level=NOTABLE, changes=EVERYTHING):
    """A new value of a setting took effect. `subject` is the broker or topic, or empty if the setting applies to the whole cluster."""

    name: str
    subject: str
    old: str
    new: str

    def sentence(self) -> str:
        where = f" for {self.subject}" if self.subject else ""
        return (
            f"{self.name} is now {self.new}{where} (it was {self.old})" if self.old != self.new else f"{self.name} stays {self.new}{where}"
        )


class FeatureLevelChanged(Event, kind="feature-level-changed", source="FeatureControlManager, KIP-584", level=NOTABLE, changes=EVERYTHING):
    """An administrator changed the finalized level of a feature. Clients learn about the new feature level when they next connect to a
    broker."""

    feature: str
    old_level: int
    new_level: int

    def sentence(self) -> str:
        if self.old_level == self.new_level:
            return f"the level of {self.feature} stays at {self.new_level}"
        return f"the level of {self.feature} is now {self.new_level} (it was {self.old_level}); clients learn about the new level when they next connect to a broker"


class ClockSet(Event, kind="clock-set", source="Time#milliseconds", level=NOTABLE, changes=EVERYTHING):
    """The clock of a node became wrong or was corrected."""

    node: str
    skew_us: int
    drift_ppm: int

    def sentence(self) -> str:
        if not self.skew_us and not self.drift_ppm:
            return f"the clock of {self.node} is correct"
        skew = f" is {format_duration(abs(self.skew_us))} {'ahead' if self.skew_us > 0 else 'behind'}" if self.skew_us else ""
        drift = (
            f" runs {abs(self.drift_ppm) / 10_000:g}% too {'fast' if self.drift_ppm > 0 else 'slow'} from now on" if self.drift_ppm else ""
        )
        return f"the clock of {self.node}{skew}{' and' if skew and drift else ''}{drift}"

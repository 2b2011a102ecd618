"""What people did: acts and settings."""

from __future__ import annotations

from typing import ClassVar

from core.journal.events.base import NOTABLE, Event


class Acted(Event):
    """Somebody did something; `args` are the act's fields as JSON."""

    kind: ClassVar[str] = "act"
    level: ClassVar[int] = NOTABLE
    act: str
    args: str

    def sentence(self) -> str:
        return f"You: {self.act} {self.args}" if self.args != "{}" else f"You: {self.act}"


class SettingChanged(Event):
    """A setting has a new value in force; `subject` is the broker or topic, empty for the whole cluster."""

    kind: ClassVar[str] = "setting-changed"
    level: ClassVar[int] = NOTABLE
    source: ClassVar[str] = "DynamicBrokerConfig, KIP-226"
    name: str
    subject: str
    old: str
    new: str

    def sentence(self) -> str:
        where = f" for {self.subject}" if self.subject else ""
        return f"{self.name} is now {self.new}{where} (it was {self.old})"

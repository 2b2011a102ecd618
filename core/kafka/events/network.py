"""Events of links between nodes."""

from __future__ import annotations

from typing import ClassVar

from core.kafka.events.base import NOTABLE, Event
from core.sim.units import format_duration


class LinkCut(Event):
    """Messages from `src` to `dst` are dropped from now on."""

    kind: ClassVar[str] = "link-cut"
    level: ClassVar[int] = NOTABLE
    source: ClassVar[str] = "NetworkClient#handleTimedOutRequests"
    src: str
    dst: str

    def sentence(self) -> str:
        return f"the link {self.src} → {self.dst} is cut"


class LinkHealed(Event):
    """Messages from `src` to `dst` arrive again."""

    kind: ClassVar[str] = "link-healed"
    level: ClassVar[int] = NOTABLE
    source: ClassVar[str] = "NetworkClient#ready"
    src: str
    dst: str

    def sentence(self) -> str:
        return f"the link {self.src} → {self.dst} works again"


class LinkChanged(Event):
    """A link's quality changed."""

    kind: ClassVar[str] = "link-changed"
    level: ClassVar[int] = NOTABLE
    source: ClassVar[str] = "Selector#poll"
    src: str
    dst: str
    latency_us: int
    jitter_us: int
    loss_ppm: int

    def sentence(self) -> str:
        return (
            f"the link {self.src} → {self.dst} now takes {format_duration(self.latency_us)}"
            + (f" ± {format_duration(self.jitter_us)}" if self.jitter_us else "")
            + (f" and loses {self.loss_ppm / 10_000:g} % of messages" if self.loss_ppm else "")
        )


class LinkProxied(Event):
    """What a proxy on a client's link does to requests changed."""

    kind: ClassVar[str] = "link-proxied"
    level: ClassVar[int] = NOTABLE
    source: ClassVar[str] = "NetworkClient#correlate"
    src: str
    dst: str
    duplicate_ppm: int
    reorder_ppm: int

    def sentence(self) -> str:
        return (
            f"a proxy on the link {self.src} → {self.dst} delivers {self.duplicate_ppm / 10_000:g} % of requests twice, and lets later ones "
            f"overtake {self.reorder_ppm / 10_000:g} %"
        )


class LinkHeld(Event):
    """Messages from `src` to `dst` are held back."""

    kind: ClassVar[str] = "link-held"
    level: ClassVar[int] = NOTABLE
    source: ClassVar[str] = "NetworkClient#handleTimedOutRequests"
    src: str
    dst: str

    def sentence(self) -> str:
        return f"messages {self.src} → {self.dst} are held back"


class LinkReleased(Event):
    """Held messages are delivered."""

    kind: ClassVar[str] = "link-released"
    level: ClassVar[int] = NOTABLE
    source: ClassVar[str] = "Selector#poll"
    src: str
    dst: str
    messages: int

    def sentence(self) -> str:
        return f"{self.messages} held messages {self.src} → {self.dst} are let go"

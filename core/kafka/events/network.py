"""Events about links between nodes."""

from __future__ import annotations

from core.kafka.events.base import LINK, NOTABLE, NOTHING, Event
from core.sim.units import format_duration


class LinkCut(Event, kind="link-cut", source="NetworkClient#handleTimedOutRequests", level=NOTABLE, changes=LINK):
    """The link from `src` to `dst` was cut. From now on, messages on this link wait until the link is repaired."""

    src: str
    dst: str

    template = "the link {src} → {dst} is cut"


class LinkHealed(Event, kind="link-healed", source="NetworkClient#ready", level=NOTABLE, changes=LINK):
    """The link from `src` to `dst` was repaired, so messages arrive again."""

    src: str
    dst: str

    template = "the link {src} → {dst} works again"


class LinkChanged(Event, kind="link-changed", source="Selector#poll", level=NOTABLE, changes=NOTHING):
    """A link's quality changed."""

    src: str
    dst: str
    latency_us: int
    jitter_us: int
    loss_ppm: int

    def sentence(self) -> str:
        return (
            f"the link {self.src} → {self.dst} now has a latency of {format_duration(self.latency_us)}"
            + (f" plus up to {format_duration(self.jitter_us)} of jitter" if self.jitter_us else "")
            + (f" and loses {self.loss_ppm / 10_000:g}% of messages" if self.loss_ppm else "")
        )


class LinkProxied(Event, kind="link-proxied", source="NetworkClient#correlate", level=NOTABLE, changes=NOTHING):
    """A proxy on a client's link now repeats or reorders a different share of requests."""

    src: str
    dst: str
    duplicate_ppm: int
    reorder_ppm: int

    def sentence(self) -> str:
        if not self.duplicate_ppm and not self.reorder_ppm:
            return f"no proxy repeats or reorders requests on the link {self.src} → {self.dst}"
        shares = []
        if self.duplicate_ppm:
            shares.append(f"{self.duplicate_ppm / 10_000:g}% of requests twice")
        if self.reorder_ppm:
            shares.append(f"{self.reorder_ppm / 10_000:g}% of requests out of order")
        return f"a proxy on the link {self.src} → {self.dst} delivers {' and '.join(shares)}"


class LinkHeld(Event, kind="link-held", source="NetworkClient#handleTimedOutRequests", level=NOTABLE, changes=NOTHING):
    """From now on, messages from `src` to `dst` are held back."""

    src: str
    dst: str

    template = "messages from {src} to {dst} are held back"


class LinkReleased(Event, kind="link-released", source="Selector#poll", level=NOTABLE, changes=NOTHING):
    """Messages that had been held back were released."""

    src: str
    dst: str
    messages: int

    def sentence(self) -> str:
        many = "1 held message" if self.messages == 1 else f"{self.messages:,} held messages"
        return f"{many} from {self.src} to {self.dst} {'is' if self.messages == 1 else 'are'} released"

"""The acts that apply to all models.

Each act is a frozen class with a word that names it. A model refuses an act that does not apply to it, and gives the reason.
"""

from __future__ import annotations

from typing import ClassVar, Final

import attrs

from core.sim.units import format_duration


@attrs.frozen
class Act:
    """The base class of all acts."""

    word: ClassVar[str] = ""

    def text(self) -> str:
        """Return the act in words."""
        raise NotImplementedError


@attrs.frozen
class Kill(Act):
    """Kill a server's process. The server's files survive."""

    word = "kill"
    server: str

    def text(self) -> str:
        return f"kill the process of {self.server}"


@attrs.frozen
class Shutdown(Act):
    """Shut a server's process down cleanly. MySQL and Kafka have this act."""

    word = "shutdown"
    server: str

    def text(self) -> str:
        return f"shut {self.server} down"


@attrs.frozen
class KillConnection(Act):
    """End a client's connection to a server at the server, as KILL does in MySQL. Kafka does not have this act.

    Attributes:
        client: the client, whose outstanding requests to the server end without an answer.
        server: the server; empty for the one that the client sends writes to.
    """

    word = "kill-connection"
    client: str
    server: str = ""

    def text(self) -> str:
        return f"kill the connection of {self.client}" + (f" to {self.server}" if self.server else "")


@attrs.frozen
class Restart(Act):
    """Start the process of a dead server."""

    word = "restart"
    server: str

    def text(self) -> str:
        return f"start {self.server} again"


@attrs.frozen
class Pause(Act):
    """Pause a server's process, as SIGSTOP or a long garbage collection would."""

    word = "pause"
    server: str

    def text(self) -> str:
        return f"pause the process of {self.server}"


@attrs.frozen
class Resume(Act):
    """Resume a paused process."""

    word = "resume"
    server: str

    def text(self) -> str:
        return f"resume the process of {self.server}"


@attrs.frozen
class Cut(Act):
    """Cut the link between two nodes in both directions.

    Attributes:
        closes: whether both ends of each cut link notice that their connections are closed. If the ends don't notice, messages are lost
            without any notification until the link heals.
    """

    word = "cut"
    a: str
    b: str
    closes: bool = False

    def text(self) -> str:
        return f"cut the link between {self.a} and {self.b}" + (" and close its connections" if self.closes else "")


@attrs.frozen
class Heal(Act):
    """Heal the link between two nodes."""

    word = "heal"
    a: str
    b: str

    def text(self) -> str:
        return f"heal the link between {self.a} and {self.b}"


@attrs.frozen
class Hold(Act):
    """Hold back every message from one node to another, in this direction only. The connection stays open, and the messages stay in order.

    Attributes:
        a, b: the sender and the receiver.
    """

    word = "hold"
    a: str
    b: str

    def text(self) -> str:
        return f"hold the messages from {self.a} to {self.b}"


@attrs.frozen
class Release(Act):
    """Deliver the messages from one node to another that are held back.

    Attributes:
        a, b: the sender and the receiver.
    """

    word = "release"
    a: str
    b: str

    def text(self) -> str:
        return f"release the messages from {self.a} to {self.b}"


@attrs.frozen
class Isolate(Act):
    """Cut a server and some clients off from all other nodes.

    Attributes:
        clients: the clients that are cut off together with the server.
        closes: whether both ends of each cut link notice that their connections are closed (see `Cut`).
    """

    word = "isolate"
    server: str
    clients: tuple[str, ...] = ()
    closes: bool = False

    def text(self) -> str:
        company = f" together with {', '.join(self.clients)}" if self.clients else ""
        return f"cut {self.server} off{company}" + (" and close its connections" if self.closes else "")


@attrs.frozen
class HealAll(Act):
    """Heal all links."""

    word = "heal-all"

    def text(self) -> str:
        return "heal all links"


@attrs.frozen
class PowerLoss(Act):
    """Cut the power of several machines at the same moment."""

    word = "power-loss"
    servers: tuple[str, ...]

    def text(self) -> str:
        return f"cut the power of {', '.join(self.servers)}"


@attrs.frozen
class SlowLink(Act):
    """Set the latency of the link between two nodes."""

    word = "slow-link"
    a: str
    b: str
    latency: int

    def text(self) -> str:
        return f"set the latency between {self.a} and {self.b} to {format_duration(self.latency)}"


@attrs.frozen
class SlowDisk(Act):
    """Set how long a write to a server's own log takes."""

    word = "slow-disk"
    server: str
    write_time: int

    def text(self) -> str:
        return f"let a write to the log of {self.server} take {format_duration(self.write_time)}"


@attrs.frozen
class Promote(Act):
    """Promote a server, as an operator would. After its promotion, the server accepts writes.

    Attributes:
        server: the server; empty for the model's best choice.
        accept_data_loss: whether the operator accepts the loss of acknowledged writes.
    """

    word = "promote"
    server: str = ""
    accept_data_loss: bool = False

    def text(self) -> str:
        return f"promote {self.server or 'the best copy'}" + (" and accept the loss of data" if self.accept_data_loss else "")


ACTS: Final = (
    Kill, Shutdown, KillConnection, Restart, Pause, Resume, Cut, Heal, Hold, Release, Isolate, HealAll, PowerLoss, SlowLink, SlowDisk, Promote,
)  # fmt: skip
"""The acts of all models."""

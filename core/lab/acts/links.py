"""Acts on the links between nodes."""

from __future__ import annotations

import attrs

from core.lab.acts.act import Act


@attrs.frozen(eq=False, repr=False)
class Cut(Act, word="cut", does="cut the link between two nodes"):
    """Cut the link between two nodes. With `one-way`, cut the link only in the direction from the first node to the second.

    A node is a broker such as `b1`, a controller such as `c1`, the active controller (`controller`), `zookeeper`, or a client. With
    ZooKeeper, `controller` is the broker that acts as the controller.
    """

    between: tuple[str, str]
    one_way: bool = False


@attrs.frozen(eq=False, repr=False)
class Heal(Act, word="heal", does="heal a cut link, or all cut links"):
    """Heal the link between two nodes, or every cut link."""

    between: tuple[str, str] | None = None


@attrs.frozen(eq=False, repr=False)
class Isolate(Act, word="isolate", does="cut all links of a node"):
    """Cut every link of a node."""

    node: str


@attrs.frozen(eq=False, repr=False)
class Link(Act, word="link", does="change a link's latency, jitter, or loss, or make a client's proxy repeat or reorder requests"):
    """Change the latency, the jitter, or the loss of a link in both directions. Loss is the share of messages that are lost.

    TCP retransmits lost messages, and neither repeats nor reorders messages. A proxy between a client and a broker can repeat a request, or
    send consecutive requests on different connections. `duplicate` is the share of requests on a client's link that such a proxy delivers
    twice. `reorder` is the share of requests that later requests can overtake. Each response arrives once and in order.
    """

    between: tuple[str, str]
    latency: int | None = None
    jitter: int | None = None
    loss_ppm: int | None = None
    duplicate_ppm: int | None = None
    reorder_ppm: int | None = None


@attrs.frozen(eq=False, repr=False)
class Hold(Act, word="hold", does="hold back messages from one node to another"):
    """Hold back every message from the first node to the second until `release`. The messages stay in order."""

    between: tuple[str, str]


@attrs.frozen(eq=False, repr=False)
class Release(Act, word="release", does="deliver held messages"):
    """Deliver the messages that `hold` held back. With `messages`, deliver only that many messages, oldest first. The other messages remain
    held.
    """

    between: tuple[str, str]
    messages: int | None = None

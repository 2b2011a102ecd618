"""Acts on all nodes of a zone."""

from __future__ import annotations

import attrs

from core.lab.acts.act import Act


@attrs.frozen(eq=False, repr=False)
class FailZone(Act, word="fail-zone", does="cut the power of every broker and controller in a zone"):
    """Cut the power of all machines of a zone: its brokers and its dedicated controllers. `unflushed` determines how much of what the
    brokers had not flushed is lost, as in `power-loss`. Clients in the zone keep running; acts on clients stop them.
    """

    zone: str
    unflushed: str = "drawn"


@attrs.frozen(eq=False, repr=False)
class RestoreZone(Act, word="restore-zone", does="start the stopped brokers and controllers of a zone"):
    """Start every stopped broker and dedicated controller of a zone. To heal links that `cut-zone` cut, use `heal-zone`."""

    zone: str


@attrs.frozen(eq=False, repr=False)
class CutZone(Act, word="cut-zone", does="cut the links between a zone and all other nodes, or between two zones"):
    """Cut every link between a node in the zone and a node outside of it. With `other`, cut only the links to this zone. Links within a zone
    keep working. Clients that start later are not cut off.
    """

    zone: str
    other: str | None = None


@attrs.frozen(eq=False, repr=False)
class HealZone(Act, word="heal-zone", does="heal the cut links of a zone"):
    """Heal every cut link between a node in the zone and a node outside of it. With `other`, heal only the links to this zone."""

    zone: str
    other: str | None = None

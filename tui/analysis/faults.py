"""The active faults of links, disks, and processes. Broker cards and the header show faults from the same list."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from itertools import combinations
from typing import Any, Final

import attrs

from core.kafka.broker.broker_state import BrokerState
from core.kafka.ids import broker_address
from core.lab.views.broker_view import BrokerView, LinkView
from core.lab.views.cluster_view import ClusterView
from core.sim.repr_mixin import ReprMixin
from core.sim.units import format_duration

_BOTH, _OUT, _BACK = "↔", "→", "←"
_ORDER: Final = ("paused", "dir", "cut", "held", "slow", "loss", "repeats", "reorders", "disk")


_said: list[Any] = [None, ()]
"""The key and the result of the last `faults_text` call. The result is cached, because the key seldom changes between frames."""


@attrs.frozen(repr=False)
class Fault(ReprMixin):
    """A fault of a node, of a link between two nodes, or of all links between two zones.

    Attributes:
        node: the address of the node, or the name of a zone.
        other: the other end of the link, or the other zone; empty for a fault of the node.
        way: the direction of a link fault: `↔` both, `→` from the node, `←` to the node; empty for a fault of the node.
        word: the kind of fault, in one word.
        much: the size of the fault, such as a delay or a loss rate; empty if the fault has none.
    """

    node: str
    other: str
    way: str
    word: str
    much: str = ""

    @property
    def at_the_node(self) -> str:
        """The text on the node's card, for example `cut ↔ b2` or `disk +200ms per write`."""
        if not self.other:
            return f"{self.word} {self.much}".strip()
        return f"{self.word} {self.way} {self.other}" + (f" {self.much}" if self.much else "")

    @property
    def in_a_list(self) -> str:
        """The fault's text in a list that contains faults of several nodes, for example `b1↔b2 cut`."""
        if not self.other:
            return f"{self.node} {self.word} {self.much}".strip()
        return f"{self.node}{self.way}{self.other} {self.word}" + (f" {self.much}" if self.much else "")


def faults_at(view: ClusterView, node: str) -> list[Fault]:
    """Return the faults of a node, the worst first.

    A paused process is not included, because the broker's state already shows the pause.
    """
    found = [*_links(view, node)]
    for broker in view.brokers:
        if broker_address(broker.id) == node:
            found += _own(broker)
    return sorted(found, key=lambda fault: _ORDER.index(fault.word))


def all_faults(view: ClusterView) -> list[Fault]:
    """Return all faults, the worst first. A link fault appears once, not at both ends of the link."""
    nodes = [broker_address(broker.id) for broker in view.brokers]
    ends = {end for link in (*view.cut_links, *view.held_links) for end in link} | {
        end for link in view.changed_links for end in (link.src, link.dst)
    }
    found: list[Fault] = []
    for broker in view.brokers:
        if broker.state is BrokerState.PAUSED:
            found.append(Fault(broker_address(broker.id), "", "", "paused"))
        found += _own(broker)
    if not ends:
        return sorted(found, key=lambda fault: _ORDER.index(fault.word))
    between = _cut_zones(view) if view.zones else {}
    found += [Fault(*zones, _BOTH, "cut") for zones in dict.fromkeys(between.values())]
    seen: set[tuple[str, str, str]] = set()
    for node in (*(node for node in nodes if node in ends), *sorted(ends - set(nodes))):
        for fault in _links(view, node):
            if fault.word == "cut" and (node, fault.other) in between:
                continue
            if (fault.other, node, fault.word) not in seen:
                seen.add((node, fault.other, fault.word))
                found.append(fault)
    return sorted(found, key=lambda fault: _ORDER.index(fault.word))


def _cut_zones(view: ClusterView) -> dict[tuple[str, str], tuple[str, str]]:
    """Return the cut links between two zones whose brokers and controllers cannot reach each other, each with the names of the zones."""
    machines = {*(broker_address(broker.id) for broker in view.brokers), *(voter.name for voter in view.voters)}
    cut = set(view.cut_links)
    found: dict[tuple[str, str], tuple[str, str]] = {}
    for one, other in combinations(view.zones, 2):
        pairs = [(a, b) for a in one.nodes for b in other.nodes]
        essential = [pair for a, b in pairs if a in machines and b in machines for pair in ((a, b), (b, a))]
        if essential and cut.issuperset(essential):
            found |= {pair: (one.name, other.name) for a, b in pairs for pair in ((a, b), (b, a))}
    return found


def _own(broker: BrokerView) -> Iterable[Fault]:
    node = broker_address(broker.id)
    for number in broker.failed_dirs:
        yield Fault(node, "", "", "dir", f"{number} of {broker.log_dirs} failed")
    if broker.disk_delay_us:
        yield Fault(node, "", "", "disk", f"+{format_duration(broker.disk_delay_us)} per write")


def _links(view: ClusterView, node: str) -> Iterable[Fault]:
    for word, links in (("cut", view.cut_links), ("held", view.held_links)):
        yield from _both_ways(node, word, dict.fromkeys(links, ""))
    yield from _both_ways(node, "slow", _measured(view.changed_links, _slowness))
    yield from _both_ways(node, "loss", _measured(view.changed_links, lambda link: _share(link.loss_ppm - view.loss_ppm)))
    yield from _both_ways(node, "repeats", _measured(view.changed_links, lambda link: _share(link.duplicate_ppm)))
    yield from _both_ways(node, "reorders", _measured(view.changed_links, lambda link: _share(link.reorder_ppm)))


def _measured(links: Iterable[LinkView], measure: Callable[[LinkView], str]) -> dict[tuple[str, str], str]:
    return {(link.src, link.dst): much for link in links if (much := measure(link))}


def _slowness(link: LinkView) -> str:
    if link.latency_us <= 0 and link.jitter_us <= 0:
        return ""
    jitter = f" ±{format_duration(link.jitter_us)}" if link.jitter_us > 0 else ""
    return f"{format_duration(max(0, link.latency_us))}{jitter}"


def _share(ppm: int) -> str:
    return f"{ppm / 10_000:g}%" if ppm > 0 else ""


def _both_ways(node: str, word: str, links: dict[tuple[str, str], str]) -> Iterable[Fault]:
    """Yield the link faults of a node. If both directions of a link have the same fault, the fault appears only once."""
    for other in sorted({dst if src == node else src for src, dst in links if node in (src, dst)}):
        out, back = links.get((node, other)), links.get((other, node))
        if out is not None and back is not None and out == back:
            yield Fault(node, other, _BOTH, word, out)
            continue
        if out is not None:
            yield Fault(node, other, _OUT, word, out)
        if back is not None:
            yield Fault(node, other, _BACK, word, back)


def faults_text(view: ClusterView) -> tuple[str, ...]:
    """Return descriptions of all faults, from the longest description to the shortest.

    The first description names all faults, the following descriptions name fewer and fewer faults, and the last description only counts the
    faults. If there are no faults, return an empty tuple.
    """
    own = tuple([(b.id, b.state is BrokerState.PAUSED, b.failed_dirs, b.disk_delay_us) for b in view.brokers])
    key = (view.cut_links, view.held_links, view.changed_links, view.loss_ppm, own)
    if _said[0] != key:
        _said[:] = [key, _faults_text(view)]
    words: tuple[str, ...] = _said[1]
    return words


def _faults_text(view: ClusterView) -> tuple[str, ...]:
    named = [fault.in_a_list for fault in all_faults(view)]
    if view.loss_ppm:
        named.append(f"loss {_share(view.loss_ppm)} on all links")
    if not named:
        return ()
    count = f"{len(named)} faults" if len(named) > 1 else "1 fault"
    some = [
        ", ".join(named[:most]) + (" …" if most < len(named) else "")
        for most in sorted({len(named), 3, 2, 1}, reverse=True)
        if most <= len(named)
    ]
    return (*(f"{count}: {said}" for said in some), count)

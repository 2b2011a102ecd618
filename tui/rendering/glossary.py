"""What the words and the symbols on the screens mean, under the release that runs: for `?`, for the palette, and for a key of its own."""

from __future__ import annotations

from typing import Final

import attrs
from textual.strip import Strip

from core.kafka.health import PartitionStatus
from core.kafka.release import Release
from core.sim.repr_mixin import ReprMixin
from tui.rendering import states
from tui.rendering.palette import Palette
from tui.rendering.rows import Row, wrap

TERM_WIDTH: Final = 18
"""Cells of the column that words and symbols stand in."""


@attrs.frozen(repr=False)
class Term(ReprMixin):
    """A word or a symbol. `name`: what an abbreviation is short for; `role`: how a symbol is painted."""

    term: str
    name: str
    text: str
    role: str = "key"


SYMBOLS: Final = (
    Term(states.LEADER, "leader", "This replica leads the partition, by the controller's word.", "leader"),
    Term(states.BELIEVES, "believes that it leads", "The controller has another leader; this broker has not heard of it yet.", "warn"),
    Term(states.IN_ISR, "in the ISR, or up", "Of a replica: alive and in sync. Of a broker: it runs and is not fenced.", "good"),
    Term(states.OUT, "out of the ISR, or fenced", "Of a replica: alive, but not in sync. Of a broker: it runs, and the controller takes it for dead.", "warn"),
    Term(states.DOWN, "down", "No process. A replica marked so has left the ISR.", "bad"),
    Term(
        states.DOWN_IN_ISR, "down, but still in the ISR",
        "The controller has not noticed yet, or it was the last member. Until it leaves, nothing is committed.", "bad",
    ),
    Term("‖", "paused, or stalled", "Of a broker: its process stands still. Of a partition: writes with acks=all wait.", "warn"),
    Term("◌", "on its way", "A broker that starts or shuts down.", "warn"),
    Term(states.COMMITTED * 2, "committed", "The part of a replica's log below its own high watermark.", "committed"),
    Term(states.PENDING * 2, "not committed", "The part between its high watermark and its log end.", "pending"),
    Term(states.MISSING * 2, "missing", "What the longest replica has and this one lacks.", "missing"),
    Term("▸", "the selected cell", "In the events: a line that opens with Enter, or something that you did.", "key"),
)  # fmt: skip
"""Symbols of brokers and replicas. Those of partitions stand with their states, those of the timeline with its marks."""

STATES: Final = {
    PartitionStatus.OFFLINE: "No broker leads it: nobody can read or write.",
    PartitionStatus.LEADER_UNAVAILABLE: "The controller names a leader that does not serve, because it is dead or paused, cut off from the clients, or has not taken over yet.",
    PartitionStatus.UNDER_MIN_ISR: "The ISR is smaller than min.insync.replicas: writes with acks=all are refused.",
    PartitionStatus.STALLED: "The leader serves, but a member of the ISR does not fetch: nothing is committed, and writes with acks=all wait.",
    PartitionStatus.AT_MIN_ISR: "Replicas are missing; with one fewer in the ISR, writes with acks=all are refused.",
    PartitionStatus.UNDER_REPLICATED: "Under-replicated: the ISR lacks replicas. Reads and writes go on.",
    PartitionStatus.HEALTHY: "All replicas are in the ISR, and the leader serves.",
}  # fmt: skip
"""What clients experience in each state of a partition."""


def all_terms(release: Release, *, zookeeper: bool) -> tuple[Term, ...]:
    """The glossary.

    Args:
        release: the rules in force.
        zookeeper: whether brokers register in ZooKeeper, and not with a KRaft controller.
    """
    return (
        Term(
            "HW", "high watermark",
            "The offset below which every record is committed. Consumers read up to it. The leader moves it when followers fetch; followers "
            "learn of it with a later fetch." + (" It stands still while the ISR is smaller than min.insync.replicas." if release.strict_min_isr else ""),
        ),
        Term("LEO", "log end offset", "The offset that a replica's next record will have. The log holds everything from its start up to there."),
        Term(
            "leader", "", "The replica that takes the writes of a partition and that followers fetch from. The controller chooses it. "
            "The preferred leader is the first of the assigned replicas.",
        ),
        Term("AR", "assigned replicas", "The brokers that are to hold a copy of the partition, the preferred leader first."),
        Term("ISR", "in-sync replicas", _isr(release, zookeeper)),
        Term(
            "OSR", "out-of-sync replicas",
            "Assigned replicas outside the ISR. " + ("Unless one is in the ELR, only" if release.elr else "Only") + " an unclean election lets it lead.",
        ),
        Term("ELR", "eligible leader replicas", _elr(release)),
        Term("min ISR", "min.insync.replicas", _min_isr(release)),
        Term(
            "acks", "", "What a producer waits for. 0: nothing. 1: the leader has appended the records. all (-1): the high watermark has passed them, "
            "so every member of the ISR has them.",
        ),
        Term("committed", "", "In the log of every replica that counts, below the high watermark. No clean election loses it."),
        Term("epoch, leader", "leader epoch", _leader_epoch(release)),
        Term(
            "epoch, partition", "partition epoch",
            "The version of a partition's leader and ISR: it rises with each change of them. A change that was proposed from an older version is refused."
            + (" ZooKeeper keeps it as the version of the partition's state znode." if zookeeper else ""),
        ),
        Term(
            "epoch, controller", "controller epoch",
            "The number of the active controller's term. Brokers refuse requests of an older one, so a controller that was replaced does no harm."
            if release.controller_epoch_fencing
            else "The number of the active controller's term. The guard that refuses requests of an older one is switched off here.",
        ),
        Term(
            "epoch, broker", "broker epoch",
            "The number of a broker's registration: a restarted broker gets a higher one"
            + (", and an ISR change that names an older one is refused." if release.broker_epoch_in_isr else "."),
        ),
        Term("unclean election", "unclean.leader.election.enable", _unclean(release, zookeeper)),
        Term("fencing", "", _fencing(zookeeper)),
        Term("LSO", "last stable offset", "Where consumers with read_committed stop: at the first record of an open transaction, else at the high watermark. "
             "Nothing here writes transactions, so it is the high watermark."),
        Term("truncation", "", _truncation(release)),
        Term("lost", "", "Acknowledged to a producer, or read by a consumer, and no longer in the log of whoever leads."),
        Term("exposed", "", "Committed, but a replica that may be elected lacks it."),
        Term("diverged", "", "Two live replicas hold different records at the same offset below both their high watermarks."),
        Term("lag", "", "How many records a follower lacks of what its leader has."),
        Term("controller", "", _controller(zookeeper)),
    )  # fmt: skip


def _isr(release: Release, zookeeper: bool) -> str:
    said = "The replicas, the leader included, that the high watermark waits for. Each of them can lead without loss. "
    if release.counts_lag:
        said += "A follower leaves when it is more than replica.lag.max.messages behind, or has not fetched for replica.lag.time.max.ms."
    else:
        said += "A follower leaves when it has not caught up with the leader's log end for replica.lag.time.max.ms."
    if zookeeper:
        said += " It also leaves when its ZooKeeper session ends."
    else:
        said += " It also leaves when the controller fences its broker."
    said += " It joins when its log reaches the high watermark"
    return said + (" and the start of the leader's epoch." if release.expand_needs_epoch_start else ".")


def _elr(release: Release) -> str:
    if not release.elr:
        return "Replicas that left an ISR of the minimum size and may still lead without loss (KIP-966). This cluster keeps none."
    return (
        "Replicas that left the ISR when it was at its minimum size. While the ISR is smaller than that nothing is committed, so they still "
        "hold every committed record and may lead without loss (KIP-966)."
    )


def _min_isr(release: Release) -> str:
    said = "How many replicas must be in the ISR for writes with acks=all. With fewer they are refused: NOT_ENOUGH_REPLICAS. "
    said += "acks=1 and acks=0 do not ask for it. In the column ISR/min, [1,3]/2 is an ISR of brokers 1 and 3 with a minimum of 2."
    return said + (" More than the replication factor counts as the replication factor." if release.capped_min_isr else "")


def _leader_epoch(release: Release) -> str:
    said = "The number of a leadership: it rises with each new leader of a partition. "
    if release.truncation:
        return (
            said
            + "Logs note where each epoch starts; from that a follower finds what to cut. In the columns, L3 is leader epoch 3 and 0@0 is epoch 0 from offset 0."
        )
    return said + "Logs do not know it under this release: followers cut to their own high watermark."


def _unclean(release: Release, zookeeper: bool) -> str:
    said = "A replica outside the ISR leads because no other can. The partition serves again; what the new leader lacks is lost. "
    said += "Allowed by unclean.leader.election.enable, or asked for once with U. "
    if zookeeper:
        return said + "When it is switched on for the whole cluster or for a topic, the controller acts at once."
    if release.elects_unclean_later:
        return (
            said
            + "When it is switched on, the controller acts when it looks again: every unclean.leader.election.interval.ms, 5 minutes by default."
        )
    return said + "When it is switched on, the controller acts at the partition's next change."


def _fencing(zookeeper: bool) -> str:
    if zookeeper:
        return (
            "Shutting out who is out of date. A broker that ZooKeeper hears nothing from for zookeeper.session.timeout.ms loses its session: the "
            "controller elects others where it led, and takes it out of the ISRs. Requests with an older epoch are refused."
        )
    return (
        "Shutting out who is out of date. A broker without heartbeats for broker.session.timeout.ms is fenced: it leaves every ISR, and others "
        "lead where it led. It is unfenced once it is heard again and has caught up with the metadata. Requests with an older epoch are refused."
    )


def _truncation(release: Release) -> str:
    said = "A follower cuts from its log what its leader does not have, before it fetches. "
    return said + ("It asks by leader epochs where the logs part." if release.truncation else "It cuts to its own high watermark.")


def _controller(zookeeper: bool) -> str:
    if zookeeper:
        return "The broker that won /controller in ZooKeeper. It elects leaders and tells brokers what leads where."
    return "The active one of the KRaft quorum. It elects leaders, keeps the ISRs and fences brokers; brokers follow its metadata log."


def states_of_partitions() -> tuple[Term, ...]:
    """A partition's states with their symbols, the worst first."""
    looks = ((states.STATUS_LOOKS[status], STATES[status]) for status in PartitionStatus)
    terms = [Term(f"{glyph} {word}", "", text, role) for (glyph, word, role), text in looks]
    return (*terms, Term("≠ diverged", "", "Replicas hold different records at the same offsets.", "bad"))


def paint_glossary(release: Release, paint: Palette, width: int, *, zookeeper: bool, first: str = "") -> list[Strip]:
    """The glossary as lines: words, states, symbols; `first` is the word that somebody asked for, it comes before all others."""
    terms = all_terms(release, zookeeper=zookeeper)
    lines: list[Strip] = []
    asked = [term for term in terms if term.term == first]
    if asked:
        lines += [line for term in asked for line in paint_term(term, paint, width)] + [Row().strip(width)]
    for title, some in (("Words", terms), ("States of a partition", states_of_partitions()), ("Symbols", SYMBOLS)):
        lines.append(Row().add(title, paint.title_focused).strip(width))
        lines += [line for term in some if term not in asked for line in paint_term(term, paint, width)]
        lines.append(Row().strip(width))
    return lines


def paint_term(term: Term, paint: Palette, width: int) -> list[Strip]:
    """A word with its explanation beside it."""
    style = getattr(paint, term.role)
    name = f"{term.name}. " if term.name else ""
    lines = []
    for number, line in enumerate(
        wrap((name[:1].upper() + name[1:] if "." not in term.name else name) + term.text, width - TERM_WIDTH - 3)
    ):
        row = Row().add(f"  {term.term if number == 0 else '':<{TERM_WIDTH}}", style).add(" ", paint.text)
        lines.append(row.add(line, paint.text).strip(width))
    return lines

"""The glossary: the meaning of the words and symbols on the screens, for the current release."""

from __future__ import annotations

from typing import Final

import attrs
from textual.strip import Strip

from core.kafka.health import PartitionStatus
from core.kafka.release import Release
from core.sim.repr_mixin import ReprMixin
from tui.rendering import states
from tui.rendering.palette import Palette
from tui.rendering.rows import LEAST_TEXT, Row, wrap

TERM_WIDTH: Final = 18
"""The width, in cells, of the column for words and symbols."""


@attrs.frozen(repr=False)
class Term(ReprMixin):
    """A word or a symbol with its explanation.

    `name` is the long form of an abbreviation, and `role` is the style of a symbol.
    """

    term: str
    name: str
    text: str
    role: str = "key"


SYMBOLS: Final = (
    Term(states.LEADER, "leader", "This replica leads the partition, according to the controller.", "leader"),
    Term(states.BELIEVES, "considers itself the leader", "The controller has elected another leader, and this broker does not "
        "know that yet.", "warn"),
    Term(states.IN_ISR, "in the ISR, or up", "For a replica: it is alive and in sync. For a broker: it is running and not fenced.", "good"),
    Term(states.OUT, "outside the ISR, or fenced", "For a replica: it is alive but not in sync. For a broker: it is running, "
        "but the controller considers it dead.", "warn"),
    Term(states.DOWN, "down", "The process is not running. A replica with this mark is no longer in the ISR.", "bad"),
    Term(
        states.DOWN_IN_ISR, "down, but still in the ISR",
        "The process is not running, but the replica is still in the ISR: the controller has not noticed yet, or the "
        "replica is the last member. While the replica stays in the ISR, nothing is committed.", "bad",
    ),
    Term("‖", "paused, or stalled", "For a broker: its process is paused. For a partition: writes with acks=all wait.", "warn"),
    Term("◌", "starting, or shutting down", "The broker is starting or shutting down.", "warn"),
    Term(states.COMMITTED * 2, "committed", "The part of a replica's log below its own high watermark.", "committed"),
    Term(
        states.HELD_BACK * 2, "held back",
        "Committed records that consumers with read_committed cannot read yet: those between the last stable offset and "
        "the high watermark of the leader.", "warn",
    ),
    Term(states.PENDING * 2, "not committed", "The part of a replica's log between its high watermark and its log end.", "pending"),
    Term(states.MISSING * 2, "missing", "The records that the longest log has and this replica lacks.", "missing"),
    Term("▸", "the selected cell", "In the event log: an act, or a line that opens when you press Enter.", "key"),
    Term("✕ ≈ ‖", "a faulty link", "In the topology: the link is cut, slow, or held.", "bad"),
    Term("→2 ←1", "messages under way", "In the topology: the number of messages from the node to the selected node, and back. Red ones are stuck.", "you"),
    Term("◔", "waits", "In the topology: a producer has waited for an answer for more than a second.", "warn"),
    Term("⇄ moving", "", "On the map: the partition is healthy, and a reassignment moves it.", "leader"),
    Term("◆", "the selected cell of the map", "A cell can stand for several partitions. It shows their worst state.", "key"),
)  # fmt: skip
"""The symbols of brokers and replicas.

The symbols of partitions are in `STATUS_LOOKS`, and the symbols of the timeline are in `tui.panels.timeline`.
"""

STATES: Final = {
    PartitionStatus.OFFLINE: "No broker leads the partition: clients can neither read nor write.",
    PartitionStatus.LEADER_UNAVAILABLE: "The elected leader is not serving clients: it is dead or paused, is cut off from "
        "the clients, or has not taken over yet.",
    PartitionStatus.UNDER_MIN_ISR: "The ISR is smaller than min.insync.replicas: writes with acks=all are refused.",
    PartitionStatus.STALLED: "The leader serves clients, but a member of the ISR is not fetching. Nothing is committed, and writes with "
        "acks=all wait.",
    PartitionStatus.READS_HELD: "Writes with acks=all are acknowledged, but consumers with read_committed wait: the last stable offset is held "
        "back by a transaction that no coordinator will end.",
    PartitionStatus.AT_MIN_ISR: "Replicas are missing from the ISR. If one more replica leaves the ISR, writes with acks=all are refused.",
    PartitionStatus.UNDER_REPLICATED: "Under-replicated: replicas are missing from the ISR. Reads and writes continue.",
    PartitionStatus.HEALTHY: "All replicas are in the ISR, and the leader serves clients.",
}  # fmt: skip
"""The effect of each state of a partition on clients."""


def all_terms(release: Release, *, zookeeper: bool) -> tuple[Term, ...]:
    """Return all terms of the glossary.

    Args:
        release: the current release.
        zookeeper: whether brokers register in ZooKeeper rather than with a KRaft controller.
    """
    return (
        Term(
            "HW", "high watermark",
            "The offset below which every record is committed. Consumers read up to it. The leader advances it when followers "
            "fetch. Followers learn the new value with a later fetch." + (" It does not advance while the ISR is smaller than "
                "min.insync.replicas." if release.strict_min_isr else ""),
        ),
        Term("LEO", "log end offset", "The offset that the next record in a replica's log will have. It is one more than the "
            "last offset in the log."),
        Term(
            "leader", "", "The replica that accepts the writes of a partition. Followers fetch from it. The controller elects "
                "it. The preferred leader is the first of the assigned replicas.",
        ),
        Term("AR", "assigned replicas", "The brokers that store a replica of the partition. The preferred leader comes first."),
        Term("ISR", "in-sync replicas", _isr(release, zookeeper)),
        Term(
            "OSR", "out-of-sync replicas",
            "Assigned replicas outside the ISR. Only an unclean election can make one of them "
            "leader" + (", unless it is in the ELR." if release.elr else "."),
        ),
        Term("ELR", "eligible leader replicas", _elr(release)),
        Term("min ISR", "min.insync.replicas", _min_isr(release)),
        Term(
            "acks", "", "The acknowledgment that a producer waits for. With 0, the producer does not wait. With 1, the leader "
                "acknowledges the records when it has appended them. With all (-1), the leader acknowledges the records when the high "
                "watermark has passed them, so every member of the ISR has them.",
        ),
        Term("committed", "", "A record below the high watermark. Every replica that the high watermark waits for has it, and no "
            "clean election loses it."),
        Term("epoch, leader", "leader epoch", _leader_epoch(release)),
        Term(
            "epoch, partition", "partition epoch",
            "The version of a partition's leader and ISR. It increases with each change to either of them. A proposed change that is based "
            "on an older version is refused."
            + (" In ZooKeeper, it is the version of the partition's state znode." if zookeeper else ""),
        ),
        Term(
            "epoch, controller", "controller epoch",
            "A number that identifies the active controller's term. Brokers refuse requests with an older epoch, so a controller that has "
            "been replaced can do no harm."
            if release.controller_epoch_fencing
            else "A number that identifies the active controller's term. Here, the check that refuses requests with an older epoch is disabled.",
        ),
        Term(
            "epoch, broker", "broker epoch",
            "A number that identifies a broker's registration. A restarted broker gets a higher one"
            + (", and an ISR change with an older one is refused." if release.broker_epoch_in_isr else "."),
        ),
        Term("unclean election", "unclean.leader.election.enable", _unclean(release, zookeeper)),
        Term("fencing", "", _fencing(zookeeper)),
        Term("LSO", "last stable offset", "The offset up to which read_committed consumers read: the offset of the first record of the oldest open "
            "transaction, or the high watermark. Without open transactions, the LSO equals the high watermark."),
        Term("truncation", "", _truncation(release)),
        Term("lost", "", "A record that was acknowledged to a producer or read by a consumer, and is no longer in the leader's log."),
        Term("exposed", "", "A committed record that an electable replica lacks."),
        Term("diverged", "", "Two live replicas hold different records at the same offset, which is below the high watermarks of both."),
        Term("lag", "", "The number of records by which a follower is behind its leader."),
        Term("controller", "", _controller(zookeeper)),
    )  # fmt: skip


def _isr(release: Release, zookeeper: bool) -> str:
    said = "The replicas, including the leader, that the high watermark waits for. Each of them can become leader without loss. "
    if release.counts_lag:
        said += "A follower leaves the ISR when it is more than replica.lag.max.messages records behind, or has not fetched "
        said += "for replica.lag.time.max.ms."
    else:
        said += "A follower leaves the ISR when it has not caught up with the leader's log end for replica.lag.time.max.ms."
    if zookeeper:
        said += " It also leaves when its broker's ZooKeeper session ends."
    else:
        said += " It also leaves when the controller fences its broker."
    said += " A replica joins the ISR when its log reaches the high watermark"
    return said + (" and the start of the leader's epoch." if release.expand_needs_epoch_start else ".")


def _elr(release: Release) -> str:
    if not release.elr:
        return "Replicas that left an ISR of the minimum size and can still become leader without loss (KIP-966). This cluster does not track them."
    return (
        "Replicas that left the ISR when it was at its minimum size. While the ISR is smaller than the minimum, nothing is committed. "
        "These replicas therefore still have every committed record, and can become leader without loss (KIP-966)."
    )


def _min_isr(release: Release) -> str:
    said = "The number of replicas that must be in the ISR for writes with acks=all. If there are fewer, these writes are refused (NOT_ENOUGH_REPLICAS). "
    said += "Writes with acks=1 or acks=0 ignore it. In the column ISR/min, [1,3]/2 is an ISR of brokers 1 and 3 with a minimum of 2."
    return said + (" A value above the replication factor counts as the replication factor." if release.capped_min_isr else "")


def _leader_epoch(release: Release) -> str:
    said = "A number that rises with each new leader of a partition. "
    if release.truncation:
        return (
            said
            + "Logs record where each epoch starts, and a follower uses these offsets to find where to truncate. In the columns, L3 is "
            "leader epoch 3, and 0@0 is epoch 0 from offset 0."
        )
    return said + "In this release, logs do not record it, and followers truncate to their own high watermark."


def _unclean(release: Release, zookeeper: bool) -> str:
    said = "The election of a replica outside the ISR, because no other replica is available. The partition serves clients again, but records that the new leader lacks are lost. "
    if not release.applies_unclean_setting:
        return (
            said
            + "The key U requests such an election. In this release, the controller ignores the setting unclean.leader.election.enable."
        )
    said += "The setting unclean.leader.election.enable allows such elections, and the key U requests one. "
    if zookeeper:
        return said + "After you enable this setting for the cluster or for a topic, the controller acts immediately."
    return (
        said
        + "After you enable this setting, the controller acts at its next check, which happens every unclean.leader.election.interval.ms (5 minutes by default)."
    )


def _fencing(zookeeper: bool) -> str:
    if zookeeper:
        return (
            "The exclusion of nodes with outdated state. If ZooKeeper does not hear from a broker for zookeeper.session.timeout.ms, the "
            "broker's session expires. The controller then elects new leaders for the broker's partitions, and removes the broker from ISRs. "
            "Requests with an older epoch are refused."
        )
    return (
        "The exclusion of nodes with outdated state. If a broker sends no heartbeat for broker.session.timeout.ms, the controller "
        "fences the broker. The controller removes the broker from ISRs that have other members, and elects new leaders for its "
        "partitions. The controller "
        "unfences the broker after the broker sends heartbeats again and has caught up with the metadata. Requests with an older epoch are refused."
    )


def _truncation(release: Release) -> str:
    said = "Before a follower fetches, it removes from its log the records that the leader does not have. "
    return said + (
        "It uses leader epochs to find where the logs diverge." if release.truncation else "It truncates to its own high watermark."
    )


def _controller(zookeeper: bool) -> str:
    if zookeeper:
        return "The broker that holds /controller in ZooKeeper. It elects partition leaders, and notifies the brokers."
    return "The active member of the KRaft quorum. It elects partition leaders, stores the ISRs, and fences brokers. Brokers follow its metadata log."


def states_of_partitions() -> tuple[Term, ...]:
    """Return the states of a partition with their symbols. The states are ordered from worst to best, except that divergence comes last."""
    looks = ((states.STATUS_LOOKS[status], STATES[status]) for status in PartitionStatus)
    terms = [Term(f"{glyph} {word}", "", text, role) for (glyph, word, role), text in looks]
    return (*terms, Term("≠ diverged", "", "Replicas have different records at the same offsets.", "bad"))


def paint_glossary(release: Release, paint: Palette, width: int, *, zookeeper: bool, first: str = "") -> list[Strip]:
    """Paint the glossary: terms, states, and symbols. If `first` is a term, that term comes before all others."""
    terms = all_terms(release, zookeeper=zookeeper)
    lines: list[Strip] = []
    asked = [term for term in terms if term.term == first]
    if asked:
        lines += [line for term in asked for line in paint_term(term, paint, width)] + [Row().strip(width)]
    for title, some in (("Terms", terms), ("States of a partition", states_of_partitions()), ("Symbols", SYMBOLS)):
        lines.append(Row().add(title, paint.title_focused).strip(width))
        lines += [line for term in some if term not in asked for line in paint_term(term, paint, width)]
        lines.append(Row().strip(width))
    return lines


def paint_term(term: Term, paint: Palette, width: int) -> list[Strip]:
    """Paint a term, with the explanation beside it, or below it if there is little room."""
    style = getattr(paint, term.role)
    name = f"{term.name}. " if term.name else ""
    beside = width - TERM_WIDTH - 3 >= LEAST_TEXT  # Otherwise, the explanation stands below the term.
    indent = TERM_WIDTH + 3 if beside else 4
    lines = [] if beside else [Row().add(f"  {term.term}", style).strip(width)]
    for number, line in enumerate(wrap((name[:1].upper() + name[1:] if "." not in term.name else name) + term.text, width - indent)):
        row = Row().add(f"  {term.term}" if beside and number == 0 else "", style).pad(indent)
        lines.append(row.add(line, paint.text).strip(width))
    return lines

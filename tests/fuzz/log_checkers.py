"""Checks a run by its event log alone, without the accounts of the laboratory: who owns what in which generation of a group, and which records
consumers with read_committed may see.

The checkers know only events. Where a log shows that data was lost (a truncation, an unclean election), they stop to expect what that data
said.
"""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Iterable, Iterator
from typing import Any, Final

import attrs

from core.kafka.events import decode

Partition = tuple[str, int]

INTERNAL: Final = ("__consumer_offsets", "__transaction_state")
"""The topics in which the state of groups and transactions is stored."""

LOSSES: Final = ("truncated", "unflushed-lost", "log-restarted", "records-lost")
"""Kinds of events that show that a log no longer has records that it had."""


@attrs.define
class _Member:
    """A consumer of a group.

    Attributes:
        group: its group.
        consumer_protocol: whether it uses the consumer protocol.
        ids: its member IDs so far.
        generation: the generation in which it last got partitions; -1 for none.
        owned: its partitions, according to its callbacks.
        fenced: whether its coordinator has removed it.
        next: by partition, the first offset that it has not processed.
    """

    group: str
    consumer_protocol: bool
    ids: set[str] = attrs.field(factory=set)
    generation: int = -1
    owned: set[str] = attrs.field(factory=set)
    fenced: bool = False
    next: dict[str, int] = attrs.field(factory=dict)


def _names(text: str) -> set[str]:
    return {name for name in text.split(", ") if name and name != "nothing"}


@attrs.define
class GroupChecker:
    """Who owns what in which generation.

    Attributes:
        clients: the consumers by name.
        generations: the member IDs of each generation that a coordinator began, by group.
        assignments: the partitions of each member ID, by group and generation.
        current: the partitions of each member of a group of the consumer protocol, according to its coordinator.
        lost: whether records of `__consumer_offsets` were lost, so that groups can forget what happened.
        problems: what is wrong.
    """

    clients: dict[str, _Member] = attrs.field(factory=dict)
    generations: dict[tuple[str, int], set[str]] = attrs.field(factory=dict)
    assignments: dict[tuple[str, int], dict[str, set[str]]] = attrs.field(factory=dict)
    current: dict[str, dict[str, set[str]]] = attrs.field(factory=lambda: defaultdict(dict))
    protocols: dict[str, str] = attrs.field(factory=dict)
    lost: bool = False
    problems: list[str] = attrs.field(factory=list)

    def hear(self, seq: int, kind: str, event: Any) -> None:
        """Take notice of an event."""
        if kind == "act" and event.act == "join-group":
            fields = json.loads(event.args)
            self.protocols[fields.get("consumer", "consumer")] = fields.get("protocol", "classic")
        handle = getattr(self, "_" + kind.replace("-", "_"), None)
        if handle is not None:
            handle(seq, event)
        if kind in LOSSES and event.topic == INTERNAL[0]:
            self.lost = True

    def _wrong(self, seq: int, text: str) -> None:
        if not self.lost:
            self.problems.append(f"event {seq}: {text}")

    # --- the coordinator ---------------------------------------------------------------------------------------------

    def _member_joined(self, _seq: int, event: Any) -> None:
        if event.client in self.clients:
            self.clients[event.client].ids.add(event.member_id)
            self.clients[event.client].fenced = False

    def _group_generation(self, _seq: int, event: Any) -> None:
        self.generations[event.group, event.generation] = _names(event.member_ids)

    def _group_stable(self, seq: int, event: Any) -> None:
        """Assignments of a generation are for its members, and disjoint."""
        given: dict[str, set[str]] = {}
        for part in event.assignment.split("; "):
            member, _, names = part.partition(": ")
            given[member] = _names(names)
        self.assignments[event.group, event.generation] = given
        seen: dict[str, str] = {}
        for member, names in given.items():
            for name in names:
                if name in seen:
                    self._wrong(seq, f"{name} belongs to both {seen[name]} and {member} in generation {event.generation} of {event.group}")
                seen[name] = member
        members = self.generations.get((event.group, event.generation))
        if members is not None and not set(given) - {""} <= members:
            self._wrong(seq, f"generation {event.generation} of {event.group} gives partitions to {sorted(set(given) - members)}")

    def _member_removed(self, _seq: int, event: Any) -> None:
        self.current[event.group].pop(event.member_id, None)
        for client in self.clients.values():
            if event.member_id in client.ids:
                client.fenced = True

    def _groups_loaded(self, _seq: int, event: Any) -> None:
        """A new coordinator has what the log has: the owners according to the former one may be older."""
        self.current.clear()

    def _group_deleted(self, _seq: int, event: Any) -> None:
        self.current.pop(event.group, None)

    def _group_converted(self, _seq: int, event: Any) -> None:
        """The assignments of the former protocol no longer count, although the members keep their generations."""
        self.current.pop(event.group, None)
        for known in (self.assignments, self.generations):
            for key in [key for key in known if key[0] == event.group]:
                del known[key]  # type: ignore[attr-defined]

    def _member_reconciled(self, seq: int, event: Any) -> None:
        """No partition has two owners at the coordinator."""
        mine = _names(event.partition_names) | _names(event.pending_names)
        for member, names in self.current[event.group].items():
            if member != event.member_id and (both := mine & names):
                self._wrong(seq, f"{sorted(both)} of {event.group} belong to both {member} and {event.member_id}")
        self.current[event.group][event.member_id] = mine

    # --- the consumers -----------------------------------------------------------------------------------------------

    def _member_started(self, _seq: int, event: Any) -> None:
        self.clients[event.client] = _Member(event.group, self.protocols.get(event.client) == "consumer")

    def _member_ended(self, _seq: int, event: Any) -> None:
        if event.client in self.clients:
            self.clients[event.client].owned.clear()

    def _partitions_assigned(self, seq: int, event: Any) -> None:
        client = self.clients.get(event.client)
        if client is None:
            return
        names = _names(event.partition_names)
        client.generation = event.generation
        for name in names:
            client.next.pop(name, None)
        members = self.generations.get((event.group, event.generation), set())
        for name, other in self.clients.items():
            if other is client or other.group != client.group or not (both := names & other.owned):
                continue
            if client.consumer_protocol and other.consumer_protocol:
                if not other.fenced:
                    self._wrong(seq, f"{event.client} got {sorted(both)}, which {name} has not given up")
            elif not client.consumer_protocol and not other.consumer_protocol and other.ids & members and not other.fenced:
                self._wrong(
                    seq, f"{event.client} got {sorted(both)} in generation {event.generation}, of which {name}, which owns it, is a member"
                )
        client.owned |= names
        given = self.assignments.get((event.group, event.generation))
        if given is not None and not client.consumer_protocol:
            mine = [given[member] for member in client.ids if member in given]
            if mine and client.owned not in mine:
                self._wrong(
                    seq, f"{event.client} owns {sorted(client.owned)} in generation {event.generation}; its assignment is {sorted(mine[0])}"
                )

    def _partitions_revoked(self, _seq: int, event: Any) -> None:
        if event.client in self.clients:
            self.clients[event.client].owned -= _names(event.partition_names)

    _partitions_lost = _partitions_revoked

    def _position_set(self, _seq: int, event: Any) -> None:
        if event.client in self.clients:
            self.clients[event.client].next.pop(f"{event.topic}-{event.partition}", None)

    def _records_processed(self, seq: int, event: Any) -> None:
        """A member processes only records of its own partitions, in order, and none of them twice without a reset of its position."""
        client = self.clients.get(event.client)
        if client is None:
            return
        name = f"{event.topic}-{event.partition}"
        if name not in client.owned and client.owned:
            self._wrong(seq, f"{event.client} processed records of {name}; it owns {sorted(client.owned)}")
        if event.from_offset < client.next.get(name, 0):
            self._wrong(seq, f"{event.client} processed {name} from {event.from_offset} again, after {client.next[name]}")
        client.next[name] = event.to_offset


@attrs.define
class ReadCommittedChecker:
    """Which records a consumer with read_committed may process: those of committed transactions, and those of no transaction.

    Attributes:
        ids: the names of the producers by producer ID.
        unfinished: the appended offsets of each producer's open transaction, by partition.
        aborted: the offsets of aborted records, by partition.
        readers: the consumers with read_committed.
        unknown: partitions whose log has lost records; they are not checked any more.
        problems: what is wrong.
    """

    ids: dict[int, str] = attrs.field(factory=dict)
    unfinished: dict[tuple[str, Partition], list[int]] = attrs.field(factory=lambda: defaultdict(list))
    aborted: dict[Partition, set[int]] = attrs.field(factory=lambda: defaultdict(set))
    transactional: set[str] = attrs.field(factory=set)
    readers: set[str] = attrs.field(factory=set)
    unknown: set[Partition] = attrs.field(factory=set)
    checked: int = 0
    problems: list[str] = attrs.field(factory=list)

    def hear(self, seq: int, kind: str, event: Any) -> None:
        """Take notice of an event."""
        if kind == "act" and event.act in ("join-group", "consume"):
            fields = json.loads(event.args)
            if fields.get("isolation") == "read_committed":
                self.readers.add(fields.get("consumer", "consumer"))
        elif kind == "transaction-begun":
            self.ids[event.producer_id] = event.producer
            self.transactional.add(event.producer)
        elif kind == "append" and event.producer in self.transactional:
            self.unfinished[event.producer, (event.topic, event.partition)] += range(event.from_offset, event.to_offset)
        elif kind == "marker-appended":
            tp = (event.topic, event.partition)
            offsets = self.unfinished.pop((self.ids.get(event.producer_id, ""), tp), [])
            if event.marker.lower() == "abort":
                self.aborted[tp].update(offsets)
        elif kind in LOSSES or (kind == "leader-elected" and event.election == "unclean"):
            self.unknown.add((event.topic, event.partition))
        elif kind in ("records-processed", "consumed"):
            self._read(seq, event.client if kind == "records-processed" else event.consumer, event, whole=kind == "consumed")

    def _read(self, seq: int, reader: str, event: Any, *, whole: bool) -> None:
        tp = (event.topic, event.partition)
        if reader not in self.readers or tp in self.unknown:
            return
        offsets = set(range(event.from_offset, event.to_offset))
        self.checked += len(offsets)
        if not whole and (both := offsets & self.aborted[tp]):  # a plain consumer's range contains what it skips
            self.problems.append(f"event {seq}: {reader} processed {min(both)} of {tp}, which was aborted")
        for (producer, where), pending in self.unfinished.items():
            if where == tp and (both := offsets.intersection(pending)):
                self.problems.append(f"event {seq}: {reader} read {min(both)} of {tp}, which belongs to an open transaction of {producer}")


def problems_of(events: Iterable[tuple[Any, ...]]) -> Iterator[str]:
    """Return what the checkers find wrong in a log."""
    checkers = (GroupChecker(), ReadCommittedChecker())
    for raw in events:
        event = decode(raw)
        for checker in checkers:
            checker.hear(raw[0], raw[3], event)
    for checker in checkers:
        yield from checker.problems

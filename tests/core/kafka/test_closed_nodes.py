"""A node's state is its own: no node reaches another node, or an object that another node can change, except by its address."""

from __future__ import annotations

import enum
import functools
import marshal
import types
from collections import deque
from collections.abc import Iterator
from typing import Any

import pytest

from core.kafka.controller.metadata_log import MetadataLog
from core.kafka.controller.quorum.committed_log import CommittedLog
from core.kafka.log.leader_term import Term
from core.kafka.release import Release
from core.kafka.topic_spec import TopicSpec
from core.lab import acts
from core.lab.cluster import Cluster
from core.lab.fingerprint_fields import LAB_FIELDS
from core.lab.spec import BrokerSpec, ClusterSpec
from core.sim.agenda import Agenda
from core.sim.journal import Journal
from core.sim.long_polling import LongPoll
from core.sim.network import Network
from core.sim.node import Node
from core.sim.random_stream import RandomStream
from core.sim.state.append_only_list import AppendOnlyList
from core.sim.state.fields import ATOMS, Declared, Fields, fields_of, is_frozen
from core.sim.state.fingerprint import Fingerprints
from core.sim.units import SECOND

KERNEL = (Agenda, Journal, LongPoll, Network)
"""The classes of the kernel, through which nodes exchange messages."""

HISTORIES = (AppendOnlyList, CommittedLog, MetadataLog, Term)
"""The histories that only grow, and are the same for all nodes. A node reads them up to the end that it has received."""

OBSERVERS = frozenset({"account", "observer"})
"""The fields that hold observers, which nodes tell what happens, and which never affect them."""

CONTAINERS = (dict, list, set, frozenset, tuple, deque)

PLANES: dict[str, tuple[str, dict[str, Any]]] = {
    "kraft": ("4.3", {}),
    "quorum": ("4.3", {"controllers": ("c1", "c2", "c3")}),
    "combined": ("3.6", {"controllers": ("b1", "b2", "b3")}),
    "zookeeper": ("2.8", {}),
    "zookeeper before 2.7": ("1.1", {}),
}


def build(plane: str, *, elides: bool = False, seq: int = 0) -> Cluster:
    """Build a cluster with clients of every kind."""
    release, fields = PLANES[plane]
    topics = tuple(TopicSpec(name, 2, 3) for name in ("orders", "out"))
    spec = ClusterSpec(tuple(BrokerSpec(broker) for broker in (1, 2, 3)), topics, **fields)
    cluster = Cluster(spec, Release.named(release), elide=elides)
    cluster.journal.seq += seq
    cluster.run_until(SECOND)
    cluster.do(acts.Load("orders", 50, producer="app"))
    cluster.do(acts.Consume("orders"))
    cluster.do(acts.JoinGroup(("orders",), "member", "group"))
    cluster.do(acts.InitTransactions("orders", "tx", producer="transactional"))
    cluster.do(acts.StartProcess("orders", "out", "process"))
    cluster.do(acts.StartRetryService("orders", ("1s",)))
    return cluster


def parts(value: Any) -> Iterator[tuple[str, Any]]:
    """Yield the objects to which an object refers, each with the name of the reference."""
    if isinstance(value, (types.MethodType, types.BuiltinMethodType)):
        yield ".__self__", value.__self__
    elif isinstance(value, types.FunctionType):
        yield from (
            (f".{name}", cell.cell_contents) for name, cell in zip(value.__code__.co_freevars, value.__closure__ or (), strict=True)
        )
        yield from ((".default", each) for each in value.__defaults__ or ())
    elif isinstance(value, functools.partial):
        yield from ((".argument", each) for each in (value.func, *value.args, *value.keywords.values()))
    elif isinstance(value, dict):
        yield from ((".key", key) for key in list(value))
        yield from ((f"[{key!r}]", each) for key, each in list(value.items()))
    elif isinstance(value, CONTAINERS):
        yield from (("[]", each) for each in list(value))
    elif isinstance(value, RandomStream):
        return
    else:
        for name in fields_of(type(value)):
            if name == "__dict__":
                yield from ((f".{key}", each) for key, each in value.__dict__.items())
            elif name not in OBSERVERS and hasattr(value, name):
                yield f".{name}", getattr(value, name)


def reached(node: Node, others: set[int]) -> dict[int, tuple[str, Any]]:
    """Return what a node reaches, with the path to it. The search does not go on at the kernel, at histories, and at other nodes."""
    found: dict[int, tuple[str, Any]] = {id(node): (node.address, node)}
    ahead = deque([node])
    while ahead:
        value = ahead.popleft()
        path = found[id(value)][0]
        for name, each in parts(value):
            if id(each) in found or type(each) in ATOMS or isinstance(each, (enum.Enum, *KERNEL, *HISTORIES)) or name[1:] in OBSERVERS:
                continue
            found[id(each)] = (path + name, each)
            if id(each) not in others:
                ahead.append(each)
    return found


def is_mutable(value: Any) -> bool:
    """Return whether an object has state of its own."""
    unchanging = (tuple, frozenset, types.MethodType, types.BuiltinMethodType, types.FunctionType, functools.partial)
    return not isinstance(value, unchanging) and not is_frozen(type(value))


@pytest.mark.parametrize("plane", PLANES)
def test_a_node_knows_other_nodes_only_by_their_addresses(plane: str) -> None:
    cluster = build(plane)
    cluster.run_until(5 * SECOND)
    assert sum(cluster.account.partitions[tp].acked_count for tp in cluster.account.partitions) > 50
    nodes = {id(node) for node in cluster.nodes.values()}
    found = {address: reached(node, nodes - {id(node)}) for address, node in cluster.nodes.items()}
    for address, node in cluster.nodes.items():
        assert [path for path, each in found[address].values() if id(each) in nodes and each is not node] == []
    owners: dict[int, str] = {}
    for mine in found.values():
        for number, (path, each) in mine.items():
            if is_mutable(each):
                assert owners.setdefault(number, path) == path, f"{type(each).__name__} is {owners[number]} and {path}"


TABLE = {
    **LAB_FIELDS,
    Journal: Declared(history=("now",)),
    **{history: Declared(wiring=fields_of(history)) for history in (CommittedLog, MetadataLog, Term)},
}
"""The rules for fingerprints of single nodes, which leave out the time and the shared histories."""


@pytest.mark.parametrize("plane", PLANES)
def test_the_handling_of_a_message_changes_one_node(plane: str) -> None:
    cluster = build(plane)
    cluster.do(acts.Kill(2))
    fingerprints = Fingerprints(cluster, table=TABLE)

    def forms() -> dict[str, bytes]:
        return {address: marshal.dumps(fingerprints.form_of(node, 0), 0) for address, node in cluster.nodes.items()}

    before = forms()
    for _ in range(400):
        node = cluster.agenda.entries[0].node
        cluster.step()
        now = forms()
        assert [address for address in now if address != node and now[address] != before[address]] == []
        before = now


@pytest.mark.parametrize("elides", [True, False])
@pytest.mark.parametrize("plane", PLANES)
def test_a_fingerprint_contains_no_sequence_numbers_of_events(plane: str, elides: bool) -> None:
    """The numbers of the events are higher in one of two runs; nothing else differs."""
    runs = build(plane, elides=elides), build(plane, elides=elides, seq=10**6)
    for run in runs:
        run.do(acts.Kill(2))
    first, second = (Fingerprints(run, table=LAB_FIELDS) for run in runs)
    for _ in range(60):
        for run in runs:
            for _ in range(20):
                run.step()
        assert first.form() == second.form()


def test_the_order_of_fields_in_a_fingerprint_does_not_depend_on_their_declaration() -> None:
    """Compiled classes list their fields in another order than the sources."""

    class Source:
        __slots__ = ("first", "last")

    class Compiled:
        __slots__ = ("first", "last")
        __mypyc_attrs__ = ("last", "first")

    assert Fields(Source, {}).names == Fields(Compiled, {}).names

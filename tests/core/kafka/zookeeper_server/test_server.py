"""The small ZooKeeper: versions, conditional writes, sequential and ephemeral znodes, one-shot watches, and session expiry."""

from __future__ import annotations

import random
from typing import Any

from core.kafka.zookeeper_server.protocol import (
    BAD_VERSION,
    NO_NODE,
    NODE_EXISTS,
    OK,
    SESSION_EXPIRED,
    CloseRequest,
    CloseResponse,
    ConnectRequest,
    ConnectResponse,
    Create,
    Delete,
    GetChildren,
    GetData,
    Multi,
    Op,
    Result,
    SessionRequest,
    SessionResponse,
    SetData,
    WatchEvent,
)
from core.kafka.zookeeper_server.server import ZooKeeper
from core.sim.agenda import Agenda
from core.sim.journal import Journal
from core.sim.kernel_messages import Timer
from core.sim.network import Network

TIMEOUT = 6_000_000


class Bench:
    """A ZooKeeper, and clients b1 and b2 played by the test."""

    def __init__(self) -> None:
        self.journal = Journal()
        self.agenda = Agenda()
        network = Network(self.agenda, 0, 0, 0, random.Random(0))
        network.alive |= {"b1": True, "b2": True}
        self.writes: list[tuple[str, Any, int]] = []
        self.zookeeper = ZooKeeper(network, self.journal, by_hand=False, observer=self._written)

    def _written(self, path: str, data: Any, version: int, created: int) -> int:
        self.writes.append((path, data, version))
        return 0

    def run(self, until: int) -> dict[str, list[object]]:
        """Let time pass, and return what the clients received."""
        got: dict[str, list[object]] = {"b1": [], "b2": []}
        while (due := self.agenda.next_time()) is not None and due <= until:
            entry = self.agenda.pop()
            self.journal.now = entry.time
            if entry.node == self.zookeeper.address:
                assert isinstance(entry.message, Timer)
                self.zookeeper.handle(entry.message, entry.sender)
            else:
                got[entry.node].append(entry.message)
        self.journal.now = until
        return got

    def ask(self, client: str, message: object) -> list[object]:
        """Return what a client receives for a message, including watch events."""
        self.zookeeper.handle(message, client)
        return self.run(self.journal.now)[client]

    def session(self, client: str) -> int:
        """Open a session."""
        (answer,) = self.ask(client, ConnectRequest(TIMEOUT))
        assert isinstance(answer, ConnectResponse)
        return answer.session

    def do(self, client: str, session: int, *ops: Op) -> tuple[Result, ...]:
        """Execute operations, and return their results."""
        answers = [answer for answer in self.ask(client, SessionRequest(session, 1, ops)) if isinstance(answer, SessionResponse)]
        return answers[0].results


def test_a_write_counts_only_at_its_version() -> None:
    bench = Bench()
    one = bench.session("b1")
    made, again = bench.do("b1", one, Create("/a/b", "x"), Create("/a/b", "y"))
    assert (made.error, made.version, again.error) == (OK, 0, NODE_EXISTS)
    first, second = bench.do("b1", one, SetData("/a/b", "x1", 0), SetData("/a/b", "x2", 0))
    assert (first.error, first.version, second.error) == (OK, 1, BAD_VERSION)
    (read,) = bench.do("b1", one, GetData("/a/b"))
    assert (read.data, read.version) == ("x1", 1)
    assert bench.do("b1", one, SetData("/none", 1))[0].error == NO_NODE
    assert bench.do("b1", one, Delete("/a/b"), GetData("/a/b"))[1].error == NO_NODE
    assert bench.writes == [("/a/b", "x", 0), ("/a/b", "x1", 1), ("/a/b", None, -1)]


def test_a_multi_writes_only_while_its_check_holds() -> None:
    bench = Bench()
    one = bench.session("b1")
    bench.do("b1", one, Create("/controller_epoch", 1), Create("/state", "old"))
    assert bench.do("b1", one, Multi("/controller_epoch", 0, SetData("/state", "new", 0)))[0].error == OK
    bench.do("b1", one, SetData("/controller_epoch", 2))
    (fenced,) = bench.do("b1", one, Multi("/controller_epoch", 0, SetData("/state", "zombie", 1)))
    assert (fenced.error, fenced.fenced) == (BAD_VERSION, True)
    assert bench.do("b1", one, GetData("/state"))[0].data == "new"


def test_sequential_znodes_count_on() -> None:
    bench = Bench()
    one = bench.session("b1")
    bench.do("b1", one, Create("/n/c_", 1, sequential=True), Create("/n/c_", 2, sequential=True), Delete("/n/c_0000000000"))
    bench.do("b1", one, Create("/n/c_", 3, sequential=True))
    assert bench.do("b1", one, GetChildren("/n"))[0].data == ("c_0000000001", "c_0000000002")


def test_a_watch_fires_once() -> None:
    bench = Bench()
    one, two = bench.session("b1"), bench.session("b2")
    bench.do("b1", one, GetData("/x", watch=True), GetChildren("/dir", watch=True))
    bench.zookeeper.handle(SessionRequest(two, 1, (Create("/x", 1), SetData("/x", 2), Create("/dir/a"), Create("/dir/b"))), "b2")
    assert bench.run(0)["b1"] == [WatchEvent(one, "/x"), WatchEvent(one, "/dir")]


def test_a_silent_session_expires_with_its_ephemeral_znodes() -> None:
    bench = Bench()
    one, two = bench.session("b1"), bench.session("b2")
    bench.do("b1", one, Create("/ids/1", ephemeral=True), Create("/kept"))
    bench.do("b2", two, GetChildren("/ids", watch=True))
    bench.run(TIMEOUT // 2)
    bench.do("b2", two)
    bench.run(TIMEOUT)
    assert bench.do("b2", two, GetChildren("/ids"))[0].data == ("1",)
    assert bench.run(TIMEOUT + 1)["b2"] == [WatchEvent(two, "/ids")]
    assert bench.do("b2", two, GetChildren("/ids"), GetData("/kept"))[0].data == ()
    assert bench.do("b2", two, GetData("/kept"))[0].error == OK
    (answer,) = bench.ask("b1", SessionRequest(one, 2, (GetData("/kept"),)))
    assert isinstance(answer, SessionResponse)
    assert answer.error == SESSION_EXPIRED


def test_pings_keep_a_session_and_closing_ends_it_at_once() -> None:
    bench = Bench()
    one = bench.session("b1")
    bench.do("b1", one, Create("/ids/1", ephemeral=True))
    for turn in range(1, 6):
        bench.run(turn * TIMEOUT // 2)
        bench.do("b1", one)
    assert one in bench.zookeeper.sessions
    assert bench.ask("b1", CloseRequest(one)) == [CloseResponse()]
    assert "/ids/1" not in bench.zookeeper.znodes

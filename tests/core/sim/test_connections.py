"""Connections keep the order in which messages were sent, whatever the properties of their link, as TCP does (FIFO in each direction), and
end after what was sent.
"""

from __future__ import annotations

import random

import pytest

from core.sim.agenda import Agenda
from core.sim.journal import Journal
from core.sim.kernel_messages import Disconnected
from core.sim.network import RETRANSMISSION, Network
from core.sim.node import Node
from core.sim.simulation import Simulation

A_TO_B = ("a", "b")


class Wire:
    """A network of two nodes whose messages are numbers, and a clock for their delivery."""

    def __init__(self, jitter: int = 0, loss_ppm: int = 0, seed: int = 0, **of_proxy: int) -> None:
        self.agenda = Agenda()
        proxied = frozenset({int}) if of_proxy else frozenset()
        self.network = Network(self.agenda, 100, jitter, loss_ppm, random.Random(seed), proxied=proxied, **of_proxy)
        self.network.alive.update(a=True, b=True)
        self.now = 0
        self.sent = 0
        self.handled: dict[str, list[object]] = {"a": [], "b": []}

    def send(self, count: int = 1, every: int = 10, sender: str = "a", node: str = "b") -> None:
        """Send the next numbers at intervals of the given number of µs."""
        for _ in range(count):
            self.sent += 1
            self.network.send(sender, node, self.sent, self.now, 0)
            self.now += every

    def arrived(self, node: str = "b") -> list[object]:
        """Let everything arrive that is on its way, and take what the process of a node has handled since the last call."""
        while self.agenda.entries:
            entry = self.agenda.pop()
            self.now = max(self.now, entry.time)
            if self.network.receive(entry.sender, entry.node, entry.connection, entry.message, self.now, entry.cause):
                self.handled[entry.node].append(entry.message)
        handled, self.handled[node] = self.handled[node], []
        return handled

    def dies(self, node: str, *, power: bool = False) -> None:
        """End the process of a node, which had handled nothing since the last call of `arrived`."""
        self.network.process_died(node, self.now, 0, power=power)

    def starts(self, node: str) -> None:
        """Start the process of a node again."""
        self.network.process_started(node, self.now)


@pytest.mark.parametrize(("jitter", "loss_ppm"), [(0, 0), (5_000, 0), (0, 300_000), (5_000, 300_000)])
def test_jitter_and_loss_let_no_message_overtake_another(jitter: int, loss_ppm: int) -> None:
    for seed in range(5):
        wire = Wire(jitter, loss_ppm, seed)
        wire.send(200)
        assert wire.arrived() == list(range(1, 201))


def test_messages_of_one_moment_come_in_the_order_of_sending() -> None:
    wire = Wire(jitter=50)
    wire.send(100, every=0)
    assert wire.arrived() == list(range(1, 101))


def test_a_link_that_gets_quicker_lets_no_message_overtake() -> None:
    wire = Wire()
    wire.network.link(A_TO_B).latency = 10_000
    wire.send(5)
    wire.network.link(A_TO_B).latency = 10
    wire.send(5)
    assert wire.arrived() == list(range(1, 11))


def test_a_cut_link_hands_on_what_waited_before_what_comes_then() -> None:
    wire = Wire(jitter=5_000)
    wire.send(3)
    assert wire.network.cut(A_TO_B)
    wire.send(3)
    assert wire.arrived() == [1, 2, 3], "what was on its way arrives"
    assert wire.network.heal(A_TO_B, wire.now)
    wire.send(3)
    assert wire.arrived() == [4, 5, 6, 7, 8, 9]


def test_what_is_held_goes_in_order_also_by_parts_and_what_comes_meanwhile_waits_behind() -> None:
    wire = Wire(jitter=5_000)
    assert wire.network.hold(A_TO_B)
    wire.send(4)
    assert wire.network.release(A_TO_B, wire.now, 2) == 2
    wire.send(2)
    assert wire.arrived() == [1, 2]
    assert wire.network.release(A_TO_B, wire.now) == 4
    wire.send(1)
    assert wire.arrived() == [3, 4, 5, 6, 7]


def test_held_and_cut_at_once_goes_on_only_when_both_are_over() -> None:
    wire = Wire()
    wire.network.hold(A_TO_B)
    wire.network.cut(A_TO_B)
    wire.send(3)
    wire.network.heal(A_TO_B, wire.now)
    assert wire.arrived() == []
    wire.network.release(A_TO_B, wire.now)
    assert wire.arrived() == [1, 2, 3]


def test_the_other_direction_has_an_order_of_its_own() -> None:
    wire = Wire()
    wire.network.link(A_TO_B).latency = 10_000
    wire.send(1)
    wire.send(1, sender="b", node="a")
    assert min(wire.agenda.entries).node == "a"


def test_only_a_proxy_lets_later_requests_overtake() -> None:
    wire = Wire(reorder_ppm=300_000)
    wire.send(100, every=1_000)
    arrived = wire.arrived()
    assert arrived != sorted(arrived)  # type: ignore[type-var]
    assert sorted(arrived) == list(range(1, 101))  # type: ignore[type-var]


# --- the ends of connections -----------------------------------------------------------------------------------------


def test_what_a_killed_process_had_sent_arrives_before_the_end_of_its_connection() -> None:
    wire = Wire(jitter=5_000, loss_ppm=300_000)
    wire.send(5)
    wire.dies("a")
    assert wire.arrived() == [1, 2, 3, 4, 5, Disconnected("a")]


def test_what_a_killed_process_had_sent_crosses_a_cut_link_when_it_heals() -> None:
    wire = Wire()
    wire.network.cut(A_TO_B)
    wire.send(2)
    wire.dies("a")
    assert wire.arrived() == []
    wire.starts("a")
    wire.send(1)
    wire.network.heal(A_TO_B, wire.now)
    assert wire.arrived() == [1, 2, Disconnected("a"), 3]


def test_a_reply_of_a_killed_process_arrives_before_the_end_of_the_connection() -> None:
    wire = Wire()
    wire.send(1)
    assert wire.arrived() == [1]
    wire.network.send("b", "a", "reply", wire.now, 0, reply=True)
    wire.dies("b")
    assert wire.arrived("a") == ["reply", Disconnected("b")]


def test_a_process_does_not_see_what_was_sent_to_the_process_before_it() -> None:
    wire = Wire()
    wire.send(2)
    wire.dies("b")
    wire.starts("b")
    wire.send(1)
    assert wire.arrived() == []
    assert wire.arrived("a") == [Disconnected("b")]
    wire.send(1)
    assert wire.arrived() == [4]


def test_after_a_power_loss_what_had_left_the_machine_arrives_and_nothing_else() -> None:
    wire = Wire()
    wire.send(2)
    wire.network.cut(A_TO_B)
    wire.send(2)
    wire.dies("a", power=True)
    wire.network.heal(A_TO_B, wire.now)
    assert wire.arrived() == [1, 2]


def test_after_a_power_loss_a_message_that_was_lost_on_its_way_is_not_sent_again() -> None:
    arrived, sent_again = set(), set()
    for seed in range(20):
        wire = Wire(loss_ppm=500_000, seed=seed)
        wire.send(1)
        lost = wire.agenda.entries[0].time > RETRANSMISSION
        wire.dies("a", power=True)
        (sent_again if lost else arrived).add(tuple(wire.arrived()))
    assert (arrived, sent_again) == ({(1,)}, {()})


def test_what_is_held_in_the_network_arrives_although_its_sender_has_lost_its_power() -> None:
    wire = Wire()
    wire.network.hold(A_TO_B)
    wire.send(2)
    wire.dies("a", power=True)
    wire.network.release(A_TO_B, wire.now)
    assert wire.arrived() == [1, 2]


def test_nobody_learns_of_a_power_loss_until_the_machine_is_back() -> None:
    wire = Wire()
    wire.send(1)
    wire.dies("b", power=True)
    assert (wire.arrived(), wire.arrived("a")) == ([], [])
    wire.send(1)
    assert (wire.arrived(), wire.arrived("a")) == ([], [])
    wire.starts("b")
    assert (wire.arrived(), wire.arrived("a")) == ([], [Disconnected("b", only_opened=True)])
    wire.send(1)
    assert wire.arrived() == [3]


def test_after_the_return_of_a_machine_the_next_request_on_the_old_connection_is_reset() -> None:
    wire = Wire()
    wire.dies("b", power=True)
    wire.starts("b")
    assert wire.arrived("a") == []
    wire.send(1)
    assert (wire.arrived(), wire.arrived("a")) == ([], [Disconnected("b", only_opened=True)])


def test_a_refusal_waits_for_the_link_back() -> None:
    wire = Wire()
    wire.network.cut(("b", "a"))
    wire.dies("b")
    wire.send(1)
    assert wire.arrived("a") == []
    wire.network.heal(("b", "a"), wire.now)
    assert wire.arrived("a") == [Disconnected("b")]


@pytest.mark.parametrize("stall", ["cut", "hold"])
def test_an_opening_that_reaches_a_dead_process_after_a_stall_is_refused(stall: str) -> None:
    """Otherwise, its sender would wait for the connection forever, also after the process has started again."""
    wire = Wire()
    wire.dies("b")
    assert wire.arrived("a") == [Disconnected("b")]
    (wire.network.cut if stall == "cut" else wire.network.hold)(A_TO_B)
    wire.send(1)
    assert wire.arrived("a") == []
    if stall == "cut":
        wire.network.heal(A_TO_B, wire.now)
    else:
        wire.network.release(A_TO_B, wire.now)
    wire.starts("b")
    assert (wire.arrived(), wire.arrived("a")) == ([], [Disconnected("b", only_opened=True)])
    wire.send(1)
    assert wire.arrived() == [2]


def test_the_server_still_handles_what_a_client_sent_before_it_closed_the_connection() -> None:
    """TCP delivers what was sent. The replies to it are dropped, and do not reach the next connection."""
    for hold in (False, True):
        wire = Wire()
        if hold:
            wire.network.hold(A_TO_B)
        wire.send(2)
        wire.network.disconnect("a", "b")
        wire.network.release(A_TO_B, wire.now)
        assert wire.arrived() == [1, 2]
        wire.network.send("b", "a", "late reply", wire.now, 0, reply=True)
        assert wire.arrived("a") == []
        wire.send(1)
        assert wire.arrived() == [3]
        wire.network.send("b", "a", "reply", wire.now, 0, reply=True)
        assert wire.arrived("a") == ["reply"]


def test_a_server_that_closes_a_connection_does_not_read_it_any_longer() -> None:
    wire = Wire()
    wire.send(1)
    assert wire.arrived() == [1]
    wire.network.send("b", "a", "reply", wire.now, 0, reply=True)
    wire.send(1)
    wire.network.close("b", "a", wire.now, 0)
    assert (wire.arrived(), wire.arrived("a")) == ([], ["reply", Disconnected("b", only_opened=True)])
    wire.send(1)
    assert wire.arrived() == [3]


def test_a_held_request_does_not_reach_the_next_process_of_its_receiver() -> None:
    wire = Wire()
    wire.network.hold(A_TO_B)
    wire.send(2)
    wire.network.disconnect("a", "b")
    wire.dies("b")
    wire.starts("b")
    wire.send(1)
    wire.network.release(A_TO_B, wire.now)
    assert wire.arrived() == [3]


# --- new connections -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("greets", "trips"), [(False, 1), (True, 2)])
def test_a_new_connection_costs_round_trips_before_the_first_request(greets: bool, trips: int) -> None:
    wire = Wire()
    if greets:
        wire.network.greets.add("a")
    wire.network.disconnect("a", "b")
    wire.send(2, every=0)
    assert wire.arrived() == [1, 2]
    assert wire.now == (2 * trips + 1) * wire.network.latency
    wire.send(1, every=0)
    assert wire.arrived() == [3]
    assert wire.now == (2 * trips + 2) * wire.network.latency


def test_requests_do_not_leave_before_the_connection_is_open() -> None:
    """The handshake fails if either direction is cut. A client that gives up has sent nothing."""
    for direction in (A_TO_B, ("b", "a")):
        wire = Wire()
        wire.network.disconnect("a", "b")
        wire.network.cut(direction)
        wire.send(2)
        assert wire.arrived() == []
        wire.network.disconnect("a", "b")
        wire.send(1)
        wire.network.heal(direction, wire.now)
        assert wire.arrived() == [3]


def test_only_the_greeting_needs_the_process_at_the_other_end() -> None:
    for greets in (False, True):
        agenda = Agenda()
        lab = Simulation(Journal(), agenda, Network(agenda, 100, 0, 0, random.Random(0)))
        lab.nodes.update({address: Node(address, lab.network, lab.journal) for address in ("a", "b")})
        heard: set[object] = set()
        lab.nodes["b"].handlers[int] = lambda message, _, heard=heard: heard.add(message)
        if greets:
            lab.network.greets.add("a")
        lab.network.disconnect("a", "b")
        lab.pause("b")
        for request in (1, 2):
            lab.nodes["a"].send("b", request)
            lab.run_until(lab.now + 1_000)
            lab.network.disconnect("a", "b")
        lab.resume("b")
        lab.run_until(lab.now + 1_000)
        assert heard == (set() if greets else {1, 2})

"""Connections keep the order in which messages were sent, whatever the properties of their link, as TCP does (FIFO in each direction)."""

from __future__ import annotations

import random

import pytest

from core.sim.agenda import Agenda
from core.sim.network import Network

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

    def send(self, count: int = 1, every: int = 10, sender: str = "a", node: str = "b") -> None:
        """Send the next numbers at intervals of the given number of µs."""
        for _ in range(count):
            self.sent += 1
            self.network.send(sender, node, self.sent, self.now, 0)
            self.now += every

    def arrived(self, node: str = "b") -> list[object]:
        """Take the messages that arrive at a node on open connections, in order."""
        entries = sorted(entry for entry in self.agenda.entries if entry.node == node)
        for entry in entries:
            self.agenda.entries.remove(entry)
        return [entry.message for entry in entries if self.network.is_open(entry.sender, entry.node, entry.connection)]


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


def test_a_connection_that_was_given_up_brings_nothing_more() -> None:
    wire = Wire()
    wire.send(2)
    wire.network.disconnect("a", "b")
    wire.send(1)
    assert wire.arrived() == [3]


def test_only_a_proxy_lets_later_requests_overtake() -> None:
    wire = Wire(reorder_ppm=300_000)
    wire.send(100, every=1_000)
    arrived = wire.arrived()
    assert arrived != sorted(arrived)  # type: ignore[type-var]
    assert sorted(arrived) == list(range(1, 101))  # type: ignore[type-var]


def test_a_request_in_the_network_survives_its_sender_closing_the_connection() -> None:
    wire = Wire()
    wire.network.hold(A_TO_B)
    wire.send(2)
    wire.network.disconnect("a", "b")
    wire.send(1)
    wire.network.release(A_TO_B, wire.now)
    assert wire.arrived() == [1, 2, 3]


def test_a_held_request_does_not_reach_the_next_process_of_its_receiver() -> None:
    wire = Wire()
    wire.network.hold(A_TO_B)
    wire.send(2)
    wire.network.disconnect("a", "b")
    wire.network.process_died("b", wire.now, 0)
    wire.network.alive["b"] = True
    wire.send(1)
    wire.network.release(A_TO_B, wire.now)
    assert wire.arrived() == [3]

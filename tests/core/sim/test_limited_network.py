"""Network interfaces with a limited bandwidth: nothing is lost or idle, and as much passes as a fluid would."""

from __future__ import annotations

from collections.abc import Callable
from itertools import accumulate
from typing import Final

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from core.sim.agenda import Agenda
from core.sim.kernel_messages import Arriving
from core.sim.limited_network import Interface, LimitedNetwork
from core.sim.random_stream import RandomStream
from core.sim.units import SECOND

LATENCY: Final = 100

Sent = tuple[int, str, str, int]
"""A message: the time at which it is sent, its sender, its receiver, and its size."""


def carried(sent: list[Sent], rates: dict[str, int], until: int | None = None) -> tuple[LimitedNetwork, list[tuple[int, Sent]]]:
    """Send messages, and return the network and the time at which each arrived, in order of arrival."""
    agenda = Agenda()
    size_of: Callable[[object], int] = lambda message: message[3] if isinstance(message, tuple) else 0  # noqa: E731
    network = LimitedNetwork(agenda, LATENCY, 0, 0, RandomStream("network"), rates, size_of, {}, {})
    network.alive.update(dict.fromkeys("abcd", True))
    left = sorted(sent, key=lambda each: each[0])
    arrived = []
    while left or agenda.entries:
        if left and (not agenda.entries or left[0][0] <= agenda.entries[0].time):
            message = left.pop(0)
            network.send(message[1], message[2], message, message[0], 0)
            continue
        if until is not None and agenda.entries[0].time > until:
            break
        entry = agenda.pop()
        if network.receive(entry.sender, entry.node, entry.connection, entry.message, entry.time, 0):
            arrived.append((entry.time, entry.message))
    return network, arrived


def fluid(arrivals: list[tuple[int, int]], rate: int) -> float:
    """Return when a fluid has passed a pipe of this rate, if amounts come at given times: the maximum over all starts of a busy period."""
    return max(time + sum(size for later, size in arrivals if later >= time) * SECOND / rate for time, _ in arrivals)


MESSAGES = st.lists(
    st.tuples(st.integers(0, 20_000), st.sampled_from("ab"), st.sampled_from("cd"), st.integers(0, 50_000)), min_size=1, max_size=30
)


@settings(max_examples=60, deadline=None)
@given(MESSAGES, st.integers(1_000_000, 50_000_000), st.integers(1_000_000, 50_000_000))
def test_as_much_passes_as_a_fluid_would(sent: list[Sent], out: int, into: int) -> None:
    network, arrived = carried(sent, {"a": out, "b": out, "c": into, "d": into})
    assert sorted(message for _, message in arrived) == sorted(sent), "nothing is lost, and nothing comes twice"
    for sender, receiver in ("ac", "ad", "bc", "bd"):
        between = [message for _, message in arrived if message[1:3] == (sender, receiver)]
        assert between == [each for each in sorted(sent, key=lambda each: each[0]) if each[1:3] == (sender, receiver)], "in order"
    for sender in "ab":
        own = [(time, size) for time, name, _, size in sent if name == sender]
        if own:
            last = max(time for time, message in arrived if message[1] == sender)
            assert last >= fluid(own, out) + LATENCY - 1, "an interface sends no more than its rate"
    for receiver in "cd":
        mine = [(time, size) for time, _, name, size in sent if name == receiver]
        if mine:
            last = max(time for time, message in arrived if message[2] == receiver)
            assert last >= fluid([(time + LATENCY, size) for time, size in mine], into) - 1, "it receives no more than its rate"
    assert sum(each.carried for each in network.sending.values()) == sum(size for *_, size in sent)
    assert sum(each.carried for each in network.receiving.values()) == sum(size for *_, size in sent)


@settings(max_examples=40, deadline=None)
@given(MESSAGES, st.integers(1_000_000, 50_000_000), st.integers(0, 40_000))
def test_bytes_that_were_sent_have_arrived_or_are_under_way(sent: list[Sent], rate: int, until: int) -> None:
    network, arrived = carried(sent, dict.fromkeys("abcd", rate), until)
    gone = sum(each.carried for each in network.sending.values())
    here = sum(size for _, (*_, size) in arrived)
    under_way = sum(entry.message.size if isinstance(entry.message, Arriving) else entry.message[3] for entry in network.agenda.entries)
    assert gone == here + under_way


@settings(max_examples=60, deadline=None)
@given(st.lists(st.tuples(st.integers(0, 900_000), st.integers(1, 2_000_000)), min_size=1, max_size=20), st.integers(1, 3_000_000))
def test_what_passes_in_a_second_is_at_most_the_rate_and_is_all_that_was_accepted(steps: list[tuple[int, int]], rate: int) -> None:
    """Reading the utilization in between changes nothing, and the seconds add up to everything that is through."""
    interface, often = Interface(rate), Interface(rate)
    accepted = list(accumulate(steps, lambda at, step: (at[0] + step[0], step[1])))
    seconds = []
    for second in range(accepted[-1][0] // SECOND + 2):
        for time, size in accepted:
            if second * SECOND <= time < (second + 1) * SECOND:
                assert interface.carry(size, time) == often.carry(size, time)
                often.last_second(time)
        end = (second + 1) * SECOND
        seconds.append(often.last_second(end))
        assert 0 <= seconds[-1] <= rate
        assert often.last_second(end + SECOND - 1) == seconds[-1], "until the next second is full"
    whole = interface.carried - interface.waiting(len(seconds) * SECOND)
    assert whole <= sum(seconds) + len(seconds)
    assert sum(seconds) <= whole + 1
    assert interface.last_second(len(seconds) * SECOND) == seconds[-1]


def test_the_utilization_of_a_steady_stream_is_its_bits_by_the_bandwidth() -> None:
    """1,000 bytes every 4 ms are 250,000 bytes per second: a quarter of 8 Mb/s. What comes faster than the rate uses all of it."""
    interface = Interface(8_000_000 // 8)
    for time in range(0, 3 * SECOND, 4_000):
        interface.carry(1_000, time)
    assert [interface.last_second(time) * 8 for time in (3 * SECOND - 1, 3 * SECOND)] == [2_000_000, 2_000_000]
    interface.carry(2_500_000, 3 * SECOND)
    used = [interface.last_second(3 * SECOND + after * SECOND) for after in (0, 1, 2, 3, 4, 5)]
    assert used == [250_000, 1_000_000, 1_000_000, 500_000, 0, 0]
    assert [interface.waiting(3 * SECOND + after * SECOND) for after in (0, 1, 2, 3)] == [2_500_000, 1_500_000, 500_000, 0]


@pytest.mark.parametrize(("out", "into"), [(1_000_000, 4_000_000), (4_000_000, 1_000_000), (1_000_000, 1_000_000)])
def test_an_interface_is_never_idle_while_a_message_waits(out: int, into: int) -> None:
    """100 messages of 1,000 bytes pass the slower of both interfaces in 100 ms. What is sent by one is received by the other meanwhile."""
    _, arrived = carried([(0, "a", "c", 1_000)] * 100, {"a": out, "c": into})
    faster = 1_000 * SECOND // max(out, into) if out != into and out > into else 0
    assert arrived[-1][0] == 100 * 1_000 * SECOND // min(out, into) + LATENCY
    assert faster <= arrived[0][0]


def test_what_a_machine_without_power_had_not_sent_is_lost() -> None:
    agenda = Agenda()
    network = LimitedNetwork(agenda, LATENCY, 0, 0, RandomStream("network"), {"a": 1_000_000}, lambda message: 1_000, {}, {})
    network.alive.update(a=True, c=True)
    for number in range(10):
        network.send("a", "c", number, 0, 0)
    network.process_died("a", 3_500, 0, power=True)
    assert [entry.message.message for entry in sorted(agenda.entries)] == [0, 1, 2]
    assert network.backlogs(3_500) == ()

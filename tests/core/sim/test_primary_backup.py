"""A protocol without any code for snapshots supports snapshots, and a search over everything that can happen to it."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from core.sim.exploration.choices import Choice, act, enabled, take
from core.sim.exploration.search import search
from core.sim.random_stream import RandomStream
from core.sim.state.fingerprint import Fingerprints
from core.sim.state.snapshot import Snapshots
from tests.core.sim.primary_backup import Toy

HERE = Path(__file__)
ROOT = HERE.parents[3]


def faults(toy: Toy) -> list[Choice]:
    """Return the possible faults: either server can be killed, but only one."""
    if not all(toy.network.alive.values()):
        return []
    return [act(f"kill {server.address}", lambda server=server: toy.kill(server)) for server in toy.servers]


def choose(toy: Toy, *names: str) -> None:
    """Take choices by their names."""
    for name in names:
        (choice,) = [each for each in enabled(toy, faults(toy), until=1000) if each.name == name]
        take(toy, choice)


def test_it_is_short() -> None:
    assert len((HERE.parent / "primary_backup.py").read_text().splitlines()) < 150


def test_rewound_it_does_the_same_again() -> None:
    events: list[Any] = []
    toy = Toy(hasty=False, values=5, sink=events.append)
    toy.run_until(25)
    snapshot = Snapshots().take(toy)
    before = len(events)
    toy.kill(toy.servers[0])
    toy.run_until(100)
    first = events[before:]
    assert ("primary", "b") in [event[3:5] for event in first]
    snapshot.restore()
    assert (toy.now, toy.servers[0].values, toy.client.acknowledged) == (25, [1, 2], {1})
    del events[before:]
    toy.run_until(100)
    unhurt = events[before:]
    assert toy.client.acknowledged == {1, 2, 3, 4, 5}
    snapshot.restore()
    del events[before:]
    toy.kill(toy.servers[0])
    toy.run_until(100)
    assert events[before:] == first != unhurt


def test_a_snapshot_is_not_touched_by_what_happens_later() -> None:
    toy = Toy(hasty=False)
    fingerprints = Fingerprints(toy)
    snapshot, fingerprint = Snapshots().take(toy), fingerprints.take()
    for _ in range(2):
        toy.run_until(100)
        toy.kill(toy.servers[1])
        assert fingerprints.take() != fingerprint
        snapshot.restore()
        assert fingerprints.take() == fingerprint


def test_the_planted_bug_is_found() -> None:
    toy = Toy(hasty=True)
    outcome = search(toy, toy.lost, lambda: faults(toy), until=1000)
    print(outcome)
    assert outcome.bad == "lost [1]"
    assert outcome.path == (
        "client: timer write", "client → a: Write", "a → client: reply Written", "kill a", "a → b: reply Disconnected",
    )  # fmt: skip


def test_the_right_version_has_none() -> None:
    toy = Toy(hasty=False)
    before = Fingerprints(toy).take()
    outcome = search(toy, toy.lost, lambda: faults(toy), until=1000)
    print(outcome)
    assert outcome.complete
    assert not outcome.bad
    assert 100 < outcome.states < 2000
    assert Fingerprints(toy).take() == before


def test_a_message_waits_for_those_before_it_on_its_connection() -> None:
    toy = Toy(hasty=False)
    choose(toy, "client: timer write", "client: timer write")
    assert [each.name for each in enabled(toy)] == ["client → a: Write"]
    choose(toy, "client → a: Write", "client → a: Write", "a → b: Copy")
    assert toy.servers[0].values == [1, 2]
    assert toy.servers[1].values == [1]
    assert [each.name for each in enabled(toy)] == ["a → b: Copy", "b → a: reply Copied"]


def test_time_passes_only_as_far_as_allowed() -> None:
    toy = Toy(hasty=False)
    assert enabled(toy) == []
    assert enabled(toy, until=9) == []
    assert [each.name for each in enabled(toy, until=10)] == ["client: timer write"]


def test_what_a_dead_process_was_sent_may_not_happen() -> None:
    toy = Toy(hasty=False)
    choose(toy, "client: timer write", "kill a")
    assert [each.name for each in enabled(toy)] == ["a → b: reply Disconnected", "a → client: reply Disconnected"]


def test_the_end_of_connections_comes_after_all_that_a_dead_process_had_sent() -> None:
    toy = Toy(hasty=False)
    choose(toy, "client: timer write", "client: timer write", "client → a: Write", "kill a")
    assert [each.name for each in enabled(toy)] == ["a → b: Copy on connection 0", "a → client: reply Disconnected"]
    choose(toy, "a → b: Copy on connection 0")
    assert toy.servers[1].values == [1]
    assert [each.name for each in enabled(toy)] == ["a → b: reply Disconnected", "a → client: reply Disconnected"]


def test_a_paused_node_does_nothing() -> None:
    toy = Toy(hasty=False)
    choose(toy, "client: timer write")
    toy.paused["a"] = (toy.now, [])
    assert enabled(toy) == []


def by_detour(*, detour: bool) -> Toy:
    """Return the same state, reached in another order and at another time."""
    toy = Toy(hasty=False)
    if detour:
        toy.journal.emit("something", 1)
        toy.journal.now = 1_000
        toy.agenda.entries[:] = [entry._replace(time=entry.time + 1_000) for entry in toy.agenda.entries]
    choose_from = ["a → b: Copy", "b → a: reply Copied"]
    choose(toy, *(["client: timer write"] if not detour else []))
    if detour:
        toy.step()
    choose(toy, "client → a: Write", *choose_from)
    return toy


def test_a_fingerprint_forgets_history_and_absolute_time() -> None:
    assert Fingerprints(by_detour(detour=False)).form() == Fingerprints(by_detour(detour=True)).form()


def test_a_fingerprint_tells_what_makes_a_difference() -> None:
    marks = set()
    for names in ((), ("kill a",), ("kill b",), ("client: timer write",), ("client: timer write", "client → a: Write")):
        toy = Toy(hasty=False)
        choose(toy, *names)
        marks.add(Fingerprints(toy).take())
    assert len(marks) == 5


def fingerprint_with_random() -> str:
    """Return the fingerprint of the toy and a source of random numbers, which is also state."""
    return Fingerprints(by_detour(detour=True), RandomStream("5")).take().hex()


@pytest.mark.parametrize("seed", ["1", "2"])
def test_a_fingerprint_is_the_same_in_every_process(seed: str) -> None:
    code = "from tests.core.sim.test_primary_backup import fingerprint_with_random; print(fingerprint_with_random())"
    told = subprocess.run(
        [sys.executable, "-c", code], env={"PYTHONHASHSEED": seed}, cwd=ROOT, capture_output=True, text=True, check=True
    ).stdout
    assert told.strip() == fingerprint_with_random()


def test_a_fingerprint_tells_how_far_random_numbers_are_drawn() -> None:
    toy, random = Toy(hasty=False), RandomStream("5")
    fingerprints = Fingerprints(toy, random)
    before = fingerprints.take()
    random.random()
    assert fingerprints.take() != before


def test_a_closure_is_refused() -> None:
    toy = Toy(hasty=False)
    value = toy.now
    toy.client.handlers = {}
    toy.client.hidden = lambda: value  # type: ignore[attr-defined]
    with pytest.raises(TypeError, match="a closure is part of a simulation's state"):
        Snapshots().take(toy)

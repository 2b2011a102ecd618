"""Elided long polls leave no trace, whatever happens to the nodes and the links between them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from core.sim.long_polling import Stage
from core.sim.state.fingerprint import Fingerprints
from core.sim.state.snapshot import Snapshots
from tests.core.sim.news_service import TIMEOUT, NewsService

CYCLE = 3 + 3 + 20
"""The time of an idle poll, in µs: to the server, back, and the wait."""

Step = tuple[int, str, int]
"""A time in µs, an action that follows, and the node or link that it affects."""


def play(steps: list[Step], *, elide: bool) -> tuple[list[Any], list[object]]:
    """Return the events, and what could be seen after each step."""
    events: list[Any] = []
    seen: list[object] = []
    service = NewsService(elide=elide, sink=events.append)
    snapshots = Snapshots()
    for wait, what, which in steps:
        service.run_until(service.now + wait)
        seen.append(service.seen())
        if what == "rewind":
            snapshot = snapshots.take(service)
            service.run_until(service.now + which)
            service.server.news()
            service.run_until(service.now + which)
            snapshot.restore()
        elif what == "copy":
            sink = service.journal.sink
            service = snapshots.take(service).copy()
            service.journal.sink = sink
        elif what == "until event":
            seq, end = service.journal.seq + 1 + which, service.now + CYCLE
            service.run_steps(1_000_000, seq, end)
            if service.journal.seq < seq:
                service.run_until(end)
        else:
            ACTS[what](service, which)
        seen.append(service.seen())
    service.run_until(service.now + 10 * CYCLE)
    return events, seen


def toggle_process(service: NewsService, which: int) -> None:
    node = (service.server, *service.clients)[which % 3]
    (service.start if not service.network.alive[node.address] else service.kill)(node)


def toggle_pause(service: NewsService, which: int) -> None:
    address = ("server", "c1", "c2")[which % 3]
    if address in service.paused:
        service.resume(address)
    elif service.network.alive[address]:
        service.pause(address)


def direction(which: int) -> tuple[str, str]:
    client = ("c1", "c2")[which % 2]
    return (client, "server") if which % 4 < 2 else ("server", client)


def toggle_cut(service: NewsService, which: int) -> None:
    if not service.network.cut(direction(which)):
        service.network.heal(direction(which), service.now)


def toggle_hold(service: NewsService, which: int) -> None:
    if not service.network.hold(direction(which)):
        service.network.release(direction(which), service.now)


def slow_down(service: NewsService, which: int) -> None:
    service.network.link(direction(which)).latency = 3 + which % 3


ACTS: dict[str, Callable[[NewsService, int], object]] = {
    "news": lambda service, _: service.server.news() if service.network.alive["server"] else None,
    "relabel": lambda service, which: service.clients[which % 2].relabel(),
    "allow": lambda service, which: service.clients[which % 2].allow((20, 0, 13, TIMEOUT)[which % 4]),
    "process": toggle_process,
    "pause": toggle_pause,
    "cut": toggle_cut,
    "hold": toggle_hold,
    "slow": slow_down,
    "disconnect": lambda service, which: service.network.disconnect(f"c{1 + which % 2}", "server"),
    "lose": lambda service, which: service.network.lose(*direction(which)),
    "interrupt": lambda service, _: service.network.polls.interrupt_all(),
}
WAITS = st.one_of(st.integers(0, 2 * CYCLE), st.sampled_from((0, CYCLE, 2 * CYCLE, 3 * CYCLE + 3, 7 * CYCLE)))
STEPS = st.tuples(WAITS, st.sampled_from([*ACTS, "news", "news", "rewind", "copy", "until event"]), st.integers(0, 11))


@given(st.lists(STEPS, max_size=30))
@settings(max_examples=300, deadline=None)
@example([(2 * CYCLE, what, which) for what in (*ACTS, "rewind", "copy", "until event") for which in (0, 1, 2, 3, 0, 1, 2, 3)])
@example([(0, "news", 0), (21, "cut", 0), (46, "cut", 0)])  # a request comes so late that its client gives up before the empty answer
def test_with_and_without_elision_the_same_happens(steps: list[Step]) -> None:
    events, seen = play(steps, elide=False)
    elided_events, elided_seen = play(steps, elide=True)
    assert elided_seen == seen
    assert elided_events == events


def idle(latency: int = 3) -> NewsService:
    service = NewsService(elide=True, latency=latency)
    service.run_until(4 * CYCLE)
    return service


def elided(service: NewsService) -> list[bool]:
    return [poll.elided for poll in service.network.polls]


def test_idle_polls_are_elided() -> None:
    service = idle()
    assert elided(service) == [True, True]
    service.run_until(1_000 * CYCLE)
    assert {getattr(entry.message, "name", "") for entry in service.agenda.entries} == {"audit"}, "only the server's own timer is due"


def test_every_stage_of_a_poll_is_known_without_playing_it() -> None:
    service, poll = idle(), None
    stages = []
    for _ in range(CYCLE):
        poll = next(iter(service.network.polls))
        stage, due = poll.stage()
        assert stage is not None
        assert service.now < due <= service.now + 20
        stages.append(stage)
        service.run_until(service.now + 1)
    assert [stages.count(stage) for stage in Stage] == [3, 3, 20]


@pytest.mark.parametrize(
    ("disturbed", "left"),
    [
        (lambda service: service.pause("c1"), [False, True]),
        (lambda service: service.pause("server"), [False, False]),
        (lambda service: service.network.cut(("c1", "server")), [False, True]),
        (lambda service: service.network.hold(("server", "c2")), [True, False]),
        (lambda service: service.network.disconnect("c2", "server"), [True, False]),
        (lambda service: service.network.lose("server", "c1"), [False, True]),
        (lambda service: service.kill(service.clients[0]), [False, True]),
        (lambda service: service.clients[1].relabel(), [True, False]),
        (lambda service: service.server.news(), [False, False]),
    ],
)
def test_whatever_disturbs_a_poll_ends_its_elision_and_no_other(disturbed: Callable[[NewsService], object], left: list[bool]) -> None:
    service = idle()
    disturbed(service)
    assert elided(service) == left


def test_elision_begins_again_when_all_is_quiet() -> None:
    service = idle()
    service.pause("c1")
    service.network.cut(("server", "c2"))
    service.run_until(service.now + TIMEOUT // 2)
    assert elided(service) == [False, False]
    service.resume("c1")
    service.network.heal(("server", "c2"), service.now)
    service.run_until(service.now + 4 * CYCLE)
    assert elided(service) == [True, True]


def test_after_an_interruption_the_next_wait_in_vain_is_elided() -> None:
    service = idle()
    client = service.clients[0]
    service.run_until(100 * CYCLE)
    while client.poll.stage()[0] is not Stage.WAIT:
        service.run_until(service.now + 1)
    asked, (_, due) = client.asked, client.poll.stage()
    service.network.polls.interrupt_all()
    service.run_until(due - 1)
    assert elided(service) == [False, False]
    assert not client.poll.elide_answer(client.poll.request._replace(number=0)), "it answers another request than the one that repeats"
    service.run_until(due)
    assert elided(service) == [True, True]
    assert client.asked == asked, "no answer was sent meanwhile"


def test_a_request_sent_before_the_turn_of_its_poll_has_left() -> None:
    """An item that precedes the poll's messages in the agenda makes the client send: the request is in flight from that time on."""
    service = idle()
    client = service.clients[0]
    client.relabel()
    service.run_until(service.now + CYCLE)
    client.poll.withdraw()
    service.agenda.at = client.poll.order - 1
    client.poll.send_idle(client, client.poll.request, 20, TIMEOUT)
    assert client.poll.stage() == (Stage.REQUEST, service.now + 3)
    assert client.poll.sent_at() == service.now


@pytest.mark.parametrize("prevented", ["latency 0", "the client would give up", "no wait"])
def test_a_poll_that_cannot_be_foreseen_is_played(prevented: str) -> None:
    service = NewsService(elide=True, latency=0 if prevented == "latency 0" else 3)
    for client in service.clients:
        client.allow({"the client would give up": TIMEOUT - 6, "no wait": 0}.get(prevented, 20))
    service.run_until(4 * CYCLE)
    assert elided(service) == [False, False]
    if prevented == "the client would give up":
        for client in service.clients:
            client.allow(TIMEOUT - 13)  # the first request on a new connection arrives a round trip later
        service.run_until(service.now + 4 * TIMEOUT)
        assert elided(service) == [True, True]


def test_a_fingerprint_depends_on_the_stage_and_not_on_how_often_the_cycle_went_round() -> None:
    service = idle()
    fingerprints = Fingerprints(service)
    service.server.timers.clear()
    marks = []
    for client in service.clients:
        client.sent_at = client.watch_at = 0
    service.agenda.entries.clear()
    for _ in range(2):
        marks.append([])
        for _ in range(CYCLE):
            service.run_until(service.now + 1)
            marks[-1].append(fingerprints.take())
    assert marks[0] == marks[1]
    assert len(set(marks[0])) == CYCLE

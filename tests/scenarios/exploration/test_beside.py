"""A search in a process of its own, and the evidence of a search."""

from __future__ import annotations

from core.sim.units import SECOND
from scenarios.exploration.evidence import evidence, evidence_as_data
from scenarios.exploration.execution.beside import SearchBeside, Told
from scenarios.exploration.exploration import Exploration
from scenarios.exploration.request import Request
from tests.scenarios.exploration.test_explore import start


def test_a_process_finds_the_same_and_tells_it() -> None:
    request = Request(start(acks="1"), "lost > 0", ("kill",), at_most=1, within=11 * SECOND)
    here = Exploration(request.start, request.bounds(), "session")
    for _ in here.steps():
        pass
    beside = SearchBeside(request)
    beside.begin()
    while not beside.ended:
        assert beside.poll(None)
    assert beside.failed == ""
    assert [each.as_data() for each in beside.found] == [each.as_data() for each in here.found] != []
    assert [(each.faults, each.runs, each.new, each.elections) for each in beside.layers] == [
        (each.faults, each.runs, each.new, each.elections) for each in here.layers
    ]
    assert not beside.poll(None)

    sections = dict(evidence(request, here.layers))
    assert sections["Menu"][0] == "kill: a broker's process dies (kill -9)"
    assert sections["Bounds"] == ["at most 1 fault", "11s of virtual time, from 0s to 11s"]
    assert sections["Workload"] == ["twice 2 records/s for each partition with acks=1"]
    assert sections["New situations by the last act"] == ["kill: 7", "no act: 5"]
    assert sections["Elections in the runs"] == ["from the ISR: 2"]
    assert evidence_as_data(request, here.layers)["elections"] == {"clean": 2}


def test_a_search_that_fails_says_why() -> None:
    beside = SearchBeside(Request(start(), "lost >"))
    beside.begin()
    while not beside.ended:
        beside.poll(None)
    assert "lost >" in beside.failed or "expected" in beside.failed, beside.failed
    beside = SearchBeside(Request(start(), "lost > 0"))
    beside.take_in(Told(ended=True, failed="no memory"))
    assert (beside.ended, beside.failed) == (True, "no memory")

"""Chains of causes lead to what was done, in the log and in everything that shows it."""

from __future__ import annotations

import itertools
import json
from collections import Counter
from pathlib import Path

import pytest

from core.kafka.events import EventTuple
from core.kafka.release import RELEASES
from core.lab import acts
from core.lab.act_sentences import sentence
from core.lab.cluster import Cluster
from core.lab.spec import BrokerSpec, ClusterSpec
from core.sim.disturbances import CUT, DEAD, HELD, PAUSED, SLOW, Disturbances
from core.sim.events import causes_of, first_cause
from core.sim.journal import MAX_CAUSES, Journal
from core.sim.units import SECOND
from scenarios.logs.line_decoder import LineDecoder
from scenarios.logs.line_encoder import encode_event
from scenarios.logs.log_reader import LogReader
from tests.core.properties.causes.__main__ import exit_code
from tests.core.properties.causes.chains import STARTS, Log, faults
from tests.core.properties.causes.counterfactual import PREVENTED, STAYS, WRONG, sample, some, verdicts
from tests.core.properties.causes.runs import GROUPS, LIBRARY, REPLICATION, TRANSACTIONS, Played, random_runs
from tui.cli import main
from tui.panels.inspector import paint_event_detail
from tui.rendering.palette import COLOR

CHAIN = """
scenario: chain
about: A leader dies with records that no other replica has, another replica becomes leader, and the former leader truncates its log.
cluster:
  brokers: 2
  topics:
    orders: {replicas: [[1, 2]], config: {unclean.leader.election.enable: true}}
  settings: {min.insync.replicas: 1}
timeline:
  - produce: {topic: orders, records: 5}
  - wait: 2s
    hold: [2, 1]
  - wait: 600ms
    produce: {topic: orders, records: 5, acks: 1}
  - wait: 100ms
    kill: 1
  - until: leader(orders-0) == 2
    within: 30s
  - release: [2, 1]
  - start: 1
  - until: isr(orders-0) == [1, 2]
    within: 60s
expect:
  - lost == 5
"""

ENDS_AT_THE_KILL = ["leader-elected", "broker-fenced", "broker-stopped", "act"]


def test_all_instruments_tell_the_same_chain(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    script, recorded, traced = tmp_path / "chain.yaml", tmp_path / "chain.jsonl", tmp_path / "trace.json"
    script.write_text(CHAIN)
    assert main(["run", str(script), "--log", str(recorded), "--json"]) == 0
    result = json.loads(capsys.readouterr().out)
    log = Log()
    for event in LogReader(recorded):
        log(event)
    lost, truncated = (next(event for event in log.events if event[3] == kind) for kind in ("records-lost", "truncated"))
    chain = log.chain(lost)
    assert [event[3] for event in chain] == ["records-lost", *ENDS_AT_THE_KILL]
    assert [event[3] for event in log.chain(truncated)] == ["truncated", *ENDS_AT_THE_KILL]
    assert chain[-1][4] == "kill"

    # `isrlab run` and `isrlab trace` name the event that the chain goes to first.
    assert f'"doomed_by": {chain[1][0]}' in json.dumps(result)
    assert main(["trace", str(recorded), "--record", "orders-0@7"]) == 0
    assert f"caused by event {chain[1][0]})" in capsys.readouterr().out

    # The inspector of the playground lists the sentences of the chain, in the same order.
    shown = " ".join(strip.text.strip() for strip in paint_event_detail(lost, log.find, COLOR, 1_000))
    assert [shown.index(sentence(event)) for event in chain] == sorted(shown.index(sentence(event)) for event in chain)
    assert shown.count(" because ") == len(chain) - 1

    # In Perfetto, the arrows lead along the same chain.
    assert main(["log", "export", str(recorded), "--perfetto", str(traced)]) == 0
    entries = json.loads(traced.read_text())["traceEvents"]
    at = {(entry["tid"], entry["ts"], entry["args"]["seq"]) for entry in entries if entry["ph"] == "X"}
    arrows = {entry["id"]: (entry["tid"], entry["ts"]) for entry in entries if entry["ph"] == "s"}
    for effect, cause in itertools.pairwise(chain):
        assert (*arrows[effect[0]], cause[0]) in at


def test_disturbances_are_ranked_by_how_much_they_explain() -> None:
    found = Disturbances()
    found.begin(("a", "b"), SLOW, 1, 0)
    found.begin("a", DEAD, 2, 50)
    found.begin(("b", "a"), HELD, 3, 20)
    found.end(("b", "a"), HELD, 30)
    found.begin(("a", "c"), CUT, 4, 0)
    assert found.why_silent("a", "b", 10, 100) == (2, 1, 3), "what lasted longer explains more"
    assert found.why_silent("a", "b", 40, 100) == (2, 1), "what ended before does not explain anything"
    assert found.current("a", DEAD) == 2
    found.end("a", DEAD, 110)
    assert found.current("a", DEAD) == 0
    assert found.anywhere(40, 109, among=lambda node: node != "c") == (2, 1, 4)
    found.begin(("b", "a"), SLOW, 8, 0)
    assert found.why_silent("d", "b", 40, 109) == (1, 4, 2), "nothing else is known: first what is near, then the rest"
    found.started("d", 9)
    assert Disturbances().why_silent("d", "e", 0, 9) == ()


def test_a_disturbance_explains_as_much_as_it_lasted() -> None:
    found = Disturbances()
    found.begin(("b", "a"), HELD, 1, 0)
    found.begin("a", DEAD, 2, 40)
    assert found.between("a", "b", 0, 100) == (1, 2)
    assert found.between("a", "b", 0, 100, one_way=True) == (2, 1), "an answer that is held explains less than a sender that is dead"
    found.begin("c", PAUSED, 3, 0)
    found.begin(("c", "b"), SLOW, 4, 0)
    assert found.around("b", ("a",), ("c",), 0, 100) == [(100, 0, 1), (60, 40, 2), (50, 0, 3), (25, 0, 4)]
    assert found.around("b", ("a", "c"), (), 0, 100) == [(100, 0, 1), (100, 0, 3), (60, 40, 2), (50, 0, 4)]
    assert found.touching("c", 0, 100) == (3, 4)


def test_an_event_can_have_several_causes() -> None:
    told: list[tuple] = []
    journal = Journal(told.append)
    for _ in range(8):
        journal.emit("act", "elect", "{}")
    journal.blame((3, 5, 7))
    journal.emit("act", "elect", "{}")
    journal.emit("act", "elect", "{}")
    assert [event[2] for event in told[-2:]] == [(3, 5, 7), 3], "the first cause is that of everything else"
    journal.blame(tuple(range(8, 0, -1)))
    journal.emit("act", "elect", "{}")
    assert causes_of(told[-1]) == (8, 7, 6, 5)[:MAX_CAUSES]
    journal.blame(())
    journal.emit_because(2, "act", "elect", "{}")
    assert told[-1][2] == (2, 8)
    assert first_cause(told[-1]) == 2
    assert journal.cause == 8


def test_an_event_with_several_causes_is_read_as_it_was_written() -> None:
    event = (9, 5, (8, 3), "act", "elect", "{}")
    line = encode_event(event)
    assert line == b'{"seq":9,"t":5,"cause":8,"kind":"act","act":"elect","args":"{}","more_causes":[3]}'
    assert LineDecoder(ClusterSpec((BrokerSpec(1),)))(line) == event
    assert LineDecoder(ClusterSpec((BrokerSpec(1),)))(line.replace(b',"more_causes":[3]', b"")) == (9, 5, 8, "act", "elect", "{}")


@pytest.mark.parametrize("run", [*random_runs(8), Played(REPLICATION, "15", "4.1")], ids=str)
def test_every_harm_leads_to_what_was_done(run: Played) -> None:
    log = run.play().log
    ends = {log.chain(harm)[-1][3] for harm in log.harms}
    assert ends <= STARTS
    assert not list(faults(log))


@pytest.mark.parametrize(
    ("run", "kind", "why", "act", "of"),
    [
        (Played(LIBRARY, "t8-marker-without-time", "2.7"), "append-refused", "link-held", "hold", '"old"'),
        (Played(LIBRARY, "d4-log-dir-failure", "3.7"), "produce-waiting", "log-dir-failed", "fail-dir", '"broker":1'),
    ],
    ids=str,
)
def test_the_first_cause_of_harm_is_what_happened_to_it(run: Played, kind: str, why: str, act: str, of: str) -> None:
    log = run.play().log
    chain = log.chain(next(harm for harm in log.harms if harm[3] == kind))
    assert chain[1][3] == why
    assert chain[-1][3:5] == ("act", act)
    assert of in chain[-1][5]


def test_a_session_ends_because_of_what_kept_the_heartbeats_away_not_because_of_what_happened_earlier() -> None:
    told: list[EventTuple] = []
    cluster = Cluster(ClusterSpec((BrokerSpec(1), BrokerSpec(2)), ()), RELEASES["4.3"], sink=told.append)
    for time, act in ((1, acts.Pause(2)), (2, acts.Resume(2)), (20, acts.Cut(("b2", "controller")))):
        cluster.run_until(time * SECOND)
        cluster.do(act)
    cluster.run_until(40 * SECOND)
    fenced = next(event for event in told if event[3] == "broker-fenced")
    assert [told[cause - 1][3] for cause in causes_of(fenced)] == ["link-cut"]


def test_a_move_changes_the_leader_not_the_fetch_that_completes_it() -> None:
    log = Played(REPLICATION, "12", "3.7").play().log
    chain = log.chain(next(harm for harm in log.harms if harm[3] == "append-refused" and harm[1] == 9_743_339))
    assert [event[3] for event in chain] == ["append-refused", "leader-elected", "act"]
    assert chain[-1][4] == "reassign"


def test_the_cause_of_a_deletion_by_age_is_the_setting() -> None:
    log = Played(LIBRARY, "t6-retention-forgets-producer", "1.1").play().log
    chain = log.chain(next(harm for harm in log.harms if harm[3] == "append-refused"))
    assert [event[3] for event in chain] == ["append-refused", "segments-deleted", "topic-created"]
    assert chain[-1][4] == "orders"


@pytest.mark.parametrize(
    ("run", "kind", "time", "act", "of"),
    [
        # The leader waits for a held fetch first, and only then for a dead follower.
        (Played(LIBRARY, "t14-unreplicated-coordinator-state", "4.3"), "produce-waiting", 7_000_000, "hold", '"b5","b2"'),
        # The leader of a partition in a directory that works waits for a follower that died.
        (Played(LIBRARY, "d4-zookeeper-log-dir-failure", "2.8"), "produce-waiting", 12_050_000, "kill", '"broker":1'),
        # A link that is set to what it is already does not become slower.
        (Played(REPLICATION, "11", "3.6"), "produce-waiting", 28_200_000, "link", '"loss-ppm":300000'),
        # A broker that has not heard of its own election refuses because of that election, not of the one before.
        (Played(REPLICATION, "16", "4.2"), "append-refused", 99_602_500, "shutdown", '"broker":1'),
        # The controller needs a broker's heartbeats, not the broker the answers.
        (Played(REPLICATION, "10", "3.3"), "broker-fenced", 19_239_704, "kill", '"broker":2'),
        # A broker that starts is told of the state that an earlier death left.
        (Played(TRANSACTIONS, "5", "2.7"), "leader-unavailable", 31_196_432, "kill", '"broker":1'),
        # A leader changes because it died itself, not because of another broker whose death the controller handles at the same time.
        (Played(TRANSACTIONS, "0", "0.11"), "append-refused", 17_679_793, "pause", '"broker":3'),
        # A retry comes late because the first attempt was held.
        (Played(LIBRARY, "t8-marker-without-time", "2.7"), "append-refused", 610_002_500, "hold", '"old","b1"'),
        # A retry duplicates because the first attempt failed, not the last one.
        (Played(LIBRARY, "d4-zookeeper-log-dir-failure", "2.8"), "records-duplicated", 49_136_501, "kill", '"broker":1'),
    ],
    ids=lambda value: str(value),
)
def test_harm_leads_to_what_was_necessary(run: Played, kind: str, time: int, act: str, of: str) -> None:
    recording = run.play()
    harm = next(each for each in recording.log.harms if each[3] == kind and each[1] == time)
    end = recording.log.chain(harm)[-1]
    assert end[3:5] == ("act", act)
    assert of in end[5]
    assert verdicts(run, recording, [harm])[0].outcome == PREVENTED


@pytest.mark.parametrize(
    "run",
    [
        Played(LIBRARY, "d6-unclean-election-on", "4.3"),
        Played(LIBRARY, "f4-retries-duplicate", "2.8"),
        Played(LIBRARY, "captures-kill-9", "4.3"),
        Played(LIBRARY, "t8-marker-without-time", "2.1"),
        Played(LIBRARY, "s9-fenced-in-the-isr", "2.8"),
        Played(LIBRARY, "s3-fast-failover", "1.1"),  # by hand: time stands still
    ],
    ids=str,
)
def test_without_the_act_at_the_end_of_its_chain_harm_does_not_happen(run: Played) -> None:
    recording = run.play()
    tried = verdicts(run, recording, sample(recording.log, 3))
    assert len(tried) >= 2
    assert {verdict.outcome for verdict in tried} == {PREVENTED}


def test_a_sample_of_the_harm_in_random_runs_is_prevented_or_explained() -> None:
    outcomes: Counter[str] = Counter()
    for run in random_runs(12):
        recording = run.play()
        outcomes.update(verdict.outcome for verdict in verdicts(run, recording, some(run, sample(recording.log, 3), 3)))
    assert outcomes.total() > 30
    assert not outcomes[WRONG]
    assert not outcomes[STAYS]
    assert outcomes[PREVENTED] >= 0.85 * outcomes.total()


@pytest.mark.parametrize(
    "run",
    [
        Played(LIBRARY, "s3-fast-failover", "1.1"),
        Played(LIBRARY, "f2-min-isr-2-two-down", "4.3"),
        Played(REPLICATION, "3", "0.11"),
        Played(TRANSACTIONS, "1", "2.8"),
        Played(GROUPS, "2", ""),
    ],
    ids=str,
)
def test_a_run_that_is_played_again_with_all_of_its_acts_is_the_same(run: Played) -> None:
    recording = run.play()
    again = recording.again()
    again.run_until(recording.log.events[-1][1])
    assert again.log.events == recording.log.events


def test_an_act_that_is_left_out_keeps_its_place() -> None:
    recording = Played(LIBRARY, "f2-min-isr-2-two-down", "4.3").play()
    again = recording.again((2,))
    again.run_until(recording.log.events[-1][1])
    acts = [event for event in again.log.events if event[3] == "act"]
    assert [act[4] for act in acts] == ["load", "kill", "stop-load"]
    assert [again.log.place(act) for act in acts] == [1, 3, 5], "the second act was left out, and the fourth was refused without it"
    assert again.log.acts == recording.log.acts


def test_some_of_the_harms_of_a_run_are_the_same_each_time() -> None:
    recording = Played(REPLICATION, "3", "0.11").play()
    harms = sample(recording.log, 3)
    chosen = some(Played(REPLICATION, "3", "0.11"), harms, 4)
    assert len(chosen) == 4
    assert chosen == some(Played(REPLICATION, "3", "0.11"), harms, 4) == [harm for harm in harms if harm in chosen]
    assert chosen != some(Played(REPLICATION, "4", "0.11"), harms, 4)
    assert some(Played(REPLICATION, "3", "0.11"), harms, len(harms)) == harms


def test_the_exit_code_says_whether_every_harm_is_prevented_or_explained() -> None:
    assert exit_code(0, prevented=95, explained=5, tried=100) == 0
    assert exit_code(0, prevented=94, explained=6, tried=100) == 1, "too few harms are prevented"
    assert exit_code(0, prevented=98, explained=1, tried=100) == 1, "one harm is not explained"
    assert exit_code(1, prevented=100, explained=0, tried=100) == 1, "an arrow cannot be true"

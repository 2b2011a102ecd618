"""The account of a session on the first screen, its lanes, and the chains of causes."""

from __future__ import annotations

import json
from typing import Any

import attrs
import pytest

from core.kafka.events import KINDS
from spark_reports.compute.load_logs import needed_kinds_and_columns
from spark_reports.output import axis, html
from spark_reports.output.incident import NOTICE, Incident, harms
from spark_reports.summaries.registry import SUMMARIES
from spark_reports.tables.result import Report, Result
from tests.spark_reports.conftest import Reported
from tests.spark_reports.output.pages import result

SECOND = 1_000_000
WHERE = {"session": "s", "topic": "orders", "partition": 0}


def window(what: str, why: str, start: int, end: int) -> dict[str, Any]:
    return {**WHERE, "what": what, "why": why, "from_us": start, "to_us": end, "lasts_us": end - start}


def told(seq: int, at: int, root: int, kind: str, **columns: Any) -> dict[str, Any]:
    return {"session": "s", "of": 0, "step": 0, "event": seq, "at_us": at, "root": root, "kind": kind, "line": json.dumps(columns)}


def report(windows: list[dict[str, Any]], lost: int = 0) -> Report:
    """Return the report on a session in which broker 2 is killed at 5 s."""
    figures = {"session": "s", "end_us": 60 * SECOND, "records_acknowledged": 900, "records_lost": lost, "records_diverged": 0}
    tables = [
        result("sessions", [{"session": "s", "release": "4.3", "events": 9, "end_us": 60 * SECOND}]),
        result("overview", [figures]),
        *([result("unavailability", windows)] if windows else []),
    ]
    harm = {
        **WHERE,
        "event": 9,
        "what": "lost",
        "until_us": None,
        "records": lost,
        "from_offset": 7,
        "to_offset": 7 + lost,
        "lost_acknowledged": lost,
        "lost_read": 0,
    }
    tables += [result("harm", [harm])] if lost else []
    story = [
        told(1, 0, 1, "act", act="load", args="{}"),
        told(4, 5 * SECOND, 4, "act", act="kill", args='{"broker": 2}'),
        told(5, 5 * SECOND, 4, "broker-stopped", broker=2, how="killed"),
        told(9, 20 * SECOND, 4, "records-lost"),
    ]
    states = {
        **WHERE,
        "isr": "1,2",
        "state": "in sync",
        "leader": 1,
        "from_us": 0,
        "to_us": 60 * SECOND,
        "min_isr": 1,
        "lasts_us": 60 * SECOND,
    }
    return Report(tables, figures, [result("story", story), result("timeline", [states])], partitions=1)


def account(one: Report) -> tuple[Incident, dict[str, str]]:
    incident = Incident(one, "s", 60 * SECOND)
    return incident, {each.label: each.text for each in incident.sentences()}


def test_one_outage_is_one_harm_with_its_cause_however_many_windows_it_has() -> None:
    one = report(
        [
            window("stalled", "b2 is down", 5 * SECOND, 14 * SECOND),
            window("writes", "no leader", 14 * SECOND, 20 * SECOND),
            window("reads", "no leader", 14 * SECOND, 20 * SECOND),
        ]
    )
    incident, sentences = account(one)
    assert [harm.table for harm in harms(one, [incident])] == ["unavailability"]
    assert sentences["What was done"] == "Kill b2 (5s)."
    assert (
        sentences["What clients felt"]
        == "Acks=all writes to orders-0 were not acknowledged for 15s (5s to 20s): b2 is down and no leader, because of kill b2 (5s)."
    )
    assert sentences["How long"].startswith("15s in all: from 5s to 20s.")
    assert sentences["What was lost"] == "Nothing: 900 records were acknowledged, and none of them is missing."


def test_where_nobody_can_read_writes_with_any_acks_are_not_acknowledged() -> None:
    one = report([window(what, "no leader", 5 * SECOND, 9 * SECOND) for what in ("writes", "reads")])
    incident, sentences = account(one)
    assert sentences["What clients felt"].startswith("Writes to orders-0 were not acknowledged for 4s")
    assert [harm.words for harm in harms(one, [incident])] == ["longest time without acknowledged writes, at orders-0; 4s without reads"]


def test_what_clients_do_not_notice_is_no_alarm() -> None:
    one = report([window("stalled", "b2 is down", 5 * SECOND, 5 * SECOND + NOTICE)])
    incident, sentences = account(one)
    assert harms(one, [incident]) == []
    assert sentences["How long"] == "No client had to wait."
    assert not any(each.harm for each in incident.sentences())
    assert 'class="bad"' not in html.render(one)


def test_a_loss_names_its_offsets_and_what_led_to_it() -> None:
    incident, sentences = account(report([], lost=2))
    assert sentences["What was lost"] == "2 records: orders-0 at offsets 7–8 (2 acknowledged), because of kill b2 (5s)."
    assert incident.told[-1].text == "records lost", "its line lacks columns"


def test_an_outage_that_lasts_says_so() -> None:
    _, sentences = account(report([window("writes", "no leader", 5 * SECOND, 60 * SECOND)]))
    assert sentences["How long"] == "From 5s on. It had not ended when the session did (1m00s): orders-0."


def test_sessions_are_ranked_each_with_its_account() -> None:
    one = report([window("writes", "no leader", 5 * SECOND, 60 * SECOND)], lost=2)
    figures = {"session": "s", "end_us": 60 * SECOND, "records_lost": 2, "longest_no_writes_us": 55 * SECOND, "batches_given_up": 1}
    calm = {**figures, "session": "calm", "records_lost": 0, "longest_no_writes_us": NOTICE, "batches_given_up": 0}
    sessions = [{"session": name, "release": "4.3", "events": 9, "end_us": 60 * SECOND} for name in ("calm", "s")]
    also = Result("story", "", "", one.drawn[0].columns, [*one.drawn[0].rows, ("calm", *one.drawn[0].rows[0][1:])])
    others = [table for table in one.tables if table.name not in ("sessions", "overview")]
    page = html.render(Report([result("sessions", sessions), result("overview", [figures, calm]), *others], figures, [also]))
    assert "<li><b>s</b>: 2 records lost, 55s without writes, 1 batch that a producer gave up on</li>" in page
    assert "<li><b>calm</b>: no harm<details><summary>What happened</summary>" in page
    assert "What happened in s, the worst session" in page


def test_acts_of_one_instant_share_a_mark_whose_label_names_them() -> None:
    one = report([])
    (story,) = [each for each in one.drawn if each.name == "story"]
    also = told(6, 5 * SECOND, 6, "act", act="kill", args='{"broker": 3}')
    rows = [*story.rows, tuple(also[column] for column in story.columns)]
    incident = Incident(attrs.evolve(one, drawn=[attrs.evolve(story, rows=rows), *one.drawn[1:]]), "s", 60 * SECOND)
    drawn = axis.axis(incident, [], 1)
    assert drawn.count('y="2" width="4"') == 1
    assert ">kill b2, kill b3</text>" in drawn


def test_the_command_of_a_moment_is_safe_to_paste() -> None:
    incident = Incident(report([]), "s", 60 * SECOND)
    incident.session = "a; rm -rf $HOME '"  # type: ignore[misc]
    assert axis.data(incident)["log"] == """'a; rm -rf $HOME '"'"'.jsonl'"""


def test_every_kind_of_event_reaches_the_page() -> None:
    """A table of its own counts all of them; no kind is dropped when logs are loaded."""
    counted = next(summary for summary in SUMMARIES if summary.name == "event_kinds")
    assert set(counted.kinds) == set(KINDS) == set(needed_kinds_and_columns(charts=False)[0])


@pytest.mark.spark
def test_a_real_session_tells_who_was_killed_when_and_what_came_of_it(follower_killed: Reported) -> None:
    incident = Incident(follower_killed.report, "killed", 45 * SECOND)
    sentences = {each.label: each for each in incident.sentences()}
    assert sentences["What was done"].text.startswith("Kill b3 (10s), then start b3 (40s)")
    assert "because of kill b3 (10s)" in sentences["What clients felt"].text
    assert sentences["What was lost"].text.startswith("Nothing: ")
    killed = next(row for row in incident.rows("faults") if row["what"] == "killed")
    assert (killed["who"], killed["from_us"], killed["until_us"] >= 40 * SECOND) == ("b3", 10 * SECOND, True)
    causes = {}
    with follower_killed.log.open(encoding="utf-8") as lines:
        for line in map(json.loads, lines):
            if "seq" in line:
                causes[line["seq"]] = line["cause"]
    assert incident.chains
    for chain in incident.chains:
        assert causes[chain.steps[0].seq] == 0
        assert [causes[step.seq] for step in chain.steps[1:]] == [step.seq for step in chain.steps[:-1]]
    series = incident.rows("series")
    assert sum(row["acknowledged"] for row in series) == incident.figure("records_acknowledged") > 0
    assert max(row["waiting"] for row in series) > 0 == series[-1]["waiting"]
    page = html.render(follower_killed.report)
    assert all(each in page for each in ('id="happened"', 'id="causes"', "b3 killed for", 'id="axis-data"'))


def test_words_that_only_a_newer_version_knows_do_not_stop_the_page() -> None:
    one = report([window("reads", "no leader", 5 * SECOND, 9 * SECOND)])
    (story, *others) = one.drawn
    at = story.columns.index("line")
    rows = [(*row[:at], row[at].replace('"kill', '"melt'), *row[at + 1 :]) for row in story.rows]
    assert str(rows).count('"melt') == 2
    page = html.render(attrs.evolve(one, drawn=[attrs.evolve(story, rows=rows), *others]))
    assert "broker stopped" in page
    assert "Nobody could read orders-0" in page

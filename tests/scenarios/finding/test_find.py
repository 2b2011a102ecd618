"""What people type finds what they look for: `isrlab find`."""

from __future__ import annotations

from functools import cache

import pytest

from core.kafka import errors
from scenarios import catalogue
from scenarios.finding.error_meanings import ERROR_MEANINGS, EXCEPTIONS, LIBRDKAFKA, spellings
from scenarios.finding.index import Entry, Index
from scenarios.finding.synonyms import SYNONYMS
from tui.actions.all_actions import ACTIONS
from tui.app.index_entries import index
from tui.cli import main


@cache
def known() -> Index:
    """Return the index of everything that can be found. It is made once in each process that needs it."""
    return index()


def names(question: str, most: int = 12) -> list[str]:
    return [entry.name for entry in known().find(question, most)]


@pytest.mark.parametrize(
    ("question", "wanted", "within"),
    [
        ("split brain", "d8-split-brain", 1),
        ("poison pill", "k2-poison", 1),
        ("rolling restart", "h3-rolling-restart", 1),
        ("maintenance", "h3-rolling-restart", 1),
        ("hanging", "t1-late-produce", 1),
        ("hanging transaction", "t1-late-produce", 2),
        ("LSO stuck", "t1-late-produce", 1),
        ("consumer stuck", "t1-late-produce", 3),
        ("zone", "a2-racks", 1),
        ("data center", "d9-two-sites", 1),
        ("datacenter failure", "a2-racks", 1),
        ("stretch", "d9-two-sites", 1),
        ("disk full", "d4-last-log-dir", 1),
        ("slow disk", "h3-slow-disk", 2),
        ("cooperative", "j1-slow-member", 1),
        ("rebalance storm", "j1-max-poll-interval", 1),
        ("rebalance storm", "j1-static-member", 3),
        ("exactly once", "i2-exactly-once", 1),
        ("out of order", "f4-proxy-reorders", 1),
        ("duplicate messages", "f4-retries-duplicate", 1),
        ("lost messages acks=1", "d8-split-brain", 2),
        ("lost messages acks=1", "s4-zombie-leader", 2),
        ("messages lost after leader failure", "e1-data-loss", 2),
        ("consumer lag", "j2-lag", 1),
        ("broker down", "f2-min-isr-2-one-down", 1),
        ("under replicated partitions", "h3-lag-backlog", 1),
        ("controller failover", "d8-controller-failover", 1),
        ("power outage", "l3-power-loss-everywhere", 1),
        ("garbage collection pause", "c1-paused-follower", 1),
        ("network partition", "d8-split-brain", 1),
        ("increase replication factor", "a4-raised-replication-factor", 1),
        ("move partitions", "a4-throttled-reassignment", 3),
        ("decommission broker", "a4-unregistered-broker", 1),
        ("add partitions", "a2-create-partitions", 1),
        ("messages not visible", "b4-read-below-high-watermark", 3),
        ("retention deleted unread messages", "l4-retention", 3),
        ("why does HW lag behind LEO", "b3-high-watermark-behind", 1),
        ("read from nearest replica", "b4-follower-reads", 1),
        ("flapping ISR", "h3-isr-flapping", 1),
        ("unclean leader election", "d6-unclean-election-on", 3),
        ("buffer full", "l1-buffer-memory", 1),
        ("dead letter queue", "k2-dead-letter-topic-offline", 3),
        ("clock skew", "l4-clock-skew", 1),
        ("leader not balanced", "d7-imbalance-percentage", 1),
        ("NOT_ENOUGH_REPLICAS", "f2-min-isr-2-two-down", 2),
        ("org.apache.kafka.common.errors.NotLeaderForPartitionException", "NOT_LEADER_OR_FOLLOWER", 3),
        ("OffsetOutOfRange", "OFFSET_OUT_OF_RANGE", 1),
        ("_MSG_TIMED_OUT", "REQUEST_TIMED_OUT", 1),
        ("what does acks do", "f1-acks", 4),
        ("min.insync.replicas", "min.insync.replicas", 4),
        ("delivery timeout", "delivery.timeout.ms", 6),
        ("heat map", "map", 1),
        ("heatmap", "map", 1),
        ("topology", "topology", 1),
        ("picture of the cluster", "topology", 1),
        ("compare", "compare", 1),
        ("compare settings", "compare", 2),
        ("side by side", "compare", 3),
        ("lessons", "lessons", 1),
        ("tutorial", "lessons", 1),
        ("acks table", "lessons", 1),
        ("acks table", "acks-and-min-isr", 2),
        ("messages in flight", "messages", 2),
        ("consumer groups", "groups", 3),
        ("change a setting", "settings", 3),
        ("undo", "undo", 1),
        ("high watermark", "high watermark", 1),
        ("LSO", "last stable offset", 12),
    ],
)
def test_the_best_answers_to_a_question(question: str, wanted: str, within: int) -> None:
    """What is wanted comes soon, or a question of the public whose command runs it."""
    found = known().find(question, within)
    assert any(entry.name == wanted or (entry.sort == "question" and wanted in entry.command.split()) for entry in found), found


def test_every_screen_and_key_is_found_by_its_label_and_says_which_key_it_is(capsys: pytest.CaptureFixture[str]) -> None:
    for action in ACTIONS:
        assert [(entry.sort in ("screen", "key"), entry.name) for entry in known().find(action.label, 1)] == [(True, action.label)]
    assert main(["find", "heat", "map"]) == 0
    out = capsys.readouterr().out
    assert out.startswith("screen    map: Show all partitions as a map, colored by state:")
    assert "in the playground (isrlab play), press #" in out.splitlines()[1]


def test_every_scenario_and_every_error_is_found_by_its_name() -> None:
    for name in (*catalogue.names(), *catalogue.model_names()):
        assert names(name, 1) == [name]
    for error in ERROR_MEANINGS:
        for spelling in spellings(error):
            assert any(found == error or spelling in (*EXCEPTIONS.get(found, ()), *spellings(found)) for found in names(spelling, 3)), (
                spelling
            )


def test_every_error_of_kafka_is_explained() -> None:
    known = {value for name, value in vars(errors).items() if name.isupper() and name == value}
    assert known - {errors.NONE} == set(ERROR_MEANINGS)
    assert set(EXCEPTIONS) <= known
    assert set(LIBRDKAFKA) <= known


def test_titles_count_more_than_texts_and_whole_words_more_than_parts() -> None:
    entries = [
        Entry("event", "a", "parts", text="the disk is full"),
        Entry("event", "b", "a diskette"),
        Entry("event", "c", "a full disk"),
        Entry("event", "d", "another", ("disk",)),
        Entry("event", "e", "nothing"),
    ]
    assert [entry.name for entry in Index(entries).find("disk")] == ["c", "d", "b", "a"]


def test_synonyms_are_not_found_inside_other_words() -> None:
    assert "hang" in SYNONYMS["hanging"]
    assert Index([Entry("event", "a", "a change")]).find("hanging") == []


def test_words_that_stand_together_in_a_title_count_more() -> None:
    entries = [Entry("event", "a", "a disk that is not slow"), Entry("event", "b", "a slow disk")]
    assert [entry.name for entry in Index(entries).find("slow disk")] == ["b", "a"]


def test_two_words_that_mean_something_together_are_one() -> None:
    entries = [Entry("event", "a", "data in the center"), Entry("event", "b", "a zone")]
    assert [entry.name for entry in Index(entries).find("data center")] == ["b"]
    assert [entry.name for entry in Index(entries).find("center data")] == ["a"]


def test_a_setting_with_its_value_is_a_word() -> None:
    entries = [Entry("event", "a", "acks and 1"), Entry("event", "b", "acks=1, which loses"), Entry("event", "c", "acks=all")]
    assert [entry.name for entry in Index(entries).find("acks=1")] == ["b"]
    assert {entry.name for entry in Index(entries).find("acks")} == {"a", "b", "c"}


def test_words_that_say_nothing_do_not_count() -> None:
    entries = [Entry("event", "a", "why is the sky what it is"), Entry("event", "b", "lag")]
    assert [entry.name for entry in Index(entries).find("Why is the lag what it is?")] == ["b"]
    assert [entry.name for entry in Index(entries).find("why")] == ["a"]


def test_synonyms_are_lower_case_words_that_lead_somewhere() -> None:
    for word, others in SYNONYMS.items():
        assert word == word.lower()
        assert others
        assert names(word), word


def test_the_command_prints_what_to_run(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["find", "split", "brain"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[0].startswith("scenario  d8-split-brain: ")
    assert lines[1].strip() == "isrlab play d8-split-brain"
    assert main(["find", "xyzzy"]) == 2
    assert "nothing fits 'xyzzy'" in capsys.readouterr().err


def test_readings_are_listed_with_examples(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["readings", "lag", "group"]) == 0
    out = capsys.readouterr().out
    assert "lag(group, [partition])  (number)" in out
    assert "for example --show 'lag(billing, orders-0)'" in out
    assert main(["readings", "xyzzy"]) == 2


def test_the_headers_of_the_library_are_those_of_the_scripts() -> None:
    for header in catalogue.headers():
        scenario = catalogue.load_any(header.name)
        assert (header.name, header.title, header.tags, header.about) == (scenario.name, scenario.title, scenario.tags, scenario.about)

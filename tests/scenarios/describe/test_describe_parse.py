"""Parsing `kafka-topics --describe`: real outputs, their variants in practice, and texts that must be refused."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Final

import attrs
import pytest

from core.kafka.release import RELEASES
from scenarios.describe.described import DescribedPartition, DescribeError, ElrColumn
from scenarios.describe.parse import MAX_NOTES, parse_describe
from scenarios.describe.render import render_describe

DATA = Path(__file__).parent / "data"
PRINTED_BY = {
    "kafka-0.10-leaderless.txt": "0.10.2",
    "kafka-3-no-elr.txt": "3.6",
    "kafka-3.8-elr-na.txt": "3.9",
    "kafka-4-two-topics.txt": "4.0",
    "kafka-4.3-healthy.txt": "4.1",
}


def read(name: str) -> str:
    return (DATA / name).read_bytes().decode()


def test_every_data_file_is_covered() -> None:
    assert {path.name for path in DATA.glob("*.txt")} == set(PRINTED_BY)


@pytest.mark.parametrize(("name", "release"), PRINTED_BY.items())
def test_a_real_output_is_printed_back_byte_for_byte(name: str, release: str) -> None:
    text = read(name)
    imported = parse_describe(text, name)
    assert imported.notes == ()
    assert render_describe(imported.topics, RELEASES[release]).encode() == text.encode()


def test_what_the_texts_say() -> None:
    (iis,) = parse_describe(read("kafka-0.10-leaderless.txt")).topics
    assert (iis.name, iis.topic_id, iis.partitions, iis.replication_factor, iis.config) == ("iis", "", 3, 2, ())
    assert iis.rows[0] == DescribedPartition("iis", 0, -1, (2, 0), ())
    (scooter,) = parse_describe(read("kafka-3.8-elr-na.txt")).topics
    assert scooter.rows[0].elr is None
    assert scooter.rows[0].elr_known is ElrColumn.NOT_AVAILABLE
    two, three = parse_describe(read("kafka-4-two-topics.txt")).topics
    assert (two.name, three.name) == ("lab04-backend2", "lab04-backend3")
    assert two.config == (("min.insync.replicas", "1"), ("segment.bytes", "1073741824"))
    assert three.rows[0].elr == ()
    assert three.rows[0].elr_known is ElrColumn.LISTED


def test_a_line_that_repeats_a_column_continues_nothing() -> None:
    imported = parse_describe(HEAD + "\n" + ROW + "  Isr: 1,2\n", "f")
    assert imported.topics[0].rows[0].isr == (1,)
    assert imported.notes == ("f:3: ignored because it is not a line of kafka-topics --describe: 'Isr: 1,2'",)


def indented(text: str) -> str:
    return "\n".join(
        "      " + line.strip().replace("\t", "     ") if line[:1] == "\t" else line.replace("\t", "  ") for line in text.splitlines()
    )


RELATIVES: Final[Mapping[str, Callable[[str], str]]] = {
    "windows line ends": lambda text: text.replace("\n", "\r\n"),
    "line ends of a terminal recording": lambda text: text.replace("\n", "\r\r\n"),
    "no newline at the end": lambda text: text.rstrip("\n"),
    "byte order mark": lambda text: "\ufeff" + text,
    "tabs became spaces": indented,
    "tabs became one space": lambda text: text.replace("\t", " "),
    "nothing leads a row": lambda text: "\n".join(line.strip() for line in text.splitlines()),
    "non-breaking spaces": lambda text: text.replace("\t", "\xa0\xa0"),
    "blank lines": lambda text: "\n\n" + text.replace("\n", "\n\n  \n"),
    "color codes": lambda text: text.replace("Topic:", "\x1b[01;31m\x1b[KTopic\x1b[m\x1b[K:").replace("\n", "\x1b[0m\n"),
    "prompts around": lambda text: (
        "$ bin/kafka-topics.sh --describe \\\n  --bootstrap-server b:9092\n" + text + "[appuser@broker ~]$ exit\n$\n"
    ),
    "root prompt": lambda text: "root@b1:/# kafka-topics --bootstrap-server b:9092 --describe\n" + text + "sh-4.4$ \n",
    "powershell": lambda text: "C:\\kafka>bin\\windows\\kafka-topics.bat --describe\nPS C:\\kafka> ls\n" + text,
    "bare command": lambda text: "bin/kafka-topics --describe --topic x\nkafka-topics.sh --list\n" + text,
    "quoted in a mail": lambda text: "".join("> " + line for line in text.splitlines(keepends=True)),
    "in a code fence": lambda text: "```text\n" + text + "```\n",
    "log of a container": lambda text: "".join("kafka-1  | " + line for line in text.splitlines(keepends=True)),
    "wrapped in front of a column": lambda text: text.replace("\tIsr:", "\n  Isr:"),
}


@pytest.mark.parametrize("relative", RELATIVES)
@pytest.mark.parametrize("name", PRINTED_BY)
def test_a_relative_of_a_real_output_reads_the_same(name: str, relative: str) -> None:
    text = read(name)
    changed = RELATIVES[relative](text)
    assert changed != text
    imported = parse_describe(changed)
    assert imported.topics == parse_describe(text).topics
    assert imported.notes == ()


def test_rows_in_any_order() -> None:
    text = read("kafka-4.3-healthy.txt")
    head, *rows = text.splitlines()
    assert parse_describe("\n".join([*rows[3:], head, *reversed(rows[:3])])).topics == parse_describe(text).topics


def test_leader_none_is_minus_one() -> None:
    text = read("kafka-0.10-leaderless.txt")
    assert parse_describe(text.replace("-1", "none")).topics == parse_describe(text).topics


HEAD = "Topic: t\tTopicId: fhp4CXTzTzihEt9mhspQ_Q\tPartitionCount: 1\tReplicationFactor: 2\tConfigs: "
ROW = "\tTopic: t\tPartition: 0\tLeader: 1\tReplicas: 1,2\tIsr: 1\n"


@pytest.mark.parametrize(
    ("configs", "settings"),
    [
        ("cleanup.policy=compact,delete,min.insync.replicas=2", [("cleanup.policy", "compact,delete"), ("min.insync.replicas", "2")]),
        (
            "leader.replication.throttled.replicas=0:101,1:102,0:103,retention.ms=-1",
            [("leader.replication.throttled.replicas", "0:101,1:102,0:103"), ("retention.ms", "-1")],
        ),
        (
            "follower.replication.throttled.replicas=*,preallocate=true",
            [("follower.replication.throttled.replicas", "*"), ("preallocate", "true")],
        ),
        ("follower.replication.throttled.replicas=,a.b=1", [("follower.replication.throttled.replicas", ""), ("a.b", "1")]),
        ("cleanup.policy=compact, delete, a.b=1", [("cleanup.policy", "compact,delete"), ("a.b", "1")]),
        ("", []),
        ("a.b=1,\n    c.d=2,\ne.f=3", [("a.b", "1"), ("c.d", "2"), ("e.f", "3")]),
        ("a.b=1\n,c.d=2", [("a.b", "1"), ("c.d", "2")]),
        ("\na.b=1,c.d=2", [("a.b", "1"), ("c.d", "2")]),
        ("a.b=1,\n\nc.d=2", [("a.b", "1"), ("c.d", "2")]),
    ],
)
def test_configs(configs: str, settings: list[tuple[str, str]]) -> None:
    imported = parse_describe(HEAD + configs + "\n" + ROW)
    assert list(imported.topics[0].config) == settings
    assert imported.notes == ()


@pytest.mark.parametrize(
    ("configs", "settings", "doubt"),
    [
        (
            "a.b=1,min.insync.re\nplicas=2",
            [("a.b", "1"), ("min.insync.replicas", "2")],
            "<stdin>:2: read as a continuation of the Configs column on line 1: 'plicas=2'",
        ),
        (
            "retention.ms=6048\n00000",
            [("retention.ms", "604800000")],
            "<stdin>:2: read as a continuation of the Configs column on line 1: '00000'",
        ),
        (
            "a.b=comp\nact,c.d=1",
            [("a.b", "compact"), ("c.d", "1")],
            "<stdin>:2: read as a continuation of the Configs column on line 1: 'act,c.d=1'",
        ),
        (
            "a.b=1\nc.d=2",
            [("a.b", "1"), ("c.d", "2")],
            "<stdin>:2: read as another setting in the Configs column on line 1, although there is no comma before it: 'c.d=2'",
        ),
        ("a.b=x,\ny", [("a.b", "x,y")], "<stdin>:2: read as a continuation of the last value in the Configs column on line 1: 'y'"),
        ("a.b=1\nDone in 3 s", [("a.b", "1")], "<stdin>:2: ignored because it is not a line of kafka-topics --describe: 'Done in 3 s'"),
        ("a.b=1\ndone", [("a.b", "1")], "<stdin>:2: ignored because it is not a line of kafka-topics --describe: 'done'"),
        ("a.b=1,", [("a.b", "1")], "<stdin>:1: Configs ends with a comma: the settings after it are missing"),
        ("junk,a.b=1", [("a.b", "1")], "<stdin>:1: ignored in Configs because it does not have the form name=value: 'junk'"),
    ],
)
def test_configs_in_doubt_are_noted(configs: str, settings: list[tuple[str, str]], doubt: str) -> None:
    imported = parse_describe(HEAD + configs + "\n" + ROW)
    assert list(imported.topics[0].config) == settings
    assert imported.notes == (doubt,)


def test_columns_of_other_distributions_are_kept_aside() -> None:
    row = ROW.replace("\n", "\tOffline: 2\tLive Observers: \n")
    imported = parse_describe(
        HEAD.replace("Count: 1", "Count: 2") + "\tRack: a\n" + row + row.replace("Partition: 0", "Partition: 1"), "x.txt"
    )
    assert [each.aside for each in imported.topics[0].rows] == [(("Offline", "2"), ("Live Observers", ""))] * 2
    assert imported.topics[0].aside == (("Rack", "a"),)
    assert imported.notes == (
        "x.txt:1: Kafka prints no column 'Rack'; it is kept but not used: 'a'",
        "x.txt:2: column 'Offline' is from Confluent Server; only its broker ids are used: '2' (and on 1 more lines)",
        "x.txt:2: column 'Live Observers' is from Confluent Server; only its broker ids are used: '' (and on 1 more lines)",
    )
    assert (imported.topics[0].rows[0].offline, imported.topics[0].rows[0].observers) == ((2,), ())
    assert parse_describe(HEAD + "\n" + ROW).topics[0].rows[0].offline is None


def test_observers_are_no_missing_replicas() -> None:
    text = "Topic: t\tPartitionCount: 1\tReplicationFactor: 4\tConfigs: \n\tTopic: t\tPartition: 0\tLeader: 2\tReplicas: 2,1,3,4\tIsr: 2,1\tOffline: \tObservers: 3,4\n"
    (topic,) = parse_describe(text).topics
    assert (topic.rows[0].observers, topic.rows[0].offline) == ((3, 4), ())
    assert render_describe([topic], RELEASES["4.1"], under_replicated=True) == ""
    (lagging,) = parse_describe(text.replace("Isr: 2,1", "Isr: 2")).topics
    assert "Isr: 2" in render_describe([lagging], RELEASES["4.1"], under_replicated=True)
    (promoted,) = parse_describe(text.replace("Isr: 2,1", "Isr: 2,1,3")).topics
    assert render_describe([promoted], RELEASES["4.1"], under_replicated=True) == ""


@pytest.mark.parametrize("value", ["none", "[3,4]", "99999999999999"])
def test_observers_that_are_no_brokers_are_noted(value: str) -> None:
    imported = parse_describe(HEAD + "\n" + ROW.replace("\n", f"\tObservers: {value}\n"), "f")
    assert imported.topics[0].rows[0].observers == ()
    assert f"f:2: column Observers is ignored, because it is not a list of broker ids: '{value}'" in imported.notes


NAMELESS = "\tPartition: 0\tLeader: 1\tReplicas: 1,2\tIsr: 1\n\tPartition: 1\tLeader: 2\tReplicas: 2,1\tIsr: 2,1\n"


@pytest.mark.parametrize("between", ["", "\n", "  \n\n"])
@pytest.mark.parametrize("mark", ["", "> ", "kafka-1  | "])
def test_a_row_without_topic_belongs_to_the_topic_above(between: str, mark: str) -> None:
    text = HEAD.replace("Count: 1", "Count: 2") + "a.b=1\n" + between + NAMELESS
    imported = parse_describe("".join(mark + line for line in text.splitlines(keepends=True)), "f")
    (topic,) = imported.topics
    assert (topic.headed, topic.partitions, topic.config) == (True, 2, (("a.b", "1"),))
    assert [(row.partition, row.leader, row.isr) for row in topic.rows] == [(0, 1, (1,)), (1, 2, (2, 1))]
    first = 2 + between.count("\n")
    assert imported.notes == (
        f"f:{first}: the row names no topic; it is read as a row of topic 't', described at line 1 (and so does 1 more row)",
    )


def test_rows_without_topic_of_two_topics() -> None:
    imported = parse_describe(
        "Topic: u Partition: 0 Leader: 1 Replicas: 1 Isr: 1\n" + NAMELESS.splitlines()[1] + "\n" + HEAD + "\n" + ROW, "f"
    )
    assert [(topic.name, [row.partition for row in topic.rows]) for topic in imported.topics] == [("u", [0, 1]), ("t", [0])]
    assert (
        imported.notes[0]
        == "f:1: topic u has no summary line (filters omit it): its TopicId and settings are unknown, and the rows determine its size"
    )
    assert imported.notes[1] == "f:2: the row names no topic; it is read as a row of topic 'u', described at line 1"


def test_a_row_without_topic_and_nothing_above_is_noted() -> None:
    text = NAMELESS + "$ kafka-topics.sh --describe --topic t\n" + HEAD + "\n" + ROW + "$ tail log\n" + NAMELESS
    imported = parse_describe(text, "f")
    assert [len(topic.rows) for topic in imported.topics] == [1]
    assert [note.split(" topic is above it")[0] for note in imported.notes] == [
        f"f:{line}: ignored because the row names no topic, and no" for line in (1, 2, 7, 8)
    ]


def test_the_rest_of_a_row_is_not_joined_to_a_headline() -> None:
    imported = parse_describe(HEAD + "\n  Leader: 1  Replicas: 1,2  Isr: 1\n" + ROW, "f")
    assert [row.partition for row in imported.topics[0].rows] == [0]
    assert imported.notes == ("f:2: ignored because it is not a line of kafka-topics --describe: 'Leader: 1  Replicas: 1,2  Isr: 1'",)


def test_lines_that_were_wrapped_behind_the_topic() -> None:
    text = read("kafka-4.3-healthy.txt")
    imported = parse_describe(text.replace("\tPartition:", "\n\tPartition:").replace("\tTopicId", "\n  TopicId"))
    assert imported.topics == parse_describe(text).topics
    assert imported.notes == ()
    imported = parse_describe("Topic: orders\n\n" + HEAD + "\n" + ROW + "Topic: last", "f")
    assert [topic.name for topic in imported.topics] == ["t"]
    assert imported.notes == (
        "f:1: ignored because the line does not describe the topic: 'orders'",
        "f:5: ignored because the line does not describe the topic: 'last'",
    )


@pytest.mark.parametrize("mark", ["# ", "$ ", "me@host:~$ "])
def test_a_described_line_behind_a_prompt_is_noted(mark: str) -> None:
    imported = parse_describe(HEAD + "\n" + ROW + mark + ROW.strip().replace("n: 0", "n: 1") + "\n", "f")
    assert len(imported.notes) == 1
    assert imported.notes[0].startswith("f:3: ignored because it is not a line of kafka-topics --describe: ")


def test_an_excerpt_keeps_its_rows_and_says_what_is_missing() -> None:
    text = HEAD.replace("Count: 1", "Count: 12") + "\n" + ROW + ROW.replace("n: 0", "n: 4") + ROW.replace("n: 0", "n: 6")
    imported = parse_describe(text, "f")
    (topic,) = imported.topics
    assert (topic.partitions, [row.partition for row in topic.rows]) == (12, [0, 4, 6])
    assert imported.notes == (
        "f:1: topic t has PartitionCount 12 but 3 rows in the imported output; unknown: partitions 1 to 3, 5 and 7 to 11",
    )
    assert render_describe([topic], RELEASES["3.6"]) == text
    every_other = HEAD.replace("Count: 1", "Count: 40") + "\n" + "".join(ROW.replace("n: 0", f"n: {n}") for n in range(0, 40, 2))
    assert parse_describe(every_other, "f").notes == (
        "f:1: topic t has PartitionCount 40 but 20 rows in the imported output; unknown: partitions 1, 3, 5, 7, 9, 11, 13, 15 and 12 more",
    )


@pytest.mark.parametrize("missing", [("PartitionCount: 1",), ("ReplicationFactor: 2",), ("PartitionCount: 1", "ReplicationFactor: 2")])
def test_the_rows_give_the_size_that_a_summary_line_lacks(missing: tuple[str, ...]) -> None:
    head = HEAD + "retention.ms=1000"
    for column in missing:
        head = head.replace(f"{column}\t", "")
    head = head.replace("PartitionCount: 1", "PartitionCount: 2")
    imported = parse_describe(head + "\n" + ROW + ROW.replace("n: 0", "n: 1"), "f")
    (topic,) = imported.topics
    assert (topic.partitions, topic.replication_factor, topic.topic_id) == (2, 2, "fhp4CXTzTzihEt9mhspQ_Q")
    assert topic.config == (("retention.ms", "1000"),)
    assert imported.notes == (
        f"f:1: the summary line of topic t has no {' and no '.join(each.partition(':')[0] for each in missing)}: the rows determine its size",
    )


def test_what_a_filter_printed_is_printed_back_without_headlines() -> None:
    text = ROW + ROW.replace("n: 0", "n: 4") + ROW.replace("Topic: t", "Topic: u")
    assert render_describe(parse_describe(text).topics, RELEASES["3.6"]) == text
    assert render_describe(parse_describe(text).topics, RELEASES["3.6"], topics_with_overrides=True) == ""


def test_notes_are_bounded() -> None:
    imported = parse_describe("junk\n" * 5_000 + HEAD + "\n" + ROW, "f")
    assert len(imported.notes) == MAX_NOTES + 1
    assert imported.notes[-1] == "f: and 4,000 more notes on single lines"


@pytest.mark.parametrize("gap", ["\t", " "])
def test_a_reassignment_and_a_deletion(gap: str) -> None:
    text = (
        "Topic: t\tPartitionCount: 1\tReplicationFactor: 2\tConfigs: a.b=1\tMarkedForDeletion: true\n"
        "\tTopic: t\tPartition: 0\tLeader: 1\tReplicas: 3,1,2\tIsr: 1,2\tAdding Replicas: 3\tRemoving Replicas: \tElr: "
        "\tLastKnownElr: N/A\tMarkedForDeletion: true\n"
    )
    (topic,) = parse_describe(text.replace("\t", gap)).topics
    assert (topic.config, topic.marked_for_deletion) == ((("a.b", "1"),), True)
    assert topic.rows == (
        DescribedPartition("t", 0, 1, (3, 1, 2), (1, 2), (), ElrColumn.LISTED, None, adding=(3,), removing=(), marked_for_deletion=True),
    )
    assert render_describe([topic], RELEASES["4.1"]) == text


def test_output_of_a_filter_has_no_headline() -> None:
    imported = parse_describe(ROW.replace("Partition: 0", "Partition: 4") + ROW, "f")
    (topic,) = imported.topics
    assert (topic.headed, topic.partitions, topic.replication_factor, [row.partition for row in topic.rows]) == (False, 5, 2, [0, 4])
    assert imported.notes == (
        "f:1: topic t has no summary line (filters omit it): its TopicId and settings are unknown, and the rows determine its size",
    )


def test_headline_without_rows() -> None:
    imported = parse_describe(HEAD + "a.b=1\n", "f")
    assert attrs.astuple(imported.topics[0], recurse=False)[:6] == ("t", "fhp4CXTzTzihEt9mhspQ_Q", 1, 2, (("a.b", "1"),), ())
    assert imported.notes == ("f:1: topic t has a summary line but no partition rows: the brokers of its replicas are unknown",)


def test_other_lines_are_reported_one_by_one() -> None:
    text = "WARNING: \x07 old\n" + HEAD + "\n" + ROW + "Topic: Kafka replication explained\n" + "x" * 200 + "\n"
    assert parse_describe(text, "f").notes == (
        "f:1: ignored because it is not a line of kafka-topics --describe: 'WARNING: \\x07 old'",
        "f:4: ignored because it is not a line of kafka-topics --describe: 'Topic: Kafka replication explained'",
        "f:5: ignored because it is not a line of kafka-topics --describe: '" + "x" * 77 + "...'",
    )


def test_a_topic_id_that_kafka_does_not_make_is_noted() -> None:
    imported = parse_describe(HEAD.replace("Etp", "").replace("fhp4", "f") + "\n" + ROW, "f")
    assert imported.notes == (
        "f:1: TopicId 'fCXTzTzihEt9mhspQ_Q' is not in Kafka's format (22 characters of base64); it is kept as written",
    )


WHOLE = HEAD + "min.insync.replicas=2\n" + ROW


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "f:1: the text is empty; paste the output of the tool"),
        ("  \n\n", "f:1: the text is empty"),
        (
            "\x00\x01\x7fELF\x00\n\x00",
            "f:1: this text contains no lines from the output of kafka-topics --describe; paste the output of the tool",
        ),
        ("$ kafka-topics.sh --list\norders\n", "f:1: this text contains no lines from the output of kafka-topics --describe"),
        (WHOLE + ROW, "f:3: partition t-0 appears twice (first at line 2); give each partition one row"),
        (WHOLE + WHOLE, "f:3: topic t has a second summary line (the first is at line 1); describe each topic once"),
        (
            WHOLE.replace("Isr: 1", "Isr: 1,7"),
            "f:2: Isr of t-0 lists broker 7, which is not one of its replicas; Isr can only list some of 1,2",
        ),
        (WHOLE.replace("Isr: 1", "Isr: 1\tElr: 9"), "f:2: Elr of t-0 lists broker 9, which is not one of its replicas"),
        (WHOLE.replace("Isr: 1", "Isr: 1\tElr: 1"), "f:2: broker 1 is in both Isr and Elr of t-0; Elr lists replicas outside the Isr"),
        (WHOLE.replace("Isr: 1", "Isr: 1\tAdding Replicas: 1,2"), "f:2: t-0 is adding all of its replicas"),
        (
            WHOLE.replace("Leader: 1", "Leader: 5"),
            "f:2: t-0 has the leader 5, which is not one of its replicas; the leader must be one of 1,2, or none",
        ),
        (
            WHOLE.replace("Leader: 1", "Leader: 2"),
            "f:2: t-0 has the leader 2, which is not in its Isr; a leader is always in its own Isr",
        ),
        (WHOLE.replace("Leader: 1", "Leader: one"), "f:2: Leader has the value 'one', which is not a number; write a broker ID, or none"),
        (WHOLE.replace("Leader: 1", "Leader: -7"), "f:2: Leader has the value '-7', which is not a number"),
        (WHOLE.replace("Leader: 1\t", "Leader: \t"), "f:2: Leader has the value '', which is not a number; write a broker ID, or none"),
        (
            WHOLE.replace("Count: 1", "Count: 99999999999"),
            "f:1: PartitionCount has the value '99999999999', which is out of range; the range is 1 to 2147483647",
        ),
        (WHOLE.replace("Count: 1", "Count: 0"), "f:1: PartitionCount has the value '0', which is out of range"),
        (
            WHOLE.replace("Partition: 0", "Partition: 1"),
            "f:2: t-1 does not exist: the topic's summary line (line 1) says PartitionCount 1; the partitions of the topic are 0 to 0",
        ),
        (WHOLE.replace("Factor: 2", "Factor: 3"), "f:1: topic t has ReplicationFactor 3 but its rows have 2 replicas"),
        (
            HEAD.replace("\tReplicationFactor: 2", ""),
            "f:1: topic t has no partition rows, and its summary line has no ReplicationFactor; give the whole line, or the partition rows",
        ),
        (
            "Topic: t\tTopicId: fhp4CXTzTzihEt9mhspQ_Q\tConfigs: ",
            "f:1: topic t has no partition rows, and its summary line has no PartitionCount and no ReplicationFactor",
        ),
        (
            WHOLE.replace("Replicas: 1,2", "Replicas: 1,two"),
            "f:2: Replicas has the value 'two', which is not a number; write broker ids separated by commas, for example 1,2,3",
        ),
        (WHOLE.replace("Replicas: 1,2", "Replicas: 1,,2"), "f:2: Replicas has the value '', which is not a number"),
        (WHOLE.replace("Replicas: 1,2", "Replicas: 1,1"), "f:2: Replicas lists broker 1 twice; each broker has at most one replica"),
        (WHOLE.replace("Replicas: 1,2\tIsr: 1", "Replicas: \tIsr: "), "f:2: t-0 has no replicas; Replicas lists at least one broker id"),
        (
            WHOLE.replace("Replicas: 1,2", "Replicas: 1," + "9" * 5000),
            "f:2: Replicas has the value '" + "9" * 77 + "...', which is out of range",
        ),
        (WHOLE.replace("Replicas: 1,2", "Replicas: 1,٣"), "f:2: Replicas has the value '٣', which is not a number"),
        (WHOLE.replace("\tIsr: 1", ""), "f:2: the row of topic t has no Isr; give the whole line"),
        (WHOLE.replace("Isr: 1", "Isr: 1\tIsr: 2"), "f:2: column Isr appears twice in the line"),
        (WHOLE.replace("Isr: 1", "Isr: 1\tMarkedForDeletion: 3"), "f:2: MarkedForDeletion has the value '3'; Kafka prints true"),
        (WHOLE.replace("Topic: t\tPartition", "Topic: a/b\tPartition"), "f:2: 'a/b' is not a topic name; a topic name has 1 to 249"),
        (WHOLE.replace("replicas=2", "replicas=two"), "f:1: Configs: min.insync.replicas takes a whole number, not 'two'"),
        (
            WHOLE.replace("replicas=2", "replicas=2,a.b=1,a.b=2"),
            "f:1: setting a.b appears twice in Configs, as '1' and '2'; give the setting once",
        ),
    ],
)
def test_malformed_texts_give_one_clear_message(text: str, message: str) -> None:
    with pytest.raises(DescribeError) as refused:
        parse_describe(text, "f")
    assert str(refused.value).startswith(message)
    assert "\n" not in str(refused.value)

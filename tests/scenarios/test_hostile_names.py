"""Names, notes, and file names that would control a terminal are always escaped, whatever command prints them."""

from __future__ import annotations

import argparse
import csv
import json
import re
import xml.etree.ElementTree as ET
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import msgspec
import pytest
import yaml

from core.kafka.events import KINDS
from core.kafka.release import CURRENT
from core.kafka.topic_spec import TopicSpec
from core.lab.spec import BrokerSpec, ClusterSpec
from scenarios.io.escaping import escape_json, escape_line, escape_text, escape_value
from scenarios.language.cluster import read_cluster, write_cluster
from scenarios.language.nodes import parse
from scenarios.logs.line_encoder import encode_event
from scenarios.logs.log_header import End, make_header
from spark_reports.tables import csv_files
from spark_reports.tables.result import Result
from tui.cli import GROUPS, main, parser_for

ROOT = Path(__file__).resolve().parents[2]

HOSTILE = "h\x1b]52;c;QUFB\x07\x9b31m\u202egnp\u2066\u2028[red]\x7fend"
"""Text that writes to the clipboard, turns text red in two ways, and changes the order in which text is shown."""

BROKEN = HOSTILE + "\nisrlab: forged\r"
"""The same text, which also forges a line of output."""

FREE = {"topic", "topic_id", "message", "producer", "consumer", "rack", "name", "subject", "old", "new"}
"""The columns of a log that can contain any text."""

COMMANDS = sorted(name for names in GROUPS.values() for name in names)


def assert_harmless(*texts: str) -> None:
    for text in texts:
        assert [char for char in text if char not in "\n\t" and not char.isprintable()] == [], text
        assert "\nisrlab: forged" not in text


@pytest.fixture(autouse=True)
def somewhere_else(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Use a scratch directory for files that a command writes under a hostile name."""
    monkeypatch.chdir(tmp_path)


def told(arguments: Sequence[str], capsys: pytest.CaptureFixture[str]) -> tuple[int, str, str]:
    """Return the exit code and the output of a command, after checking that the output is harmless."""
    try:
        code = main(list(arguments))
    except SystemExit as end:
        code = int(end.code or 0)
    out, err = capsys.readouterr()
    assert_harmless(out, err)
    assert len(err.splitlines()) < 10
    return code, out, err


# --- the characters ------------------------------------------------------------------------------------------------


def test_what_a_terminal_obeys_is_spelled_out() -> None:
    assert escape_value("a\x1b[31mb\n\t\x9b\u2028\u202e\udc80\U000e0001") == r"a\x1b[31mb\n\t\x9b\u2028\u202e\udc80\U000e0001"
    assert escape_line("a\tb\nc\rd") == "a\tb\\nc\\rd"
    assert escape_text("a\tb\nc\rd") == "a\tb\nc\\rd"
    for harmless in ("", "orders", "Größe 大 · ★\u00a0\u3000", "back\\slash [red]"):
        assert escape_value(harmless) == escape_line(harmless) == escape_text(harmless) == harmless


def test_a_json_document_keeps_its_meaning() -> None:
    data = {"name": BROKEN, "above": "\uffff \U00010000 \U000e0001 \U0001f40d", "list": [HOSTILE, 1]}
    for ascii_only in (True, False):
        written = escape_json(json.dumps(data, indent=1, ensure_ascii=ascii_only))
        assert_harmless(written)
        assert json.loads(written) == data
    assert "\U0001f40d" in written


def test_everything_is_printed_in_one_place() -> None:
    """Code that prints by itself would print untrusted text unescaped."""
    printing = re.compile(r"(?<![.\w])print\(|sys\.(__)?std(out|err)(__)?\.write")
    found = [
        path.relative_to(ROOT).as_posix()
        for package in ("core", "scenarios", "spark_reports", "tui")
        for path in sorted((ROOT / package).rglob("*.py"))
        if printing.search(path.read_text(encoding="utf-8"))
    ]
    assert found == ["scenarios/io/standard_streams.py"]


# --- every argument of every command -------------------------------------------------------------------------------


def arguments_of(parser: argparse.ArgumentParser, before: tuple[str, ...]) -> Iterator[list[str]]:
    """Yield the command lines of each command below a parser: first with hostile positional arguments, and then also with each of its
    options.
    """
    actions = [action for action in parser._actions if not isinstance(action, argparse._HelpAction)]
    below = [action for action in actions if isinstance(action, argparse._SubParsersAction)]
    if below:
        for name, command in below[0].choices.items():
            yield from arguments_of(command, (*before, name))
        return
    positionals = [HOSTILE for action in actions if not action.option_strings]
    needed = [word for action in actions if action.option_strings and action.required for word in (action.option_strings[-1], HOSTILE)]
    yield [*before, *needed, *positionals]
    yield [*before, *needed, *([BROKEN] * len(positionals))]
    yield [*before, f"--{BROKEN}"]
    for action in actions:
        if action.option_strings and action.nargs != 0 and action.option_strings[-1] not in ("--master", "--conf"):
            yield [*before, *needed, action.option_strings[-1], BROKEN, *positionals]


@pytest.mark.parametrize("command", COMMANDS)
def test_every_refusal_of_an_argument_is_harmless(command: str, capsys: pytest.CaptureFixture[str]) -> None:
    parsers = next(action for action in parser_for(command)._actions if isinstance(action, argparse._SubParsersAction))
    lines = list(arguments_of(parsers.choices[command], (command,)))
    for arguments in lines:
        code, _, err = told(arguments, capsys)
        refused = BROKEN in arguments or HOSTILE in arguments or f"--{BROKEN}" in arguments
        searched = command == "find"  # whatever the words are, they can be searched for
        assert code == (2 if refused else 0) or (searched and code == 0), arguments
        assert err.startswith("isrlab: ") or code == 0


def test_an_unknown_command_is_reported_with_its_control_characters_escaped(capsys: pytest.CaptureFixture[str]) -> None:
    assert told([BROKEN], capsys)[0] == 2


# --- hostile files -------------------------------------------------------------------------------------------------


def script() -> str:
    return yaml.safe_dump(
        {
            "scenario": "hostile",
            "about": BROKEN,
            "cluster": {
                "brokers": [{"id": 1, "rack": BROKEN}, {"id": 2}],
                "topics": {"orders": {"partitions": 1, "replication-factor": 2, "config": {"compression.type": "zstd"}}},
            },
            "timeline": [{"at": "1s", "kill": 2, "note": BROKEN}, {"at": "2s", "expect": {"lost": 1}, "note": BROKEN}],
        }
    )


def log(path: Path) -> None:
    """Return a log with hostile names, with every kind of event that contains no other text."""
    spec = ClusterSpec((BrokerSpec(1, rack=BROKEN), BrokerSpec(2)), (TopicSpec("orders", 1, 2, config=(("compression.type", BROKEN),)),))
    lines = [msgspec.json.encode(make_header(spec, CURRENT, 0, BROKEN))]
    seq = 0
    kinds = {"topic-created": KINDS["topic-created"], "partitions-created": KINDS["partitions-created"], **KINDS}
    for kind, event in kinds.items():
        if kind == "topic-deleted":
            continue  # it would remove the topic from what the tools print
        if not {name for name, written in event.columns.items() if written == "str"} <= FREE:
            continue
        seq += 1
        values: list[Any] = [
            {"int": 1, "str": BROKEN, "bool": True, "tuple[int, ...]": (1, 2)}[written] for written in event.columns.values()
        ]
        if kind == "partitions-created":
            values[-1] = 2
        lines.append(encode_event((seq, seq, 0, kind, *values)))
    lines.append(msgspec.json.encode(End(True, seq, seq)))
    path.write_bytes(b"\n".join(lines) + b"\n")


def describe() -> str:
    topic = HOSTILE.replace("\u2028", "")
    return (
        f"Topic: orders\tTopicId: {topic}\tPartitionCount: 1\tReplicationFactor: 2\tConfigs: compression.type={topic}\n"
        f"\tTopic: orders\tPartition: 0\tLeader: 1\tReplicas: 1,2\tIsr: 1,2\t{topic}: 7\n"
        f"{topic}\n"
    )


@pytest.fixture
def files(tmp_path: Path) -> Path:
    (tmp_path / "hostile.yaml").write_text(script(), encoding="utf-8")
    log(tmp_path / "hostile.jsonl")
    (tmp_path / "hostile.txt").write_text(describe(), encoding="utf-8")
    (tmp_path / "keys.toml").write_text('[keys]\nkill = "\\u001b[31m"\n"\\u001b[31m" = "x"\n', encoding="utf-8")
    (tmp_path / "plan.json").write_text(
        json.dumps({"version": 1, "partitions": [{"topic": BROKEN, "partition": 0, "replicas": [1, 2]}]}), encoding="utf-8"
    )
    (tmp_path / "topics.json").write_text(json.dumps({"version": 1, "topics": [{"topic": BROKEN}]}), encoding="utf-8")
    (tmp_path / "grid.yaml").write_text(
        yaml.safe_dump({"sweep": "hostile", "about": BROKEN, "cluster": {"brokers": 1}, BROKEN: 1}), encoding="utf-8"
    )
    tree = tmp_path / "tree" / "broker-1" / "log-dir-1"
    tree.mkdir(parents=True)
    (tree / "meta.properties").write_text(f"broker.id=1\nnode={HOSTILE}\n", encoding="utf-8")
    return tmp_path


@pytest.mark.parametrize(
    ("arguments", "shown"),
    [
        (["run", "hostile.yaml"], r"\u202egnp"),
        (["run", "hostile.yaml", "--release", "3.6", "--release", "4.1"], r"\u202egnp"),
        (["run", "hostile.yaml", "--json"], r"\u202egnp"),
        (["run", "hostile.yaml", "--junit", "/dev/stdout"], ""),
        (["play", "hostile.yaml"], ""),
        (["play", "hostile.jsonl"], ""),
        (["play", "hostile.txt"], ""),
        (["play", "--keys", "keys.toml"], r"\x1b[31m"),
        (["keys", "--keys", "keys.toml"], r"\x1b[31m"),
        (["import", "hostile.txt"], ""),
        (["describe", "hostile.txt"], ""),
        (["describe", "hostile.yaml"], "Topic: orders"),
        (["describe", "hostile.jsonl"], r"\u202egnp"),
        (["describe", "hostile.jsonl", "--topic", BROKEN], r"\u202egnp"),
        (["metrics", "hostile.jsonl"], r"\u202egnp"),
        (["metrics", "hostile.yaml"], "kafka."),
        (["checkpoints", "hostile.jsonl", "-o", "there"], ""),
        (["checkpoints", "hostile.yaml", "-o", BROKEN], r"\u202egnp"),
        (["checkpoints", "tree"], ""),
        (["checkpoints", "hostile.yaml", "--check", "tree"], ""),
        (["segments", "hostile.yaml", "--partition", "orders-0", "--offset", "0"], "orders-0 on b"),
        (["segments", "hostile.jsonl", "--partition", BROKEN], r"\u202egnp"),
        (["segments", "hostile.yaml", "--partition", "orders-0", "--dump", BROKEN], r"\u202egnp"),
        (["reassign", "hostile.jsonl", "--list"], ""),
        (["reassign", "hostile.yaml", "--verify", "--reassignment-json-file", "plan.json"], r"\u202egnp"),
        (["reassign", "hostile.yaml", "--execute", "--reassignment-json-file", "plan.json"], r"\u202egnp"),
        (["reassign", "hostile.yaml", "--cancel", "--reassignment-json-file", "plan.json"], ""),
        (
            ["reassign", "hostile.yaml", "--generate", "--topics-to-move-json-file", "topics.json", "--broker-list", "1,2"],
            r"\u202egnp",
        ),
        (["leader-election", "hostile.jsonl", "--election-type", "preferred", "--all-topic-partitions"], ""),
        (["leader-election", "hostile.yaml", "--election-type", "preferred", "--topic", BROKEN, "--partition", "0"], r"\u202egnp"),
        (["transactions", "describe-producers", "hostile.yaml", "--topic", BROKEN, "--partition", "0"], r"\u202egnp"),
        (["log", "check", "hostile.jsonl"], ""),
        (["log", "export", "hostile.jsonl", "--perfetto", "-"], r"\u202egnp"),
        (["replay", "hostile.jsonl"], r"\u202egnp"),
        (["sweep", "grid.yaml", "--processes", "0"], r"\u202egnp"),
        (["scenarios", "show", "e1-data-loss"], "scenario: e1-data-loss"),
    ],
)
def test_nothing_in_a_hostile_file_drives_the_terminal(
    arguments: list[str], shown: str, files: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    code, out, err = told(arguments, capsys)
    assert code in (0, 1, 2)
    assert shown in out + err


def test_the_json_of_hostile_files_says_what_was_in_them(files: Path, capsys: pytest.CaptureFixture[str]) -> None:
    _, out, _ = told(["run", "hostile.yaml", "--json"], capsys)
    assert json.loads(out)["runs"][0]["expectations"][0]["note"] == BROKEN.strip()
    _, out, _ = told(["log", "export", "hostile.jsonl", "--perfetto", "-"], capsys)
    assert json.loads(out)["otherData"]["scenario"] == BROKEN


def test_junit_stays_xml(files: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert told(["run", "hostile.yaml", "--junit", "it.xml"], capsys)[0] == 1
    assert_harmless((files / "it.xml").read_text(encoding="utf-8"))
    assert ET.parse(files / "it.xml").getroot().get("failures") == "1"


def test_a_cluster_file_says_the_same_in_characters_that_show() -> None:
    spec = ClusterSpec((BrokerSpec(1, rack=HOSTILE), BrokerSpec(2, rack="Größe")))
    written = write_cluster(spec)
    assert_harmless(written)
    assert read_cluster(parse(written, "it").values["cluster"]).brokers == spec.brokers
    assert "Größe" in write_cluster(ClusterSpec((BrokerSpec(1, rack="Größe"),)))


def test_a_describe_text_is_read_back_with_its_escapes(files: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert told(["describe", "hostile.txt"], capsys)[0] in (0, 2)
    _, out, _ = told(["describe", "hostile.jsonl"], capsys)
    assert out
    assert all(line.startswith(("Topic: ", "\tTopic: ")) for line in out.splitlines())


# --- files that others open ----------------------------------------------------------------------------------------


def test_cells_that_a_spreadsheet_would_run_are_defused(tmp_path: Path) -> None:
    cells: list[object] = ["=cmd|'/c calc'!A0", "+1+1", "-2+3", "@SUM(A1)", "\t=1", "\r=1", HOSTILE, "-1", "+2.5e3", -1, None, True, "a=b"]
    result = Result("t", "T", "", tuple(f"c{n}" for n in range(len(cells))), (tuple(cells),))
    csv_files.write(result.name, result.columns, result.rows, tmp_path, 100)
    text = (tmp_path / "t.csv").read_text(encoding="utf-8")
    assert_harmless(text)
    row = list(csv.reader(text.splitlines()))[1]
    assert row == [
        "'=cmd|'/c calc'!A0", "'+1+1", "'-2+3", "'@SUM(A1)", r"'\t=1", r"'\r=1", escape_value(HOSTILE), "-1", "+2.5e3", "-1", "", "true", "a=b"
    ]  # fmt: skip

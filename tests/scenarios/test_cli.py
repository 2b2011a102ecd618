"""The command line: exit codes, the output to stdout and stderr, and the behavior in a pipe."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from scenarios import catalogue
from scenarios.describe.parse import parse_describe
from scenarios.describe.spec import to_cluster_spec
from scenarios.language.script import load_script
from scenarios.language.subjects import SUBJECTS
from scenarios.logs.log_reader import LogReader
from tui.arguments.console import Parser
from tui.cli import GROUPS, main, parser_for

ROOT = Path(__file__).resolve().parents[2]

DESCRIBED = """Topic: orders\tTopicId: _hfDXqHlQz6I7rB-JbQSVw\tPartitionCount: 2\tReplicationFactor: 3\tConfigs: min.insync.replicas=2
\tTopic: orders\tPartition: 0\tLeader: 1\tReplicas: 1,2,3\tIsr: 1,2,3\tElr: \tLastKnownElr: \n\tTopic: orders\tPartition: 1\tLeader: 2\tReplicas: 2,3,1\tIsr: 2,1\tElr: \tLastKnownElr: \n"""


def test_run_says_one_line_for_each_run(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["run", "--quiet", "e1-data-loss", "b5-checkpoint"]) == 0
    captured = capsys.readouterr()
    lines = captured.out.splitlines()
    assert [line.partition(":")[0] for line in lines[:3]] == ["ok e1-data-loss (0.10.2)", "ok e1-data-loss (4.3)", "ok b5-checkpoint (4.3)"]
    assert lines[3].endswith("all held")
    assert captured.err == ""


def test_run_under_a_release_with_a_seed(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["run", "e1-data-loss", "--release", "2.0", "--seed", "42", "--json"]) == 0
    (run,) = json.loads(capsys.readouterr().out)["runs"]
    assert (run["release"], run["seed"], run["held"]) == ("2.0", 42, True)


def test_run_writes_log_and_junit(tmp_path: Path) -> None:
    log, junit = tmp_path / "s.jsonl", tmp_path / "s.xml"
    assert main(["run", "b2-high-watermark", "--log", str(log), "--junit", str(junit)]) == 0
    reader = LogReader(log)
    count = len(list(reader))
    assert reader.end is not None
    assert reader.end.events == count > 20
    assert reader.spec == catalogue.load("b2-high-watermark").spec
    assert junit.read_text().startswith("<?xml")


def test_a_log_for_each_run(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["run", "e1-data-loss", "--log", str(tmp_path / "one.jsonl")]) == 2
    assert "--log: one file cannot hold 2 runs" in capsys.readouterr().err
    assert main(["run", "e1-data-loss", "--log", f"{tmp_path}/logs/"]) == 0
    assert sorted(path.name for path in (tmp_path / "logs").iterdir()) == ["e1-data-loss-0.10.2.jsonl", "e1-data-loss-4.3.jsonl"]


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["run", "--release", "5", "e1-data-loss"], "--release: unknown release '5'"),
        (["run", "--release", "0.7", "e1-data-loss"], "unknown release '0.7'"),
        (["run", "--seed", "x", "e1-data-loss"], "--seed: 'x' is not a seed"),
        (["run", "--seed", "9" * 30, "e1-data-loss"], "is not a seed"),
        (["run", "b3-high-watermark-behind", "--log", "/nowhere/s.jsonl"], "--log: there is no directory /nowhere"),
        (["run", "b3-high-watermark-behind", "--junit", "/nowhere/s.xml"], "--junit: there is no directory /nowhere"),
        (["scenarios", "show", "b2"], "b2: neither a file nor a scenario"),
        (["describe", "b2-high-watermark", "--at", "soon"], "--at: 'soon' is not a duration"),
        (["describe", "b2-high-watermark", "--topic", "tt"], "Topic 'tt' does not exist as expected; did you mean 't'?"),
        (["describe", "nothing"], "nothing: neither a file nor a scenario"),
        (["import", "nothing.txt"], "nothing.txt: cannot be read: No such file"),
        (["play", "nothing"], "nothing: neither a file nor a scenario"),
        (["play", "b2-high-watermark"], "play needs a terminal"),
    ],
)
def test_bad_input_is_reported_in_one_line(arguments: list[str], words: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(arguments) == 2
    err = capsys.readouterr().err
    assert err.startswith("isrlab: ")
    assert err.count("\n") == 1
    assert words in err


@pytest.mark.parametrize("arguments", [[], ["runn"], ["run", "--nope"], ["scenarios"], ["report"], ["share"]])
def test_wrong_arguments_are_reported_in_one_line(arguments: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as caught:
        main(arguments)
    assert caught.value.code == 2
    err = capsys.readouterr().err
    assert err.count("\n") == 1
    assert "--help" in err


def test_every_command_is_known_by_its_name() -> None:
    for group, names in GROUPS.items():
        commands = Parser().add_subparsers()
        group.add_commands(commands)
        assert tuple(commands.choices) == names, group.__name__
    everything = parser_for("--help").format_help()
    assert all(f"\n    {name}" in everything for names in GROUPS.values() for name in names)
    assert "\n    run" not in parser_for("play").format_help()


def test_scenarios_list_and_show(capsys: pytest.CaptureFixture[str]) -> None:
    every = [*catalogue.names(), *catalogue.model_names()]
    assert main(["scenarios", "list", "--names"]) == 0
    assert capsys.readouterr().out.splitlines() == every
    assert main(["scenarios", "list"]) == 0
    lines = capsys.readouterr().out.splitlines()
    listed = {line.split()[0]: line.split(maxsplit=1)[1] for line in lines if line.startswith("  ")}
    assert listed == {header.name: header.title for header in catalogue.headers()}
    assert lines[0] == f"replication: {SUBJECTS['replication']}"
    groups = [line.partition(":")[0] for line in lines if line and not line.startswith(" ")]
    assert groups == [tag for tag in SUBJECTS if tag in groups], "each subject once, in their order"
    assert main(["scenarios", "show", "e2-divergence"]) == 0
    assert capsys.readouterr().out == catalogue.path_of("e2-divergence").read_text(encoding="utf-8")


def test_the_scenarios_of_a_group_are_listed_by_their_numbers(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["scenarios", "list", "--tag", "hanging-transaction"]) == 0
    names = [line.split()[0] for line in capsys.readouterr().out.splitlines() if line.startswith("  ")]
    assert names.index("t1-late-produce") < names.index("t8-marker-without-time") < names.index("t10-unclean-election")


def test_scenarios_are_listed_by_tag(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["scenarios", "list", "--names", "--tag", "racks"]) == 0
    names = capsys.readouterr().out.splitlines()
    assert "a2-racks" in names
    assert names == [header.name for header in catalogue.headers() if "racks" in header.tags]
    assert main(["scenarios", "list", "--names", "--tag", "racks", "--tag", "consumers"]) == 0
    assert set(capsys.readouterr().out.splitlines()) == {"b4-cross-zone-bytes", "b4-follower-reads", "b4-follower-reads-stand-still"}
    assert main(["scenarios", "list", "--tag", "raks"]) == 2
    assert capsys.readouterr().err == "isrlab: unknown tag 'raks'; did you mean 'racks'?\n"
    assert main(["scenarios", "list", "--tag", "racks", "--tag", "mysql"]) == 2
    assert capsys.readouterr().err == "isrlab: no scenario has the tags racks and mysql\n"


def test_the_long_list_has_the_descriptions(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["scenarios", "list", "--long", "--tag", "segments"]) == 0
    out = capsys.readouterr().out
    words = " ".join(out.split())
    assert " ".join(catalogue.load("l2-segment-lookup").about.split()) in words


def test_a_plain_cluster_has_nothing_to_run(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "c.yaml"
    path.write_text("cluster: {brokers: 3}\n")
    assert main(["run", str(path)]) == 2
    assert "nothing to run" in capsys.readouterr().err
    path = tmp_path / "mine.txt"
    path.write_text("Topic: t\tPartitionCount: 1\tReplicationFactor: 1\n\tTopic: t\tPartition: 0\tLeader: 1\tReplicas: 1\tIsr: 1\n")
    assert main(["run", str(path), "--vary", "min.insync.replicas=1,2"]) == 2
    err = capsys.readouterr().err
    assert f"{path}: this is the output of kafka-topics --describe, which has no steps to run; 'isrlab ask FILE' answers" in err
    assert len(err.splitlines()) == 1


def test_import_writes_a_cluster_file(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    source, target = tmp_path / "real.txt", tmp_path / "real.yaml"
    source.write_text(DESCRIBED)
    assert main(["import", str(source), "-o", str(target)]) == 0
    assert capsys.readouterr().out == ""
    assert load_script(target).spec == to_cluster_spec(parse_describe(DESCRIBED, "x"))[0]
    assert "{replicas: [2, 3, 1], isr: [2, 1], leader: 2}" in target.read_text()
    assert main(["import", str(source)]) == 0
    assert capsys.readouterr().out == target.read_text()


def test_describe_prints_a_text_back(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    source = tmp_path / "real.txt"
    source.write_text(DESCRIBED)
    assert main(["describe", str(source)]) == 0
    assert capsys.readouterr().out == DESCRIBED
    assert main(["describe", str(source), "--under-replicated-partitions"]) == 0
    assert capsys.readouterr().out == DESCRIBED.splitlines(keepends=True)[2]


FILTERS = (["--under-replicated-partitions"], ["--at-min-isr-partitions"], ["--unavailable-partitions"])


def test_describe_of_a_log_is_describe_of_the_scenario(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    log = tmp_path / "s.jsonl"
    assert main(["run", "captures-kill-9", "--log", str(log)]) == 0
    capsys.readouterr()
    texts = {}
    for at in ("1ms", "12s", "19s", "25s", "40s", "52s"):
        for chosen in ([], *(FILTERS if at in ("12s", "25s") else ())):
            outputs = []
            for source in (str(log), "captures-kill-9"):
                assert main(["describe", source, "--at", at, *chosen]) == 0
                outputs.append(capsys.readouterr().out)
            assert outputs[0] == outputs[1], (at, chosen)
            texts[at, *chosen] = outputs[0]
    assert texts["12s",].count("\n") == 7
    assert texts["12s", "--under-replicated-partitions"] == ""
    assert texts["25s", "--under-replicated-partitions"].count("\n") == 6
    assert "\tTopic: l07.cdr.ha\tPartition: 1\tLeader: 3\tReplicas: 2,3,1\tIsr: 3,1\t" in texts["25s",]


def isrlab(*arguments: str, **options: object) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-m", "tui", *arguments], cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, **options
    )  # type: ignore[call-overload]


def test_a_reader_that_goes_away_is_no_error() -> None:
    for arguments in (["scenarios", "show", "e1-data-loss"], ["run", "b2-high-watermark", "b3-high-watermark-behind"]):
        process = isrlab(*arguments)
        assert process.stdout is not None
        process.stdout.close()
        assert process.stderr is not None
        assert process.stderr.read() == ""
        assert process.wait(20) != 2
        process.stderr.close()


ENDLESS = """
cluster: {brokers: 3, topics: {orders: {replicas: [[1, 2, 3]]}}}
timeline:
  - load: {topic: orders, rate: 10000, every: 1ms}
  - wait: 3000d
"""


@pytest.mark.parametrize(("number", "code"), [(signal.SIGTERM, 128 + signal.SIGTERM), (signal.SIGINT, 128 + signal.SIGINT)])
def test_a_signal_leaves_a_whole_log(number: signal.Signals, code: int, tmp_path: Path) -> None:
    script, log = tmp_path / "s.yaml", tmp_path / "s.jsonl"
    script.write_text(ENDLESS)
    # A test run in the background may have inherited an ignored SIGINT; at a terminal it is not ignored.
    process = isrlab("run", str(script), "--log", str(log), preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL))
    deadline = time.monotonic() + 60
    while not log.exists() or log.stat().st_size < 10_000:
        assert time.monotonic() < deadline
        assert process.poll() is None
        time.sleep(0.05)
    process.send_signal(number)
    _, err = process.communicate(timeout=60)
    assert process.returncode == code, err
    assert err == ""
    reader = LogReader(log)
    count = len(list(reader))
    assert reader.end is not None
    assert reader.end.events == count > 100


CTRL_C_DURING_AN_IMPORT = """
import os, signal, sys

class Finder:
    def find_spec(self, name, path, target=None):
        if name == meant:
            os.kill(os.getpid(), signal.SIGINT)

meant, sys.argv[1:] = sys.argv[1], ["run", "e1-data-loss"]
signal.signal(signal.SIGINT, signal.default_int_handler)
sys.meta_path.insert(0, Finder())
from tui.__main__ import main
main()
"""


@pytest.mark.parametrize("module", ["tui.cli", "scenarios.running.results"])
def test_ctrl_c_before_anything_has_begun_ends_it_without_a_word(module: str) -> None:
    done = subprocess.run([sys.executable, "-c", CTRL_C_DURING_AN_IMPORT, module], cwd=ROOT, capture_output=True, check=False, timeout=60)
    assert (done.returncode, done.stdout, done.stderr) == (-signal.SIGINT, b"", b"")


def test_run_never_imports_what_is_heavy() -> None:
    code = "import sys; from tui.cli import main; main(['run', 'e1-data-loss']); print([one for one in ('textual', 'rich', 'pyspark', 'pandas', 'asyncio') if one in sys.modules], file=sys.stderr)"
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=True, timeout=60)
    assert done.stderr.strip() == "[]"


ELR_SCRIPT = """\
cluster:
  brokers: 2
  topics: {t: {replicas: [[1, 2]], config: {min.insync.replicas: 2}}}
timeline:
  - at: 1s
    kill: 2
  - at: 20s
    expect: elr(t-0) == [2]
"""


def test_a_feature_level_is_given_on_the_command_line_and_kept_in_the_log(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    script, log = tmp_path / "elr.yaml", str(tmp_path / "elr.jsonl")
    script.write_text(ELR_SCRIPT)
    assert main(["run", str(script)]) == 0
    assert main(["run", str(script), "--feature", "eligible.leader.replicas.version=0", "--log", log]) == 1
    assert LogReader(log).spec.features == (("eligible.leader.replicas.version", 0),)
    script.write_text(ELR_SCRIPT.replace("cluster:\n", "cluster:\n  features: {eligible.leader.replicas.version: 0}\n"))
    assert main(["run", str(script)]) == 1
    assert main(["run", str(script), "--feature", "eligible.leader.replicas.version=1"]) == 0
    capsys.readouterr()
    for wrong, words in (
        ("eligible.leader.replicas.version", "write NAME=LEVEL"),
        ("eligible.leader.replicas.version=7", "has levels 0 to 1, not 7"),
        ("elr=1", "unknown feature 'elr'"),
    ):
        assert main(["run", str(script), "--feature", wrong]) == 2
        assert words in capsys.readouterr().err
    assert main(["run", str(script), "--release", "2.8", "--feature", "eligible.leader.replicas.version=1"]) == 2
    assert "release 2.8 has no eligible.leader.replicas.version" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("name", "release", "level"), [("d6-unclean-election-off", "4.3", 0), ("s11-elr-cleared", "4.0", 1), ("s11-elr-cleared", "4.3", 0)]
)
def test_what_is_expected_with_or_without_elr_follows_the_feature(name: str, release: str, level: int) -> None:
    assert main(["run", name, "--release", release, "--feature", f"eligible.leader.replicas.version={level}"]) == 0

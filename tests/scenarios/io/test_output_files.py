"""The output of a command appears completely or not at all, and no mistake destroys an existing file or an input."""

from __future__ import annotations

import contextlib
import errno
import json
import os
import shutil
import stat
import subprocess
import sys
import threading
from collections.abc import Callable
from pathlib import Path
from typing import NoReturn

import pytest

from core.kafka.release import CURRENT
from scenarios.errors import InputError
from scenarios.io.output_files import OutputFile, atomic_entries, atomic_file, check_outputs, same_file, stream_of, write_atomically
from scenarios.logs.log_reader import LogReader
from scenarios.logs.log_writer import LogWriter
from spark_reports import report
from spark_reports.errors import ReportError
from tests.scenarios.logs.test_event_log import HEADER
from tests.scenarios.sweeps.grids import TEXT
from tui.cli import main
from tui.session.loading import load_session
from tui.session.play_target import PlayTarget

ROOT = Path(__file__).resolve().parents[3]
KEPT = "what stood there\n"

UNBUILDABLE = """scenario: wrong
cluster:
  brokers: 3
  topics: {orders: {partitions: 1, replication-factor: 5}}
expect: [never records-lost]
"""
"""A script that can be read, but whose cluster Kafka refuses."""

SMALL = """scenario: small
cluster: {brokers: 3, topics: {orders: {partitions: 1, replication-factor: 3}}}
timeline: [{at: 1s, expect: {lost: 0}}]
"""

DESCRIBED = "Topic: t\tPartitionCount: 1\tReplicationFactor: 1\tConfigs: \n\tTopic: t\tPartition: 0\tLeader: 1\tReplicas: 1\tIsr: 1\n"


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "wrong.yaml").write_text(UNBUILDABLE)
    (tmp_path / "small.yaml").write_text(SMALL)
    (tmp_path / "d.txt").write_text(DESCRIBED)
    (tmp_path / "grid.yaml").write_text(TEXT)
    assert main(["run", "small.yaml", "--log", "log.jsonl"]) == 0
    for name in ("keep.jsonl", "keep.xml", "keep.json", "keep.html", "keep.yaml", "keep.txt"):
        (tmp_path / name).write_text(KEPT)
    return tmp_path


def stop_after(writing: Callable[[], object]) -> NoReturn:
    writing()
    raise RuntimeError


def contents(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in sorted(folder.rglob("*")) if path.is_file()}


@pytest.mark.parametrize(
    "arguments",
    [
        ["run", "wrong.yaml", "--log", "keep.jsonl"],
        ["run", "wrong.yaml", "--junit", "keep.xml"],
        ["run", "small.yaml", "wrong.yaml", "--log", "./"],
        ["run", "small.yaml", "wrong.yaml", "--log", "new/"],
        ["run", "wrong.yaml", "--release", "3.6", "--release", "4.1", "--log", "new/"],
        ["run", "small.yaml", "--log", "no/such.jsonl"],
        ["run", "small.yaml", "--junit", "no/such.xml"],
        ["play", "wrong.yaml", "--log", "keep.jsonl"],
        ["log", "export", "d.txt", "--perfetto", "keep.json"],
        ["log", "export", "keep.jsonl", "--perfetto", "keep.json"],
        ["import", "keep.txt", "-o", "keep.yaml"],
        ["log", "convert", "keep.jsonl", "-o", "keep.html.jsonl"],
        ["report", "keep.jsonl", "--html", "keep.html"],
        ["sweep", "small.yaml", "--processes", "0", "--html", "keep.html"],
        ["sweep", "grid.yaml", "--cell", "99", "--seed", "1", "--scenario", "keep.yaml"],
        ["checkpoints", "wrong.yaml", "-o", "new"],
    ],
    ids=" ".join,
)
def test_bad_input_touches_no_file(arguments: list[str], here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    before = contents(here)
    assert main(arguments) == 2
    assert contents(here) == before
    assert not (here / "new").exists()


def test_a_playground_that_cannot_begin_leaves_the_log_that_stood_there(here: Path) -> None:
    from scenarios import catalogue

    script = catalogue.load("wrong.yaml")
    with pytest.raises(InputError):
        load_session(PlayTarget(script, script.spec, CURRENT, log=here / "keep.jsonl"))
    assert (here / "keep.jsonl").read_text() == KEPT
    assert not list(here.glob(".isrlab*"))
    stage = load_session(PlayTarget(None, None, CURRENT, log=here / "keep.jsonl"))
    stage.session.history.close()
    reader = LogReader(here / "keep.jsonl")
    assert len(list(reader)) > 1
    assert reader.end is not None


@pytest.mark.parametrize("link", ["itself", "symbolic", "hard"])
@pytest.mark.parametrize(
    ("arguments", "source"),
    [
        (["run", "small.yaml", "--log"], "small.yaml"),
        (["run", "small.yaml", "--junit"], "small.yaml"),
        (["play", "small.yaml", "--log"], "small.yaml"),
        (["play", "small.yaml", "--record"], "small.yaml"),
        (["play", "log.jsonl", "--log"], "log.jsonl"),
        (["import", "d.txt", "-o"], "d.txt"),
        (["log", "export", "log.jsonl", "--perfetto"], "log.jsonl"),
        (["log", "convert", "log.jsonl", "-o"], "log.jsonl"),
        (["report", "log.jsonl", "--html"], "log.jsonl"),
        (["sweep", "grid.yaml", "--processes", "0", "--html"], "grid.yaml"),
        (["sweep", "grid.yaml", "--cell", "1", "--seed", "1", "--scenario"], "grid.yaml"),
    ],
    ids=lambda value: value if isinstance(value, str) else " ".join(value),
)
def test_what_is_read_is_not_written_over(
    arguments: list[str], source: str, link: str, here: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    output = here / f"other{Path(source).suffix}"
    if link == "symbolic":
        output.symlink_to(source)
    elif link == "hard":
        output.hardlink_to(here / source)
    else:
        output = Path(source)
    before = contents(here)
    assert main([*arguments, str(output)]) == 2
    assert "is an input of this command; name another file" in capsys.readouterr().err
    assert contents(here) == before


@pytest.mark.parametrize("exists", [False, True])
def test_two_scenarios_of_one_name_do_not_share_a_log(exists: bool, here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (here / "other.yaml").write_text(SMALL.replace("replication-factor: 3", "replication-factor: 2"))
    if exists:
        (here / "new").mkdir()
    before = contents(here)
    assert main(["run", "small.yaml", "other.yaml", "--log", "new/"]) == 2
    said = capsys.readouterr()
    assert said.out == ""
    assert "--log: small.yaml and other.yaml would both write new/small-4.3.jsonl; give them different names" in said.err
    assert contents(here) == before
    assert (here / "new").exists() == exists


def test_two_outputs_are_two_files(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["run", "small.yaml", "--log", "both", "--junit", "./both"]) == 2
    assert "--log: both is the file for --junit; name another file" in capsys.readouterr().err
    check_outputs({"--log": "/dev/null", "--junit": "/dev/null"}, ["/dev/null"])


@pytest.mark.parametrize("fails", [True, False])
def test_tables_of_a_report_take_the_place_of_older_ones_when_all_are_there(
    fails: bool, here: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def summarise(logs: object, found: object, out: object, place: object, *_: object) -> tuple[None, int]:
        (Path(str(place)) / "records").mkdir()
        (Path(str(place)) / "records" / "new.parquet").write_text("")
        if fails:
            raise ReportError("Spark failed")
        return None, 0

    monkeypatch.setattr(report, "summarise", summarise)
    (here / "out" / "records").mkdir(parents=True)
    (here / "out" / "records" / "old.parquet").write_text("")
    assert main(["report", "log.jsonl", "-o", "out", "-q"]) == (2 if fails else 0)
    assert os.listdir(here / "out") == ["records"]
    assert os.listdir(here / "out" / "records") == ["old.parquet" if fails else "new.parquet"]
    assert main(["report", "log.jsonl", "-o", "other/out", "-q"]) == (2 if fails else 0)
    assert (here / "other").exists() is not fails


def test_no_directory_is_made_for_a_report_of_nothing(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["report", "keep.jsonl", "-o", "out"]) == 2
    assert not (here / "out").exists()
    assert main(["report", "log.jsonl", "-o", "keep.html"]) == 2
    assert "keep.html: cannot write the tables: Not a directory" in capsys.readouterr().err
    (here / "data" / "session=a").mkdir(parents=True)
    (here / "data" / "session=a" / "events.parquet").write_text("")
    assert main(["report", "data", "-o", "data"]) == 2
    assert "data: this directory is the input; name another directory for the tables" in capsys.readouterr().err


# --- a file --------------------------------------------------------------------------------------------------------


def test_a_file_is_replaced_when_it_is_whole(tmp_path: Path) -> None:
    path = tmp_path / "it"
    path.write_text(KEPT)
    with atomic_file(path) as file:
        file.write("new\n")
        file.write(b"bytes \xff\n")
        assert path.read_text() == KEPT
    assert path.read_bytes() == b"new\nbytes \xff\n"
    with pytest.raises(RuntimeError), atomic_file(path) as file:
        stop_after(lambda: file.write("x" * 3_000_000))
    assert path.read_bytes() == b"new\nbytes \xff\n"
    assert os.listdir(tmp_path) == ["it"]


def test_permissions_and_links_stay(tmp_path: Path) -> None:
    path, link = tmp_path / "it", tmp_path / "link"
    path.write_text(KEPT)
    path.chmod(0o640)
    link.symlink_to("it")
    write_atomically(link, "new")
    assert (link.is_symlink(), path.read_text(), stat.S_IMODE(path.stat().st_mode)) == (True, "new", 0o640)
    mask = os.umask(0o027)
    try:
        write_atomically(tmp_path / "fresh", "")
    finally:
        os.umask(mask)
    assert stat.S_IMODE((tmp_path / "fresh").stat().st_mode) == 0o640


def test_a_file_that_is_a_mount_of_its_own_is_written_in_place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def busy(source: str, target: str) -> None:
        raise OSError(errno.EBUSY, "Device or resource busy")

    path = tmp_path / "it"
    path.write_text(KEPT * 3)
    monkeypatch.setattr(os, "replace", busy)
    write_atomically(path, "new")
    assert path.read_text() == "new"
    writer = LogWriter(path, HEADER)
    writer.begin()
    writer((1, 5, 0, "broker-paused", 1))
    writer.close(9)
    assert len(list(LogReader(path))) == 1
    assert os.listdir(tmp_path) == ["it"]


def test_a_file_in_a_directory_that_takes_no_other_is_written(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = tmp_path / "folder"
    folder.mkdir()
    (folder / "it").write_text(KEPT)
    opened = os.open

    def refused(path: str, *rest: int) -> int:
        if str(path).startswith(str(folder)):
            raise PermissionError(errno.EACCES, "Permission denied")
        return opened(path, *rest)

    monkeypatch.setattr(os, "open", refused)
    write_atomically(folder / "it", "new")
    assert (folder / "it").read_text() == "new"
    with pytest.raises(InputError, match="Permission denied"):
        write_atomically(folder / "other", "new")


def test_a_pipe_is_written_as_it_comes(tmp_path: Path) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    got: list[bytes] = []
    reader = threading.Thread(target=lambda: got.append(pipe.read_bytes()))
    reader.start()
    write_atomically(pipe, "through\n")
    reader.join(30)
    assert got == [b"through\n"]
    assert stat.S_ISFIFO(pipe.stat().st_mode)


def test_a_file_that_cannot_be_written_is_reported(tmp_path: Path) -> None:
    for path in (tmp_path, tmp_path / "no" / "it", "nul\0"):
        with pytest.raises(InputError):
            OutputFile(path)
    if Path("/dev/full").exists():
        with pytest.raises(InputError, match="No space left"):
            write_atomically("/dev/full", "x")


def test_a_file_whose_opening_is_interrupted_leaves_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupted(descriptor: int, mode: str) -> NoReturn:
        os.close(descriptor)
        assert [path.suffix for path in tmp_path.iterdir()] == [".part"]
        raise KeyboardInterrupt

    monkeypatch.setattr("scenarios.io.output_files.io.FileIO", interrupted)
    with pytest.raises(KeyboardInterrupt):
        OutputFile(tmp_path / "out.txt")
    assert not list(tmp_path.iterdir())


def test_links_to_a_stream_are_that_stream_and_links_in_a_circle_are_none(tmp_path: Path) -> None:
    for number, target in enumerate(["/dev/stderr", "0", "1"]):
        (tmp_path / str(number)).symlink_to(target)
    assert [stream_of(tmp_path / str(number)) for number in range(3)] == [2, 2, 2]
    (tmp_path / "to").symlink_to("fro")
    (tmp_path / "fro").symlink_to("to")
    assert stream_of(tmp_path / "to") is None


@pytest.mark.parametrize("name", ["/dev/stdout", "/dev/fd/1", "/proc/self/fd/1"])
def test_stdout_by_its_name_goes_on_where_it_stands(name: str, here: Path) -> None:
    if not os.path.exists(name):
        pytest.skip(f"no {name} here")
    assert stream_of(name) == 1
    (here / "out").write_text("before\n")
    with (here / "out").open("ab") as out:
        subprocess.run(
            [sys.executable, "-m", "tui", "log", "export", str(here / "log.jsonl"), "--perfetto", name], cwd=ROOT, stdout=out, check=True
        )
    first, _, rest = (here / "out").read_text().partition("\n")
    assert first == "before"
    assert json.loads(rest)["otherData"]["scenario"] == "small"


@pytest.mark.parametrize(
    ("arguments", "begins"),
    [
        (["import", "d.txt", "-o", "-"], "cluster:"),
        (["run", "small.yaml", "--log", "-"], '{"isrlab":"event-log"'),
        (["run", "small.yaml", "--junit", "-"], "<?xml"),
        (["log", "export", "log.jsonl", "--perfetto", "-"], "{"),
        (["sweep", "grid.yaml", "--runs", "1", "--processes", "0", "--html", "-"], "<!doctype html>"),
        (["sweep", "grid.yaml", "--cell", "1", "--seed", "1", "--scenario", "-"], "scenario:"),
    ],
)
def test_a_dash_is_stdout_and_nothing_else_stands_there(
    arguments: list[str], begins: str, here: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    capfd.readouterr()
    assert main(arguments) == 0
    written = capfd.readouterr().out
    assert written.lower().startswith(begins.lower()), written[:100]
    assert not (here / "-").exists()
    # The same in a file.
    arguments[arguments.index("-")] = "it"
    assert main(arguments) == 0
    assert (here / "it").read_text() == written


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (["checkpoints", "small.yaml", "-o", "-"], "-o: '-' means stdout, which is not possible here; name a directory"),
        (["report", "log.jsonl", "-o", "-"], "-o: '-' means stdout, which is not possible here; name a directory"),
        (["log", "convert", "log.jsonl", "-o", "-"], "-o: '-' means stdout, which is not possible here; name a file or a directory"),
        (["sweep", "grid.yaml", "-o", "-"], "-o: '-' means stdout, which is not possible here; name a directory"),
        (
            ["play", "small.yaml", "--log", "-"],
            "--log: '-' means stdout, which is not possible here; name a file; the playground itself uses stdout",
        ),
        (
            ["play", "small.yaml", "--record", "-"],
            "--record: '-' means stdout, which is not possible here; name a file; the playground itself uses stdout",
        ),
        (["run", "small.yaml", "--log", "-", "--junit", "-"], "--log: --junit already writes to stdout; name a file"),
        (["run", "small.yaml", "--json", "--junit", "-"], "--junit: --json already writes to stdout; name a file"),
        (["report", "log.jsonl", "--json", "--html", "/dev/stdout"], "--html: --json already writes to stdout; name a file"),
    ],
)
def test_where_stdout_cannot_be_a_dash_is_refused(arguments: list[str], told: str, here: Path, capfd: pytest.CaptureFixture[str]) -> None:
    before = sorted(here.iterdir())
    capfd.readouterr()
    assert main(arguments) == 2
    assert capfd.readouterr() == ("", f"isrlab: {told}\n")
    assert sorted(here.iterdir()) == before


def test_names_of_one_file(tmp_path: Path) -> None:
    one, other = tmp_path / "one", tmp_path / "other"
    assert same_file(one, f"{tmp_path}/./one")
    one.write_text("")
    other.hardlink_to(one)
    assert same_file(one, other)
    assert not same_file(one, tmp_path / "third")
    assert not same_file("/dev/null", "/dev/null")
    assert not same_file("nul\0", "nul\0")


# --- a running session's log ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["keep.jsonl", "keep.jsonl.zst"])
def test_a_log_takes_its_place_when_the_session_runs(name: str, tmp_path: Path) -> None:
    path = tmp_path / name
    path.write_text(KEPT)
    writer = LogWriter(path, HEADER)
    writer((1, 5, 0, "broker-paused", 1))
    writer.flush()
    assert path.read_text() == KEPT
    writer.begin()
    assert len(list(LogReader(path))) == 1
    writer((2, 6, 0, "broker-paused", 2))
    writer.flush()
    assert len(list(LogReader(path))) == 2
    writer.cut(1)
    assert len(list(LogReader(path))) == 1
    writer.close(9)
    assert len(list(LogReader(path))) == 1
    assert os.listdir(tmp_path) == [name]


def test_a_log_that_cannot_take_its_place_is_reported(tmp_path: Path) -> None:
    folder = tmp_path / "logs"
    folder.mkdir()
    writer = LogWriter(folder / "log.jsonl", HEADER)
    shutil.rmtree(folder)
    with pytest.raises(InputError, match=r"log\.jsonl: "):
        writer.begin()
    writer.discard()


def test_a_log_without_a_session_never_was(tmp_path: Path) -> None:
    path = tmp_path / "keep.jsonl"
    path.write_text(KEPT)
    with pytest.raises(RuntimeError), LogWriter(path, HEADER) as writer:
        stop_after(lambda: writer((1, 5, 0, "broker-paused", 1)))
    assert path.read_text() == KEPT
    assert os.listdir(tmp_path) == ["keep.jsonl"]


STANDSTILL = """scenario: endless
cluster: {brokers: 3, topics: {orders: {partitions: 1, replication-factor: 3}}, network: {loss: 100%}}
timeline: [{at: 1s, expect: {lost: 0}}]
"""
"""A script that turns out to be invalid while it runs."""


def test_a_script_that_turns_out_wrong_while_it_runs_leaves_the_log_that_stood_there(here: Path) -> None:
    (here / "endless.yaml").write_text(STANDSTILL)
    before = contents(here)
    assert main(["run", "endless.yaml", "--log", "keep.jsonl"]) == 2
    assert main(["run", "endless.yaml", "--log", "fresh.jsonl"]) == 2
    assert contents(here) == before


def test_a_log_that_began_is_taken_back_or_stays(tmp_path: Path) -> None:
    path = tmp_path / "keep.jsonl"
    for stood in (KEPT, None):
        for end in (InputError("wrong"), KeyboardInterrupt()):
            path.unlink(missing_ok=True)
            if stood is not None:
                path.write_text(stood)
            with contextlib.suppress(InputError, KeyboardInterrupt), LogWriter(path, HEADER) as writer:
                writer.begin()
                writer((1, 5, 0, "broker-paused", 1))
                assert LogReader(path).spec is not None
                raise end
            if isinstance(end, KeyboardInterrupt):
                assert len(list(LogReader(path))) == 1
            else:
                assert (path.read_text() if path.exists() else None) == stood
            assert set(os.listdir(tmp_path)) <= {"keep.jsonl"}


# --- directories ---------------------------------------------------------------------------------------------------


def test_entries_of_a_directory_appear_together(tmp_path: Path) -> None:
    root = tmp_path / "out"
    (root / "table").mkdir(parents=True)
    (root / "table" / "old").write_text("")
    (root / "mine").write_text(KEPT)
    with atomic_entries(root) as part:
        (part / "table").mkdir()
        (part / "table" / "new").write_text("")
        (part / "more").write_text("")
        assert os.listdir(root / "table") == ["old"]
    assert sorted(os.listdir(root)) == ["mine", "more", "table"]
    assert os.listdir(root / "table") == ["new"]
    with pytest.raises(RuntimeError), atomic_entries(root) as part:
        stop_after(lambda: (part / "mine").write_text("half"))
    assert (root / "mine").read_text() == KEPT
    assert sorted(os.listdir(root)) == ["mine", "more", "table"]
    with pytest.raises(RuntimeError), atomic_entries(tmp_path / "a" / "b"):
        raise RuntimeError
    assert not (tmp_path / "a").exists()
    with atomic_entries(tmp_path / "a" / "b"):
        pass
    assert not (tmp_path / "a").exists()
    with pytest.raises(InputError, match="cannot be written"), atomic_entries(root / "mine"):
        pass

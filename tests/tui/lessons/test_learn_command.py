"""The command `isrlab learn` without a terminal, and what other commands say about lessons."""

from __future__ import annotations

from pathlib import Path

import pytest

from scenarios.lessons.lessons_library import FOLDER, lesson_names
from scenarios.lessons.progress import keep_progress, progress_path, read_progress
from tests.scenarios.lessons.test_lessons import SMALL
from tui.cli import main


@pytest.fixture(autouse=True)
def own_settings(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    monkeypatch.delenv("TEXTUAL_DRIVER", raising=False)


def test_the_list_has_every_lesson_with_its_progress(capsys: pytest.CaptureFixture[str]) -> None:
    keep_progress("elr", 4, 13, 0, ended=False)
    assert main(["learn"]) == main(["learn", "--list"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert [line.split()[1] for line in lines] == lesson_names() * 2
    assert lines[5].endswith("5 min  step 4 of 13")
    assert lines[0].endswith("6 min  new")
    assert main(["learn", "elr", "--reset"]) == 0
    assert read_progress() == {}
    assert progress_path().exists()


def test_a_lesson_is_checked(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "small.yaml"
    file.write_text(SMALL)
    assert main(["learn", str(file), "--check"]) == 0
    assert capsys.readouterr().out == "small: 4 steps, 1 question, 1 act of the person; it comes to its end\n"
    file.write_text(SMALL.replace("within: 20s", "within: 2s"))
    assert main(["learn", str(file), "--check"]) == 1
    assert f"{file}:18:5: lesson[3]: leader(orders-0) == 2 did not become true within 2s" in capsys.readouterr().err
    file.write_text(SMALL.replace("right: b1", "rihgt: b1"))
    assert main(["learn", str(file)]) == 2
    assert f"{file}:12:5: lesson[1]: unknown word 'rihgt'; did you mean 'right'?" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["learn", "elr"], "learn needs a terminal; 'isrlab learn --list' lists the lessons without one"),
        (["learn", "--check"], "--check: name a lesson or a file"),
        (["learn", "--continue"], "--continue: name a lesson or a file"),
        (["learn", "elr", "--list"], "--list: lists all lessons"),
        (["run", str(FOLDER / "elr.yaml")], "this is a lesson, not a scenario; to start it, run isrlab learn"),
    ],
)
def test_what_is_refused(arguments: list[str], message: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(arguments) == 2
    assert message in capsys.readouterr().err

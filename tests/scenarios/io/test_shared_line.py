"""A script as one line: it survives the way, is short, and a damaged line is one message."""

from __future__ import annotations

import base64
import random
import zlib
from pathlib import Path

import pytest

from scenarios import catalogue
from scenarios.errors import InputError
from scenarios.io import shared_line as module
from scenarios.io.shared_line import MOST_LENGTH, MOST_TEXT, PREFIX, script_in, shared_line
from scenarios.language.script import Scenario
from tui.cli import main


def test_scripts_of_the_library_come_back_unchanged() -> None:
    shared = 0
    for name in (*catalogue.names(), *catalogue.model_names()):
        script = catalogue.path_of(name).read_text("utf-8")
        try:
            line = shared_line(script)
        except InputError:
            continue
        shared += 1
        assert script_in(line) == script
        assert len(line) <= MOST_LENGTH
        assert line.removeprefix(PREFIX).replace("-", "").replace("_", "").isalnum()
    assert shared > 180


def test_a_usual_session_fits(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    log = tmp_path / "s.jsonl"
    assert main(["run", "--quiet", "f2-min-isr-2-two-down", "--log", str(log)]) == 0
    capsys.readouterr()
    assert main(["share", str(log)]) == 0
    line = capsys.readouterr().out.strip()
    assert len(line) < 700
    again = catalogue.load(line)
    assert isinstance(again, Scenario)
    assert main(["run", line, "--log", str(tmp_path / "t.jsonl")]) == 0
    first, second = (path.read_text().splitlines()[1:-1] for path in (log, tmp_path / "t.jsonl"))
    assert first == second[: len(first)]


@pytest.mark.parametrize("seed", range(40))
def test_a_damaged_line_is_one_message(seed: int) -> None:
    draw = random.Random(seed)
    line = shared_line(catalogue.path_of("e1-data-loss").read_text("utf-8"))
    at = draw.randrange(len(PREFIX), len(line))
    damaged = draw.choice(
        (
            line[:at],
            line[:at] + "€" + line[at:],
            line[:at] + " " + line[at:],
            line[:at] + "A" * 30 + line[at + 1 :],
            PREFIX + "9" + line[8:],
        )
    )
    with pytest.raises(InputError) as wrong:
        script_in(damaged)
    assert len(wrong.value.lines) == 1


def test_a_line_that_would_fill_the_memory_is_refused() -> None:
    packer = zlib.compressobj(9, zlib.DEFLATED, 15)
    bomb = packer.compress(b"a" * (8 * MOST_TEXT)) + packer.flush()
    line = f"{PREFIX}1{base64.urlsafe_b64encode(bomb).decode().rstrip('=')}"
    with pytest.raises(InputError, match="longer than 1,000,000 bytes"):
        script_in(line)
    with pytest.raises(InputError, match="more than 20,000 characters"):
        script_in(PREFIX + "1" + "A" * 30_000)


def test_a_long_session_is_refused_with_the_way_out() -> None:
    text = "\n".join(f"- note: {random.Random(number).getrandbits(64):x}" for number in range(400))
    with pytest.raises(InputError, match="save it as a file, and send the file"):
        shared_line(text)


def test_the_dictionary_never_changes() -> None:
    """Lines that are out in the world depend on it."""
    assert zlib.crc32(module._PHRASES) == 3324333694


def test_the_commands_name_what_is_wrong(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["run", "isrlab:1AAAA"]) == 2
    assert capsys.readouterr().err.startswith("isrlab: the shared line is damaged or incomplete")
    assert main(["run", "isrlab:7AAAA"]) == 2
    assert "is not a line that this isrlab reads" in capsys.readouterr().err

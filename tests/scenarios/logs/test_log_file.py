"""Compressed event logs (`.jsonl.zst`): their uncompressed bytes are the same, they are readable after a kill or when cut anywhere, and
they can be truncated like plain logs.
"""

from __future__ import annotations

import errno
from pathlib import Path

import pytest

from scenarios.errors import InputError
from scenarios.logs.log_check import check_log
from scenarios.logs.log_file import open_log_file
from scenarios.logs.log_reader import LogReader, read_events
from scenarios.logs.log_writer import LogWriter
from tests.scenarios.logs.test_event_log import HEADER, killed_when_idle, samples
from tui.cli import main


def unpacked(path: Path) -> bytes:
    with open_log_file(path) as file:
        return file.read()


def written(path: Path, flush_every: int) -> Path:
    with LogWriter(path, HEADER) as writer:
        for event in samples():
            writer(event)
            if event[0] % flush_every == 0:
                writer.flush()
    return path


def test_what_is_packed_is_the_log(tmp_path: Path) -> None:
    plain, packed = written(tmp_path / "s.jsonl", 7), written(tmp_path / "s.jsonl.zst", 7)
    assert packed.read_bytes()[:4] == b"\x28\xb5\x2f\xfd"
    assert packed.stat().st_size < plain.stat().st_size
    assert unpacked(packed) == plain.read_bytes()
    reader, events = read_events(packed)
    assert events == samples()
    assert reader.end is not None
    # What a file is, its first bytes tell, not its name.
    renamed = packed.rename(tmp_path / "renamed.jsonl")
    assert list(LogReader(renamed)) == samples()


def test_a_log_whose_disk_is_full_says_so_once_and_keeps_nothing_in_memory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    writer, said = LogWriter(tmp_path / "s.jsonl", HEADER), []
    writer.on_failure = said.append

    def full(chunk: bytes) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(writer._output, "write", full)
    for event in samples() * 200:
        writer(event)
    writer.flush()
    for event in samples() * 200:
        writer(event)
    writer.flush()
    assert len(said) == 1
    assert "s.jsonl: cannot be written: No space left on device; the session goes on without its log" in said[0]
    assert (len(writer._events), writer._lines) == (0, [])
    with pytest.raises(InputError, match="No space left"):
        writer.close()


def test_commands_take_a_packed_log(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    log = tmp_path / "s.jsonl.zst"
    assert main(["run", "f2-min-isr-2-two-down", "--log", str(log)]) == 0
    capsys.readouterr()
    assert main(["log", "check", str(tmp_path)]) == 0
    assert "all in order" in capsys.readouterr().out
    assert main(["replay", str(log)]) == 0
    assert capsys.readouterr().out.startswith("same ")
    assert main(["describe", str(log), "--at", "1s"]) == 0
    assert "Topic:" in capsys.readouterr().out


def test_a_killed_process_loses_at_most_a_second(tmp_path: Path) -> None:
    _, events, said = killed_when_idle(tmp_path / "s.jsonl.zst")
    assert len(events) == 2_000
    assert "killed" in said


def test_cut_off_anywhere_what_is_whole_is_read(tmp_path: Path) -> None:
    packed = written(tmp_path / "s.jsonl.zst", 20)
    data, every = packed.read_bytes(), samples()
    cut = tmp_path / "cut.jsonl.zst"
    seen = set()
    for size in range(len(data) - 1, 400, -97):
        cut.write_bytes(data[:size])
        try:
            reader = LogReader(cut)
        except InputError:
            continue
        events = list(reader)
        assert events == every[: len(events)]
        seen.add(len(events))
    assert {20, 40, 60, 80} <= seen


def test_cut_off_within_its_first_line_it_is_not_called_empty(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    packed = written(tmp_path / "s.jsonl.zst", 20)
    packed.write_bytes(packed.read_bytes()[:40])
    with pytest.raises(InputError, match="cannot be read: the file is truncated: the first line cannot be decompressed"):
        LogReader(packed)
    for command in (["log", "check"], ["replay"], ["describe"], ["log", "export", "--perfetto", "-"]):
        assert main([*command, str(packed)]) == 2
        said = capsys.readouterr().err
        assert "the file is truncated" in said
        assert "empty" not in said


def test_damage_is_one_message_with_its_line(tmp_path: Path) -> None:
    packed = written(tmp_path / "s.jsonl.zst", 20)
    packed.write_bytes(packed.read_bytes() + bytes(100))
    with pytest.raises(InputError, match=r"s\.jsonl\.zst:\d+: .*cannot be read from here on: the compressed data is damaged"):
        list(LogReader(packed))
    assert any("damaged" in problem for problem in check_log(packed).problems)


@pytest.mark.parametrize("seq", [0, 1, 6, 7, 8, 20, 21, 82, 83])
def test_cut_back_it_is_what_a_plain_log_is(tmp_path: Path, seq: int) -> None:
    for name in ("s.jsonl", "s.jsonl.zst"):
        with LogWriter(tmp_path / name, HEADER) as writer:
            for event in samples():
                writer(event)
                if event[0] % 7 == 0:
                    writer.flush()
            writer.cut(seq)
            for event in samples()[seq : seq + 3]:
                writer(event)
            writer.cut(min(seq + 1, len(samples())))
            for event in samples()[seq + 1 :]:
                writer(event)
    assert unpacked(tmp_path / "s.jsonl.zst") == (tmp_path / "s.jsonl").read_bytes()

"""Text files in practice: UTF-8 with and without a byte order mark, UTF-16 from Windows tools, and files without an end."""

from __future__ import annotations

import codecs
import io
from pathlib import Path

import pytest

from scenarios.errors import InputError
from scenarios.io import text_file
from tui.cli import main

TEXT = "Topic: t\tPartitionCount: 1\tReplicationFactor: 2\tConfigs: \n\tTopic: t\tPartition: 0\tLeader: 1\tReplicas: 1,2\tIsr: 1,2\n"
ENCODED = {
    "utf-8": TEXT.encode(),
    "utf-8 with its mark": codecs.BOM_UTF8 + TEXT.encode(),
    "utf-16 of PowerShell": codecs.BOM_UTF16_LE + TEXT.replace("\n", "\r\n").encode("utf-16-le"),
    "utf-16, big end first": codecs.BOM_UTF16_BE + TEXT.encode("utf-16-be"),
    "utf-16 without its mark": TEXT.encode("utf-16-le"),
    "utf-16, big end first, without its mark": TEXT.encode("utf-16-be"),
}


@pytest.mark.parametrize("encoded", ENCODED)
@pytest.mark.parametrize("stdin", [False, True])
def test_a_describe_text_of_any_tool_is_read(
    encoded: str, stdin: bool, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "described.txt"
    path.write_bytes(ENCODED[encoded])
    if stdin:
        monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(ENCODED[encoded])))
        assert main(["import", "-"]) == 0
        assert "replicas: [1, 2]" in capsys.readouterr().out
    else:
        assert main(["describe", str(path), "--release", "3.6"]) == 0
        assert capsys.readouterr().out == TEXT


def test_a_script_in_utf_16_is_read(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "script.yaml"
    path.write_bytes("cluster: {brokers: 3}\nexpect: lost == 0\n".encode("utf-16"))
    assert main(["run", str(path)]) == 0


@pytest.mark.parametrize(
    ("data", "words"),
    [
        (codecs.BOM_UTF16_LE + b"T\0o", "x:1:5: the file is binary, or starts like UTF-16 but is not UTF-16"),
        (codecs.BOM_UTF16_LE + b"\x00\xd8\n\x00", "x:1:3: the file is binary, or starts like UTF-16 but is not UTF-16"),
        (b"T\0op", "x:1:1: the file is binary"),
        (b"\0\0\0\0", "x:1:1: the file is binary"),
        (b"a\n\xff", "x:2:1: the file is binary, or is not UTF-8"),
    ],
)
def test_what_is_no_text(data: bytes, words: str) -> None:
    with pytest.raises(InputError, match="x:") as refused:
        text_file.decode(data, "x")
    assert str(refused.value).startswith(words), refused.value


@pytest.mark.parametrize(
    "arguments", [["run", "/dev/zero"], ["import", "/dev/zero"], ["play", "--keys", "/dev/zero"], ["sweep", "/dev/zero"]]
)
def test_a_file_without_end_is_refused(arguments: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    assert main(arguments) == 2
    assert "/dev/zero: the file has more than " in capsys.readouterr().err


def test_a_file_can_have_64_mebibytes_and_not_a_byte_more(tmp_path: Path) -> None:
    large = tmp_path / "large"
    with large.open("wb") as file:
        file.truncate(67_108_864)
    assert len(text_file.read_bytes(large)) == 67_108_864
    with large.open("ab") as file:
        file.write(b"x")
    with pytest.raises(InputError, match=r"large: the file has more than 67,108,864 bytes, which is the maximum$"):
        text_file.read_bytes(large)


def test_two_characters_show_that_a_text_without_a_mark_is_utf_16() -> None:
    assert [text_file.decode("ab".encode(name), "x") for name in ("utf-16-le", "utf-16-be")] == ["ab", "ab"]
    with pytest.raises(InputError, match="x:1:1: the file is binary"):
        text_file.decode("a".encode("utf-16-le"), "x")


def test_a_file_that_cannot_be_read_is_one_message_with_the_remedy_at_its_end(tmp_path: Path) -> None:
    for remedy, end in (("", ""), ("name a script", "; name a script")):
        with pytest.raises(InputError) as refused:
            text_file.read_bytes(tmp_path / "none", remedy)
        assert str(refused.value) == f"{tmp_path / 'none'}: cannot be read: No such file or directory{end}"
        with pytest.raises(InputError) as refused:
            text_file.read_bytes("a\0b", remedy)
        assert str(refused.value) == f"'a\\x00b': not a file name{end}"


def test_the_first_32_characters_show_whether_a_text_without_a_mark_is_utf_16() -> None:
    assert text_file.decode(("a" * 32 + "中").encode("utf-16-le"), "x") == "a" * 32 + "中"
    with pytest.raises(InputError):
        text_file.decode(("a" * 31 + "中").encode("utf-16-le"), "x")

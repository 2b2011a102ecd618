"""A compressed log that is a bomb is refused before it fills the disk."""

from __future__ import annotations

from pathlib import Path

import pytest

from spark_reports.errors import ReportError
from spark_reports.logs.unpack import unpack
from tests.scenarios.test_limits import PACKED, bomb


@pytest.mark.parametrize("name", PACKED)
def test_a_bomb_is_refused_before_it_is_unpacked(name: str, tmp_path: Path) -> None:
    path, scratch = tmp_path / "bomb.jsonl.zst", tmp_path / "scratch"
    scratch.mkdir()
    path.write_bytes(bomb(name))
    with pytest.raises(ReportError, match=r"bomb\.jsonl\.zst: .* it decompresses to more than 300 times its size"):
        unpack(path, scratch)
    assert sum(file.stat().st_size for file in scratch.iterdir()) < 64 << 20

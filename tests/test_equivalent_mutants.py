"""Each mutant that `tests/mutants/equivalent.yaml` excludes still exists: its file contains its text."""

from __future__ import annotations

from pathlib import Path

import pytest
import yaml

from tests.mutants.operators import mutants

ROOT = Path(__file__).parent.parent
ENTRIES: list[dict[str, str]] = yaml.safe_load((ROOT / "tests/mutants/equivalent.yaml").read_text())


@pytest.mark.parametrize("entry", ENTRIES, ids=lambda entry: f"{entry['file']}: {entry['was']}"[:80])
def test_an_excluded_mutant_is_one_that_would_be_drawn(entry: dict[str, str]) -> None:
    source = (ROOT / entry["file"]).read_bytes()
    assert (entry["was"], entry["is"]) in {(mutant.before, mutant.after) for mutant in mutants(entry["file"], source)}

"""The reference of the script language is up to date, and its example runs."""

from __future__ import annotations

import pytest

from core.kafka.release import Release
from scenarios.language.script import read_script
from scenarios.language.script_doc import DOCUMENT, EXAMPLE, document
from scenarios.running import results
from scenarios.running.runner import run_scenario


def test_the_document_is_in_step() -> None:
    assert DOCUMENT.read_text(encoding="utf-8") == document(), "run: python -m scenarios.language.script_doc"


@pytest.mark.parametrize("release", ["2.4", "4.3"])
def test_the_example_holds(release: str) -> None:
    result = run_scenario(read_script(EXAMPLE, "example.yaml"), Release.named(release))
    assert result.held, "\n".join(results.lines(result))

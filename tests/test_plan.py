"""The plan of the code shows the imports."""

from __future__ import annotations

from pathlib import Path
from xml.etree import ElementTree

from tests.import_graph import ROOT, modules
from tests.plan import BANDS, about, arrows, levels, plan

GRAPH = {"top": {"a.py", "low"}, "a.py": {"middle"}, "middle": {"low"}, "low": set[str](), "b.py": {"c"}, "c": {"b.py"}}


def test_levels_lead_down() -> None:
    assert levels(GRAPH) == {"low": 0, "middle": 1, "a.py": 2, "top": 3, "b.py": 0, "c": 0}


def test_arrows_are_those_that_no_others_imply() -> None:
    assert arrows(GRAPH, levels(GRAPH)) == [("middle", "low"), ("top", "middle")]


def test_every_folder_is_in_the_picture_and_says_what_it_is() -> None:
    folders = {file.parent.relative_to(ROOT) for file in modules().values()}
    drawn = [str(text.text) for text in ElementTree.fromstring(plan()).iter("{http://www.w3.org/2000/svg}text")]
    kept = (ROOT / "docs/plan.svg").read_text("utf-8")
    for folder in folders:
        assert about(ROOT / folder), f"{folder}/__init__.py has no docstring"
        if not any(Path(band) in folder.parent.parents for band in BANDS):  # a folder of a folder is within its box
            assert any(text in (folder.name, str(folder)) for text in drawn), folder
            assert f">{folder.name}<" in kept or f">{folder}<" in kept, f"docs/plan.svg lacks {folder}: run make docs"

"""There are no circular imports between files or folders, because files that import each other can be understood only together."""

from __future__ import annotations

from pathlib import Path

from tests.import_graph import ROOT, circles, folder_graph, import_graph, modules


def test_circles_are_found() -> None:
    graph = {"a": ["b"], "b": ["c", "d"], "c": ["a"], "d": ["e"], "e": [], "f": ["g", "a"], "g": ["f"]}
    assert sorted(map(sorted, circles(graph))) == [["a", "b", "c"], ["f", "g"]]


def test_no_circle_between_files() -> None:
    found = [sorted(circle) for circle in circles(import_graph())]
    assert not found, f"these files hold each other: {found}"


def test_a_circle_between_folders_is_found_where_no_files_import_each_other() -> None:
    files = {name: Path("/house", f"{name}.py") for name in ("a/one", "a/two", "b/one", "c", "a/__init__")}
    graph = {"a/one": ["b/one", "c"], "b/one": ["a/two"], "a/two": ["c"], "c": [], "a/__init__": []}
    assert circles(graph) == []
    assert circles(folder_graph(Path("/house"), graph, files)) == [{"a", "b"}]
    assert folder_graph(Path("/house/a"), graph, files) == {"one.py": [], "two.py": []}


def test_no_circle_between_folders() -> None:
    graph, files = import_graph(), modules()
    found = {
        str(folder.relative_to(ROOT)): circle
        for folder in {ROOT, *(file.parent for file in files.values())}
        for circle in circles(folder_graph(folder, graph, files))
    }
    assert not found, f"these folders and files import each other: {found}"

"""No circle between files: two files that hold each other, straight or around some corners, are one file that nobody can read in part."""

from __future__ import annotations

from tests.import_graph import circles, import_graph


def test_circles_are_found() -> None:
    graph = {"a": ["b"], "b": ["c", "d"], "c": ["a"], "d": ["e"], "e": [], "f": ["g", "a"], "g": ["f"]}
    assert sorted(map(sorted, circles(graph))) == [["a", "b", "c"], ["f", "g"]]


def test_no_circle_between_files() -> None:
    found = [sorted(circle) for circle in circles(import_graph())]
    assert not found, f"these files hold each other: {found}"

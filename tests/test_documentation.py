"""Checks the documentation: links work, commands and files exist, the expectations of scripts hold, and generated pages are up to date."""

from __future__ import annotations

import re
import subprocess
from functools import cache
from pathlib import Path
from typing import Final

import pytest

from core.kafka.release import CURRENT
from scenarios.catalogue import read_any
from scenarios.language.script import Scenario
from scenarios.running import results
from scenarios.running.model_runner import run_model_scenario
from scenarios.running.runner import run_scenario
from tests import releases_page
from tui.cli import GROUPS, VERSION

ROOT: Final = Path(__file__).parents[1]
PAGES: Final = sorted(
    ROOT / name
    for name in subprocess.run(
        ["git", "ls-files", "--cached", "--others", "--exclude-standard", "*.md"], cwd=ROOT, capture_output=True, text=True, check=True
    ).stdout.splitlines()
    if (ROOT / name).exists()
)

_FENCES: Final = re.compile(r"^( *)(```|~~~).*?^\1\2[ \t]*$", re.DOTALL | re.MULTILINE)
_CODE: Final = re.compile(r"(`+)(?!`).+?(?<!`)\1(?!`)", re.DOTALL)
_LINK: Final = re.compile(r"!?\[(?:[^\[\]]|\[[^\]]*\])*\]\(([^()\s]+)(?:\s+\"[^\"]*\")?\)")
_COMMAND: Final = re.compile(r"(?:`| {4}|\$ )(?:\.venv/bin/)?isrlab ([a-z][a-z-]*)")
_MAKE: Final = re.compile(r"(?:`| {4})make ([a-z][a-z-]*)")
_PATH: Final = re.compile(r"`((?:core|docs|scenarios|spark_reports|tests|tui|locks)/[\w./-]*\w)`")
_MODULE: Final = re.compile(r"python -m ((?:core|scenarios|spark_reports|tests|tui)[\w.]*)")


def ids(page: Path) -> str:
    """Return the path of a page, which is part of the test's name."""
    return str(page.relative_to(ROOT))


def links(page: Path) -> list[str]:
    """Return the targets of a page's links and pictures, except those in code."""
    return _LINK.findall(_CODE.sub("", _FENCES.sub("", page.read_text("utf-8"))))


@cache
def anchors(page: Path) -> frozenset[str]:
    """Return the anchors of a page's headings, in the form that GitHub, GitLab, and Gitea generate."""
    found: list[str] = []
    for heading in re.findall(r"^#{1,6} +(.+?) *#*$", _FENCES.sub("", page.read_text("utf-8")), re.MULTILINE):
        text = re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", heading).replace("`", "").replace("*", "")
        anchor = re.sub(r"[^\w\- ]", "", text.lower()).replace(" ", "-")
        found.append(f"{anchor}-{found.count(anchor)}" if anchor in found else anchor)
    return frozenset(found)


def broken(page: Path) -> list[str]:
    """Return the problems with a page's links. Addresses of other sites are not checked."""
    wrong = []
    for link in links(page):
        if re.match(r"[a-z]+:", link):
            continue
        path, _, anchor = link.partition("#")
        target = (page.parent / path).resolve() if path else page
        if not target.is_relative_to(ROOT) or not target.exists():
            wrong.append(f"{link}: no such file")
        elif anchor and (target.suffix != ".md" or anchor not in anchors(target)):
            wrong.append(f"{link}: no such heading; there are {', '.join(sorted(anchors(target)))}")
    return wrong


def test_a_broken_link_is_found(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(f"{__name__}.ROOT", tmp_path)
    page = tmp_path / "page.md"
    page.write_text(
        "# A `title`, twice\n# A title, twice\n[a](other.md) [b](#a-title-twice-1) [c](#no) [d](https://example.org/x) ![e](e.svg)\n"
        "```\n[f](f.md)\n# G\n```\n`[h](h.md)` [i](../page.md) [[j]](#g)\n"
    )
    (tmp_path / "e.svg").touch()
    assert [line.partition(":")[0] for line in broken(page)] == ["other.md", "#no", "../page.md", "#g"]


@pytest.mark.parametrize("page", PAGES, ids=ids)
def test_links_lead_somewhere(page: Path) -> None:
    assert not broken(page)


@pytest.mark.parametrize("page", PAGES, ids=ids)
def test_commands_exist(page: Path) -> None:
    text = page.read_text("utf-8")
    commands = {name for names in GROUPS.values() for name in names}
    assert set(_COMMAND.findall(text)) <= commands
    assert set(_MAKE.findall(text)) <= set(re.findall(r"^([a-z-]+):(?!=)", (ROOT / "Makefile").read_text("utf-8"), re.MULTILINE))
    for module in _MODULE.findall(text):
        path = ROOT.joinpath(*module.rstrip(".").split("."))
        assert path.with_suffix(".py").exists() or (path / "__main__.py").exists(), module


@pytest.mark.parametrize("page", PAGES, ids=ids)
def test_files_exist(page: Path) -> None:
    """If a path in code begins with one of the folders, it exists relative to the root or to the page."""
    named = _PATH.findall(page.read_text("utf-8"))
    assert [path for path in named if not (ROOT / path).exists() and not (page.parent / path).exists()] == []


def test_names_on_the_architecture_page_exist() -> None:
    """Each class, method, function, and module that the page names in code occurs in the code of the four packages."""
    page = (ROOT / "docs/architecture.md").read_text("utf-8")
    named = {part for name in re.findall(r"`([A-Za-z_]+(?:\.[a-z_]+)?)(?:\([^`]*\))?`", page) for part in name.split(".")}
    known: set[str] = set()
    for package in ("core", "scenarios", "spark_reports", "tui"):
        known.add(package)
        for path in (ROOT / package).rglob("*.py"):
            known.update((path.stem, path.parent.name), re.findall(r"\w+", path.read_text("utf-8")))
    assert len(named) > 40
    assert sorted(named - known) == []


SCRIPTS: Final = [
    (page, script)
    for page in PAGES
    for script in re.findall(r"^```yaml\n(.*?)^```", page.read_text("utf-8"), re.DOTALL | re.MULTILINE)
    if "\ntimeline:" in script
]


@pytest.mark.parametrize(("page", "script"), SCRIPTS, ids=[ids(page) for page, _ in SCRIPTS])
def test_scripts_hold(page: Path, script: str) -> None:
    scenario = read_any(script, str(page))
    done = [run_scenario(scenario, CURRENT)] if isinstance(scenario, Scenario) else run_model_scenario(scenario)
    for result in done:
        assert result.held, "\n".join(results.lines(result))


def test_every_page_is_in_the_index() -> None:
    """README.md and docs/README.md link to every page."""
    reached = {ROOT / "README.md"}
    todo = list(reached)
    while todo:
        page = todo.pop()
        for link in links(page):
            target = (page.parent / link.partition("#")[0]).resolve()
            if target.suffix == ".md" and target.is_relative_to(ROOT) and target.exists() and target not in reached:
                reached.add(target)
                todo.append(target)
    templates = {page for page in PAGES if ".github" in page.parts}
    assert sorted(map(ids, set(PAGES) - reached - templates)) == []


def test_rules_by_release_are_in_step() -> None:
    assert (ROOT / "docs/releases.md").read_text("utf-8") == releases_page.page(), "run: make docs"


def test_in_force() -> None:
    assert releases_page.in_force("truncation").startswith("`high-watermark`; since 0.11: `epoch`; ")
    assert [
        releases_page.in_force(field) for field in ("strict_min_isr", "halts_on_truncation", "request_time_leo", "survives_failed_dir")
    ] == [
        "since 3.7",
        "until 1.1",
        "always",
        "1.1 to 2.8, since 3.7",
    ]


def test_the_changelog_has_the_version() -> None:
    """Between releases, the newest section is *Unreleased*, and the version ends in `.dev0`. In a release, the section below it has the
    version.
    """
    headings = re.findall(r"^## \[([^\]]+)\](?: - (\d{4}-\d\d-\d\d))?$", (ROOT / "CHANGELOG.md").read_text("utf-8"), re.MULTILINE)
    assert headings[0] == ("Unreleased", "")
    assert all(date for _, date in headings[1:])
    if not VERSION.endswith(".dev0"):
        assert headings[1][0] == VERSION


def test_readme_is_short() -> None:
    assert len((ROOT / "README.md").read_text("utf-8").splitlines()) < 250

"""Releases by name: versions between the known ones run as the nearest, and say in what they may differ."""

from __future__ import annotations

import pytest

from scenarios.language.script import read_script
from scenarios.releases import changed_rules, nearest_release, release_named
from tui.cli import main

SCRIPT = "releases: {0}\ncluster: {{brokers: 3, topics: {{orders: {{replicas: [[1, 2, 3]]}}}}}}\ntimeline:\n- {{at: 1s, produce: {{topic: orders, records: 1}}}}\n"


@pytest.mark.parametrize(
    ("version", "release"),
    [
        ("3.5", "3.3"),
        ("3.5.2", "3.3"),
        ("2.2", "2.1"),
        ("3.0", "2.8"),
        ("3.8", "3.7"),
        ("1.0", "0.11"),
        ("4.4", "4.3"),
        ("4.3 without strict-min-isr", "4.3 without strict-min-isr"),
    ],
)
def test_the_nearest_release_is_the_newest_that_is_not_newer(version: str, release: str) -> None:
    found, note = nearest_release(version)
    assert found.name == release
    assert bool(note) == (version.split()[0] != release.split()[0])


def test_patch_releases_are_their_releases() -> None:
    for version, release in (("3.9.1", "3.9"), ("4.3.1", "4.3"), ("0.10.2.2", "0.10.2"), ("2.8.2", "2.8")):
        assert nearest_release(version) == (release_named(release), "")


def test_the_note_names_the_rules_that_may_differ() -> None:
    _, note = nearest_release("3.5")
    assert note.startswith(
        "Kafka 3.5 has no rules of its own here; it runs as 3.3, the newest known release before it; these rules change by 3.6, "
    )
    changed = changed_rules(release_named("3.3"), release_named("3.6"))
    assert "broker_epoch_in_isr" in changed
    assert all(rule in note for rule in changed)
    assert changed_rules(release_named("3.3"), release_named("3.3")) == []


@pytest.mark.parametrize("text", ["0.7", "5", "5.0", "9.9", "three", "", "4.3 without sense", "3.5 without sense", "999999999.1"])
def test_what_is_not_a_release_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match="unknown"):
        nearest_release(text)


def test_scripts_and_the_command_line_run_versions_between_with_a_warning(tmp_path: object, capsys: pytest.CaptureFixture[str]) -> None:
    scenario = read_script(SCRIPT.format('["3.5", "4.3"]'), "mine.yaml")
    assert scenario.releases == ("3.3", "4.3")
    (warning,) = scenario.warnings
    assert warning.startswith("mine.yaml:1:12: releases[1]: Kafka 3.5 has no rules of its own here")
    assert main(["run", "b2-high-watermark", "--quiet", "--release", "3.5"]) in (0, 1)
    shown = capsys.readouterr()
    assert "(3.3)" in shown.out
    assert "Kafka 3.5 has no rules of its own here" in shown.err

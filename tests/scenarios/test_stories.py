"""The stories of Kafka's replication bugs under every release: each goes wrong before its repair or without it, and goes well with the
repair.
"""

from __future__ import annotations

from typing import Final

import pytest

from core.kafka.release import GUARDS, RELEASES, Release
from scenarios import catalogue
from scenarios.releases import release_named
from scenarios.running import results
from scenarios.running.runner import run_scenario

SINCE: Final = {
    "s4-question-of-another-epoch": "0.11",
    "s8-stale-proposal": "0.11",
    "s11-all-lose-power": "0.11",
    "s11-killed-counts-as-unclean": "4.0",
    "s11-strict-min-isr": "4.1",
    "s12-diverging-fetch": "2.8",
    "s13-longest-log": "2.0",
}
"""Stories about features that older releases do not have. All other stories can be told under every release."""

STORIES: Final = [name for name in catalogue.names() if name[0] == "s" and name[1].isdigit()]

ABLATIONS: Final = {
    "s4-question-of-another-epoch": "truncation-epoch-fencing",
    "s4-zombie-fetch": "fetch-epoch-fencing",
    "s5-same-leader-again": "truncate-on-epoch-change",
    "s6-join-at-the-epoch-start": "expand-needs-epoch-start",
    "s7-follower-of-another-epoch": "hw-same-epoch",
    "s8-rejoined-empty": "broker-epoch-in-isr",
    "s8-stale-proposal": "partition-epoch-check",
    "s9-fenced-in-the-isr": "isr-eligibility",
    "s9-leader-knows-less": "isr-eligibility",
    "s10-maximal-isr": "maximal-isr",
    "s11-elr-cleared": "elr",
    "s11-killed-counts-as-unclean": "unclean-broker-leaves-elr",
    "s11-last-replica-standing": "elr",
    "s11-strict-min-isr": "strict-min-isr",
    "s12-diverging-fetch": "ignores-diverging-fetch",
    "s13-longest-log": "elect-from-isr",
}
"""The guard that each story is about; b5-lost-response is about request-time-leo."""


def runs() -> list[tuple[str, Release]]:
    return [
        (name, release)
        for name in STORIES
        for release in RELEASES.values()
        if release.order >= (RELEASES[SINCE[name]].order if name in SINCE else 0)
    ]


@pytest.mark.parametrize(("name", "release"), runs(), ids=[f"{name} ({release.name})" for name, release in runs()])
def test_a_story_comes_out_under_every_release(name: str, release: Release) -> None:
    result = run_scenario(catalogue.load(name), release)
    assert result.held, "\n".join(results.lines(result))


@pytest.mark.parametrize(("name", "guard"), ABLATIONS.items(), ids=list(ABLATIONS))
def test_a_story_is_run_with_and_without_its_guard(name: str, guard: str) -> None:
    """The library itself runs both: a release in which all guards of the story are in force, and a release in which its own guard is not."""
    scenario = catalogue.load(name)
    releases = [release_named(one) for one in scenario.releases]
    assert any(release.has(guard) for release in releases)
    assert any(not release.has(guard) for release in releases)
    told = [one.under for step in scenario.steps for one in step.expects] + [one.under for one in scenario.expects]
    assert any(guard in under.unguarded for under in told)
    assert any(guard in under.guarded for under in told)


def test_every_story_has_a_scenario() -> None:
    told = {name.partition("-")[0] for name in STORIES} | {"s1"}  # S1 is e1-data-loss
    assert told >= {f"s{number}" for number in range(1, 15)}
    assert set(ABLATIONS) <= set(STORIES)
    assert set(ABLATIONS.values()) <= set(GUARDS)

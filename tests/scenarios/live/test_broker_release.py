"""The release of a broker follows from the versions of its APIs, as the released jars have them (`ApiKeys`)."""

from __future__ import annotations

import pytest

from scenarios.live.broker_release import METADATA_VERSION, release_of

JARS = {
    "0.11": "0:3 1:5 2:2 3:4 8:3 9:3 11:2 29:0 35:-1",
    "1.1": "0:5 1:7 2:2 3:5 8:3 9:3 11:2 29:0 35:0",
    "2.0": "0:6 1:8 2:3 3:6 9:4 11:3 29:1 35:1",
    "2.1": "0:7 1:10 2:4 3:7 9:5 11:3 29:1 35:1",
    "2.4": "0:8 1:11 2:5 3:9 4:4 9:6 11:6 29:1 35:1",
    "2.7": "0:8 1:12 2:5 3:9 4:4 9:7 11:7 29:2 35:2 48:0",
    "2.8": "0:9 1:12 2:6 3:11 4:5 9:7 11:7 29:2 35:2 48:1",
    "3.3": "0:9 1:13 2:7 3:12 4:6 9:8 11:9 29:3 35:4 48:1",
    "3.5": "0:9 1:15 2:8 3:12 4:7 9:8 11:9 24:3 29:3 35:4 48:1",
    "3.7": "0:10 1:16 2:8 3:12 4:7 9:9 11:9 24:4 29:3 35:4 48:1",
    "3.9": "0:11 1:17 2:9 3:12 4:7 9:9 11:9 24:5 29:3 35:4 48:1",
    "4.0": "0:12 1:17 2:10 3:13 9:9 11:9 24:5 29:3 35:4 48:1",
    "4.1": "0:13 1:18 2:10 3:13 9:10 11:9 24:5 29:3 35:4 48:1",
    "4.2": "0:13 1:18 2:11 3:13 9:10 11:9 24:5 29:3 35:4 48:1",
    "4.3": "0:13 1:18 2:11 3:13 9:10 11:9 24:5 29:3 35:5 48:1",
}
"""The newest versions of some APIs in the jars of each release, as key:version."""


@pytest.mark.parametrize("release", JARS)
def test_the_release_follows_from_the_versions(release: str) -> None:
    versions = {int(key): (0, int(most)) for key, _, most in (pair.partition(":") for pair in JARS[release].split()) if most != "-1"}
    assert release_of(versions, {})[0] == release


@pytest.mark.parametrize(
    ("level", "release"),
    [(7, "3.3"), (11, "3.5"), (14, "3.6"), (19, "3.7"), (21, "3.9"), (25, "4.0"), (27, "4.1"), (29, "4.2"), (30, "4.3")],
)
def test_with_kraft_it_follows_from_the_metadata_version(level: int, release: str) -> None:
    """The levels are those of `MetadataVersion#latestProduction` in the jars."""
    assert release_of({}, {METADATA_VERSION: (1, level)}) == (release, f"it supports metadata.version {level}")


def test_a_broker_that_tells_nothing() -> None:
    assert release_of({}, {}) == ("", "")

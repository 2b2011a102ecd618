"""Infers the release of a broker from what it says that it can do.

A broker does not tell its release. Since 3.3, a broker with KRaft tells the newest metadata.version that it supports, and every release has its
own. Otherwise, the release follows from the versions of its APIs: each entry of `FIRST_VERSIONS` came with that release.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

METADATA_VERSION: Final = "metadata.version"

METADATA_VERSIONS: Final = (
    ("4.3", 30), ("4.2", 28), ("4.1", 26), ("4.0", 22), ("3.9", 21), ("3.8", 20), ("3.7", 15), ("3.6", 12), ("3.5", 9), ("3.4", 8),
    ("3.3", 4), ("3.2", 3), ("3.1", 2), ("3.0", 1),
)  # fmt: skip
"""The releases and the levels of their first metadata.version, newest first (`MetadataVersion`)."""

FIRST_VERSIONS: Final = (
    ("4.3", 35, 5), ("4.2", 2, 11), ("4.1", 0, 13), ("4.0", 2, 10), ("3.9", 1, 17), ("3.8", 0, 11), ("3.7", 1, 16), ("3.6", 24, 4),
    ("3.5", 1, 15), ("3.4", 4, 7), ("3.3", 29, 3), ("3.2", 11, 9), ("3.1", 1, 13), ("3.0", 2, 7), ("2.8", 0, 9), ("2.7", 1, 12), ("2.6", 48, 0),
    ("2.5", 29, 2), ("2.4", 0, 8), ("2.3", 1, 11), ("2.2", 2, 5), ("2.1", 1, 10), ("2.0", 1, 8), ("1.1", 1, 7), ("1.0", 3, 5), ("0.11", 3, 4),
    ("0.10.2", 9, 2), ("0.10.1", 3, 2), ("0.10.0", 18, 0),
)  # fmt: skip
"""The releases, newest first, with the key and the version of an API that came with each."""


def release_of(versions: Mapping[int, tuple[int, int]], features: Mapping[str, tuple[int, int]]) -> tuple[str, str]:
    """Return the release of a broker, such as 3.9, and from what it follows; empty texts if it follows from nothing.

    Args:
        versions: the oldest and the newest version of each API, by its key.
        features: the lowest and the highest level of each feature that the broker supports.
    """
    level = features.get(METADATA_VERSION, (0, 0))[1]
    for release, first in METADATA_VERSIONS:
        if level >= first:
            return release, f"it supports metadata.version {level}"
    for release, key, version in FIRST_VERSIONS:
        if key in versions and versions[key][0] <= version <= versions[key][1]:
            return release, f"it has version {version} of the API with the key {key}"
    return "", ""

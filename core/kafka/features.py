"""Features: parts of the protocol that a cluster turns on by level, apart from the release it runs (`kafka-features`).

A new cluster has the levels of its release; one that was upgraded keeps those it had until somebody raises them.

Kafka: `FeatureControlManager`, `EligibleLeaderReplicasVersion`.
"""

from __future__ import annotations

import difflib
from typing import Final

import attrs

from core.kafka.release import Release

ELR_VERSION: Final = "eligible.leader.replicas.version"
"""1: eligible leader replicas are kept (KIP-966); 0: they are not."""

FEATURES: Final = {ELR_VERSION: 1}
"""The features there are, each with its highest level."""


def check_feature(name: str, level: int) -> None:
    """Refuse a feature that there is not, or a level that it does not have.

    Raises:
        ValueError: the message says what would be right.
    """
    if name not in FEATURES:
        near = difflib.get_close_matches(name, FEATURES, n=1, cutoff=0.5)
        raise ValueError(f"unknown feature '{name[:80]}'; " + (f"did you mean '{near[0]}'?" if near else f"known is {', '.join(FEATURES)}"))
    if not 0 <= level <= FEATURES[name]:
        raise ValueError(f"{name} has levels 0 to {FEATURES[name]}, not {level}")


def finalized(release: Release, features: tuple[tuple[str, int], ...]) -> Release:
    """The rules of a cluster of that release with those levels.

    Raises:
        ValueError: the release does not have the feature.
    """
    for name, level in features:
        check_feature(name, level)
        if level and not release.elr_feature:
            raise ValueError(f"release {release.name} has no {name}; take 4.0 or a later release, or level 0")
        release = attrs.evolve(release, elr=bool(level))
    return release

"""Features: parts of the protocol that have a level in each cluster, independently of the release (`kafka-features`).

A new cluster has the feature levels of its release. An upgraded cluster keeps its levels until an administrator raises them.

Kafka: `FeatureControlManager`, `EligibleLeaderReplicasVersion`, `TransactionVersion`.
"""

from __future__ import annotations

import difflib
from typing import Final

import attrs

from core.kafka.release import Release

ELR_VERSION: Final = "eligible.leader.replicas.version"
"""The feature for eligible leader replicas (KIP-966). At level 1, the controller keeps eligible leader replicas; at level 0, it does not.
"""

TRANSACTION_VERSION: Final = "transaction.version"
"""The feature for transactions (KIP-890). At level 2, each transaction has its own producer epoch, and leaders add partitions to
transactions."""

FEATURES: Final = {ELR_VERSION: 1, TRANSACTION_VERSION: 2}
"""The known features, each with its highest level."""


def check_feature(name: str, level: int) -> None:
    """Check the name and level of a feature.

    Raises:
        ValueError: the feature or the level does not exist. The error message names the existing features or levels.
    """
    if name not in FEATURES:
        near = difflib.get_close_matches(name, FEATURES, n=1, cutoff=0.5)
        raise ValueError(f"unknown feature '{name[:80]}'; " + (f"did you mean '{near[0]}'?" if near else f"use {', '.join(FEATURES)}"))
    if not 0 <= level <= FEATURES[name]:
        raise ValueError(f"{name} has levels 0 to {FEATURES[name]}, not {level}")


def finalized(release: Release, features: tuple[tuple[str, int], ...]) -> Release:
    """Return the rules of a release, adapted to the given feature levels.

    Raises:
        ValueError: the release does not have the feature.
    """
    for name, level in features:
        check_feature(name, level)
        has_feature = release.elr_feature if name == ELR_VERSION else release.transaction_feature
        if level and not has_feature:
            raise ValueError(f"release {release.name} has no {name}; use release 4.0 or later, or level 0")
        if name == ELR_VERSION:
            release = attrs.evolve(release, elr=bool(level))
        else:
            release = attrs.evolve(release, transaction_version=level)
    return release

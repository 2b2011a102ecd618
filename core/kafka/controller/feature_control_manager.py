"""How the controller changes feature levels (Kafka: `FeatureControlManager`)."""

from __future__ import annotations

from typing import Final

from core.kafka import events
from core.kafka.controller.metadata_log import FeatureLevelRecord, MetadataLog
from core.kafka.features import FEATURES, TRANSACTION_VERSION, check_feature
from core.kafka.release import Release
from core.sim.journal import Journal

UPGRADE: Final = "upgrade"
"""The upgrade type that can only raise a level."""

UPGRADE_TYPES: Final = (UPGRADE, "safe-downgrade", "unsafe-downgrade")
"""The upgrade types in UpdateFeatures requests (`FeatureUpdate.UpgradeType`)."""


def feature_level(metadata: MetadataLog, release: Release, feature: str) -> int:
    """Return the finalized level of a feature according to the controller."""
    return metadata.feature_level(feature, len(metadata), release.transaction_version)


def check_update(metadata: MetadataLog, release: Release, feature: str, level: int, upgrade_type: str) -> None:
    """Check that a feature level can change (`#updateFeature`).

    Raises:
        ValueError: the change is impossible. If Kafka would also refuse the change, the error message is Kafka's own message.
    """
    if feature not in FEATURES:
        check_feature(feature, level)
    if feature != TRANSACTION_VERSION:
        raise ValueError(f"isrlab changes {feature} only at the start of a cluster; set it in the cluster's features")
    current = feature_level(metadata, release, feature)
    if not release.transaction_feature:
        reason = "Local controller 0 does not support this feature."
    elif not 0 <= level <= FEATURES[feature]:
        reason = f"Local controller 0 only supports versions 0-{FEATURES[feature]}"
    elif level < current and upgrade_type == UPGRADE:
        reason = "Can't downgrade the version of this feature without setting the upgrade type to either safe or unsafe downgrade."
    elif level > current and upgrade_type != UPGRADE:
        reason = "Can't downgrade to a newer version."
    else:
        return
    word = "upgrade" if upgrade_type == UPGRADE else "downgrade"
    raise ValueError(f"Could not {word} {feature} to {level}. Invalid update version {level} for feature {feature}. {reason}")


def replay_feature_level(metadata: MetadataLog, release: Release, journal: Journal, feature: str, level: int) -> None:
    """Write a new feature level to the metadata log, from which the brokers learn about it."""
    former = feature_level(metadata, release, feature)
    journal.cause = journal.emit(events.FeatureLevelChanged.kind, feature, former, level)
    metadata.append(FeatureLevelRecord(feature, level))

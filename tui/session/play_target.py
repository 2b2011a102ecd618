"""What `isrlab play` is to show: a scenario or a plain cluster, under which release and seed, and where its log goes."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import attrs

from core.kafka.release import Release
from core.lab.spec import ClusterSpec
from core.sim.repr_mixin import ReprMixin

if TYPE_CHECKING:
    from scenarios.language.script import Scenario
    from scenarios.logs.recorded_session import RecordedSession


@attrs.frozen(repr=False)
class PlayTarget(ReprMixin):
    """What to play.

    Attributes:
        scenario: the script to play step by step, or None to play freely.
        spec: the cluster; None for the one that is played when nothing is named.
        release, seed: how it runs.
        log: file that the session's event log is written to, or None.
        title: name for the screen: the scenario's, or the file's.
        notes: what an import could not place, line by line.
        record: file that the session is saved to as a script when it ends, or None.
        old: an old session that is opened; None: a new one.
        read_only: whether the session can only be looked at.
        features: levels of features, beside those of the spec (`core.kafka.features`).
        at: virtual µs that an old session is opened at; -1: its end.
    """

    scenario: Scenario | None
    spec: ClusterSpec | None
    release: Release
    seed: int = 0
    log: Path | None = None
    title: str = ""
    notes: tuple[str, ...] = ()
    record: Path | None = None
    old: RecordedSession | None = None
    read_only: bool = False
    at: int = -1
    features: tuple[tuple[str, int], ...] = ()

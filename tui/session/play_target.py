"""The target of `isrlab play`: a scenario or a cluster, with its release, seed, and files."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import attrs

from core.kafka.release import Release
from core.lab.spec import ClusterSpec
from core.sim.repr_mixin import ReprMixin

if TYPE_CHECKING:
    from scenarios.language.script import Scenario
    from scenarios.lessons.player import Player
    from scenarios.logs.recorded_session import RecordedSession


@attrs.frozen(repr=False)
class PlayTarget(ReprMixin):
    """The scenario or cluster to play.

    Attributes:
        scenario: the script to play step by step, or None to play without a script.
        spec: the cluster to build, or None for the default cluster.
        release, seed: the release and seed of the run.
        log: the file to which the event log is written, or None.
        title: the name of the scenario or file, to show on the screen.
        notes: messages about problems with an import or with an old session.
        record: the file to which the session is saved as a script when it ends, or None.
        old: the old session to open, or None for a new session.
        read_only: whether the session refuses acts.
        features: feature levels that are added to those of the spec (`core.kafka.features`).
        player: the lesson to play, or None.
        first_page: the page that is open at the start; empty for the overview.
        at: the virtual time in µs at which an old session is opened; -1 for its end.
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
    player: Player | None = None
    first_page: str = ""

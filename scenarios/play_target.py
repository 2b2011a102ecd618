"""What `isrlab play` is to show: a scenario or a plain cluster, under which release and seed, and where its log goes."""

from __future__ import annotations

from pathlib import Path

import attrs

from core.release import Release
from core.spec import ClusterSpec
from scenarios.language.script import Scenario


@attrs.frozen
class PlayTarget:
    """What to play.

    Attributes:
        scenario: the script to play step by step, or None to play freely.
        spec: the cluster; None for the one that is played when nothing is named.
        release, seed: how it runs.
        log: file that the session's event log is written to, or None.
        title: name for the screen: the scenario's, or the file's.
        notes: what an import could not place, line by line.
    """

    scenario: Scenario | None
    spec: ClusterSpec | None
    release: Release
    seed: int = 0
    log: Path | None = None
    title: str = ""
    notes: tuple[str, ...] = ()

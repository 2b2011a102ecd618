"""Releases as scripts, logs and the command line name them: `4.3`, or `4.3 without request-time-leo` with a guard switched off."""

from __future__ import annotations

from core.kafka.release import RELEASES, Release
from scenarios.errors import did_you_mean


def release_named(text: str) -> Release:
    """The release of that name, perhaps without some guards (`core.kafka.release.GUARDS`).

    Raises:
        ValueError: there is no such release or guard; the message names the nearest.
    """
    base, *guards = (part.strip() for part in text.split(" without "))
    release = RELEASES.get(base)
    if release is None:
        known = f"use one of {', '.join(RELEASES)}"
        raise ValueError(f"unknown release '{base[:40]}'; {did_you_mean(base, RELEASES, known) if base[:1].isdigit() else known}")
    return release.without(guards) if guards else release

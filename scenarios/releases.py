"""The names of releases in scripts, in logs, and on the command line, such as `4.3`, or `4.3 without request-time-leo` to switch off a
guard.
"""

from __future__ import annotations

from core.kafka.release import RELEASES, Release
from scenarios.errors import did_you_mean


def release_named(text: str) -> Release:
    """Return a release by name. The name can include guards to switch off (`core.kafka.release.GUARDS`).

    Raises:
        ValueError: the release or the guard does not exist. The message contains the most similar name.
    """
    base, *guards = (part.strip() for part in text.split(" without "))
    release = RELEASES.get(base)
    if release is None:
        known = f"use one of {', '.join(RELEASES)}"
        raise ValueError(f"unknown release '{base[:40]}'; {did_you_mean(base, RELEASES, known) if base[:1].isdigit() else known}")
    return release.without(guards) if guards else release

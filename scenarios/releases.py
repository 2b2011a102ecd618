"""The names of releases in scripts, in logs, and on the command line, such as `4.3`, or `4.3 without request-time-leo` to switch off a
guard.
"""

from __future__ import annotations

import re

from core.kafka.release import RELEASES, Release
from scenarios.errors import did_you_mean


def release_named(text: str) -> Release:
    """Return a release by name. The name can include guards to switch off (`core.kafka.release.GUARDS`).

    Raises:
        ValueError: the release or the guard does not exist. The error message suggests the most similar name.
    """
    base, *guards = (part.strip() for part in text.split(" without "))
    release = RELEASES.get(base)
    if release is None:
        known = f"use one of {', '.join(RELEASES)}"
        hint = _neighbors(base) or did_you_mean(base, RELEASES, known)
        raise ValueError(f"unknown release '{base[:40]}'; {hint if base[:1].isdigit() else known}")
    return release.without(guards) if guards else release


def _neighbors(version: str) -> str:
    """Return a hint that names the known releases just before and just after a version, such as 3.5; an empty string if there are no such
    releases."""
    if not re.fullmatch(r"\d{1,3}(\.\d{1,3}){1,3}", version):
        return ""
    numbers = _numbers(version)
    older = [name for name in RELEASES if _numbers(name) < numbers]
    newer = [name for name in RELEASES if _numbers(name) > numbers]
    return f"use {older[-1]}, the newest known release before it, or {newer[0]}" if older and newer else ""


def _numbers(version: str) -> tuple[int, ...]:
    return tuple(int(number) for number in version.split("."))

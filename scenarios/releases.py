"""The names of releases in scripts, in logs, and on the command line, such as `4.3`, or `4.3 without request-time-leo` to switch off a
guard.
"""

from __future__ import annotations

import re

import attrs

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


def nearest_release(text: str) -> tuple[Release, str]:
    """Return the release under which a version runs, and a note if the version has no rules of its own: the newest release that is not newer.

    For example, 3.9.1 runs as 3.9, and 3.5 as 3.3, because the rules of 3.5 are not known one by one. The note names the rules that change
    between the release and the next one, of which the version may have some.

    Raises:
        ValueError: the text is not a version, the version is older than all known releases or of a major version that is not known yet, or
            a guard does not exist.
    """
    base, *guards = (part.strip() for part in text.split(" without "))
    if base in RELEASES or not re.fullmatch(r"\d{1,3}(\.\d{1,3}){1,3}", base):
        return release_named(text), ""
    numbers = _numbers(base)
    older = [name for name in RELEASES if _numbers(name) <= numbers]
    newer = [name for name in RELEASES if _numbers(name) > numbers]
    if not older or (not newer and numbers[0] > _numbers(older[-1])[0]):
        return release_named(text), ""
    near = RELEASES[older[-1]]
    found = near.without(guards) if guards else near
    if _numbers(near.name) == numbers[: len(_numbers(near.name))]:
        return found, ""
    if not newer:
        return found, f"Kafka {base} is newer than every release that isrlab knows; it runs as {near.name}"
    changed = changed_rules(near, RELEASES[newer[0]])
    rules = (
        f"these rules change by {newer[0]}, and {base} may have some of them: {', '.join(changed)}"
        if changed
        else f"no rule changes by {newer[0]}"
    )
    return found, f"Kafka {base} has no rules of its own here; it runs as {near.name}, the newest known release before it; {rules}"


def changed_rules(older: Release, newer: Release) -> list[str]:
    """Return the names of the rules in which two releases differ."""
    names = [field.name for field in attrs.fields(Release) if field.name not in ("name", "order", "patch")]
    return [name for name in names if getattr(older, name) != getattr(newer, name)]


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

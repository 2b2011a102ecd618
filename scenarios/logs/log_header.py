"""The first and the last line of an event log: the header, which contains the cluster, release, and seed of the session, and the end line
of a closed log.
"""

from __future__ import annotations

from typing import Any, Final

import msgspec

from core.kafka.release import Release
from core.kafka.settings.settings import render_value
from core.lab.spec import ClusterSpec
from scenarios.errors import LogError, ScriptError
from scenarios.language.cluster import cluster_as_data, cluster_from_data
from scenarios.language.nodes import MAX_VALUES
from scenarios.logs.log_file import MAX_LINE
from scenarios.releases import release_named

FORMAT: Final = "event-log"
"""The value of the field `isrlab` in the header of a log."""

VERSION: Final = 1
"""The version of the event log format. The version increases when a kind or a column changes its meaning or is removed."""


class Observation(msgspec.Struct):
    """How the log of a watched cluster was written.

    Attributes:
        servers: the addresses of the cluster.
        began: the time at which the watch began, in UTC, as in 2026-01-31T12:00:00Z. This is the virtual time 0.
        every_us: the interval at which the cluster was read, in µs.
    """

    servers: str
    began: str
    every_us: int


class Header(msgspec.Struct, omit_defaults=True):
    """The header of a log, which is its first line. `observed` is present if a running cluster was watched instead of simulated."""

    isrlab: str
    version: int
    release: str
    seed: int
    scenario: str | None
    settings: dict[str, str]
    cluster: dict[str, Any]
    observed: Observation | None = None


class End(msgspec.Struct, forbid_unknown_fields=True):
    """The last line of a log that was closed. `t` is the virtual time, in µs, at which the session ended, and `events` is the number of
    events in the log.
    """

    end: bool
    t: int
    events: int


def make_header(spec: ClusterSpec, release: Release, seed: int, scenario: str | None) -> Header:
    """Return the header of a session's log."""
    settings = {name: render_value(value) for name, value in spec.settings}
    return Header(FORMAT, VERSION, release.name, seed, scenario, settings, cluster_as_data(spec))


def parse_header(line: bytes, source: str) -> tuple[Header, ClusterSpec, Release]:
    """Parse the first line of a log into its header, cluster, and release.

    Raises:
        LogError: the line is not a header, or its version is unknown.
    """
    if not line.strip():
        raise LogError(
            source,
            1,
            "the file is empty; an event log starts with a header line"
            if not line
            else "there is no header; an event log starts with a header line",
        )
    if len(line) >= MAX_LINE and not line.endswith(b"\n"):
        raise LogError(source, 1, f"the first line is longer than {MAX_LINE >> 20} MB, so it is not the header of an event log")
    if line.count(b",") > MAX_VALUES:
        raise LogError(source, 1, f"the first line has more than {MAX_VALUES:,} values, so it is not the header of an event log")
    try:
        raw = msgspec.json.decode(line)
    except RecursionError:
        raise LogError(source, 1, "not an event log: the nesting in its first line is too deep") from None
    except (msgspec.DecodeError, UnicodeDecodeError):
        raise LogError(source, 1, 'not an event log; the first line of a log is a header such as {"isrlab": "event-log", ...}') from None
    if not isinstance(raw, dict) or raw.get("isrlab") != FORMAT:
        what = (
            "no header: the event log's first line is missing" if isinstance(raw, dict) and "seq" in raw else "not an event log of isrlab"
        )
        raise LogError(source, 1, f'{what}; an event log starts with {{"isrlab": "{FORMAT}", "version": {VERSION}, ...}}')
    version = raw.get("version")
    if version != VERSION or isinstance(version, bool):
        newer = isinstance(version, int) and not isinstance(version, bool) and version > VERSION
        why = "a newer isrlab wrote it; use that version" if newer else "no such version exists"
        raise LogError(source, 1, f"version {str(version)[:20]} of the format is unknown: {why}; this isrlab reads version {VERSION}")
    try:
        header = msgspec.convert(raw, Header)
        release = release_named(header.release)
        spec = cluster_from_data(header.cluster, source)
    except (msgspec.ValidationError, ValueError) as wrong:
        raise LogError(source, 1, f"the header is wrong: {wrong}") from None
    except ScriptError as wrong:
        raise LogError(
            source, 1, f"the header is wrong: {wrong.field}: {wrong.problem}" + (f"; {wrong.remedy}" if wrong.remedy else "")
        ) from None
    return header, spec, release

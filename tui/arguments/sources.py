"""The sources from which commands read a cluster at a given moment: an event log, a scenario, or the output of kafka-topics --describe."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import TYPE_CHECKING

from scenarios.io.standard_streams import print_error, print_messages
from scenarios.logs.log_file import open_log_file
from tui.arguments.console import read_text

if TYPE_CHECKING:
    from core.kafka.release import Release
    from core.lab.cluster import Cluster
    from scenarios.describe.described import DescribedTopic, DescribeImport
    from scenarios.logs.metadata_state import MetadataState
    from scenarios.running.imported_cluster import ImportedCluster


def looks_like_log(source: str) -> bool:
    """Return whether a source is an event log, judging by its name or its first byte."""
    if source.endswith((".jsonl", ".jsonl.zst")):
        return True
    try:
        with open_log_file(source) as file:
            return file.read(1) == b"{"
    except (OSError, ValueError):
        return False


def describe_text(source: str) -> str | None:
    """Return the text of a file if the file contains the output of kafka-topics --describe, otherwise None."""
    from scenarios.describe.lines import looks_like_describe

    if source.endswith((".yaml", ".yml")) or not os.path.isfile(source):
        return None
    text = read_text(source)
    return text if source.endswith(".txt") or looks_like_describe(text) else None


def parse_describe_file(text: str, source: str) -> DescribeImport:
    """Parse the output of kafka-topics --describe. Error messages name the source."""
    from scenarios.describe.parse import parse_describe

    return parse_describe(text, "<stdin>" if source == "-" else source)


def import_texts(text: str, source: str, groups: Sequence[str], release: Release | None) -> ImportedCluster:
    """Return the cluster that is described by the output of kafka-topics --describe and kafka-consumer-groups --describe.

    Args:
        text: the output of kafka-topics.
        source: the name of the output's source, for error messages.
        groups: the files with the output of kafka-consumer-groups.
        release: the release to run; None for the current release.

    Raises:
        InputError: the output of one of the tools cannot be parsed, or contradicts itself.
    """
    from core.kafka.release import CURRENT
    from scenarios.running.imported_cluster import import_cluster

    texts = [(read_text(each), "<stdin>" if each == "-" else each) for each in groups]
    return import_cluster(parse_describe_file(text, source), texts, release or CURRENT)


def watched_copy(source: str, at: str | None, release: Release | None, option: str = "--at") -> ImportedCluster | None:
    """Return a copy of the watched cluster whose log a file is; None if the log is of a simulated session.

    Args:
        source: the log.
        at: the moment as the option gives it; by default, the end of the log.
        release: the release under which the copy runs; None for that of the cluster.
        option: the option that gives the moment.

    Raises:
        InputError: the log cannot be read, the moment is outside of it, or no cluster can be in its state.
    """
    from scenarios.logs.log_reader import LogReader
    from tui.arguments.options import time_of

    reader = LogReader(source)
    reader.close()
    if reader.header.observed is None:
        return None
    from scenarios.live.watched_moment import import_watched

    return import_watched(source, time_of(at, option), release)


def described_moment(source: str, at: int | None, release: Release | None, *, zookeeper: bool = True) -> MetadataState:
    """Return the metadata of a log, a scenario, or the output of kafka-topics --describe at a given time.

    If `zookeeper` is False, leaders and ISRs are those in the metadata of the broker that kafka-topics asks, where the release and the source
    have this (`states_in_metadata_cache`); an event log does not.
    """
    from scenarios.logs.metadata_state import MetadataState, read_metadata_state

    if looks_like_log(source):
        from scenarios.logs.log_reader import LogReader

        reader = LogReader(source)
        folded = read_metadata_state(reader, at)
        if problem := reader.problem():
            print_error(problem)
        return folded
    if (text := describe_text(source)) is not None:
        imported = parse_describe_file(text, source)
        return _described_text(imported, text, at, release, zookeeper=zookeeper)
    from scenarios import catalogue
    from scenarios.releases import release_named
    from scenarios.running.runner import Run

    scenario = catalogue.load(source)
    under = release or release_named(scenario.releases[-1])
    run = Run(scenario, under)
    if at is None:
        run.run()
    else:
        run.advance_to(at)
    return MetadataState(_topics_of(run.cluster, zookeeper=zookeeper), _live_brokers(run.cluster), under)


def _topics_of(cluster: Cluster, *, zookeeper: bool) -> tuple[DescribedTopic, ...]:
    from core.lab.views.metadata_response import states_in_metadata_cache
    from scenarios.describe.render import from_view

    return from_view(cluster.view(), None if zookeeper else states_in_metadata_cache(cluster))


def _live_brokers(cluster: Cluster) -> frozenset[int]:
    return frozenset(broker.id for broker in cluster.view().brokers if not broker.fenced)


def _described_text(imported: DescribeImport, text: str, at: int | None, release: Release | None, *, zookeeper: bool) -> MetadataState:
    """Return the metadata in the output of kafka-topics --describe.

    If a time is given, build a cluster from this output, run the cluster for that time, and return the metadata of the cluster.
    """
    from core.kafka.release import CURRENT
    from scenarios.describe.spec import living, to_cluster_spec
    from scenarios.logs.metadata_state import MetadataState

    for note in imported.notes:
        print_messages(note)
    if at is None:
        rows = [row for topic in imported.topics for row in topic.rows]
        return MetadataState(imported.topics, living(rows), release or _release_of(text, imported), printed_already=True)
    from core.lab.cluster import Cluster

    spec, notes = to_cluster_spec(imported)
    for note in notes:
        print_messages(note)
    cluster = Cluster(spec, release or CURRENT)
    cluster.run_until(at)
    return MetadataState(_topics_of(cluster, zookeeper=zookeeper), _live_brokers(cluster), release or CURRENT)


def _release_of(text: str, imported: DescribeImport) -> Release:
    """Return the newest release whose kafka-topics prints the columns that occur in the text."""
    from core.kafka.release import RELEASES
    from scenarios.describe.described import ElrColumn

    rows = [row for topic in imported.topics for row in topic.rows]
    elr = any(row.elr_known is not ElrColumn.ABSENT for row in rows)
    topic_id = elr or any(topic.topic_id for topic in imported.topics)
    spaced = topic_id or "PartitionCount: " in text
    for release in reversed(RELEASES.values()):
        if (release.describe_elr, release.describe_topic_id, release.describe_spaced) == (elr, topic_id, spaced):
            return release
    return next(one for one in reversed(RELEASES.values()) if (one.describe_elr, one.describe_topic_id) == (elr, topic_id))

"""Builds a scenario from the output of Kafka's tools: a cluster, and the members of its groups."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Final

import attrs

from core.kafka.release import Release
from core.lab.acts import JoinGroup
from core.lab.cluster import Cluster
from core.lab.spec import BrokerSpec, ClusterSpec
from core.sim.units import SECOND
from scenarios.describe.described import DescribeImport
from scenarios.describe.spec import to_cluster_spec
from scenarios.errors import InputError, Place
from scenarios.groups.described import GroupsImport
from scenarios.groups.imported import add_groups
from scenarios.groups.parse import parse_groups
from scenarios.language.acts import act_as_data
from scenarios.language.cluster import cluster_as_data, write_yaml
from scenarios.language.expectations import ALWAYS
from scenarios.language.script import Scenario
from scenarios.language.timeline import Step
from scenarios.running.runner import Run

SETTLED_WITHIN: Final = 30 * SECOND
"""The maximum time for groups to assign their partitions, in µs."""

STEP: Final = SECOND // 20
"""The interval at which the import checks whether the groups have assigned their partitions, in µs."""


@attrs.frozen
class ImportedCluster:
    """A cluster as Kafka's tools describe it.

    Attributes:
        scenario: the cluster, and a step at time 0 for each member of a group.
        notes: notes about what the import inferred, and about the parts of the imported outputs that it did not use.
    """

    scenario: Scenario
    notes: tuple[str, ...]


def import_cluster(topics: DescribeImport, groups: Sequence[tuple[str, str]], release: Release) -> ImportedCluster:
    """Return the cluster that the imported outputs describe.

    Args:
        topics: the parsed output of `kafka-topics --describe`.
        groups: the outputs of `kafka-consumer-groups --describe`, each with the name of its source.
        release: the release under which the cluster is to run.

    Raises:
        InputError: one of the imported outputs contradicts itself, or the cluster that the outputs describe is not valid.
    """
    return imported_scenario(topics, parse_groups(groups) if groups else None, release)


def imported_scenario(
    topics: DescribeImport,
    groups: GroupsImport | None,
    release: Release,
    *,
    brokers: tuple[BrokerSpec, ...] | None = None,
    complete: Callable[[ClusterSpec], ClusterSpec] | None = None,
) -> ImportedCluster:
    """Return the cluster that described topics and groups make.

    Args:
        topics: the topics.
        groups: the groups, if there are any.
        release: the release under which the cluster is to run.
        brokers: the brokers, if they are known; otherwise, they are inferred from the topics.
        complete: a function that adds what else is known of the cluster, such as its logs, before the groups are added. Without it, the logs
            follow from the groups.

    Raises:
        InputError: the topics or groups contradict themselves, or the cluster that they describe is not valid.
    """
    spec, notes = to_cluster_spec(topics, brokers=brokers)
    notes = (*topics.notes, *notes)
    if complete is not None:
        spec = complete(spec)
        try:
            spec.check()
        except ValueError as problem:
            raise InputError(f"{topics.source}: {problem}") from None
    place = Place(topics.source, 1, 1)
    steps: tuple[Step, ...] = ()
    if groups is not None:
        added = add_groups(spec, groups, release, logs_known=complete is not None)
        spec, notes = added.spec, (*notes, *groups.notes, *added.notes)
        steps = tuple(Step(place, ALWAYS, at=0, acts=(join,)) for join in added.joins)
    return ImportedCluster(Scenario(Path(topics.source).name, "", topics.source, (release.name,), 0, spec, place, steps), tuple(notes))


def settled_cluster(imported: ImportedCluster, release: Release, seed: int, at: int | None) -> Cluster:
    """Return the cluster at a virtual time in µs, or, without a time, as soon as the coordinators have assigned partitions to all members."""
    run = Run(imported.scenario, release, seed)
    if at is not None:
        run.advance_to(at)
        return run.cluster
    groups = {act.group for step in imported.scenario.steps for act in step.acts if isinstance(act, JoinGroup)}
    while run.cluster.now < SETTLED_WITHIN:
        run.advance_to(run.cluster.now + STEP)
        reports = {report.name: report for report in run.cluster.group_report()}
        if all(name in reports and reports[name].state == "Stable" for name in groups):
            break
    return run.cluster


def as_script(imported: ImportedCluster, *, release_known: bool = False) -> str:
    """Return an imported cluster as a script.

    Args:
        imported: the cluster.
        release_known: whether the release of the cluster is known, so that the script names it.
    """
    data: dict[str, object] = {"about": imported.scenario.about} if imported.scenario.about else {}
    if release_known:
        data["releases"] = list(imported.scenario.releases)
    data["cluster"] = cluster_as_data(imported.scenario.spec)
    if imported.scenario.steps:
        data["timeline"] = [{"at": 0, act.word: act_as_data(act)} for step in imported.scenario.steps for act in step.acts]
    return write_yaml(data)

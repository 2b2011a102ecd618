"""A whole script: its name, its cluster, its steps, and its expectations.

scenario: unclean-election-on       # the name; a script without a timeline is a plain cluster to play with
title: what it is about in one line # `scenarios list` shows it; by default, the first sentence of `about`
tags: [elections, data-loss]        # its subjects (scenarios.language.subjects), the main one first
about: what the scenario shows
releases: ["0.10.2", "4.3"]         # the script runs under each of these releases; by default under the current one
without: [maximal-isr]              # guards (core.kafka.release.GUARDS) that are switched off in every run
seed: 0
cluster: {...}                      # scenarios.language.cluster
timeline:                           # or `steps:`, at the pace `by-hand`, where time advances only with `wait`
  - at: 1s                          # the step is due `at` a time, after a `wait`, or when `until` becomes true (`within` a time limit)
    kill: 2                         # one act (scenarios.language.acts)
    expect: {...}                   # expectations that are checked after the act (scenarios.language.expectations)
    show: [lost, 'hw(orders-0)']    # readings whose values a run reports after the act (scenarios.readings)
    under: {before: "0.11"}         # the releases in which the step applies
    note: what this step shows
expect: [...]                       # expectations at the end
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from pathlib import Path as FilePath
from typing import Final

import attrs

from core.kafka.applications.services.delay_levels import level_topic, producer_name, worker_name
from core.kafka.applications.services.retry_topics import chain, retry_worker
from core.kafka.applications.services.service_config import instance_names
from core.kafka.clients.client_config import client_config
from core.kafka.ids import CONTROLLER, ZOOKEEPER, TopicPartition, is_broker
from core.kafka.release import CURRENT, Release
from core.kafka.transaction.transaction_log import GROUP_METADATA_TOPIC, TRANSACTION_STATE_TOPIC
from core.lab.act_settings import KINDS, is_transactional, settings_of, with_settings
from core.lab.acts import (
    ACTS,
    Act,
    Consume,
    CreatePartitions,
    CreateTopic,
    Cut,
    Elect,
    Heal,
    Hold,
    InitTransactions,
    Isolate,
    JoinGroup,
    KillController,
    Link,
    Load,
    PauseController,
    Produce,
    ProduceDelayed,
    ResumeController,
    Set,
    SetPace,
    StartController,
    StartDelayService,
    StartProcess,
    StartRetryService,
)
from core.lab.acts import Release as ReleaseHeld
from core.lab.spec import ClusterSpec, Pace
from core.sim.errors import ActRefused
from core.sim.units import parse_duration
from scenarios.conditions.conditions import Condition, Names
from scenarios.errors import Place, did_you_mean
from scenarios.gc_disabled import gc_disabled
from scenarios.language.acts import read_acts
from scenarios.language.budget import check_clients, check_partitions, check_time
from scenarios.language.cluster import read_cluster
from scenarios.language.expectations import Under, language, read_guards, read_readings, read_release_to_run
from scenarios.language.nodes import Fields, Items, Node, parse, read_file, shortened, warnings_in
from scenarios.language.subjects import read_tags, read_title
from scenarios.language.timeline import Expectation, Step, time_of
from scenarios.language.values import as_fields, as_int, as_items, as_text, each
from scenarios.releases import release_named

MAX_SEED: Final = 2**63 - 1
"""The maximum seed."""

_NO_CLUSTER: Final = ClusterSpec(brokers=())
"""The cluster that replaces an invalid cluster, so that the parser can look for further mistakes in the script."""

_STEP_WORDS: Final = ("at", "wait", "until", "within", "expect", "show", "under", "note")
_SCRIPT_WORDS: Final = ("scenario", "title", "tags", "about", "releases", "without", "seed", "cluster", "timeline", "steps", "expect")


KafkaStep = Step[Act, Condition, Under]
"""A step of a script for Kafka, which applies to some releases."""

KafkaExpectation = Expectation[Condition, Under]
"""An expectation of a script for Kafka."""


@attrs.frozen
class Scenario:
    """A loaded script.

    `cluster_place` is the position of the `cluster` field in the file. Errors that are found only when the scenario runs point to this
    position. `without` contains the guards that are switched off in every run. Each name in `releases` also lists these guards. `warnings`
    contains a line for each setting of the script that has no effect. `title` says in one line what the scenario is about; by default, it is
    the first sentence of `about`. `tags` are its subjects, the main one first. `names` are the names that readings can use.
    """

    name: str
    about: str
    source: str
    releases: tuple[str, ...]
    seed: int
    spec: ClusterSpec
    cluster_place: Place
    steps: tuple[KafkaStep, ...] = ()
    expects: tuple[KafkaExpectation, ...] = ()
    without: tuple[str, ...] = ()
    warnings: tuple[str, ...] = ()
    title: str = attrs.field(default=attrs.Factory(lambda self: first_sentence(self.about), takes_self=True))
    tags: tuple[str, ...] = ()
    names: Names = attrs.field(factory=Names, eq=False)

    def with_features(self, features: tuple[tuple[str, int], ...]) -> Scenario:
        """Return the same scenario in a cluster with the given feature levels."""
        return attrs.evolve(self, spec=self.spec.with_features(features)) if features else self

    @property
    def plain(self) -> bool:
        """Whether the script only describes a cluster, without steps or expectations."""
        return not self.steps and not self.expects


def first_sentence(about: str) -> str:
    """Return the first sentence of a description."""
    text = " ".join(about.split())
    for end, char in enumerate(text):
        if char in ".!?" and (end + 1 == len(text) or text[end + 1] == " "):
            return text[: end + 1]
    return text


def load_script(path: str | FilePath) -> Scenario:
    """Load the scenario in a file.

    Raises:
        InputError: the file cannot be read, or the script has mistakes.
    """
    return read_script(read_file(path, "name a script file or a scenario in the library"), str(path))


def read_script(text: str, source: str) -> Scenario:
    """Read a scenario from text. `source` is the name of the text in error messages.

    Raises:
        ScriptError: the script has mistakes. The error contains all mistakes.
    """
    return read_root(parse(text, source), source)


def read_root(root: Fields, source: str) -> Scenario:
    """Read a scenario from the root of a parsed script, as `read_script` does."""
    with gc_disabled(), root.document.together(everything=True):
        root.only(*_SCRIPT_WORDS)
        cluster = root.get("cluster")
        spec = root.read_needed("cluster", "for example 'cluster: {brokers: 3}'", read_cluster, None)
        without = root.read("without", read_guards, ())
        releases = root.read("releases", _releases, (CURRENT.name,))
        steps, names = root.tried(partial(_read_steps, spec=spec, releases=releases), ((), Names()))
        about = root.read("about", as_text, "")
        return Scenario(
            name=root.read("scenario", scenario_name, FilePath(source).stem),
            title=root.read("title", read_title, first_sentence(about)),
            tags=root.read("tags", read_tags, ()),
            about=about,
            source=source,
            releases=tuple(release_without(name, without).name for name in releases),
            seed=root.read("seed", lambda node: as_int(node, 0, MAX_SEED), 0),
            spec=spec or _NO_CLUSTER,
            cluster_place=(cluster or root).place,
            steps=steps,
            expects=root.read("expect", language(names).expectations, ()),
            without=without,
            warnings=warnings_in(root.document),
            names=names,
        )


def scenario_name(node: Node) -> str:
    text = as_text(node, "write a short name, for example unclean-election-on")
    if len(text) > 80 or not all(char.isalnum() or char in "-_." for char in text):
        raise node.error(f"'{shortened(text)}' is not a scenario name", "use at most 80 letters, digits, and dashes")
    return text


def _releases(node: Node) -> tuple[str, ...]:
    if not isinstance(node, Items):
        return (read_release_to_run(node),)
    found = each(node, "write a list of releases", read_release_to_run)
    if not found:
        raise node.error("the list is empty", 'name at least one release, for example ["0.10.2", "4.3"]')
    for number, item in enumerate(node):
        if found[number] in found[:number]:
            raise item.error(f"release {found[number]} appears twice", "name each release once")
    return found


def _read_steps(root: Fields, spec: ClusterSpec | None, releases: Sequence[str]) -> tuple[tuple[KafkaStep, ...], Names]:
    """Read the steps, and collect the names that conditions can use. If `spec` is None, every name is valid."""
    timeline, by_hand = root.get("timeline"), root.get("steps")
    if timeline is not None and by_hand is not None:
        raise root.key_error("steps", "the script has both 'timeline' and 'steps'", "a script has either 'timeline' or 'steps'")
    if timeline is not None and spec is not None and spec.pace is Pace.BY_HAND:
        raise root.key_error("timeline", "the cluster's pace is by-hand", "write 'steps:', or set the pace to timeline")
    if by_hand is not None and spec is not None and spec.pace is Pace.TIMELINE:
        raise root.key_error("steps", "the cluster's pace is timeline", "write 'timeline:', or 'pace: by-hand' under 'cluster'")
    node = timeline if timeline is not None else by_hand
    if node is None:
        return (), Names() if spec is None else declared_names(spec, ())
    items = as_items(node, "write a list of steps, for example '- at: 1s'")
    document = node.document
    pace = Pace.BY_HAND if by_hand is not None else Pace.TIMELINE
    mistakes = len(document.mistakes)
    readers = [item.tried(partial(StepReader, spec=spec, pace=pace), None) for item in items]
    for reader in readers:
        if reader is not None:
            reader.node.tried(partial(reader.check_together, releases), None)
            pace = reader.node.tried(partial(reader.check_pace, pace), pace)
    names = Names()
    if spec is not None and len(document.mistakes) == mistakes:
        names = declared_names(spec, tuple(act for reader in readers if reader is not None for act in reader.acts))
        check_clients(names.clients or (), node)
        check_partitions(names.topics or {}, node)
        _warn_of_zones(root, spec, names)
    for reader in readers:
        if reader is not None:
            reader.node.tried(partial(reader.check_acts, names), None)
    steps = [None if reader is None else reader.node.tried(partial(reader.finish, names), None) for reader in readers]
    latest = end = 0
    for step, item in zip(steps, items, strict=True):
        if step is not None:
            end = step.due(end)
            check_time(end, item)
        if step is not None and step.at is not None:
            if step.at < latest:
                assert isinstance(item, Fields)
                document.add(
                    item.values["at"].error(
                        "this time is earlier than the time of the previous step", "times in a timeline cannot decrease"
                    )
                )
            latest = step.at
    return tuple(step for step in steps if step is not None), names


def _warn_of_zones(root: Fields, spec: ClusterSpec, names: Names) -> None:
    """Warn of nodes of zones that never exist, because no act starts a client with this name."""
    for zone in spec.zones:
        for node in zone.nodes:
            if not is_broker(node) and node not in spec.controllers and node not in (names.clients or ()):
                cluster = as_fields(root.values["cluster"], "")
                as_fields(cluster.values["zones"], "").warn(zone.name, f"no act starts the client {node} of zone {zone.name}")


def _group_of(act: JoinGroup | StartProcess, spec: ClusterSpec) -> str:
    """Return the group that an act names in a field or in its settings; empty if it names none."""
    try:
        group = getattr(with_settings(act, spec.clients, CURRENT), "group", None)
    except ActRefused:  # `check_together` reports it
        return ""
    return str(group or "")


def declared_names(spec: ClusterSpec, acts: tuple[Act, ...]) -> Names:
    """Return the topics, brokers, and clients that a script declares."""
    topics = {topic.name: topic.partitions for topic in spec.topics}
    clients: set[str] = set()
    groups = {group.name for group in spec.groups}
    for act in acts:
        if isinstance(act, CreateTopic):
            topics[act.topic] = max(len(act.replicas) or act.partitions, topics.get(act.topic, 0))
        elif isinstance(act, CreatePartitions):
            topics[act.topic] = max(act.partitions, topics.get(act.topic, 0))
        elif isinstance(act, (Produce, Load, InitTransactions)):
            clients.add(act.producer)
        elif isinstance(act, Consume):
            clients.add(act.consumer)
        elif isinstance(act, JoinGroup):
            clients.add(act.consumer)
            groups.add(_group_of(act, spec))
            topics[GROUP_METADATA_TOPIC] = -1
        elif isinstance(act, StartProcess):
            clients.add(act.process)
            groups.add(_group_of(act, spec) or act.process)
            topics[GROUP_METADATA_TOPIC] = topics[TRANSACTION_STATE_TOPIC] = -1
        elif isinstance(act, StartDelayService):
            clients |= {
                act.service,
                *(name for level in act.levels for name in instance_names(worker_name(act.service, level), act.instances)),
            }
            group = act.service if act.group is None else act.group
            groups |= {group} if act.instances == 1 else {worker_name(group, level) for level in act.levels}
            topics |= {level_topic(level): topics.get(level_topic(level), act.partitions) for level in act.levels}
            topics[GROUP_METADATA_TOPIC] = topics[TRANSACTION_STATE_TOPIC] = -1
        elif isinstance(act, StartRetryService):
            try:
                delays = tuple(map(parse_duration, act.delays))
            except ValueError:
                delays = ()
            names = chain(act.topic, () if act.blocking else delays, by_index=act.names == "index")
            clients |= {
                act.service,
                *(each for name in names[:-1] for each in instance_names(retry_worker(act.service, name), act.instances)),
            }
            groups |= {act.service + name.removeprefix(act.topic) for name in names[:-1]}
            topics |= {name: topics.get(name, act.partitions) for name in names[1:]}
            topics[GROUP_METADATA_TOPIC] = topics[TRANSACTION_STATE_TOPIC] = -1
        elif isinstance(act, ProduceDelayed):
            clients.add(producer_name(act.after) if act.producer is None else act.producer)
    return Names(topics, frozenset(broker.id for broker in spec.brokers), frozenset(clients), frozenset(groups))


class StepReader:
    """A reader of one step. The acts are read first, and the conditions are read after the acts of all steps are known."""

    def __init__(self, node: Node, spec: ClusterSpec | None, pace: Pace) -> None:
        self.node = as_fields(node, "a step is a mapping, for example '- at: 1s' with 'kill: 2' below")
        self.spec = spec
        self.pace = pace
        self.acts: tuple[Act, ...] = ()
        words = [word for word in self.node.values if word not in _STEP_WORDS]
        self.word = words[0] if words and words[0] in ACTS else ""
        self.empty = not words
        for word in words:
            if word not in ACTS:
                remedy = did_you_mean(word, [*_STEP_WORDS, *ACTS])
                node.document.add(self.node.key_error(word, f"unknown word '{shortened(word)}'", remedy))
        if self.word:
            self.acts = self.node.tried(partial(self._read_acts, words), ())

    def _read_acts(self, words: list[str], node: Fields) -> tuple[Act, ...]:
        if len(words) > 1 and all(word in ACTS for word in words):
            raise node.key_error(
                words[1], f"the step has a second act, '{words[1]}'", "a step can have only one act, so write a separate step"
            )
        return read_acts(self.word, node.values[self.word])

    def check_pace(self, pace: Pace, node: Fields) -> Pace:
        """Reject an act that is allowed only at the pace `by-hand` if the pace is different. Return the pace of the script after this step."""
        if self.word and ACTS[self.word].by_hand and pace is not Pace.BY_HAND:
            remedy = "write a step 'pace: by-hand' before it, or write 'pace: by-hand' under 'cluster' and use 'steps:'"
            raise node.key_error(self.word, f"'{self.word}' is a by-hand step", remedy)
        return next((Pace(act.pace) for act in self.acts if isinstance(act, SetPace)), pace)

    def check_together(self, releases: Sequence[str], node: Fields) -> None:
        """Reject fields of an act that cannot be combined, and client settings that are invalid under any release of the script."""
        value = node.values[self.word] if self.word else node
        for act in self.acts:
            if isinstance(act, Set) and act.topic is not None and act.broker is not None:
                raise self._inside(value, "broker").error(
                    "the act has both a topic and a broker", "a setting applies to a topic or to a broker, not to both"
                )
            kind = KINDS.get(type(act))
            if kind is None or self.spec is None:
                continue
            try:
                given = settings_of(act)
                with_settings(act, self.spec.clients, release_named(releases[-1]))
            except ActRefused as refused:
                raise value.error(str(refused)) from None
            refusals = []
            for release in releases if given else ():
                try:
                    client_config(kind, (*self.spec.clients, *given), release_named(release), transactional=is_transactional(act))
                except ValueError as wrong:
                    refusals.append(str(wrong))
            if refusals and len(refusals) == len(releases):
                raise self._inside(value, "config" if getattr(act, "config", ()) else "acks").error(refusals[-1])

    def check_acts(self, names: Names, node: Node) -> None:
        """Reject an act on a topic, partition, broker, or client that the script does not declare."""
        if names.topics is not None:
            with node.document.together():
                for act in self.acts:
                    node.tried(lambda _node, act=act: self._check_act(act, names), None)  # type: ignore[misc]

    def _check_act(self, act: Act, names: Names) -> None:
        value = self.node.values[self.word]
        assert names.topics is not None
        assert names.brokers is not None
        assert names.clients is not None
        for field in ("topic", "source", "output"):
            topic = getattr(act, field, None)
            if topic is not None and topic not in names.topics:
                raise self._inside(value, field).error(
                    f"unknown topic '{shortened(topic)}'", did_you_mean(topic, names.topics) or "the cluster has no topics"
                )
        for topic in getattr(act, "topics", ()):
            if topic not in names.topics:
                raise self._inside(value, "topics").error(
                    f"unknown topic '{shortened(topic)}'", did_you_mean(topic, names.topics) or "the cluster has no topics"
                )
        number = getattr(act, "partition", None)
        if isinstance(number, int) and getattr(act, "topic", None) is not None:
            self._check_partition(TopicPartition(str(getattr(act, "topic", "")), number), names, self._inside(value, "partition"))
        elif isinstance(act, Elect) and act.partition is not None:
            self._check_partition(act.partition, names, self._inside(value, "partition"))
        for tp, _offset in getattr(act, "keep", ()):
            self._check_partition(tp, names, self._inside(value, "keep"))
        for field in ("broker", "follower", "leader", "to"):
            broker = getattr(act, field, None)
            if isinstance(broker, int) and broker not in names.brokers:
                known = ", ".join(map(str, sorted(names.brokers)[:12]))
                raise self._inside(value, field).error(f"unknown broker {broker}", f"the brokers are {known}")
        zones = [zone.name for zone in self.spec.zones] if self.spec is not None else []
        for field in ("zone", "other"):
            zone = getattr(act, field, None)
            if zone is not None and zone not in zones:
                remedy = did_you_mean(zone, zones) or "write 'zones' in the cluster, for example 'zones: {a: [1, 2], b: [3, 4]}'"
                raise self._inside(value, field).error(f"unknown zone '{shortened(zone)}'", remedy)
        ends: tuple[str, ...] = ()
        if isinstance(act, (Cut, Heal, Link, Hold, ReleaseHeld)):
            ends = act.between or ()
        elif isinstance(act, (Isolate, KillController, StartController, PauseController, ResumeController)):
            ends = (act.node,)
        nodes = {
            CONTROLLER,
            ZOOKEEPER,
            *(self.spec.controllers if self.spec is not None else ()),
            *(f"b{broker}" for broker in names.brokers),
            *names.clients,
        }
        for end in ends:
            if end not in nodes:
                raise self._inside(value, "between").error(f"unknown node '{shortened(end)}'", did_you_mean(end, sorted(nodes)))
        producer = (
            getattr(act, "producer", None)
            or getattr(act, "consumer", None)
            or getattr(act, "process", None)
            or getattr(act, "service", None)
        )
        if producer is not None and producer not in names.clients:
            raise value.error(
                f"unknown client '{shortened(producer)}'", did_you_mean(producer, sorted(names.clients)) or "the script starts no producer"
            )
        if isinstance(act, Set) and act.topic is not None and act.topic not in names.topics:
            raise value.error(f"unknown topic '{act.topic}'", did_you_mean(act.topic, names.topics))

    def _inside(self, value: Node, field: str) -> Node:
        return value.values[field] if isinstance(value, Fields) and field in value.values else value

    def _check_partition(self, tp: TopicPartition, names: Names, node: Node) -> None:
        assert names.topics is not None
        count = names.topics.get(tp.topic)
        if count is None:
            raise node.error(f"unknown topic '{shortened(tp.topic)}'", did_you_mean(tp.topic, names.topics))
        if tp.partition >= count:
            raise node.error(f"{tp} does not exist", f"{tp.topic} has {count} partition{'s' if count != 1 else ''}, numbered from 0")

    def finish(self, names: Names, node: Fields) -> KafkaStep:
        """Read the conditions of the step and return the step."""
        with node.document.together():
            when = time_of(node)
            if node.get("within") is not None and when != "until":
                raise node.key_error("within", "'within' requires 'until'", "write until: <condition>")
            if self.pace is Pace.BY_HAND and when in ("at", "until"):
                raise node.key_error(when, f"'{when}' is not allowed at pace by-hand", "at this pace, time advances only with 'wait'")
            if not when and self.empty and all(node.get(word) is None for word in ("expect", "show", "note")):
                raise node.error("the step is empty", "write 'at', 'wait', 'until', an act, 'expect', or 'show'")
            step = language(names).step(node, node.keys[self.word] if self.word else node.place, self.acts)
            return attrs.evolve(step, show=node.read("show", lambda one: read_readings(one, names), ()))


def releases_of(scenario: Scenario, wanted: Sequence[Release]) -> tuple[Release, ...]:
    """Return the requested releases or, if there are none, the scenario's releases. The guards that the scenario's `without` lists are
    switched off.
    """
    if wanted:
        return tuple(release_without(release.name, scenario.without) for release in wanted)
    return tuple(release_named(name) for name in scenario.releases)


def release_without(name: str, guards: Sequence[str]) -> Release:
    """Return a release by name, with the given guards also switched off."""
    release = release_named(name)
    off = [guard for guard in guards if release.has(guard)]
    return release.without(off) if off else release

"""A script for other replication models: systems, clients, a timeline of requests and faults, and the expected counts.

scenario: mysql-m04-semi-sync       # the name
title: what it is about in one line # `scenarios list` shows it; by default, the first sentence of `about`
tags: [mysql, data-loss]            # its subjects (scenarios.language.subjects), the main one first
about: What the scenario shows.
model: mysql                        # one model with its `settings:`, or `models:`, a list or mapping of several systems
settings: {semi-sync: true}
clients: {c: [n1], r: }             # each with the servers that it can connect to, in order of preference; by default, all
timeline:
  - at: 1ms                         # the time since the start at which the step is due; alternatives are `wait` and `until`
    write: c                        # acts (scenarios.models.acts)
    expect: {n2: {stored: 1}}       # what must be true right after the acts (scenarios.models.expectations)
    under: [mysql]                  # the systems that the step applies to
    refused: is not running         # the acts must be refused, with a reason that contains this text
    note: what this step shows
rest: 60s                           # how long the run continues after the faults and the load have ended
expect: {lost: 0}                   # what must be true at the end

Instead of clients and a timeline, a script can name one of the faults that `isrlab run FAULT --model` accepts, for example
`fault: primary-dies`.
"""

from __future__ import annotations

from functools import partial
from pathlib import Path as FilePath
from typing import Final

import attrs

from core.lab.model_comparison.build import SETTINGS
from core.lab.model_comparison.faults import FAULTS, Fault
from core.models.system import QUIET
from scenarios.errors import did_you_mean
from scenarios.gc_disabled import gc_disabled
from scenarios.language.budget import check_clients, check_time
from scenarios.language.nodes import Fields, Items, Node, Text, shortened
from scenarios.language.script import first_sentence
from scenarios.language.subjects import read_tags, read_title
from scenarios.language.timeline import Step, time_of
from scenarios.language.values import as_bool, as_duration, as_fields, as_int, as_items, as_text, as_word
from scenarios.models.acts import ACTS, Rest, ScriptAct, check_names, read_acts
from scenarios.models.expectations import Comparison, ModelExpectation, Names, Under, language
from scenarios.models.systems import System, read_systems, system_of

_STEP_WORDS: Final = ("at", "wait", "until", "within", "expect", "under", "refused", "note")
_SCRIPT_WORDS: Final = (
    "scenario", "title", "tags", "about", "seed", "model", "models", "settings", "clients", "fault", "timeline", "rest", "expect",
)  # fmt: skip


@attrs.frozen
class ClientSpec:
    """A client of a script.

    Attributes:
        name: the name of the client.
        servers: the servers that the client can connect to, in order of preference; empty for all.
        session: whether the client refuses to read from servers that have older data than the client has already seen.
    """

    name: str
    servers: tuple[str, ...] = ()
    session: bool = False


ModelStep = Step[ScriptAct, Comparison, Under]
"""A step of a script, which applies to some systems."""


@attrs.frozen
class ModelScenario:
    """A loaded script.

    Attributes:
        name, title, tags, about, source, seed: the same as in a Kafka scenario.
        systems: the systems in which the script runs. The script runs once in each system.
        clients, steps: the clients and the timeline.
        fault: the name of the fault that replaces the clients and the timeline, or None.
        rest: how long each run continues after the faults and the load have ended, in µs.
        expects: the expectations that are checked at the end of the run.
    """

    name: str
    title: str
    tags: tuple[str, ...]
    about: str
    source: str
    seed: int
    systems: tuple[System, ...]
    clients: tuple[ClientSpec, ...]
    steps: tuple[ModelStep, ...]
    fault: Fault | None
    rest: int
    expects: tuple[ModelExpectation, ...]


def read_model_script(root: Fields, source: str) -> ModelScenario:
    """Read a script from the root node of its file.

    Raises:
        ScriptError: the script has mistakes. The error contains all mistakes.
    """
    with gc_disabled(), root.document.together(everything=True):
        root.only(*_SCRIPT_WORDS)
        systems = root.tried(_read_systems, ())
        servers = frozenset(name for system in systems for name in system.servers)
        clients = root.read("clients", partial(_clients, servers=servers), ())
        names = Names(tuple(system.name for system in systems), servers, frozenset(client.name for client in clients))
        check_clients(names.clients, root)
        fault = root.read("fault", _fault, None)
        if fault is not None:
            for word in ("clients", "timeline", "rest"):
                if word in root.values:
                    raise root.key_error(
                        word,
                        f"'{word}' is not allowed with 'fault'",
                        f"omit '{word}', because a script with 'fault' uses the clients and acts of that fault",
                    )
        steps = root.read("timeline", partial(_steps, names=names), ())
        rest = root.read("rest", as_duration, QUIET)
        end = 0
        for step in steps:
            end = step.due(end) + sum(act.quiet for act in step.acts if isinstance(act, Rest))
        check_time(end + rest, root)
        about = root.read("about", as_text, "")
        return ModelScenario(
            name=root.read("scenario", as_text, FilePath(source).stem),
            title=root.read("title", read_title, first_sentence(about)),
            tags=root.read("tags", read_tags, ()),
            about=about,
            source=source,
            seed=root.read("seed", as_int, 0),
            systems=systems,
            clients=clients,
            steps=steps,
            fault=fault,
            rest=rest,
            expects=root.read("expect", language(names).expectations, ()),
        )


def _read_systems(root: Fields) -> tuple[System, ...]:
    several = root.get("models")
    if several is not None:
        for word in ("model", "settings"):
            if word in root.values:
                raise root.key_error(word, f"'{word}' is not allowed with 'models'", f"write '{word}' for each model under 'models'")
        return read_systems(several)
    model = root.need("model", "write one of " + ", ".join(SETTINGS))
    return (system_of(as_text(model), model, root.get("settings")),)


def _fault(node: Node) -> Fault:
    known = {fault.name: fault for fault in FAULTS}
    return known[as_word(node, known)]


def _clients(node: Node, servers: frozenset[str]) -> tuple[ClientSpec, ...]:
    fields = as_fields(node, "for example {c: [n1]}")
    with node.document.together():
        found = [fields.tried(partial(_client, name=name, servers=servers), None) for name in fields.values]
    return tuple(one for one in found if one is not None)


def _client(fields: Fields, name: str, servers: frozenset[str]) -> ClientSpec:
    if name in servers or "@" in name or not name:
        raise fields.key_error(name, f"'{shortened(name)}' is not a client name", "choose a name that no server has, without '@'")
    value = fields.values[name]
    if isinstance(value, Text) and value.empty:
        return ClientSpec(name)
    session = False
    if isinstance(value, Fields):
        value.only("servers", "session")
        session = value.read("session", as_bool, False)
        given = value.get("servers")
        if given is None:
            return ClientSpec(name, (), session)
        value = given
    chosen = tuple(as_text(item) for item in value) if isinstance(value, Items) else (as_text(value),)
    for server in chosen:
        if server not in servers:
            raise value.error(f"unknown server '{shortened(server)}'", did_you_mean(server, sorted(servers)))
    return ClientSpec(name, chosen, session)


def _steps(node: Node, names: Names) -> tuple[ModelStep, ...]:
    items = as_items(node, "write a list of steps")
    with node.document.together():
        found = [item.tried(partial(_step, names=names), None) for item in items]
    return tuple(one for one in found if one is not None)


def _step(node: Node, names: Names) -> ModelStep:
    fields = as_fields(node, "a step is a mapping, for example {at: 1s, kill: n1}")
    fields.only(*_STEP_WORDS, *ACTS)
    time_of(fields)
    acts: list[ScriptAct] = []
    with node.document.together():
        for word, value in fields.values.items():
            if word in ACTS:
                acts += value.tried(partial(_acts, word=word, names=names), ())
    return language(names).step(fields, fields.place, tuple(acts), fields.read("refused", as_text, ""))


def _acts(node: Node, word: str, names: Names) -> tuple[ScriptAct, ...]:
    found = read_acts(word, node)
    for act in found:
        check_names(act, node, names.servers, names.clients)
    return found

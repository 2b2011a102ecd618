"""The targets of the fuzzer: for each kind of input, the source of its cases and the way in which a case is processed."""

from __future__ import annotations

import argparse
import contextlib
import functools
import importlib.util
import os
import random
import tempfile
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Final
from unittest import mock

import attrs

from core.kafka.errors import KafkaError
from core.kafka.events import explain
from core.kafka.release import CURRENT
from core.lab.cluster import Cluster
from core.lab.spec import ClusterSpec
from core.sim.errors import ActRefused
from core.sim.units import SECOND
from scenarios import catalogue
from scenarios.catalogue import read_any
from scenarios.describe import selection
from scenarios.describe.parse import parse_describe
from scenarios.describe.render import render_describe
from scenarios.describe.spec import to_cluster_spec
from scenarios.exploration.exploration import Exploration
from scenarios.groups.cluster_facts import coordinators_of
from scenarios.io.text_file import decode
from scenarios.language.script import Scenario, read_script
from scenarios.logs.log_check import check_log
from scenarios.logs.log_header import make_header
from scenarios.logs.log_reader import LogReader
from scenarios.logs.log_writer import LogWriter
from scenarios.logs.metadata_state import read_metadata_state
from scenarios.logs.replay import replay
from scenarios.models.script import ModelScenario
from scenarios.releases import release_named
from scenarios.running.imported_cluster import as_script, import_cluster, settled_cluster
from scenarios.running.runner import Run
from scenarios.sweeps.grid_file.read_grid import GRIDS, read_grid
from tests.fuzz.log_checkers import problems_of
from tests.fuzz.mutations import NASTY, mutated
from tests.fuzz.valid_scripts import KINDS, valid_script
from tests.fuzz.watch import Broken, command
from tui.actions.custom_keys import DEFAULT, as_toml, load_keymap
from tui.cli import parser_for

DESCRIBED: Final = Path(__file__).parents[1] / "scenarios" / "describe" / "data"
"""The describe output of real clusters. Its README names the sources."""

MOST_EVENTS: Final = 3_000
"""The maximum number of steps of a cluster in a case. The cost of a longer run does not depend on the input."""

SMALL: Final = (12, 200)
"""The maximum numbers of brokers and partitions of a described cluster that is built and run."""

_DIRECTORY: Final = tempfile.TemporaryDirectory(prefix="isrlab-fuzz-", dir="/dev/shm" if os.path.isdir("/dev/shm") else None)
HERE: Final = Path(_DIRECTORY.name)
"""The directory for cases that must be files. Command lines also run in this directory."""


@attrs.frozen
class Target:
    """One kind of input.

    Attributes:
        name: the name.
        corpus: valid inputs, created on first use.
        attempt: the function that processes such an input as the laboratory does; `watch.failure_of` decides which of its exceptions are
            failures.
        share: the share of all batches of cases.
        batch: the number of cases in a batch.
    """

    name: str
    corpus: Callable[[], Sequence[bytes]]
    attempt: Callable[[bytes, random.Random], object]
    share: float
    batch: int = 50

    def case(self, draw: random.Random) -> bytes:
        """Return the next case."""
        corpus = self.corpus()
        return mutated(draw, draw.choice(corpus), corpus)


# --- scripts -------------------------------------------------------------------------------------------------------


@functools.cache
def _scripts() -> Sequence[bytes]:
    whole = [path.read_bytes() for path in sorted(catalogue.FOLDER.glob("*.yaml"))]
    short = [
        b"cluster: {brokers: 3, topics: {orders: {partitions: 2}}}\ntimeline:\n  - at: 1s\n    kill: 2\nexpect: lost == 0\n",
        b"cluster:\n  brokers: [1, {id: 2, rack: a, up: false}]\n  topics: {t: {replicas: [[1, 2], [2, 1]], config: {min.insync.replicas: 2}}}\n",
        b"cluster: {brokers: 2, topics: {t: {partitions: [{replicas: [1, 2], isr: [1], leader: 1}]}}, pace: by-hand}\nsteps:\n  - produce: {topic: t, records: 5}\n  - fetch: 2\n",
        b"cluster: {brokers: 3, network: {latency: 1ms, jitter: 1ms, loss: 1%}, controllers: 3}\ntimeline:\n  - isolate: c1\n  - until: happened controller-elected\n    within: 9s\n",
        b"cluster: {brokers: 3, topics: {t: {partitions: 3}}}\ntimeline:\n  - load: {topic: t, rate: 50, every: 100ms}\n  - link: {between: [1, 2], loss: 20%}\n  - wait: 500ms\n  - set: {topic: t, min.insync.replicas: 2}\n  - create-topic: {topic: u, partitions: 2}\n",
    ]
    return [text for text in whole if len(text) < 1_500][:20] + short * 12


def _read_script(case: bytes, draw: random.Random) -> None:
    scenario = read_script(decode(case, "fuzz.yaml"), "fuzz.yaml")
    if draw.random() < 0.1 and _is_small(scenario.spec):
        _live(scenario, draw)


def _live(scenario: Scenario, draw: random.Random) -> None:
    """Run a scenario for some time, under one of its releases."""
    try:
        run = Run(scenario, release_named(draw.choice(scenario.releases)))
        for time in range(0, 20 * SECOND, SECOND // 4):
            run.advance_to(time)
            if run.finished or run.cluster.agenda.order > MOST_EVENTS:
                break
        run.result()
    except (KafkaError, ActRefused):
        pass


def _is_small(spec: ClusterSpec) -> bool:
    return len(spec.brokers) <= SMALL[0] and sum(topic.replicas for topic in spec.topics) <= SMALL[1] * 3


# --- logs ----------------------------------------------------------------------------------------------------------


@functools.cache
def _logs() -> Sequence[bytes]:
    """Return the first lines of logs that scenarios wrote, with and without an end line."""
    found: list[bytes] = []
    for name in catalogue.names()[::6]:
        scenario = catalogue.load(name)
        release = release_named(scenario.releases[-1])
        path = HERE / "corpus.jsonl"
        with LogWriter(path, make_header(scenario.spec, release, scenario.seed, name)) as writer:
            run = Run(scenario, release, sink=writer)
            run.advance_to(3 * SECOND)
            writer.close(run.cluster.now)
        lines = path.read_bytes().split(b"\n")
        found.append(b"\n".join(lines[:12]) + b"\n")
        found.append(b"\n".join(lines[:6]) + b'\n{"end":true,"t":99999999,"events":5}\n')
    return found


def _read_log(case: bytes, draw: random.Random) -> None:
    path = HERE / "case.jsonl"
    path.write_bytes(case)
    checked = check_log(path)
    reader = LogReader(path)
    events = list(reader)
    for event in events:
        explain(event)
    reader.problem()
    if checked.count and not events:
        return
    read_metadata_state(LogReader(path))
    ends = max(events[-1][1] if events else 0, 0 if reader.end is None else reader.end.t)
    if draw.random() < 0.1 and _is_small(reader.spec) and ends <= 200 * SECOND:
        replay(path)
    if draw.random() < 0.05:
        command([draw.choice(("describe", "metrics")), str(path)])


# --- describe texts ------------------------------------------------------------------------------------------------


@functools.cache
def _described() -> Sequence[bytes]:
    texts = [path.read_bytes() for path in sorted(DESCRIBED.glob("*.txt"))]
    head = b"Topic: t\tTopicId: fhp4CXTzTzihEt9mhspQ_Q\tPartitionCount: 3\tReplicationFactor: 2\tConfigs: min.insync.replicas=2,cleanup.policy=compact,delete\n"
    row = b"\tTopic: t\tPartition: 0\tLeader: 1\tReplicas: 1,2\tIsr: 1,2\n"
    return [
        *texts,
        head + row + row.replace(b"n: 0", b"n: 2"),
        row + row.replace(b"n: 0", b"n: 1"),
        head + row.replace(b"\tTopic: t", b""),
        head.replace(b": 2", b": 4") + row.replace(b"1,2\n", b"1,2\tOffline: \tObservers: 3,4\n").replace(b"s: 1,2", b"s: 1,2,3,4"),
        head + row.replace(b"s: 1,2\tIsr: 1,2", b"s: 3,1,2\tIsr: 1,2\tAdding Replicas: 3\tRemoving Replicas: 2\tElr: \tLastKnownElr: N/A"),
        b"$ kafka-topics.sh --describe \\\n  --topic t\n> " + head + b"> " + row + b"```\n",
        (head + row).decode().encode("utf-16"),
    ]


def _read_described(case: bytes, draw: random.Random) -> None:
    imported = parse_describe(decode(case, "fuzz.txt"), "fuzz.txt")
    with contextlib.suppress(ValueError):
        render_describe(imported.topics, CURRENT, under_replicated=draw.random() < 0.3, under_min_isr=draw.random() < 0.3)
    spec, _notes = to_cluster_spec(imported)
    if draw.random() < 0.02 and _is_small(spec):
        with contextlib.suppress(KafkaError, ValueError):
            Cluster(spec, CURRENT).run_until(SECOND)


# --- the output of kafka-consumer-groups ---------------------------------------------------------------------------

TOPICS: Final = """\
Topic: orders	PartitionCount: 2	ReplicationFactor: 2	Configs:
	Topic: orders	Partition: 0	Leader: 1	Replicas: 1,2	Isr: 1,2
	Topic: orders	Partition: 1	Leader: 2	Replicas: 2,1	Isr: 2
"""
"""The topics of the clusters to which groups are added."""


@functools.cache
def _groups() -> Sequence[bytes]:
    head = b"GROUP           TOPIC           PARTITION  CURRENT-OFFSET  LOG-END-OFFSET  LAG             CONSUMER-ID     HOST            CLIENT-ID\n"
    rows = (
        b"g               orders          0          5               9               4               m1-b0072cb7     /10.0.0.7       m1\n"
        b"g               orders          1          -               3               -               m2-86a730c7     /10.0.0.8       m2\n"
        b"h               orders          0          20              9               -11             -               -               -\n"
    )
    epochs = rows.replace(b"  5        ", b"  2               5        ", 1).split(b"\n")[0] + b"\n"
    members = (
        b"GROUP           CONSUMER-ID     GROUP-INSTANCE-ID HOST            CLIENT-ID       #PARTITIONS     ASSIGNMENT\n"
        b"g               i1-b0072cb7     i1                /10.0.0.7       m1              1               orders(0)\n"
        b"g               m2-86a730c7                       /10.0.0.8       m2              2               orders(1), pay(0,1)\n"
    )
    consumers = (
        b"GROUP           CONSUMER-ID            HOST            CLIENT-ID       #PARTITIONS     CURRENT-EPOCH   CURRENT-ASSIGNMENT   TARGET-EPOCH    "
        b"TARGET-ASSIGNMENT    UPGRADED\n"
        b"g               kOMPk5aKQ6WGzCJdSXT43w /127.0.0.1      n2              1               6               orders:0             6               "
        b"orders:0             true\n"
        b"g               MefvM7ktRKSnpurMXrQWOw /127.0.0.1      b1              1               6               orders:1             6               "
        b"orders:1             false\n"
    )
    state = (
        b"GROUP                     COORDINATOR (ID)          ASSIGNMENT-STRATEGY  STATE           #MEMBERS\n"
        b"g                         127.0.0.1:23192 (2)       range                Stable          2\n"
        b"h                         127.0.0.1:23192 (2)                            Empty           0\n"
    )
    old = b"GROUP, TOPIC, PARTITION, CURRENT OFFSET, LOG END OFFSET, LAG, OWNER\ng, orders, 0, 5, 9, 4, m1_/10.0.0.7\ng, orders, 1, unknown, 3, unknown, none\n"
    verbose = head.replace(b"CURRENT-OFFSET", b"LEADER-EPOCH    CURRENT-OFFSET") + epochs
    nameless = b"$ kafka-consumer-groups.sh --describe --group g\n" + b"".join(
        line[16:] + b"\n" for line in (head + rows).split(b"\n")[:-1]
    )
    return [
        head + rows,
        members + state + head + rows,
        consumers,
        old,
        verbose,
        nameless,
        b"\nConsumer group 'h' has no active members.\n\n" + head + rows,
    ]


def _read_groups(case: bytes, draw: random.Random) -> None:
    release = release_named(draw.choice(["4.3", "2.8", "1.1", "0.9"]))
    imported = import_cluster(parse_describe(TOPICS, "topics.txt"), [(decode(case, "fuzz.txt"), "fuzz.txt")], release)
    spec = imported.scenario.spec
    if draw.random() < 0.1 and read_script(as_script(imported), "fuzz.yaml").spec != spec:
        raise Broken("the script of an import is another cluster")
    if draw.random() < 0.02 and _is_small(spec):
        cluster = settled_cluster(imported, release, 0, SECOND // 100)
        for group in spec.groups:
            for tp, offset, _ in group.offsets:
                if coordinators_of(cluster).groups[group.name].offsets[tp].offset != offset:
                    raise Broken(f"group {group.name} has another offset for {tp}")


# --- grids, keymaps ------------------------------------------------------------------------------------------------


@functools.cache
def _grids() -> Sequence[bytes]:
    small = b"sweep: s\ncluster: {brokers: 2, topics: {orders: {partitions: 1, replication-factor: 2}}}\nworkload: [{topic: orders, rate: 10, acks: all}]\nfaults: {crash: {every: 2h, lasts: {from: 20s, to: 2m}}}\nhorizon: 10h\naround: {before: 5s, after: 20s}\nvary:\n  acks: [1, all]\n"
    return [
        small,
        small,
        small.replace(b"vary:\n  acks: [1, all]\n", b"cells: [{name: a, racks: 2}, {name: b, release: '2.4'}]\n"),
        *(path.read_bytes() for path in sorted(GRIDS.glob("*.yaml"))[:1]),
    ]


def _read_grid(case: bytes, _draw: random.Random) -> None:
    read_grid(decode(case, "fuzz.yaml"), "fuzz.yaml")


@functools.cache
def _keymaps() -> Sequence[bytes]:
    whole = "\n".join(as_toml(DEFAULT)).encode()
    return [
        b'[keys]\nkill = "K"\nstep = ["n", "f8"]\n',
        b"[keys]\nkill = 'ctrl+k'\nundo = ['alt+u', '+']\n",
        b"\n".join(whole.split(b"\n")[:12]) + b"\n",
    ] * 10 + [whole]


def _read_keymap(case: bytes, _draw: random.Random) -> None:
    path = HERE / "keys.toml"
    path.write_bytes(case)
    load_keymap(path)


# --- the command line ----------------------------------------------------------------------------------------------

SEPARATOR: Final = b"\0"
"""The separator between the arguments of a case."""


@functools.cache
def _lines() -> Sequence[bytes]:
    """Return command lines that end soon and change nothing outside `HERE`."""
    plan = HERE / "plan.json"
    plan.write_text('{"version":1,"partitions":[{"topic":"orders","partition":0,"replicas":[2,1]}]}')
    (HERE / "topics.json").write_text('{"version":1,"topics":[{"topic":"orders"}]}')
    script, log, text = HERE / "s.yaml", HERE / "s.jsonl", HERE / "d.txt"
    script.write_bytes(_scripts()[-1])
    log.write_bytes(_logs()[0])
    text.write_bytes(_described()[0])
    grid = HERE / "g.yaml"
    grid.write_bytes(_grids()[0])
    sources = [str(script), str(log), str(text), "b2-high-watermark"]
    lines = [
        ["--version"], ["--help"], ["keys"], ["scenarios", "list"], ["scenarios", "show", "e1-data-loss"], ["run", str(script)],
        ["run", str(script), "--json"], ["run", str(script), "--release", "2.4", "--release", "4.1", "--seed", "7"],
        ["run", str(script), "--log", "out.jsonl"], ["run", "b2-high-watermark", "--junit", "out.xml"], ["import", str(text)],
        ["import", str(text), "-o", "out.yaml"], ["log", "check", str(log)], ["replay", str(log)], ["play", "--fps", "x", "b2-high-watermark"],
        ["play", "--keys", str(plan)], ["serve", "--port", "x"], ["sweep", str(script)], ["report", "/nowhere.jsonl"],
    ]  # fmt: skip
    for source in sources:
        lines += [
            ["describe", source, "--at", "1s"], ["describe", source, "--under-replicated-partitions"], ["describe", source, "--topic", "orders"],
            ["metrics", source, "--broker", "1"], ["metrics", source, "--name", "*Leader*"], ["reassign", source, "--list"],
            ["reassign", source, "--execute", "--reassignment-json-file", str(plan), "--throttle", "1000"],
            ["reassign", source, "--generate", "--topics-to-move-json-file", str(HERE / "topics.json"), "--broker-list", "1,2"],
            ["leader-election", source, "--election-type", "preferred", "--all-topic-partitions"],
            ["leader-election", source, "--election-type", "unclean", "--topic", "orders", "--partition", "0"],
            ["checkpoints", source, "--check", str(HERE)], ["segments", source, "--partition", "orders-0", "--offset", "5", "--json"],
            ["segments", source, "--partition", "orders-0", "--time", "1s"], ["segments", source, "--partition", "orders-0", "--dump", "0.log"],
        ]  # fmt: skip
    return [SEPARATOR.join(part.encode() for part in line) for line in lines]


@attrs.frozen
class _Command:
    """A command with its possible arguments, according to its parser."""

    words: tuple[str, ...]
    positionals: tuple[argparse.Action, ...]
    options: tuple[argparse.Action, ...]


@functools.cache
def commands() -> Sequence[_Command]:
    """Return every executable command of isrlab."""
    return [_Command((), (), tuple(_actions(parser_for(""))[1])), *_below(parser_for(""), ())]


def _actions(parser: argparse.ArgumentParser) -> tuple[list[argparse.Action], list[argparse.Action]]:
    known = [action for action in parser._actions if not isinstance(action, argparse._SubParsersAction)]
    return [action for action in known if not action.option_strings], [action for action in known if action.option_strings]


def _below(parser: argparse.ArgumentParser, words: tuple[str, ...]) -> Iterator[_Command]:
    groups = [action for action in parser._actions if isinstance(action, argparse._SubParsersAction)]
    if not groups:
        positionals, options = _actions(parser)
        yield _Command(words, tuple(positionals), tuple(options))
    for group in groups:
        for word, below in group.choices.items():
            yield from _below(below, (*words, word))


GOOD: Final = (
    b"1", b"7", b"0", b"1s", b"90ms", b"orders", b"orders.*", b"(a+)+", b"2.4", b"4.1", b"0.10.2", b"1,2", b"orders-0", b"preferred", b"unclean",
    b"out.x", b"out.jsonl", b"out.jsonl.zst", b"out/", b"eligible.leader.replicas.version=0", b"4.3 without maximal-isr", b"spark.x=1", b"0.05",
    b"e1-data-loss", b"b2-high-watermark",
)  # fmt: skip
"""Values that are valid for some option."""


def _command_line(draw: random.Random) -> bytes:
    """Return a command with some of its options in any order, each with a value that is valid for some option or for none."""
    if draw.random() < 0.2:
        parts = [*draw.choice(_lines()).split(SEPARATOR)]
        parts[draw.randrange(len(parts))] = _value(draw)
        return SEPARATOR.join(parts)
    command = draw.choice(commands())
    given: list[list[bytes]] = [[_source(draw)] for action in command.positionals for _ in range(draw.choice((1, 1, 1, 1, 0, 2)))]
    pool = command.options if draw.random() < 0.9 else draw.choice(commands()).options
    needed = [option for option in command.options if option.required and draw.random() < 0.9]
    for option in [*needed, *draw.choices(pool, k=draw.randrange(4))]:
        name = draw.choice(option.option_strings).encode()
        if draw.random() < 0.05:
            name = mutated(draw, name, [name]).replace(SEPARATOR, b"")
        value = [] if option.nargs == 0 and draw.random() < 0.95 else [_value(draw)]
        given.append([name + b"=" + value[0]] if value and name.startswith(b"--") and draw.random() < 0.2 else [name, *value])
    draw.shuffle(given)
    return SEPARATOR.join([*(word.encode() for word in command.words), *(part for parts in given for part in parts)])


def _source(draw: random.Random) -> bytes:
    """Return a source for a command, usually one of the files."""
    _lines()
    files = ("s.yaml", "s.jsonl", "d.txt", "g.yaml", "plan.json", "topics.json")
    return draw.choice(files).encode() if draw.random() < 0.9 else _value(draw)


def _value(draw: random.Random) -> bytes:
    sort = draw.random()
    value = _source(draw) if sort < 0.15 else draw.choice(GOOD) if sort < 0.6 else draw.choice(NASTY)
    return (mutated(draw, value, GOOD) if sort > 0.85 else value).replace(SEPARATOR, b"")


_find_spec: Final = importlib.util.find_spec


@contextlib.contextmanager
def _nothing_lasts() -> Iterator[None]:
    """Make commands that start a server, Spark, a sweep, or a search stop before this step, and reduce the library to two scenarios."""
    with (
        mock.patch("importlib.util.find_spec", lambda name: None if name == "pyspark" else _find_spec(name)),
        mock.patch("scenarios.catalogue.names", return_value=["b2-high-watermark", "e1-data-loss"]),
        mock.patch("tui.terminal.browser_server.serve", return_value=None),
        mock.patch("tui.commands.run_sweep.main_sweep", return_value=0),
        mock.patch("scenarios.exploration.exploration.explore", lambda start, bounds, name, *_: Exploration(start, bounds, name)),
        mock.patch.object(selection, "PATTERN_SECONDS", 0.05),
    ):
        yield


def _run_line(case: bytes, draw: random.Random) -> None:
    argv = [os.fsdecode(part) for part in case.split(SEPARATOR)]
    values = [value for part in argv for value in (part, part.partition("=")[2], part[2:])]
    if any(value in ("/", "-") or value.startswith("/dev/std") for value in values):
        return  # The terminal is nobody's file.
    if any("/" in value and not value.startswith(str(HERE)) and value != "out/" for value in values):
        return  # Files outside are nobody's case.
    before = os.getcwd()
    os.chdir(HERE)
    try:
        with _nothing_lasts():
            code, _, err = command(argv, stdin=draw.choice(_described()) if draw.random() < 0.2 else b"")
        if code == 2 and not err.startswith("isrlab: "):
            raise Broken(f"a refusal in another form: {err[:200]}")
    finally:
        os.chdir(before)


# --- valid scripts -------------------------------------------------------------------------------------------------


def _valid_scripts() -> Sequence[bytes]:
    return [valid_script(kind, random.Random(0)).encode() for kind in KINDS]


def _run_script(case: bytes, draw: random.Random) -> None:
    """Run a script, and judge the run: twice the same, a log without problems, the same log from a replay, and nothing that the checkers of
    groups and of read_committed find wrong."""
    script, log = HERE / "valid.yaml", HERE / "valid.jsonl"
    script.write_bytes(case)
    is_model = isinstance(read_any(decode(case, "fuzz.yaml"), "fuzz.yaml"), ModelScenario)
    release = [] if is_model else ["--release", draw.choice(VALID_RELEASES)]
    log.unlink(missing_ok=True)
    run = ["run", str(script), *release]
    code, out, _ = command([*run, *([] if is_model else ["--log", str(log)])])
    if command(run)[:2] != (code, out):
        raise Broken("a second run has another result")
    if code == 2 and not log.exists():
        return  # the release does not have an act, a setting, or a feature of the script
    if is_model:
        return
    checked = check_log(log)
    if checked.problems:
        raise Broken(f"the log has problems: {checked.problems[0]}")
    found = replay(log)
    if not found.same:
        raise Broken(f"the replay differs in line {found.line}")
    for problem in problems_of(LogReader(log)):
        raise Broken(problem)


VALID_RELEASES: Final = ("4.3", "4.3", "4.1", "4.0", "3.9", "3.6", "3.3", "2.8", "2.4", "1.1", "0.11")
"""The releases under which valid scripts run."""


@attrs.frozen
class _Valid(Target):
    def case(self, draw: random.Random) -> bytes:
        return valid_script(draw.choice(tuple(KINDS)), draw).encode()


@attrs.frozen
class _Lines(Target):
    def case(self, draw: random.Random) -> bytes:
        return _command_line(draw)


TARGETS: Final = {
    target.name: target
    for target in (
        Target("scripts", _scripts, _read_script, 0.06),
        Target("logs", _logs, _read_log, 0.04),
        Target("describe", _described, _read_described, 0.40),
        Target("groups", _groups, _read_groups, 0.04),
        Target("grids", _grids, _read_grid, 0.01),
        Target("keys", _keymaps, _read_keymap, 0.40),
        _Lines("arguments", _lines, _run_line, 0.05),
        _Valid("valid", _valid_scripts, _run_script, 0.015, batch=2),
    )
}
"""All targets except the key bursts of the playground, which have their own runner (`key_bursts`)."""

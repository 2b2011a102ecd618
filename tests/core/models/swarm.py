"""Random schedules of faults for each model. The model's own promises must hold, and certain seeds must find the harms that the model is
known for.

python -m tests.core.models.swarm                          2,000 seeds of each model
python -m tests.core.models.swarm --model mysql --seeds 100
python -m tests.core.models.swarm --model mysql --seed 17  one seed, with its acts, counts, and broken promises
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Callable
from random import Random
from typing import Any, NamedTuple

from core.models import acts
from core.models.client import ReadLoop, WriteLoop
from core.models.elasticsearch.settings import ElasticsearchSettings
from core.models.elasticsearch.system import Elasticsearch
from core.models.mysql.settings import MySQLSettings, WaitPoint
from core.models.mysql.system import MySQL
from core.models.quorum.settings import QuorumSettings
from core.models.quorum.system import Quorum
from core.models.report import Report
from core.models.system import ReplicationSystem
from core.sim.errors import ActRefused
from core.sim.units import SECOND
from core.sim.units import US_PER_MS as MS

LOADED = 12 * SECOND
"""The duration of the load."""

MODELS = ("mysql", "elasticsearch", "quorum")


class Played(NamedTuple):
    """A run.

    Attributes:
        how: the way of reading.
        kinds: the kinds of events that happened.
        script: the acts, with their times.
    """

    system: ReplicationSystem
    report: Report
    how: str
    kinds: frozenset[str]
    script: tuple[str, ...]


def play(model: str, seed: int) -> Played:
    """Play the random schedule of a seed."""
    random = Random(f"{model}:{seed}")
    kinds: set[str] = set()
    system = BUILD[model](random, seed, lambda event: kinds.add(event[3]))
    start = system.now
    how = random.choice(system.READS)
    names = tuple(system.servers)
    inside, outside = names[:1], names[1:]
    for client, servers in (("a", names), ("b", inside), ("c", outside)):
        loop = WriteLoop(f"k-{client}", random.choice((20, 30, 50)) * MS, start=start, until=start + LOADED, limit=3 * SECOND)
        system.add_client(client, servers).start(loop)
    for number, servers in enumerate((names, inside, names)):
        loop = ReadLoop(f"k-{'abc'[number]}", 35 * MS, servers, how, start, start + LOADED, limit=SECOND)
        system.add_client(f"r{number}").start(loop)
    script = []
    times = sorted(start + random.randrange(LOADED) for _ in range(random.randrange(1, 9)))
    for moment in times:
        system.run_until(moment)
        act = a_fault(random, system)
        if act is not None:
            script.append(f"{(moment - start) / SECOND:.3f} s: {act.text()}")
            try:
                system.do(act)
            except ActRefused as refused:
                script[-1] += f" (refused: {refused})"
        if isinstance(act, acts.Kill) and not system.dead_for_good and random.random() < 0.3:
            system.dead_for_good.add(act.server)
            script[-1] += ", for good"
        if isinstance(system, MySQL):
            operate(system, random, script, start)
    system.run_until(start + LOADED)
    if isinstance(system, MySQL):
        operate(system, random, script, start, at_the_end=True)
    report = system.settle(20 * SECOND)
    return Played(system, report, how, frozenset(kinds), tuple(script))


def a_fault(random: Random, system: ReplicationSystem) -> acts.Act | None:
    """Draw a fault or the end of one."""
    names = list(system.servers)
    server = random.choice(names)
    other = random.choice([name for name in names if name != server])
    closes = random.random() < 0.5
    dead = [name for name in names if not system.network.alive[name] and name not in system.dead_for_good]
    drawn = random.randrange(12)
    if dead and drawn < 4:
        return acts.Restart(dead[0])
    if system.paused and drawn < 6:
        return acts.Resume(next(iter(system.paused)))
    match drawn:
        case 0 | 1:
            return acts.Kill(server)
        case 2:
            return acts.Pause(server)
        case 3 | 4:
            company = random.choice(((), ("b",), ("b", "r1")))
            return acts.Isolate(server, company if server == "n1" else (), closes)
        case 5:
            return acts.Cut(server, other, closes)
        case 6 | 7 | 8:
            return acts.HealAll()
        case 9:
            return acts.PowerLoss(tuple(random.sample(names, random.randrange(1, len(names) + 1))))
        case 10:
            return acts.SlowLink(server, other, random.choice((1, 5, 40)) * MS)
        case _:
            return acts.SlowDisk(server, random.choice((1, 10, 100)) * MS)


def operate(system: MySQL, random: Random, script: list[str], start: int, *, at_the_end: bool = False) -> None:
    """Act as an operator of MySQL: if the source is dead or cut off, sometimes promote the replica that has received the most."""
    source = system.source
    is_gone = not system.network.alive[source] or all(system.is_cut(source, name) for name in system.servers if name != source)
    if is_gone and (random.random() < 0.5 or (at_the_end and source in system.dead_for_good)):
        try:
            system.do(acts.Promote())
        except ActRefused:
            return
        script.append(f"{(system.now - start) / SECOND:.3f} s: promote {system.source}")


# --- the models, with random settings ---------------------------------------------------------------------------------


def a_mysql(random: Random, seed: int, sink: Any) -> MySQL:
    settings = MySQLSettings(
        semi_sync=random.random() < 0.6,
        wait_point=random.choice(list(WaitPoint)),
        timeout=random.choice((1, 100)) * SECOND,
        relay_log_recovery=random.random() < 0.2,
        sync_binlog=random.choice((1, 1, 1, 0)),
        read_only=random.random() < 0.8,
        connect_retry=SECOND,
        net_timeout=4 * SECOND,
    )
    return MySQL(settings, seed, sink)


def an_elasticsearch(random: Random, seed: int, sink: Any) -> Elasticsearch:
    settings = ElasticsearchSettings(
        master=random.choice(("n1", "n2")),
        translog_async=random.random() < 0.2,
        check_interval=100 * MS,
        check_timeout=500 * MS,
        publish_timeout=2 * SECOND,
        wait_for_active_shards=random.choice((1, 2)),
        write_timeout=5 * SECOND,
    )
    return Elasticsearch(settings, seed, sink)


def a_quorum(random: Random, seed: int, sink: Any) -> Quorum:
    nodes = random.choice((3, 3, 5))
    system = Quorum(QuorumSettings(nodes=nodes, check_quorum=random.random() < 0.7, lease=random.random() < 0.3), seed, sink)
    system.elect_first()
    return system


BUILD: dict[str, Callable[[Random, int, Any], ReplicationSystem]] = {
    "mysql": a_mysql, "elasticsearch": an_elasticsearch, "quorum": a_quorum,
}  # fmt: skip


# --- promises and harms -----------------------------------------------------------------------------------------------


def broken(played: Played) -> list[str]:
    """Return the promises of the model that the run breaks."""
    system, report = played.system, played.report
    found = []
    if report.phantom:
        found.append(f"{report.phantom} refused writes are there")
    if report.duplicates:
        found.append(f"{report.duplicates} rows are there twice")
    if isinstance(system, MySQL):
        found += broken_by_mysql(system, played)
    elif isinstance(system, Elasticsearch):
        if report.lost and "translog-lost" not in played.kinds:
            found.append(f"{report.lost} acknowledged writes are lost though in-sync copies were left")
        if report.divergence and "translog-lost" not in played.kinds:
            found.append(f"the copies differ in {report.divergence} places")
    else:
        if not report.authority:
            found.append("a majority runs, and there is no leader")
        if report.lost or report.divergence:
            found.append(f"{report.lost} acknowledged writes are lost, the copies differ in {report.divergence} places")
        if report.dirty and played.how != "uncommitted":
            found.append(f"{report.dirty} dirty reads")
        if report.stale and (played.how == "quorum" or (played.how == "lease" and system.settings.lease)):  # type: ignore[attr-defined]
            found.append(f"{report.stale} stale reads")
    return found


def broken_by_mysql(system: MySQL, played: Played) -> list[str]:
    """Semi-synchronous replication keeps what it acknowledged while it was on, if no received transaction is dropped.

    Reads at one server never go back while that server stays the source's replica.
    """
    report, settings = played.report, system.settings
    found = []
    dropped = played.kinds & {"relay-log-dropped", "binlog-tail-lost"} or any("power" in each for each in played.script)
    promoted = "mysql-promoted" in played.kinds
    if report.lost and not promoted and not dropped and settings.read_only:
        found.append(f"{report.lost} acknowledged writes are lost though nobody was promoted")
    once = sum("promote" in each for each in played.script) <= 1
    others_died = any("kill" in each and system.source in each for each in played.script)
    if (
        settings.semi_sync
        and settings.read_only
        and "semi-sync-off" not in played.kinds
        and report.lost
        and once
        and not dropped
        and not others_died
    ):
        before = before_promotion(played)
        if before:
            found.append(f"{report.lost} acknowledged writes are lost though semi-synchronous replication stayed on")
    return found


def before_promotion(played: Played) -> bool:
    """Return whether the replicas were running and reachable when the source was replaced, so that the operator could choose the best one."""
    return not any(word in each for each in played.script for word in ("cut", "pause", "n2", "n3", "restart"))


HARMS: dict[str, dict[str, Callable[[Played], bool]]] = {
    "mysql": {
        "asynchronous: acknowledged writes are lost": lambda p: p.report.lost > 0 and not p.system.settings.semi_sync,  # type: ignore[attr-defined]
        "semi-synchronous: acknowledged writes are lost after a time-out": lambda p: p.report.lost > 0 and "semi-sync-off" in p.kinds,
        "AFTER_COMMIT: reads of what disappears": lambda p: p.report.dirty > 0
        and p.system.settings.semi_sync  # type: ignore[attr-defined]
        and p.system.settings.wait_point is WaitPoint.AFTER_COMMIT,  # type: ignore[attr-defined]
        "stale reads at replicas": lambda p: p.report.stale > 0,
        "reads that go back": lambda p: p.report.backward > 0,
        "acknowledged writes at a replica are lost": lambda p: p.report.lost > 0 and "mysql-promoted" not in p.kinds,
        "copies that differ silently": lambda p: p.report.divergence > 0 and "replication-stopped" not in p.kinds,
        "replication that stops with an error": lambda p: "replication-stopped" in p.kinds,
    },
    "elasticsearch": {
        "dirty reads": lambda p: p.report.dirty > 0,
        "stale GETs": lambda p: p.report.stale > 0 and p.how == "get",
        "stale searches": lambda p: p.report.stale > 0 and p.how == "search",
        "searches that go back": lambda p: p.report.backward > 0 and p.how == "search",
        "writes of unknown outcome that are there": lambda p: p.report.unknown_present > 0,
        "asynchronous translog: acknowledged writes are lost": lambda p: p.report.lost > 0,
    },
    "quorum": {
        "local reads are stale": lambda p: p.report.stale > 0 and p.how == "local",
        "reads at a deposed leader are stale": lambda p: p.report.stale > 0 and p.how == "leader",
        "uncommitted reads are dirty": lambda p: p.report.dirty > 0 and p.how == "uncommitted",
        "writes of unknown outcome that are there": lambda p: p.report.unknown_present > 0,
        "writes of unknown outcome that are not there": lambda p: p.report.unknown_absent > 0,
    },
}  # fmt: skip


def swarm(model: str, seeds: range) -> tuple[dict[str, int], list[tuple[int, str]]]:
    """Play seeds. Return the first seed of each harm, and the broken promises by seed."""
    first: dict[str, int] = {}
    faults = []
    for seed in seeds:
        played = play(model, seed)
        faults += [(seed, what) for what in broken(played)]
        for name, shows in HARMS[model].items():
            if name not in first and shows(played):
                first[name] = seed
    return first, faults


def main() -> int:
    """Run the command line and return the exit code."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--model", choices=MODELS)
    parser.add_argument("--seeds", type=int, default=2_000)
    parser.add_argument("--seed", type=int)
    arguments = parser.parse_args()
    if arguments.seed is not None:
        played = play(arguments.model, arguments.seed)
        print(*played.script, played.system.settings, f"reads: {played.how}", played.report, broken(played), sep="\n")  # type: ignore[attr-defined]
        return 0
    failed = False
    for model in MODELS if arguments.model is None else (arguments.model,):
        begun = time.perf_counter()
        first, faults = swarm(model, range(arguments.seeds))
        print(f"{model}: {arguments.seeds:,} seeds in {time.perf_counter() - begun:.0f} s; broken promises: {len(faults)}")
        for name in HARMS[model]:
            print(f"  {name}: " + (f"seed {first[name]}" if name in first else "not found"))
        for seed, what in faults:
            print(f"  BROKEN seed {seed}: {what}")
        failed |= bool(faults) or len(first) < len(HARMS[model])
    return int(failed)


if __name__ == "__main__":
    sys.exit(main())

"""Measures the cost of reports: `make bench`, or `python tests/bench/bench_report.py --sessions 10x1000000 --masters 'local-cluster[2,1,1024]'`.

The benchmark writes real sessions of the engine and converts them to Parquet. A session has six brokers and 36 partitions under load. Each
minute, a broker is killed and started again. Then the benchmark measures the following, and takes the minimum of several rounds:

- the start and end of a Spark session with PySpark's defaults and one trivial job
- the start and end of a Spark session as `isrlab report` configures it
- `isrlab report` on the Parquet files with each master, as tables and as a page, and on the JSON Lines files
- DuckDB with the same aggregations on the same Parquet files; its numbers must equal those of the report

The measurements are the wall time, the processor time of all started processes (the driver, Java, and Python workers), and the memory of
the largest process. Of reports, the benchmark also prints the numbers of SQL executions, jobs, and stages, and the time without a running
job, from Spark's event log. The limit for a report on a session of 10⁶ events is 1.5 times the processor time of PySpark's own start.

By default, there are sessions of 10⁵ and 10⁶ events. `--sessions 1000x5000` and `--sessions 10x1000000` take about ten minutes each.
"""

from __future__ import annotations

import argparse
import ctypes
import itertools
import json
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any, Final

import attrs

from core.kafka.release import Release
from core.kafka.topic_spec import TopicSpec
from core.lab import acts
from core.lab.cluster import Cluster
from core.lab.spec import BrokerSpec, ClusterSpec
from core.sim.units import SECOND
from scenarios.logs.log_header import make_header
from scenarios.logs.log_writer import LogWriter

ROOT: Final = Path(__file__).resolve().parents[2]
ROUNDS: Final = 3

_PR_SET_CHILD_SUBREAPER: Final = 36

PLAIN: Final = """
import os, sys, tempfile
from pathlib import Path
from spark_reports.spark.java import find_java, java_home
with tempfile.TemporaryDirectory() as scratch:
    # No time to ask for this machine's name.
    os.environ |= {"JAVA_HOME": str(java_home(find_java(), Path(scratch))), "SPARK_LOCAL_IP": "127.0.0.1"}
    from pyspark import SparkContext
    from pyspark.sql import SparkSession
    spark = SparkSession.builder.master("local[*]").config("spark.ui.enabled", "false").getOrCreate()
    spark.range(1000).count()
    spark.stop()
    SparkContext._gateway.shutdown()
    SparkContext._gateway.proc.stdin.close()
    SparkContext._gateway.proc.wait()
"""
OURS: Final = "from spark_reports.spark.session import spark_session\nwith spark_session(brief=True): pass"
DUCK: Final = "import runpy, sys; sys.argv = [sys.argv[1], '--duckdb', sys.argv[2]]; runpy.run_path(sys.argv[0], run_name='__main__')"

QUERIES: Final = {
    "elections": """
        SELECT topic, count(*) FILTER (kind = 'leader-elected') AS elections,
            count(*) FILTER (kind = 'leader-elected' AND election = 'unclean') AS "unclean",
            count(*) FILTER (kind = 'partition-offline') AS offline
        FROM events WHERE kind IN ('leader-elected', 'partition-offline', 'election-refused') GROUP BY topic""",
    "availability": """
        WITH states AS (SELECT topic, partition, leader, isr, replicas, adding, coalesce(lead(t) OVER h, end_us) - t AS lasts
            FROM events, finish WHERE kind = 'partition-changed' WINDOW h AS (PARTITION BY topic, partition ORDER BY seq))
        SELECT topic, partition, sum(lasts)::BIGINT AS observed_us, coalesce(sum(lasts) FILTER (leader < 0), 0)::BIGINT AS offline_us,
            coalesce(sum(lasts) FILTER (leader >= 0 AND len(isr) < len(replicas) - len(adding)), 0)::BIGINT AS under_replicated_us
        FROM states GROUP BY topic, partition""",
    "records": """
        SELECT topic, partition, coalesce(sum(to_offset - from_offset) FILTER (kind = 'append'), 0)::BIGINT AS accepted,
            coalesce(sum(records) FILTER (kind = 'produce-acked' AND acks != 0), 0)::BIGINT AS acknowledged
        FROM events WHERE kind IN ('append', 'produce-acked', 'records-lost', 'records-recovered', 'records-duplicated', 'records-diverged')
        GROUP BY topic, partition""",
    "produce_latency": """
        SELECT topic, acks, count(*) AS acknowledged, sum(records)::BIGINT AS records, quantile_disc(latency_us, 0.5) AS p50_us,
            quantile_disc(latency_us, 0.95) AS p95_us, quantile_disc(latency_us, 0.99) AS p99_us, max(latency_us) AS max_us
        FROM events WHERE kind = 'produce-acked' GROUP BY topic, acks""",
    "lag": """
        WITH known AS (SELECT topic, partition, seq, kind, broker, to_offset,
            last_value(CASE kind WHEN 'high-watermark' THEN new_offset WHEN 'became-leader' THEN high_watermark END IGNORE NULLS) OVER h
                AS committed, last_value(replicas IGNORE NULLS) OVER h AS assigned
            FROM events WHERE kind IN ('append', 'became-leader', 'high-watermark', 'partition-changed')
            WINDOW h AS (PARTITION BY topic, partition ORDER BY seq)),
        appends AS (SELECT topic, partition, seq, to_offset AS log_end, committed, unnest(list_filter(assigned, lambda r: r <> broker)) AS follower
            FROM known WHERE kind = 'append'),
        own AS (SELECT topic, partition, seq, broker AS follower, CASE WHEN kind IN ('append', 'follower-append') THEN to_offset
            WHEN kind IN ('truncated', 'unflushed-lost') THEN from_offset WHEN kind = 'log-restarted' THEN new_offset ELSE "offset" END AS own_end
            FROM events WHERE kind IN ('append', 'became-leader', 'became-follower', 'follower-append', 'log-restarted', 'truncated', 'unflushed-lost')),
        both_of AS (SELECT topic, log_end, follower, last_value(own_end IGNORE NULLS) OVER
            (PARTITION BY topic, partition, follower ORDER BY seq) AS reached FROM (SELECT *, NULL AS own_end FROM appends UNION ALL BY NAME FROM own)),
        samples AS (SELECT topic, 'follower b' || follower AS "of", greatest(log_end - reached, 0) AS behind FROM both_of WHERE log_end IS NOT NULL
            UNION ALL SELECT topic, 'high watermark', greatest(to_offset - committed, 0) FROM known WHERE kind = 'append')
        SELECT topic, "of", count(*) AS samples, quantile_disc(behind, 0.5) AS p50, quantile_disc(behind, 0.95) AS p95,
            quantile_disc(behind, 0.99) AS p99, max(behind) AS "max" FROM samples WHERE behind IS NOT NULL GROUP BY topic, "of\"""",
    "errors": "SELECT error, kind, count(*) AS \"count\" FROM events WHERE error IS NOT NULL GROUP BY error, kind",
}  # fmt: skip
"""The aggregations that take nearly all of the time of a report, in SQL. Aggregations of few rows are left out, because DuckDB needs only a
few ms for each of them.
"""


@attrs.frozen
class Cost:
    """What a command cost.

    Attributes:
        wall, cpu: the wall time, and the processor time of all its processes, in seconds.
        memory: the memory of the largest process in GB.
        out: what it wrote to stdout.
        jobs: the first and last moment of each of Spark's jobs, in seconds.
        stages: the number of tasks of each stage.
        executions: the number of SQL executions.
    """

    wall: float
    cpu: float
    memory: float
    out: str
    jobs: list[tuple[float, float]] = attrs.field(factory=list)
    stages: list[int] = attrs.field(factory=list)
    executions: int = 0

    def without_job(self) -> float:
        """Return the time in seconds in which no job of Spark was running."""
        busy = until = 0.0
        for start, end in sorted(self.jobs):
            busy += max(end - max(start, until), 0)
            until = max(until, end)
        return self.wall - busy


def write_session(path: Path, events: int, seed: int = 3) -> int:
    """Write a session with at least the given number of events, and return its number of events."""
    topics = (TopicSpec("orders", partitions=24), TopicSpec("log", partitions=12, replication_factor=2))
    spec = ClusterSpec(brokers=tuple(BrokerSpec(broker) for broker in range(1, 7)), topics=topics)
    release = Release.named("4.1")
    victims = itertools.cycle((2, 5, 1, 6, 3, 4))
    with LogWriter(path, make_header(spec, release, seed, None)) as log:
        cluster = Cluster(spec, release, seed=seed, sink=log)
        cluster.do(acts.Load("orders", rate=2000, every=SECOND // 50, producer="safe"))
        cluster.do(acts.Load("log", rate=1000, every=SECOND // 50, acks="1", producer="fast"))
        minute = 0
        while cluster.journal.seq < events:
            victim = next(victims)
            for second, act in ((20, acts.Kill(victim)), (50, acts.Start(victim)), (60, None)):
                cluster.run_until((minute * 60 + second) * SECOND)
                if act is not None:
                    cluster.do(act)
            minute += 1
        log.close(cluster.now)
    return cluster.journal.seq


def duckdb_report(dataset: str) -> None:
    """Compute the aggregations with DuckDB, and print them as JSON on stdout."""
    import duckdb

    db = duckdb.connect()
    db.execute(
        f"CREATE VIEW events AS SELECT * FROM read_parquet('{dataset}/*/*.parquet', hive_partitioning=false) WHERE kind NOT IN ('log-header', 'log-tail')"
    )
    db.execute(f"CREATE VIEW finish AS SELECT t AS end_us FROM read_parquet('{dataset}/*/*.parquet') WHERE kind = 'log-tail'")
    tables = {}
    for name, query in QUERIES.items():
        found = db.execute(query)
        columns = [column[0] for column in found.description]
        tables[name] = [dict(zip(columns, row, strict=True)) for row in found.fetchall()]
    json.dump(tables, sys.stdout)


def measured(*command: str, events: Path | None = None) -> Cost:
    """Run a command, and return what it cost. If `events` is given, it is the directory in which a report leaves Spark's event log."""
    wall = time.monotonic()
    process = subprocess.Popen(
        [sys.executable, *command, *_event_log(events)],
        cwd=ROOT,
        env=os.environ | {"PYTHONPATH": str(ROOT)},
        stdout=subprocess.PIPE,
        # A plain Spark says there that it starts.
        stderr=subprocess.DEVNULL if command[-1] == PLAIN else None,
        text=True,
    )
    assert process.stdout is not None
    out = process.stdout.read()
    _, status, usage = os.wait4(process.pid, 0)
    if status:
        raise SystemExit(f"{command} failed")
    wall, usages = time.monotonic() - wall, [usage]
    # Workers whose Java was killed are now children of this process.
    while True:
        try:
            usages.append(os.wait4(-1, 0)[2])
        except ChildProcessError:
            break
    cost = Cost(wall, sum(each.ru_utime + each.ru_stime for each in usages), max(each.ru_maxrss for each in usages) / 2**20, out)
    return cost if events is None else _with_events(cost, events)


def _event_log(directory: Path | None) -> list[str]:
    if directory is None:
        return []
    directory.mkdir(parents=True)
    settings = {"enabled": "true", "dir": directory.as_uri(), "compress": "false", "rolling.enabled": "false"}
    return [word for name, value in settings.items() for word in ("--conf", f"spark.eventLog.{name}={value}")]


def _with_events(cost: Cost, directory: Path) -> Cost:
    """Add what Spark's event log says. The log of a killed Java is complete except for its end."""
    starts, jobs, stages, executions = {}, [], [], 0
    with next(directory.iterdir()).open() as lines:
        for event in map(json.loads, lines):
            match event["Event"].rpartition(".")[2]:
                case "SparkListenerJobStart":
                    starts[event["Job ID"]] = event["Submission Time"] / 1000
                case "SparkListenerJobEnd":
                    jobs.append((starts[event["Job ID"]], event["Completion Time"] / 1000))
                case "SparkListenerStageCompleted":
                    stages.append(event["Stage Info"]["Number of Tasks"])
                case "SparkListenerSQLExecutionStart":
                    executions += 1
    return attrs.evolve(cost, jobs=jobs, stages=stages, executions=executions)


def least(costs: list[Cost]) -> Cost:
    """Return the least wall time, processor time, and memory of several rounds, with the jobs of the fastest round."""
    fastest = min(costs, key=lambda cost: cost.wall)
    return attrs.evolve(fastest, cpu=min(cost.cpu for cost in costs), memory=min(cost.memory for cost in costs))


def differing(report: dict[str, Any], other: dict[str, Any]) -> list[str]:
    """Return the names of the tables whose rows in `other` differ from those in the report. Only the columns of `other` are compared."""
    wrong = []
    for name, rows in other.items():
        ours = [{column: row[column] for column in rows[0]} for row in report["summaries"][name]] if rows else report["summaries"][name]
        if sorted(map(str, ours)) != sorted(map(str, rows)):
            wrong.append(name)
    return wrong


def sizes(text: str) -> tuple[int, int]:
    """Read `SESSIONSxEVENTS`, for example `1000x5000`."""
    sessions, _, events = text.rpartition("x")
    return int(sessions or 1), int(events)


def main() -> None:
    """Run the benchmark and print the tables."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--sessions", type=sizes, nargs="+", default=[(1, 100_000), (1, 1_000_000)], metavar="NxEVENTS")
    parser.add_argument("--masters", nargs="+", default=["local[2]"], metavar="MASTER")
    parser.add_argument("--rounds", type=int, default=ROUNDS)
    parser.add_argument("--duckdb", metavar="DATASET", help="run only the DuckDB part, on this dataset")
    arguments = parser.parse_args()
    if arguments.duckdb:
        duckdb_report(arguments.duckdb)
        return
    # What a killed Java leaves behind becomes a child of this process, so that its processor time can be measured.
    ctypes.CDLL(None).prctl(_PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)
    start = least([measured("-c", PLAIN) for _ in range(arguments.rounds)])
    ours = least([measured("-c", OURS) for _ in range(arguments.rounds)])
    print(f"{os.cpu_count()} cores, load {os.getloadavg()[0]:.1f}; least of {arguments.rounds}")
    show("Spark session, PySpark's own", start, start)
    show("Spark session, ours", ours, start)
    for sessions, events in arguments.sessions:
        bench(sessions, events, arguments.masters, arguments.rounds, start)


def bench(sessions: int, events: int, masters: list[str], rounds: int, start: Cost) -> None:
    """Measure reports on the given number of sessions, each with about the given number of events."""
    with tempfile.TemporaryDirectory(prefix="isrlab-bench-") as name:
        scratch = Path(name)
        logs, dataset = scratch / "logs", scratch / "parquet"
        logs.mkdir()
        count = sum(write_session(logs / f"{number:04d}.jsonl", events, seed=number + 3) for number in range(sessions))
        converted = measured("-m", "tui", "log", "convert", "-q", str(logs), "-o", str(dataset))
        size = sum(part.stat().st_size for part in dataset.rglob("*.parquet"))
        print(f"\n{sessions:,} sessions, {count:,} events, {size / 1e6:,.1f} MB of Parquet")
        show("convert to Parquet", converted, start)
        report = ("-m", "tui", "report", "-q")
        commands = {f"tables, {master}": (*report, "--json", str(dataset), "--master", master) for master in masters}
        commands |= {
            f"page, {master}": (*report, "--html", str(scratch / "page.html"), str(dataset), "--master", master) for master in masters
        }
        commands["tables from JSON Lines"] = (*report, "--json", str(logs), "--master", masters[0])
        found: dict[str, Cost] = {}
        for what, command in commands.items():
            costs = [measured(*command, events=scratch / "events" / f"{what}-{number}") for number in range(rounds)]
            found[what] = least(costs)
            show(what, found[what], start)
        query = measured("-c", DUCK, str(Path(__file__).resolve()), str(dataset))
        show("DuckDB, same aggregations", query, start)
        printed = [json.loads(cost.out) for what, cost in found.items() if cost.out]
        # The names of the files differ.
        if any(each["summaries"] | {"sessions": 0} != printed[0]["summaries"] | {"sessions": 0} for each in printed):
            print("the reports DIFFER")
        if sessions == 1:
            wrong = differing(printed[0], json.loads(query.out))
            print(f"DuckDB's numbers DIFFER in {', '.join(wrong)}" if wrong else f"the same numbers from DuckDB, in {len(QUERIES)} tables")


def show(what: str, cost: Cost, start: Cost) -> None:
    """Print a row of a table."""
    line = f"{what:<32} {cost.wall:>7.1f} s {cost.cpu:>7.1f} s CPU ({cost.cpu / start.cpu:>5.2f} of PySpark's start) {cost.memory:>5.2f} GB"
    if cost.jobs:
        single = cost.stages.count(1)
        line += f"  {cost.executions} executions, {len(cost.jobs)} jobs, {len(cost.stages)} stages ({single} of one task), {cost.without_job():.1f} s without a job"
    print(line, flush=True)


if __name__ == "__main__":
    main()

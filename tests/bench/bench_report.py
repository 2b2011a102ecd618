"""Measures the cost of a report on a large session: `make bench`, or `python tests/bench/bench_report.py --events 10000000`.

The benchmark writes a real session of the engine and converts it to Parquet. The session has six brokers and 36 partitions under load. Each
minute, a broker is killed and started again. Then, in the same run, the benchmark measures the following, and takes the minimum of several
rounds:

- the start and end of a Spark session with PySpark's defaults
- the start and end of a Spark session as `isrlab report` configures it
- `isrlab report` on the Parquet files, and on the JSON Lines file
- DuckDB with the same aggregations on the same Parquet files; its numbers must equal those of the report

The measurements are the wall time and the processor time of the started processes, and the memory of the largest process. The limits are 2.5
times the start of Spark plus 3 s, twice that for JSON Lines, and 4 GB. They use the start with PySpark's defaults and the same Java, because
this start shows only how fast the machine is. The benchmark also prints the limit that would follow from isrlab's own start.
"""

from __future__ import annotations

import argparse
import itertools
import json
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any, Final

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

PLAIN: Final = """
import os, sys, tempfile
from pathlib import Path
from spark_reports.spark.java import find_java, java_home
with tempfile.TemporaryDirectory() as scratch:
    # No time to ask for this machine's name.
    os.environ |= {"JAVA_HOME": str(java_home(find_java(), Path(scratch))), "SPARK_LOCAL_IP": "127.0.0.1"}
    from pyspark import SparkContext
    from pyspark.sql import SparkSession
    SparkSession.builder.master("local[*]").config("spark.ui.enabled", "false").getOrCreate().stop()
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


def write_session(path: Path, events: int) -> int:
    """Write a session with at least the given number of events, and return its number of events."""
    topics = (TopicSpec("orders", partitions=24), TopicSpec("log", partitions=12, replication_factor=2))
    spec = ClusterSpec(brokers=tuple(BrokerSpec(broker) for broker in range(1, 7)), topics=topics)
    release = Release.named("4.1")
    victims = itertools.cycle((2, 5, 1, 6, 3, 4))
    with LogWriter(path, make_header(spec, release, 3, None)) as log:
        cluster = Cluster(spec, release, seed=3, sink=log)
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


def measured(*command: str) -> tuple[float, float, float, str]:
    """Run a command. Return its wall seconds, its processor seconds, the memory of its largest process in GB, and its output."""
    wall = time.monotonic()
    process = subprocess.Popen(
        [sys.executable, *command],
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
    return time.monotonic() - wall, usage.ru_utime + usage.ru_stime, usage.ru_maxrss / 2**20, out


def differing(report: dict[str, Any], other: dict[str, Any]) -> list[str]:
    """Return the names of the tables whose rows in `other` differ from those in the report. Only the columns of `other` are compared."""
    wrong = []
    for name, rows in other.items():
        ours = [{column: row[column] for column in rows[0]} for row in report["summaries"][name]] if rows else report["summaries"][name]
        if sorted(map(str, ours)) != sorted(map(str, rows)):
            wrong.append(name)
    return wrong


def main() -> None:
    """Run the benchmark and print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--events", type=int, default=1_000_000)
    parser.add_argument("--rounds", type=int, default=ROUNDS)
    parser.add_argument("--duckdb", metavar="DATASET", help="run only the DuckDB part, on this dataset")
    arguments = parser.parse_args()
    if arguments.duckdb:
        duckdb_report(arguments.duckdb)
        return
    with tempfile.TemporaryDirectory(prefix="isrlab-bench-") as scratch:
        log, dataset = Path(scratch) / "session.jsonl", Path(scratch) / "parquet"
        events = write_session(log, arguments.events)
        rows = [("convert to Parquet", *measured("-m", "tui", "log", "convert", "-q", str(log), "-o", str(dataset))[:3])]
        size = sum(part.stat().st_size for part in dataset.rglob("*.parquet"))
        commands = (
            ("Spark session, PySpark's own", ("-c", PLAIN)),
            ("Spark session, ours", ("-c", OURS)),
            ("report from Parquet", ("-m", "tui", "report", "-q", "--json", str(dataset))),
            ("report from JSON Lines", ("-m", "tui", "report", "-q", "--json", str(log))),
            ("DuckDB, same aggregations", ("-c", DUCK, str(Path(__file__).resolve()), str(dataset))),
        )
        runs = [[measured(*command) for _, command in commands] for _ in range(arguments.rounds)]
    best = [tuple(map(min, zip(*(taken[:3] for taken in of_one), strict=True))) for of_one in zip(*runs, strict=True)]
    rows += [(name, *least) for (name, _), least in zip(commands, best, strict=True)]
    printed, printed_too, answered = (taken[3] for taken in runs[0][2:])
    wrong = differing(json.loads(printed), json.loads(answered))
    same = json.loads(printed)["summaries"] | {"sessions": 0} == json.loads(printed_too)["summaries"] | {"sessions": 0}
    plain, ours = (2.5 * start[0] + 3 for start in best[:2])
    limits = {"report from Parquet": plain, "report from JSON Lines": 2 * plain}
    print(
        f"a session of {events:,} events: {size / 1e6:,.1f} MB of Parquet; {os.cpu_count()} cores, load {os.getloadavg()[0]:.1f}; least of {arguments.rounds}"
    )
    print(f"{'':<30} {'wall':>9} {'processor':>10} {'memory':>8} {'of PySpark start':>17} {'of ours':>9} {'limit':>9}")
    for name, wall, cpu, memory in rows:
        bound = f"{limits[name]:>8.1f}s" if name in limits else ""
        print(f"{name:<30} {wall:>8.1f}s {cpu:>9.1f}s {memory:>6.2f}GB {wall / best[0][0]:>16.2f}x {wall / best[1][0]:>8.2f}x {bound:>9}")
    print(
        f"with isrlab's own start, the limit for Parquet would be {ours:.1f} s: the report takes {best[2][0] / ours:.2f} of that, and {best[2][0] / plain:.2f} of the real limit"
    )
    print("the same numbers from Parquet and JSON Lines" if same else "Parquet and JSON Lines DIFFER")
    print(f"DuckDB's numbers DIFFER in {', '.join(wrong)}" if wrong else f"and from DuckDB, in {len(QUERIES)} tables")


if __name__ == "__main__":
    main()

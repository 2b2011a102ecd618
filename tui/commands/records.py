"""The commands about records, for any moment of a log or scenario: `isrlab audit`, which counts them by tier and by the time at which they were
produced, and `isrlab trace`, which prints the history of one."""

from __future__ import annotations

import argparse
from typing import Any

from scenarios.io.standard_streams import print_json, print_lines
from tui.arguments.options import add_run_options, release_of, seed_of, time_of
from tui.arguments.sources import looks_like_log
from tui.exit_codes import FAILED, HELD


def add_commands(commands: Any) -> None:
    """Add the commands `audit` and `trace`."""
    audit = commands.add_parser(
        "audit",
        help="count the records that were produced, acknowledged, stored, and read, by time; exit with 1 if any record is lost, or skipped by a consumer",
    )
    audit.add_argument("source", metavar="LOG|SCENARIO", help="an event log or a scenario")
    audit.add_argument("--at", metavar="TIME", help="the virtual time, for example 12s; by default, the end")
    audit.add_argument("--bucket", metavar="TIME", default="60s", help="the length of a bucket; by default, 60s")
    audit.add_argument("--lateness", metavar="TIME", help="how long after its end a bucket stays open; by default, one bucket")
    add_run_options(audit)
    audit.add_argument("--json", action="store_true", help="print everything as one JSON document")
    audit.set_defaults(command=_audit)

    trace = commands.add_parser(
        "trace", help="print the history of a record: its producer, batch, replicas, commit, acknowledgment, and reads"
    )
    trace.add_argument("source", metavar="LOG|SCENARIO", help="an event log or a scenario")
    trace.add_argument("--record", metavar="P@OFFSET", required=True, help="the record, for example orders-0@137")
    trace.add_argument("--at", metavar="TIME", help="the virtual time at which the trace ends, for example 12s; by default, the end")
    add_run_options(trace)
    trace.add_argument("--json", action="store_true", help="print everything as one JSON document")
    trace.set_defaults(command=_trace)


def _audit(arguments: argparse.Namespace) -> int:
    from core.lab.audit.audit_report import audit_report
    from core.lab.audit.message_audit import MessageAudit
    from scenarios.errors import InputError
    from scenarios.exports.audit import audit_data, audit_lines
    from scenarios.exports.observed_session import observe_session

    bucket, lateness = time_of(arguments.bucket, "--bucket"), time_of(arguments.lateness, "--lateness")
    if not bucket:
        raise InputError("--bucket: a bucket must be longer than 0; write, for example, 60s")
    log = looks_like_log(arguments.source)
    if log and (arguments.release is not None or arguments.seed is not None):
        raise InputError("--release and --seed: a log always has its own release and seed; omit these options")
    audit = MessageAudit(bucket, lateness)
    observe_session(
        arguments.source, time_of(arguments.at), audit, log=log, release=release_of(arguments.release), seed=seed_of(arguments.seed)
    )
    report = audit_report(audit)
    if arguments.json:
        import json

        print_json(json.dumps(audit_data(report), indent=2) + "\n")
    else:
        print_lines(audit_lines(report))
    return FAILED if report.lost or report.skipped else HELD


def _trace(arguments: argparse.Namespace) -> int:
    from core.lab.trace.record_trace import RecordTrace
    from scenarios.errors import InputError
    from scenarios.exports.observed_session import observe_session
    from scenarios.exports.trace import check_trace, parse_record, trace_data, trace_lines

    trace = RecordTrace(*parse_record(arguments.record))
    log = looks_like_log(arguments.source)
    if log and (arguments.release is not None or arguments.seed is not None):
        raise InputError("--release and --seed: a log always has its own release and seed; omit these options")
    cluster = observe_session(
        arguments.source, time_of(arguments.at), trace, log=log, release=release_of(arguments.release), seed=seed_of(arguments.seed)
    )
    check_trace(trace, {str(each.tp): each for each in cluster.view().partitions})
    if arguments.json:
        import json

        print_json(json.dumps(trace_data(trace), indent=2) + "\n")
    else:
        print_lines("".join(line) for line in trace_lines(trace))
    return HELD

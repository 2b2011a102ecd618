"""The commands about records, for any moment of a log or scenario: `isrlab audit`, which counts them by tier and by the time at which they were
produced, `isrlab trace`, which prints the history of one, and `isrlab segments`, which looks one up in the segment files of a replica."""

from __future__ import annotations

import argparse
from typing import Any

from scenarios.io.standard_streams import print_json, print_lines, print_messages
from tui.arguments.options import add_run_options, release_of, seed_of, time_of
from tui.arguments.sources import looks_like_log
from tui.exit_codes import FAILED, HELD


def add_commands(commands: Any) -> None:
    """Add the commands `audit`, `trace`, and `segments`."""
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

    segments = commands.add_parser(
        "segments", help="print the segment files and index entries of a replica, and look up an offset or a time step by step"
    )
    segments.add_argument("source", metavar="LOG|SCENARIO", help="an event log or a scenario")
    segments.add_argument("--partition", metavar="P", required=True, help="the partition, for example orders-0")
    segments.add_argument("--broker", metavar="N", help="the broker of the replica; by default, the leader")
    segments.add_argument("--at", metavar="TIME", help="the virtual time, for example 12s; by default, the end")
    segments.add_argument("--release", metavar="R", help="the Kafka release to run a scenario with")
    show = segments.add_mutually_exclusive_group()
    show.add_argument("--offset", metavar="N", help="look up this offset, as a fetch does; exit with 1 if it is out of range")
    show.add_argument(
        "--time",
        metavar="TIME",
        help="look up the first record at or after this virtual time, as ListOffsets does; exit with 1 if there is none",
    )
    show.add_argument("--entries", action="store_true", help="print all index entries")
    show.add_argument("--dump", metavar="FILE", help="print a file as kafka-dump-log does, for example 00000000000000000000.timeindex")
    segments.add_argument("--max-bytes", metavar="N", help="with --offset: the maximum number of bytes to fetch; by default, 1048576")
    segments.add_argument("--deep-iteration", action="store_true", help="with --dump: print the records of batches, too")
    segments.add_argument("--json", action="store_true", help="print everything as one JSON document")
    segments.set_defaults(command=_segments)


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


def _segments(arguments: argparse.Namespace) -> int:
    from core.kafka import errors
    from core.kafka.log.lookup import MAX_BYTES
    from core.kafka.log.segment_files import segment_files
    from core.lab.reports.segment_report import report_of_log
    from core.sim.units import US_PER_MS
    from scenarios.errors import InputError
    from scenarios.exports import dump_log, segments
    from scenarios.exports.cluster_at import cluster_at

    offset, broker, max_bytes = (_number(name, getattr(arguments, name)) for name in ("offset", "broker", "max_bytes"))
    if max_bytes is not None and offset is None:
        raise InputError("--max-bytes needs --offset")
    if arguments.deep_iteration and arguments.dump is None:
        raise InputError("--deep-iteration needs --dump")
    if arguments.json and arguments.dump is not None:
        raise InputError("--dump cannot be combined with --json")
    time = time_of(arguments.time, "--time")
    if time is not None and time % US_PER_MS:
        raise InputError(f"--time: '{arguments.time}' has a fraction of a millisecond, which timestamps do not have")
    at, release, is_log = time_of(arguments.at), release_of(arguments.release), looks_like_log(arguments.source)
    if release is not None and is_log:
        raise InputError(f"--release: {arguments.source} is an event log, which has its own release")
    tp, number, log = segments.replica_of(cluster_at(arguments.source, at, log=is_log, release=release), arguments.partition, broker)
    files = segment_files(log)
    if arguments.dump is not None:
        print_lines(dump_log.dump_lines(log, files, arguments.dump, deep=arguments.deep_iteration))
        print_messages(dump_log.OMITTED)
        return HELD
    report = report_of_log(
        tp,
        number,
        log,
        offset=offset,
        timestamp=None if time is None else time // US_PER_MS,
        max_bytes=MAX_BYTES if max_bytes is None else max_bytes,
    )
    lookup = report.lookup
    if arguments.json:
        import json

        print_json(json.dumps(segments.as_data(report, files), indent=2) + "\n")
    else:
        print_lines([*segments.heading(report), ""])
        print_lines(segments.file_lines(report))
        if arguments.entries:
            print_lines(["", *segments.entry_lines(files)])
        if lookup is not None:
            print_lines(["", *segments.lookup_lines(lookup)])
        print_messages(*segments.NOTES)
    failed = lookup is not None and (lookup.error != errors.NONE or (time is not None and lookup.batch is None))
    return FAILED if failed else HELD


def _number(option: str, text: str | None) -> int | None:
    """Parse the value of an option that takes a number."""
    from scenarios.errors import InputError

    if text is None:
        return None
    if not (text.isascii() and text.isdecimal()) or len(text) > 18:
        raise InputError(f"--{option.replace('_', '-')}: '{text[:40]}' is not a whole number; write, for example, 0")
    return int(text)

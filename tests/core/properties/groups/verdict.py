"""Compares the accounts and the audit at rest with the notebook, which counts single records. It also checks properties that must always
hold.
"""

from __future__ import annotations

from collections import Counter
from typing import Any, Final

from core.kafka.applications.processes.process import Process
from core.kafka.applications.services.delay_worker import DelayWorker
from core.kafka.applications.services.retry_worker import RetryWorker
from core.kafka.ids import TopicPartition
from core.kafka.log.replica_log import ReplicaLog
from core.lab.accounts.consumption_account import Consumption
from core.lab.accounts.processing_account import Processing
from core.lab.audit.audit_report import audit_report
from core.lab.audit.message_audit import group_tier
from core.lab.cluster import Cluster
from core.lab.views import process_views, service_views
from tests.core.properties.groups.notebook import Notebook, committed_records, originals, outputs, records_in
from tests.core.properties.groups.timeline import CONSUMED, GROUP, JOBS, GroupTimeline

Findings = dict[str, Any]
"""The differences by name, each with both values."""

STUCK: Final = "stuck"
"""The name of the finding that something does not come to rest."""

NOTHING: Final = Consumption(*[0] * len(Consumption._fields))
"""The account of a partition that the group never touched."""

Logs = dict[TopicPartition, ReplicaLog]


def differences(cluster: Cluster, notebook: Notebook, timeline: GroupTimeline) -> Findings:
    """Return all differences between the accounts and the notebook."""
    found: Findings = {}
    logs: Logs = dict(cluster.account.leader_logs())

    def compare(name: str, account: object, own: object) -> None:
        if account != own:
            found[name] = {"account": account, "own": own}

    _group(cluster, notebook, logs, compare)
    _losses(cluster, notebook, logs, compare)
    for client in cluster.clients.values():
        if isinstance(client, Process):
            _forwarder(cluster, notebook, logs, process_views.processing_of(client), compare)
        elif isinstance(client, DelayWorker):
            _forwarder(cluster, notebook, logs, service_views.processing_of(client), compare)
    # A record that was acknowledged in the next topic and then lost in an unclean election counts as lost, not as dropped. Its offset can have
    # another original record by now.
    if not notebook.kinds["records-lost"]:
        _retries(cluster, notebook, logs, compare)
    if not timeline.unclean:
        _promises(cluster, notebook, timeline, logs, compare)
    return found


def _group(cluster: Cluster, notebook: Notebook, logs: Logs, compare: Any) -> None:
    """Compare the re-read and skipped records of the group, in the account and in the audit."""
    counts = cluster.account.consumption_counts(GROUP)
    report = audit_report(notebook)
    tiers = {row.topic: row for row in report.tier_totals() if row.tier == group_tier(GROUP)}
    for topic, partitions in CONSUMED.items():
        stored = {each.record for tp, log in logs.items() if tp.topic == topic for each in records_in(log)}
        skipped_records = len(notebook.acknowledged[topic] - stored - notebook.processed[GROUP, topic].keys())
        for number in range(partitions):
            tp = TopicPartition(topic, number)
            times, bound = notebook.places[GROUP, tp], notebook.bounds[GROUP, tp]
            own_skipped = [each for each in committed_records(logs[tp]) if each.offset < bound and (each.epoch, each.offset) not in times]
            skipped_records += sum(not notebook.processed[GROUP, topic][each.record] for each in own_skipped)
            # A retry can have appended a record a second time, so what a truncation took is counted by its place.
            truncated = notebook.appended[tp] - {(each.epoch, each.offset) for each in records_in(logs[tp])} - times.keys()
            own = (
                len(times),
                sum(count > 1 for count in times.values()),
                sum(count - 1 for count in times.values()),
                len(own_skipped) + len(truncated),
                notebook.disorder[GROUP, tp],
            )
            count = counts.get(tp, NOTHING)
            compare(
                f"account of {tp}: processed, again, repeats, skipped, out of order",
                (count.processed, count.again, count.repeats, count.skipped, count.out_of_order),
                own,
            )
        processed = notebook.processed[GROUP, topic]
        if topic in tiers:
            row = tiers[topic]
            compare(f"audit of {topic}: processed", row.records, len(processed))
            compare(f"audit of {topic}: repeated", row.duplicated, sum(count - 1 for count in processed.values()))
            compare(f"audit of {topic}: skipped", row.skipped, skipped_records)
        else:
            compare(f"audit of {topic}: processed", 0, len(processed))


def _losses(cluster: Cluster, notebook: Notebook, logs: Logs, compare: Any) -> None:
    """Compare the lost and duplicated records of the topics that members consume."""
    report = audit_report(notebook)
    totals = {row.topic: row for row in report.totals()}
    for topic in CONSUMED:
        stored = Counter(each.record for tp, log in logs.items() if tp.topic == topic for each in records_in(log))
        row = totals.get(topic)
        if row is None:
            continue
        compare(f"audit of {topic}: lost", row.lost, len(notebook.acknowledged[topic] - stored.keys()))
        compare(f"audit of {topic}: copies", row.duplicated, sum(count - 1 for count in stored.values()))
    compare("audit and durability account name the same lost records", report.account.equal, True)


def _forwarder(cluster: Cluster, notebook: Notebook, logs: Logs, processing: Processing, compare: Any) -> None:
    """Compare the input records of a process or a delay worker whose output exists twice, in part, or not at all."""
    counts = cluster.account.processing.counts(processing, logs, cluster.clients.records_in_hand(processing.group))
    found: Counter[Any] = Counter()
    undecided: set[Any] = set()
    for tp, log in logs.items():
        if tp.topic == processing.output:
            visible, later = outputs(log, processing.group)
            found.update(visible)
            undecided |= later
    waiting = {
        (each.tp, offset) for each in cluster.clients.records_in_hand(processing.group) for offset in range(each.start, each.end)
    } | undecided
    twice = {place for (place, _), count in found.items() if count > 1 and place[0].topic == processing.source}
    present = {
        (tp, each.offset)
        for tp, log in logs.items()
        if tp.topic == processing.source
        for each in committed_records(log)
        if each.offset < log.last_stable_offset()
    }
    some = {place for (place, _) in found if place[0].topic == processing.source}
    complete = {place for place in some if all((place, number) in found for number in range(processing.copies))}
    never = {(tp, offset) for tp, offset in present - some - waiting if offset < notebook.commits.get((processing.group, tp), 0)}
    own = (len(present), len(complete & present), len(twice), len(some - complete - waiting), len(never))
    compare(f"account of {processing.group} in {processing.source}: input, processed, twice, half, never", tuple(counts), own)


def _retries(cluster: Cluster, notebook: Notebook, logs: Logs, compare: Any) -> None:
    """Compare the records that the retry service processed successfully twice, dead-lettered, or dropped."""
    workers = [client for client in cluster.clients.values() if isinstance(client, RetryWorker)]
    if not workers:
        return
    view = next(view for view in cluster.view().retries if view.name == workers[0].does.service)
    moved = {tp: originals(log) for tp, log in logs.items()}
    succeeded: Counter[Any] = Counter()
    for (tp, offset), count in notebook.succeeded.items():
        place = (tp, offset) if tp.topic == JOBS else moved[tp].get(offset, ((tp, offset), None))[0]
        succeeded[place] += count
    own = (
        len(succeeded),
        sum(count - 1 for count in succeeded.values()),
        len(notebook.dead),
        sum(count - 1 for count in notebook.dead.values()),
    )
    compare("retry service: succeeded, again, dead, again", (view.succeeded, view.succeeded_twice, view.dead, view.dead_twice), own)
    passed = {before for places in moved.values() for _, before in places.values()}
    dropped = 0
    for worker in {worker.does.source: worker for worker in workers}.values():
        in_hand = cluster.clients.records_in_hand(worker.does.group)
        waiting = {(each.tp, offset) for each in in_hand for offset in range(each.start, each.end)}
        for tp, log in logs.items():
            if tp.topic == worker.does.source:
                bound = notebook.commits.get((worker.does.group, tp), 0)
                places = {(tp, each.offset) for each in committed_records(log) if each.offset < min(bound, log.last_stable_offset())}
                dropped += len(places - passed - waiting - notebook.succeeded.keys())
    compare("retry service: dropped", view.dropped, dropped)


def _promises(cluster: Cluster, notebook: Notebook, timeline: GroupTimeline, logs: Logs, compare: Any) -> None:
    """Check what must hold without unclean elections: no record that was acknowledged with acks=all is lost, and at-least-once groups skip
    nothing.
    """
    totals = {row.topic: row for row in audit_report(notebook).totals()}
    compare("lost in t", totals["t"].lost if "t" in totals else 0, 0)
    commit = timeline.members.commit
    for number in range(CONSUMED["t"]):
        tp = TopicPartition("t", number)
        if commit != "before":
            missing = [each.offset for each in committed_records(logs[tp]) if (each.epoch, each.offset) not in notebook.places[GROUP, tp]]
            compare(f"never processed in {tp}", missing[:5], [])
        # Only automatic commits are repeated at rest. A commit that a rebalance has refused is not.
        committed, end = notebook.commits.get((GROUP, tp), 0), logs[tp].high_watermark
        compare(f"committed offset of {tp}", committed if commit == "auto" else min(committed, end), end if commit == "auto" else committed)

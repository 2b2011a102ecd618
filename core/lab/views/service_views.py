"""Functions that build the views of services."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from core.kafka.applications.processes.process import Process
from core.kafka.applications.services.delay_worker import DelayWorker
from core.kafka.applications.services.retry_worker import RetryWorker
from core.kafka.applications.services.service_worker import ServiceWorker
from core.kafka.clients.consumer.group_consumer import PolledRecords
from core.kafka.ids import TopicPartition
from core.kafka.log.offset_set import OffsetSet
from core.lab.accounts.processed_logs import dead_letters
from core.lab.accounts.processing_account import Counts, Harm, Processing
from core.lab.accounts.service_account import mean, percentile
from core.lab.cluster_nodes import ClusterNodes
from core.lab.views import process_views
from core.lab.views.service_view import RetryView, ServiceView

_PERCENTS = {"p50": 50, "p95": 95, "p99": 99, "max": 100}


def service_views(cluster: ClusterNodes) -> tuple[ServiceView, ...]:
    """For each delay service, return a view of the whole service, followed by a view of each of its workers."""
    services: dict[str, list[DelayWorker]] = {}
    for client in cluster.clients.values():
        if isinstance(client, DelayWorker):
            services.setdefault(client.does.service, []).append(client)
    return tuple(
        view
        for service, workers in services.items()
        for view in (_view(cluster, service, workers), *(_view(cluster, worker.name, [worker]) for worker in workers))
    )


def processing_of(worker: DelayWorker) -> Processing:
    """Return what the processing account needs to know about a worker."""
    return Processing(worker.does.group, worker.does.source, worker.does.target, 1, worker.does.chained_topics)


def _sharing(cluster: ClusterNodes, worker: ServiceWorker) -> list[ServiceWorker]:
    """Return the workers of a worker's service that are in the same group and read the same topic."""
    does = worker.does
    return [each for each in cluster.clients.workers(does.service) if (each.does.group, each.does.source) == (does.group, does.source)]


def _is_running(worker: ServiceWorker) -> bool:
    return worker.running


def _in_hand(workers: Iterable[ServiceWorker]) -> tuple[PolledRecords, ...]:
    return tuple(records for worker in workers for records in worker.in_hand())


def _view(cluster: ClusterNodes, name: str, workers: Sequence[DelayWorker]) -> ServiceView:
    account, now = cluster.account, cluster.now
    logs = account.leader_logs()
    running = [worker for worker in workers if worker.running]
    sharing = {processing_of(worker): _sharing(cluster, worker) for worker in workers}
    counts = [account.processing.counts(each, logs, _in_hand(filter(_is_running, them))) for each, them in sharing.items()]
    total = Counts(*map(sum, zip(*counts, strict=True)))
    letters = [
        dead_letters([log for tp, log in logs.items() if tp.topic == does.dead_letters], does.source, does.group)
        for does in {processing_of(worker): worker.does for worker in workers}.values()
        if does.dead_letters
    ]
    times = [account.services.of(worker.name) for worker in workers]
    samples = [sample for each in times for sample in each.samples]
    lateness = [(forwarded.lateness, count) for count, forwarded in samples]
    held = [records for worker in running for records in worker.open_records()]
    return ServiceView(
        name=name,
        source=workers[0].does.source if name == workers[0].name else "",
        target=workers[0].does.target,
        running=bool(running),
        held=sum(records.size for records in held),
        overdue=sum(records.size for records in held if records.due <= now),
        paused=sum(len(worker.consumer.paused) for worker in running),
        read=total.input,
        forwarded=sum(account.processing.finished(each, logs) for each in sharing),
        forwarded_twice=total.twice,
        never_forwarded=total.never,
        dead=sum(dead for dead, _ in letters),
        dead_twice=sum(again for _, again in letters),
        expired=sum(account.processing.expired(each, logs, _in_hand(them)) for each, them in sharing.items()),
        too_early=sum(count for late, count in lateness if late < 0),
        too_soon=sum(count for count, forwarded in samples if forwarded.total_error < 0),
        inversions=sum(each.inversions for each in times),
        lateness=_statistics(lateness),
        rounding=_statistics([(forwarded.rounding, count) for count, forwarded in samples]),
        total_error=_statistics([(forwarded.total_error, count) for count, forwarded in samples]),
    )


def _statistics(samples: list[tuple[int, int]]) -> dict[str, int]:
    """Return the mean and the percentiles of samples (value, number of records); empty if there are no samples."""
    found = {name: percentile(samples, percent) for name, percent in _PERCENTS.items()} | {"mean": mean(samples)}
    return {name: value for name, value in found.items() if value is not None}


def processing_harms(cluster: ClusterNodes) -> Iterator[tuple[str, tuple[Harm, ...]]]:
    """For each process and each level of a delay service, yield its name and the harm to its input records (`ProcessingAccount.harms`).
    Processes of one group appear once."""
    account = cluster.account
    logs = account.leader_logs()
    known: dict[Processing, None] = {}
    for name, client in cluster.clients.items():
        if isinstance(client, Process):
            processing, reader, in_hand = (
                process_views.processing_of(client),
                f"process {name}",
                cluster.clients.records_in_hand(client.does.group),
            )
        elif isinstance(client, DelayWorker):
            processing, reader = processing_of(client), f"service {client.does.service}"
            in_hand = _in_hand(filter(_is_running, _sharing(cluster, client)))
        else:
            continue
        if processing not in known:
            known[processing] = None
            yield reader, account.processing.harms(processing, logs, in_hand)


def expired_records(cluster: ClusterNodes) -> Iterator[tuple[str, TopicPartition, OffsetSet]]:
    """For each level of a delay service, yield the offsets of the records that were deleted before the service forwarded them."""
    account = cluster.account
    logs = account.leader_logs()
    levels = {processing_of(each): each for each in cluster.clients.values() if isinstance(each, DelayWorker)}
    for processing, worker in levels.items():
        found = account.processing.expired_offsets(processing, logs, _in_hand(_sharing(cluster, worker)))
        for tp, offsets in found.items():
            yield worker.does.service, tp, offsets


def retry_drops(cluster: ClusterNodes) -> Iterator[tuple[str, TopicPartition, list[tuple[int, int, int]]]]:
    """For each retry service and each partition that its workers read, yield the dropped records (`RetryAccount.drops`)."""
    account = cluster.account
    logs = account.leader_logs()
    workers = {
        (each.does.service, each.does.group, each.does.source): each for each in cluster.clients.values() if isinstance(each, RetryWorker)
    }
    for (service, group, source), worker in workers.items():
        in_hand = _in_hand(filter(_is_running, _sharing(cluster, worker)))
        for (owner, tp), commits in account.processing.commits.items():
            if owner == group and tp.topic == source and tp in logs:
                yield service, tp, account.retries.drops(service, tp, commits, logs, account.processing.visible(tp, logs[tp]), in_hand)


def retry_views(cluster: ClusterNodes) -> tuple[RetryView, ...]:
    """Return the views of all retry services."""
    services: dict[str, list[RetryWorker]] = {}
    for client in cluster.clients.values():
        if isinstance(client, RetryWorker):
            services.setdefault(client.does.service, []).append(client)
    return tuple(_retry_view(cluster, service, workers) for service, workers in services.items())


def _retry_view(cluster: ClusterNodes, service: str, workers: Sequence[RetryWorker]) -> RetryView:
    account = cluster.account
    found = account.retries.of(service)
    running = [worker for worker in workers if worker.running]
    dropped = sum(end - start for name, _, drops in retry_drops(cluster) if name == service for start, end, _ in drops)
    return RetryView(
        name=service,
        topic=workers[0].does.source,
        running=bool(running),
        waiting=sum(each.end - each.start for worker in running for each in worker.in_hand()),
        tried=dict(found.tried),
        failed=dict(found.failed),
        succeeded=sum(offsets.count() for offsets in found.succeeded.values()),
        dead=sum(offsets.count() for offsets in found.dead.values()),
        skipped=sum(offsets.count() for offsets in found.skipped.values()),
        succeeded_twice=found.succeeded_twice,
        dead_twice=found.dead_twice,
        dropped=dropped,
        inversions=found.inversions,
        recovery=_statistics(list(found.recoveries)),
    )

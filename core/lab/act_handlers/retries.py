"""Acts on retry services."""

from __future__ import annotations

import itertools
from typing import Final

from core.kafka.applications.services.retry_topics import chain, retry_worker
from core.kafka.applications.services.retry_worker import MILLION, FailureRule, RetryConfig, RetryWorker
from core.kafka.applications.services.service_config import DueFrom, ServiceCommit, WorkerConfig
from core.lab import acts
from core.lab.act_handlers import find
from core.lab.act_handlers.services import check_service, shared, start_service
from core.lab.cluster_nodes import ClusterNodes
from core.sim.errors import ActRefused
from core.sim.units import parse_duration


def _check(cluster: ClusterNodes, act: acts.StartRetryService) -> tuple[int, ...]:
    """Check the act, and return its delays, in µs.

    Raises:
        ActRefused: a word or number in the act is invalid, or the release has no transactions.
    """
    find.topic(cluster, act.topic)
    try:
        delays = tuple(parse_duration(delay) for delay in act.delays)
    except ValueError as wrong:
        raise ActRefused(str(wrong)) from None
    if act.names not in ("delay", "index"):
        raise ActRefused(f"names must be delay or index, not {act.names}")
    if act.bound < 1 or act.commit_every < 1:
        raise ActRefused("bound and commit-every must be at least 1")
    if not act.dead_letters and not act.blocking:
        raise ActRefused("only a blocking service can work without dead letters; add 'blocking: true'")
    if act.dlt_strategy not in (None, "always-retry", "fail"):
        raise ActRefused(f"dlt-strategy must be always-retry or fail, not {act.dlt_strategy}")
    if act.dlt_strategy is not None and not act.dead_letters:
        raise ActRefused("a service without dead letters has no dead-letter topic to read; omit dlt-strategy")
    if act.count_tries not in ("after", "before"):
        raise ActRefused(f"count-tries must be after or before, not {act.count_tries}")
    if act.count_tries == "before" and (act.blocking or act.commit != ServiceCommit.DONE):
        raise ActRefused("a service with 'count-tries: before' must have retry topics and 'commit: done'")
    check_service(cluster, act, "is done with")
    return delays


def _configs(cluster: ClusterNodes, act: acts.StartRetryService, delays: tuple[int, ...]) -> list[tuple[str, WorkerConfig, RetryConfig]]:
    """Return the name and the configuration of each worker."""
    topics = chain(act.topic, () if act.blocking else delays, by_index=act.names == "index")
    found = []
    for number, (source, target) in enumerate(itertools.pairwise(topics)):
        name = retry_worker(act.service, source)
        group = act.service + source.removeprefix(act.topic)
        does = WorkerConfig(
            act.service, source, target, group, delays[number - 1] if number else 0, act.bound, act.bound, act.commit_every,
            ServiceCommit(act.commit), name if act.transactional else "", False, False, DueFrom.TIMESTAMP, 0, str(act.reset),
        )  # fmt: skip
        starts = len(delays) + 1 - number if act.count_tries == "before" else 0
        retries = RetryConfig(number + 1, delays if act.blocking else (), target == topics[-1], not act.dead_letters, starts, topics[-1])
        found += [(worker, config, retries) for worker, config in shared(cluster, name, does, act)]
    if act.dlt_strategy is not None:
        topic = topics[-1]
        name = retry_worker(act.service, topic)
        group = act.service + topic.removeprefix(act.topic)
        handler = found[0][1]._replace(
            source=topic, target=topic, group=group, transactional_id=name if act.transactional else "", membership=None
        )
        plan = RetryConfig(len(delays) + 2, (), True, act.dlt_strategy == "fail", 0, topic, True)
        found += [(worker, config, plan) for worker, config in shared(cluster, name, handler, act)]
    return found


def _start(cluster: ClusterNodes, act: acts.StartRetryService) -> find.CheckThenDo:
    configs = _configs(cluster, act, _check(cluster, act))
    plans = {name: retries for name, _, retries in configs}
    topics = list(dict.fromkeys(does.target for _, does, _ in configs))

    def worker(name: str, does: WorkerConfig, instance: int) -> RetryWorker:
        started = RetryWorker(name, does, plans[name], instance, cluster.release, cluster.clients.context())
        former = cluster.clients.get(name)
        if isinstance(former, RetryWorker):
            started.rule = former.rule
        return started

    yield from start_service(cluster, act, [(name, does) for name, does, _ in configs], topics, worker)


def _fail(cluster: ClusterNodes, act: acts.FailProcessing) -> find.CheckThenDo:
    workers = [worker for worker in cluster.clients.workers(act.service) if isinstance(worker, RetryWorker)]
    if not workers:
        raise ActRefused(f"there is no retry service {act.service}; start one with retry-service")
    if not 0 <= act.share_ppm <= MILLION or act.tries < 0:
        raise ActRefused("the share must be from 0% to 100%, and tries must be at least 0")
    yield
    until = -1 if act.lasting is None else cluster.now + act.lasting
    for worker in workers:
        worker.rule = FailureRule(act.share_ppm, act.tries, until, act.kills, act.reason)


HANDLERS: Final[find.Handlers] = {acts.StartRetryService: _start, acts.FailProcessing: _fail}

"""Acts that start delay services, produce delayed records, and stop or kill services."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Final

from core.kafka.admin_requests import CreateTopic
from core.kafka.applications.services.delay_levels import level_for, level_topic, level_us, producer_name, worker_name
from core.kafka.applications.services.delay_producer import DelayProducer
from core.kafka.applications.services.delay_worker import DelayWorker
from core.kafka.applications.services.service_config import DueFrom, ServiceCommit, ServiceStep, WorkerConfig, instance_names
from core.kafka.applications.services.service_worker import ServiceWorker
from core.kafka.clients.client_config import ClientConfig
from core.kafka.clients.client_settings import PRODUCER
from core.kafka.topic_spec import TopicSpec
from core.lab import acts
from core.lab.act_handlers import find
from core.lab.act_handlers.clients import check_acks, check_client, config_of
from core.lab.act_handlers.internal_topics import check_offsets_topic, check_transaction_state_topic
from core.lab.act_handlers.memberships import check_membership, check_no_membership, worker_membership
from core.lab.act_settings import settings_of
from core.lab.acts.applications import StartService
from core.lab.cluster_nodes import ClusterNodes
from core.sim.errors import ActRefused

MAX_INSTANCES: Final = 100
"""The maximum number of instances of a service."""


def _delay_configs(cluster: ClusterNodes, act: acts.StartDelayService) -> tuple[tuple[str, WorkerConfig], ...]:
    """Return the name and the configuration of each worker.

    Raises:
        ActRefused: a field of the act has an invalid value, or the release has no transactions.
    """
    try:
        delays = [level_us(level) for level in act.levels]
    except ValueError as wrong:
        raise ActRefused(str(wrong)) from None
    if not delays or delays != sorted(set(delays)):
        raise ActRefused("the levels must be in ascending order, without duplicates")
    if act.due_from not in tuple(map(str, DueFrom)):
        raise ActRefused(f"due-from must be {', '.join(DueFrom)}, not {act.due_from}")
    if act.delays not in ("level", "record"):
        raise ActRefused(f"delays must be level or record, not {act.delays}")
    if act.over_max not in ("refuse", "chain"):
        raise ActRefused(f"over-max must be refuse or chain, not {act.over_max}")
    if act.over_max == "chain" and act.delays == "record":
        raise ActRefused("with 'delays: record', each record waits in one level for its whole delay; omit 'over-max'")
    if act.queue not in ("priority", "fifo"):
        raise ActRefused(f"queue must be priority or fifo, not {act.queue}")
    resume_at = act.bound if act.resume_at is None else act.resume_at
    if act.bound < 1 or act.commit_every < 1 or not 1 <= resume_at <= act.bound:
        raise ActRefused("bound and commit-every must be at least 1, and resume-at must be from 1 to bound")
    if act.dead_letters is not None and act.dead_letters in (act.topic, *map(level_topic, act.levels)):
        raise ActRefused("the dead-letter topic must be neither the destination topic nor the topic of a level")
    check_service(cluster, act, "has forwarded")
    group = act.service if act.group is None else act.group
    found = []
    for level, delay in zip(act.levels, delays, strict=True):
        does = WorkerConfig(
            act.service, level_topic(level), act.topic, group if act.instances == 1 else worker_name(group, level), delay, act.bound, resume_at,
            act.commit_every, ServiceCommit(act.commit), worker_name(group, level) if act.transactional else "", act.queue == "fifo",
            act.delays == "record", DueFrom(act.due_from), act.tick, str(act.reset), None, act.dead_letters or "",
            act.levels if act.over_max == "chain" and level == act.levels[-1] else (),
        )  # fmt: skip
        found += shared(cluster, worker_name(act.service, level), does, act)
    return tuple(found)


def check_service(cluster: ClusterNodes, act: StartService, finished: str) -> None:
    """Check the fields that every service has. `finished` says when the service has finished handling a record.

    Raises:
        ActRefused: a field is wrong, or the release has no transactions.
    """
    if act.commit not in tuple(map(str, ServiceCommit)):
        raise ActRefused(f"commit must be {', '.join(ServiceCommit)}, not {act.commit}")
    if act.reset not in ("earliest", "latest"):
        raise ActRefused(f"reset must be earliest or latest, not {act.reset}")
    if act.crash_after is not None and act.crash_after not in tuple(map(str, ServiceStep)):
        raise ActRefused(f"crash-after must be {', '.join(ServiceStep)}, not {act.crash_after}")
    if act.transactional and not cluster.release.transactions:
        raise ActRefused(f"release {cluster.release.name} has no transactions; use 0.11 or later (KIP-98)")
    if act.transactional and act.commit != ServiceCommit.DONE:
        raise ActRefused(f"a transactional service commits the offsets of the records that it {finished}; use 'commit: done'")
    if not 1 <= act.instances <= MAX_INSTANCES:
        raise ActRefused(f"instances must be from 1 to {MAX_INSTANCES}, not {act.instances}")
    if act.instances == 1:
        check_no_membership(act, "give the service several instances, or omit these fields")
    else:
        check_membership(cluster, act)


def shared(cluster: ClusterNodes, name: str, does: WorkerConfig, act: StartService) -> list[tuple[str, WorkerConfig]]:
    """Return the name and the configuration of each worker of one topic. If a topic has several workers, they are members of a group."""
    if act.instances == 1:
        return [(name, does)]
    numbered: list[tuple[str, WorkerConfig]] = []
    for number, worker in enumerate(instance_names(name, act.instances), 1):
        transactional_id = f"{does.transactional_id}-{number}" if does.transactional_id else ""
        instance_id = "" if act.instance_id is None else f"{act.instance_id}-{number}"
        membership = worker_membership(cluster, act, does.group, does.source, instance_id)
        numbered.append((worker, does._replace(transactional_id=transactional_id, membership=membership)))
    return numbered


def _missing_topics(cluster: ClusterNodes, names: Sequence[str], partitions: int) -> list[TopicSpec]:
    """Return the topics that a service needs and that do not exist yet. Each partition has three replicas, or one replica on each broker if
    there are fewer than three brokers."""
    known = cluster.controller.registry.topics
    factor = min(3, len(cluster.brokers))
    return [TopicSpec(name, partitions, factor) for name in names if name not in known]


def _check_workers(cluster: ClusterNodes, service: str, names: list[str]) -> None:
    """Check that the names of the workers are free, or that all workers with these names have ended.

    Raises:
        ActRefused: a worker is running, the service has other workers, or a name belongs to another node.
    """
    known = cluster.clients.workers(service)
    if known and [worker.name for worker in known] != names:
        raise ActRefused(f"service {service} has the workers {', '.join(worker.name for worker in known)}; restart it with the same ones")
    running = [worker for worker in known if worker.running]
    if running and (len(running) == len(known) or running[0].does.membership is None):
        raise ActRefused(f"service {service} is already running; stop or kill it first, or give the other service another name")
    for name in names:
        if not known and name in cluster.nodes:
            raise ActRefused(f"{name} is the name of another node; give the service another name")


def _ended(cluster: ClusterNodes, configs: Sequence[tuple[str, WorkerConfig]]) -> list[tuple[str, WorkerConfig]]:
    """Return the workers of the service that are not running."""
    running = {worker.name for worker in cluster.clients.workers(configs[0][1].service) if worker.running}
    return [(name, does) for name, does in configs if name not in running]


def _next_instance(cluster: ClusterNodes, name: str) -> int:
    """Return the number of the next instance of a worker."""
    former = cluster.clients.get(name)
    return former.instance + 1 if isinstance(former, ServiceWorker) else 1


def _start_worker(cluster: ClusterNodes, worker: ServiceWorker, config: ClientConfig, act: StartService) -> None:
    """Start an instance of a worker in place of the previous one."""
    former = cluster.clients.get(worker.name)
    worker.configure(config, cluster.release)
    worker.poll_time, worker.record_time = act.poll_time, act.record_time
    worker.crash_after = None if act.crash_after is None else ServiceStep(act.crash_after)
    if isinstance(former, ServiceWorker):
        worker.succeed(former)
    cluster.clients.add(worker, by_hand=cluster.by_hand)
    worker.start()
    worker.sender.start()


def start_service(
    cluster: ClusterNodes,
    act: StartService,
    configs: Sequence[tuple[str, WorkerConfig]],
    topics: Sequence[str],
    worker: Callable[[str, WorkerConfig, int], ServiceWorker],
) -> find.CheckThenDo:
    """Start the workers of a service that are not running.

    Args:
        configs: the name and the configuration of each worker.
        topics: the topics that the service needs.
        worker: the function that creates an instance of a worker from its name, its configuration, and the number of the instance.
    """
    service = configs[0][1].service
    client = config_of(cluster, PRODUCER, settings_of(act), transactional=act.transactional, any_kind=act.instances > 1)
    _check_workers(cluster, service, [name for name, _ in configs])
    find.require_controller(cluster)
    creations = _missing_topics(cluster, topics, act.partitions)
    check_offsets_topic(cluster)
    if act.transactional:
        check_transaction_state_topic(cluster)
    yield
    for creation in creations:
        cluster.submit_admin_request(CreateTopic(creation))
    for name, does in _ended(cluster, configs):
        _start_worker(cluster, worker(name, does, _next_instance(cluster, name)), client, act)


def _start_delay(cluster: ClusterNodes, act: acts.StartDelayService) -> find.CheckThenDo:
    find.topic(cluster, act.topic)
    configs = _delay_configs(cluster, act)
    topics = [*dict.fromkeys(does.source for _, does in configs), *(() if act.dead_letters is None else (act.dead_letters,))]

    def worker(name: str, does: WorkerConfig, instance: int) -> DelayWorker:
        return DelayWorker(name, does, instance, cluster.release, cluster.clients.context())

    yield from start_service(cluster, act, configs, topics, worker)


def _produce_delayed(cluster: ClusterNodes, act: acts.ProduceDelayed) -> find.CheckThenDo:
    workers = [worker for worker in cluster.clients.workers(act.service) if isinstance(worker, DelayWorker)]
    if not workers:
        raise ActRefused(f"there is no delay service {act.service}; start one with delay-service")
    real_topic = workers[0].does.target
    levels = tuple(worker.does.source.rpartition("_")[2] for worker in workers)
    chained = bool(workers[-1].does.chained_levels)
    try:
        topic = level_topic(level_for(act.after, levels, chained=chained)) if act.after else real_topic
    except ValueError as wrong:
        raise ActRefused(str(wrong)) from None
    name = producer_name(act.after) if act.producer is None else act.producer
    if act.records < 1 or act.bytes < 1 or act.every < 1:
        raise ActRefused("the number of records, their size, and the interval must be at least 1")
    check_client(cluster, name, topic, DelayProducer, "producer of delayed records")
    known = cluster.clients.get(name)
    if isinstance(known, DelayProducer) and known.wanted != act.after:
        raise ActRefused(f"producer {name} already has a different delay; give the new producer another name")
    partitions = len(cluster.controller.registry.topics[topic].partitions)
    if act.partition is not None and not 0 <= act.partition < partitions:
        raise ActRefused(f"{topic} has partitions 0 to {partitions - 1}, not {act.partition}")
    acks = None if act.acks is None else find.acks(act.acks)
    config = config_of(cluster, PRODUCER, settings_of(act))
    if isinstance(known, DelayProducer) and acks is not None:
        check_acks(known, acks)
    yield
    if not isinstance(known, DelayProducer):
        known = DelayProducer(name, topic, real_topic, act.after, config.acks, cluster.clients.context())
        known.configure(config, cluster.release)
        cluster.clients.add(known, by_hand=cluster.by_hand)
        known.sender.start()
    elif acks is not None:
        known.change_acks(acks, cluster.release)
    if act.rate:
        known.left = act.records
        known.start_load(act.rate, act.every, act.bytes)
    else:
        known.produce(act.records, act.bytes, act.partition)


def _running(cluster: ClusterNodes, service: str, name: str | None) -> list[ServiceWorker]:
    """Return the running workers of a service, or only the worker with the given name."""
    workers = [worker for worker in cluster.clients.workers(service) if worker.running]
    if not workers:
        raise ActRefused(f"no worker of service {service} is running")
    if name is None:
        return workers
    found = [worker for worker in workers if worker.name == name]
    if not found:
        raise ActRefused(f"service {service} has no running worker {name}, only {', '.join(worker.name for worker in workers)}")
    return found


def _stop(cluster: ClusterNodes, act: acts.StopService) -> find.CheckThenDo:
    workers = _running(cluster, act.service, act.worker)
    yield
    for worker in workers:
        worker.stop()


def _kill(cluster: ClusterNodes, act: acts.KillService) -> find.CheckThenDo:
    workers = _running(cluster, act.service, act.worker)
    yield
    cause = cluster.journal.cause
    for worker in workers:
        cluster.journal.cause = cause
        worker.kill()


HANDLERS: Final[find.Handlers] = {
    acts.StartDelayService: _start_delay,
    acts.ProduceDelayed: _produce_delayed,
    acts.StopService: _stop,
    acts.KillService: _kill,
}

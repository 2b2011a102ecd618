"""Acts on processes that read from one topic, write to another, and commit their offsets."""

from __future__ import annotations

from typing import Final

from core.kafka.applications.processes.process import Process, ProcessConfig
from core.kafka.applications.processes.process_step import LOOP, START, Delivery, ProcessStep
from core.kafka.clients.client_settings import PRODUCER
from core.lab import acts
from core.lab.act_handlers import find
from core.lab.act_handlers.clients import check_client, config_of
from core.lab.act_handlers.internal_topics import check_offsets_topic, check_transaction_state_topic
from core.lab.act_handlers.memberships import check_membership, check_no_membership, worker_membership
from core.lab.cluster_nodes import ClusterNodes
from core.sim.errors import ActRefused


def _config(cluster: ClusterNodes, act: acts.StartProcess) -> ProcessConfig:
    """Return the configuration of the process.

    Raises:
        ActRefused: a word in the act is invalid, or the release has no transactions.
    """
    find.topic(cluster, act.source)
    if act.delivery not in tuple(Delivery):
        raise ActRefused(f"delivery must be {', '.join(Delivery)}, not {act.delivery}")
    delivery = Delivery(act.delivery)
    transactional = delivery is Delivery.EXACTLY_ONCE
    if transactional and not cluster.release.transactions:
        raise ActRefused(f"release {cluster.release.name} has no transactions; use 0.11 or later (KIP-98), or 'delivery: at-least-once'")
    if not transactional and act.transactional_id is not None:
        raise ActRefused(f"a process with delivery {delivery} has no transactional.id; omit it, or use 'delivery: exactly-once'")
    if act.reset not in ("earliest", "latest"):
        raise ActRefused(f"reset must be earliest or latest, not {act.reset}")
    steps = (*START[delivery], *LOOP[delivery])
    if act.crash_after is not None and act.crash_after not in steps:
        raise ActRefused(f"a process with delivery {delivery} has the steps {', '.join(steps)}, not {act.crash_after}")
    if act.copies < 1 or act.max_poll_records < 1:
        raise ActRefused("a process reads at least 1 record at a time, and produces at least 1 record for each")
    group = act.process if act.group is None else act.group
    transactional_id = act.process if act.transactional_id is None else act.transactional_id
    if not group or (transactional and not transactional_id):
        raise ActRefused("the group and the transactional.id must not be empty")
    membership = None
    if act.subscribe:
        check_membership(cluster, act)
        membership = worker_membership(cluster, act, group, act.source, act.instance_id or "")
    else:
        check_no_membership(act, "add 'subscribe: true', or omit these fields")
    return ProcessConfig(
        act.source, act.output, group, delivery, transactional_id if transactional else "", act.reset, act.max_poll_records, act.copies,
        membership,
    )  # fmt: skip


def _start(cluster: ClusterNodes, act: acts.StartProcess) -> find.CheckThenDo:
    check_client(cluster, act.process, act.output, Process, "process")
    does = _config(cluster, act)
    client = config_of(cluster, PRODUCER, act.config, transactional=bool(does.transactional_id), any_kind=act.subscribe)
    former = cluster.clients.process(act.process)
    if former is not None and former.running:
        raise ActRefused(f"process {act.process} is already running; kill or stop it first, or give the other process another name")
    if former is not None and former.does != does:
        raise ActRefused(
            f"process {act.process} was started with other fields; restart it with the same fields, or give the new process another name"
        )
    check_offsets_topic(cluster)
    if does.transactional_id:
        check_transaction_state_topic(cluster)
    yield
    instance = 1 if former is None else former.instance + 1
    process = Process(act.process, does, instance, cluster.release, cluster.clients.context())
    process.configure(client, cluster.release)
    process.poll_time, process.record_time = act.poll_time, act.record_time
    process.crash_after = None if act.crash_after is None else ProcessStep(act.crash_after)
    if former is not None:
        process.succeed(former)
    cluster.clients.add(process, by_hand=cluster.by_hand)
    process.start(client.transaction_timeout)
    process.sender.start()


def _running(cluster: ClusterNodes, name: str) -> Process:
    process = cluster.clients.process(name)
    if process is None or not process.running:
        running = [client.name for client in cluster.clients.values() if isinstance(client, Process) and client.running]
        raise ActRefused(f"there is no running process {name}; {find.existing('running ones', running)}")
    return process


def _stop(cluster: ClusterNodes, act: acts.StopProcess) -> find.CheckThenDo:
    process = _running(cluster, act.process)
    yield
    process.stop()


def _kill(cluster: ClusterNodes, act: acts.KillProcess) -> find.CheckThenDo:
    process = _running(cluster, act.process)
    yield
    process.kill()


HANDLERS: Final[find.Handlers] = {acts.StartProcess: _start, acts.StopProcess: _stop, acts.KillProcess: _kill}

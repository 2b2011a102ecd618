"""The views of processes."""

from __future__ import annotations

from core.kafka.applications.processes.process import Process
from core.lab.accounts.processed_logs import OutputRecords
from core.lab.accounts.processing_account import Counts, Harm, Processing
from core.lab.cluster_nodes import ClusterNodes
from core.lab.views.client_view import ProcessView


def process_views(cluster: ClusterNodes) -> tuple[ProcessView, ...]:
    """Return the views of the processes."""
    return tuple(process_view(cluster, client) for client in cluster.clients.values() if isinstance(client, Process))


def processing_of(process: Process) -> Processing:
    """Return the configuration of a process's group, as the durability account sees it."""
    does = process.does
    return Processing(does.group, does.source, does.output, does.copies)


def process_counts(cluster: ClusterNodes, process: Process) -> Counts:
    """Return the counts of input records for the group of a process."""
    account = cluster.account
    return account.processing.counts(processing_of(process), account.leader_logs(), cluster.clients.records_in_hand(process.does.group))


def process_harms(cluster: ClusterNodes, process: Process) -> tuple[Harm, ...]:
    """Return which input records of a process, or of the other processes in its group, were processed twice, only in part, or never."""
    account = cluster.account
    return account.processing.harms(processing_of(process), account.leader_logs(), cluster.clients.records_in_hand(process.does.group))


def process_outputs(cluster: ClusterNodes, process: Process) -> tuple[OutputRecords, ...]:
    """Return the output of a process and of the other processes in its group. Each item identifies the input from which the output was
    made."""
    return cluster.account.processing.outputs(processing_of(process), cluster.account.leader_logs())


def process_view(cluster: ClusterNodes, process: Process) -> ProcessView:
    """Return the view of one process."""
    does = process.does
    return ProcessView(
        process.name, does.source, does.output, does.group, str(does.delivery), process.instance, process.running, str(process.step),
        *process_counts(cluster, process),
    )  # fmt: skip

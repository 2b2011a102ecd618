"""Reads the initial state of a partition: its replicas, ISR, and leader, and optionally a leader epoch and logs copied from a real cluster.

For example, in `{replicas: [1, 2, 3], isr: [1, 2], leader: 1, leader-epoch: 7, leo: 60, hw: 60, epochs: [[0, 0], [7, 40]],
logs: {3: {leo: 50, hw: 45, epochs: [[0, 0]]}}}`, the values of `leo`, `hw`, `log-start`, and `epochs` apply to every replica. `logs`
overrides these values for the replicas on the brokers that it names.
"""

from __future__ import annotations

from typing import Any, Final

from core.kafka.ids import NO_LEADER
from core.kafka.topic_spec import MAX_LEADER_EPOCH, MAX_OFFSET, LogSpec, PartitionSpec
from scenarios.language.nodes import Fields, Items, Node
from scenarios.language.values import as_broker, as_brokers, as_fields, as_int, as_items, as_leader, each

_LOG_WORDS: Final = ("leo", "hw", "log-start", "epochs")
"""The keys that describe a log, either the logs of all replicas or the log of a single replica."""

_WORDS: Final = ("replicas", "isr", "leader", "elr", "last-known-elr", "leader-epoch", "logs")


def read_partition(node: Node) -> PartitionSpec:
    """Read a partition: a list of its replicas in order, or a mapping with its initial state.

    Raises:
        ScriptError: the partition contains mistakes.
    """
    if isinstance(node, Items):
        return PartitionSpec(as_brokers(node))
    fields = as_fields(node, "write the replicas, for example {replicas: [1, 2, 3], isr: [1, 2], leader: 1}")
    with node.document.together():
        fields.only(*_WORDS, *_LOG_WORDS)
        replicas = fields.read_needed("replicas", "write them in order, the preferred leader first", as_brokers, ())
        leader_epoch = fields.read("leader-epoch", lambda one: as_int(one, 0, MAX_LEADER_EPOCH), 0)
        partition = PartitionSpec(
            replicas=replicas,
            isr=fields.read("isr", as_brokers, None),
            leader=fields.read("leader", as_leader, None),
            elr=fields.read("elr", as_brokers, ()),
            last_known_elr=fields.read("last-known-elr", as_brokers, ()),
            leader_epoch=leader_epoch,
            logs=_read_logs(fields, replicas, leader_epoch),
        )
    try:
        partition.check_start("the partition")
    except ValueError as wrong:
        raise fields.error(str(wrong)) from None
    return partition


def _read_logs(fields: Fields, replicas: tuple[int, ...], leader_epoch: int) -> tuple[LogSpec, ...]:
    own: dict[int, Fields] = {}
    if (node := fields.get("logs")) is not None:
        by_broker = as_fields(node, "write the state of each broker's log, for example {3: {leo: 50, hw: 45}}")
        for name, value in by_broker.values.items():
            broker = as_broker(by_broker.key_node(name))
            own[broker] = as_fields(value, "write LEO and HW, for example {leo: 50, hw: 45}")
            own[broker].only(*_LOG_WORDS)
    everywhere = any(fields.get(word) is not None for word in _LOG_WORDS)
    brokers = [broker for broker in replicas if everywhere or broker in own]
    return tuple(
        _read_log(broker, own.get(broker), fields, leader_epoch)
        for broker in [*brokers, *(broker for broker in own if broker not in replicas)]
    )


def _read_log(broker: int, own: Fields | None, common: Fields, leader_epoch: int) -> LogSpec:
    """Return the log of one replica.

    If `own` lacks a value, the value is taken from `common`. By default, the HW equals the LEO, and all records have the leader epoch
    `leader_epoch`.
    """

    def word(name: str) -> Node | None:
        said = None if own is None else own.get(name)
        return common.get(name) if said is None else said

    leo_node, hw_node, start_node, epochs_node = word("leo"), word("hw"), word("log-start"), word("epochs")
    log_start = 0 if start_node is None else as_int(start_node, 0, MAX_OFFSET)
    leo = log_start if leo_node is None else as_int(leo_node, 0, MAX_OFFSET)
    hw = leo if hw_node is None else as_int(hw_node, 0, MAX_OFFSET)
    if epochs_node is None:
        return LogSpec(broker, leo, hw, log_start, ((leader_epoch, log_start),) if leo > log_start else ())
    return LogSpec(
        broker, leo, hw, log_start, each(epochs_node, "write [leader epoch, start offset] pairs, for example [[0, 0], [7, 40]]", _pair)
    )


def _pair(node: Node) -> tuple[int, int]:
    items = as_items(node, "write [leader epoch, start offset]")
    if len(items.nodes) != 2:
        raise node.error(f"{len(items.nodes)} numbers", "an entry has two numbers, [leader epoch, start offset]")
    epoch, start = items
    return as_int(epoch, 0, MAX_LEADER_EPOCH), as_int(start, 0, MAX_OFFSET)


def partition_as_data(partition: PartitionSpec, flow: Any, flow_list: Any) -> dict[str, Any]:
    """Return a partition as scripts write it. `flow` and `flow_list` create mappings and lists that are written on one line."""
    data: dict[str, Any] = flow(replicas=flow_list(partition.replicas))
    if partition.isr is not None:
        data["isr"] = flow_list(partition.isr)
    if partition.leader is not None:
        data["leader"] = "none" if partition.leader == NO_LEADER else partition.leader
    if partition.elr:
        data["elr"] = flow_list(partition.elr)
    if partition.last_known_elr:
        data["last-known-elr"] = flow_list(partition.last_known_elr)
    if partition.leader_epoch:
        data["leader-epoch"] = partition.leader_epoch
    if partition.logs:
        data["logs"] = flow((log.broker, _log_as_data(log, flow, flow_list)) for log in partition.logs)
    return data


def _log_as_data(log: LogSpec, flow: Any, flow_list: Any) -> dict[str, Any]:
    data: dict[str, Any] = flow(leo=log.leo, hw=log.hw)
    if log.log_start:
        data["log-start"] = log.log_start
    data["epochs"] = flow_list(flow_list(entry) for entry in log.epochs)
    return data

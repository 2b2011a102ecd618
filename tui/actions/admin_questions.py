"""Questions for administrative tasks: reassignment, log directories, deleting records, creating topics, and consumers.

Each answer contains the acts to perform and a note. An answer that the user cannot choose now also contains the reason.
"""

from __future__ import annotations

from core.lab import acts
from core.lab.acts import Act
from tui.actions.context import MOST_BROKERS, ActionContext, Question, numbered


def move_replica(context: ActionContext) -> Question:
    """Ask to which log directory to move the selected broker's replica of the selected partition."""
    broker, p = context.the_broker, context.the_partition
    replica = p.replica_on(broker.id)
    options: list[tuple[str, tuple[Act, ...], str, str | None]] = []
    for number in range(1, broker.log_dirs + 1):
        refused = (
            "the replica is already there"
            if number == replica.dir
            else "the directory has failed"
            if number in broker.failed_dirs
            else None
        )
        options.append(
            (f"to directory {number}", (acts.MoveReplica(p.tp, broker.id, number),), "a copy catches up, then takes over", refused)
        )
    return Question(f"{p.tp} on b{broker.id}", "Moves the replica to another disk of the same broker.", numbered(options))


def cannot_move(context: ActionContext) -> str | None:
    """Return the reason why the replica cannot move between log directories, or None."""
    broker, p = context.broker, context.partition
    if broker is None or p is None:
        return "choose a broker with ← and →, and a partition with ↑ and ↓"
    if broker.id not in p.replicas:
        return f"b{broker.id} has no replica of {p.tp}"
    if broker.log_dirs < 2:
        return f"b{broker.id} has only one log directory; to add more, set log-dirs in a script"
    return None


def reassign(context: ActionContext) -> Question:
    """Ask for the new replicas of the selected partition."""
    p = context.the_partition
    now = p.replicas
    options: list[tuple[str, tuple[Act, ...], str, str | None]] = []
    if p.adding or p.removing:
        options.append(
            ("cancel the running reassignment", (acts.CancelReassignment(p.tp),), "same as kafka-reassign-partitions --cancel", None)
        )
    selected = context.broker.id if context.broker is not None else -1
    away = [b.id for b in context.view.brokers if b.id not in now][:MOST_BROKERS]
    leaves = selected if selected in now else now[-1]
    # A KRaft controller accepts a broker that is not alive, but kafka-reassign-partitions does not request it.
    fenced = {b.id for b in context.view.brokers if b.fenced and not context.on_zookeeper}
    api = " (Admin API, because kafka-reassign-partitions refuses a broker that is not alive)"
    for other in away:
        target = tuple(other if b == leaves else b for b in now)
        options.append(
            (
                f"replace b{leaves} with b{other}: {list(target)}",
                (acts.Reassign(p.tp, target, admin_api=other in fenced),),
                f"the new replica catches up, then the old one is removed{api if other in fenced else ''}",
                None,
            )
        )
    for other in away:
        options.append(
            (
                f"add b{other}: {[*now, other]}",
                (acts.Reassign(p.tp, (*now, other), admin_api=other in fenced),),
                f"replication factor {len(now) + 1}{api if other in fenced else ''}",
                None,
            )
        )
    if len(now) > 1:
        fewer = tuple(b for b in now if b != leaves)
        options.append((f"remove b{leaves}: {list(fewer)}", (acts.Reassign(p.tp, fewer),), f"replication factor {len(fewer)}", None))
        if selected in now and now[0] != selected:
            order = (selected, *(b for b in now if b != selected))
            options.append(
                (
                    f"prefer b{selected}: {list(order)}",
                    (acts.Reassign(p.tp, order),),
                    f"moves no data; to make b{selected} the leader, press e",
                    None,
                )
            )
    return Question(
        f"Reassign {p.tp}", f"Current replicas: {list(now)}. The replica to replace or remove is on b{leaves}.", numbered(options)
    )


def delete_records(context: ActionContext) -> Question:
    """Ask for the offset below which the selected partition's records are deleted."""
    p = context.the_partition
    leader = p.replica_on(p.leader)
    half = leader.log_start + (leader.hw - leader.log_start) // 2
    empty = "nothing is committed above the log start" if leader.hw <= leader.log_start else None
    options: list[tuple[str, tuple[Act, ...], str, str | None]] = [
        (f"below {half:,}", (acts.DeleteRecords(p.tp, half),), "half of the committed records", empty),
        (f"below {leader.hw:,}", (acts.DeleteRecords(p.tp),), "all committed records", empty),
    ]
    return Question(
        f"Delete records of {p.tp}",
        f"Log start {leader.log_start:,}, HW {leader.hw:,}. Consumers whose position is below the new log start reset it.",
        numbered(options),
    )


def cannot_delete(context: ActionContext) -> str | None:
    """Return the reason why no records can be deleted, or None."""
    p = context.partition
    if p is None:
        return "no partition is selected; choose one with ↑ and ↓"
    return f"{p.tp} has no leader" if p.offline else None


def create_topic(context: ActionContext) -> Question:
    """Ask for the number of partitions and the replication factor of a new topic."""
    view = context.view
    taken = {topic.name for topic in view.topics}
    name = next(f"topic-{number}" for number in range(1, len(taken) + 2) if f"topic-{number}" not in taken)
    most = len(view.brokers)
    options: list[tuple[str, tuple[Act, ...], str, str | None]] = []
    for partitions in (1, 6, 30):
        for factor in dict.fromkeys((min(3, most), 1)):
            act = acts.CreateTopic(name, partitions, factor)
            options.append(
                (
                    f"{partitions} partition{'s' if partitions > 1 else ''}, replication factor {factor}",
                    (act,),
                    "only one copy: offline when its broker is down" if factor == 1 else "",
                    None,
                )
            )
    return Question(
        f"Create {name}",
        "Placement follows Kafka's rules: leaders are spread across brokers, and replicas across racks.",
        numbered(options),
    )


def consume(context: ActionContext) -> Question:
    """Ask which consumer of the selected topic to start or stop."""
    topic = context.the_partition.tp.topic
    options: list[tuple[str, tuple[Act, ...], str, str | None]] = []
    names = {client.name for client in context.view.consumers}
    for client in context.view.consumers:
        if client.topic == topic:
            options.append((f"stop {client.name}", (acts.StopConsume(client.name),), f"has read {client.read:,}", None))
    name = next(each for each in (f"reader-{topic}", *(f"reader-{topic}-{n}" for n in range(2, len(names) + 3))) if each not in names)
    options.append((f"start {name} from the beginning", (acts.Consume(topic, name),), "auto.offset.reset=earliest", None))
    options.append((f"start {name} at the end", (acts.Consume(topic, name, reset="latest"),), "auto.offset.reset=latest", None))
    return Question(
        f"Consumers of {topic}",
        "A consumer reads only records below the high watermark. The durability account keeps track of the records that consumers have "
        "read.",
        numbered(options),
    )

"""More to break and to administer: power, disks, slow and lossy links, held messages, reassignment, consumers, topics, controllers.

Questions as in `tui.questions`: each answer carries its acts, says what it means, and why it is impossible when it is.
"""

from __future__ import annotations

from typing import Final

from core.kafka.broker.broker_state import BrokerState
from core.kafka.ids import CONTROLLER, broker_address
from core.lab import acts
from core.lab.acts import Act
from core.lab.views.view import BrokerView, PartitionView
from core.sim.units import format_duration
from tui.situation import Option, Question, Situation

DELAYS: Final = (
    (0, "as before"),
    (5_000, "5 ms a write"),
    (50_000, "50 ms a write"),
    (500_000, "500 ms a write"),
    (5_000_000, "5 s a write"),
)
"""What a write to a slow disk may take, µs."""

MOST_BROKERS: Final = 12
"""Other brokers that a question lists at most."""


def _broker(situation: Situation) -> BrokerView:
    assert situation.broker is not None
    return situation.broker


def _partition(situation: Situation) -> PartitionView:
    assert situation.partition is not None
    return situation.partition


def _others(situation: Situation) -> list[int]:
    """Other brokers, those that share the selected partition first."""
    broker = _broker(situation)
    replicas = situation.partition.replicas if situation.partition is not None else ()
    others = [b.id for b in situation.view.brokers if b.id != broker.id]
    return sorted(others, key=lambda other: (other not in replicas, other))[:MOST_BROKERS]


def _keyed(options: list[tuple[str, tuple[Act, ...], str, str | None]]) -> tuple[Option, ...]:
    return tuple(
        Option(str(number) if number < 10 else "", label, wanted, note, refused)
        for number, (label, wanted, note, refused) in enumerate(options, start=1)
    )


# --- power and disks -----------------------------------------------------------------------------------------------


def power_loss(situation: Situation) -> Question:
    """How much of what was not flushed had reached the disk when the power went."""
    one = _broker(situation).id
    options = (
        Option("d", "drawn for each log", (acts.PowerLoss(one),), "some of the unflushed tail is gone"),
        Option("l", "all of it is lost", (acts.PowerLoss(one, unflushed="lost"),), "logs end at their recovery points"),
        Option("k", "all of it had been written", (acts.PowerLoss(one, unflushed="kept"),), "as kill -9 does"),
    )
    return Question(
        f"The machine of b{one} loses power", "What lay only in memory: the unflushed tail of its logs (screen 2 shows how much).", options
    )


def slow_disk(situation: Situation) -> Question:
    """How long a write of the selected broker takes from now on."""
    broker = _broker(situation)
    one, now = broker.id, broker.disk_delay_us
    same = "so it is now" if now else f"the disk of b{one} is not slow"
    return Question(
        f"Disk of b{one}",
        "Each write of followers' fetchers and producers' batches takes this long, one after another.",
        _keyed([(words, (acts.SlowDisk(one, delay),), "", same if delay == now else None) for delay, words in DELAYS]),
    )


def directories(situation: Situation) -> Question:
    """Fail or repair a log directory."""
    broker = _broker(situation)
    last = broker.log_dirs - len(broker.failed_dirs) == 1
    options: list[tuple[str, tuple[Act, ...], str, str | None]] = []
    for number in range(1, broker.log_dirs + 1):
        if number in broker.failed_dirs:
            options.append(
                (f"replace directory {number} by an empty one", (acts.RepairDir(broker.id, number),), "found at the next start", None)
            )
            options.append(
                (
                    f"repair directory {number}, its logs are there",
                    (acts.RepairDir(broker.id, number, empty=False),),
                    "found at the next start",
                    None,
                )
            )
        else:
            note = "the last one that works: the broker halts" if last else "its replicas go offline"
            refused = "its process does not run" if broker.state is BrokerState.STOPPED else None
            options.append((f"directory {number} fails", (acts.FailDir(broker.id, number),), note, refused))
    return Question(f"Log directories of b{broker.id}", "A disk dies, or is replaced.", _keyed(options))


def move_replica(situation: Situation) -> Question:
    """Move the selected partition's replica to another log directory of the selected broker."""
    broker, p = _broker(situation), _partition(situation)
    copy = p.copy_on(broker.id)
    options: list[tuple[str, tuple[Act, ...], str, str | None]] = []
    for number in range(1, broker.log_dirs + 1):
        refused = "it is there" if number == copy.dir else "the directory has failed" if number in broker.failed_dirs else None
        options.append(
            (f"to directory {number}", (acts.MoveReplica(p.tp, broker.id, number),), "a copy catches up, then takes over", refused)
        )
    return Question(f"{p.tp} on b{broker.id}", "Move the replica within its broker.", _keyed(options))


def cannot_move(situation: Situation) -> str | None:
    """Why no replica can move between directories."""
    broker, p = situation.broker, situation.partition
    if broker is None or p is None:
        return "choose a broker with ← and →, and a partition with ↑ and ↓"
    if broker.id not in p.replicas:
        return f"b{broker.id} has no replica of {p.tp}"
    if broker.log_dirs < 2:
        return f"b{broker.id} has a single log directory; a script gives it more with log-dirs"
    return None


# --- links ---------------------------------------------------------------------------------------------------------


def link_quality(situation: Situation) -> Question:
    """Make the selected broker's links slow or lossy, or as before."""
    here = broker_address(_broker(situation).id)
    options: list[tuple[str, tuple[Act, ...], str, str | None]] = []
    nodes = [broker_address(other) for other in _others(situation)]
    nodes += [] if situation.view.voters else [CONTROLLER]
    view = situation.view
    changed = {frozenset((link.src, link.dst)) for link in view.changed_links}
    new = f"{format_duration(view.latency_us)}, {f'{view.loss_ppm / 10_000:g} %' if view.loss_ppm else 'no'} loss"
    for node in nodes:
        options.append(
            (
                f"{here} ↔ {node}: 200 ms",
                (acts.Link((here, node), latency=200_000, jitter=20_000, loss_ppm=0),),
                "a slow link, as between continents",
                None,
            )
        )
        options.append(
            (f"{here} ↔ {node}: 10 % loss", (acts.Link((here, node), loss_ppm=100_000),), "TCP sends again: late, in order", None)
        )
        options.append(
            (
                f"{here} ↔ {node}: as new",
                (acts.Link((here, node), latency=view.latency_us, jitter=view.jitter_us, loss_ppm=view.loss_ppm),),
                new,
                None if {here, node} in changed else "it is as new",
            )
        )
    return Question(f"Links of {here}", "Slow or lossy, not cut (c cuts).", _keyed(options))


def hold(situation: Situation) -> Question:
    """Hold messages back on one way, or let them go."""
    here = broker_address(_broker(situation).id)
    held = set(situation.view.held_links)
    options: list[tuple[str, tuple[Act, ...], str, str | None]] = []
    nodes = [broker_address(other) for other in _others(situation)]
    nodes += [] if situation.view.voters else [CONTROLLER]
    for node in nodes:
        for pair in ((here, node), (node, here)):
            arrow = f"{pair[0]} → {pair[1]}"
            if pair in held:
                options.append((f"release {arrow}", (acts.Release(pair),), "what was held arrives now, in order", None))
            else:
                options.append((f"hold {arrow}", (acts.Hold(pair),), "messages wait until released", None))
    return Question(
        f"Messages of {here}", "Held back, not lost: a lost answer, a late request, a zombie that has not heard.", _keyed(options)
    )


# --- administration ------------------------------------------------------------------------------------------------


def reassign(situation: Situation) -> Question:
    """Other replicas for the selected partition."""
    p = _partition(situation)
    now = p.replicas
    options: list[tuple[str, tuple[Act, ...], str, str | None]] = []
    if p.adding or p.removing:
        options.append(
            ("give the running reassignment up", (acts.CancelReassignment(p.tp),), "as kafka-reassign-partitions --cancel", None)
        )
    selected = situation.broker.id if situation.broker is not None else -1
    away = [b.id for b in situation.view.brokers if b.id not in now][:MOST_BROKERS]
    leaves = selected if selected in now else now[-1]
    for other in away:
        target = tuple(other if b == leaves else b for b in now)
        options.append(
            (
                f"b{other} instead of b{leaves}: {list(target)}",
                (acts.Reassign(p.tp, target),),
                "the new one catches up, then the old one goes",
                None,
            )
        )
    for other in away:
        options.append(
            (f"b{other} in addition: {[*now, other]}", (acts.Reassign(p.tp, (*now, other)),), f"replication factor {len(now) + 1}", None)
        )
    if len(now) > 1:
        fewer = tuple(b for b in now if b != leaves)
        options.append((f"without b{leaves}: {list(fewer)}", (acts.Reassign(p.tp, fewer),), f"replication factor {len(fewer)}", None))
        if selected in now and now[0] != selected:
            order = (selected, *(b for b in now if b != selected))
            options.append((f"b{selected} preferred: {list(order)}", (acts.Reassign(p.tp, order),), "no data moves; e elects it", None))
    return Question(f"Reassign {p.tp}", f"Replicas now {list(now)}; broker b{leaves} is the one to go.", _keyed(options))


def delete_records(situation: Situation) -> Question:
    """Up to where the selected partition's records may go."""
    p = _partition(situation)
    leader = p.copy_on(p.leader)
    half = leader.log_start + (leader.hw - leader.log_start) // 2
    empty = "nothing is committed above the log start" if leader.hw <= leader.log_start else None
    options: list[tuple[str, tuple[Act, ...], str, str | None]] = [
        (f"below {half:,}", (acts.DeleteRecords(p.tp, half),), "half of what is committed", empty),
        (f"below {leader.hw:,}", (acts.DeleteRecords(p.tp),), "all that is committed", empty),
    ]
    return Question(
        f"Delete records of {p.tp}",
        f"Log start {leader.log_start:,}, HW {leader.hw:,}. Readers below the new log start are reset.",
        _keyed(options),
    )


def cannot_delete(situation: Situation) -> str | None:
    """Why no records can be deleted."""
    p = situation.partition
    if p is None:
        return "no partition is selected; choose one with ↑ and ↓"
    return f"nobody leads {p.tp}" if p.offline else None


def create_topic(situation: Situation) -> Question:
    """A new topic of some size."""
    view = situation.view
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
                    "one copy: a broker down means offline" if factor == 1 else "",
                    None,
                )
            )
    return Question(f"Create {name}", "Placed as Kafka places: leaders spread over brokers, replicas over racks.", _keyed(options))


def controllers(situation: Situation) -> Question:
    """Kill, start, freeze or thaw one of the dedicated controllers."""
    options: list[tuple[str, tuple[Act, ...], str, str | None]] = []
    for voter in situation.view.voters:
        if voter.name.startswith("b"):
            continue
        role = "the active one" if voter.active else voter.role
        if voter.role == "stopped":
            options.append((f"start {voter.name}", (acts.StartController(voter.name),), "its log and its vote are on disk", None))
        else:
            options.append((f"kill {voter.name}", (acts.KillController(voter.name),), role, None))
            options.append((f"freeze {voter.name}", (acts.PauseController(voter.name),), role, None))
            options.append((f"thaw {voter.name}", (acts.ResumeController(voter.name),), "it believes what it believed", None))
    return Question("Controllers", "A majority must be able to talk, or the metadata stand still.", _keyed(options))


def no_controllers(situation: Situation) -> str | None:
    """Why there is no controller to act on."""
    if any(not voter.name.startswith("b") for voter in situation.view.voters):
        return None
    if situation.view.voters:
        return "the controllers live in broker processes here; kill or freeze the broker"
    return "this cluster has no dedicated controllers; d9-dedicated-controllers has (7 starts it)"


def consume(situation: Situation) -> Question:
    """Start or stop a consumer on the selected topic."""
    topic = _partition(situation).tp.topic
    options: list[tuple[str, tuple[Act, ...], str, str | None]] = []
    names = {client.name for client in situation.view.consumers}
    for client in situation.view.consumers:
        if client.topic == topic:
            options.append((f"stop {client.name}", (acts.StopConsume(client.name),), f"has read {client.read:,}", None))
    name = next(each for each in (f"reader-{topic}", *(f"reader-{topic}-{n}" for n in range(2, len(names) + 3))) if each not in names)
    options.append((f"start {name} from the beginning", (acts.Consume(topic, name),), "auto.offset.reset=earliest", None))
    options.append((f"start {name} at the end", (acts.Consume(topic, name, reset="latest"),), "auto.offset.reset=latest", None))
    return Question(
        f"Consumers of {topic}", "A consumer reads what is below the high watermark; what it has read counts as relied on.", _keyed(options)
    )

"""The least that must fail until partitions are harmed."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Mapping, Sequence
from typing import Any, Final

import attrs

from core.kafka.ids import TopicPartition
from scenarios.cut_sets.copysets import copysets
from scenarios.cut_sets.cut_sets import LARGEST, CutSets, PartOf, cut_sets
from scenarios.cut_sets.standing import Harm, Moment
from scenarios.questions.asked import BY_RULE, Answer, AskedCluster
from scenarios.questions.restarts import already

SHOWN: Final = 3
"""The number of cut sets of a size that the text names."""

IN_DATA: Final = 100
"""The number of cut sets of a size in JSON."""

_SHORT: Final = {
    Harm.NO_LEADER: "no leader",
    Harm.REFUSES: "writes with acks=all refused",
    Harm.LOSES: "acknowledged records lost (unclean election)",
    Harm.NO_COPY: "no copy left if the disks are lost",
}


@attrs.frozen
class Level:
    """What can fail as a whole.

    Attributes:
        one, many: the noun, singular and plural.
        count: how many there are in the cluster.
        part_of: the part that holds a replica; None for brokers.
    """

    one: str
    many: str
    count: int
    part_of: PartOf | None = None

    def name(self, part: Hashable) -> str:
        """Return the name of a part as the screens write it."""
        if isinstance(part, tuple):
            return f"b{part[0]} d{part[1]}"
        return f"b{part}" if self.part_of is None else str(part)

    def names(self, parts: Sequence[Hashable]) -> str:
        """Return the names of parts that fail together."""
        return " + ".join(self.name(part) for part in parts)


def levels(asked: AskedCluster) -> list[Level]:
    """Return what can fail as a whole: brokers, and racks and log directories if the cluster has several of them."""
    found = [Level("broker", "brokers", len(asked.view.brokers))]
    racks = {broker.id: broker.rack for broker in asked.view.brokers}
    named = {rack for rack in racks.values() if rack}
    if len(named) > 1:
        found.append(Level("zone", "zones", len(named), lambda _, broker: racks.get(broker) or f"b{broker}"))
    dirs = {(one.tp, replica.broker): replica.dir for one in asked.view.partitions for replica in one.replica_views}
    if any(number > 1 for number in dirs.values()):

        def directory(partition: TopicPartition, broker: int) -> tuple[int, int]:
            return broker, dirs.get((partition, broker), 1)

        count = len({(broker, number) for (_, broker), number in dirs.items()})
        found.append(Level("log directory", "log directories", count, directory))
    return found


def what_breaks(asked: AskedCluster, words: Sequence[str]) -> Answer:
    """Say which smallest sets of brokers, zones, and log directories harm partitions when they fail, now and once everything is mended."""
    lines: list[str] = []
    now = {harm: cut_sets(asked.standings, harm, Moment.AT_ONCE) for harm in Harm}
    for level in levels(asked):
        known: dict[Harm, object] = {}
        for moment in Moment:
            found = now if level.part_of is None and moment is Moment.AT_ONCE else _of(asked, level, moment)
            told = {harm: sets for harm, sets in found.items() if known.get(harm) != sets.sets}
            known.update((harm, sets.sets) for harm, sets in found.items())
            if told:
                lines += [f"{level.many}, {moment.value}:", *(f"· {line}" for line in _lines(level, told))]
    lines += _majority(asked)
    lines += _spread(asked)
    lines += already(asked)
    return Answer(_verdict(asked, now), tuple(lines), BY_RULE, asked.play(), lambda: _data(asked))


def _of(asked: AskedCluster, level: Level, moment: Moment) -> dict[Harm, CutSets]:
    return {harm: cut_sets(asked.standings, harm, moment, level.part_of) for harm in Harm}


def _lines(level: Level, found: Mapping[Harm, CutSets]) -> Iterable[str]:
    """Yield the least that causes each harm. Harms with the same sets share a line."""
    left = dict(sorted(found.items(), key=lambda each: each[1].least or LARGEST + 1))
    while left:
        harm, sets = next(iter(left.items()))
        same = [each for each, others in left.items() if others.sets == sets.sets]
        for each in same:
            del left[each]
        if sets.least is not None:
            yield f"{_least(level, sets)}: {'; '.join(_SHORT[each] for each in same)}"
        elif harm is not Harm.LOSES:
            yield f"more than {min(LARGEST, level.count)} {level.many}: {'; '.join(_SHORT[each] for each in same if each is not Harm.LOSES)}"


def _least(level: Level, found: CutSets) -> str:
    """Return the smallest sets, in words."""
    size = found.least
    assert size is not None
    sets, number = found.worst(size, SHOWN), len(found.sets[size])
    named = ", ".join(f"{level.names(one.parts)} ({_partitions(len(one.partitions))})" for one in sets)
    if number == 1:
        return f"{level.one if size == 1 else level.many} {named}"
    many = f"any of {number:,} {level.many}" if size == 1 else f"{size} {level.many} in {number:,} ways"
    return f"{many}, {'the worst ' if number > len(sets) else ''}{named}"


def _partitions(number: int) -> str:
    return f"{number:,} partition{'' if number == 1 else 's'}"


def _verdict(asked: AskedCluster, found: dict[Harm, CutSets]) -> str:
    """Return the least of all harms that clients notice without lost disks."""
    noticed = [(sets.least, harm) for harm, sets in found.items() if harm is not Harm.NO_COPY and sets.least is not None]
    if not noticed:
        return f"No {min(LARGEST, len(asked.view.brokers))} brokers that fail now harm a partition that is not harmed already."
    size, harm = min(noticed, key=lambda each: (each[0], list(Harm).index(each[1])))
    assert size is not None
    (worst,) = found[harm].worst(size, 1)
    *before, last = [f"b{part}" for part in worst.parts]
    names = f"{', '.join(before)} and {last}" if before else last
    what = harm.value.split(",")[0]
    plural = "a partition " + what if len(worst.partitions) == 1 else f"{len(worst.partitions):,} partitions {_plural(what)}"
    said = {1: "One broker is enough", 2: "No single broker does harm; two are enough", 3: "It takes three brokers"}[size]
    return f"{said}: without {names}, {plural}."


def _plural(what: str) -> str:
    verb, rest = what.split(" ", 1)
    return f"{ {'has': 'have', 'refuses': 'refuse', 'loses': 'lose'}[verb] } {rest}".strip()


def _majority(asked: AskedCluster) -> Iterable[str]:
    voters = asked.view.voters
    alive = sum(voter.role != "stopped" for voter in voters)
    if voters and alive > len(voters) // 2:
        spare = alive - len(voters) // 2 - 1
        yield (
            f"controllers: the quorum stands while {spare} more of {alive} live voters fail"
            if spare
            else f"controllers: no other voter may fail; {alive} of {len(voters)} are alive"
        )


def _spread(asked: AskedCluster) -> Iterable[str]:
    """Yield how replicas are spread, and how likely brokers that fail at random hold all replicas of a partition."""
    found = copysets(asked.standings, len(asked.view.brokers))
    if found is None or found.brokers <= found.factor or found.partitions < 2:
        return
    yield (
        f"spread: {found.found:,} different sets of {found.factor} brokers hold {_partitions(found.partitions)}; if {found.factor} brokers are "
        f"lost at random, they hold all replicas of some partition with probability {_percent(found.share(found.found))}"
    )
    if found.needed < found.found:
        yield (
            f"spread: each broker shares partitions with {found.scatter:.1f} others on average; {found.needed:,} sets (copysets) would do for that, "
            f"with probability {_percent(found.share(found.needed))}, but then more partitions are lost at once"
        )


def _percent(share: float) -> str:
    return f"{100 * share:.2g} %" if share < 1 else "100 %"


def _data(asked: AskedCluster) -> dict[str, Any]:
    """Return all cut sets for JSON: by what fails, by moment, and by harm."""
    return {
        level.many: {
            moment.name.lower(): {harm.name.lower(): _as_data(level, sets) for harm, sets in _of(asked, level, moment).items()}
            for moment in Moment
        }
        for level in levels(asked)
    }


def _as_data(level: Level, found: CutSets) -> dict[str, Any]:
    return {
        "already": [str(one) for one in found.harmed],
        "least": found.least,
        "sets": [
            {
                "size": size,
                "number": len(sets),
                "share": round(found.share(level.count, size), 9),
                "worst": [
                    {
                        level.many: [level.name(part) for part in one.parts],
                        "partitions": len(one.partitions),
                        "only_together": one.only_together,
                    }
                    for one in found.worst(size, IN_DATA)
                ],
            }
            for size, sets in found.sets.items()
            if sets
        ],
    }

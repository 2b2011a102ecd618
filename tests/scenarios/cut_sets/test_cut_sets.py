"""Minimal cut sets against all subsets of brokers, and against what happens in simulations."""

from __future__ import annotations

import random
from collections.abc import Iterable
from itertools import combinations
from math import comb

import pytest

from core.kafka.ids import TopicPartition
from core.kafka.release import RELEASES
from core.kafka.topic_spec import PartitionSpec, TopicSpec
from core.lab.acts import Kill
from core.lab.cluster import Cluster
from core.lab.spec import BrokerSpec, ClusterSpec
from core.sim.units import SECOND
from scenarios.cut_sets.copysets import copysets
from scenarios.cut_sets.cut_sets import LARGEST, cut_sets
from scenarios.cut_sets.standing import Harm, Moment, Standing, standings

BROKERS = range(1, 7)


def drawn(seed: int) -> list[Standing]:
    draw = random.Random(seed)
    found = []
    for number in range(draw.randint(1, 6)):
        replicas = draw.sample(BROKERS, draw.randint(1, 4))
        up = [broker for broker in BROKERS if draw.random() < 0.9]
        isr = replicas[: draw.randint(1, len(replicas))]
        elr = [broker for broker in replicas if broker not in isr and draw.random() < 0.2]
        copies = frozenset((*isr, *elr))
        alive = frozenset(up) & frozenset(replicas)
        found.append(
            Standing(
                TopicPartition("t", number), alive & frozenset(isr), alive & copies, alive - copies, copies, frozenset(replicas),
                draw.randint(1, len(replicas)), draw.random() < 0.5,
            )
        )  # fmt: skip
    return found


def harmed(found: Iterable[Standing], harm: Harm, moment: Moment, down: Iterable[int]) -> list[TopicPartition]:
    """Return the partitions that are harmed without some brokers, and are not harmed already."""
    needs = [(one.partition, need) for one in found if (need := one.need(harm, moment)) is not None]
    return [partition for partition, need in needs if need.is_broken(set(down)) and not need.is_broken(())]


@pytest.mark.parametrize("zoned", [False, True])
def test_cut_sets_are_those_of_all_subsets(zoned: bool) -> None:
    parts = {broker: broker % 3 if zoned else broker for broker in BROKERS}
    names = sorted(set(parts.values()))
    for seed in range(40):
        found = drawn(seed)
        for harm in Harm:
            for moment in Moment:
                sets = cut_sets(found, harm, moment, (lambda _, broker: parts[broker]) if zoned else None)
                for size in range(1, LARGEST + 1):
                    suffering = {
                        frozenset(chosen): harmed(found, harm, moment, [broker for broker in BROKERS if parts[broker] in chosen])
                        for chosen in combinations(names, size)
                    }
                    worst = sets.worst(size, 1000)
                    assert {frozenset(one.parts): list(one.partitions) for one in worst}.items() <= suffering.items()
                    assert [len(one.partitions) for one in worst] == sorted((len(one.partitions) for one in worst), reverse=True)
                    assert sets.worst(size, 2) == worst[:2]
                    minimal = {frozenset(one.parts) for one in worst}
                    smaller = {one for each in range(1, size) for one in sets.sets[each]}
                    assert {one for one, suffers in suffering.items() if suffers} <= {
                        one for one in suffering if one in minimal or any(part <= one for part in smaller)
                    }
                    if harm is not Harm.LOSES:  # more failures can turn a loss into a partition without a leader
                        assert sets.share(len(names), size) == sum(map(bool, suffering.values())) / comb(len(names), size)


def test_a_set_counts_the_partitions_that_need_all_of_it() -> None:
    def standing(number: int, *replicas: int) -> Standing:
        held = frozenset(replicas)
        return Standing(TopicPartition("t", number), held, held, frozenset(), held, held, 1, False)

    found = cut_sets([standing(0, 1), standing(1, 1, 2), standing(2, 2, 1), standing(3, 3, 4)], Harm.NO_LEADER, Moment.AT_ONCE)
    assert found.least == 1
    (one,) = found.worst(1, 9)
    assert (one.parts, len(one.partitions), one.only_together) == ((1,), 1, 1)
    two = found.worst(2, 9)
    assert [(each.parts, len(each.partitions), each.only_together) for each in two] == [((1, 2), 3, 2), ((3, 4), 1, 1)]


@pytest.mark.parametrize("seed", range(16))
def test_what_is_said_of_a_set_is_what_happens(seed: int) -> None:
    """Some replicas are out of the ISR at the start. Those that are alive join it while one broker after another fails."""
    draw = random.Random(seed)
    factor = draw.randint(2, 4)
    replicas = draw.sample(range(1, 6), factor)
    isr = tuple(replicas[: draw.randint(1, factor)])
    config = {"min.insync.replicas": str(draw.randint(1, factor)), "unclean.leader.election.enable": draw.choice(("true", "false"))}
    topic = TopicSpec("t", assignment=(PartitionSpec(tuple(replicas), isr=isr),), config=tuple(config.items()))
    spec = ClusterSpec(brokers=tuple(BrokerSpec(number) for number in range(1, 6)), topics=(topic,))
    for moment in (Moment.AT_ONCE, Moment.ONE_BY_ONE):
        for size in range(1, factor + 1):
            cluster = Cluster(spec, RELEASES[draw.choice(("2.4", "3.6", "4.3"))])
            (standing,) = standings(cluster, cluster.view())
            needs = {harm: standing.need(harm, moment) for harm in Harm}
            down = replicas[:size]  # the members of the ISR come first: the worst order
            for broker in down:
                cluster.do(Kill(broker))
                if moment is Moment.ONE_BY_ONE:
                    cluster.run_until(cluster.now + 60 * SECOND)
            cluster.run_until(cluster.now + 100 * SECOND)
            (view,) = cluster.view().partitions
            no_leader, refuses, loses = (needs[harm] for harm in (Harm.NO_LEADER, Harm.REFUSES, Harm.LOSES))
            assert no_leader is not None
            assert refuses is not None
            assert view.offline == no_leader.is_broken(down)
            unclean = loses is not None and loses.is_broken(down)
            assert (not view.offline and view.leader not in isr and moment is Moment.AT_ONCE) == (unclean and moment is Moment.AT_ONCE)
            if view.min_isr == 1:
                assert refuses.is_broken(down) == view.offline
            if moment is Moment.ONE_BY_ONE and not unclean:
                assert (view.offline or len(view.isr) < view.min_isr) == (refuses.is_broken(down) or view.offline)


def test_copysets_of_a_placement() -> None:
    def standing(number: int, replicas: frozenset[int]) -> Standing:
        return Standing(TopicPartition("t", number), replicas, replicas, frozenset(), replicas, replicas, 1, False)

    all_sets = [standing(number, frozenset(chosen)) for number, chosen in enumerate(combinations(range(9), 3))]
    found = copysets(all_sets, 9)
    assert found is not None
    assert (found.factor, found.found, found.scatter, found.share(found.found)) == (3, 84, 8.0, 1.0)
    assert found.needed == 12  # four permutations of three sets each
    assert copysets(all_sets[:1] * 5, 9).found == 1  # type: ignore[union-attr]
    assert copysets([standing(0, frozenset({1}))], 9) is None

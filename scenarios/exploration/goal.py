"""The goal of a search: a condition that faults are to make true, and the moments at which it can have become true."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from typing import Final

import attrs

from core.kafka.errors import KafkaError
from core.lab.acts import Act
from core.lab.cluster import Cluster
from core.lab.views.situation import Situation, situations
from core.sim.errors import ActRefused
from core.sim.units import SECOND
from scenarios.conditions.conditions import Compare, Condition, ages, audits, kinds_of
from scenarios.exploration.menu import remedies
from scenarios.exploration.sends import Sends
from scenarios.running.runner import LiveMoment

Timed = tuple[int, Act]
"""An act, with its virtual time in µs."""

CHECKED_EVERY: Final = SECOND // 4
"""How often a goal is checked even if the situation is not new, in µs, because its value can depend on times and offsets."""

RECOVERY: Final = 60 * SECOND
"""How long a cluster gets to recover when every fault has ended, in µs."""

ABOUT_RECORDS: Final = frozenset({"lost", "lost-acknowledged", "lost-read", "duplicated", "out-of-order"})
"""The readings that count records."""

ABOUT_LEADERS: Final = frozenset(
    {
        "leader", "leader-epoch", "partition-epoch", "isr", "isr-row", "elr", "replicas", "min-isr", "offline", "under-min-isr", "at-min-isr",
        "under-replicated", "isr-shrinks", "isr-expands", "unclean-elections", "state", "fenced", "leaders",
    }
)  # fmt: skip
"""The readings that say who leads and who is in sync, and do not depend on which batches reach whom."""


@attrs.frozen
class Check:
    """The end of an instant at which a goal can have become true, or at which something can be tried.

    Attributes:
        new: the situations of partitions that are there for the first time.
        sent: the situations of partitions before this instant in which a batch was sent to them for the first time.
    """

    new: tuple[Situation, ...] = ()
    sent: tuple[Situation, ...] = ()


class Goal:
    """A goal.

    Attributes:
        condition: the condition.
        is_lasting: whether it must stay true when every fault has ended, because it counts records. Until a leader is replaced, its log counts
            as the partition's, so records can be missing for a moment that another replica has.
        ages: whether it can become true merely because time passes.
        reads_records: whether it can depend on which batches reach whom.
    """

    def __init__(self, condition: Condition) -> None:
        """Check that the condition can be a goal.

        Raises:
            ValueError: the condition reads events or needs an audit of all messages, which a search does not keep.
        """
        if kinds_of(condition):
            raise ValueError("a goal reads the state of the cluster, not its events; for example offline > 0")
        if audits(condition):
            raise ValueError("a goal cannot read what needs an audit of all messages; for example lost > 0")
        self.condition: Final = condition
        self.ages: Final = ages(condition)
        compared = [part for part in condition.parts() if isinstance(part, Compare)]
        read = [term.text.partition("(")[0].strip() for part in compared for term in (part.left, part.right) if not term.literal]
        self.reads_records: Final = not ABOUT_LEADERS.issuperset(read)
        self.is_lasting: Final = bool(read) and ABOUT_RECORDS.issuperset(read)

    def holds(self, cluster: Cluster) -> bool:
        """Return whether the goal is true now."""
        return self.condition.holds(LiveMoment(cluster, {}))

    def reached(self, cluster: Cluster) -> bool:
        """Return whether the goal is true now and, if it must last, after every fault has ended. The cluster stays in its present state."""
        return self.holds(cluster) and self.lasts(cluster)

    def lasts(self, cluster: Cluster) -> bool:
        """Return whether the goal, which is true now, is still true after every fault has ended, if it must be."""
        if not self.is_lasting:
            return True
        here = cluster.snapshots.take(cluster)
        mend(cluster)
        lasts = self.holds(cluster)
        here.restore()
        return lasts

    def watch(self, cluster: Cluster, end: int, sends: Sends | None = None) -> Iterator[tuple[Check, bool]]:
        """Run a cluster up to a virtual time (`checks`). Yield what is checked, and whether the goal is reached."""
        false_at = None
        for check in checks(cluster, end, sends):
            counts = record_counts(cluster)
            if self.is_lasting and counts == false_at:
                yield check, False  # the goal reads only these numbers
                continue
            holds = self.holds(cluster)
            false_at = None if holds else counts
            yield check, holds and self.lasts(cluster)


def mend(cluster: Cluster) -> list[Timed]:
    """End every fault, and run the cluster until it has had time to recover. Return what was done."""
    done: list[Timed] = []
    for _ in range(4):
        for act in list(remedies(cluster)):
            with contextlib.suppress(ActRefused, KafkaError, ValueError):
                cluster.do(act)
                done.append((cluster.now, act))
        cluster.run_until(cluster.now + RECOVERY // 4)
    return done


def checks(cluster: Cluster, end: int, sends: Sends | None = None) -> Iterator[Check]:
    """Run a cluster up to a virtual time, and stop at the end of each instant at which a goal can have become true: when a partition has come
    into a situation for the first time, when records were lost or duplicated, and after `CHECKED_EVERY`. Also stop when the first batch was
    sent to a partition in a situation, if `sends` is given, and now, and at the end.
    """
    known: set[Situation] = set()
    sent_in: set[Situation] = set()
    here: list[Situation] = []
    seq, counts, checked = -1, record_counts(cluster), cluster.now
    while True:
        new: tuple[Situation, ...] = ()
        sent: tuple[Situation, ...] = ()
        if sends is not None and (partitions := sends.partitions()):
            sent = tuple([each for each in here if each[0] in partitions and each not in sent_in])
            sent_in.update(sent)
        now = counts
        if cluster.journal.seq != seq:  # without an event, nothing of this has changed
            seq = cluster.journal.seq
            here = situations(cluster)
            new = tuple([each for each in here if each not in known])
            known.update(new)
            now = record_counts(cluster)
        if new or sent or now != counts or cluster.now - checked >= CHECKED_EVERY:
            counts, checked = now, cluster.now
            yield Check(new, sent)
        coming = cluster.next_time()
        if coming is None or coming > end:
            break
        cluster.run_until(coming)
    cluster.run_until(end)
    yield Check()


def record_counts(cluster: Cluster) -> tuple[int, ...]:
    """Return the numbers of records that a goal about records can read."""
    account = cluster.account
    return account.lost, account.duplicated, account.lost_acknowledged, account.lost_read, account.out_of_order

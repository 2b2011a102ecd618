"""Seeded courses of acts. The same release and seed give the same course."""

from __future__ import annotations

import random
from collections.abc import Iterator
from typing import Any, Final

import attrs

BROKERS: Final = (1, 2, 3, 4)
"""The ids of the brokers."""

UNCLEAN: Final = "unclean.leader.election.enable"
MIN_ISR: Final = "min.insync.replicas"

TOPICS: Final[dict[str, tuple[list[list[int]], dict[str, str]]]] = {
    "a": ([[1, 2, 3], [4, 3, 1]], {MIN_ISR: "2"}),
    "b": ([[2, 4, 1], [3, 1, 4]], {MIN_ISR: "1"}),
    "c": ([[4, 2], [1, 3]], {MIN_ISR: "2"}),
    "d": ([[2, 3]], {MIN_ISR: "1", UNCLEAN: "true"}),
    "e": ([[3, 4, 1, 2]], {MIN_ISR: "3"}),
    "s": ([[4]], {MIN_ISR: "1"}),
    "u": ([[2, 3, 4], [4, 1, 2]], {MIN_ISR: "1", UNCLEAN: "true"}),
}
"""The replicas of each partition and the settings, by topic."""

PARTITIONS: Final = tuple(f"{topic}-{number}" for topic, (assignment, _) in TOPICS.items() for number in range(len(assignment)))
"""All partitions, without the prefix of the recording."""

THEMES: Final = (
    ("kill", "produce", "blackout", "unclean", "start", "pause", "produce", "elect", "cont", "kill"),
    ("stop", "produce", "reassign", "min-isr", "kill", "start", "delete", "controller", "stop", "produce"),
    ("pause", "produce", "kill", "reassign", "cont", "unclean", "stop", "start", "elect", "blackout"),
    ("kill", "produce", "kill", "start", "produce", "delete", "start", "min-isr", "reassign", "stop"),
)
"""The acts of a course, by the remainder of its seed. An act that is impossible at its place is replaced by records."""

Act = dict[str, Any]
"""An act: its `op`, its targets, and `settle` (whether the recorder waits until nothing moves, and then records the state)."""


@attrs.frozen
class Abilities:
    """What a release and its tools can do.

    Attributes:
        idempotence: producers can be idempotent.
        unclean_election: an operator can elect a leader uncleanly.
        deletes_records: records can be deleted.
        controller: there is a controller of its own, which can be restarted.
        any_target: a partition can be reassigned to a broker that is not alive.
    """

    idempotence: bool
    unclean_election: bool
    deletes_records: bool
    controller: bool
    any_target: bool

    @staticmethod
    def of(release: tuple[int, ...], *, zookeeper: bool) -> Abilities:
        """Return the abilities of a release."""
        return Abilities(release >= (0, 11), release >= (2, 4), release >= (0, 11), not zookeeper, release >= (2, 4))


def course(seed: int, abilities: Abilities) -> list[Act]:
    """Return the course of a seed: records in all partitions, the acts of its theme, everything back, an election, and records again."""
    return list(_Maker(random.Random(f"course {seed}"), abilities).acts(THEMES[(seed - 1) % len(THEMES)]))


class _Maker:
    def __init__(self, choice: random.Random, abilities: Abilities) -> None:
        self.choice = choice
        self.abilities = abilities
        self.state = dict.fromkeys(BROKERS, "up")
        self.unclean = {topic: settings.get(UNCLEAN, "false") for topic, (_, settings) in TOPICS.items()}
        self.min_isr = {topic: settings[MIN_ISR] for topic, (_, settings) in TOPICS.items()}

    def acts(self, theme: tuple[str, ...]) -> Iterator[Act]:
        kinds = ["all", "alli"] if self.abilities.idempotence else ["all"]
        yield {
            "op": "produce",
            "what": [[tp, self.choice.choice([2, 4, 6]), self.choice.choice(kinds)] for tp in PARTITIONS],
            "settle": True,
        }
        for word in theme:
            made = list(getattr(self, "_" + word.replace("-", "_"))())
            yield from made or self._produce()
        back = [broker for broker in BROKERS if self.state[broker] != "up"]
        self.choice.shuffle(back)
        for broker in back:
            yield {"op": "cont" if self.state[broker] == "paused" else "start", "broker": broker, "settle": True}
        yield {"op": "elect", "kind": "preferred", "settle": True}
        yield {"op": "produce", "what": [[tp, 2, "all"] for tp in PARTITIONS], "settle": True}

    def _in(self, state: str) -> list[int]:
        return [broker for broker in BROKERS if self.state[broker] == state]

    def _change(self, op: str, broker: int, state: str, *, settle: bool = True) -> Act:
        self.state[broker] = state
        return {"op": op, "broker": broker, "settle": settle}

    def _kill(self) -> Iterator[Act]:
        if len(self._in("up")) > 1:
            yield self._change("kill", self.choice.choice(self._in("up") + self._in("paused")), "dead")

    def _stop(self) -> Iterator[Act]:
        if len(self._in("up")) > 1:
            yield self._change("stop", self.choice.choice(self._in("up")), "dead")

    def _blackout(self) -> Iterator[Act]:
        up = self._in("up")
        if len(up) > 2:
            victims = self.choice.sample(up, 2)
            for broker in victims:
                yield self._change("kill", broker, "dead", settle=broker == victims[-1])

    def _start(self) -> Iterator[Act]:
        if self._in("dead"):
            yield self._change("start", self.choice.choice(self._in("dead")), "up")

    def _pause(self) -> Iterator[Act]:
        if len(self._in("up")) > 1:
            yield self._change("pause", self.choice.choice(self._in("up")), "paused")

    def _cont(self) -> Iterator[Act]:
        if self._in("paused"):
            yield self._change("cont", self.choice.choice(self._in("paused")), "up")

    def _produce(self) -> Iterator[Act]:
        kind = self.choice.choice(["all", "1", "1", "alli" if self.abilities.idempotence else "1"])
        chosen = [tp for tp in PARTITIONS if self.choice.random() < 0.75]
        yield {"op": "produce", "what": [[tp, self.choice.choice([1, 2, 5]), kind] for tp in chosen], "settle": True}

    def _unclean(self) -> Iterator[Act]:
        topic = self.choice.choice(["a", "b", "c", "e"])
        self.unclean[topic] = "false" if self.unclean[topic] == "true" else "true"
        yield {"op": "config", "topic": topic, "name": UNCLEAN, "value": self.unclean[topic], "settle": True}

    def _min_isr(self) -> Iterator[Act]:
        topic = self.choice.choice(list(TOPICS))
        self.min_isr[topic] = self.choice.choice([value for value in "1234" if value != self.min_isr[topic]])
        yield {"op": "config", "topic": topic, "name": MIN_ISR, "value": self.min_isr[topic], "settle": True}

    def _elect(self) -> Iterator[Act]:
        kind = self.choice.choice(["preferred", "unclean"] if self.abilities.unclean_election else ["preferred"])
        act = {"op": "elect", "kind": kind, "settle": True}
        yield {**act, "partition": self.choice.choice(PARTITIONS)} if kind == "unclean" else act

    def _controller(self) -> Iterator[Act]:
        if self.abilities.controller:
            yield {"op": "controller", "settle": True}

    def _delete(self) -> Iterator[Act]:
        if self.abilities.deletes_records:
            yield {"op": "delete", "partition": self.choice.choice(PARTITIONS), "offset": self.choice.choice([1, 3]), "settle": True}

    def _reassign(self) -> Iterator[Act]:
        pool = list(BROKERS) if self.abilities.any_target else self._in("up")
        replicas = self.choice.sample(pool, min(len(pool), self.choice.choice([1, 2, 3, 3, 4])))
        yield {"op": "reassign", "partition": self.choice.choice(PARTITIONS), "replicas": replicas, "settle": True}

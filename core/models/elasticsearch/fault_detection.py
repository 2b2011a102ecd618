"""Fault detection: a master checks its nodes, and nodes check their master (`FollowersChecker`, `LeaderChecker`)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from core.models.elasticsearch.elasticsearch_messages import Check, CheckAnswer
from core.models.elasticsearch.settings import ElasticsearchSettings
from core.models.server import Server


class FaultDetection:
    """The checks that a node makes.

    A check that times out is a failure; after enough failures in a row, the checked node counts as lost. A node whose connection is closed
    counts as lost immediately; the caller ensures this.

    Attributes:
        checked: the checked nodes, each with the number of the current check and the failures in a row.
        of_master: whether the checked node is the master.
    """

    __slots__ = ("_lost", "_node", "_number", "_settings", "_term", "checked", "of_master")

    def __init__(self, node: Server, settings: ElasticsearchSettings, term: Callable[[], int], lost: Callable[[str, str], None]) -> None:
        self._node: Final = node
        self._settings: Final = settings
        self._term = term
        self._lost = lost
        self._number = 0
        self.checked: dict[str, tuple[int, int]] = {}
        self.of_master = False
        node.timers["check"] = self._check
        node.timers["check time-out"] = self._timed_out

    def watch(self, nodes: list[str], *, of_master: bool) -> None:
        """From now on, check exactly the given nodes."""
        if self.of_master != of_master:
            self.checked.clear()
            self.of_master = of_master
        for name in list(self.checked):
            if name not in nodes:
                del self.checked[name]
        for name in nodes:
            if name not in self.checked:
                self.checked[name] = (0, 0)
                self._send(name)

    def _send(self, name: str) -> None:
        self._number += 1
        self.checked[name] = (self._number, self.checked[name][1])
        self._node.send(name, Check(self._term(), self._number, self.of_master))
        self._node.timer(self._settings.check_timeout, "check time-out", (name, self._number))

    def _check(self, about: tuple[str, int]) -> None:
        name, number = about
        if self.checked.get(name, (0, 0))[0] == number:
            self._send(name)

    def answered(self, answer: CheckAnswer, name: str) -> None:
        """Handle the answer from the checked node."""
        if self.checked.get(name, (0, 0))[0] != answer.number or answer.of_master != self.of_master:
            return
        if not answer.ok:
            self._lost(name, "it is not in the same cluster any more")
            return
        self.checked[name] = (answer.number, 0)
        self._node.timer(self._settings.check_interval, "check", (name, answer.number))

    def _timed_out(self, about: tuple[str, int]) -> None:
        name, number = about
        present, failures = self.checked.get(name, (0, 0))
        if present != number:
            return
        self.checked[name] = (number, failures + 1)
        if failures + 1 >= self._settings.check_retries:
            self._lost(name, f"{failures + 1} checks in a row had no answer")
        else:
            self._node.timer(self._settings.check_interval, "check", (name, number))

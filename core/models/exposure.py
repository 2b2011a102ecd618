"""Exposure: the acknowledged writes that are missing from every copy that could replace the primary.

If the primary were permanently lost now, the exposed writes would be lost, too. A copy can replace the primary if its process is running
and the model would make it the primary without an operator. MySQL never promotes a replica without an operator. In MySQL, replicas of the
current source count as copies that can replace the primary, because an operator could promote them. While there is no primary, nothing is
counted. A write that is already lost remains exposed. Writes by probes don't count.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final, Protocol

import attrs

from core.models.account import OK, Account
from core.models.client_messages import Row
from core.models.report import Report


class Replicated(Protocol):
    """The part of a system that the exposure depends on."""

    @property
    def account(self) -> Account:
        """The account of what clients requested and how their requests ended."""

    @property
    def now(self) -> int:
        """Virtual time, in µs."""

    def next_time(self) -> int | None:
        """Return the time of the next step, in µs; None if nothing is scheduled."""

    def run_until(self, time: int) -> None:
        """Run until a given time, in µs."""

    def authority(self) -> str:
        """Return the primary; empty if there is none."""

    def electable(self) -> tuple[str, ...]:
        """Return the servers that could replace the primary."""

    def holds(self, server: str, row: Row) -> bool:
        """Return whether a server has received a row."""

    def copy_state(self, server: str) -> tuple[int, int]:
        """Return a number that changes if the copy's content is replaced, and the length of the copy."""

    def received_since(self, server: str, length: int) -> Iterable[Row]:
        """Return the rows that a copy has received since the copy had a given length."""


class Exposure:
    """The exposure of a system over time. The exposure is exact only if the caller runs the system with `run_until`.

    Attributes:
        most: the highest number of writes that were exposed at the same time.
        area: the total exposure, which is the sum, over all writes, of the time for which each write was exposed, in µs.
    """

    def __init__(self, system: Replicated) -> None:
        self._system: Final = system
        self._exposed: Final[dict[int, None]] = {}
        self._acked: Final[list[Row]] = []
        self._seen = 0
        self._event = -1
        self._since = system.now
        self._others: tuple[str, ...] = ()
        self._states: dict[str, tuple[int, int]] = {}
        self._primary = ""
        self.most = 0
        self.area = 0

    @property
    def present(self) -> int:
        """The number of writes that are exposed now."""
        return len(self._exposed) if self._primary else 0

    def run_until(self, time: int) -> None:
        """Run the system until a given time, in µs, and observe it after each step."""
        system = self._system
        while (due := system.next_time()) is not None and due <= time:
            system.run_until(due)
            self.observe()
        system.run_until(time)
        self.observe()

    def observe(self) -> None:
        """Update the exposure to the present moment."""
        system = self._system
        self.area += self.present * (system.now - self._since)
        self._since = system.now
        seq = system.account.journal.seq
        if seq == self._event:
            return
        self._event = seq
        writes = system.account.writes
        new = [each.row for each in writes[self._seen :] if each.outcome == OK and not each.probe]
        self._seen = len(writes)
        self._acked.extend(new)
        if self._changed():
            self._exposed.clear()
            new = self._acked
        self._exposed.update(dict.fromkeys(row.uid for row in new if not any(system.holds(server, row) for server in self._others)))
        self.most = max(self.most, self.present)

    def added_to(self, report: Report) -> Report:
        """Return a report with the exposure so far."""
        return attrs.evolve(report, exposed=self.most, exposed_us=self.area)

    def recheck(self) -> None:
        """Check all rows again at the next observation, because an operator or a fault might have replaced the content of a copy."""
        self._states.clear()
        self._event = -1

    def _changed(self) -> bool:
        """Record the primary, the copies that could replace the primary, and the rows that these copies have received. Return whether rows
        that were safe might now be exposed.
        """
        system = self._system
        primary, others = system.authority(), system.electable()
        states = {server: system.copy_state(server) for server in others}
        known = self._states
        same = others == self._others and all(
            server in known and state[0] == known[server][0] and state[1] >= known[server][1] for server, state in states.items()
        )
        if same and self._exposed:
            for server, state in states.items():
                for row in system.received_since(server, known[server][1]) if state[1] > known[server][1] else ():
                    self._exposed.pop(row.uid, None)
        self._primary, self._others, self._states = primary, others, states
        return not same

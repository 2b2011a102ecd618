"""Several systems that run in lockstep with the common workload. A user chooses the faults. A frozen view of each system shows what the
system has done so far.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence
from typing import Final

import attrs

from core.kafka.events import KINDS as KAFKA_KINDS
from core.lab import act_sentences
from core.lab.model_comparison.comparison import Run
from core.lab.model_comparison.faults import OPERATOR_AFTER, Fault
from core.lab.model_comparison.kafka_system import KafkaSystem
from core.lab.model_comparison.systems import Variant
from core.lab.model_comparison.table import cells, copy_cells
from core.models import acts, catalogue
from core.models.account import OK, ReadRecord, WriteRecord
from core.models.mysql.system import MySQL
from core.models.report import Report
from core.models.server import CopyView
from core.sim.errors import ActRefused
from core.sim.events import NOTABLE, EventTuple, first_cause, kind_of, seq_of, time_of
from core.sim.units import SECOND, US_PER_MS, format_duration

END: Final = 180 * SECOND
"""The length of a session, in µs."""

IN_FLIGHT: Final = 1_500
"""The time from the start of a write to the moment at which an act takes effect, in µs. If replication is asynchronous, the act therefore
takes effect after the write is acknowledged and before any replica has it.
"""

EVERY: Final = 20 * US_PER_MS
"""The interval between the moments at which acts can take effect, in µs."""

KEPT: Final = 60_000
"""The maximum number of events that are kept for each system."""

TAKEOVERS: Final = frozenset({"leader-elected", "mysql-promoted", "primary-promoted", "raft-elected"})
"""The kinds of events that report that another copy has become the primary."""

SWITCHES: Final = frozenset({"semi-sync-off", "semi-sync-on"})
"""The kinds of events that report that MySQL has suspended or resumed semi-synchronous replication."""

HIDDEN: Final = frozenset({"act", "link-cut", "link-healed"})
"""The kinds of events about the user's own actions, which the list of the latest important events omits."""

NO_FAULT: Final = Fault("live", "the user decides", (), healed_at=END)

NAMES: Final = ("kafka", "mysql-semi-sync", "elasticsearch", "quorum")
"""The systems that the screen shows."""

WEAK_NAMES: Final = ("kafka-acks-1", "mysql", "elasticsearch", "quorum")
"""The systems that the screen shows with weak settings: Kafka and MySQL acknowledge a write before another copy has it, and the other
systems are the same as in `NAMES`.
"""


@attrs.frozen
class LiveEvent:
    """An event of a system: its time since the start, in µs, and its sentence."""

    at: int
    text: str


@attrs.frozen
class LiveView:
    """The state of a system at one moment.

    Attributes:
        name, title: the name and the title of the variant.
        now: the virtual time since the start of the comparison, in µs.
        primary: the authoritative server (leader, source, or primary); empty if there is none.
        copies: a view of each copy of the data.
        cells: the counts so far, in the order of `core.lab.model_comparison.table.COLUMNS`.
        copy_cells: the risks and costs of the copies, in the order of `core.lab.model_comparison.table.COPY_COLUMNS`.
        is_harmed: whether an acknowledged write is lost, or a read returned a row that no longer exists.
        why: the cause of the harm, in sentences.
        events: the latest important events, oldest first.
    """

    name: str
    title: str
    now: int
    primary: str
    copies: tuple[CopyView, ...]
    cells: tuple[str, ...]
    copy_cells: tuple[str, ...]
    is_harmed: bool
    why: str
    events: tuple[LiveEvent, ...]


class LiveRun(Run):
    """A system whose faults the user chooses. With MySQL, an operator promotes a replica 30 s after the source has stopped answering.

    Attributes:
        events: the latest events of the system.
        silent_since: the time from the start of the run to the primary's fault, in µs; -1 if the primary has no fault.
        last_act: the sequence number of the first event of the last fault.
    """

    def __init__(self, variant: Variant, seed: int = 0) -> None:
        self.events: deque[EventTuple] = deque(maxlen=KEPT)
        self.silent_since = -1
        self.last_act = 0
        super().__init__(variant, NO_FAULT, seed, self.events.append)

    @property
    def avoids_first(self) -> bool:
        return True

    def _operate_until(self, time: int) -> None:
        """If the operator's promotion is due by `time`, run to that moment and promote a replica."""
        system = self.system
        if not isinstance(system, MySQL) or self.silent_since < 0 or self.silent_since + OPERATOR_AFTER > time:
            return
        due, self.silent_since = self.silent_since + OPERATOR_AFTER, -1
        self._advance(due)
        try:
            system.do(acts.Promote())
        except ActRefused as refused:
            self.refused.append(f"promote a replica: {refused}")
        self.exposure.recheck()

    def act_on_primary(self, word: str) -> str:
        """Kill, pause, or isolate the current primary. Return the reason if the system refuses the fault; otherwise, return an empty
        string.
        """
        primary = self.system.authority()
        if not primary:
            return "there is no primary"
        act: acts.Act = acts.Kill(primary) if word == "kill" else acts.Pause(primary)
        if word == "isolate":
            act = acts.Isolate(primary, ("a", "ra"))
        before = seq_of(self.events[-1]) if self.events else 0
        try:
            self.system.do(act)
        except ActRefused as refused:
            return str(refused)
        self.exposure.recheck()
        self.last_act = before + 1
        if self.silent_since < 0:
            self.silent_since = self.elapsed
        return ""

    def repair(self) -> None:
        """End all faults."""
        self.system.repair()
        self.exposure.recheck()
        self.silent_since = -1

    # --- views --------------------------------------------------------------------------------------------------------

    def live_view(self, events: int = 12) -> LiveView:
        """Return a frozen view of the present moment, with the latest events."""
        report = self.report()
        variant = self.variant
        shown: list[EventTuple] = []
        for event in self.events:
            if time_of(event) >= self.start and self._is_important(event):
                if shown and kind_of(shown[-1]) == kind_of(event) == "records-lost":
                    shown.pop()
                shown.append(event)
        return LiveView(
            variant.name, variant.title, self.elapsed, report.authority, self.system.copies(), cells(report), copy_cells(variant, report),
            bool(report.lost or report.dirty), self._why(report), tuple(map(self._told, shown[-events:])),
        )  # fmt: skip

    def history_of_harm(self) -> tuple[LiveEvent, ...]:
        """Return the events that led to the latest harm, oldest first: the causes, the harm, and the takeover if writes are lost."""
        report = self.system.report()
        takeover = self._takeover()
        if report.lost_rows:
            lost = report.lost_rows[-1]
            write = next(each for each in reversed(list(self.system.account.writes)) if each.row == lost)
            chain = [*self._chain(write.event), *self._chain(self.last_act)]
            for event in self._reasons(write):
                chain += self._chain(seq_of(event))
        else:
            stale = self._last_stale()
            harm = seq_of(takeover) if takeover is not None and time_of(takeover) > self.start else stale.event if stale is not None else 0
            chain = [*self._chain(harm), *self._chain(self.last_act)]
        return tuple(self._told(event) for event in sorted(dict.fromkeys(chain)))

    def _chain(self, seq: int) -> list[EventTuple]:
        """Return an event and those of its causes that are still in memory."""
        known = {seq_of(event): event for event in self.events}
        chain = []
        while seq in known:
            chain.append(known[seq])
            seq = first_cause(known[seq])
        return chain[::-1]

    def _is_kafka(self, event: EventTuple) -> bool:
        return self.variant.model == "kafka" and kind_of(event) in KAFKA_KINDS

    def _is_important(self, event: EventTuple) -> bool:
        kinds = KAFKA_KINDS if self._is_kafka(event) else catalogue.KINDS
        return kinds[kind_of(event)].level >= NOTABLE and kind_of(event) not in HIDDEN

    def _told(self, event: EventTuple) -> LiveEvent:
        text = act_sentences.sentence(event) if self._is_kafka(event) else catalogue.sentence(event)
        return LiveEvent(time_of(event) - self.start, text)

    def _takeover(self) -> EventTuple | None:
        return next((event for event in reversed(self.events) if kind_of(event) in TAKEOVERS and time_of(event) > self.start), None)

    def _reasons(self, lost: WriteRecord) -> list[EventTuple]:
        """Return the events that explain a lost write: the last suspension of MySQL's semi-synchronous replication, and the takeover."""
        found = []
        switch = next((event for event in reversed(self.events) if kind_of(event) in SWITCHES and time_of(event) <= lost.ended), None)
        if switch is not None and kind_of(switch) == "semi-sync-off":
            found.append(switch)
        takeover = self._takeover()
        return found if takeover is None else [*found, takeover]

    def _why(self, report: Report) -> str:
        """Return the cause of the worst harm so far, in sentences."""
        takeover = self._takeover()
        taken = "" if takeover is None else self._told(takeover).text
        parts = []
        if report.lost_rows:
            row = report.lost_rows[-1]
            told = next(each for each in reversed(list(self.system.account.writes)) if each.row == row)
            parts.append(
                f"LOST: at {self._time(told.ended)}, {told.client} was told that version {row.version} of {row.key} was written; "
                f"{report.authority} lacks it"
            )
            reasons = [self._told(event).text for event in self._reasons(told)]
            parts += [f"Why: {', and then '.join(reasons)}"] if reasons else []
        elif not report.authority:
            last = next(
                (self._told(event).text for event in reversed(self.events) if kind_of(event) in ("process-died", "broker-stopped")), ""
            )
            parts.append("NO PRIMARY: no server accepts writes" + (f"; {last}" if last else ""))
        elif self._cannot_write():
            parts.append("NO WRITES: the last test write got no acknowledgment. No acknowledged write is lost so far")
        elif report.write_unavailable_us and taken:
            parts.append(
                f"No acknowledged write is lost. For {report.write_unavailable_us / SECOND:.1f} s, no client could write, until {taken}"
            )
        else:
            parts.append("No acknowledged write is lost")
            parts += [f"After the fault, {taken}"] if taken else []
        if report.dirty and not report.lost_rows:
            parts.append(f"DIRTY: {report.dirty:,} reads returned rows that {report.authority} lacks")
        if isinstance(self.system, MySQL) and self.silent_since >= 0:
            left = max(0, self.silent_since + OPERATOR_AFTER - self.elapsed)
            parts.append(f"An operator promotes a replica in {-(-left // SECOND)} s")
        stale = self._last_stale()
        if stale is not None:
            count = f"{stale.stale:,} version{'' if stale.stale == 1 else 's'}"
            if stale.own_missing and stale.server == report.authority and self._acknowledges_before_it_shows():
                parts.append(
                    f"Last stale read: at {self._time(stale.ended)}, a read by {stale.client} from the leader {stale.server} missed {count} of that client's own writes"
                )
                parts.append(
                    "With acks=1, the leader acknowledges a record before the high watermark passes it, and consumers can read only up to the high watermark"
                )
            else:
                parts.append(
                    f"Last stale read: at {self._time(stale.ended)}, a read by {stale.client} from {stale.server} was {count} behind"
                )
        return ". ".join(part.rstrip(".") for part in parts) + "."

    def _time(self, moment: int) -> str:
        return format_duration((moment - self.start) // US_PER_MS * US_PER_MS)

    def _acknowledges_before_it_shows(self) -> bool:
        """Whether a leader acknowledges writes before it makes them visible to readers."""
        return isinstance(self.system, KafkaSystem) and self.system.settings.acks == 1

    def _cannot_write(self) -> bool:
        """Whether the last write of the probe failed."""
        last = next((each for each in reversed(list(self.system.account.writes)) if each.probe), None)
        return last is not None and last.outcome != OK

    def _last_stale(self) -> ReadRecord | None:
        return next((each for each in reversed(list(self.system.account.reads)) if each.stale and not each.probe), None)


class LiveComparison:
    """The systems that the screen compares.

    Attributes:
        runs: the run of each system.
        now: the virtual time since the start of the comparison, in µs.
    """

    def __init__(self, variants: Sequence[Variant], seed: int = 0) -> None:
        self.runs: Final = tuple(LiveRun(variant, seed) for variant in variants)
        self.now = 0

    def run_until(self, time: int) -> None:
        """Run all systems until a given time since the start."""
        self.now = min(END, max(self.now, time))
        for run in self.runs:
            run.run_until(self.now)

    def do(self, word: str) -> str:
        """Kill, pause, or isolate the primary in all systems at the next moment at which writes are in progress. Return a sentence that
        says what happened.
        """
        self.run_until((self.now + EVERY - IN_FLIGHT - 1) // EVERY * EVERY + IN_FLIGHT)
        refused = [f"{run.variant.model}: {reason}" for run in self.runs if (reason := run.act_on_primary(word))]
        what = {"kill": "killed the primary", "pause": "paused the primary", "isolate": "cut off the primary with clients a and ra"}[word]
        return f"{what} in all systems" if not refused else f"{what}, but not in {'; '.join(refused)}"

    def repair(self) -> str:
        """End all faults. Return a sentence that says what happened."""
        for run in self.runs:
            run.repair()
        return "repaired everything"

    def views(self) -> tuple[LiveView, ...]:
        """Return frozen views of all systems."""
        return tuple(run.live_view() for run in self.runs)

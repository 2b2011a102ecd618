"""Compares the model with a recording of groups, value by value.

The recorded machine was busy, so differences of a few seconds do not count. The next heartbeat can be up to 3 s away, so the times of
events that follow from a heartbeat can also differ by 3 s.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterable, Iterator
from functools import partial
from typing import Any, Final

from core.kafka import events
from core.kafka.log.offset_set import OffsetSet
from tests.fidelity.comparison import Best, Comparison, best_of
from tests.fidelity.groups.explained import GROUPS_EXPLAINED
from tests.fidelity.groups.player import PREFIX, GroupPlayer
from tests.fidelity.groups.recording import GroupRecording

GENERATIONS: Final = "generations"
ASSIGNMENTS: Final = "assignments"
CALLBACKS: Final = "callbacks"
REMOVALS: Final = "removed members"
TIMES: Final = "times"
ERRORS: Final = "errors"
PROCESSED: Final = "processed records"
COMMITTED: Final = "committed offsets"
POSITIONS: Final = "positions"
LOG_ENDS: Final = "log end offsets"
LAGS: Final = "lags"
RESETS: Final = "reset offsets"

GROUP_MEASURES: Final = (
    GENERATIONS,
    ASSIGNMENTS,
    CALLBACKS,
    REMOVALS,
    TIMES,
    ERRORS,
    PROCESSED,
    COMMITTED,
    POSITIONS,
    LOG_ENDS,
    LAGS,
    RESETS,
)
"""The compared measures, in the order of the table."""

TOLERANCE: Final = 4.0
"""The maximum difference between two times in seconds: a heartbeat interval, plus the delay that a busy machine adds."""

LISTENER: Final = {events.PartitionsAssigned: "assigned", events.PartitionsRevoked: "revoked", events.PartitionsLost: "lost"}
"""The callbacks behind the events."""


PHASES: Final = 6
"""The number of phases of the heartbeats that are tried for a recording."""


def compare_groups(recording: GroupRecording, phase: int = 0) -> list[Comparison]:
    """Return every value of a recording together with the value of the model."""
    player = GroupPlayer(recording, phase)
    player.play()
    return [*_coordinator(recording, player), *_members(recording, player), *_records(recording, player), *_samples(recording, player)]


def best_comparison(recording: GroupRecording) -> Best:
    """Return the replay that agrees best with the recording. The phases of heartbeats are not recorded, so several are tried."""
    return best_of([partial(compare_groups, recording, phase) for phase in range(PHASES)], GROUPS_EXPLAINED)


# --- the coordinator -----------------------------------------------------------------------------------------------


def _recorded_lines(recording: GroupRecording, group: str) -> Iterator[tuple[str, float, Any]]:
    """Yield the lines that the coordinator logged about a group, as (measure, seconds, value)."""
    for at, _, text in recording.log:
        if not re.search(rf"(?<![\w-]){re.escape(group)}(?![\w-])", text):
            continue
        if found := re.search(r"Stabilized group \S+ generation (\d+)(?: \(\S+\))? with (\d+) members", text):
            yield GENERATIONS, at, (int(found[1]), int(found[2]))
        elif found := re.search(r"Group \S+ with generation (\d+)(?: \(\S+\))? is now empty", text):
            yield GENERATIONS, at, (int(found[1]), 0)
        elif found := re.search(r"Member (\S+) in group \S+ has failed", text):
            yield REMOVALS, at, (found[1], "session-timeout")
        elif found := re.search(r"Member (\S+) has left group through explicit", text):
            yield REMOVALS, at, (found[1], "removed" if "admin" in text else "left")
        elif found := re.search(r"Member\[group.instance.id (\S+), member.id (\S+)\] in group \S+ has left", text):
            yield REMOVALS, at, (found[2], "left" if found[1] == "None" else "removed")


def _model_lines(player: GroupPlayer, group: str) -> Iterator[tuple[str, float, Any]]:
    kinds = (events.GroupGeneration, events.GroupEmptied, events.GroupMemberRemoved)
    for at, event in player.events(*kinds):
        if event.group != group:
            continue
        if isinstance(event, events.GroupGeneration):
            yield GENERATIONS, at, (event.generation, event.member_ids.count(",") + 1)
        elif isinstance(event, events.GroupEmptied):
            yield GENERATIONS, at, (event.generation, 0)
        else:
            yield REMOVALS, at, (event.member_id, event.why)


def _coordinator(recording: GroupRecording, player: GroupPlayer) -> Iterator[Comparison]:
    for group in recording.groups:
        recorded, model = list(_recorded_lines(recording, group)), list(_model_lines(player, group))
        where = f"{recording.name} {group}"
        for measure in (GENERATIONS, REMOVALS):
            one = [value for what, _, value in recorded if what == measure]
            other = [value for what, _, value in model if what == measure]
            if one or other:
                yield Comparison(
                    measure, where, sorted(one) if measure == REMOVALS else one, sorted(other) if measure == REMOVALS else other
                )
        for number, ((what, at, value), (_, model_at, model_value)) in enumerate(zip(recorded, model, strict=False)):
            if what == GENERATIONS and value == model_value:
                apart = round(model_at - at, 1)
                yield Comparison(
                    TIMES,
                    f"{where} line {number + 1}",
                    "within the tolerance",
                    "within the tolerance" if abs(apart) <= TOLERANCE else apart,
                )


def _generations(lines: Iterable[tuple[str, float, Any]]) -> list[Any]:
    return [value for what, _, value in lines if what == GENERATIONS]


# --- the members ---------------------------------------------------------------------------------------------------


def _callbacks(recording: GroupRecording) -> dict[str, list[tuple[str, tuple[str, ...], int]]]:
    found: dict[str, list[tuple[str, tuple[str, ...], int]]] = {joiner.who: [] for joiner in recording.joiners}
    for event in recording.events:
        if event.get("ev") in LISTENER.values():
            generation = event["gen"] if event["ev"] != "lost" else 0
            found[event["who"]].append((event["ev"], tuple(sorted(event["parts"])), generation))
    return found


def _model_callbacks(recording: GroupRecording, player: GroupPlayer) -> dict[str, list[tuple[str, tuple[str, ...], int]]]:
    found: dict[str, list[tuple[str, tuple[str, ...], int]]] = {joiner.who: [] for joiner in recording.joiners}
    for _, event in player.events(*LISTENER):
        parts = tuple(sorted(name for name in event.partition_names.split(", ") if name))
        generation = 0 if isinstance(event, events.PartitionsLost) else event.generation
        found[event.client.removeprefix(PREFIX)].append((LISTENER[type(event)], parts, generation))
    return found


def _ranked(callbacks: dict[str, list[tuple[str, tuple[str, ...], int]]], joiners: Iterable[str]) -> None:
    """Replace the generations in the callbacks of a group's members with their ranks."""
    members = list(joiners)
    ranks = {generation: rank for rank, generation in enumerate(sorted({each[2] for who in members for each in callbacks[who]}))}
    for who in members:
        callbacks[who] = [(what, parts, ranks[generation]) for what, parts, generation in callbacks[who]]


def _owned(callbacks: Iterable[tuple[str, tuple[str, ...], int]]) -> dict[int, tuple[str, ...]]:
    """Return the partitions that a member owns in each generation."""
    owned: dict[str, None] = {}
    found: dict[int, tuple[str, ...]] = {}
    for what, parts, generation in callbacks:
        for part in parts:
            if what == "assigned":
                owned[part] = None
            else:
                owned.pop(part, None)
        if what == "assigned":
            found[generation] = tuple(sorted(owned))
    return found


def _members(recording: GroupRecording, player: GroupPlayer) -> Iterator[Comparison]:
    recorded, model = _callbacks(recording), _model_callbacks(recording, player)
    for group in recording.groups:
        if _generations(_recorded_lines(recording, group)) != _generations(_model_lines(player, group)):
            # The number of rebalances differs, which is a difference of its own. Later generations are compared by their order.
            members = [joiner.who for joiner in recording.joiners if joiner.group == group]
            _ranked(recorded, members)
            _ranked(model, members)
    for who in recorded:
        where = f"{recording.name} {who}"
        one, other = _owned(recorded[who]), _owned(model[who])
        for generation in one:
            yield Comparison(ASSIGNMENTS, f"{where} generation {generation}", one[generation], other.get(generation))
        yield Comparison(CALLBACKS, where, recorded[who], model[who])
        told = [_exception(event["error"]) for event in recording.events if event["who"] == who and _failed(event)]
        failed = [
            event.error.partition(":")[0]
            for _, event in player.events(events.CommitFailed, events.PollFailed)
            if event.client == PREFIX + who and event.error
        ]
        if told or failed:
            yield Comparison(ERRORS, where, _without_repeats(told), _without_repeats(failed))


def _failed(event: dict[str, Any]) -> bool:
    return (event.get("ev") == "commit" and not event["ok"]) or (event.get("ev") == "error" and event.get("at") == "poll")


def _exception(text: str) -> str:
    return text.partition(":")[0].rpartition(".")[2]


def _without_repeats(names: list[str]) -> list[str]:
    return [name for number, name in enumerate(names) if not number or names[number - 1] != name]


# --- records -------------------------------------------------------------------------------------------------------


def _records(recording: GroupRecording, player: GroupPlayer) -> Iterator[Comparison]:
    loaded = any(act["op"] == "load" for act in recording.acts)
    for event in recording.events:
        if event.get("ev") not in ("closed", "report", "crash") or loaded:
            continue
        who = event["who"]
        recorded = {part: list(OffsetSet.of((first, last + 1) for first, last in ranges)) for part, ranges in event["processed"].items()}
        model: dict[str, OffsetSet] = {}
        for at, done in player.events(events.RecordsProcessed):
            if done.client == PREFIX + who and at <= event["t"] + 6:
                model.setdefault(done.tp, OffsetSet()).add(done.from_offset, done.to_offset)
        yield Comparison(
            PROCESSED, f"{recording.name} {who}", recorded, {part: list(model[part]) for part in sorted(model)} if recorded else {}
        )
    yield from _positions(recording, player)
    for at, printed, committed_then in player.resets:
        yield Comparison(RESETS, f"{recording.name} at {at:.1f} s", printed, committed_then)
    committed = player.committed()
    for (group, part), offset in recording.offsets.items():
        yield Comparison(COMMITTED, f"{recording.name} {group} {part}", offset, committed.get((group, part)))


SLACK: Final = 50
"""The maximum difference between two lags or log end offsets in records: the records of half a second."""


def _samples(recording: GroupRecording, player: GroupPlayer) -> Iterator[Comparison]:
    """Compare the samples of a group under load. Between two samples, the load is unknown; how far a slow consumer gets depends on the
    machine, so only its commit that waited for the ISR is compared."""
    within = "within the tolerance"
    fast = next((joiner.group for joiner in recording.joiners if "perRecord" not in joiner.sets), "")
    for sample, model in zip(recording.samples, player.samples, strict=True):
        for part, (committed, end) in sample.rows.items():
            where = f"{recording.name} {sample.group} {part} at {sample.at:.1f} s"
            apart = model[part][1] - end
            yield Comparison(LOG_ENDS, where, within, within if abs(apart) <= SLACK else apart)
            if sample.group == fast:
                more = (model[part][1] - model[part][0]) - (end - committed)
                yield Comparison(LAGS, where, within, within if abs(more) <= SLACK else more)
    for event in recording.events if recording.samples else ():
        if event.get("ev") == "commit" and event["ok"] and event["took"] > 1000:
            group = next(joiner.group for joiner in recording.joiners if joiner.who == event["who"])
            times = [at for at, each in player.events(events.OffsetCommitted) if each.group == group]
            gap, at = max((later - sooner, later) for sooner, later in itertools.pairwise(times))
            apart = round(at - event["t"], 1)
            agrees = abs(apart) <= TOLERANCE and abs(gap - event["took"] / 1000) <= TOLERANCE
            yield Comparison(TIMES, f"{recording.name} {event['who']} waits for its commit", within, within if agrees else (gap, apart))
    if recording.samples:
        last: dict[str, tuple[int, int]] = recording.samples[-2].rows
        yield Comparison(LOG_ENDS, f"{recording.name} at the end", {part: end for part, (_, end) in last.items()},
                         {part: end for part, (_, end) in player.samples[-2].items()})  # fmt: skip


def _positions(recording: GroupRecording, player: GroupPlayer) -> Iterator[Comparison]:
    """Compare the positions of consumers, unless position() threw an exception."""
    for who, model in player.positions.items():
        answers = [
            event for event in recording.events
            if event["who"] == who and (event.get("ev") == "position" or (event.get("ev") == "error" and event.get("at") == "position"))
        ]  # fmt: skip
        for number, (recorded, at) in enumerate(zip(answers, model, strict=False)):
            if recorded["ev"] == "position":
                yield Comparison(POSITIONS, f"{recording.name} {who} {number + 1}", recorded["position"], at)

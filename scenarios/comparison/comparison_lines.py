"""Writes a comparison of two logs as text and as data for JSON."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from typing import Any, Final

from core.kafka.events.base import count_of, ids
from core.kafka.ids import TopicPartition
from core.sim.units import US_PER_MS, format_clock, format_duration
from scenarios.comparison.log_comparison import Compared, Difference, LogComparison, Verdict
from scenarios.comparison.log_history import Change, Leadership, LogHistory, State

MOST_SUBJECTS: Final = 50
"""The number of partitions and brokers whose differences are printed, and of topics and brokers that only one log has."""

MOST_CHANGES: Final = 12
"""The number of differences of a partition or broker that are printed."""

_INDENT: Final = 14

_SUMMARY: Final = {
    Verdict.OTHER_LEADER: ("ends with another leader", "end with another leader"),
    Verdict.OTHER_END: ("ends in another state", "end in another state"),
    Verdict.ONLY_ONE: ("is in one log only", "are in one log only"),
    Verdict.OTHER_CHANGES: ("has other changes", "have other changes"),
    Verdict.OTHER_EPOCH: ("has other elections", "have other elections"),
    Verdict.OTHER_TIMES: ("changes at other times", "change at other times"),
}

Subject = TopicPartition | int


def comparison_lines(compared: LogComparison) -> Iterator[str]:
    """Yield the comparison as lines of text: a summary, the two logs, and what differs, worst first."""
    yield _summary(compared)
    for letter, log in (("A", compared.a), ("B", compared.b)):
        yield f"  {letter}  {log.source}: {_about(log)}"
    alignment = compared.alignment
    yield f"  aligned at {alignment.at}: {format_clock(alignment.a[1])} in A, {format_clock(alignment.b[1])} in B"
    common = f"  compared: {format_duration(compared.end - compared.start)}, from {format_clock(compared.start)} in A on"
    if any(compared.outside):
        outside = [f"{count_of(count, 'change')} of {name}" for name, count in zip("AB", compared.outside, strict=True) if count]
        common += f"; outside of it: {' and '.join(outside)}"
    yield common
    differing = _worst_first(compared)
    few = [each for each in differing if each[1].verdict is not Verdict.ONLY_ONE][:MOST_SUBJECTS]
    for subject, each in few:
        yield ""
        yield f"{_name(subject)}: {_headline(each, exact=not (compared.a.resolution or compared.b.resolution))}"
        yield from _changes(each)
    alone = Counter(
        (subject.topic if isinstance(subject, TopicPartition) else f"b{subject}", *_alone(subject, each))
        for subject, each in differing
        if each.verdict is Verdict.ONLY_ONE
    )
    if alone:
        yield ""
    named = dict(list(alone.items())[:MOST_SUBJECTS])
    for (name, what, letter), count in named.items():
        yield f"{name}: {count_of(count, what)} only in {letter}"
    if more := len(differing) - len(few) - sum(named.values()):
        yield ""
        yield f"{more:,} more differ; --json lists them"


def _alone(subject: Subject, compared: Compared) -> tuple[str, str]:
    return "partition" if isinstance(subject, TopicPartition) else "broker", "B" if compared.ends[0].state is None else "A"


def _summary(compared: LogComparison) -> str:
    verdicts = Counter[tuple[str, Verdict]]()
    parts = []
    for noun, subjects in (("partition", compared.partitions), ("broker", compared.brokers)):
        agreeing = sum(each.verdict is Verdict.AGREES for each in subjects.values())
        parts.append(f"{agreeing:,} of {count_of(len(subjects), noun)}")
        verdicts.update((noun, each.verdict) for each in subjects.values())
    if compared.agree:
        known = compared.a.resolution + compared.b.resolution + compared.within
        exactly = f"within {format_duration(known)}" if known else "to the microsecond"
        why = f"the same leaders, ISRs, and brokers, at the same times {exactly}"
    else:
        wrong = sorted((each for each in verdicts.items() if each[0][1] is not Verdict.AGREES), key=lambda each: each[0][1])
        why = ", ".join(f"{count_of(count, noun)} {_SUMMARY[verdict][count > 1]}" for (noun, verdict), count in wrong)
    return f"{' and '.join(parts)} agree: {why}"


def _about(log: LogHistory) -> str:
    how = f"observed every {format_duration(log.resolution)}" if log.observed else "simulated"
    kinds = sum(count for name, count in log.unknown.items() if "." not in name)
    unknown = f", {count_of(kinds, 'event')} of kinds that isrlab does not know" if kinds else ""
    return f"{how}, release {log.release}, {format_duration(log.end)}{unknown}"


def _worst_first(compared: LogComparison) -> list[tuple[Subject, Compared]]:
    every: list[tuple[Subject, Compared]] = [*compared.partitions.items(), *compared.brokers.items()]
    differing = [each for each in every if each[1].verdict is not Verdict.AGREES]
    return sorted(differing, key=lambda each: (each[1].verdict, -each[1].apart, -len(each[1].differences)))


def _name(subject: Subject) -> str:
    return str(subject) if isinstance(subject, TopicPartition) else f"b{subject}"


def _words(state: State) -> str:
    if isinstance(state, Leadership):
        return f"{_leader(state)}, ISR {ids(state.isr)}"
    return "not there" if state is None else "up" if state else "down"


def _leader(state: Leadership) -> str:
    return "no leader" if state.leader < 0 else f"leader b{state.leader}"


def _headline(compared: Compared, *, exact: bool) -> str:
    a, b = (each.state for each in compared.ends)
    match compared.verdict:
        case Verdict.OTHER_LEADER if isinstance(a, Leadership) and isinstance(b, Leadership):
            return f"ends with another leader: {_leader(a)} in A, {_leader(b)} in B"
        case Verdict.OTHER_LEADER | Verdict.OTHER_END:
            return f"ends in another state: {_words(a)} in A, {_words(b)} in B"
        case Verdict.OTHER_CHANGES:
            return f"ends in the same state ({_words(a)}), after other changes"
        case Verdict.OTHER_EPOCH:
            rose = [f"{rise} in {log}" for rise, log in zip(compared.rises, "AB", strict=True)]
            return f"has the same leaders and ISRs, but its leader epoch rose by {' and by '.join(rose)}"
        case _:
            apart = f"up to {_span(compared.apart)} apart"
            return f"has the same changes at other times, {apart}{'' if exact else ', besides what their resolution explains'}"


def _changes(compared: Compared) -> Iterator[str]:
    """Yield the changes that differ, with their time in A and in B."""
    if not compared.differences:
        return
    yield f"{'A':>{_INDENT}}{'B':>{_INDENT}}"
    for each in compared.differences[:MOST_CHANGES]:
        yield f"{_time(each.a):>{_INDENT}}{_time(each.b):>{_INDENT}}  {_difference(each)}"
    if (more := len(compared.differences) - MOST_CHANGES) > 0:
        yield f"{'':{2 * _INDENT}}  {more:,} more; --json lists them"


def _span(us: int) -> str:
    """Return a duration, in whole ms if it has some."""
    return format_duration(us if us < 10 * US_PER_MS else round(us, -3))


def _time(change: Change | None) -> str:
    return "–" if change is None else "start" if change.first else format_clock(change.time)


def _difference(each: Difference) -> str:
    if each.a is None or each.b is None:
        one = each.a or each.b
        assert one is not None
        return f"{_words(one.state)}: only in {'A' if each.b is None else 'B'}"
    if each.a.state != each.b.state:
        return f"{_words(each.a.state)} in A, {_words(each.b.state)} in B"
    return f"{_words(each.a.state)}: {_span(abs(each.later))} {'later' if each.later > 0 else 'earlier'} in B"


# --- JSON ------------------------------------------------------------------------------------------------------------


def comparison_data(compared: LogComparison) -> dict[str, Any]:
    """Return the comparison as data for JSON. Times are in µs; each is a time of the log that it belongs to."""
    a, b = compared.alignment.a[1], compared.alignment.b[1]
    return {
        "agree": compared.agree,
        "a": _log_data(compared.a, compared.outside[0]),
        "b": _log_data(compared.b, compared.outside[1]),
        "aligned": {"at": compared.alignment.at, "a": a, "b": b},
        "compared": {"from": compared.start, "to": compared.end, "within": compared.within},
        "partitions": {str(tp): _compared_data(each) for tp, each in compared.partitions.items()},
        "brokers": {str(broker): _compared_data(each) for broker, each in compared.brokers.items()},
    }


def _log_data(log: LogHistory, outside: int) -> dict[str, Any]:
    return {
        "log": log.source,
        "observed": log.observed,
        "release": log.release,
        "resolution": log.resolution,
        "end": log.end,
        "outside": outside,
        "unknown": log.unknown,
    }


def _compared_data(compared: Compared) -> dict[str, Any]:
    return {
        "verdict": compared.verdict.name.lower().replace("_", "-"),
        "matched": compared.matched,
        "unseen": compared.unseen,
        "ends": [_state_data(each) for each in compared.ends],
        "differences": [
            {"a": _change_data(each.a), "b": _change_data(each.b), "later": each.later, "unexplained": each.unexplained}
            for each in compared.differences
        ],
    }


def _change_data(change: Change | None) -> dict[str, Any] | None:
    return None if change is None else {"since": change.since, "time": change.time, "first": change.first, **_state_data(change)}


def _state_data(change: Change) -> dict[str, Any]:
    state = change.state
    if isinstance(state, Leadership):
        return {"leader": state.leader, "leader_epoch": change.epoch, "isr": list(state.isr)}
    return {} if state is None else {"up": state}

"""Valid scripts are valid, a few of them hold what every run must hold, and the checkers of logs find what is wrong in a log."""

from __future__ import annotations

import random
import re
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from core.kafka import events
from core.kafka.events import decode
from scenarios.catalogue import read_any
from scenarios.logs.log_reader import LogReader
from scenarios.models.script import ModelScenario
from tests.core.events import made
from tests.fuzz.campaign import attempt
from tests.fuzz.log_checkers import GroupChecker, ReadCommittedChecker, problems_of
from tests.fuzz.targets import TARGETS
from tests.fuzz.valid_scripts import (
    ADMINISTRATION,
    BY_HAND,
    CLIENTS,
    FAULTS,
    GROUPS,
    KINDS,
    SERVICES,
    TRANSACTIONS,
    drawn_act,
    valid_script,
)
from tests.fuzz.watch import command


@pytest.mark.parametrize("kind", KINDS)
def test_valid_scripts_are_read(kind: str) -> None:
    """Reading a script refuses acts without a required field, with a wrong value, or of an unknown client."""
    for seed in range(40):
        scenario = read_any(valid_script(kind, random.Random(seed)), f"{kind} {seed}")
        assert isinstance(scenario, ModelScenario) == (kind == "models")


def test_every_act_that_can_be_drawn_is_drawn_with_most_of_its_fields() -> None:
    draw, given = random.Random(1), Counter[tuple[str, str]]()
    for word in {*FAULTS, *ADMINISTRATION, *CLIENTS, *BY_HAND, *GROUPS, *TRANSACTIONS, *SERVICES}:
        for _ in range(60):
            act = drawn_act(word, draw)
            given.update((word, field) for field in act.field_names() if getattr(act, field) not in (None, (), ""))
    for word, field in (
        ("produce", "acks"),
        ("join-group", "assignors"),
        ("link", "loss_ppm"),
        ("reassign", "replicas"),
        ("answer", "lost"),
    ):
        assert given[word, field] > 0


@pytest.mark.parametrize("kind", KINDS)
def test_a_run_of_a_valid_script_holds(kind: str) -> None:
    """`make fuzz ARGS="--target valid"` tries any number of them."""
    failure = attempt(TARGETS["valid"], valid_script(kind, random.Random(5)).encode(), draw_seed=1)
    assert failure is None, failure.told


# --- the checkers ----------------------------------------------------------------------------------------------------


def log_of(kind: str, seed: int, folder: Path) -> list[tuple[Any, ...]]:
    """Return the events of a run of a valid script."""
    script, log = folder / "script.yaml", folder / "log.jsonl"
    script.write_text(valid_script(kind, random.Random(seed)), "utf-8")
    command(["run", str(script), "--log", str(log)])
    return list(LogReader(log))


def changed(
    log: list[tuple[Any, ...]], kind: type[events.Event], change: Callable[[Any], dict[str, Any]]
) -> Iterator[list[tuple[Any, ...]]]:
    """Return the log with one event of a kind changed, for each event of the kind for which `change` returns other fields."""
    for place, raw in enumerate(log):
        if raw[3] == kind.kind and (fields := change(decode(raw))):
            names = list(kind.columns)
            values = [fields.get(name, value) for name, value in zip(names, raw[4:], strict=True)]
            yield [*log[:place], (*raw[:4], *values), *log[place + 1 :]]


def test_a_partition_with_two_owners_is_found(tmp_path: Path) -> None:
    """A member gets a partition that belongs to another member of its generation."""
    log = log_of("groups", 3, tmp_path)
    assert not list(problems_of(log))
    owners: dict[str, str] = {}

    def take(event: Any) -> dict[str, Any]:
        """Add a partition of another client. In the first case, that client is a member; later, it can have ended."""
        others = [name for name, owner in owners.items() if owner != event.client]
        owners.update(dict.fromkeys(filter(None, event.partition_names.split(", ")), event.client))
        return {"partition_names": ", ".join([*filter(None, [event.partition_names]), others[0]])} if others else {}

    first, *_ = (list(problems_of(other)) for other in changed(log, events.PartitionsAssigned, take))
    assert re.search(r"of which m\d, which owns it, is a member", first[0])


def test_an_assignment_with_two_owners_is_found() -> None:
    checker = GroupChecker()
    given = made(events.GroupGeneration, 1, "g", 4, "range", "a", "a, b")
    checker.hear(1, "group-generation", given)
    checker.hear(2, "group-stable", made(events.GroupStable, 1, "g", 4, "range", "a: t-0, t-1; b: t-1"))
    assert checker.problems == ["event 2: t-1 belongs to both a and b in generation 4 of g"]
    checker.hear(3, "group-stable", made(events.GroupStable, 1, "g", 4, "range", "a: t-0; c: t-1"))
    assert checker.problems[1:] == ["event 3: generation 4 of g gives partitions to ['c']"]


def test_after_a_group_has_changed_its_protocol_the_former_assignment_does_not_count() -> None:
    checker = GroupChecker()
    checker.hear(1, "member-started", made(events.MemberStarted, "m", "g", "t", "range", ""))
    checker.hear(2, "member-joined", made(events.GroupMemberJoined, 1, "g", "a", "m", "", 1))
    checker.hear(3, "group-stable", made(events.GroupStable, 1, "g", 1, "range", "a: t-0, t-1"))
    checker.hear(4, "partitions-assigned", made(events.PartitionsAssigned, "m", "g", 1, "t-0"))
    assert checker.problems == ["event 4: m owns ['t-0'] in generation 1; its assignment is ['t-0', 't-1']"]
    checker.hear(5, "group-converted", made(events.GroupConverted, 1, "g", "consumer", 1, 1))
    checker.hear(6, "partitions-assigned", made(events.PartitionsAssigned, "m", "g", 1, ""))
    assert len(checker.problems) == 1


def test_a_member_that_processes_records_of_others_is_found(tmp_path: Path) -> None:
    log = log_of("groups", 3, tmp_path)
    found = [list(problems_of(other)) for other in changed(log, events.RecordsProcessed, lambda event: {"partition": event.partition + 7})]
    assert found
    assert all(found)


def test_an_aborted_record_that_is_read_is_found(tmp_path: Path) -> None:
    """If the marker of a transaction whose records were processed had been an abort, the checker would have found that."""
    log = log_of("transactions", 2, tmp_path)
    assert not list(problems_of(log))
    checker = ReadCommittedChecker()
    for raw in log:
        checker.hear(raw[0], raw[3], decode(raw))
    assert checker.checked > 50
    aborted = changed(
        log, events.MarkerAppended, lambda event: {"marker": "ABORT"} if event.marker == "COMMIT" and event.topic == "t" else {}
    )
    assert any("which was aborted" in problem for other in aborted for problem in problems_of(other))


def test_a_record_of_an_open_transaction_that_is_read_is_found(tmp_path: Path) -> None:
    log = log_of("transactions", 2, tmp_path)
    for place, raw in enumerate(log):
        if (
            raw[3] == events.MarkerAppended.kind
            and raw[5] == "t"
            and any("open transaction" in problem for problem in problems_of([*log[:place], *log[place + 1 :]]))
        ):
            return
    pytest.fail("without its marker, no transaction is open when its records are read")

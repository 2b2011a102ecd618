"""Features that all models share: acts and their refusals, snapshots, the account, and the tolerance of lost copies."""

from __future__ import annotations

from random import Random
from typing import Any

import pytest

from core.models import acts, events, tolerance
from core.models.account import OK, Account
from core.models.client import ReadLoop, WriteLoop
from core.models.client_messages import NOTHING
from core.models.mysql.system import Follow, MySQL, Rebuild
from core.models.report import Outage, differing, outages
from core.sim.errors import ActRefused
from core.sim.journal import Journal
from core.sim.state.snapshot import Snapshots
from core.sim.units import SECOND
from core.sim.units import US_PER_MS as MS


def loaded(system: MySQL) -> MySQL:
    system.add_client("w").start(WriteLoop("k", 3 * MS))
    system.add_client("r").start(ReadLoop("k", 2 * MS, servers=("n2", "n3")))
    return system


def test_a_system_goes_back_and_does_the_same_again() -> None:
    recorded: list[Any] = []
    system = loaded(MySQL(sink=recorded.append))
    system.run_until(100 * MS)
    snapshot = Snapshots().take(system)
    copy = snapshot.copy()
    before = len(recorded)

    def hurt(each: MySQL) -> None:
        each.do(acts.Kill("n1"))
        each.run_until(200 * MS)
        each.do(acts.Promote())
        each.run_until(SECOND)

    hurt(system)
    first = recorded[before:]
    assert {"process-died", "mysql-promoted", "write-ended"} <= {event[3] for event in first}
    snapshot.restore()
    del recorded[before:]
    hurt(system)
    assert recorded[before:] == first
    copied: list[Any] = []
    copy.journal.sink = copied.append
    hurt(copy)
    assert copied == first


def test_events_have_causes_and_sentences() -> None:
    from core.models.catalogue import sentence

    recorded: list[Any] = []
    system = loaded(MySQL(sink=recorded.append))
    system.run_until(20 * MS)
    system.do(acts.Kill("n1"))
    system.do(acts.Promote("n3"))
    system.settle()
    by_seq = {event[0]: event for event in recorded}
    assert all(event[2] < event[0] for event in recorded)
    assert all(sentence(event) for event in recorded)
    applied = next(event for event in recorded if event[3] == "applied")
    chain = []
    while applied[2]:
        applied = by_seq[applied[2]]
        chain.append(applied[3])
    assert chain[-1] == "write-sent"
    assert {"relay-log-written", "binlog-written"} <= set(chain)


@pytest.mark.parametrize(
    ("act", "reason"),
    [
        (acts.Kill("n9"), "there is no n9; the nodes are n1, n2, n3"),
        (acts.PowerLoss(("n1", "x")), "there is no server x"),
        (acts.Restart("n1"), "the process of n1 is already running"),
        (acts.Resume("n1"), "n1 is not paused"),
        (acts.Promote("n1"), "n1 is already the source"),
        (Follow("n2", "n2"), "cannot replicate from itself"),
        (Rebuild("n1"), "n1 is the source"),
    ],
)
def test_impossible_acts_are_refused(act: acts.Act, reason: str) -> None:
    system = MySQL()
    before = system.journal.seq
    with pytest.raises(ActRefused, match=reason):
        system.do(act)
    assert system.journal.seq == before


def test_dead_servers_refuse_acts_on_their_process() -> None:
    system = MySQL()
    system.do(acts.Kill("n1"))
    for act in (acts.Kill("n1"), acts.Pause("n1")):
        with pytest.raises(ActRefused, match="is not running"):
            system.do(act)
    system.dead_for_good.add("n1")
    with pytest.raises(ActRefused, match="permanently lost"):
        system.do(acts.Restart("n1"))


def test_outages_last_until_a_probe_that_was_sent_later_succeeds() -> None:
    account = Account(Journal())
    for invoked, ended, outcome in ((0, 1, OK), (100, 1100, "unknown"), (200, 1200, "unknown"), (300, 700, OK), (400, 401, OK)):
        account.journal.now = ended
        account.write_ended("p", account.new_row(str(invoked)), invoked, outcome, "", probe=True)
    assert outages(account.writes) == (Outage(100, 700),)
    assert outages(account.writes[:3]) == (Outage(100, 1200),)


def test_stale_reads_are_measured_from_the_acknowledgment_that_they_miss() -> None:
    account = Account(Journal())
    rows = [account.new_row("k") for _ in range(3)]
    for time, row in enumerate(rows):
        account.journal.now = time * 10
        account.write_ended("w", row, 0, OK, "", probe=False)
    account.journal.now = 50
    floor = account.floor("w", "k")
    account.read_ended("w", "n1", "k", rows[0], 50, floor, OK, "", probe=False)
    account.read_ended("w", "n1", "k", rows[2], 50, floor, OK, "", probe=False)
    (stale, fresh) = account.reads
    assert (stale.stale, stale.stale_us, stale.own_missing, fresh.stale) == (2, 40, 2, 0)
    assert account.floor("w", "k").before == 3


def test_a_stale_read_is_measured_from_the_first_of_the_acknowledgments_it_misses_in_whatever_order_they_came() -> None:
    random = Random(1)
    for _ in range(50):
        account = Account(Journal())
        rows = [account.new_row("k") for _ in range(12)]
        acked: dict[int, int] = {}
        for time, row in enumerate(random.sample(rows, random.randrange(1, 12))):
            account.journal.now = acked[row.version] = 3 * time
            account.write_ended("w", row, 0, OK, "", probe=False)
        account.journal.now = 100
        for row in (NOTHING, *rows):
            account.read_ended("r", "n1", "k", row, 100, account.floor("r", "k"), OK, "", probe=False)
            missed = [time for version, time in acked.items() if version > row.version]
            assert account.reads[-1].stale_us == (100 - min(missed) if missed else 0)


def test_places_that_only_one_copy_has_differ() -> None:
    account = Account(Journal())
    a, b, c = (account.new_row("k") for _ in range(3))
    assert differing({1: a, 2: b}, {1: a, 2: c, 3: c}) == 2


@pytest.mark.parametrize(
    ("copies", "majority", "isr", "semi_sync", "es"),
    [
        (2, (0, 0), [(1, 0), (0, 1)], (0, 1), (1, 0)),
        (3, (1, 1), [(2, 0), (1, 1), (0, 2)], (1, 1), (2, 0)),
        (4, (1, 1), [(3, 0), (2, 1), (1, 2)], (2, 1), (3, 0)),
        (5, (2, 2), [(4, 0), (3, 1), (2, 2)], (3, 1), (4, 0)),
    ],
)
def test_tolerance(copies: int, majority: Any, isr: Any, semi_sync: Any, es: Any) -> None:
    def pair(each: tolerance.Tolerance) -> tuple[int, int]:
        return each.write, each.keep

    assert pair(tolerance.majority(copies)) == majority
    assert [pair(tolerance.isr(copies, least)) for least in range(1, len(isr) + 1)] == isr
    assert pair(tolerance.semi_sync(copies, 1)) == semi_sync
    assert pair(tolerance.in_sync_copies(copies)) == es


def test_kinds_of_events_are_unique() -> None:
    from core.models.catalogue import KINDS

    assert len(KINDS) >= len(events.COMMON)

"""Grids as users write them, and the error messages for invalid grids."""

from __future__ import annotations

from pathlib import Path

import pytest

from scenarios.errors import InputError, ScriptMistakes
from scenarios.sweeps.grid.fault_model import Duration, FaultKind
from scenarios.sweeps.grid_file.read_grid import GRIDS, grid_named, load_grid, read_grid
from tests.scenarios.sweeps.grids import EVERY_FAULT, TEXT

HOUR = 3_600_000_000


def test_cells_are_every_combination_in_order() -> None:
    grid = read_grid(TEXT, "g.yaml")
    assert [cell.name for cell in grid.cells] == [
        "min.insync.replicas 1, acks 1",
        "min.insync.replicas 1, acks all",
        "min.insync.replicas 2, acks 1",
        "min.insync.replicas 2, acks all",
    ]
    assert [dict(cell.spec.settings)["min.insync.replicas"] for cell in grid.cells] == [1, 1, 2, 2]
    assert [[one.acks for one in cell.producers] for cell in grid.cells] == [["1"] * 2, ["all"] * 2] * 2
    assert [cell.partitions for cell in grid.cells] == [3] * 4


def test_every_kind_of_fault_can_be_written() -> None:
    faults = {fault.kind: fault for fault in read_grid(EVERY_FAULT, "g.yaml").faults}
    # Controllers that fail need a quorum, where no link to the controller can be cut.
    assert list(faults) == [kind for kind in FaultKind if kind is not FaultKind.CONTROLLER_CRASH]
    assert faults[FaultKind.CRASH].lasts == Duration(mean=60_000_000)
    assert faults[FaultKind.PAUSE].each_broker
    assert faults[FaultKind.SLOW_DISK].delay == 200_000
    assert (faults[FaultKind.CUT].brokers, faults[FaultKind.CUT].controller) == (True, True)
    assert faults[FaultKind.ROLLING_RESTART].gap == 20_000_000


def test_listed_cells_and_a_cells_own_words_stand_before_what_varies() -> None:
    own = "cells:\n  - {name: old, release: 2.4, without: [fetch-epoch-fencing]}\n  - {name: racks, racks: 3, replication-factor: 2}\nvary:"
    grid = read_grid(TEXT.replace("vary:", own), "g.yaml")
    assert len(grid.cells) == 8
    assert {cell.release.name for cell in grid.cells[:4]} == {"2.4 without fetch-epoch-fencing"}
    assert [broker.rack for broker in grid.cells[4].spec.brokers] == ["r1", "r2", "r3"]
    assert grid.cells[4].spec.topics[0].replication_factor == 2


def test_a_cell_has_its_way_over_a_topics_own_value() -> None:
    text = TEXT.replace("replication-factor: 3}", "replication-factor: 3, config: {min.insync.replicas: 3, retention.ms: 1000}}")
    for cell in read_grid(text, "g.yaml").cells:
        assert dict(cell.spec.topics[0].config) == {"retention.ms": "1000"}


@pytest.mark.parametrize(
    ("old", "new", "told"),
    [
        ("vary:", "varry:", "g.yaml:14:1: script: unknown word 'varry'; did you mean 'vary'?"),
        ("  acks: [1, all]", "  ackss: [1, all]", "g.yaml:16:3: vary: unknown word 'ackss'; did you mean 'acks'?"),
        ("acks: [1, all]", "acks: [1, most]", "g.yaml:16:13: vary.acks[2]: unknown word 'most'; use one of 0, 1, all"),
        ("acks: [1, all]", "acks: []", "g.yaml:16:9: vary.acks: the list is empty"),
        ("acks: [1, all]", "acks: [1, 1]", "g.yaml:16:13: vary.acks[2]: cell 2 is the same as cell 1"),
        ("replicas: [1, 2]", "replicas: [1, 0]", "g.yaml:15:28: vary.min.insync.replicas[2]: min.insync.replicas takes a number from 1"),
        ("  crash:", "  crush:", "g.yaml:11:3: faults: unknown word 'crush'; did you mean 'crash'?"),
        ("every: 2h, ", "", "g.yaml:11:10: faults.crash: 'every' is missing"),
        ("from: 20s, to: 2m", "from: 2m, to: 20s", "g.yaml:11:44: faults.crash.lasts.to: '20s' is less than 'from'"),
        ("  crash: {", "  rack-outage: {", "g.yaml:11:3: faults: cell 1 (min.insync.replicas 1, acks 1) has brokers without a rack"),
        ("  crash: {", "  controller-crash: {", "g.yaml:11:3: faults: cell 1 (min.insync.replicas 1, acks 1) has no dedicated controllers"),
        ("  crash: {", "  slow-disk: {", "a slow disk needs a delay for each write"),
        ("horizon: 10h", "horizon: soon", "g.yaml:12:10: horizon: 'soon' is not a duration"),
        ("horizon: 10h\naround", "horizon: 365d\n#around", "g.yaml:12:10: horizon: '365d' is too long to simulate completely"),
        ("topic: orders, rate: 1000", "topic: order, rate: 1000", "workload[1].topic: unknown word 'order'; did you mean 'orders'?"),
        ("rate: 1000, every: 1000us, between: 30s", "rate: 1000, every: 2s, between: 1s", "'1s' is less than 'every'"),
        ("producer: app2", "producer: app1", "workload[2]: producer app1 occurs twice"),
        ("brokers: 3", "brokers: 2", "cell 1 (min.insync.replicas 1, acks 1) cannot run:"),
        ("rate: 1000,", "rate: 1000, idempotence: true,", "cannot run: Must set acks to all in order to use the idempotent producer"),
        ("brokers: 3", "brokers: 3\n  pace: by-hand", "a sweep always uses 'pace: timeline'"),
    ],
)
def test_a_mistake_is_reported_with_its_place_and_a_remedy(old: str, new: str, told: str) -> None:
    assert old in TEXT
    with pytest.raises(InputError) as wrong:
        read_grid(TEXT.replace(old, new, 1), "g.yaml")
    assert told in str(wrong.value)
    assert "\n" not in str(wrong.value)


def test_a_grid_is_found_by_name_or_by_file(tmp_path: Path) -> None:
    for path in sorted(GRIDS.glob("*.yaml")):
        assert grid_named(path.stem).name == path.stem
    (tmp_path / "mine.yaml").write_text(TEXT)
    assert grid_named(str(tmp_path / "mine.yaml")).name == "small"
    with pytest.raises(InputError, match="did you mean 'weekly-crashes'"):
        grid_named("weekly-crash")
    with pytest.raises(InputError, match="cannot be read"):
        load_grid(tmp_path / "none.yaml")
    for name in ("x" * 300, "a\0b"):
        with pytest.raises(InputError, match="no such grid"):
            grid_named(name)


def test_all_mistakes_of_a_grid_are_reported() -> None:
    text = TEXT.replace("  crash: {every: 2h", "  crush: {}\n  cut: {between: all}\n  crash: {every: soon", 1).replace(
        "rate: 1000", "rate: many", 1
    )
    text = text.replace("acks: [1, all]", "acks: [1, most, all]\n  ackss: [1]\n  racks: []").replace("horizon: 10h", "horizon: 10")
    with pytest.raises(ScriptMistakes) as caught:
        read_grid(text, "g")
    told = [str(wrong).split(": ", 1)[1].split(";")[0] for wrong in caught.value.mistakes]
    assert told == [
        "workload[1].rate: 'many' is not a whole number",
        "faults: unknown word 'crush'",
        "faults.cut: 'every' is missing",
        "faults.cut: 'lasts' is missing",
        "faults.cut.between: unknown word 'all'",
        "faults.crash.every: 'soon' is not a duration",
        "horizon: '10' is not a duration",
    ]
    text = TEXT.replace("acks: [1, all]", "acks: [1, most, all]\n  ackss: [1]\n  racks: []")
    with pytest.raises(ScriptMistakes) as caught:
        read_grid(text, "g")
    assert [wrong.problem for wrong in caught.value.mistakes] == ["unknown word 'ackss'", "the list is empty"]
    with pytest.raises(ScriptMistakes) as caught:
        read_grid(TEXT.replace("acks: [1, all]", "acks: [1, most, all, every]"), "g")
    assert [wrong.problem for wrong in caught.value.mistakes] == ["unknown word 'most'", "unknown word 'every'"]


def test_a_grid_is_bounded() -> None:
    with pytest.raises(
        InputError,
        match=r"the cells of the grid have 800,024 partitions and brokers in total; use at most 50,000 \(each broker counts as two\)",
    ):
        read_grid(TEXT.replace("acks: [1, all]", "acks: [1, all]\n  partitions: [200000]"), "g")
    with pytest.raises(InputError, match=r"the grid has 4,000 cells; a grid can have at most 1,000 cells"):
        read_grid(TEXT.replace("acks: [1, all]", f"acks: [1, all]\n  partitions: {list(range(1, 1001))}"), "g")


PRODUCERS = ", ".join(["{topic: orders, rate: 1}"] * 9_999)


@pytest.mark.parametrize(
    ("text", "told"),
    [
        (
            "faults: {crash: {every: 1s, lasts: 1s}}\nhorizon: 365d\naround: {before: 1s, after: 1s}",
            "g.yaml:3:10: faults: a run has about 31,536,000 faults; use at most 100,000: write a longer 'every', or a shorter 'horizon'",
        ),
        (
            "faults: {crash: {every: 600s, lasts: 1s}, pause: {every: 600s, each: broker, lasts: 1s}}\nhorizon: 365d\naround: {}",
            "g.yaml:3:43: faults: a run has about 210,240 faults",
        ),
        (
            "faults: {crash: {every: 7d, lasts: 1m}}\nhorizon: 3650d\naround: {before: 400d}",
            "g.yaml:5:9: around: a run simulates about 4050 days around its faults; use at most 30 days: write fewer or shorter faults",
        ),
        (
            "faults: {rolling-restart: {every: 30d, lasts: {from: 1d, to: 3d}}}\nhorizon: 365d\naround: {}",
            "g.yaml:5:9: around: a run simulates about 72 days around its faults",
        ),
        ("horizon: 1d\nconsume: [orders, orders]", "g.yaml:2:11: workload: the grid has 10,001 clients; use at most 10,000"),
    ],
    ids=["faults", "faults of all kinds", "time around faults", "long faults", "clients"],
)
def test_a_run_that_would_not_end_is_refused_at_once(text: str, told: str) -> None:
    workload = PRODUCERS if "consume" in text else "{topic: orders, rate: 1}"
    cluster = "cluster: {brokers: 3, topics: {orders: {partitions: 1, replication-factor: 3}}}"
    with pytest.raises(InputError) as refused:
        read_grid(f"{cluster}\nworkload: [{workload}]\n{text}\n", "g.yaml")
    assert str(refused.value).startswith(told)


def test_a_grid_of_models_is_bounded() -> None:
    systems = "".join(f"  s{number}: {{model: mysql}}\n" for number in range(1_001))
    with pytest.raises(InputError, match=r"^g\.yaml:1:1: script: the grid has 1,001 systems; use at most 1,000$"):
        read_grid(f"models:\n{systems}horizon: 10s\n", "g.yaml")

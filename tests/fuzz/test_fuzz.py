"""A few seconds of every target, cases that once failed, and scripts that are built from the words of the language.

`make fuzz` runs longer. Mutations of real inputs test the parsers with thousands of cases per second. Hypothesis builds scripts that are
almost valid, which mutations seldom are, and shrinks failing scripts.
"""

from __future__ import annotations

import random
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from core.kafka.settings.registry import SETTINGS
from core.lab.acts import ACTS
from scenarios.errors import InputError
from scenarios.language.cluster import write_yaml
from scenarios.language.script import read_script
from scenarios.readings.all_readings import READINGS
from tests.fuzz.campaign import Campaign, attempt, minimised
from tests.fuzz.targets import SEPARATOR, TARGETS, Target, commands
from tests.fuzz.watch import Broken, command, failure_of, largest

REGRESSIONS = sorted((Path(__file__).parent / "regressions").glob("*.case"))


@pytest.mark.parametrize("name", [name for name in TARGETS if name not in ("arguments", "valid")])
def test_a_short_run_finds_nothing(name: str) -> None:
    campaign = Campaign([TARGETS[name]], seed=11)
    campaign.run(seconds=60, cases=300)
    assert campaign.cases[name] >= 300
    assert not campaign.failures, campaign.failures[0]


def test_a_short_run_of_command_lines_finds_nothing() -> None:
    campaign = Campaign([TARGETS["arguments"]], seed=12)
    campaign.run(seconds=60, cases=300)
    assert campaign.cases["arguments"] >= 300
    assert not campaign.failures, campaign.failures[0]


def test_command_lines_are_of_every_command_and_option() -> None:
    draw = random.Random(1)
    drawn = [TARGETS["arguments"].case(draw).split(SEPARATOR) for _ in range(20_000)]
    for known in commands():
        words = [word.encode() for word in known.words]
        of_it = [parts for parts in drawn if parts[: len(words)] == words]
        for option in known.options:
            names = [name.encode() for name in option.option_strings]
            assert any(part.partition(b"=")[0] in names for parts in of_it for part in parts), (known.words, option.option_strings)
    assert {"play", "serve", "sweep", "report", "log convert", "leader-election"} <= {" ".join(known.words) for known in commands()}


@pytest.mark.parametrize("path", REGRESSIONS, ids=[path.stem for path in REGRESSIONS])
def test_a_case_that_failed_does_not_fail_again(path: Path) -> None:
    failure = attempt(TARGETS[path.stem.rpartition("-")[0]], path.read_bytes(), draw_seed=1)
    assert failure is None, failure.told


# --- what judges cases judges rightly --------------------------------------------------------------------------------


def test_failures_are_seen() -> None:
    def spin() -> None:
        while True:
            pass

    assert failure_of(lambda: None) is None
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("tests.fuzz.watch.TOO_LONG", 0.2)
        patch.setattr("tests.fuzz.watch.TOO_MUCH", 50)
        patch.setattr("tests.fuzz.watch.MEASURED", 1)
        ended = failure_of(spin)
        assert ended is not None
        assert ended.sort == "hang"
        patch.setattr("tests.fuzz.watch.TOO_LONG", 30)
        kept: list[bytearray] = []
        grown = failure_of(lambda: kept.append(bytearray(b"x") * (largest() + 100 << 20)))
        assert grown is not None
        assert grown.sort == "memory"

    def refuse() -> None:
        raise InputError("x: no\x1b[31m; y")

    assert failure_of(refuse) is None
    failed = failure_of(lambda: {}["x"])
    assert failed is not None
    assert failed.sort.startswith("KeyError test_fuzz.py:")


def test_exit_codes_and_streams_are_seen(monkeypatch: pytest.MonkeyPatch) -> None:
    assert command(["scenarios", "show", "\x1b"])[0] == 2
    monkeypatch.setattr("tests.fuzz.watch.main", lambda _argv: 3)
    with pytest.raises(Broken, match="exit code 3"):
        command([])
    monkeypatch.setattr("tests.fuzz.watch.main", lambda _argv: print("a\x1b[2J") or 0)
    with pytest.raises(Broken, match=r"a raw '.+x1b' on stdout"):
        command([])


def test_a_failing_case_is_made_small() -> None:
    def fail(case: bytes, _draw: random.Random) -> None:
        assert b"needle" not in case

    target = Target("hay", lambda: [b"hay " * 50 + b"needle" + b" hay" * 50], fail, 1.0)
    campaign = Campaign([target], seed=1)
    campaign.run(seconds=60, cases=100)
    ((_, case, failure, seed),) = campaign.failures
    assert minimised(target, case, failure, seed) == b"needle"


# --- scripts of the language's own words -----------------------------------------------------------------------------

NAMES = st.sampled_from(["orders", "t", "orders-0", "b1", "c1", "controller", "app", "2", "b2", "none", "all"])
NUMBERS = st.one_of(st.integers(-2, 12), st.sampled_from([10**9, 2**31, 2**63, 10**30]))
VALUES = st.one_of(NAMES, NUMBERS, st.booleans(), st.none(), st.sampled_from(["1s", "50ms", "5%", "15/4", "lost == 0", "0s", "10y", "[1]"]))
FIELDS = sorted({field.replace("_ppm", "").replace("_", "-") for act in ACTS.values() for field in act.field_names()})
TREES = st.recursive(
    VALUES,
    lambda inner: st.one_of(
        st.lists(inner, max_size=3), st.dictionaries(st.one_of(st.sampled_from([*FIELDS, *SETTINGS]), NAMES), inner, max_size=3)
    ),
    max_leaves=6,
)
CLUSTERS = st.fixed_dictionaries(
    {"brokers": st.one_of(st.integers(1, 4), st.lists(st.integers(1, 5), max_size=4), TREES)},
    optional={
        "topics": st.one_of(st.dictionaries(NAMES, TREES, max_size=2), st.just({"orders": {"partitions": 2, "replication-factor": 1}})),
        "settings": st.dictionaries(st.sampled_from(list(SETTINGS)), VALUES, max_size=3), "network": TREES, "pace": st.sampled_from(["by-hand", "timeline", "fast"]),
        "controllers": TREES, "log-dirs": NUMBERS, "startup": VALUES,
    },
)  # fmt: skip
STEPS = st.dictionaries(
    st.sampled_from(["at", "wait", "until", "within", "expect", "show", "under", "note", *ACTS, "kil"]), st.one_of(TREES, st.sampled_from(["1s", "2", "lost == 0"])), max_size=3
)  # fmt: skip
EXPECTED = st.one_of(
    st.sampled_from(["lost == 0", "hw(orders-0) == 1", "isr(orders-0) == [1, 2]", "never records-lost", "leader(t-0) = 1"]),
    st.dictionaries(st.sampled_from([*READINGS, "orders-0", "b1"]), TREES, max_size=3),
)
SCRIPTS = st.fixed_dictionaries(
    {"cluster": CLUSTERS},
    optional={
        "timeline": st.lists(STEPS, max_size=4), "steps": st.lists(STEPS, max_size=4), "expect": st.lists(EXPECTED, max_size=3),
        "releases": st.one_of(st.sampled_from(["2.4", "4.1", "9.9"]), TREES), "without": TREES, "seed": NUMBERS,
    },
)  # fmt: skip


def _refusal(script: str) -> tuple[str, ...]:
    """Return the error message for a script, or nothing for a valid script."""
    try:
        read_script(script, "s")
    except InputError as refused:
        return refused.lines
    return ()


@settings(max_examples=150, deadline=None, suppress_health_check=list(HealthCheck))
@given(SCRIPTS, st.integers(0, 2**32))
def test_scripts_of_the_languages_words_are_read_or_refused(script: dict[str, object], seed: int) -> None:
    text = write_yaml(script)
    failure = attempt(TARGETS["scripts"], text.encode(), seed)
    assert failure is None, failure.told
    places = [tuple(map(int, line.split(": ")[0].split(":")[1:])) for line in _refusal(text) if not line.startswith("s: and ")]
    assert places == sorted(places)
    assert _refusal(text) == _refusal(text)


@settings(max_examples=40, deadline=None, suppress_health_check=list(HealthCheck))
@given(
    st.lists(
        st.sampled_from(
            ["describe", "b2-high-watermark", "--at", "--release", "4.1", "1s", "-1", "--topic", "\x1b]52;c;x\x07", "--json", "nowhere"]
        ),
        max_size=5,
    )
)
def test_command_lines_end_by_a_declared_code(argv: list[str]) -> None:
    failure = attempt(TARGETS["arguments"], SEPARATOR.join(part.encode() for part in argv), 1)
    assert failure is None, failure.told

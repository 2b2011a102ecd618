"""Values that vary between runs: how they are written, what they replace, and the mistakes that people make."""

from __future__ import annotations

import pytest

from core.lab.acts import CreateTopic, Load, Produce
from scenarios.errors import InputError
from scenarios.language.script import read_script, releases_of
from scenarios.variations.variation import VariedRun, read_variations

SCRIPT = """
cluster:
  brokers: [1, 2, {id: 3, settings: {min.insync.replicas: 3}}]
  settings: {min.insync.replicas: 2}
  clients: {linger.ms: 5}
  topics: {orders: {partitions: 1, replication-factor: 3, config: {min.insync.replicas: 1, retention.ms: 9000}}}
timeline:
  - load: {topic: orders, rate: 10, acks: 1, idempotence: false, config: {linger.ms: 20, batch.size: 100}}
  - at: 1s
    create-topic: {topic: more, replication-factor: 2, config: {min.insync.replicas: 1}}
  - at: 2s
    produce: {topic: more, records: 3}
"""


def varied(*written: str) -> VariedRun:
    scenario = read_script(SCRIPT, "varied.yaml")
    return VariedRun.of(read_variations(written)[-1], scenario.spec, releases_of(scenario, [])[0])


def test_every_combination_is_a_run_and_a_single_value_is_compared_with_the_script() -> None:
    assert [one.name for one in read_variations(["min.insync.replicas=1,2", "acks=1, all"])] == [
        "min.insync.replicas=1, acks=1", "min.insync.replicas=1, acks=all", "min.insync.replicas=2, acks=1", "min.insync.replicas=2, acks=all",
    ]  # fmt: skip
    assert [one.name for one in read_variations(["acks=0"])] == ["as given", "acks=0"]


def test_values_replace_those_of_topics_brokers_and_acts() -> None:
    run = varied("min.insync.replicas=2", "acks=all", "linger.ms=0", "enable.idempotence=true", "replication-factor=1", "release=3.3")
    assert run.release.name == "3.3"
    assert dict(run.spec.settings)["min.insync.replicas"] == 2
    assert (run.spec.brokers[2].settings, run.spec.topics[0].config) == ((), (("retention.ms", "9000"),))
    assert run.spec.topics[0].replication_factor == 1
    assert run.spec.clients == (("acks", "all"), ("linger.ms", "0"), ("enable.idempotence", "true"))
    load, create, produce = (step.acts[0] for step in run.scenario(read_script(SCRIPT, "varied.yaml")).steps)
    assert isinstance(load, Load)
    assert (load.acks, load.idempotence, load.config) == (None, None, (("batch.size", "100"),))
    assert isinstance(create, CreateTopic)
    assert (create.replication_factor, create.config) == (1, ())
    assert produce == Produce("more", 3)


def test_what_does_not_vary_stays() -> None:
    run, scenario = varied("release=4.0"), read_script(SCRIPT, "varied.yaml")
    assert run.spec == scenario.spec
    assert run.scenario(scenario).steps == scenario.steps


@pytest.mark.parametrize(
    ("written", "message"),
    [
        (["acks"], "'acks': write a setting and its values, for example min.insync.replicas=1,2"),
        (["acks=1,"], "'acks=1,': write a setting and its values"),
        (["acks=1", "acks=all"], "'acks' is given twice; write all its values together, for example acks=1,all"),
        (["acks=1,1"], "'acks=1,1': a value is given twice"),
        (["ack=1"], "unknown word 'ack'; did you mean 'acks'?"),
        (["acks=0,1,all", "linger.ms=1,2"], "3 × 2 = 6 runs are too many to compare side by side; use at most 4, or 'isrlab sweep'"),
        (["acks=2"], "acks: unknown word '2'; use one of 0, 1, all"),
        (["min.insync.replicas=0"], "min.insync.replicas "),
        (["linger.ms=soon"], "linger.ms "),
        (["release=9.9"], "unknown release '9.9'; did you mean '3.9'?"),
    ],
)
def test_mistakes(written: list[str], message: str) -> None:
    with pytest.raises(InputError) as wrong:
        varied(*written)
    assert wrong.value.lines[0].startswith(message)

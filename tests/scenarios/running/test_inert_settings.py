"""Settings of a script that have no effect are warnings, and names that Kafka has are never called unknown."""

from __future__ import annotations

from pathlib import Path

import pytest

from core.kafka.release import CURRENT, RELEASES
from core.kafka.settings.not_modeled import NOT_MODELED, TOPIC_NOT_MODELED
from core.kafka.settings.registry import COARSER, SETTINGS, TOPIC_SETTINGS, setting_named
from core.lab.acts import Set
from scenarios import catalogue
from scenarios.errors import ScriptError
from scenarios.language.script import Scenario, read_script, releases_of
from scenarios.running.inert_settings import warnings
from tui.cli import main

HOUR = 3_600_000


def script(settings: str = "{}", *, clients: str = "{}", config: str = "{}", act: str = "") -> Scenario:
    text = f"cluster:\n  brokers: 3\n  settings: {settings}\n  clients: {clients}\n  topics: {{orders: {{config: {config}}}}}\ntimeline:\n"
    return read_script(text + (f"  - {act}\n" if act else "") + "  - wait: 1s\n    expect: {lost: 0}\n", "s.yaml")


@pytest.mark.parametrize(
    ("given", "place", "name"),
    [
        ({"settings": "{log.cleaner.threads: 2}"}, "s.yaml:3:14: cluster.settings", "log.cleaner.threads"),
        ({"clients": "{client.id: me}"}, "s.yaml:4:13: cluster.clients", "client.id"),
        ({"config": "{remote.storage.enable: true}"}, "s.yaml:5:30: cluster.topics.orders.config", "remote.storage.enable"),
        ({"act": "set: {log.cleaner.threads: 3}"}, "s.yaml:7:11: timeline[1].set", "log.cleaner.threads"),
        (
            {"act": "load: {topic: orders, rate: 1, config: {ssl.protocol: TLSv1.3}}"},
            "s.yaml:7:45: timeline[1].load.config",
            "ssl.protocol",
        ),
    ],
)
def test_a_setting_that_is_not_modeled_is_a_warning(given: dict[str, str], place: str, name: str) -> None:
    assert script(**given).warnings == (f"{place}: Kafka has the setting {name}, but isrlab does not model it",)


def test_a_warning_that_occurs_several_times_is_one_line() -> None:
    (line,) = script("{log.cleaner.threads: 2}", act="set: {log.cleaner.threads: 3}").warnings
    assert line.endswith("but isrlab does not model it (also in line 7)")


def test_a_setting_that_the_release_does_not_have_is_a_warning() -> None:
    scenario = script("{group.consumer.max.size: 5}", clients="{group.protocol: consumer}")
    assert warnings(scenario, [RELEASES["4.0"]]) == ()
    assert warnings(scenario, [RELEASES["2.8"], RELEASES["4.0"]]) == ()
    assert warnings(scenario, [RELEASES["2.8"]]) == (
        "s.yaml: group.consumer.max.size has no effect, because Kafka 2.8 does not have this setting",
        "s.yaml: group.protocol has no effect, because Kafka 2.8 does not have this setting",
    )


def test_settings_of_groups_have_no_effect_on_a_consumer_without_a_group() -> None:
    config = "{session.timeout.ms: 9000, fetch.min.bytes: 5, group.instance.id: one}"
    consumer = script(act=f"consume: {{topic: orders, consumer: c, config: {config}}}")
    assert warnings(consumer, [CURRENT]) == tuple(
        f"s.yaml: {name} has no effect on the consumer c, because it is in no group; 'join-group' starts a member of a group"
        for name in ("session.timeout.ms", "group.instance.id")
    )
    assert warnings(script(act=f"join-group: {{topics: [orders], config: {config}}}"), [CURRENT]) == ()


def test_isrlab_run_prints_the_warnings_on_stderr(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "mine.yaml"
    path.write_text(
        "cluster: {brokers: 3, settings: {log.cleaner.threads: 2}}\ntimeline:\n  - wait: 1s\n    expect: {lost: 0}\n", encoding="utf-8"
    )
    assert main(["run", str(path)]) == 0
    captured = capsys.readouterr()
    assert captured.out.startswith("ok mine")
    assert (
        captured.err == f"warning: {path}:1:34: cluster.settings: Kafka has the setting log.cleaner.threads, but isrlab does not model it\n"
    )


@pytest.mark.parametrize("name", catalogue.names())
def test_no_setting_of_the_library_is_without_effect(name: str) -> None:
    scenario = catalogue.load(name)
    assert warnings(scenario, releases_of(scenario, ())) == ()


@pytest.mark.parametrize(
    ("settings", "name", "value"),
    [
        ("{log.retention.hours: 24}", "log.retention.ms", 24 * HOUR),
        ("{log.retention.hours: -1}", "log.retention.ms", -1),
        ("{log.retention.minutes: 10, log.retention.hours: 24}", "log.retention.ms", 600_000),
        ("{log.retention.hours: 24, log.retention.ms: 7}", "log.retention.ms", 7),
        ("{log.roll.hours: 2}", "log.roll.ms", 2 * HOUR),
        ("{log.roll.hours: 2, log.roll.ms: 5000}", "log.roll.ms", 5_000),
    ],
)
def test_settings_in_hours_and_minutes(settings: str, name: str, value: int) -> None:
    """`KafkaConfig#getLogRetentionTimeMillis`: milliseconds take precedence over minutes, and minutes over hours."""
    scenario = script(settings)
    assert dict(scenario.spec.settings) == {name: value}
    assert scenario.warnings == ()


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({"settings": "{acks: all}"}, "acks is a setting of producers; write it in the 'config' of an act, or under 'cluster.clients'"),
        ({"settings": "{ssl.key.passwort: x}"}, "unknown setting 'ssl.key.passwort'; did you mean 'ssl.key.password'?"),
        ({"settings": "{preallocate: true}"}, "preallocate is a setting of topics; write it in the 'config' of a topic"),
        ({"config": "{log.retention.hours: 5}"}, "log.retention.hours is not a topic setting"),
        ({"config": "{linger.ms: 5}"}, "linger.ms is a setting of producers, not of topics; write it in the 'config' of an act"),
        ({"config": "{check.crcs: true}"}, "check.crcs is a setting of clients, not of topics"),
        ({"clients": "{retention.ms: 5}"}, "retention.ms is a setting of topics, not of clients; write it in the 'config' of a topic"),
        ({"clients": "{socket.send.buffer.bytes: 5}"}, "socket.send.buffer.bytes is a setting of brokers, not of clients; write it under"),
        (
            {"act": "load: {topic: orders, rate: 1, config: {log.roll.hours: 1}}"},
            "log.roll.hours is a setting of brokers, not of producers",
        ),
        ({"act": "set: {log.retention.hours: 5}"}, "log.retention.hours cannot be changed; set log.retention.ms"),
        ({"clients": "{transaction.two.phase.commit.enable: true}"}, "KIP-939"),
    ],
)
def test_what_a_name_of_kafka_is(given: dict[str, str], words: str) -> None:
    with pytest.raises(ScriptError) as caught:
        script(**given)
    assert words in str(caught.value)


def test_the_lists_of_names_do_not_overlap() -> None:
    assert not SETTINGS.keys() & (NOT_MODELED | COARSER.keys())
    assert not TOPIC_SETTINGS & TOPIC_NOT_MODELED
    for name in sorted(NOT_MODELED | TOPIC_NOT_MODELED):
        with pytest.raises(ValueError, match=r"^Kafka has the setting .*, but isrlab does not model it$"):
            setting_named(name)
    with pytest.raises(ValueError, match="set log\\.roll\\.ms"):
        setting_named("log.roll.hours")
    assert Set("min.insync.replicas", "2").name in SETTINGS

"""Acts that drills on real servers needed: a stopped applier, a killed connection, a clean shutdown, and a link that is held in one way."""

from __future__ import annotations

import pytest

from scenarios.language.nodes import parse
from scenarios.models.script import read_model_script
from scenarios.running.model_runner import run_model_scenario


def failures(script: str) -> list[tuple[str, str]]:
    """Run a script, and return what failed: what was expected, and what it was instead."""
    results = run_model_scenario(read_model_script(parse(script, "x.yaml"), "x.yaml"))
    return [(check.expected, f"{result.under}: {check.got}") for result in results for check in result.failures]


def test_a_replica_with_a_stopped_applier_acknowledges_what_it_does_not_apply() -> None:
    """Drill RM-11: at the restart of the replica, MariaDB forgets what was received but not applied, and MySQL keeps it."""
    assert not failures("""
models:
  mysql: {model: mysql, settings: {semi-sync: true, replicas: 1}}
  mariadb: {model: mysql, settings: {semi-sync: true, replicas: 1, mariadb: true}}
clients: {c: [n1]}
timeline:
  - {write: {client: c, versions: 6, every: 10ms}}
  - {wait: 1s, stop-applier: n2, expect: {n2: {visible: 6}}}
  - {stop-applier: n2, refused: already stopped}
  - {write: {client: c, versions: 4, every: 10ms}}
  - {wait: 1s, expect: {k@10: {outcome: ok, took: "< 100ms"}, n2: {visible: 6}}}
  - {kill: n1}
  - {kill: n2}
  - {restart: n2}
  - {promote: n2}
  - {wait: 1s, expect: {n2: {visible: 10}}, under: mysql}
  - {wait: 1s, expect: {n2: {visible: 6}, lost: 4}, under: mariadb}
""")


def test_a_started_applier_catches_up() -> None:
    assert not failures("""
model: mysql
clients: {c: [n1]}
timeline:
  - {start-applier: n2, refused: is not stopped}
  - {stop-applier: n1, refused: is not a replica}
  - {stop-applier: n2}
  - {write: {client: c, versions: 5, every: 10ms}}
  - {wait: 1s, expect: {n2: {visible: 0}}}
  - {start-applier: n2}
  - {wait: 1s, expect: {n2: {visible: 5}}}
  - {stop-applier: n2}
rest: 1s
expect: {n2: {visible: 5}}
""")


def test_a_killed_connection_ends_its_requests_and_in_mariadb_their_wait() -> None:
    assert not failures("""
models:
  mysql: {model: mysql, settings: {semi-sync: true, timeout: 10s}}
  mariadb: {model: mysql, settings: {semi-sync: true, timeout: 10s, mariadb: true}}
clients: {c: [n1], r: [n1]}
timeline:
  - {kill: [n2, n3]}
  - {write: {client: c, key: a}}
  - {wait: 1s, write: {client: r, key: b}}
  - {wait: 1s, kill-connection: c}
  - {wait: 100ms, expect: {a@1: {outcome: unknown}}}
  - {read: {client: r, key: a}}
  - {wait: 100ms, under: mysql, expect: {r: {version: 0}}}
  - {wait: 100ms, under: mariadb, expect: {r: {version: 1}}}
  - {wait: 10s, expect: {a@1: {outcome: unknown}, b@1: {outcome: ok}}}
expect: {lost: 0, unknown: 1}
""")


def test_a_clean_shutdown_of_a_waiting_source_commits_what_waits_and_answers_nobody() -> None:
    assert not failures("""
model: mysql
settings: {semi-sync: true, timeout: 60s, sync-binlog: 0}
clients: {c: [n1], r: [n1]}
timeline:
  - {hold: [n1, n2]}
  - {hold: [n1, n3]}
  - {hold: [n1, n3], refused: already held}
  - {write: c}
  - {wait: 1s, shutdown: n1, expect: {events: {forced-shutdown: {count: 1, waiters: 1}}}}
  - {wait: 100ms, expect: {k@1: {outcome: unknown}, n2: {stored: 0}, n1: {running: false, stored: 1}}}
  - {power-loss: [n1]}
  - {restart: n1}
  - {wait: 1s, read: r}
  - {wait: 100ms, expect: {r: {version: 1}}}
""")


@pytest.mark.parametrize("model", ["mysql", "elasticsearch", "quorum", "kafka"])
def test_a_link_can_be_held_in_one_direction(model: str) -> None:
    """Everything that is sent while the messages are held arrives in order when they are released."""
    assert not failures(f"""
model: {model}
clients: {{c: }}
timeline:
  - {{release: [n1, n2], refused: not held}}
  - {{write: c}}
  - {{wait: 1s, expect: {{n2: {{stored: 1}}, n3: {{stored: 1}}}}, hold: [n1, n2]}}
  - {{wait: 10ms, write: c}}
  - {{wait: 30ms, expect: {{n2: {{stored: 1}}, n3: {{stored: 2}}}}}}
  - {{release: [n1, n2]}}
  - {{wait: 500ms, expect: {{n2: {{stored: 2}}, k@2: {{outcome: ok}}}}}}
  - {{hold: [n2, n1]}}
rest: 1s
expect: {{lost: 0}}
""")


@pytest.mark.parametrize("act", ["shutdown: n1", "stop-applier: n2", "kill-connection: c"])
def test_models_without_an_act_refuse_it(act: str) -> None:
    model = "kafka" if act.startswith("kill-connection") else "quorum"
    assert not failures(f"model: {model}\nclients: {{c: }}\ntimeline:\n  - {{{act}, refused: has no act}}\nrest: 1s\n")

"""Mistakes in scripts for other models are reported at their places, and steps do what they say."""

from __future__ import annotations

import pytest

from scenarios.errors import ScriptMistakes
from scenarios.language.nodes import parse
from scenarios.models.acts import ACTS
from scenarios.models.script import ModelScenario, read_model_script
from scenarios.models.script_doc import DOCUMENT, document
from scenarios.running.model_runner import ModelRun, run_model_scenario
from scenarios.running.runner import State

WRONG = """
scenario: wrong
model: mysql
settings: {replicas: 2, semisync: true, timeout: soon}
clients: {c: [n1], n2: , d: [n9]}
timeline:
  - {at: 1s, wait: 2s, kill: n1}
  - {kil: n1}
  - {kill: n7}
  - {write: {client: e}}
  - cut: [n1, n2, n3]
  - {kill: n1, expect: {losst: 0, n2: {visibl: 1}, events: {no-such: 1}, k@x: {}}}
  - {kill: n1, under: kafka}
rest: 1x
expect: {lost: many, primary: "> n1"}
"""


def read(text: str) -> ModelScenario:
    return read_model_script(parse(text, "x.yaml"), "x.yaml")


def test_all_mistakes_are_reported_at_their_places() -> None:
    with pytest.raises(ScriptMistakes) as found:
        read(WRONG)
    text = "\n".join(f"{wrong.place.line}: {wrong.problem}; {wrong.remedy}" for wrong in found.value.mistakes)
    for line, problem in (
        (4, "unknown word 'semisync'; did you mean 'semi-sync'?"), (4, "'soon' is not a duration"), (5, "'n2' is not a client name"),
        (5, "unknown server 'n9'"), (7, "both 'at' and 'wait'"), (8, "unknown word 'kil'"), (9, "unknown server 'n7'"), (10, "unknown client 'e'"),
        (11, "3 servers"), (12, "unknown word 'losst'; did you mean 'lost'?"), (12, "unknown word 'visibl'"), (12, "unknown event 'no-such'"),
        (12, "'x' is not a number"), (13, "unknown system 'kafka'"), (14, "'1x' is not a duration"), (15, "'many' is not a whole number"),
        (15, "cannot be compared with < or >"),
    ):  # fmt: skip
        assert any(each.startswith(f"{line}: ") and problem in each for each in text.splitlines()), (line, problem, text)


@pytest.mark.parametrize(("step", "example"), [("kill", "'kill: n1'"), ("write", "'write: c'")])
def test_an_act_without_its_field_is_refused_with_an_example(step: str, example: str) -> None:
    with pytest.raises(ScriptMistakes, match=f"for example {example}"):
        read(f"model: mysql\nclients: {{c: [n1]}}\ntimeline:\n  - {step}:\n")


@pytest.mark.parametrize("word", [word for word in ACTS if word != "kafka"])
@pytest.mark.parametrize(
    "value", ["", "n1", "[n1]", "[n1, n2]", "[n1, n2, n1]", "[]", "{}", "c", "[c]", "100ms", "{server: n1}", "{a: n1, b: n2}", "[[n1]]"]
)
def test_an_act_in_any_form_is_read_or_refused_with_a_reason(word: str, value: str) -> None:
    acts: list[str] = []
    mistakes: list[str] = []
    try:
        scenario = read(f"model: mysql\nclients: {{c: [n1]}}\ntimeline:\n  - {word}: {value}\n")
        acts = [act.word for step in scenario.steps for act in step.acts]
    except ScriptMistakes as wrong:
        mistakes = [mistake.problem for mistake in wrong.mistakes]
    assert set(acts) <= {word}
    assert all(mistakes)
    assert acts or mistakes or value == "[]"


@pytest.mark.parametrize(
    ("step", "reason"),
    [
        ("slow-disk: n1", "slow-disk needs write-time; for example slow-disk: {server: n1, write-time: 100ms}"),
        ("slow-disk: [n1, n2]", "slow-disk needs write-time"),
        ("slow-link: [n1, n2]", "slow-link needs latency; for example slow-link: {a: n1, b: n2, latency: 100ms}"),
        ("follow: n2", "follow needs source; for example follow: {server: n1, source: n2}"),
    ],
)
def test_an_act_with_too_few_fields_is_refused_with_an_example(step: str, reason: str) -> None:
    with pytest.raises(ScriptMistakes) as wrong:
        read(f"model: mysql\ntimeline:\n  - {step}\n")
    assert reason in str(wrong.value)


def test_a_refused_act_fails_the_run_unless_the_script_expects_it() -> None:
    script = "model: quorum\ntimeline:\n  - {restart: n1}\n  - {restart: n1, refused: already running}\n  - {kill: n1, refused: nonsense}\n"
    (result,) = run_model_scenario(read(script))
    assert [check.state for check in result.checks] == [State.FAILED, State.HELD, State.FAILED]
    assert result.checks[0].got == "refused: the process of n1 is already running"
    assert result.checks[2].got == "not refused"


def test_an_until_that_never_comes_true_fails_after_its_time_limit() -> None:
    script = "model: mysql\nclients: {c: [n1]}\ntimeline:\n  - write: c\n  - {until: {n2: {visible: 2}}, within: 5s}\n  - {until: {n2: {visible: 1}}}\n"
    scenario = read(script)
    run = ModelRun(scenario, scenario.systems[0])
    result = run.run()
    assert [check.state for check in result.checks] == [State.FAILED, State.HELD]
    assert (result.checks[0].expected, result.checks[0].got) == ("n2 visible == 2 within 5s", "n2 visible == 1")


def test_the_same_script_runs_in_all_models() -> None:
    script = """
models: [kafka, mysql, elasticsearch, quorum]
clients: {c: [n1, n2, n3], r: , p: }
timeline:
  - {load: {client: c, every: 20ms, lasts: 1s}, reads: {client: r, every: 30ms, lasts: 1s}, probe: p}
  - {wait: 300ms, pause: n3}
  - {wait: 100ms, resume: n3}
  - {wait: 100ms, read: {client: r, server: n2, limit: 1s}}
  - wait: 1s
    expect: {acked: "> 30", n1: {running: true, stored: ">= 30"}}
rest: 1s
expect: {lost: 0, phantom: 0, duplicates: 0, primary: n1}
"""
    results = run_model_scenario(read(script))
    assert [result.under for result in results] == ["kafka", "mysql", "elasticsearch", "quorum"]
    assert all(result.held for result in results), [check for result in results for check in result.failures]


def test_the_commit_index_of_a_majority_log_and_the_high_watermark_are_the_same_reading() -> None:
    script = """
models: [kafka, quorum]
clients: {c: [n1, n2, n3]}
timeline:
  - write: c
  - {until: {n1: {commit: ">= 1"}}, within: 5s}
"""
    results = run_model_scenario(read(script))
    assert all(result.held for result in results), [check for result in results for check in result.failures]


def test_the_reference_is_up_to_date() -> None:
    assert DOCUMENT.read_text("utf-8") == document()


@pytest.mark.parametrize(("model", "promote"), [("mysql", "promote: n2"), ("kafka", "expect: {n2: {running: true}}")])
def test_a_client_writes_only_to_servers_that_it_can_connect_to(model: str, promote: str) -> None:
    script = f"""
model: {model}
clients: {{stays: [n1], goes: }}
timeline:
  - {{write: {{client: stays, key: a}}, expect: {{}}}}
  - wait: 1s
    kill: n1
  - {{wait: 15s, {promote}}}
  - {{write: {{client: goes, key: learns-of-the-new-leader}}}}
  - wait: 5s
    write: {{client: goes, key: b, limit: 5s}}
  - {{write: {{client: stays, key: c, limit: 5s}}}}
  - {{read: {{client: stays, key: b, limit: 5s}}}}
  - wait: 10s
    expect: {{a@1: {{outcome: ok}}, b@1: {{outcome: ok}}, c@1: {{outcome: "!= ok"}}, stays: {{outcome: "!= ok"}}}}
"""
    (result,) = run_model_scenario(read(script.replace(", expect: {}", "")))
    assert result.held, [(check.expected, check.got) for check in result.failures]


@pytest.mark.parametrize("value", ["[n1, n2, n3]", "'[n1, n2, n3]'", "'== [n1, n2, n3]'", "'n1, n2, n3'", "'!= [n1]'", "'!= n1'"])
def test_a_list_of_names_can_be_written_as_text(value: str) -> None:
    script = (
        f"model: elasticsearch\nclients: {{c: }}\ntimeline:\n  - {{write: c}}\n  - {{wait: 1s, expect: {{n1: {{in-sync: {value}}}}}}}\n"
    )
    (result,) = run_model_scenario(read(script))
    assert result.held, [(check.expected, check.got) for check in result.failures]

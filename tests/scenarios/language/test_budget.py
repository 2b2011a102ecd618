"""Every kind of script is refused if it asks for more servers, clients, partitions, requests, or time than a run can have."""

from __future__ import annotations

from typing import Any

import pytest

from scenarios.errors import ScriptError
from scenarios.language.nodes import parse
from scenarios.language.script import read_script
from scenarios.models import script as model_script
from scenarios.models.expectations import Names
from scenarios.models.script import read_model_script

KAFKA = "cluster: {brokers: 3, topics: {t: {partitions: 1}}}\ntimeline:\n"
CLIENTS = "clients: {" + ", ".join(f"c{number}: " for number in range(10_001)) + "}\n"


def mistakes(text: str) -> str:
    """Read a script of the kind that its first word tells, and return its mistakes; empty if it has none."""
    try:
        if text.startswith("model"):
            read_model_script(parse(text, "x.yaml"), "x.yaml")
        else:
            read_script(text, "x.yaml")
    except ScriptError as wrong:
        return str(wrong)
    return ""


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("model: quorum\nsettings: {nodes: 1000000}\n", "write a whole number from 1 to 1000"),
        ("model: quorum\nsettings: {nodes: 0}\n", "write a whole number from 1 to 1000"),
        ("model: mysql\nsettings: {replicas: 1_001}\n", "write a whole number from 0 to 1000"),
        ("model: elasticsearch\nsettings: {nodes: 1001}\n", "write a whole number from 1 to 1000"),
        ("model: kafka\nsettings: {brokers: 1001}\n", "write a whole number from 1 to 1000"),
        ("models: {a: {model: quorum, settings: {nodes: 99999}}}\n", "write a whole number from 1 to 1000"),
        (f"model: mysql\n{CLIENTS}", "the script has 10,001 clients; use at most 10,000"),
        (
            "model: mysql\nclients: {c: }\ntimeline:\n  - write: {client: c, count: 100000, versions: 11}\n",
            "x.yaml:4:12: timeline[1].write: the act sends 1,100,000 requests; use at most 1,000,000",
        ),
        ("model: mysql\ntimeline:\n  - wait: 3000d\n  - wait: 3000d\n", "the script can take more than 10 years"),
        (
            "model: mysql\ntimeline:\n  - {until: {n1: {running: false}}, within: 3650d}\nrest: 1d\n",
            "the script can take more than 10 years",
        ),
        ("model: mysql\ntimeline:\n  - rest: {quiet: 3000d}\n  - rest: {quiet: 3000d}\n", "the script can take more than 10 years"),
        (KAFKA + "  - wait: 3000d\n  - wait: 3000d\n", "x.yaml:4:5: timeline[2]: the script can take more than 10 years"),
        (KAFKA + "  - at: 3000d\n  - {until: lost > 0, within: 3000d}\n", "the script can take more than 10 years"),
        (
            KAFKA + "".join(f"  - load: {{topic: t, rate: 1, producer: p{number}}}\n" for number in range(10_001)),
            "the script has 10,001 clients; use at most 10,000",
        ),
        (
            KAFKA + "".join(f"  - create-topic: {{topic: t{number}, partitions: 100000}}\n" for number in range(3)),
            "the topics of the script have 300,001 partitions; use at most 200,000",
        ),
        (KAFKA + "  - delay-service: {topic: d, service: s, instances: 1000000000}\n", "10000"),
    ],
    ids=range(16),
)
def test_what_a_run_cannot_have_is_refused(text: str, reason: str) -> None:
    assert reason in mistakes(text)


@pytest.mark.parametrize(
    "text",
    [
        "model: quorum\nsettings: {nodes: 1000}\n",
        "model: mysql\nclients: {c: }\ntimeline:\n  - write: {client: c, count: 100000, versions: 10}\n",
        "model: mysql\ntimeline:\n  - wait: 1824d\n  - wait: 1825d\n",
        KAFKA + "  - at: 3000d\n  - wait: 600d\n  - {until: lost > 0, within: 49d}\n",
    ],
    ids=range(4),
)
def test_the_most_that_a_run_can_have_is_read(text: str) -> None:
    assert mistakes(text) == ""


class Known:
    """A collection of names that cannot be copied, because it does not enumerate its names."""

    def __init__(self, *names: str) -> None:
        self._names = names

    def __contains__(self, name: object) -> bool:
        return name in self._names


@pytest.mark.parametrize("act", ["kill: n1", "cut: [n1, c]", "write: c", "power-loss: [n1, n2]", "isolate: {server: n1, clients: [c]}"])
def test_an_act_does_not_copy_the_servers(act: str) -> None:
    names: Any = Names(("s",), Known("n1", "n2"), Known("c"))  # type: ignore[arg-type]
    fields = parse(act, "x.yaml")
    (word,) = fields.values
    assert model_script._acts(fields.values[word], word, names)

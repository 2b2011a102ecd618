"""The title of a scenario and its tags: what is read, and what is refused, in scripts for Kafka and for other models."""

from __future__ import annotations

import pytest

from scenarios.catalogue import read_any
from scenarios.errors import ScriptError
from scenarios.language.subjects import MAX_TITLE, SUBJECTS

KAFKA = "cluster: {brokers: 1}\n"
MODEL = "model: mysql\n"
ABOUT = "about: The first sentence. The second.\n"


@pytest.mark.parametrize("rest", [KAFKA, MODEL])
def test_title_and_tags_are_read(rest: str) -> None:
    scenario = read_any(f'title: "A title: with a colon"\ntags: [network, isr]\n{ABOUT}{rest}', "s.yaml")
    assert (scenario.title, scenario.tags) == ("A title: with a colon", ("network", "isr"))
    assert scenario.about == "The first sentence. The second."


@pytest.mark.parametrize("rest", [KAFKA, MODEL])
def test_without_a_title_the_first_sentence_is_the_title(rest: str) -> None:
    scenario = read_any(ABOUT + rest, "s.yaml")
    assert (scenario.title, scenario.tags) == ("The first sentence.", ())
    assert read_any(rest, "s.yaml").title == ""


@pytest.mark.parametrize("rest", [KAFKA, MODEL])
@pytest.mark.parametrize(
    ("line", "message"),
    [
        (f"title: {'x' * (MAX_TITLE + 1)}", "s.yaml:2:8: title: the title has 71 characters; use at most 70; 'about' has room for more"),
        ('title: "one\\ntwo"', "s.yaml:2:8: title: the title has several lines; write one line; 'about' has room for more"),
        ("title: ''", "s.yaml:2:8: title: there is no value; write in one line what the scenario is about"),
        ("title: [a]", "s.yaml:2:8: title: expected a single value, not a list; write in one line what the scenario is about"),
        ("tags: isr", "s.yaml:2:7: tags: expected a list, not 'isr'; write a list of subjects, for example [isr, network]"),
        ("tags: []", "s.yaml:2:7: tags: the list is empty; write at least one subject, for example [isr, network]"),
        ("tags: [isr, netwrok]", "s.yaml:2:13: tags[2]: unknown word 'netwrok'; did you mean 'network'?"),
        ("tags: [isr, acks, isr]", "s.yaml:2:19: tags[3]: 'isr' appears twice; write each subject once"),
        (f"tags: [{', '.join(list(SUBJECTS)[:7])}]", "s.yaml:2:7: tags: the list has 7 subjects; use at most 6"),
        ("titel: x", "s.yaml:2:1: script: unknown word 'titel'; did you mean 'title'?"),
    ],
)
def test_what_is_wrong_is_said_with_its_place(rest: str, line: str, message: str) -> None:
    with pytest.raises(ScriptError) as refused:
        read_any(f"scenario: s\n{line}\n{rest}", "s.yaml")
    assert refused.value.lines == (message,)


def test_subjects_are_words_with_short_descriptions() -> None:
    for tag, meaning in SUBJECTS.items():
        assert tag.replace("-", "").isalpha()
        assert tag == tag.lower()
        assert 10 < len(meaning) <= MAX_TITLE, tag

"""Questions of the public: the page is up to date, every command runs, and what is quoted is in its output."""

from __future__ import annotations

import re
import shlex
from pathlib import Path

import pytest

from scenarios.finding.public_questions import QUESTIONS, Question
from tests import questions_page
from tests.scenarios.finding.test_find import known
from tui.cli import main

ROOT = Path(__file__).parents[3]
ANSWERED = [question for question in QUESTIONS if question.command]


def quotes(question: Question) -> list[str]:
    """Return what an answer quotes from the output."""
    return re.findall("“([^”]*)”", question.answer)


def test_the_page_is_up_to_date() -> None:
    assert (ROOT / "docs/questions.md").read_text("utf-8") == questions_page.page(), "run: make docs"


def test_each_question_is_another_one_with_its_own_address() -> None:
    for field in ("name", "text", "address"):
        assert len({getattr(question, field) for question in QUESTIONS}) == len(QUESTIONS), field
    assert all(question.address.startswith("https://") for question in QUESTIONS)
    assert all(question.text.endswith("?") and question.symptoms for question in QUESTIONS)


def test_at_least_45_questions_are_answered() -> None:
    assert len(QUESTIONS) >= 50
    assert len(ANSWERED) >= 45


def test_what_is_not_answered_has_no_command_and_quotes_nothing() -> None:
    assert [question.name for question in QUESTIONS if bool(question.command) != bool(question.subject)] == []
    assert [question.name for question in QUESTIONS if bool(question.command) != bool(quotes(question))] == []


@pytest.mark.parametrize("question", ANSWERED, ids=lambda question: question.name)
def test_the_command_shows_what_the_answer_quotes(question: Question, capsys: pytest.CaptureFixture[str]) -> None:
    program, *arguments = shlex.split(question.command)
    assert program == "isrlab"
    assert main(arguments) == 0
    shown = " ".join(capsys.readouterr().out.split())
    assert [quote for quote in quotes(question) if quote not in shown] == []


@pytest.mark.parametrize("question", ANSWERED, ids=lambda question: question.name)
def test_a_question_is_found_by_its_words(question: Question) -> None:
    assert question.name in [entry.name for entry in known().find(question.text, 3)]

"""The entries of the index that do not need a screen: questions, scenarios, errors, settings, readings, events, and acts."""

from __future__ import annotations

import re
from collections.abc import Iterator

from core.kafka.clients.client_settings import CLIENT_SETTINGS
from core.kafka.events import KINDS
from core.kafka.settings.registry import SETTINGS
from core.lab.acts import ACTS
from scenarios import catalogue
from scenarios.finding.error_meanings import ERROR_MEANINGS, spellings
from scenarios.finding.index import Entry
from scenarios.finding.public_questions import QUESTIONS, Question
from scenarios.language.script import first_sentence
from scenarios.lessons.lessons_library import find_lesson, lesson_names
from scenarios.readings.all_readings import ALL_READINGS


def scenario_entry(header: catalogue.ScenarioHeader) -> Entry:
    """Return the entry of a scenario."""
    command = f"isrlab {'play' if header.for_kafka else 'run'} {header.name}"
    return Entry("scenario", header.name, header.title, header.tags, header.about, header.script, command)


def question_entry(question: Question) -> Entry:
    """Return the entry of a question of the public."""
    tags = (*question.symptoms, *question.errors, *question.settings)
    return Entry("question", question.name, question.text, tags, question.answer, command=question.command)


def entries() -> Iterator[Entry]:
    """Yield all entries, those first that show something when they run."""
    headers = catalogue.headers()
    yield from (question_entry(question) for question in QUESTIONS if question.command)
    yield from map(scenario_entry, headers)
    for name in lesson_names():
        lesson = find_lesson(name)
        yield Entry("lesson", name, lesson.title, lesson.tags, lesson.about, command=f"isrlab learn {name}")
    for error, meaning in ERROR_MEANINGS.items():
        named = re.compile(rf"\b{error}\b")
        shown = [header for header in headers if header.for_kafka and error in header.script and named.search(header.script)]
        shown.sort(key=lambda header: not named.search(header.about))
        yield Entry("error", error, meaning, spellings(error), command=f"isrlab play {shown[0].name}" if shown else "")
    for name, setting in SETTINGS.items():
        yield Entry("setting", name, setting.meaning, (setting.scope,))
    for name, client_setting in CLIENT_SETTINGS.items():
        yield Entry("setting", name, client_setting.meaning, client_setting.kinds)
    for reading in ALL_READINGS:
        yield Entry("reading", reading.written, reading.meaning, command=f"isrlab readings {reading.name}")
    for word, act in ACTS.items():
        yield Entry("act", word, first_sentence(" ".join((act.__doc__ or "").split())))
    for kind, event in KINDS.items():
        yield Entry("event", kind, first_sentence(" ".join((event.__doc__ or "").split())), (event.source,))

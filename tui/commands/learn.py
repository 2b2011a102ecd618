"""The command `isrlab learn`, which opens, lists, and checks lessons."""

from __future__ import annotations

import argparse
import os
import sys
from typing import Any

from scenarios.io.standard_streams import print_error, print_lines
from tui.arguments.options import add_display_options, display_of
from tui.exit_codes import BAD_INPUT, FAILED, HELD


def add_commands(commands: Any) -> None:
    """Add the command `learn`."""
    learn = commands.add_parser("learn", help="learn step by step: lessons of a few minutes that ask what will happen before it happens")
    learn.add_argument(
        "lesson", nargs="?", metavar="LESSON|FILE", help="the name or the number of a lesson, or a file; without one, choose from the list"
    )
    kind = learn.add_mutually_exclusive_group()
    kind.add_argument("--list", action="store_true", help="list the lessons with your progress, as without a terminal")
    kind.add_argument(
        "--check",
        action="store_true",
        help="play the lesson without a screen, with right and with wrong answers; exit with 1 if it cannot end",
    )
    kind.add_argument("--continue", dest="goes_on", action="store_true", help="go on at the step that you have reached")
    kind.add_argument("--reset", action="store_true", help="forget your progress in the lesson or, without one, in all lessons")
    add_display_options(learn)
    learn.set_defaults(command=_learn)


def _learn(arguments: argparse.Namespace) -> int:
    from scenarios.errors import InputError
    from scenarios.lessons.lessons_library import find_lesson
    from tui.actions.all_actions import BY_ID

    lesson = None if arguments.lesson is None else find_lesson(arguments.lesson, BY_ID)
    if arguments.goes_on and lesson is None:
        raise InputError("--continue: name a lesson or a file")
    if arguments.reset:
        from scenarios.lessons.progress import reset_progress

        if problem := reset_progress(None if lesson is None else [lesson.name]):
            raise InputError(problem)
        return HELD
    if arguments.check:
        if lesson is None:
            raise InputError("--check: name a lesson or a file")
        return _check(lesson)
    terminal = (sys.stdin.isatty() and sys.stdout.isatty()) or "TEXTUAL_DRIVER" in os.environ
    if arguments.list or (lesson is None and not terminal):
        if lesson is not None:
            raise InputError("--list: lists all lessons; omit the name of the lesson")
        return _list()
    display = display_of(arguments)
    if not terminal:
        print_error("learn needs a terminal; 'isrlab learn --list' lists the lessons without one")
        return BAD_INPUT
    from core.kafka.release import CURRENT
    from tui.app.playground import run_app
    from tui.lessons.lessons_page import lesson_target
    from tui.session.play_target import PlayTarget

    if lesson is None:
        return run_app(PlayTarget(None, None, CURRENT, first_page="lessons"), display)
    from scenarios.lessons.progress import read_progress

    return run_app(lesson_target(lesson, progress=read_progress().get(lesson.name) if arguments.goes_on else None), display)


def _list() -> int:
    """Print the lessons with the progress in each."""
    from scenarios.lessons.lessons_library import find_lesson, lesson_names
    from scenarios.lessons.progress import LessonProgress, read_progress

    progress = read_progress()
    lessons = [find_lesson(name) for name in lesson_names()]
    names, titles = (max(len(getattr(lesson, field)) for lesson in lessons) for field in ("name", "title"))
    print_lines(
        f"{number}  {lesson.name:<{names}}  {lesson.title:<{titles}}  {lesson.minutes} min  {progress.get(lesson.name, LessonProgress()).words()}"
        for number, lesson in enumerate(lessons, start=1)
    )
    return HELD


def counted(count: int, word: str) -> str:
    """Return a number with its word, for example `1 act` or `2 acts`."""
    return f"{count} {word}{'' if count == 1 else 's'}"


def _check(lesson: Any) -> int:
    """Play a lesson with right and with wrong answers, and say whether it comes to its end."""
    from scenarios.errors import ScriptError
    from scenarios.lessons.headless import HeadlessLesson

    try:
        for wrong_first in (False, True):
            HeadlessLesson(lesson).play(wrong_first=wrong_first)
    except ScriptError as stuck:
        print_error(str(stuck))
        return FAILED
    questions = counted(sum(bool(step.choices) for step in lesson.steps), "question")
    acts = counted(sum(step.wait_for is not None for step in lesson.steps), "act")
    print_lines([f"{lesson.name}: {counted(len(lesson.steps), 'step')}, {questions}, {acts} of the person; it comes to its end"])
    return HELD

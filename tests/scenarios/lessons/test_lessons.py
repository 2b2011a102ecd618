"""Every lesson of the library comes to its end, with right and with wrong answers, and mistakes in lessons are refused with their place."""

from __future__ import annotations

from pathlib import Path

import pytest

from scenarios.errors import InputError, ScriptError
from scenarios.lessons import progress
from scenarios.lessons.headless import HeadlessLesson
from scenarios.lessons.lesson import Lesson
from scenarios.lessons.lessons_library import ORDER, find_lesson, lesson_names
from scenarios.lessons.phases import Phase
from scenarios.lessons.places import PlaceKind, Pointer
from scenarios.lessons.player import Player
from scenarios.lessons.progress import LessonProgress, keep_progress, read_progress, reset_progress
from scenarios.lessons.reader import read_lesson
from tui.actions.all_actions import BY_ID

MOST_ON_A_SMALL_SCREEN = 560
"""The characters of a text with its answers that a screen of 80×24 shows at once; a lesson with a table has more lines."""

SMALL = """
scenario: small
releases: ["4.3"]
cluster:
  brokers: 2
  topics:
    orders: {replicas: [[1, 2]]}
table: {columns: [when, leader]}
lesson:
  - ask: Who leads?
    choices: {b1: "Yes, b{leader(orders-0)}.", b2: It follows.}
    right: b1
  - say: Kill b1 with {key kill}.
    point: broker 1
    wait-for: state(1) == stopped
    answer: {kill: 1}
    hints: [{when: state(2) == stopped, say: That was b2.}]
  - until: leader(orders-0) == 2
    within: 20s
    fill: {now: {leader: "{leader(orders-0)}"}}
    say: b2 leads.
    reveal: [leader(orders-0), hw(orders-0)]
  - end: Good.
    compare: [{value: leader(orders-0), because: b1 died}, {value: lost, because: nothing}]
    ideas: [Start b1.]
"""


@pytest.fixture(scope="module")
def small() -> Lesson:
    return read_lesson(SMALL, "small.yaml", BY_ID)


@pytest.mark.parametrize("wrong_first", [False, True], ids=["right", "wrong"])
@pytest.mark.parametrize("name", lesson_names())
def test_a_lesson_comes_to_its_end(name: str, wrong_first: bool) -> None:
    lesson = find_lesson(name, BY_ID)
    player = HeadlessLesson(lesson).play(wrong_first=wrong_first)
    assert player.phase is Phase.END
    wrong = sum(len(step.choices) - 1 for step in lesson.steps if step.choices)
    assert player.now.wrong == (wrong if wrong_first else 0)
    assert len(player.now.compared) == sum(len(step.compare) for step in lesson.steps), "every value that the end compares has changed"
    assert 2 <= len(player.now.ideas) <= 4
    assert 3 <= lesson.minutes <= 6


@pytest.mark.parametrize("name", lesson_names())
def test_a_small_screen_shows_a_step_at_once(name: str) -> None:
    lesson = find_lesson(name)
    for step in lesson.steps:
        said = "" if step.say is None else "".join(part if isinstance(part, str) else "1234" for part in step.say.parts)
        answers = sum(max(len(choice.label), 70) for choice in step.choices)
        assert step.ends or len(said) + answers <= MOST_ON_A_SMALL_SCREEN, str(step.place)


def test_the_lesson_of_the_documentation_comes_to_its_end() -> None:
    page = (Path(__file__).parents[3] / "docs" / "lessons.md").read_text("utf-8")
    lesson = read_lesson(page.split("```yaml\n")[1].split("```")[0], "lessons.md", BY_ID)
    assert HeadlessLesson(lesson).play(wrong_first=True).table == (("before", "b1", "[1, 2, 3]"), ("after", "b2", "[2, 3]"))


def test_the_library_has_an_order() -> None:
    assert tuple(lesson_names()) == ORDER
    assert find_lesson("1").name == ORDER[0]
    with pytest.raises(InputError, match="did you mean 'hw-and-leo'"):
        find_lesson("hw-and-le")


def test_what_a_player_says_and_waits_for(small: Lesson) -> None:
    played = HeadlessLesson(small)
    player = played.player
    player.start(played.moment)
    assert player.phase is Phase.CHOOSE
    player.go_on(played.moment)
    assert player.phase is Phase.CHOOSE, "a question wants an answer"
    for _ in range(2):
        player.choose(1, played.moment)
    assert (player.phase, player.now.replied, player.now.wrong) == (Phase.CHOOSE, "It follows.", 1)
    player.choose(0, played.moment)
    assert (player.phase, player.now.replied) == (Phase.READ, "Yes, b1.")
    before = player.now
    player.go_on(played.moment)
    assert (player.phase, player.now.said) == (Phase.ACT, "Kill b1 with <kill>.")
    from core.lab.acts import Kill, Start

    played.cluster.do(Kill(2))
    assert player.observe(played.moment)
    assert player.now.replied == "That was b2."
    played.cluster.do(Start(2))
    assert player.observe(played.moment)
    assert player.now.replied == ""
    player.resume(before, played.moment)
    assert (player.phase, player.now.wrong) == (Phase.CHOOSE, 1), "a step that begins again keeps the count"


def test_a_step_whose_condition_holds_already_is_passed(small: Lesson) -> None:
    played = HeadlessLesson(small)
    player = played.player
    player.start(played.moment)
    player.choose(0, played.moment)
    from core.lab.acts import Kill

    played.cluster.do(Kill(1))
    player.go_on(played.moment)
    assert (player.now.index, player.phase) == (2, Phase.TIME)
    assert player.now.said == "Time passes until leader(orders-0) == 2."
    played.cluster.run_until(20_000_000)
    player.time_passed(played.moment)
    assert (player.now.said, player.now.revealed) == ("b2 leads.", (("leader(orders-0)", "2"), ("hw(orders-0)", "0")))
    assert player.table == (("now", "2"),)


def test_a_lesson_that_cannot_go_on_says_so(small: Lesson) -> None:
    played = HeadlessLesson(small)
    from core.lab.acts import Kill

    played.perform((Kill(2),))
    played.cluster.run_until(15_000_000)  # b2 has left the ISR, so it cannot lead
    with pytest.raises(
        ScriptError, match=r"small.yaml:18:5: lesson\[3\]: leader\(orders-0\) == 2 did not become true within 20s; now none"
    ):
        played.play()


def test_a_wrong_answer_act_is_a_mistake_of_the_lesson() -> None:
    lesson = read_lesson(SMALL.replace("answer: {kill: 1}", "answer: {kill: 2}"), "small.yaml")
    with pytest.raises(ScriptError, match=r"lesson\[2\]: 'answer' does not bring about state\(1\) == stopped; now running"):
        HeadlessLesson(lesson).play()


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("right: b1", "right: b3", "small.yaml:12:12: lesson[1].right: 'b3' is not one of the choices; use one of b1, b2"),
        ("{key kill}", "{key kil}", "small.yaml:13:23: lesson[2].say: no action has the id 'kil'; did you mean 'kill'?"),
        ("b{leader(orders-0)}", "b{leeder(orders-0)}", "small.yaml:11:27: lesson[1].choices.b1: unknown word 'leeder' (in: leeder(orders-0)); did you mean 'leader'?"),
        ("b{leader(orders-0)}", "b{leader(orders-0)", "small.yaml:11:26: lesson[1].choices.b1: '{' is not closed"),
        ("point: broker 1", "point: broker 7", "small.yaml:14:12: lesson[2].point: unknown broker 7; brokers are 1, 2"),
        ("point: broker 1", "point: page lag", "small.yaml:14:12: lesson[2].point: there is no page 'lag'; use one of partition"),
        ("answer: {kill: 1}", "answer: {kill: 9}", "small.yaml:16:20: lesson[2].answer.kill: unknown broker 9; the brokers are 1, 2"),
        ("answer: {kill: 1}", "answer: {kil: 1}", "small.yaml:16:14: lesson[2].answer: unknown act 'kil'; did you mean 'kill'?"),
        ("    answer: {kill: 1}\n", "", "small.yaml:15:5: lesson[2]: 'wait-for' requires 'answer'; write the act"),
        ("wait-for: state(1) == stopped", "wait-for: happened broker-stopped", "small.yaml:15:15: lesson[2].wait-for: this condition looks at past events"),
        ("fill: {now: {leader:", "fill: {now: {leadr:", "small.yaml:20:18: lesson[3].fill.now: the table has no column 'leadr'; did you mean 'leader'?"),
        ("say: b2 leads.", "sya: b2 leads.", "small.yaml:21:5: lesson[3]: unknown word 'sya'; did you mean 'say'?"),
        ("until: leader", "run: 5s\n    until: leader", "small.yaml:19:5: lesson[3]: the step has both 'run' and 'until'; use only one of them"),
        ("say: b2 leads.", "say: b2 leads.\n    again: '4.0'", "small.yaml:22:12: lesson[3].again: the lesson's 'releases' do not name 4.0; they are 4.3"),
        ("end: Good.", "say: Good.", "small.yaml:24:5: lesson[4]: 'compare' requires 'end'"),
        ("[leader(orders-0), hw(", "[leader(orders-0), hww(", "small.yaml:22:32: lesson[3].reveal[2]: unknown word 'hww' (in: hww(orders-0)); did you mean 'hw'?"),
        ("[leader(orders-0), hw(orders-0)]", "{a: '{hww(orders-0)}'}", "small.yaml:22:19: lesson[3].reveal.a: unknown word 'hww'"),
        ("{value: lost,", "{value: lst,", "small.yaml:24:68: lesson[4].compare[2].value: unknown word 'lst' (in: lst); did you mean"),
        ("scenario: small", "scenario: small\nminuets: 5", "small.yaml:3:1: script: unknown word 'minuets'; did you mean 'minutes'?"),
        ("lesson:", "lessen:", "'lesson' is missing, so this is not a lesson"),
        ("brokers: 2", "brokers: 0", "small.yaml:5:12: cluster.brokers:"),
    ],
)  # fmt: skip
def test_a_mistake_is_refused_with_its_place(old: str, new: str, message: str) -> None:
    assert old in SMALL
    with pytest.raises(ScriptError) as wrong:
        read_lesson(SMALL.replace(old, new, 1), "small.yaml", BY_ID)
    assert wrong.value.lines[0].startswith(message) or message in wrong.value.lines[0], wrong.value.lines


def test_a_lesson_has_at_most_200_steps() -> None:
    steps = "  - say: Good.\n" * 196
    assert len(read_lesson(SMALL.replace("  - end:", steps + "  - end:"), "small.yaml", BY_ID).steps) == 200
    with pytest.raises(ScriptError, match=r"lesson\[201\]: the lesson has more than 200 steps"):
        read_lesson(SMALL.replace("  - end:", steps + "  - say: Better.\n  - end:"), "small.yaml", BY_ID)


@pytest.mark.parametrize(
    ("step", "message"),
    [
        ("{say: a, ask: b}", "the step has both 'say' and 'ask'; write a separate step"),
        ("{ask: a, end: b}", "the step has both 'ask' and 'end'; write a separate step"),
        ("{say: a, until: lost == 0, wait-for: lost == 1}", "the step has both 'until' and 'wait-for'; write a separate step"),
        ("{say: a, within: 5s}", "'within' requires 'until' or 'wait-for'"),
        ("{say: a, meanwhile: b}", "'meanwhile' requires 'run' or 'until'"),
        ("{say: a, choices: {a: b, c: d}}", "'choices' requires 'ask'"),
        ("{say: a, right: b}", "'right' requires 'ask'"),
        ("{check: lost == 0, wait-for: lost == 1}", "'wait-for' requires 'say'"),
        ("{say: a, answer: {kill: 1}}", "'answer' requires 'wait-for'"),
        ("{say: a, hints: []}", "'hints' requires 'wait-for'"),
        ("{say: a, ideas: [b]}", "'ideas' requires 'end'"),
        ("{check: lost == 0, reveal: [lost]}", "'reveal' requires 'say' or 'ask' or 'end'"),
        ("{check: lost == 0, point: events}", "'point' requires 'say' or 'ask' or 'end'"),
        ("{ask: a, right: b}", "'ask' requires 'choices'; for example"),
        ("{ask: a, choices: {a: b, c: d}}", "'ask' requires 'right'; for example"),
        ("{end: a}", "'end' requires 'ideas'; write what to try"),
        ("{ask: a, right: a, choices: {a: b}}", "the question has only one choice; a question has from 2 to 6 choices"),
        ("{ask: a, right: a, choices: {a: b, b: b, c: b, d: b, e: b, f: b, g: b}}", "the question has 7 choices; a question has from 2 to 6 choices"),
        ("{}", "the step is empty; for example"),
        ("{say: a, point: places}", "the screen has no place 'places'; did you mean 'page'?"),
        ("{say: a, point: events 1}", "'events 1' is not a place; write brokers"),
        ("{say: a, point: partition orders-0 at 2}", "'partition orders-0 at 2' is not a place; write brokers"),
        ("{say: a, point: page}", "'page' is not a place; write brokers"),
    ],
)  # fmt: skip
def test_words_of_a_step_that_do_not_belong_together(step: str, message: str) -> None:
    head, _, end = SMALL.rpartition("  - end")
    with pytest.raises(ScriptError) as wrong:
        read_lesson(f"{head.partition('lesson:')[0]}lesson:\n  - {step}\n  - end{end}", "small.yaml")
    assert message in wrong.value.lines[0], wrong.value.lines


@pytest.mark.parametrize("place", ["broker 2", "partition orders-0", "partition orders-0 on 2", "page groups", "events", "keys"])
def test_places_that_a_step_points_at(place: str) -> None:
    pointer = read_lesson(SMALL.replace("point: broker 1", f"point: {place}"), "small.yaml").steps[1].point
    kind, *rest = place.split()
    assert pointer == Pointer(PlaceKind(kind), *rest[:1], *map(int, rest[2:]))


def test_a_step_that_starts_the_cluster_again() -> None:
    text = SMALL.replace('["4.3"]', '["4.3", "0.10.2"]').replace(
        "  - end:", '  - again: "0.10.2"\n    say: Now {leader(orders-0)} leads.\n  - end:'
    )
    played = HeadlessLesson(read_lesson(text, "small.yaml"))
    played.play()
    assert "Now 1 leads." in played.texts
    assert played.cluster.release.name == "0.10.2"


def test_progress_is_kept_and_forgotten(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = tmp_path / "isrlab" / "lessons.json"
    assert keep_progress("a", 3, 9, 1, ended=False, path=file) == ""
    keep_progress("a", 2, 9, 1, ended=False, path=file)
    keep_progress("b", 9, 9, 0, ended=True, path=file)
    keep_progress("b", 1, 9, 0, ended=False, path=file)
    assert read_progress(file) == {"a": LessonProgress(3, 9), "b": LessonProgress(9, 9, True, 0)}
    assert [one.words() for one in read_progress(file).values()] == ["step 3 of 9", "finished, no wrong answer"]
    keep_progress("b", 9, 9, 2, ended=True, path=file)
    keep_progress("a", 2, 7, 0, ended=False, path=file)
    assert read_progress(file) == {"a": LessonProgress(2, 7), "b": LessonProgress(9, 9, True, 2)}, "a lesson that changed begins anew"
    assert [one.words() for one in (*read_progress(file).values(), LessonProgress(), LessonProgress(9, 9, True))] == [
        "step 2 of 7", "finished, 2 wrong", "new", "finished",
    ]  # fmt: skip
    monkeypatch.setattr(progress, "MAX_BYTES", file.stat().st_size)
    assert list(read_progress(file)) == ["a", "b"]
    monkeypatch.setattr(progress, "MAX_BYTES", file.stat().st_size - 1)
    assert read_progress(file) == {}
    monkeypatch.undo()
    reset_progress(["a"], file)
    assert list(read_progress(file)) == ["b"]
    file.write_text(
        '{"lessons": {"a": {"step": "x"}, "b": 3, "c": {"step": 1, "steps": 2}, "d": {"finished": 1}, "e": {"wrong": true}, "f": {}}}'
    )
    assert read_progress(file) == {"c": LessonProgress(1, 2), "f": LessonProgress()}
    file.write_text("[")
    assert read_progress(file) == {}
    (tmp_path / "file").write_text("")
    assert "cannot be written" in keep_progress("a", 1, 9, 0, ended=False, path=tmp_path / "file" / "lessons.json")


def test_keys_of_a_text_are_those_of_the_keymap(small: Lesson) -> None:
    player = Player(small, {"kill": "J"}.__getitem__)
    played = HeadlessLesson(small)
    player.start(played.moment)
    player.choose(0, played.moment)
    player.go_on(played.moment)
    assert player.now.said == "Kill b1 with J."

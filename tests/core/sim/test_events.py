"""Events are plain tuples that a class reads by the names of its columns."""

from __future__ import annotations

import pytest

from core.kafka.events import KINDS as KAFKA_KINDS
from core.models.catalogue import KINDS as MODEL_KINDS
from core.sim.events import NOTABLE, Event, content_of, kind_of, seq_of, time_of, values_of, without_causes
from tests.core.kafka.sentence_samples import samples


class Base(Event, kind=""):
    """A base class with a column of its own."""

    node: str


class Moved(Base, kind="moved", level=NOTABLE):
    """Something moved."""

    old: int
    new: int

    def sentence(self) -> str:
        return f"{self.node} moved from {self.old} to {self.new}"


RECORDED = (7, 2_000, (5, 3), "moved", "n1", 10, 20)


def test_columns_have_the_names_of_the_fields_after_those_of_the_base_class() -> None:
    moved = Moved(RECORDED)
    assert (moved.node, moved.old, moved.new) == ("n1", 10, 20)
    assert moved.columns == {"node": "str", "old": "int", "new": "int"}
    assert moved.sentence() == "n1 moved from 10 to 20"
    assert repr(moved) == "Moved(node='n1', old=10, new=20)"


def test_a_typed_event_is_the_recorded_tuple() -> None:
    moved = Moved(RECORDED)
    assert moved == RECORDED
    assert tuple(moved) == RECORDED
    with pytest.raises(AttributeError):
        moved.old = 3


@pytest.mark.parametrize("event", [RECORDED, Moved(RECORDED)])
def test_every_event_has_a_number_a_time_a_kind_and_columns(event: tuple) -> None:
    assert (seq_of(event), time_of(event), kind_of(event), values_of(event)) == (7, 2_000, "moved", ("n1", 10, 20))
    assert content_of(event) == content_of((8, 2_000, 0, "moved", "n1", 10, 20)) != content_of((7, 2_001, (5, 3), "moved", "n1", 10, 20))
    assert without_causes(event) == (7, 2_000, 0, "moved", "n1", 10, 20)


class Told(Event, kind="told"):
    """Something with a template."""

    name: str
    bytes: int
    took_us: int
    times: int

    phrases = {**Event.phrases, "count": lambda number, noun: f"{number} {noun}s"}  # noqa: RUF012
    template = "{name} wrote {bytes:,} bytes of {whole} in {took_us:duration}, {times:count time}"

    @property
    def whole(self) -> str:
        return f"{self.name}'s file"


def test_a_template_writes_values_as_they_are_in_a_format_and_in_words() -> None:
    told = Told((1, 0, 0, "told", "n1", 12_345, 2_000, 3))
    assert told.sentence() == "n1 wrote 12,345 bytes of n1's file in 2ms, 3 times"


@pytest.mark.parametrize("kind", [*KAFKA_KINDS.values(), *MODEL_KINDS.values()], ids=lambda kind: kind.kind)
def test_every_kind_has_a_template_or_a_method_that_writes_its_sentence(kind: type[Event]) -> None:
    assert bool(kind.template) != ("sentence" in vars(kind))


@pytest.mark.parametrize("kind", [kind for kind in MODEL_KINDS.values() if kind.template], ids=lambda kind: kind.kind)
def test_a_template_names_columns_and_phrases(kind: type[Event]) -> None:
    for each in samples(kind):
        assert "{" not in each.sentence()


def test_no_column_hides_a_field_of_the_class() -> None:
    names = {name for kind in (*KAFKA_KINDS.values(), *MODEL_KINDS.values()) for name in kind.columns}
    assert names.isdisjoint({*vars(Event), *Event.__annotations__})

"""The base class of all acts."""

from __future__ import annotations

from typing import ClassVar

import attrs

from core.sim.repr_mixin import ReprMixin


@attrs.frozen(eq=False, repr=False)
class Act(ReprMixin):
    """The base class of all acts.

    Attributes:
        word: the act's word in the script language.
        does: a one-line description for help texts.
        by_hand: whether the act needs a cluster in by-hand mode.
    """

    word: ClassVar[str]
    does: ClassVar[str]
    by_hand: ClassVar[bool]

    def __init_subclass__(cls, *, word: str = "", does: str = "", by_hand: bool = False) -> None:
        if word:  # attrs creates each class again, with slots, and then passes no arguments
            cls.word, cls.does, cls.by_hand = word, does, by_hand

    # These methods are written once here, like `ReprMixin.__repr__`. Otherwise, attrs would generate them for each of forty classes.

    def __eq__(self, other: object) -> bool:
        return type(self) is type(other) and all(getattr(self, name) == getattr(other, name) for name in self.field_names())

    def __hash__(self) -> int:
        return hash((self.word, *(getattr(self, name) for name in self.field_names())))

    @classmethod
    def field_names(cls) -> tuple[str, ...]:
        """Return the names of the fields, in order."""
        return tuple(field.name for field in attrs.fields(cls))

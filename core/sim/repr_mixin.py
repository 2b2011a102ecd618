"""A `__repr__` for attrs classes that is written once."""

from __future__ import annotations

import attrs


class ReprMixin:
    """Base of attrs classes with `repr=False`.

    attrs would generate and compile a `__repr__` for each class at every start, which takes a third of the time of making a class.
    """

    __slots__ = ()

    def __repr__(self) -> str:
        fields = attrs.fields(type(self))  # type: ignore[arg-type]
        return f"{type(self).__qualname__}({', '.join(f'{field.name}={getattr(self, field.name)!r}' for field in fields if field.repr)})"

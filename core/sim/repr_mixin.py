"""What all attrs classes of the laboratory can share instead of having it made for each."""

from __future__ import annotations

import attrs


class ReprMixin:
    """Base of attrs classes with `repr=False`: they are written all alike.

    attrs would write and compile a `__repr__` for each, at every start, which is a third of what it takes to make a class.
    """

    __slots__ = ()

    def __repr__(self) -> str:
        fields = attrs.fields(type(self))  # type: ignore[arg-type]
        return f"{type(self).__qualname__}({', '.join(f'{field.name}={getattr(self, field.name)!r}' for field in fields if field.repr)})"

"""A single `__repr__` for all attrs classes."""

from __future__ import annotations

import attrs


class ReprMixin:
    """The base class of attrs classes with `repr=False`.

    Without this class, attrs would generate and compile a `__repr__` for each class at every start. Generating the `__repr__` methods would
    take a third of the time that creating the classes takes.
    """

    __slots__ = ()

    def __repr__(self) -> str:
        fields = attrs.fields(type(self))  # type: ignore[arg-type]
        return f"{type(self).__qualname__}({', '.join(f'{field.name}={getattr(self, field.name)!r}' for field in fields if field.repr)})"

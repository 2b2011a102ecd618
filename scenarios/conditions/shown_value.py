"""The value of a reading at one moment of a run, and what to read instead if there is none."""

from __future__ import annotations

from typing import Any, Final

import attrs

from core.sim.units import format_duration
from scenarios.conditions.conditions import Term
from scenarios.errors import Place
from scenarios.io.escaping import escape_line
from scenarios.readings.all_readings import READINGS
from scenarios.readings.reading import Moment, show

MOST_OTHERS: Final = 4
"""The number of other readings of a client that a hint names."""


@attrs.frozen
class ShownValue:
    """The value of a reading at one moment.

    Attributes:
        time: the virtual time, in µs.
        reading, value: the reading and its value, in the notation of conditions.
        hint: what to read instead, if the reading has no value; otherwise empty.
        place: the step of the script that shows the value; None if the step is not from a script.
    """

    time: int
    reading: str
    value: str
    hint: str = ""
    place: Place | None = None

    @staticmethod
    def taken(term: Term, moment: Moment, time: int, place: Place | None = None) -> ShownValue:
        """Take a reading at a moment. `time` is the virtual time of the moment, in µs."""
        value = term.take(moment)
        return ShownValue(time, term.text, show(value, term.type), _instead(term, moment) if value is None else "", place)

    def line(self) -> str:
        """Return the value as a line of output."""
        hint = f" ({self.hint})" if self.hint else ""
        place = f"  (line {self.place.line})" if self.place is not None else ""
        return escape_line(f"    {format_duration(self.time):>10}  {self.reading} = {self.value}{hint}{place}")

    def as_data(self) -> dict[str, Any]:
        """Return the value for JSON."""
        data: dict[str, Any] = {"time_us": self.time, "reading": self.reading, "value": self.value}
        if self.hint:
            data["hint"] = self.hint
        if self.place is not None:
            data |= {"file": self.place.source, "line": self.place.line, "column": self.place.column}
        return data


def _instead(term: Term, moment: Moment) -> str:
    """Return which readings a client has, for a reading that it does not have: the members of groups have other readings than consumers
    without a group, for example. Return nothing if the reading is not of a client."""
    client = term.arguments[0] if term.arguments else None
    of_clients = [one for one in READINGS.values() if one.arguments == ("client",)]
    if not isinstance(client, str) or all(one.name != term.text.partition("(")[0] for one in of_clients):
        return ""
    known = [one.name for one in of_clients if one.read(moment, client) is not None]
    if not known:
        return f"{client} is not running"
    others = f"{', '.join(known[:MOST_OTHERS])}{', …' if len(known) > MOST_OTHERS else ''}"
    return f"{client} does not have this value; it has {others}"

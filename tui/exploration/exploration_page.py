"""The page with the search for what can go wrong: how far it is, and what it has found.

Enter plays what was found on a branch, the key e shows the evidence of the search, and s saves the script.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from rich.cells import cell_len
from textual.strip import Strip

from core.kafka.events.base import count_of
from core.sim.units import format_clock, format_duration
from scenarios.errors import InputError
from scenarios.io.output_files import write_atomically
from tui.actions.refusals import READ_ONLY
from tui.pages.page import Page
from tui.rendering.palette import Palette
from tui.rendering.rows import Row, blank, rule, wrap
from tui.rendering.tables import Cell, Column, paint_table

if TYPE_CHECKING:
    from scenarios.exploration.execution.beside import SearchBeside
    from scenarios.exploration.exploration import Counterexample

KEYS = "⏎ plays it · e evidence · s saves · ! another search"
NOTHING = "No search yet. Press ! to search for the fewest faults that make a condition true, from this moment on."


def paint_search(search: SearchBeside, paint: Palette, size: tuple[int, int], selected: int) -> list[Strip]:
    """Paint how far a search is, and what it has found."""
    width, height = size
    request = search.request
    state = "failed" if search.failed else "ended" if search.ended else "searching …"
    out = [rule("What can go wrong from here", state, width, paint.title_focused, paint.faint, paint.muted)]
    within = format_duration(request.within)
    about = Row().add(" goal  ", paint.muted).add(request.goal, paint.strong)
    out.append(about.add(f"  within {within} from {format_clock(request.start.time)}", paint.text).strip(width))
    out.append(Row().add(" load  ", paint.muted).add(request.start.load, paint.text).strip(width))
    out.append(Row().add(" menu  ", paint.muted).add(", ".join(request.faults), paint.text).strip(width))
    out.append(blank(width))
    if search.failed:
        out += [Row().add(f" {line}", paint.warn).strip(width) for line in wrap(search.failed, width - 2)]
    out += _layers(search, paint, width)
    out.append(blank(width))
    out.append(rule(f"Found {len(search.found)}", KEYS if search.found else "", width, paint.title, paint.faint, paint.muted))
    rows = max(1, height - len(out) - 1)
    if search.found:
        top = max(0, min(selected - rows // 2, len(search.found) - rows))
        shown = search.found[top : top + rows]
        natural = max(cell_len(one.acts) + cell_len(one.value) for one in shown) + 30
        columns = (
            Column("faults", right=True),
            Column("what happens", rest=natural > width, least=30),
            Column("then"),
            Column("at", right=True, rank=1),
        )
        table: list[list[Cell]] = [
            [
                (str(len(one.finding.faults)), paint.number),
                (one.acts, paint.text),
                (one.value, paint.bad),
                (format_clock(one.finding.time), paint.muted),
            ]
            for one in shown
        ]
        out += paint_table(columns, table, paint, width, selected=selected - top, marks=True)
        for section in (_steps(search.found[selected], paint, width), _evidence_section(search, paint, width)):
            if len(out) + len(section) + 1 > height:
                break
            out += [blank(width), *section]
    else:
        words = f"Not found within {within} with {count_of(request.at_most, 'fault')} at most. That is no proof: other loads, times, and faults are possible."
        if not search.ended:
            words = "Nothing yet. What is found is listed here at once, also while the session goes on."
        out += [Row().add(f" {line}", paint.muted).strip(width) for line in wrap(words, width - 2)]
    return out[:height]


def _steps(found: Counterexample, paint: Palette, width: int) -> list[Strip]:
    """Paint the acts of an example with their times, and what they lead to."""
    from scenarios.exploration.exploration import acts_in_words

    steps = [(time, acts_in_words([(time, act)]), paint.text) for time, act in found.finding.acts]
    out = [rule("Step by step", "", width, paint.title, paint.faint, paint.muted)]
    for time, words, style in [*steps, (found.finding.time, found.value, paint.bad)]:
        out.append(Row().add(f"  {format_clock(time)}", paint.muted).add(f"  {words}", style).strip(width))
    return out


def _evidence_section(search: SearchBeside, paint: Palette, width: int) -> list[Strip]:
    return [rule("Evidence", "", width, paint.title, paint.faint, paint.muted), *_evidence(search, paint, width)]


def _evidence(search: SearchBeside, paint: Palette, width: int) -> list[Strip]:
    """Paint what the answer rests on."""
    from scenarios.exploration.evidence import evidence

    out: list[Strip] = []
    for title, lines in evidence(search.request, search.layers):
        out.append(Row().add(f" {title}", paint.strong).strip(width))
        for line in lines:
            for part, words in enumerate(wrap(line, width - 5)):
                out.append(Row().add("     " if part else "   · ", paint.muted).add(words, paint.text).strip(width))
    return out


def _layers(search: SearchBeside, paint: Palette, width: int) -> list[Strip]:
    """Paint what was done, by number of faults."""
    within = format_duration(search.request.within)
    out: list[Strip] = []
    for number, layer in enumerate(search.layers):
        here = sum(len(one.finding.faults) == layer.faults for one in search.found)
        running = not search.ended and number == len(search.layers) - 1
        words = f"found {here}" if here else "searching …" if running else f"not found within {within}" if layer.runs else "nothing left"
        row = Row().add(f" {count_of(layer.faults, 'fault'):<9}", paint.strong)
        row.add(f" {words:<22}", paint.bad if here else paint.text if running else paint.good)
        out.append(row.add(f" {count_of(layer.runs, 'run')}, {count_of(layer.situations, 'new situation')}", paint.muted).strip(width))
    return out or [Row().add(" the search begins …", paint.muted).strip(width)]


class ExplorationPage(Page):
    """The page with the search."""

    name: ClassVar[str] = "explore"
    calm: ClassVar[bool] = True

    _selected = 0

    @property
    def _search(self) -> SearchBeside | None:
        return self.screen.loaded.search.beside

    @property
    def _chosen(self) -> Counterexample | None:
        search = self._search
        if search is None or not search.found:
            return None
        self._selected = min(self._selected, len(search.found) - 1)
        return search.found[self._selected]

    def lines(self, width: int, height: int) -> list[Strip]:
        """Return the lines of the page."""
        search = self._search
        if search is None:
            title = rule("What can go wrong from here", "", width, self.paint.title_focused, self.paint.faint, self.paint.muted)
            return [title, *(Row().add(f" {line}", self.paint.muted).strip(width) for line in wrap(NOTHING, width - 2))]
        self._selected = max(0, min(self._selected, len(search.found) - 1))
        return paint_search(search, self.paint, (width, height), self._selected)

    def move(self, key: str) -> bool:
        """Select another finding."""
        by = {"up": -1, "down": 1, "pageup": -10, "pagedown": 10, "home": -1_000_000}.get(key)
        if by is None or self._chosen is None:
            return False
        self._selected = max(0, self._selected + by)
        return True

    def enter(self) -> bool:
        """Play what is selected on a branch, up to just before its first fault."""
        found = self._chosen
        if found is None:
            return True
        if not found.finding.acts:
            self.screen.prompts.say(f"nothing has to happen: {found.value} at {format_clock(found.finding.time)}")
            return True
        if self.screen.loaded.read_only:
            self.screen.prompts.say(READ_ONLY, refused=True)
            return True

        def there(refused: str) -> None:
            branch = self.screen.session.history.branch.name
            if refused:
                self.screen.prompts.say(f"on this branch, an act was refused: {refused}", refused=True)
            else:
                self.screen.prompts.say(f"{branch}, just before {found.acts}; to see it happen, play, or press ] to go to {found.value}")

        self.screen.loaded.search.play(found, there)
        self.screen.open_page("overview")
        self.screen.refresh_view()
        return True

    def takes(self, action: str) -> bool:
        """Show the evidence instead of electing preferred leaders, and save the script instead of starting a broker."""
        if action == "elect-preferred":
            self._show_evidence()
        elif action == "start":
            self._save()
        else:
            return False
        return True

    def _show_evidence(self) -> None:
        search = self._search
        if search is None:
            self.screen.prompts.say("there is no search yet", refused=True)
            return
        self.screen.prompts.show_details("Evidence of the search", lambda width: _evidence(search, self.paint, width))

    def _save(self) -> None:
        found = self._chosen
        if found is None:
            self.screen.prompts.say("there is nothing to save yet", refused=True)
            return

        def wrong(name: str) -> str | None:
            return None if name.endswith((".yaml", ".yml")) else "the name of a script ends in .yaml"

        def save(name: str) -> None:
            try:
                write_atomically(name, found.script)
            except InputError as failed:
                self.screen.prompts.say(str(failed), refused=True)
            else:
                self.screen.prompts.say(f"saved as {name}; to see it, run isrlab play {name}")

        self.screen.prompts.ask_text(
            "Save the script", f"The script does {found.acts}, and expects that {found.value}.", "found.yaml", wrong, save
        )

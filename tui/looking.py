"""Looking closer on the main screen: the selected thing in full, the event log's filter and its causes, the help."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from textual.command import CommandPalette
from textual.strip import Strip

from core.kafka.events import DETAIL, NORMAL, NOTABLE
from core.kafka.health import UncleanElection
from core.lab.views.view import PartitionView
from core.sim.units import format_duration
from tui import dialogs
from tui.actions import ACTIONS
from tui.glossary import paint_glossary
from tui.layout import SizeClass, size_class
from tui.palette import ABOUT, PALETTES
from tui.panels.grid import FILTERS, filtered, in_order
from tui.panels.inspector import paint_broker, paint_event_detail, paint_partition
from tui.panels.scenario import paint_scenario
from tui.rows import blank, rule
from tui.screen import MainScreen, Paintable
from tui.situation import Option, Question, Situation

_LEVELS: Final = (NOTABLE, NORMAL, DETAIL)


class Looking(MainScreen):
    """The part of the main screen that looks closer."""

    def _selected_in_full(self, width: int, rows: int = 0) -> tuple[str, list[Strip], str]:
        """Headline, lines and note of what is selected in the panel that has the keys; `rows`: how many lines will be shown, 0 for all."""
        situation = self.situation()
        if self._layout_now is not None and self._layout_now.size is SizeClass.WIDE and not self._layout_now.scenario:
            return self._everything_in_full(situation, width)
        if situation.focus == "events" and situation.event is not None:
            return (
                "Why",
                paint_event_detail(situation.event, self.session.rings.find, self.paint, width),
                "< to its cause" if situation.event[2] else "",
            )
        if situation.focus == "brokers" and situation.broker is not None:
            return f"Broker b{situation.broker.id}", paint_broker(situation.broker, self.view, self.paint, width), ""
        if situation.partition is not None:
            return "Partition", self._partition_in_full(situation.partition, width, rows), ""
        return "Nothing selected", [], ""

    def _partition_in_full(self, p: PartitionView, width: int, rows: int = 0) -> list[Strip]:
        """The selected partition, with why replicas are out of its ISR and what comes of unclean election."""
        left, unclean = self.isr_reasons.of(p, self.session.rings), self.unclean_words(p)
        return paint_partition(p, self.view, self.paint, width, rows, left=left, unclean=unclean)

    def unclean_words(self, p: PartitionView, *, brief: bool = False, whole: bool = False) -> str:
        """Unclean election is allowed, and a partition has no leader: who makes one, and when; empty otherwise.

        Args:
            p: the partition.
            brief: in a few words.
            whole: of the whole cluster, of which the key elects for one partition only.
        """
        situation = self.situation()
        election = situation.unclean_election(p)
        if election is None:
            return ""
        if election is UncleanElection.NOBODY_UP:
            return (
                "unclean ON: nobody is up"
                if brief
                else (f"unclean ON, but no replica of {p.tp} is up." if whole else "unclean ON, but none of its replicas is up.")
            )
        key = self.key("elect-unclean")
        if election is UncleanElection.AT_ONCE:
            return "unclean ON" if brief else "unclean ON: the controller acts at once."
        by_key = f"{key} elects for the selected partition only" if whole else f"{key} does it now"
        if election is UncleanElection.ON_CHANGE:
            return (
                ("unclean ON" if whole else f"unclean ON: {key} does it")
                if brief
                else f"unclean ON: the controller acts when a broker comes or goes; {by_key}."
            )
        at = format_duration(situation.view.unclean_check_us // 1_000_000 * 1_000_000)
        return (
            (f"unclean ON: in {at}" if whole else f"unclean ON: in {at}; {key} now")
            if brief
            else f"unclean ON: the controller looks again in {at}; {by_key}."
        )

    def _everything_in_full(self, situation: Situation, width: int) -> tuple[str, list[Strip], str]:
        """Where there is room: partition, broker and event below each other; without a selected event the last notable one."""
        paint, view = self.paint, self.view
        lines: list[Strip] = []

        def section(title: str, content: list[Strip], note: str = "") -> None:
            lines.extend([blank(width), rule(title, note, width, paint.title, paint.faint, paint.muted), *content])

        if situation.partition is not None:
            lines += self._partition_in_full(situation.partition, width)
        if situation.broker is not None:
            section(f"Broker b{situation.broker.id}", paint_broker(situation.broker, view, paint, width))
        ring = self.session.rings.of(NOTABLE)
        event = situation.event if situation.event is not None else ring.at(ring.total - 1) if ring.total else None
        if event is not None:
            section(
                "Why",
                paint_event_detail(event, self.session.rings.find, paint, width),
                "selected event" if situation.event is not None else "last notable event",
            )
        return "Partition", lines, ""

    def _filter(self) -> None:
        if self.page is not None and self.page.filter():
            self.show_now()
            return
        level = _LEVELS[(_LEVELS.index(self.events.level) + 1) % len(_LEVELS)]
        self.events.use(self.session.rings.of(level), level)
        self.show_now()

    def _follow(self) -> None:
        if self.page is not None and self.page.follow():
            self.show_now()
            return
        self.events.follow()
        self.show_now()

    def _order(self) -> None:
        """By name or the worst first, and to the top of it; an order that nobody sees is none."""
        self._worst_first = not self._worst_first
        first = next((p.tp for p in in_order(self.view, self._worst_first, self._which, self._words)), None)
        if first is not None:
            self.choose(partition=first)
        self.say("partitions: the worst first" if self._worst_first else "partitions: by name")

    def _only(self) -> None:
        """The next of kafka-topics' filters, then all again."""
        names = ["", *FILTERS]
        self._which = names[(names.index(self._which) + 1) % len(names)]
        first = next((p.tp for p in in_order(self.view, self._worst_first, self._which, self._words)), None)
        if first is not None and self._which:
            self.choose(partition=first)
        count = len(filtered(self.view, self._which) if self._which else self.view.partitions)
        said = f"partitions: {self._which or 'all'}, {count}" if count or not self._which else f"no partition is {self._which}"
        self.say(said + (f" (kafka-topics --{self._which}-partitions)" if self._which else ""))

    def _zoom(self) -> None:
        if self.page is not None:
            if self.page.enter():
                self.show_now()
            return
        if self.timeline.has_focus:
            self._go_to_mark()
            return
        if self.events.has_focus and self.events.toggle():
            self.show_now()
            return
        width = max(20, min(self.app.size.width - 6, 150))
        state = self._scenario()
        if self._layout_now is not None and self._layout_now.shared and not self.events.has_focus and state is not None:
            self.app.push_screen(dialogs.Closer("Scenario", paint_scenario(state, self.paint, (width, 8 + 6 * len(state.expectations)))))
            return
        title, content, _ = self._selected_in_full(width)
        self.app.push_screen(dialogs.Closer(title, content))

    def _show_help(self) -> None:
        situation = self.situation()
        width = min(156, self.app.size.width * 92 // 100) - 7
        self.app.push_screen(
            dialogs.Help(
                self.paint,
                self.display_as.keymap,
                {a.id: a.refuse(situation) for a in ACTIONS},
                {a.id: a.words(situation) for a in ACTIONS},
                width,
                f"Screen {self.app.size.width}×{self.app.size.height}, {size_class(*self.app.size)}.",
                self._glossary(width),
                self.explain,
            )
        )

    def _show_glossary(self) -> None:
        self.explain()

    def explain(self, word: str = "") -> None:
        """What words and symbols mean; the one that is asked for first."""
        self.app.push_screen(dialogs.Closer("Words and symbols", self._glossary(min(120, self.room), word)))

    def _glossary(self, width: int, first: str = "") -> list[Strip]:
        """The glossary, true under the release that runs."""
        return paint_glossary(self.session.cluster.release, self.paint, width, zookeeper=self.situation().on_zookeeper, first=first)

    def _colours(self) -> None:
        """Another palette, or other glyphs; at once, for this session."""
        app = self.app
        assert isinstance(app, Paintable)
        options = [Option(str(n), name, (), ABOUT[name] + (" ◂ now" if name == app.palette else "")) for n, name in enumerate(PALETTES, 1)]
        options.append(Option("a", "glyphs" if app.ascii_only else "ASCII", (), "instead of " + ("ASCII" if app.ascii_only else "glyphs")))

        def chosen(option: Option | None) -> None:
            if option is None:
                return
            if option.key == "a":
                app.ascii_only = not app.ascii_only
                self.app.refresh()
            else:
                app.use_palette(option.label)
            self.refresh_view()

        self.app.push_screen(
            dialogs.Ask(Question("Colours", "Every state has its glyph or word in each.", tuple(options)), self.paint), chosen
        )

    def _palette(self) -> None:
        if not CommandPalette.is_open(self.app):
            self.app.push_screen(dialogs.Finder(id="--command-palette"))

    def _leave(self) -> None:
        """Leave; what was done and is not saved anywhere is not thrown away unasked."""
        self.unless_unsaved("Quit", "quit", "q", lambda: self.app.exit(0), leaves=True)

    def unless_unsaved(self, title: str, label: str, key: str, go: Callable[[], object], *, leaves: bool = False) -> None:
        """End the session by `go`; if acts would be lost by that, ask first whether to save them.

        Args:
            title: of the question.
            label, key: of the answer that goes on without saving.
            go: ends the session.
            leaves: whether that ends the playground.
        """
        if not self.unsaved or self.stage.log is not None or self.stage.record is not None:
            go()
            return
        acts = "1 act is" if self.unsaved == 1 else f"{self.unsaved} acts are"
        options = (
            Option("s", f"save and {label}", (), "as a script that replays, or as an event log"),
            Option(key, label, (), f"{acts} not saved"),
            Option("n", "stay", ()),
        )

        def chosen(option: Option | None) -> None:
            if option is options[0]:
                self.save_then(go)
            elif option is options[1]:
                go()

        question = Question(title, f"{acts[0].upper()}{acts[1:]} not saved.", options)
        self.app.push_screen(dialogs.Ask(question, self.paint, asks_to_leave=leaves), chosen)

"""What is selected on the main screen, and how arrows and mouse move that."""

from __future__ import annotations

from core.kafka.ids import TopicPartition
from tui import dialogs
from tui.actions import ACTIONS, BROKER, CLIENTS, CLUSTER, NETWORK
from tui.panels.brokers import Brokers
from tui.panels.events import EventLog
from tui.panels.footer import Footer
from tui.panels.grid import Grid
from tui.screen import MainScreen
from tui.situation import Option, Question


class Selecting(MainScreen):
    """The part of the main screen that selects."""

    def action_move(self, key: str) -> None:
        """An arrow: brokers sideways, partitions or events up and down."""
        if self.page is not None and self.page.move(key):
            pass
        elif self.timeline.has_focus and key in ("left", "right"):
            self._note = None  # the footer tells the mark where the timeline has no headline
            self.timeline.move(1 if key == "right" else -1, self.view.seq)
        elif key in ("left", "right"):
            self._move_broker(1 if key == "right" else -1)
        elif self.events.has_focus:
            page = max(1, self.events.box.height - 2)
            self.events.move({"up": -1, "down": 1, "pageup": -page, "pagedown": page, "home": -self.events.rows.total}[key])
        elif self.brokers.has_focus and key == "down":
            self.grid.focus()
        else:
            page = max(1, self.grid.box.height - 3)
            self._move_partition({"up": -1, "down": 1, "pageup": -page, "pagedown": page, "home": -len(self.view.partitions)}[key])
        self.show_now()

    def go_to_name(self, partition: TopicPartition | None = None, broker: int | None = None) -> None:
        """Select what somebody named; what was looked for before is dropped where that hides it."""
        self.choose(partition=partition, broker=broker)
        if self._words and (partition not in {None, *(p.tp for p in self.grid.order)} or broker not in {None, *self.brokers.order}):
            self._look_for("")
            self.choose(partition=partition, broker=broker)
        if self._which and partition not in {None, *(p.tp for p in self.grid.order)}:
            self._which = ""
        self.show_now()
        if self.page is None:
            (self.grid if broker is None else self.brokers).focus()

    def _move_broker(self, by: int) -> None:
        ids = self.brokers.order or [b.id for b in self.view.brokers]
        if ids:
            at = ids.index(self._broker) if self._broker in ids else 0
            self._broker = ids[(at + by) % len(ids)]

    def _move_partition(self, by: int) -> None:
        order = [p.tp for p in self.grid.order]
        if order:
            at = order.index(self._partition) if self._partition in order else 0
            self._partition = order[max(0, min(len(order) - 1, at + by))]

    def on_brokers_picked(self, message: Brokers.Picked) -> None:
        """A broker was clicked."""
        self._broker = message.broker
        self.show_now()
        if message.menu:
            self._menu(f"b{message.broker}", (BROKER, NETWORK))

    def on_grid_picked(self, message: Grid.Picked) -> None:
        """A cell was clicked."""
        self._partition = message.partition
        if message.broker is not None:
            self._broker = message.broker
        self.show_now()
        if message.menu:
            self._menu(f"{message.partition}", (CLUSTER, CLIENTS))

    def _menu(self, title: str, groups: tuple[str, ...]) -> None:
        """What can be done to the selected thing, by mouse: what each would do now, and why not where it is impossible."""
        situation = self.situation()
        chosen = [action for action in ACTIONS if action.acts and action.group in groups]
        keys = [self.key(action.id) for action in chosen]
        options = tuple(
            Option(
                key if len(key) == 1 else "",
                action.label,
                (),
                action.help if action.effect is None or action.refuse(situation) is not None else action.effect(situation),
                action.refuse(situation),
            )
            for key, action in zip(keys, chosen, strict=True)
        )

        def done(option: Option | None) -> None:
            if option is not None:
                self.action_do(chosen[options.index(option)].id)

        self.app.push_screen(dialogs.Ask(Question(title, "The keys do the same without this menu.", options), self.paint), done)

    def on_event_log_picked(self, message: EventLog.Picked) -> None:
        """Another event is selected: what it is about is selected too."""
        self._rearrange()

    def on_footer_chosen(self, message: Footer.Chosen) -> None:
        """A hint was clicked."""
        self.action_do(message.action)

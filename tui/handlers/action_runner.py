"""Runs the actions in the registry: performs acts on the cluster, and asks the questions whose answers are acts."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from core.kafka.errors import KafkaError
from core.kafka.ids import TopicPartition
from core.lab.acts import Act, CreateTopic, SetPace
from core.lab.spec import Pace
from core.sim.errors import ActRefused
from tui.actions.all_actions import ACTIONS, BY_ID
from tui.actions.context import Option, Question, TextPrompt
from tui.actions.refusals import READ_ONLY
from tui.actions.selection import Selection
from tui.handlers.saving import Saving
from tui.handlers.screen_interface import ScreenInterface
from tui.session.loading import LoadedSession


class ActionRunner:
    """An object that runs actions. `written` contains the text that was last entered in each prompt."""

    def __init__(
        self,
        loaded: LoadedSession,
        screen: ScreenInterface,
        selection: Selection,
        saving: Saving,
        calls: Mapping[str, Callable[[], object]],
        open_page: Callable[[str], object],
    ) -> None:
        """Create the runner of actions.

        Args:
            loaded: the session that executes the acts.
            screen: the screen that shows messages and questions.
            selection: the selection, which moves to a newly created topic.
            saving: the handler for saving, which counts unsaved acts.
            calls: the functions that `Action.call` names.
            open_page: the function that opens a page by name.
        """
        self.loaded = loaded
        self.session = loaded.session
        self.screen = screen
        self.selection = selection
        self.saving = saving
        self.calls = calls
        self.open_page = open_page
        self.written: dict[str, str] = {}

    def run(self, name: str) -> None:
        """Run an action, or show why it is impossible."""
        action = BY_ID[name]
        context = self.screen.context()
        reason = action.refuse(context)
        if reason is not None:
            self.screen.prompts.say(reason, refused=True)
        elif action.page:
            self.open_page(action.page)
        elif action.call is not None:
            self.calls[action.call]()
        elif action.ask is not None:
            self.put(action.ask(context))
        elif action.build is not None:
            self.execute(action.build(context))

    def put(self, question: Question | TextPrompt) -> None:
        """Ask a question and perform the acts of the chosen answer."""
        if isinstance(question, TextPrompt):
            self._put_line(question)
            return

        def answered(option: Option | None) -> None:
            if option is None:
                return
            if option.refused is not None:
                self.screen.prompts.say(f"{option.label}: {option.refused}", refused=True)
            elif option.line is not None:
                self._put_line(option.line)
            else:
                self.execute(option.acts)

        self.screen.prompts.ask(question, answered)

    def _put_line(self, line: TextPrompt) -> None:
        def wrong(text: str) -> str | None:
            try:
                line.acts(text)
            except ValueError as refusal:
                return str(refusal)
            return None

        def written(text: str) -> None:
            self.written[line.name] = text
            self.execute(line.acts(text))

        self.screen.prompts.ask_text(line.title, line.about, self.written.get(line.name, line.text), wrong, written)

    def execute(self, wanted: tuple[Act, ...]) -> None:
        """Perform acts in order and show the effect of the last act.

        If an act is refused, show the reason and skip the remaining acts.
        """
        if self.loaded.read_only:
            self.screen.prompts.say(READ_ONLY, refused=True)
            return
        said, branch = "", self.session.history.branch
        for number, act in enumerate(wanted):
            try:
                seq = self.session.history.do(act, joined=number > 0)
                self._follow_up(act)
            except (ActRefused, KafkaError, ValueError) as refusal:
                self.screen.refresh_view()
                self.screen.prompts.say(str(refusal), refused=True)
                return
            said = self.session.event_sentence(seq) or act.word
        if self.session.history.branch is not branch:
            said = f"{said}; you are now on {self.session.history.branch.name}; to return to {branch.name}, press {self.screen.keymap.key('jump')}"
        self.screen.refresh_view()
        self.screen.prompts.say(said)

    def _follow_up(self, act: Act) -> None:
        """Update the screen after an act."""
        self.saving.unsaved += 1
        if isinstance(act, CreateTopic):
            self.selection.choose(partition=TopicPartition(act.topic, 0))
        elif isinstance(act, SetPace):
            if act.pace == Pace.BY_HAND:
                self.session.history.pause()
            else:
                self.session.playback.play()

    def menu(self, title: str, groups: tuple[str, ...]) -> None:
        """Show a menu with the actions of the given groups.

        Each entry shows the current effect of its action, or the reason why the action is impossible.
        """
        context = self.screen.context()
        chosen = [action for action in ACTIONS if action.acts and action.group in groups]
        keys = [self.screen.keymap.key(action.id) for action in chosen]
        options = tuple(
            Option(
                key if len(key) == 1 else "",
                action.label,
                (),
                action.help if action.effect is None or action.refuse(context) is not None else action.effect(context),
                action.refuse(context),
            )
            for key, action in zip(keys, chosen, strict=True)
        )

        def done(option: Option | None) -> None:
            if option is not None:
                self.run(chosen[options.index(option)].id)

        self.screen.prompts.ask(Question(title, "The keys also work without this menu.", options), done)

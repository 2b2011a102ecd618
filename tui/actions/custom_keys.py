"""The keys that trigger actions. A keymap file can override the default keys.

The file is `keys.toml` in `$XDG_CONFIG_HOME/isrlab` (by default `~/.config/isrlab`), or the file that `--keys` names:

    [keys]
    kill = "J"
    step = ["n", "f8"]

The left side of each line is the id of an action (`isrlab keys` lists all ids). The right side of each line is the action's key or a list
of its keys. Actions that the file does not name keep their keys.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any, Final

import attrs
from textual.keys import Keys, _character_to_key, format_key

from core.sim.repr_mixin import ReprMixin
from scenarios.errors import InputError, did_you_mean
from scenarios.io import text_file
from tui.actions.all_actions import ACTIONS, BY_ID

RESERVED: Final = {
    "up": "moves the selection", "down": "moves the selection", "left": "chooses a broker", "right": "chooses a broker",
    "pageup": "moves the selection", "pagedown": "moves the selection", "home": "moves the selection", "tab": "moves between panels",
    "shift+tab": "moves between panels", "escape": "closes dialogs and menus", "ctrl+p": "opens the palette", "ctrl+c": "leaves",
    "ctrl+z": "suspends the playground",
}  # fmt: skip
"""Keys that a keymap cannot assign to an action, each with its fixed effect."""

EATEN: Final = {
    "ctrl+b": "tmux", "ctrl+a": "screen", "ctrl+g": "zellij", "ctrl+o": "zellij", "ctrl+t": "zellij", "ctrl+n": "zellij",
    "ctrl+h": "zellij", "ctrl+p": "zellij", "ctrl+s": "the terminal's flow control", "ctrl+q": "the terminal's flow control",
    "ctrl+w": "browsers", "ctrl+j": "terminals (same as Enter)", "ctrl+m": "terminals (same as Enter)",
    "ctrl+i": "terminals (same as Tab)", "f1": "terminals (for help)", "f10": "terminals (for their menu)", "f11": "terminals (for full screen)",
    "alt+n": "zellij", "alt+h": "zellij", "alt+j": "zellij", "alt+k": "zellij", "alt+l": "zellij", "alt+f": "zellij",
    "backspace": "some terminals (same as Ctrl+H)",
}  # fmt: skip
"""Keys that another program can intercept before the playground receives them, each with the name of that program."""

MAX_BYTES: Final = 1024 * 1024
"""The maximum size of a keymap file, in bytes."""

_WORDS: Final = {"space": "Space", "enter": "⏎", "backspace": "Bksp", "end": "End", "insert": "Ins", "delete": "Del"}
_KNOWN: Final = frozenset(str(key.value) for key in Keys if not str(key.value).startswith("<"))
_ALWAYS: Final = {"quit": ("ctrl+c",), "back": ("escape",)}
_FORMER_IDS: Final = {"colours": "colors"}
"""The ids that actions had in earlier versions, each with the current id of its action. A keymap file can still use an action's former
id."""


@attrs.frozen(repr=False)
class Keymap(ReprMixin):
    """The keys of every action. `changed` contains the keys that differ from the default keys, by action id."""

    changed: Mapping[str, tuple[str, ...]] = attrs.field(factory=dict)

    def keys(self, action: str) -> tuple[str, ...]:
        """Return Textual's names for an action's keys. Only the first key is shown."""
        return self.changed.get(action) or BY_ID[action].keys

    def key(self, action: str) -> str:
        """Return the display name of an action's first key."""
        own = self.changed.get(action)
        return BY_ID[action].key if own is None else key_text(own[0])

    def for_textual(self) -> dict[str, str]:
        """Return the changed keys in the format of Textual's `App.set_keymap`."""
        return {action: ",".join(keys) for action, keys in self.changed.items()}


DEFAULT: Final = Keymap()
"""The keymap in which every action has its default keys."""


def key_text(key: str) -> str:
    """Return the display name of a key, given Textual's name."""
    if key in _WORDS:
        return _WORDS[key]
    *modifiers, last = key.split("+") if key != "+" else [key]
    shown = format_key(last)
    return "+".join([*(one.capitalize() for one in modifiers), shown.upper() if modifiers or shown[1:].isdecimal() else shown])


def default_path(environ: Mapping[str, str] = os.environ) -> Path:
    """Return the default path of the keymap file."""
    base = environ.get("XDG_CONFIG_HOME") or os.path.join(environ.get("HOME", "~"), ".config")
    return Path(base).expanduser() / "isrlab" / "keys.toml"


def load_keymap(path: Path | None = None) -> Keymap:
    """Load the keymap from a file. If no path is given, load the default file if it exists.

    Raises:
        InputError: the file cannot be read, or its content is invalid.
    """
    named = path is not None
    path = path or default_path()
    if not named and not path.is_file():
        return DEFAULT
    import tomllib

    text = text_file.read_text(path, most=MAX_BYTES)
    try:
        data = tomllib.loads(text)
    except (tomllib.TOMLDecodeError, ValueError) as wrong:
        raise InputError(f"{path}: not valid TOML: {' '.join(str(wrong).split())[:200]}") from None
    except RecursionError:
        raise InputError(f'{path}: not a keymap: the nesting is too deep; write [keys], and below it, for example, kill = "J"') from None
    return keymap_of(data, str(path))


def keymap_of(data: Mapping[str, Any], source: str) -> Keymap:
    """Return the keymap for the parsed content of a file.

    Raises:
        InputError: the content is invalid.
    """
    for section in data:
        if section != "keys":
            raise InputError(
                f"{source}: '{section[:40]}' is not a known section; write the section [keys], and below it, for example, kill = \"J\""
            )
    wanted = data.get("keys", {})
    if not isinstance(wanted, dict):
        raise InputError(f'{source}: keys must be a section; write [keys], and below it, for example, kill = "J"')
    changed: dict[str, tuple[str, ...]] = {}
    for word, value in wanted.items():
        action = str(_FORMER_IDS.get(word, word))
        if action not in BY_ID:
            raise InputError(f"{source}: [keys] {action[:40]}: no such action; {did_you_mean(action, BY_ID, 'see isrlab keys')}")
        values = value if isinstance(value, list) else [value]
        if not values or not all(isinstance(one, str) and one for one in values):
            raise InputError(f'{source}: [keys] {action}: write a key or a list of keys, for example "J" or ["n", "f8"]')
        names = [_name(one, f"{source}: [keys] {action}") for one in values]
        changed[action] = tuple(dict.fromkeys([*names, *_ALWAYS.get(action, ())]))
    _refuse_clashes(changed, source)
    return Keymap({action: keys for action, keys in changed.items() if keys != BY_ID[action].keys})


def _name(key: str, where: str) -> str:
    """Return Textual's name for a key as written in a keymap file, for example `K`, `+`, `ctrl+k`, `alt+k`, `f5`, or `space`."""
    name = _character_to_key(key) if len(key) == 1 else key.lower()
    modifier, _, last = name.rpartition("+")
    if len(last) == 1 and modifier == "alt":
        name = f"alt+{_character_to_key(last)}"
    elif len(key) > 1 and name not in _KNOWN:
        simple = [one for one in _KNOWN if "+" not in one]
        raise InputError(
            f"{where}: '{key[:40]}' is not a key; {did_you_mean(name, simple, 'write, for example, K, +, f5, ctrl+k, alt+k, or space')}"
        )
    if name in RESERVED and not any(name in names and where.endswith(action) for action, names in _ALWAYS.items()):
        raise InputError(f"{where}: {key_text(name)} {RESERVED[name]}; choose another key")
    return name


def _refuse_clashes(changed: Mapping[str, tuple[str, ...]], source: str) -> None:
    """Raise InputError if two actions have the same key."""
    owner: dict[str, str] = {}
    for action in BY_ID:
        for key in changed.get(action) or BY_ID[action].keys:
            if key in owner:
                mine, other = (action, owner[key]) if action in changed else (owner[key], action)
                raise InputError(
                    f"{source}: [keys] {mine}: {key_text(key)} is already the key of '{other}'; give that action another key too"
                )
            owner[key] = action


def as_toml(keymap: Keymap) -> Iterable[str]:
    """Return the whole keymap as lines of a keymap file. A comment after each action describes the action."""
    yield f"# Keys of the playground. Save this file as {default_path()}, and keep only the lines that you change."
    yield "[keys]"
    for action in ACTIONS:
        keys = [_quoted_key(key) for key in keymap.keys(action.id)]
        value = keys[0] if len(keys) == 1 else f"[{', '.join(keys)}]"
        yield f"{action.id} = {value}  # {action.help}"


def _quoted_key(key: str) -> str:
    shown = key if len(key) == 1 else format_key(key)
    name = shown if len(shown) == 1 and shown.isascii() else key
    return '"' + name.replace("\\", "\\\\").replace('"', '\\"') + '"'

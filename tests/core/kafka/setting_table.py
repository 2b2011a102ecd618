"""A table of all settings in `settings.txt`, with one line for each: `python -m tests.core.kafka.setting_table` writes the file again."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Final

from core.kafka.clients.client_settings import CLIENT_SETTINGS
from core.kafka.settings.registry import SETTINGS

FILE: Final = Path(__file__).with_name("settings.txt")
LEFT_OUT: Final = {"meaning", "__weakref__"}


def text() -> str:
    """Return a line for each setting, with its name and its properties."""
    lines = []
    settings: list[Any] = [*SETTINGS.values(), *CLIENT_SETTINGS.values()]
    for setting in settings:
        said = {name: getattr(setting, name) for name in type(setting).__slots__ if hasattr(setting, name) and name not in LEFT_OUT}
        name = said.pop("name")
        lines.append(f"{name}: " + ", ".join(f"{key} {value}" for key, value in said.items() if value not in ("", ())))
    return "\n".join(lines) + "\n"


if __name__ == "__main__":
    FILE.write_text(text(), encoding="utf-8")

"""Writes the page with the rules by release from the definitions of the releases: `python -m tests.releases_page docs/releases.md`."""

from __future__ import annotations

import enum
import inspect
import itertools
import re
import sys
from pathlib import Path
from typing import Final

import attrs

from core.kafka.release import GUARDS, RELEASES, Release

_HEAD: Final = """# Rules by release

<!-- Written by `python -m tests.releases_page` from core/kafka/release.py. -->

`--release` takes one of the following releases: {names}. For a release that is not listed, use the nearest earlier one, and check the table
for changes between the two releases. The column *meaning* names the Kafka release that introduced the change. The release in this column
can be older than the first listed release that has the rule.

`make fidelity` compares the rules with recordings of real clusters of {patches}.

The table lists the rules that differ between releases, or that can be switched off. *Since* and *until* name the first and the last of the
listed releases in which a rule is in force. To see the purpose of a rule that is marked with ✂, switch the rule off, for example with
`--release "{newest} without {guard}"`.

| rule | in force | meaning |
|---|---|---|
"""


def meanings() -> dict[str, str]:
    """Return the meaning of each field of a release, from the docstring."""
    text = inspect.cleandoc(Release.__doc__ or "").partition("Attributes:\n")[2]
    entries = re.split(r"^ {4}(\w+): ", text, flags=re.MULTILINE)[1:]
    return {name: " ".join(meaning.split()) for name, meaning in zip(entries[::2], entries[1::2], strict=True)}


def _shown(value: object) -> str:
    return f"`{value.name.lower().replace('_', '-')}`" if isinstance(value, enum.Enum) else f"`{value}`"


def in_force(field: str) -> str:
    """Return the releases in which a rule is in force or, for a rule with more than two values, the release from which each value applies."""
    values = [(name, getattr(release, field)) for name, release in RELEASES.items()]
    changes = [values[0], *(after for before, after in itertools.pairwise(values) if before[1] != after[1])]
    if not isinstance(values[0][1], bool):
        return "; ".join(f"since {name}: {_shown(value)}" if at else _shown(value) for at, (name, value) in enumerate(changes))
    if len(changes) == 1:
        return "always" if changes[0][1] else "never"
    names = list(RELEASES)
    spans = []
    for at, (name, value) in enumerate(changes):
        if not value:
            continue
        last = names[names.index(changes[at + 1][0]) - 1] if at + 1 < len(changes) else None
        if at == 0:
            spans.append(f"until {last}")
        else:
            spans.append(f"since {name}" if last is None else name if last == name else f"{name} to {last}")
    return ", ".join(spans)


def page() -> str:
    """Return the text of the page."""
    known = meanings()
    rows = []
    for field in attrs.fields(Release):
        if field.name in ("name", "order", "patch"):
            continue
        word = field.name.replace("_", "-")
        rows.append(
            f"| `{word}`{' ✂' if word in GUARDS else ''} | {in_force(field.name)} | {known[field.name].replace('|', chr(92) + '|')} |"
        )
    patches = ", ".join(release.patch for release in RELEASES.values() if release.patch)
    head = _HEAD.format(names=", ".join(RELEASES), patches=patches, newest=[*RELEASES][-1], guard="strict-min-isr")
    return head + "\n".join(rows) + "\n"


def main() -> int:
    """Run the command line and return the exit code."""
    if len(sys.argv) != 2:
        print(__doc__, file=sys.stderr)
        return 2
    Path(sys.argv[1]).write_text(page(), "utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())

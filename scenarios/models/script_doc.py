"""Writes MODEL_SCRIPTS.md, the reference for scripts for other replication models.

python -m scenarios.models.script_doc
"""

from __future__ import annotations

from pathlib import Path
from typing import Final

import attrs

from core.lab.model_comparison.build import SETTINGS
from scenarios.language.script_doc import act_entry
from scenarios.models.acts import ACTS
from scenarios.models.readings import COUNTS, OF_READ, OF_SERVER, OF_WRITE
from scenarios.models.systems import READS

DOCUMENT: Final = Path(__file__).parents[1] / "MODEL_SCRIPTS.md"

_HEAD: Final = """# Scripts for other replication models

<!-- Written by `python -m scenarios.models.script_doc` from scenarios/models. -->

A script with `model:` or `models:` runs MySQL, Elasticsearch, a majority log, or Kafka with simple clients that write versions of keys and read them
back. `isrlab run FILE` runs the script once in each of its systems, and checks the expectations of the script. The exit code is 0 if everything
holds, 1 if an expectation fails, and 2 if the script has mistakes. For `title`, `tags`, durations, and errors, see [SCRIPTS.md](SCRIPTS.md).

```yaml
scenario: after-commit-shows-too-much
title: Readers see a row that disappears
tags: [mysql, stale-reads]
about: With AFTER_COMMIT, readers see a row that disappears.
models:
  after-commit: {model: mysql, settings: {semi-sync: true, wait-point: AFTER_COMMIT}}
  after-sync: {model: mysql, settings: {semi-sync: true}}
clients: {c: [n1], other: [n1]}
timeline:
  - write: c
  - at: 1500us
    read: other
  - at: 1900us
    kill: n1
  - promote: n2
expect:
  - {lost: 0}
  - {under: after-commit, expect: {dirty: 1}}
  - {under: after-sync, expect: {dirty: 0}}
```

**Systems.** `model: mysql` with `settings:` is a single system. `models:` maps names to models with their settings, or lists systems that
`isrlab run --model` knows, for example `models: [kafka, mysql-semi-sync]`. Servers are `n1`, `n2`, and so on, in all models. At the start, `n1`
is the source, primary, or leader.

**Clients.** Each client has a list of servers that it can connect to, in order of preference. By default, a client can connect to all servers. A
client never reads from or writes to another server, unless an act names the server. A client with `{servers: [n2, n3], session: true}` refuses to read from servers that have older data than the client has already seen.

**Steps.** A step is due when the time `at` has passed since the start, when the time `wait` has passed since the previous step, or when
each expectation in `until` is true (within the time `within`, 60s by default). When the step is due, its acts are executed, and its
`expect` is checked. `under` limits the step to some of the systems. With `refused: TEXT`, the acts must be refused with a reason that
contains the text. Without `refused`, the run fails if an act is refused. `note` describes what the step shows.

**The end.** After the last step, all faults end, the load stops, and the system rests for 60 s (`rest: 20s` changes this). After this rest, the last
`expect` is checked. To find lost writes, dirty reads, and divergence, isrlab compares what clients were told with the data of the primary at the
time of the check.

**expect.** A table has counts (`lost: 0`), servers (`n2: {visible: 49}`), the last read by a client (`r: {stale: 1}`; `r@2` is the client's second
read), and the write of a version (`k@1: {outcome: ok, took: 3ms}`). For comparisons other than equality, write a string such as `"> 0"`. If you write
a list of comparisons, all of them must hold, for example `["> 31s", "< 33s"]`. `events: {semi-sync-off: 1}` counts events, and `events: {recovered:
{count: 1, ops: 5000}}` counts the events whose columns have the given values. In a list of tables, `{under: ..., expect: ..., note: ...}` limits a
table to some of the systems. If a reading has no value at the moment, every comparison with it is false.

**Faults.** Instead of clients and a timeline, a script can name one of the faults that `isrlab run FAULT --model` accepts, for example
`fault: primary-dies`. The fault defines its own clients, which are the same for all systems.
"""


def document() -> str:
    """Return the text of MODEL_SCRIPTS.md."""
    parts = [
        _HEAD,
        "\n## Acts\n\nA single value sets the act's first field. A list names several servers, or the two ends of a link.\n",
    ]
    parts += [act_entry(word, act) for word, act in ACTS.items()]
    for title, readings in (
        ("Counts", COUNTS), ("Readings of a server", OF_SERVER), ("Readings of a write operation", OF_WRITE),
        ("Readings of a read operation", OF_READ),
    ):  # fmt: skip
        parts.append(f"\n## {title}\n\n| reading | type | meaning |\n|---|---|---|\n")
        parts += [f"| `{name}` | {reading.type} | {reading.meaning} |\n" for name, reading in readings.items()]
    parts.append("\n## Settings\n\n| model | settings | ways of reading |\n|---|---|---|\n")
    for model, kind in SETTINGS.items():
        names = ", ".join(f"`{field.name.replace('_', '-')}`" for field in attrs.fields(kind))
        parts.append(f"| {model} | {names} | {', '.join(f'`{how}`' for how in READS[model])} |\n")
    return "".join(parts)


def main() -> None:
    """Write the document."""
    DOCUMENT.write_text(document(), encoding="utf-8")


if __name__ == "__main__":
    main()

"""Writes EVENTLOG.md from the event classes: `python -m scenarios.logs.event_log_doc`. A test checks that the file is current."""

from __future__ import annotations

import inspect
from pathlib import Path
from typing import Final

from core.kafka.events import EVENTS, column_types
from scenarios.logs.event_log import FLUSH_SECONDS, VERSION

DOCUMENT: Final = Path(__file__).parents[1] / "EVENTLOG.md"
"""The file."""

_TYPE_WORDS: Final = {"int": "int", "str": "string", "bool": "true/false", "tuple[int, ...]": "list of int"}
_LEVELS: Final = ("detail", "normal", "notable")

_HEAD: Final = f"""# The event log, version {VERSION}

<!-- Written by `python -m scenarios.logs.event_log_doc` from core/kafka/events. -->

A session's log is JSON Lines in UTF-8: one object a line, each line ended by a newline. `isrlab run --log FILE` and
`isrlab play` write it while the session runs, at least once in {FLUSH_SECONDS:g} s of wall time.

**Line 1, the header**

```json
{{"isrlab": "event-log", "version": {VERSION}, "release": "4.3", "seed": 0, "scenario": "d6-unclean-election-on", "settings": {{"min.insync.replicas": "2"}}, "cluster": {{"brokers": [1, 2, 3]}}}}
```

`scenario` is null for a cluster that was played freely. `settings` are the cluster-wide Kafka settings that were set,
`cluster` is the whole cluster in the words of a script: brokers, topics with their placement, network, pace.

**Every further line, an event**

```json
{{"seq": 1, "t": 0, "cause": 0, "kind": "topic-created", "topic": "orders", "topic_id": "", "partitions": 1, "replication_factor": 3}}
```

| field | type | meaning |
|---|---|---|
| seq | int | counts from 1, without gaps |
| t | int | virtual time in µs, never falling |
| cause | int | seq of the event that led to this one, 0 for none (a timer of its own) |
| kind | string | one of the kinds below; the columns after it are those of the kind, all of them, in this order |

Across kinds a column of one name has one type, so that all events fit one wide table. Offsets are Kafka's: `to_offset` is
exclusive. An id or epoch of -1 means none. `acks` is -1 for all.

**Units and nulls.** Columns in `_us` are µs, in `_ppm` millionths; `bytes` are bytes; offsets, `records`, `partitions` and the other
counts are numbers. Numbers fit 64 bits with sign. No column of a kind is ever null or left out: a string that does not apply is
empty, a list is `[]`, a number is -1 or 0 as the kind says. In the header only `scenario` may be null.

**The last line** of a log that was closed is `{{"end": true, "t": 12000000, "events": 345}}`. Without it the process was
killed. A last line without newline that is no whole object was being written then: readers report it and skip it. Any
other malformed line is an error.

**Packed.** A name that ends in `.zst` makes it a row of Zstandard frames, one for every time it was flushed; unpacked (`zstd -dc`) it
is the same bytes. All commands read both, and tell them apart by the first bytes. After a kill, what was flushed is readable, and of
a frame that was being written the part that is there.

**Parquet.** `isrlab log convert` makes a dataset of logs and logs of a dataset, byte for byte. A session is a directory
(`session=NAME`) of files sorted by `seq`. The columns are those of all kinds side by side, null where a kind does not have them,
and `line`: text that is not made from the columns. A row of kind `log-header` (`seq` 0) holds the header line, one of kind `log-tail`
what stands behind the last event: the end line, a torn line (`base64:…` if it is no text), nothing, or `no-newline` if the last line
lacks its line break. An event has its `line` only if somebody wrote it otherwise than the laboratory does.

**What is refused.** A line is refused, with its number, if the cluster in the header cannot have such an event: it names a broker that is not
there, a topic that no line above creates, a partition that the topic does not have, or a number out of its bounds, such as offset −5.

**Versions.** This program reads version {VERSION}, the first one, and refuses a newer one, saying so. A new kind or a new column raises the
version only when an old reader would misunderstand the log: an older program refuses a kind that it does not know, with its line.
When the version is raised, this page says what changed, and logs of all older versions stay readable.
"""


def document() -> str:
    """The text of EVENTLOG.md."""
    parts = [_HEAD, f"\n## Kinds ({len(EVENTS)})\n"]
    for event in EVENTS:
        source = f" Kafka: {event.source}." if event.source else ""
        meaning = " ".join((inspect.getdoc(event) or "").split())
        parts.append(f"\n### {event.kind}\n\n{meaning}{source} Level: {_LEVELS[event.level]}.\n\n| column | type |\n|---|---|\n")
        parts.extend(f"| {name} | {_TYPE_WORDS[kind]} |\n" for name, kind in column_types(event).items())
    return "".join(parts)


def main() -> None:
    """Write the document."""
    DOCUMENT.write_text(document(), encoding="utf-8")


if __name__ == "__main__":
    main()

"""Writes EVENTLOG.md from the event classes: `python -m scenarios.logs.event_log_doc`. A test checks that the file is up to date."""

from __future__ import annotations

import inspect
from pathlib import Path
from typing import Final

from core.kafka.events import EVENTS, column_types
from scenarios.logs.log_header import VERSION
from scenarios.logs.log_writer import FLUSH_SECONDS

DOCUMENT: Final = Path(__file__).parents[1] / "EVENTLOG.md"
"""The path of the document."""

_TYPE_WORDS: Final = {"int": "int", "str": "string", "bool": "true/false", "tuple[int, ...]": "list of int"}
_LEVELS: Final = ("detail", "normal", "notable")

_HEAD: Final = f"""# The event log, version {VERSION}

<!-- Written by `python -m scenarios.logs.event_log_doc` from core/kafka/events. -->

The log of a session is a JSON Lines file in UTF-8, with one object per line. Each line ends with a newline. `isrlab run --log FILE` and
`isrlab play --log FILE` write the log while the session runs. The log is flushed at intervals of at most {FLUSH_SECONDS:g} s of wall time.

**Line 1, the header**

```json
{{"isrlab": "event-log", "version": {VERSION}, "release": "4.3", "seed": 0, "scenario": "d6-unclean-election-on", "settings": {{"min.insync.replicas": "2"}}, "cluster": {{"brokers": [1, 2, 3]}}}}
```

`scenario` is null for a session without a scenario. `settings` contains the cluster-wide Kafka settings that the cluster was created with.
`cluster` is the whole cluster in the format of a script: brokers, topics with their placement, network, and pace.

**All other lines**, except the end line, are events.

```json
{{"seq": 1, "t": 0, "cause": 0, "kind": "topic-created", "topic": "orders", "topic_id": "", "partitions": 1, "replication_factor": 3}}
```

| field | type | meaning |
|---|---|---|
| seq | int | the number of the event: 1, 2, 3, and so on, without gaps |
| t | int | virtual time in µs, never decreasing |
| cause | int | seq of the event that caused this one, or 0 for none |
| kind | string | one of the kinds below; all columns of the kind follow, in this order |
| more_causes | list of int | after the columns, and only if several events together caused this one: the other causes, most important first |

The cause of a timeout is the event that kept a message from arriving in time, for example the end of a process, or a cut link. If you follow
the causes of an event, you arrive at an act, or at the start of the cluster, which creates the topics.

**Watched clusters.** `isrlab watch` writes the same format for a running cluster. The header then also has `observed`: the addresses (`servers`), the
time at which the watch began (`began`, in UTC, which is the virtual time 0), and the interval at which the cluster was read (`every_us`). Every event
has a `cluster-observed` event as its cause, whose `since_us` and `t` are the limits of its real time. What the metadata does not tell is unknown: the
epoch of a partition is -1, and the `election` of a leader is `unknown`. Such a log cannot be replayed.

Columns with the same name have the same type in all kinds, so all events fit into one wide table. Offsets have the same meaning as in
Kafka, and `to_offset` is exclusive. An ID or epoch of -1 means that there is none. `acks` is -1 for all.

**Units and nulls.** Columns that end in `_us` are in µs, columns that end in `_ppm` are in parts per million, and the column `bytes` is in
bytes. Offsets, and counts such as `records` and `partitions`, are numbers. Numbers are signed 64-bit integers. No column of a kind is ever
null or missing. If a column does not apply, a string is empty, a list is `[]`, and a number is -1 or 0, depending on the kind. In the
header, only `scenario` can be null.

**The last line** of a log that was closed is `{{"end": true, "t": 12000000, "events": 345}}`. If the end line is missing, the process was
killed. If the last line has no newline and is not a complete object, the process was killed while it was writing this line. All commands report
an incomplete last line and skip it. Any other malformed line is an error.

**Compression.** If the file name ends in `.zst`, the log is a sequence of Zstandard frames, one per flush. After decompression
(`zstd -dc`), the log has the same bytes as an uncompressed log. All commands read both formats, and detect the format from the first bytes
of the file. If the process was killed, readers can read everything that was flushed, and also the existing part of an incomplete last frame.

**Parquet.** `isrlab log convert` converts logs to a Parquet dataset and back, byte for byte. A session is a directory (`session=NAME`) of
files whose rows are sorted by `seq`. The dataset has the columns of all kinds. A column is null if the kind of the row does not have it.
The additional column `line` contains text that cannot be derived from the other columns. In a row of kind `log-header` (`seq` 0), `line`
contains the header line. In a row of kind `log-tail`, `line` contains the text after the last event: the end line, an incomplete line
(`base64:…` if it is not text), nothing, or `no-newline` if the last line lacks its newline. In the row of an event, `line` contains the
original text only if isrlab would format the event differently.

**Validation.** isrlab refuses a line, and reports its number, if the cluster in the header cannot produce the event on this line. For
example, the line names a broker that does not exist, a topic that no earlier line creates, a partition that the topic does not have, or a
number out of range, such as offset −5.

**Versions.** isrlab reads version {VERSION} of the format, which is the first version, and refuses newer versions. A new kind or a new
column changes the version only if an older version of isrlab would misinterpret the log. An older version skips
events whose kinds it does not know, ignores columns that it does not know, and reports how many there are. Only a replay and a conversion
need every event of a log. If the version changes, this page lists the changes, and logs of all older versions
remain readable.
"""

_KINDS: Final = """For each kind of event, the source is the Kafka method, setting, or KIP that the event is modeled on, or the part of
isrlab that records the event.
"""


def document() -> str:
    """Return the text of EVENTLOG.md."""
    parts = [_HEAD, f"\n## Kinds ({len(EVENTS)})\n\n{_KINDS}"]
    for event in EVENTS:
        source = f" Source: {event.source}." if event.source else ""
        meaning = " ".join((inspect.getdoc(event) or "").split())
        parts.append(f"\n### {event.kind}\n\n{meaning}{source} Level: {_LEVELS[event.level]}.\n\n| column | type |\n|---|---|\n")
        parts.extend(f"| {name} | {_TYPE_WORDS[kind]} |\n" for name, kind in column_types(event).items())
    return "".join(parts)


def main() -> None:
    """Write the document."""
    DOCUMENT.write_text(document(), encoding="utf-8")


if __name__ == "__main__":
    main()

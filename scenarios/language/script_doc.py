"""Writes SCRIPTS.md, the reference for the script language, from the code: `python -m scenarios.language.script_doc`.

A test checks that the file is up to date.
"""

from __future__ import annotations

import inspect
from pathlib import Path
from typing import Final

import attrs

from core.lab.acts import ACTS
from core.lab.spec import MAX_BROKERS, MAX_CLIENTS, MAX_LOSS_PPM, MAX_PARTITIONS, MAX_REPLICAS
from scenarios.io.text_file import MAX_BYTES
from scenarios.language.acts import as_written
from scenarios.language.budget import MAX_EVENTS
from scenarios.language.subjects import MAX_TAGS, MAX_TITLE, SUBJECTS
from scenarios.language.values import write_ppm
from scenarios.readings.all_readings import READINGS

DOCUMENT: Final = Path(__file__).parents[1] / "SCRIPTS.md"
"""The path of the document."""

EXAMPLE: Final = """\
scenario: a-broker-dies
title: The leader is killed, and another replica takes over
tags: [elections, crash]
about: The leader of a partition is killed. Another in-sync replica becomes leader, and nothing is lost.
releases: ["2.4", "4.3"]
seed: 0
cluster:
  brokers: 3
  topics:
    orders: {partitions: 1, replication-factor: 3, config: {min.insync.replicas: 2}}
    placed: {replicas: [[1, 2, 3], [2, 3, 1]]}
  settings: {replica.lag.time.max.ms: 10000}
  network: {latency: 500us, jitter: 100us, loss: 0%}
timeline:
  - load: {topic: orders, rate: 100, producer: app}
  - at: 5s
    kill: 1
    show: [leader(placed-0), acked(app)]
  - until: leader(placed-0) == 2
    within: 10s
    expect: {placed-0: {isr: [2, 3]}, lost: 0}
  - wait: 2s
    note: the producer's retries have succeeded
    expect: {app: {failed: 0}}
expect:
  - order [broker-stopped {broker=1}, leader-elected {leader=2}]
  - never records-lost
  - expect: isr(placed-0) < 3
    under: {since: "2.4"}
"""
"""A script that shows every part of the language. A test runs this script."""

_HEAD: Final = f"""# Scripts

<!-- Written by `python -m scenarios.language.script_doc` from scenarios/language and core/lab/acts. -->

A script is a YAML file with a cluster, steps, and expectations. `isrlab run FILE` runs the script and checks the expectations.
`isrlab play FILE` opens the script in the playground. Scripts contain only data, no code. isrlab refuses YAML anchors, aliases, tags, and
merge keys. Error messages have the form `file:line:column: field: what is wrong; what would be right`. In error messages,
list items are numbered from 1.

```yaml
{EXAMPLE}```

**Top level.** A script has these fields: `scenario` (its name), `title` (one line of at most {MAX_TITLE} characters that says what a person would
say; by default, the first sentence of `about`), `tags` (up to {MAX_TAGS} [subjects](#subjects), the main one first), `about` (a description),
`releases` (the script runs under each release; by default, under the current one), `without` (guards that are switched off in every run),
`seed`, `cluster`, `timeline` or `steps`, and `expect` (conditions to check at the end). To open a cluster in the playground, a
script needs only a `cluster`. A file with `lesson` instead of a timeline is a [lesson](../docs/lessons.md).

**cluster.** A cluster has these fields:

- `brokers`: the number of brokers, which get the ids 1, 2, and so on, or a list, for example
  `[0, 1, {{id: 2, rack: a, up: false, settings: {{...}}}}]`.
- `topics`: the topics by name. `settings`: the settings by their Kafka names.
- `network`: `latency`, `jitter`, and `loss` of every link. `bandwidth: 1Gb/s` (or `125MB/s`; `b` are bits, and `B` are bytes) is how much each broker's
  network interface can send, and how much it can receive. By default, there is no limit.
- `zones`: the nodes of each zone, such as a data center, for example `{{a: [1, 2, c1], b: [3, 4, c2], c: [c3, app]}}`: brokers, dedicated
  controllers, and clients by name. The zone of a broker or a consumer is also its rack, unless it has another one. In `network`,
  `between-zones: 2ms` is the latency between any two zones, and `between-zones: {{a: {{b: 1ms, c: 10ms}}, b: {{c: 10ms}}}}` gives pairs of zones a
  latency. All other links have `latency`, and the act `link` changes a single link. The acts `fail-zone`, `restore-zone`, `cut-zone`, and
  `heal-zone` take the name of a zone.
- `pace`: `timeline` or `by-hand`.
- `startup`: the time from a broker's start to its registration. `recovery`: the additional time that a broker needs to start after an
  unclean shutdown.
- `controllers`: the voters of the controller quorum. `3` means three voters, c1 to c3, on separate machines. `{{combined: true}}` means a
  voter in every broker's process, and `{{combined: [1, 2, 3]}}` means a voter in the processes of these brokers. A list such as `[c1, b2]`
  names the voters. By default, the cluster has a single controller that never fails.
- `controller`: the active controller at the start, which is either a broker (with ZooKeeper) or a voter. By default, it is the first broker
  or voter that is running.
- `control-plane`: `by-release` (before 3.3, a broker elected through ZooKeeper) or `kraft` (under any release).
- `features`: feature levels that differ from those of a new cluster of the release. `{{eligible.leader.replicas.version: 0}}` means a
  cluster that was upgraded to 4.1 or later and does not keep ELRs. Level `1` means a 4.0 cluster that keeps ELRs.
  `{{transaction.version: 0}}` means a cluster that was upgraded to 4.0 or later and whose transactions follow the rules of 3.9.
- `clients`: settings, by their Kafka names, of producers and consumers that have no settings of their own (`config` of their acts), for
  example `{{delivery.timeout.ms: 8000, request.timeout.ms: 3000}}`. All other client settings have the defaults of the release. For example, before
  2.1, `retries` is 0 and delivery.timeout.ms does not exist.

In the acts `cut`, `heal`, `isolate`, `link`, `hold`, and `release`, `controller` means the active controller. `controller` also means the
active controller in `clock` if the cluster has no quorum of voters, and in `kill-controller` and `pause-controller` if the cluster has a
quorum. `kill`, `pause`, `shutdown`, and the other acts on a broker take the broker's number.

A topic has `partitions` and `replication-factor`, or `replicas` (the brokers of each partition, the preferred leader first), or, as
`isrlab import` writes it, `partitions: [{{replicas: [1, 2], isr: [1], leader: 1, elr: [], last-known-elr: []}}]`. A topic can also have
`config` and `topic-id`.

To start from the state of a real cluster, a partition in the list `partitions` can also have `leader-epoch` and, for all its replicas,
`leo`, `hw`, `log-start`, and `epochs` (the entries of leader-epoch-checkpoint). If a broker's log has different
values, `logs` lists them by broker, for example:
`{{replicas: [1, 2, 3], isr: [1, 2], leader: 1, leader-epoch: 7, leo: 60, epochs: [[0, 0], [7, 40]], logs: {{3: {{leo: 50, hw: 45, epochs: [[0, 0]]}}}}}}`.
By default, the HW equals the LEO, and all records belong to the current leader epoch. isrlab treats the records below the leader's HW as
acknowledged.
`groups` under `cluster` gives groups committed offsets at the start, for example
`groups: {{billing: {{orders-0: 1200, orders-1: {{offset: 900, leader-epoch: 3}}}}}}`.
The cluster then needs the topic `__consumer_offsets`, in which the coordinators find the offsets. Members are not part of `cluster`;
start them with `join-group`.

**Steps.** A step is due `at` a time, after a `wait`, or when the condition in `until` becomes true (`within` a time, 60s by default;
otherwise the step fails). A step without `at`, `wait`, and `until` is due immediately. isrlab runs the act of the step and then checks its
`expect`. `show: ['leo(orders-0, 2)', lost]` reports the values of [readings](#readings) at this moment. `isrlab run` prints
them with their times and lines. `note` describes what the step shows. `under` limits the step to some releases: `{{before: "0.11"}}`, `{{since: "2.0"}}`, a list,
or the guards in force: `{{with: maximal-isr}}`, `{{without: maximal-isr}}`. If the pace is `by-hand`, the list is called `steps`. Each
fetch, each answer, and each fencing of a broker is then an act, and time advances only with `wait`. On a timeline, the act `pace: by-hand`
starts a sequence of by-hand steps, and `pace: timeline` ends the sequence. On a timeline, each by-hand step needs a time (`at`).

**expect.** An expectation is a condition, a table, or a list of conditions and tables. In a list, `{{expect: ..., under: ..., note: ...}}`
limits an expectation to some releases. A table has partitions (`orders-0: {{leader: 2, isr: [1, 2], hw: 5}}`), replicas within partitions
(`1: 15/4` is LEO/HW on broker 1, or `1: {{leo: 15, epochs: [[0, 0]]}}`), brokers (`b2: {{state: stopped}}`), clients
(`app: {{failed: 0}}`), and counts (`lost: 0`). For comparisons other than equality, write a string such as `"<= 5"`.

**Conditions.** A condition consists of comparisons (`== != < <= > >=`) of readings with values or other readings. Combine comparisons with
`and`, `or`, `not`, and parentheses. `[1, 2]` is a set of brokers. If you compare a set with a number, the condition uses the size of the
set. A condition on events has one of the forms `happened KIND {{column=value, ...}}`, `never KIND {{...}}`, `count KIND {{...}} == 2`, and
`order [KIND {{...}}, KIND]`. EVENTLOG.md lists the kinds of events and their columns. `partition=orders-0` sets both the topic and the
partition. If a reading has no value at the moment, every comparison with it is false.

**Values.** Examples of durations are `500us`, `10ms`, and `1m30s`. A percentage is `0.5%`, a broker is `2` or `b2`, a link is
`[1, controller]`, and a partition is `orders-0`.

**Limits.** A cluster can have up to {MAX_BROKERS:,} brokers, {MAX_PARTITIONS:,} partitions, and {MAX_REPLICAS:,} replicas. A script can have
up to {MAX_CLIENTS:,} clients and {MAX_BYTES >> 20} MB of text, and its steps can take up to ten years. A run stops after {MAX_EVENTS:,} events. A link can lose at most {write_ppm(MAX_LOSS_PPM)} of its messages. TCP retransmits each lost message until it
arrives. For a link that loses all messages, use `cut`. If a script has errors, isrlab refuses it with exit code 2, and lists all errors
with their lines and columns.
"""


def document() -> str:
    """Return the text of SCRIPTS.md."""
    parts = [_HEAD, "\n## Readings\n\n| reading | gives | |\n|---|---|---|\n"]
    for reading in READINGS.values():
        words = f" ({', '.join(reading.words)})" if reading.words else ""
        parts.append(f"| `{reading.written}` | {reading.type} | {reading.meaning}{words} |\n")
    parts.append(
        "\n## Acts\n\nA single value sets the act's first field (`kill: 2`). With a list of brokers, the act runs for each broker "
        "in turn (`fetch: [1, 2]`).\n`set` also accepts settings by name, for example `set: {min.insync.replicas: 2, topic: orders}`.\n"
    )
    for word, act in ACTS.items():
        parts.append(act_entry(word, act, " This act requires the pace `by-hand`." if act.by_hand else ""))
    parts.append("\n## Subjects\n\n`tags` lists some of these words, the main subject first.\n\n| tag | subject |\n|---|---|\n")
    parts += [f"| `{tag}` | {meaning} |\n" for tag, meaning in SUBJECTS.items()]
    return "".join(parts)


def act_entry(word: str, act: type[attrs.AttrsInstance], more: str = "") -> str:
    """Return the entry of an act: its word, its fields, and the description in its docstring."""
    fields = [f"`{as_written(field.name)}`" + ("" if field.default is attrs.NOTHING else "?") for field in attrs.fields(act)]
    meaning = " ".join((inspect.getdoc(act) or "").split("Attributes:")[0].split())
    return f"\n**{word}**: {', '.join(fields) or 'no fields'}. {meaning}{more}\n"


def main() -> None:
    """Write the document."""
    DOCUMENT.write_text(document(), encoding="utf-8")


if __name__ == "__main__":
    main()

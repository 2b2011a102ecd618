"""Writes SCRIPTS.md, the reference of the script language, from the code: `python -m scenarios.language.script_doc`. A test checks that the file is current."""

from __future__ import annotations

import inspect
from pathlib import Path
from typing import Final

import attrs

from core.lab.acts import ACTS
from core.lab.spec import MAX_BROKERS, MAX_LOSS_PPM, MAX_PARTITIONS, MAX_REPLICAS
from scenarios.io.text_file import MAX_BYTES
from scenarios.language.acts import as_written
from scenarios.language.readings import READINGS
from scenarios.language.values import write_ppm

DOCUMENT: Final = Path(__file__).parents[1] / "SCRIPTS.md"
"""Where the document stands."""

EXAMPLE: Final = """\
scenario: a-broker-dies
about: The leader of a partition is killed. Another in-sync replica leads, and nothing is lost.
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
  - until: leader(placed-0) == 2
    within: 10s
    expect: {placed-0: {isr: [2, 3]}, lost: 0}
  - wait: 2s
    note: the producer's retries have been taken
    expect: {app: {failed: 0}}
expect:
  - order [broker-stopped {broker=1}, leader-elected {leader=2}]
  - never records-lost
  - expect: isr(placed-0) < 3
    under: {since: "2.4"}
"""
"""A script that shows every part; a test runs it."""

_HEAD: Final = f"""# Scripts

<!-- Written by `python -m scenarios.language.script_doc` from scenarios/language and core/lab/acts.py. -->

A script is YAML: a cluster, steps, and what is expected. `isrlab run FILE` runs it and checks, `isrlab play FILE` shows it. Scripts are data:
nothing in them is evaluated as code, and YAML's anchors, aliases, tags and merge keys are refused. A wrong script is refused with
`file:line:column: field: what is wrong; what would be right`; items of a list count from 1 there.

```yaml
{EXAMPLE}```

**Top level.** `scenario` (its name), `about` (its first sentence is what `isrlab scenarios list` shows), `releases` (it runs under each; without: the
current one), `without` (guards that every run has switched off), `seed`, `cluster`, `timeline` or `steps`,
`expect` (at the end). A script with a `cluster` only is a cluster to play.

**cluster.** `brokers` (how many, with ids from 1, or a list: `[0, 1, {{id: 2, rack: a, up: false, settings: {{...}}}}]`), `topics` by name, `settings` by
their Kafka names, `network` (`latency`, `jitter`, `loss` of every link), `pace` (`timeline` or `by-hand`), `startup` (from a broker's start to its
registration), `recovery` (more of it without a clean-shutdown file), `controllers` (a quorum of voters: `3` for c1 to c3 on machines of their own,
`{{combined: true}}` for one in every broker's process or `{{combined: [1, 2, 3]}}` in these, or the voters' names, `[c1, b2]`; without: one controller that
does not fail), `controller` (who is the active one at the start: the broker that ZooKeeper has as controller, or a voter; without: the first that
runs), `control-plane` (`by-release`: a broker elected through ZooKeeper before 3.3; or `kraft` under any release).
`features` are levels that are not those of a new cluster of the release: `{{eligible.leader.replicas.version: 0}}` for one that was upgraded to 4.1 or
later and keeps no ELR, `1` for one of 4.0 that does. `clients` are settings of producers and consumers that do not have their own (`config` of their acts), by their Kafka names:
`{{delivery.timeout.ms: 8000, request.timeout.ms: 3000}}`; the others have the defaults of the release: before 2.1 `retries` is 0 and there is no
delivery.timeout.ms. `controller` is the active controller in the acts `cut`, `heal`, `isolate`,
`link`, `hold` and `release`; in `clock` without a quorum of voters; and in `kill-controller` and `pause-controller` with one. `kill`, `pause`, `shutdown`
and the other acts on a broker take the broker's number. A topic has `partitions` and `replication-factor`, or `replicas` (the brokers of each
partition, the preferred leader first), or, as `isrlab import` writes it,
`partitions: [{{replicas: [1, 2], isr: [1], leader: 1, elr: [], last-known-elr: []}}]`;
and `config` and `topic-id`. To stage a moment of a real cluster, such a partition also has `leader-epoch`, and for all its replicas `leo`, `hw`, `log-start`
and `epochs` (the entries of leader-epoch-checkpoint); `logs` says by broker what differs:
`{{replicas: [1, 2, 3], isr: [1, 2], leader: 1, leader-epoch: 7, leo: 60, epochs: [[0, 0], [7, 40]], logs: {{3: {{leo: 50, hw: 45, epochs: [[0, 0]]}}}}}}`. The HW is
the LEO, and all records are of the leader epoch, if nothing says otherwise. Records below the leader's HW count as acknowledged.

**Steps.** Each is due `at` a time, after a `wait`, or when `until` holds a condition (`within` a time, 60s without; then it has failed); without any of these
at once. Then its one act is done, then its `expect` is checked. `note` says what it shows. `under` keeps it to some releases: `{{before: "0.11"}}`,
`{{since: "2.0"}}`, a list, or by the guards in force: `{{with: maximal-isr}}`, `{{without: maximal-isr}}`. At the
pace `by-hand` the list is called `steps`, each fetch, answer and fencing is an act, and time moves only by `wait`.
On a timeline the act `pace: by-hand` begins such steps, each with the time `at` which it is done, and `pace: timeline` ends them.

**expect.** A condition, a table, or a list of both; `{{expect: ..., under: ..., note: ...}}` in a list keeps some to some releases. A table has partitions
(`orders-0: {{leader: 2, isr: [1, 2], hw: 5}}`), replicas within (`1: 15/4` is LEO/HW on broker 1, or `1: {{leo: 15, epochs: [[0, 0]]}}`), brokers
(`b2: {{state: stopped}}`), clients (`app: {{failed: 0}}`) and counts (`lost: 0`); `"<= 5"` compares otherwise than by equality.

**Conditions.** Comparisons (`== != < <= > >=`) of readings with values or readings, joined by `and`, `or`, `not` and parentheses. Sets of brokers are
written `[1, 2]`; compared with a number they stand for their size. Events: `happened KIND {{column=value, ...}}`,
`never KIND {{...}}`, `count KIND {{...}} == 2`, `order [KIND {{...}}, KIND]`; kinds and columns are those of EVENTLOG.md,
`partition=orders-0` means topic and partition. A reading that has nothing to say just now makes every comparison false.

**Values.** Durations `500us`, `10ms`, `1m30s`; shares `0.5%`; brokers `2` or `b2`; links `[1, controller]`; partitions `orders-0`.

**Limits.** {MAX_BROKERS:,} brokers, {MAX_PARTITIONS:,} partitions and {MAX_REPLICAS:,} replicas in a cluster; {MAX_BYTES >> 20} MB of text; a link
loses at most {write_ppm(MAX_LOSS_PPM)}, because TCP repeats a message until it arrives (use `cut` for a link that loses all). A wrong script is
refused with all its mistakes, each with its line and column, and exit code 2.
"""


def document() -> str:
    """The text of SCRIPTS.md."""
    parts = [_HEAD, "\n## Readings\n\n| reading | gives | |\n|---|---|---|\n"]
    for reading in READINGS.values():
        words = f" ({', '.join(reading.words)})" if reading.words else ""
        parts.append(f"| `{reading.written}` | {reading.type} | {reading.meaning}{words} |\n")
    parts.append(
        "\n## Acts\n\nA lone value is the first field (`kill: 2`); a list of brokers does the act for each in turn (`fetch: [1, 2]`);\n"
        "`set` also takes settings by name: `set: {min.insync.replicas: 2, topic: orders}`.\n"
    )
    for word, act in ACTS.items():
        fields = [f"`{as_written(field.name)}`" + ("" if field.default is attrs.NOTHING else "?") for field in attrs.fields(act)]
        meaning = " ".join((inspect.getdoc(act) or "").split())
        parts.append(f"\n**{word}**: {', '.join(fields) or 'no fields'}. {meaning}\n")
    return "".join(parts)


def main() -> None:
    """Write the document."""
    DOCUMENT.write_text(document(), encoding="utf-8")


if __name__ == "__main__":
    main()

"""A small grid for tests, with four cells and ten hours in which a broker crashes every two hours on average."""

from __future__ import annotations

import attrs

from scenarios.sweeps.grid.grid import Grid
from scenarios.sweeps.grid_file.read_grid import read_grid
from scenarios.sweeps.simulation.kafka.cell import KafkaCell

TEXT = """\
sweep: small
about: A small one <script>alert(1)</script> for tests.
cluster:
  brokers: 3
  topics:
    orders: {partitions: 3, replication-factor: 3}
workload:
  - {producer: app1, topic: orders, rate: 1000, every: 1000us, between: 30s}
  - {producer: app2, topic: orders, rate: 900, every: 1100us, between: 30s}
faults:
  crash: {every: 2h, lasts: {from: 20s, to: 2m}}
horizon: 10h
around: {before: 10s, after: 30s, near: 20ms, soon: 15s}
vary:
  min.insync.replicas: [1, 2]
  acks: [1, all]
"""

TWO_BROKERS = """\
cluster:
  brokers: 2
  topics:
    orders: {partitions: 2, replication-factor: 2, config: {unclean.leader.election.enable: true}}
workload:
  - {topic: orders, rate: 100, every: 100ms, between: 10s, acks: all}
around: {before: 10s, after: 30s, near: 100ms, soon: 10s}
"""
"""The part of a grid in which records are lost when both brokers are down at once; it lacks the faults."""

RARE = f"""\
sweep: rare
{TWO_BROKERS}faults:
  crash: {{every: 12h, lasts: {{mean: 10m}}}}
rare: {{years: 1}}
vary:
  min.insync.replicas: [1, 2]
"""
"""A grid in which records are lost when the second of two brokers dies while the first one is down."""

EVERY_FAULT = """\
cluster:
  brokers: [{id: 1, rack: a}, {id: 2, rack: b}, {id: 3, rack: c}]
  topics:
    orders: {partitions: 4, replication-factor: 3, config: {min.insync.replicas: 2}}
workload:
  - {topic: orders, rate: 100, every: 20ms, between: 5s, acks: all}
consume: [orders]
faults:
  crash: {every: 100m, lasts: {mean: 1m}}
  power-loss: {every: 2h, lasts: {from: 30s, to: 90s}}
  pause: {every: 4h, each: broker, lasts: {mean: 15s}}
  slow-disk: {every: 2h, lasts: 30s, delay: 200ms}
  cut: {every: 1h, lasts: {mean: 30s}, between: any}
  isolate: {every: 2h, lasts: {mean: 20s}}
  rack-outage: {every: 3h, lasts: 1m}
  rolling-restart: {every: 4h, lasts: 5s, gap: 20s}
horizon: 4h
around: {before: 10s, after: 40s, soon: 5s}
vary:
  release: ["0.10.2", "4.1"]
"""


def small(**changes: str) -> Grid:
    """Return the grid of `TEXT`, with some words replaced."""
    text = TEXT
    for old, new in changes.items():
        assert old in text
        text = text.replace(old, new)
    return read_grid(text, "small.yaml")


def whole(grid: Grid[KafkaCell]) -> Grid[KafkaCell]:
    """Return the grid without windows around faults."""
    return attrs.evolve(grid, cells=tuple(attrs.evolve(cell, around=None) for cell in grid.cells))

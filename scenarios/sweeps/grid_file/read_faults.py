"""Reads the section `faults:` of a grid."""

from __future__ import annotations

from functools import partial
from typing import Final

from core.sim.units import SECOND, US_PER_MS
from scenarios.language.nodes import Fields, Node
from scenarios.language.values import as_duration, as_fields, as_word
from scenarios.sweeps.grid.fault_model import Duration, Fault, FaultKind
from scenarios.sweeps.grid_file.read_workload import read_positive_duration

MAX_SLOW: Final = 10 * SECOND
"""The maximum delay of a write to a slow disk, in µs, which is the same as in scenario scripts."""

_FAULT: Final = ("every", "each", "lasts")


def read_faults(node: Node) -> tuple[Fault, ...]:
    fields = as_fields(node, "write faults by kind, for example {crash: {every: 7d, lasts: 5m}}")
    known = tuple(FaultKind)
    with node.document.together():
        fields.only(*known)
        found = [value.tried(partial(_read_fault, FaultKind(kind)), None) for kind, value in fields.values.items() if kind in known]
    return tuple(fault for fault in found if fault is not None)


def _read_fault(kind: FaultKind, node: Node) -> Fault:
    fields = as_fields(node, "for example {every: 7d, lasts: 5m}")
    own = {
        FaultKind.SLOW_DISK: ("delay",),
        FaultKind.CUT: ("between",),
        FaultKind.RACK_OUTAGE: ("how",),
        FaultKind.ROLLING_RESTART: ("gap",),
    }.get(kind, ())
    whole = kind in (FaultKind.RACK_OUTAGE, FaultKind.ROLLING_RESTART, FaultKind.CONTROLLER_CRASH)
    span = "write how long a fault lasts, for example 5m, {from: 1m, to: 10m}, or {mean: 5m}"
    with node.document.together():
        fields.only(*(word for word in _FAULT if not (whole and word == "each")), *own)
        if kind is FaultKind.SLOW_DISK and fields.get("delay") is None:
            node.document.add(fields.error("a slow disk needs a delay for each write", "write 'delay:' with a value from 1ms to 10s"))
        ends = fields.read("between", lambda one: as_word(one, ("brokers", "controller", "any")), "brokers")
        return Fault(
            kind=kind,
            every=fields.read_needed("every", "write the mean time between two faults, for example 7d", _read_every, SECOND),
            lasts=fields.read_needed("lasts", span, _read_duration, Duration()),
            each_broker=fields.read("each", lambda one: as_word(one, ("broker", "cluster")), "cluster") == "broker",
            delay=fields.read("delay", _read_delay, 0),
            power=fields.read("how", lambda one: as_word(one, ("power-loss", "crash")), "power-loss") == "power-loss",
            gap=fields.read("gap", as_duration, 60 * SECOND),
            controller=ends in ("controller", "any"),
            brokers=ends in ("brokers", "any"),
        )


def _read_every(node: Node) -> int:
    every = as_duration(node)
    if every < SECOND:
        raise node.error(f"{node.what()} is too short", "use at least 1s")
    return every


def _read_delay(node: Node) -> int:
    delay = as_duration(node)
    if not US_PER_MS <= delay <= MAX_SLOW:
        raise node.error("a slow disk needs a delay for each write", "write 'delay:' with a value from 1ms to 10s")
    return delay


def _read_duration(node: Node) -> Duration:
    if not isinstance(node, Fields):
        lasts = read_positive_duration(node)
        return Duration(lasts, lasts)
    node.only("from", "to", "mean")
    mean = node.get("mean")
    if mean is not None:
        if len(node.values) > 1:
            raise node.error(
                "a duration has either a mean or bounds",
                "write {mean: 5m} for an exponential duration, or {from: 1m, to: 10m} for a uniform one",
            )
        return Duration(mean=read_positive_duration(mean))
    least, most = (
        read_positive_duration(node.need("from", "write {from: 1m, to: 10m}")),
        read_positive_duration(node.need("to", "write {from: 1m, to: 10m}")),
    )
    if most < least:
        raise node.values["to"].error(f"{node.values['to'].what()} is less than 'from'", "write the shorter duration first")
    return Duration(least, most)

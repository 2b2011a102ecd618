"""Runs a script for other models in each of its systems, and checks the expectations."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Final

import attrs

from core.lab.model_comparison.comparison import WARM_UP
from core.lab.model_comparison.comparison import Run as FaultRun
from core.lab.model_comparison.kafka_client import WorkloadClient
from core.lab.model_comparison.kafka_system import KafkaSystem, broker_of
from core.lab.model_comparison.systems import Compared
from core.models import acts as model_acts
from core.models.client import Client, ReadLoop, WriteLoop
from core.models.exposure import Exposure
from core.models.report import Report
from core.models.system import ReplicationSystem
from core.sim.errors import ActRefused
from core.sim.events import kind_of, seq_of
from core.sim.journal import Sink, null_sink
from core.sim.simulation import Simulation
from core.sim.units import format_duration
from scenarios.models.acts import Destroy, KafkaActs, Load, LoseMessage, Probe, ReadRequest, Reads, Request, Rest, ScriptAct, WriteRequest
from scenarios.models.expectations import ModelExpectation
from scenarios.models.readings import Moment
from scenarios.models.script import ModelScenario, ModelStep
from scenarios.models.systems import System
from scenarios.running.runner import Check, RunResult, State

ONCE: Final = 10**12
"""The interval, in µs, for a request loop that must send only one request; no run lasts this long."""


@attrs.frozen
class ModelResult(RunResult):
    """The result of a run in a system, with its final counts, such as the numbers of acknowledged and lost writes."""

    counts: Report


class Recorder:
    """A sink that counts events, and keeps those of the kinds that a script expects.

    Attributes:
        kept: the events of the expected kinds, by kind.
        seq: the sequence number of the last event.
    """

    def __init__(self, kinds: Iterable[str], sink: Sink) -> None:
        self.kept: dict[str, list[tuple[Any, ...]]] = {kind: [] for kind in kinds if kind}
        self.seq = 0
        self.sink = sink

    def __call__(self, event: tuple[Any, ...]) -> None:
        self.seq = seq_of(event)
        kept = self.kept.get(kind_of(event))
        if kept is not None:
            kept.append(event)
        self.sink(event)


class ModelRun:
    """A run of a script in one system.

    Attributes:
        scenario, system_spec: the script, and the system of the script in which the run takes place.
        system: the running system.
        start: the virtual time at which the script starts, in µs.
        exposure: the account of the acknowledged writes that the system would lose if the primary failed.
        checks: the results of the expectations so far.
    """

    def __init__(self, scenario: ModelScenario, system: System, seed: int | None = None, sink: Sink = null_sink) -> None:
        self.scenario = scenario
        self.system_spec = system
        self.seed = scenario.seed if seed is None else seed
        self.steps = [step for step in scenario.steps if step.under.includes(system.name)]
        self.finals = [one for one in scenario.expects if one.under.includes(system.name)]
        expected = [*self.finals, *(one for step in self.steps for one in (*step.until, *step.expects))]
        self.recorder = Recorder({one.condition.kind for one in expected}, sink)
        self.checks: list[Check] = []
        self.fault_run: FaultRun | None = None
        if scenario.fault is not None:
            self.fault_run = FaultRun(system.variant, scenario.fault, self.seed, self.recorder)
            self.system = _known(self.fault_run.system)
            self.start = self.fault_run.start
            self.exposure = self.fault_run.exposure
            return
        self.system = _known(system.variant.build(self.seed, self.recorder))
        for each in scenario.clients:
            if isinstance(self.system, KafkaSystem):
                self.system.add_client(each.name, each.servers, confined=True)
            else:
                self.system.add_client(each.name, each.servers, session=each.session)
        if isinstance(self.system, KafkaSystem) and not self._is_by_hand:
            self.system.run_until(self.system.now + WARM_UP)  # until clients have found the leader
        self.exposure = Exposure(self.system)
        self.start = self.system.now

    @property
    def simulation(self) -> Simulation:
        """The simulation of the system."""
        return self.system.cluster if isinstance(self.system, KafkaSystem) else self.system

    @property
    def _is_by_hand(self) -> bool:
        return isinstance(self.system, KafkaSystem) and self.system.settings.by_hand

    # --- the run ------------------------------------------------------------------------------------------------------

    def run(self) -> ModelResult:
        """Run to the end, and return the result."""
        if self.fault_run is not None:
            report = self.fault_run.finish()
        else:
            for step in self.steps:
                self._carry_out(step)
            report = self.exposure.added_to(self.system.settle(self.scenario.rest))
        moment = self._moment(report)
        for expectation in self.finals:
            self._check(expectation, moment)
        return ModelResult(
            self.scenario.name, self.scenario.source, self.system_spec.name, self.seed, self.recorder.seq, self.system.now - self.start,
            tuple(self.checks), report,
        )  # fmt: skip

    def _moment(self, report: Report | None = None) -> Moment:
        return Moment(self.system, self.start, self.recorder.kept, self.exposure, report)

    def _carry_out(self, step: ModelStep) -> None:
        if step.until:
            self._wait_until(step)
        else:
            self.exposure.run_until(max(self.system.now, self.system.now + step.wait if step.at is None else self.start + step.at))
        for act in step.acts:
            self._act(step, act)
        if step.expects:
            if any(isinstance(act, ReadRequest | WriteRequest) for act in step.acts):
                self.system.run_until(self.system.now)  # requests without latency are answered at the same time
            moment = self._moment()
            for expectation in step.expects:
                if expectation.under.includes(self.system_spec.name):
                    self._check(expectation, moment)

    def _wait_until(self, step: ModelStep) -> None:
        system = self.simulation
        deadline = system.now + step.within
        conditions = [one for one in step.until if one.under.includes(self.system_spec.name)]
        while not all(one.condition.holds(self._moment()) for one in conditions):
            following = system.next_time()
            if following is None or following > deadline:
                moment = self._moment()
                for one in conditions:
                    if not one.condition.holds(moment):
                        self._add(
                            one, step.note, State.FAILED, f"{one.text} within {format_duration(step.within)}", one.condition.got(moment)
                        )
                return
            if following > system.now:
                self.exposure.observe()
            self.system.step()
        for one in conditions:
            self._add(one, step.note, State.HELD, one.text, one.text)

    def _check(self, expectation: ModelExpectation, moment: Moment) -> None:
        comparison = expectation.condition
        state = State.HELD if comparison.holds(moment) else State.FAILED
        self._add(expectation, expectation.note, state, comparison.text, comparison.got(moment))

    def _add(self, expectation: ModelExpectation, note: str, state: State, expected: str, got: str) -> None:
        self.checks.append(Check(expectation.place, expectation.text, note, state, expected, got, self.system.now - self.start))

    # --- acts ---------------------------------------------------------------------------------------------------------

    def _act(self, step: ModelStep, act: ScriptAct) -> None:
        reason = ""
        try:
            self._do(act)
        except ActRefused as refused:
            reason = str(refused)
        self.exposure.recheck()
        if reason or step.refused:
            state = State.HELD if step.refused and step.refused in reason else State.FAILED
            expected = f"refused: {step.refused}" if step.refused else f"{act.word} is possible"
            got = f"refused: {reason}" if reason else "not refused"
            self.checks.append(Check(step.place, expected, step.note, state, expected, got, self.system.now - self.start))

    def _do(self, act: ScriptAct) -> None:
        system = self.system
        match act:
            case model_acts.Act():
                system.do(act)
            case Destroy(server):
                if self._runs(server):
                    system.do(model_acts.Kill(server))
                system.dead_for_good.add(self._name(server))
            case LoseMessage(a, b):
                self.simulation.network.lose(self._name(a), self._name(b))
            case KafkaActs(kafka_acts):
                if not isinstance(system, KafkaSystem):
                    raise ActRefused(f"{system.model} does not support Kafka's acts")
                for each in kafka_acts:
                    system.cluster.do(each)
            case Rest(quiet):
                self.system.settle(quiet)
            case _:
                self._request(act)

    def _runs(self, server: str) -> bool:
        return bool(self.simulation.network.alive[self._name(server)])

    def _name(self, node: str) -> str:
        """Return the name by which the replication system knows a server or client of the script."""
        return f"b{broker_of(node)}" if isinstance(self.system, KafkaSystem) and node in self.system_spec.servers else node

    def _request(self, request: Request) -> None:
        now = self.system.now
        client = self.system.clients[request.client]
        match request:
            case WriteRequest(_, key, server, count, versions, every, limit):
                for number in range(count * versions):
                    name = f"{key}{number // versions}" if count > 1 else key
                    if every:
                        client.start(WriteLoop(name, ONCE, now + number * every, limit=limit))
                    else:
                        self._write(client, name, server, limit)
                if isinstance(self.system, KafkaSystem) and self.system.settings.by_hand:
                    self.system.cluster.deliver_pending()
            case ReadRequest(_, server, key, how, count, limit):
                for number in range(count):
                    self._read(client, f"{key}{number}" if count > 1 else key, server, how, limit)
            case Load(_, key, every, lasts, limit):
                client.start(WriteLoop(key, every, now, now + (lasts or ONCE), limit))
            case Reads(_, key, servers, how, every, lasts, limit):
                client.start(ReadLoop(key, every, servers, how, now, now + (lasts or ONCE), limit))
            case Probe(_, every, limit):
                client.start(WriteLoop(f"probe-{request.client}", every, now, now + ONCE, limit, probe=True))

    def _write(self, client: Client | WorkloadClient, key: str, server: str, limit: int) -> None:
        if isinstance(client, WorkloadClient):
            client.write(key, limit=limit)
        else:
            client.write(key, server, limit=limit)

    def _read(self, client: Client | WorkloadClient, key: str, server: str, how: str, limit: int) -> None:
        if isinstance(client, WorkloadClient):
            client.read(key, *((broker_of(server),) if server else ()), how=how, limit=limit)
        else:
            client.read(key, server, how=how, limit=limit)


def _known(system: Compared) -> KafkaSystem | ReplicationSystem:
    assert isinstance(system, KafkaSystem | ReplicationSystem)
    return system


def run_model_scenario(scenario: ModelScenario, seed: int | None = None) -> list[ModelResult]:
    """Run a script in each of its systems."""
    return [ModelRun(scenario, system, seed).run() for system in scenario.systems]

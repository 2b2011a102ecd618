"""The sentences of acts, as the event log and the playground show them."""

from __future__ import annotations

import pytest

from core.kafka.ids import TopicPartition
from core.lab import acts
from core.lab.act_fields import DURATIONS
from core.lab.act_handlers import act_arguments
from core.lab.act_sentences import act_sentence
from core.lab.acts import ACTS


@pytest.mark.parametrize(
    ("act", "said"),
    [
        (acts.Kill(2), "kill b2"),
        (acts.Cut(("b1", "b3")), "cut b1 and b3"),
        (acts.Hold(("b1", "controller")), "hold b1 → controller"),
        (acts.FailZone("a", unflushed="lost"), "fail-zone a (unflushed lost)"),
        (acts.CutZone("a"), "cut-zone a"),
        (acts.HealZone("a", "b"), "heal-zone a from zone b"),
        (acts.Produce("orders", 1_000, producer="app", acks="1"), "produce 1,000 records from app to orders (acks 1)"),
        (acts.ProcessingTime("slow", poll_time=25_000_000), "processing-time slow (poll-time 25s)"),
        (acts.Reassign(TopicPartition("orders", 0), (3, 4)), "reassign partition orders-0 (replicas [3, 4])"),
        (acts.Reassign(TopicPartition("t", 0), (3, 4), admin_api=True), "reassign partition t-0 (replicas [3, 4], admin-api)"),
        (acts.PowerLoss(1, keep=((TopicPartition("t", 0), 6),)), "power-loss b1 (keep t-0 up to 6)"),
        (acts.SetClock("b1", drift_ppm=500_000), "clock b1 (drift 50%)"),
        (
            acts.JoinGroup(("orders", "audit"), "m1", "billing", config=(("session.timeout.ms", "45000"),)),
            "join-group m1 in group billing on orders, audit (session.timeout.ms=45000)",
        ),
        (acts.RemoveMember("a", "billing"), "remove-member from group billing (instance-id a)"),
        (acts.StartDelayService("orders", levels=("5s", "10s")), "delay-service delay for orders (levels [5s, 10s])"),
    ],
)  # fmt: skip
def test_acts_are_told_in_words(act: acts.Act, said: str) -> None:
    assert act_sentence(act.word, act_arguments(act)) == said


@pytest.mark.parametrize("args", ["{", "[]", '{"records": "many"}', '{"config": [1]}', '{"between": 5}', "[" * 100_000])
def test_acts_of_foreign_logs_are_shown_as_they_are(args: str) -> None:
    assert act_sentence("produce", args) == f"produce {args}"


def test_durations_are_fields_of_acts() -> None:
    names = {name for act in ACTS.values() for name in act.field_names()}
    assert names >= DURATIONS

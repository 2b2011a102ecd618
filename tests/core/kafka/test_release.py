"""Release profiles: the order of the releases that changed each rule, and guards that are switched off one by one."""

from __future__ import annotations

import itertools

import attrs
import pytest

from core.kafka.ids import TopicPartition
from core.kafka.release import CURRENT, GUARDS, RELEASES, HighWatermarkRule, Release, Truncation
from core.kafka.settings.settings import Settings
from core.kafka.topic_spec import PartitionSpec, TopicSpec
from core.lab import acts
from core.lab.cluster import Cluster
from core.lab.spec import BrokerSpec, ClusterSpec, Pace


def test_rules_only_ever_move_forward() -> None:
    profiles = list(RELEASES.values())
    for before, after in itertools.pairwise(profiles):
        assert before.order < after.order
        assert before.truncation <= after.truncation
        assert before.high_watermark <= after.high_watermark
        assert before.isr_order <= after.isr_order
        assert before.zookeeper >= after.zookeeper
        for guard in GUARDS:
            if guard == "zookeeper":
                continue
            name = guard.replace("-", "_")
            assert getattr(before, name) <= getattr(after, name), (before.name, after.name, guard)


@pytest.mark.parametrize(
    ("release", "truncation", "rule", "strict", "elr"),
    [
        ("0.10.2", Truncation.HIGH_WATERMARK, HighWatermarkRule.ISR_OR_RECENT, False, False),
        ("0.11", Truncation.EPOCH, HighWatermarkRule.ISR_OR_RECENT, False, False),
        ("2.0", Truncation.EPOCH_ROUNDS, HighWatermarkRule.ISR_OR_RECENT, False, False),
        ("2.8", Truncation.ON_FETCH, HighWatermarkRule.ISR_OR_RECENT, False, False),
        ("3.6", Truncation.ON_FETCH, HighWatermarkRule.MAXIMAL_ISR_OR_CAUGHT_UP, False, False),
        ("3.7", Truncation.ON_FETCH, HighWatermarkRule.MAXIMAL_ISR_OR_CAUGHT_UP, True, False),
        ("4.1", Truncation.ON_FETCH, HighWatermarkRule.MAXIMAL_ISR_OR_CAUGHT_UP, True, True),
        ("4.3", Truncation.ON_FETCH, HighWatermarkRule.MAXIMAL_ISR_OR_CAUGHT_UP, True, True),
    ],
)
def test_profiles(release: str, truncation: Truncation, rule: HighWatermarkRule, strict: bool, elr: bool) -> None:
    profile = Release.named(release)
    assert (profile.truncation, profile.high_watermark, profile.strict_min_isr, profile.elr) == (truncation, rule, strict, elr)


def test_the_newest_is_what_runs_where_none_is_named() -> None:
    assert CURRENT is list(RELEASES.values())[-1]
    assert CURRENT.name == "4.3"


@pytest.mark.parametrize(
    ("before", "after", "rules"),
    [
        ("4.1", "4.2", {"isr_order", "marker_epoch_must_rise"}),
        (
            "4.2",
            "4.3",
            {
                "reassignment_completion",
                "groups_tool",
                "skips_markers_of_offline_partitions",
                "consumer_groups_begin_at",
                "spaces_assignments",
            },
        ),
    ],
)
def test_what_is_not_known_to_differ_does_not(before: str, after: str, rules: set[str]) -> None:
    older, newer = (attrs.asdict(Release.named(name)) for name in (before, after))
    assert {rule for rule in older if older[rule] != newer[rule]} == {"name", "order", "patch"} | rules


def test_defaults_follow_the_release() -> None:
    assert Settings(Release.named("2.4")).get("replica.lag.time.max.ms") == 10_000
    assert Settings(Release.named("2.7")).get("replica.lag.time.max.ms") == 30_000
    assert Settings(Release.named("0.10.2")).get("unclean.leader.election.enable") is True
    assert Settings(Release.named("0.11")).get("unclean.leader.election.enable") is False


def test_a_guard_switched_off_is_off_and_named() -> None:
    profile = CURRENT.without(["strict-min-isr", "elr"])
    assert not profile.strict_min_isr
    assert not profile.elr
    assert profile.name == f"{CURRENT.name} without strict-min-isr without elr"
    same = attrs.evolve(profile, name=CURRENT.name, strict_min_isr=True, elr=True, elr_feature=True)
    assert same == CURRENT


def test_unknown_names_are_refused_with_the_nearest() -> None:
    with pytest.raises(ValueError, match="did you mean 'strict-min-isr'"):
        CURRENT.without(["strict-minisr"])
    with pytest.raises(ValueError, match=r"did you mean 0\.10\.2"):
        Release.named("0.10.1")


@pytest.mark.parametrize(("guards", "high_watermark", "acked", "lost"), [((), 0, 0, 0), (("request-time-leo",), 5, 5, 5)])
def test_b5_a_lost_response_must_not_commit(guards: tuple[str, ...], high_watermark: int, acked: int, lost: int) -> None:
    """B5: if a leader counts the offsets that it has sent, instead of those that followers request, it commits records that no other broker
    has.
    """
    tp = TopicPartition("t", 0)
    spec = ClusterSpec((BrokerSpec(0), BrokerSpec(1)), (TopicSpec("t", assignment=(PartitionSpec((0, 1)),)),), pace=Pace.BY_HAND)
    cluster = Cluster(spec, CURRENT.without(guards))
    cluster.do(acts.Produce("t", 5))
    cluster.do(acts.Arrive(1))
    cluster.do(acts.Answer(1, lost=True))
    assert cluster.partition_view(tp).replica_on(0).hw == high_watermark
    assert cluster.account.acked == acked
    cluster.do(acts.Kill(0))
    cluster.do(acts.Fence(0))
    assert cluster.account.lost == lost

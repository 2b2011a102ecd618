"""What a cluster that was read becomes in the laboratory, where the recorded clusters do not show it."""

from __future__ import annotations

from typing import Any

import attrs

from core.kafka.topic_spec import LogSpec
from core.lab.spec import ControlPlane
from scenarios.live.facts import LiveBroker, LiveCluster, LivePartition, LiveTopic
from scenarios.live.imported import import_live, release_for
from scenarios.releases import release_named
from scenarios.running.imported_cluster import ImportedCluster

ROW = LivePartition(
    1, 4, (1, 2, 3), (1, 2), high_watermark=50, log_start=0, log_ends={1: 60, 2: 55, 3: 20}, epochs=((0, 0), (3, 30), (4, 52))
)


def imported(row: LivePartition = ROW, release: str = "4.3", **facts: Any) -> ImportedCluster:
    brokers = {broker: LiveBroker(broker, "h", 9092) for broker in (1, 2, 3)}
    topic = LiveTopic("orders", "", {0: row}, ())
    live = LiveCluster(
        "h:9092",
        release,
        "it says so",
        **{"brokers": brokers, "topics": (topic,), "features": {"eligible.leader.replicas.version": 1}} | facts,
    )
    return import_live(live, release_named(release))


def logs(found: ImportedCluster) -> dict[int, LogSpec]:
    return {log.broker: log for log in found.scenario.spec.topics[0].assignment[0].logs}


def test_each_replica_has_its_own_log_end_and_the_epochs_below_it() -> None:
    found = logs(imported())
    assert {broker: (log.leo, log.hw) for broker, log in found.items()} == {1: (60, 50), 2: (55, 50), 3: (20, 20)}
    assert found[1].epochs == found[2].epochs == ((0, 0), (3, 30), (4, 52))
    assert found[3].epochs == ((0, 0),)


def test_offsets_that_were_read_one_after_the_other_are_set_right() -> None:
    ahead = attrs.evolve(ROW, log_ends={1: 60, 2: 70, 3: 90}, high_watermark=65)
    assert {broker: (log.leo, log.hw) for broker, log in logs(imported(ahead)).items()} == {1: (65, 65), 2: (65, 65), 3: (65, 65)}
    behind = attrs.evolve(ROW, log_ends={1: 60, 2: 40}, high_watermark=58)
    assert {broker: (log.leo, log.hw) for broker, log in logs(imported(behind)).items()} == {1: (60, 58), 2: (58, 58), 3: (57, 57)}


def test_a_partition_without_a_leader_has_the_logs_that_are_known() -> None:
    headless = attrs.evolve(ROW, leader=-1, isr=(2,), high_watermark=None, log_start=None, log_ends={2: 55, 3: 20}, epochs=None)
    assert {broker: (log.leo, log.hw, log.epochs) for broker, log in logs(imported(headless)).items()} == {
        1: (54, 54, ((4, 0),)), 2: (55, 55, ((4, 0),)), 3: (20, 20, ((4, 0),)),
    }  # fmt: skip
    assert logs(imported(attrs.evolve(headless, log_ends={}))) == {}


def test_a_log_start_covers_the_first_epochs() -> None:
    moved = attrs.evolve(ROW, log_start=35, log_starts={1: 35, 2: 40, 3: 10}, epochs=((3, 35), (4, 52)))
    found = logs(imported(moved))
    assert (found[1].epochs, found[2].epochs, found[3].epochs) == (((3, 35), (4, 52)), ((3, 40), (4, 52)), ((4, 10),))


def test_voters_are_brokers_or_controllers_of_their_own() -> None:
    def control(voters: tuple[int, ...] | None, leader: int = -1, **facts: Any) -> tuple[tuple[str, ...], str]:
        spec = imported(voters=voters, quorum_leader=leader, **facts).scenario.spec
        return spec.controllers, spec.controller

    assert control((100,), 100) == ((), "")
    assert control(None) == ((), "")
    assert control((103, 101, 102), 102) == (("c101", "c102", "c103"), "c102")
    assert control((3, 1, 2), 3) == (("b1", "b2", "b3"), "b3")
    zookeeper = imported(release="2.8", kraft=False, controller=2, features={}).scenario.spec
    assert (zookeeper.controller, zookeeper.control_plane) == ("b2", ControlPlane.BY_RELEASE)
    early = imported(release="2.8", kraft=True, voters=(1,), features={}).scenario.spec
    assert early.control_plane is ControlPlane.KRAFT
    late = imported(release="3.9", kraft=False, features={})
    assert any("the cluster uses ZooKeeper; the copy uses KRaft" in note for note in late.notes)


def test_feature_levels_are_kept_if_they_differ() -> None:
    assert imported(features={"eligible.leader.replicas.version": 1, "transaction.version": 2}).scenario.spec.features == ()
    assert imported(features={"transaction.version": 2}).scenario.spec.features == (("eligible.leader.replicas.version", 0),)


def test_settings_that_all_brokers_share_are_those_of_the_cluster() -> None:
    def broker(number: int, *settings: tuple[str, str]) -> LiveBroker:
        return LiveBroker(number, "h", 9092, rack="r", log_dirs=2, settings=settings)

    common = (("log.retention.hours", "5"), ("unclean.leader.election.enable", "true"), ("num.io.threads", "8"), ("log.dirs", "/x"))
    brokers = {1: broker(1, *common), 2: broker(2, *common, ("num.network.threads", "9")), 4: LiveBroker(4, "h", 9092, fenced=True)}
    found = imported(brokers=brokers)
    spec = found.scenario.spec
    assert dict(spec.settings) == {"log.retention.ms": 18_000_000, "unclean.leader.election.enable": True}
    assert [(each.id, each.up, each.rack, each.log_dirs, dict(each.settings)) for each in spec.brokers] == [
        (1, True, "r", 2, {}), (2, True, "r", 2, {"num.network.threads": 9}), (3, False, None, 1, {}), (4, False, None, 1, {}),
    ]  # fmt: skip
    assert any(note == "brokers 3, 4 are down at the start: not registered, or fenced" for note in found.notes)


def test_the_release_can_be_chosen_or_unknown() -> None:
    live = LiveCluster("h:1", "3.5", "it has version 15 of the API with the key 1", {}, ())
    release, notes = release_for(live, None)
    assert release.name == "3.3"
    assert notes[0] == "the brokers run Kafka 3.5: it has version 15 of the API with the key 1"
    assert release_for(live, release_named("4.3"))[1] == (f"{notes[0]}; the copy runs 4.3",)
    assert release_for(attrs.evolve(live, release=""), None)[1] == ("unknown: the release; the brokers tell nothing from which it follows",)

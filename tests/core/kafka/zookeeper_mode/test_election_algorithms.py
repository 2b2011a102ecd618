"""Elections of the ZooKeeper controller, by Kafka's own vectors (PartitionLeaderElectionAlgorithmsTest), and the ISR after each election."""

from __future__ import annotations

import pytest

from core.kafka.zookeeper_mode.controller.election_algorithms import (
    Elected,
    controlled_shutdown_partition_leader_election,
    imbalance_ratio,
    offline_partition_leader_election,
    preferred_replica_partition_leader_election,
    reassign_partition_leader_election,
)


@pytest.mark.parametrize(
    ("isr", "live", "unclean", "expected"),
    [
        pytest.param((2, 4), (4,), False, Elected(4, (4,)), id="ZKE-01"),
        pytest.param((2,), (4,), False, None, id="ZKE-02"),
        pytest.param((2,), (4,), True, Elected(4, (4,), unclean=True), id="ZKE-03"),
        pytest.param((4, 2), (2, 4), True, Elected(2, (4, 2)), id="assignment order leads, ISR order stays"),
        pytest.param((2,), (), True, None, id="nobody lives"),
    ],
)
def test_offline(isr: tuple[int, ...], live: tuple[int, ...], unclean: bool, expected: Elected | None) -> None:
    assert offline_partition_leader_election((2, 4), isr, live, unclean_enabled=unclean) == expected


@pytest.mark.parametrize(
    ("isr", "live", "leader"),
    [
        pytest.param((2, 4), (4,), 4, id="ZKE-04"),
        pytest.param((2,), (), None, id="ZKE-04 dead"),
        pytest.param((), (2,), None, id="ZKE-04 empty"),
    ],
)
def test_reassign(isr: tuple[int, ...], live: tuple[int, ...], leader: int | None) -> None:
    found = reassign_partition_leader_election((2, 4), isr, live)
    assert found == (None if leader is None else Elected(leader, isr))


@pytest.mark.parametrize(
    ("isr", "live", "leader"),
    [
        pytest.param((2, 4), (2, 4), 2, id="ZKE-05"),
        pytest.param((2,), (), None, id="ZKE-05 dead"),
        pytest.param((4,), (2, 4), None, id="ZKE-05 outside the ISR"),
        pytest.param((), (2, 4), None, id="ZKE-05 empty"),
    ],
)
def test_preferred(isr: tuple[int, ...], live: tuple[int, ...], leader: int | None) -> None:
    found = preferred_replica_partition_leader_election((2, 4), isr, live)
    assert found == (None if leader is None else Elected(leader, isr))


@pytest.mark.parametrize(
    ("isr", "live", "shutting_down", "expected"),
    [
        pytest.param((2, 4), (2, 4), (2,), Elected(4, (4,)), id="moves on"),
        pytest.param((2, 4), (2, 4), (2, 4), None, id="both shut down"),
        pytest.param((2,), (2, 4), (2,), None, id="the other is out of sync: it stays"),
        pytest.param((2, 4), (2,), (2,), None, id="the other is dead"),
    ],
)
def test_controlled_shutdown(isr: tuple[int, ...], live: tuple[int, ...], shutting_down: tuple[int, ...], expected: Elected | None) -> None:
    assert controlled_shutdown_partition_leader_election((2, 4), isr, live, shutting_down) == expected


def test_imbalance_is_a_share_of_what_a_broker_should_lead() -> None:
    assert imbalance_ratio(10, 1) == 0.1
    assert imbalance_ratio(0, 0) == 0.0

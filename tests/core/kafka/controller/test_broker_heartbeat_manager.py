"""Broker heartbeats, by Kafka's own vectors: HB (BrokerHeartbeatManagerTest)."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from core.kafka.controller.broker_heartbeat_manager import BrokerControlState, BrokerHeartbeatManager
from core.sim.units import US_PER_MS

FENCED = BrokerControlState.FENCED
UNFENCED = BrokerControlState.UNFENCED
CONTROLLED_SHUTDOWN = BrokerControlState.CONTROLLED_SHUTDOWN
SHUTDOWN_NOW = BrokerControlState.SHUTDOWN_NOW


def ms(number: int) -> int:
    return number * US_PER_MS


@pytest.fixture
def manager() -> BrokerHeartbeatManager:
    return BrokerHeartbeatManager(session_timeout_us=ms(10))


def yes() -> bool:
    return True


def no() -> bool:
    return False


def test_hb_01_valid_sessions(manager: BrokerHeartbeatManager) -> None:
    for broker, at in ((0, 0), (1, 5), (2, 5)):
        manager.touch(broker, False, 0, ms(at))
    assert [manager.has_valid_session(broker, ms(10)) for broker in range(4)] == [True, True, True, False]
    assert [manager.has_valid_session(broker, ms(11)) for broker in range(4)] == [False, True, True, False]
    manager.remove(1)
    manager.remove(2)
    assert [manager.has_valid_session(broker, ms(11)) for broker in range(4)] == [False] * 4


def test_hb_01_the_last_microsecond_of_a_session_is_valid(manager: BrokerHeartbeatManager) -> None:
    manager.touch(0, False, 0, 0)
    assert manager.has_valid_session(0, ms(10))
    assert manager.stale_broker(ms(10)) is None
    assert not manager.has_valid_session(0, ms(10) + 1)
    assert manager.stale_broker(ms(10) + 1) == 0


def test_hb_03_stale_brokers_go_one_by_one_oldest_first(manager: BrokerHeartbeatManager) -> None:
    assert manager.next_check_time() is None
    for broker, at in ((0, 0), (1, 2), (2, 3), (3, 4)):
        manager.touch(broker, False, 0, ms(at))
    assert manager.next_check_time() == ms(10)
    assert manager.stale_broker(ms(11)) == 0
    manager.fence(0)
    assert manager.next_check_time() == ms(12)
    assert manager.stale_broker(ms(11)) is None
    for expected in (1, 2):
        assert manager.stale_broker(ms(14)) == expected
        manager.fence(expected)
    assert manager.stale_broker(ms(14)) is None
    assert manager.next_check_time() == ms(14)


def test_a_heartbeat_moves_a_broker_behind_the_others(manager: BrokerHeartbeatManager) -> None:
    manager.touch(0, False, 0, ms(0))
    manager.touch(1, False, 0, ms(1))
    manager.touch(0, False, 0, ms(2))
    assert manager.stale_broker(ms(12)) == 1
    manager.touch(1, True, 0, ms(12))
    assert manager.next_check_time() == ms(12)
    assert manager.stale_broker(ms(100)) == 0


@pytest.fixture
def five(manager: BrokerHeartbeatManager) -> BrokerHeartbeatManager:
    """Create the manager of Kafka's test: 0 and 4 are fenced, 1 was last active at 98, 2 and 3 at 100, and 5 at 99 in controlled shutdown
    with offset 99.
    """
    for broker, fenced, offset in ((0, True, 100), (1, False, 98), (2, False, 100), (3, False, 100), (4, True, 100), (5, False, 99)):
        manager.touch(broker, fenced, offset, 0)
    manager.maybe_update_controlled_shutdown_offset(5, 99)
    return manager


@pytest.mark.parametrize(
    ("broker", "offset", "want_fence", "want_shut_down", "leads", "expected"),
    [
        pytest.param(0, 100, False, True, no, (FENCED, SHUTDOWN_NOW), id="HB-04-fenced-shuts-down"),
        pytest.param(0, 100, False, False, no, (FENCED, UNFENCED), id="HB-04-fenced-caught-up"),
        pytest.param(0, 50, False, False, no, (FENCED, FENCED), id="HB-04-fenced-behind"),
        pytest.param(0, 100, True, False, no, (FENCED, FENCED), id="HB-04-fenced-wants-fence"),
        pytest.param(1, 98, False, True, yes, (UNFENCED, CONTROLLED_SHUTDOWN), id="HB-04-leads-and-shuts-down"),
        pytest.param(1, 98, False, True, no, (UNFENCED, SHUTDOWN_NOW), id="HB-04-leads-nothing-and-shuts-down"),
        pytest.param(1, 98, False, False, yes, (UNFENCED, UNFENCED), id="HB-04-unfenced"),
        pytest.param(1, 98, True, False, yes, (UNFENCED, FENCED), id="HB-04-unfenced-wants-fence"),
        pytest.param(1, 98, True, True, yes, (UNFENCED, SHUTDOWN_NOW), id="HB-04-unfenced-wants-both"),
        pytest.param(5, 99, False, True, yes, (CONTROLLED_SHUTDOWN, CONTROLLED_SHUTDOWN), id="HB-04-still-leads"),
        pytest.param(5, 99, False, True, no, (CONTROLLED_SHUTDOWN, CONTROLLED_SHUTDOWN), id="HB-04-others-behind"),
    ],
)
def test_hb_04_next_state(
    five: BrokerHeartbeatManager,
    broker: int,
    offset: int,
    want_fence: bool,
    want_shut_down: bool,
    leads: Callable[[], bool],
    expected: tuple[BrokerControlState, BrokerControlState],
) -> None:
    states = five.next_state(
        broker,
        want_fence=want_fence,
        want_shut_down=want_shut_down,
        metadata_offset=offset,
        registration_offset=100,
        has_leaderships=leads,
    )
    assert states == expected


def test_hb_04_controlled_shutdown_ends_when_the_active_brokers_have_passed_its_offset(five: BrokerHeartbeatManager) -> None:
    assert five.lowest_active_offset() == 98
    five.fence(1)
    assert five.lowest_active_offset() == 100
    states = five.next_state(5, want_fence=False, want_shut_down=True, metadata_offset=99, registration_offset=100, has_leaderships=no)
    assert states.next is SHUTDOWN_NOW


def test_hb_04_unknown_broker(five: BrokerHeartbeatManager) -> None:
    with pytest.raises(ValueError, match=r"Broker 99 is not registered\."):
        five.next_state(99, want_fence=False, want_shut_down=False, metadata_offset=0, registration_offset=0, has_leaderships=no)


def test_hb_05_controlled_shutdown_offset_is_set_once(five: BrokerHeartbeatManager) -> None:
    assert five.controlled_shutdown_offset(2) is None
    for broker, first, later in ((2, 98, 99), (3, 101, 102)):
        five.maybe_update_controlled_shutdown_offset(broker, first)
        five.maybe_update_controlled_shutdown_offset(broker, later)
        assert five.controlled_shutdown_offset(broker) == first
        assert not five.is_active(broker)
        assert five.current_state(broker) is CONTROLLED_SHUTDOWN


def test_a_controlled_shutdown_can_begin_at_offset_0(manager: BrokerHeartbeatManager) -> None:
    manager.touch(1, False, 0, 0)
    assert not manager.in_controlled_shutdown(1)
    manager.maybe_update_controlled_shutdown_offset(1, 0)
    assert manager.in_controlled_shutdown(1)
    assert (manager.controlled_shutdown_offset(1), manager.current_state(1)) == (0, CONTROLLED_SHUTDOWN)
    assert (manager.is_active(1), manager.lowest_active_offset()) == (False, None)
    manager.maybe_update_controlled_shutdown_offset(1, 7)
    assert manager.controlled_shutdown_offset(1) == 0


def test_fencing_ends_controlled_shutdown(five: BrokerHeartbeatManager) -> None:
    five.fence(5)
    assert five.current_state(5) is FENCED
    assert not five.in_controlled_shutdown(5)
    with pytest.raises(ValueError, match="Fenced brokers"):
        five.maybe_update_controlled_shutdown_offset(5, 100)


def test_a_new_registration_ends_controlled_shutdown(five: BrokerHeartbeatManager) -> None:
    five.touch(5, True, -1, 0)
    assert (five.current_state(5), five.in_controlled_shutdown(5)) == (FENCED, False)


def test_only_unfenced_brokers_have_a_session_that_ends(manager: BrokerHeartbeatManager) -> None:
    manager.touch(0, True, -1, ms(2))
    assert [manager.session_end(broker) for broker in (0, 1)] == [None, None]
    manager.touch(0, False, 0, ms(3))
    assert manager.session_end(0) == ms(13)
    manager.fence(0)
    assert manager.session_end(0) is None


def test_a_check_comes_when_the_oldest_session_has_expired_or_periodically(manager: BrokerHeartbeatManager) -> None:
    assert manager.next_check_in(0, periodic=False, fenced=False) is None
    manager.touch(0, False, 0, ms(3))
    found = [manager.next_check_in(ms(now), periodic=False, fenced=False) for now in (4, 13, 14)]
    assert found == [9_001, 1, 0], "in µs: the last microsecond of a session is valid"
    assert [manager.next_check_in(0, periodic=True, fenced=fenced) for fenced in (False, True)] == [1_250, 10_000]
    manager.session_timeout_us = 4_000
    assert manager.fencing_period == 1_000


@pytest.mark.parametrize("timeout", [0, -1])
def test_a_session_timeout_is_positive(timeout: int) -> None:
    with pytest.raises(ValueError, match=f"broker session timeout is {timeout} µs; it must be more than 0"):
        BrokerHeartbeatManager(timeout)
    assert BrokerHeartbeatManager(1).session_timeout_us == 1


def test_known_brokers_and_activity(five: BrokerHeartbeatManager) -> None:
    assert list(five) == [0, 1, 2, 3, 4, 5]
    assert [broker for broker in five if five.is_active(broker)] == [1, 2, 3]
    five.remove(3)
    assert 3 not in five
    assert not five.is_active(3)

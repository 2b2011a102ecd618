"""Acts that users type in script notation."""

from __future__ import annotations

import pytest

from core.kafka.broker.broker_state import BrokerState
from core.lab import acts
from tests.tui.app.test_playground import playing
from tui.actions.typed_act import read_act


def test_an_act_is_read_as_in_a_script() -> None:
    assert repr(read_act("kill: 2")) == repr((acts.Kill(2),))
    assert repr(read_act("kill 2")) == repr((acts.Kill(2),))
    assert repr(read_act("heal")) == repr((acts.Heal(),))
    (load,) = read_act("load: {topic: orders, rate: 100, config: {linger.ms: 20}}")
    assert isinstance(load, acts.Load)
    assert (load.rate, load.config) == (100, (("linger.ms", "20"),))
    assert len(read_act("kill: [1, 2]")) == 2


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("kil: 2", "there is no act 'kil'; did you mean 'kill'?"),
        ("wait: 2s", "there is no act 'wait'"),
        ("kill: two", "'two' is not a broker"),
        ("produce: {topic: orders, recods: 1}", "did you mean 'records'?"),
        ("produce: {topic: orders, records: 0}", "records: "),
        ("produce: {topic: orders", "not valid YAML"),
        ("kill: 2\nstart: 2", "the line has a second act, 'start'"),
    ],
)
def test_a_wrong_act_gets_one_clear_message(text: str, message: str) -> None:
    with pytest.raises(ValueError, match=r".") as caught:
        read_act(text)
    assert message in str(caught.value)
    assert "\n" not in str(caught.value)
    assert "act:1" not in str(caught.value)


async def test_a_typed_act_happens() -> None:
    async with playing() as (_, main_screen, pilot):
        await pilot.press(";")
        await pilot.pause()
        await pilot.press(*"kill: 2", "enter")
        await pilot.pause()
        assert main_screen.view.broker(2).state is BrokerState.STOPPED

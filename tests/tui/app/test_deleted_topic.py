"""Topics that are deleted while the playground shows them."""

from __future__ import annotations

import pytest

from core.kafka.release import Release
from core.kafka.topic_spec import TopicSpec
from core.lab.acts import DeleteTopic
from core.lab.spec import BrokerSpec, ClusterSpec
from core.sim.units import SECOND
from tests.tui.app.test_playground import playing, screen_text
from tui.session.play_target import PlayTarget

SCREENS = ("1", "2", "3", "5", "6", "9", "0")
"""The keys of the screens that show partitions, topics, or groups."""


@pytest.mark.parametrize("release", ["2.4", "4.3"])
async def test_every_screen_survives_the_deletion_of_the_selected_topic(release: str) -> None:
    spec = ClusterSpec(tuple(BrokerSpec(number) for number in (1, 2, 3)), (TopicSpec("first", 2, 3), TopicSpec("second", 1, 3)))
    target = PlayTarget(None, spec, Release.named(release), title="deleted")
    async with playing(target, size=(120, 40), until=2 * SECOND) as (app, main_screen, pilot):
        for key in ("down", "2"):
            await pilot.press(key)
        assert "first-" in screen_text(app)
        for topic, time in (("first", 4), ("second", 6)):
            main_screen.session.history.do(DeleteTopic(topic))
            main_screen.session.history.replay_run.advance_to(time * SECOND)
            main_screen.refresh_view()
            for key in SCREENS:
                await pilot.press(key)
                await pilot.pause()
                main_screen.refresh_view()
                await pilot.pause()
        await pilot.press("1")
        await pilot.pause()
        assert "first-0" not in screen_text(app).split("\n")[5:15]

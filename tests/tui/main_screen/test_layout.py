"""The layout: at any size and for any cluster, no panel covers another, and no panel is outside the screen."""

from __future__ import annotations

import attrs
import pytest
from hypothesis import given
from hypothesis import strategies as st
from textual.geometry import Region

from tui.main_screen.layout import Layout, SizeClass, arrange, size_class
from tui.panels.brokers import CHIP


def regions(layout: Layout) -> dict[str, Region]:
    found = {field.name: getattr(layout, field.name) for field in attrs.fields(Layout) if isinstance(getattr(layout, field.name), Region)}
    return {name: region for name, region in found.items() if region.area}


@given(
    st.integers(1, 300), st.integers(1, 120), st.integers(1, 200), st.integers(0, 10_000), st.integers(1, 9), st.booleans(),
)  # fmt: skip
def test_panels_stay_on_the_screen_and_off_each_other(
    width: int, height: int, brokers: int, partitions: int, replicas: int, scenario: bool
) -> None:
    layout = arrange(width, height, brokers=brokers, partitions=partitions, replicas=replicas, scenario=scenario)
    screen = Region(0, 0, width, height)
    placed = list(regions(layout).items())
    for number, (name, region) in enumerate(placed):
        assert region.width >= 0, name
        assert region.height >= 0, name
        assert screen.contains_region(region), (name, region)
        for other, its in placed[number + 1 :]:
            assert not region.overlaps(its), (name, region, other, its)
    assert bool(layout.scenario) == (scenario and layout.size is not SizeClass.MINIMAL)


@pytest.mark.parametrize(
    ("size", "expected"),
    [((79, 24), SizeClass.MINIMAL), ((80, 19), SizeClass.MINIMAL), ((80, 24), SizeClass.SMALL), ((120, 40), SizeClass.MEDIUM), ((200, 60), SizeClass.WIDE), ((200, 24), SizeClass.SMALL)],
)  # fmt: skip
def test_size_classes(size: tuple[int, int], expected: SizeClass) -> None:
    assert size_class(*size) is expected


def test_the_default_cluster_fits_80_by_24() -> None:
    layout = arrange(80, 24, brokers=3, partitions=9, replicas=3, scenario=False)
    assert layout.grid is not None
    assert layout.grid.height == 11, "all nine partitions are seen"
    assert layout.events is not None
    assert layout.events.height >= 4


def test_a_wide_and_tall_screen_has_the_picture_and_a_chip_for_each_of_sixty_brokers() -> None:
    few = arrange(200, 60, brokers=3, partitions=9, replicas=3, scenario=False)
    assert few.picture is not None
    assert few.picture.height >= 16
    assert few.inspector is not None
    assert few.inspector.height >= 28
    assert arrange(200, 60, brokers=3, partitions=9, replicas=3, scenario=True).picture is not None
    assert arrange(200, 44, brokers=3, partitions=9, replicas=3, scenario=False).picture is None
    many = arrange(200, 60, brokers=60, partitions=900, replicas=3, scenario=False)
    assert many.picture is None
    assert many.partition_map is not None
    assert arrange(200, 60, brokers=60, partitions=90_000, replicas=3, scenario=False).partition_map is None
    assert many.brokers is not None
    assert (many.brokers.height - 1) * (many.brokers.width // CHIP) > 60


@pytest.mark.parametrize("height", range(20, 30))
def test_scenario_and_inspector_are_both_seen_on_80_columns(height: int) -> None:
    layout = arrange(80, height, brokers=3, partitions=9, replicas=3, scenario=True)
    assert layout.inspector is not None
    assert layout.inspector.height == 2
    assert layout.scenario is not None
    assert layout.scenario.height >= 3
    assert layout.grid is not None
    assert layout.grid.height >= 4, "two partitions are seen"
    assert layout.events is not None
    assert layout.events.height >= 2
    cause = layout.with_the_cause()
    assert cause.scenario is None
    assert cause.inspector is not None
    assert cause.inspector.height >= 5

"""The frame of a chart in SVG: the probability of a loss on the vertical axis, against a time or a share of time on the horizontal axis."""

from __future__ import annotations

from html import escape
from typing import Final

import attrs

from scenarios.sweeps.output.texts import percent
from scenarios.sweeps.statistics.estimates import Estimate

WIDTH: Final = 860
HEIGHT: Final = 420
LEFT: Final = 70
RIGHT: Final = 30
TOP: Final = 20
BOTTOM: Final = 50


@attrs.frozen
class Frame:
    """The axes of a chart.

    Attributes:
        right: the value at the right end of the horizontal axis.
        top: the probability at the upper end of the vertical axis.
        width: the width of the image.
        head: the height at which the chart begins.
    """

    right: float
    top: float
    width: int = WIDTH
    head: float = TOP

    def x(self, value: float) -> float:
        """Return the horizontal coordinate of a value."""
        return round(LEFT + value / self.right * (self.width - LEFT - RIGHT), 1)

    def y(self, share: float) -> float:
        """Return the vertical coordinate of a probability."""
        return round(HEIGHT - BOTTOM - share / self.top * (HEIGHT - self.head - BOTTOM), 1)

    def upright(self, value: float, label: str, below: int) -> list[str]:
        """Return the grid line of a value, with a label at a distance below the axis."""
        at = self.x(value)
        return [
            f'<line class="grid" x1="{at}" y1="{self.y(0)}" x2="{at}" y2="{self.y(self.top)}"/>',
            f'<text class="soft" x="{at}" y="{HEIGHT - BOTTOM + below}" text-anchor="middle">{escape(label)}</text>',
        ]

    def across(self, share: float) -> list[str]:
        """Return the grid line of a probability, with its label."""
        at = self.y(share)
        return [
            f'<line class="grid" x1="{self.x(0)}" y1="{at}" x2="{self.x(self.right)}" y2="{at}"/>',
            f'<text class="soft" x="{LEFT - 8}" y="{at + 4}" text-anchor="end">{percent(share)}</text>',
        ]

    def titles(self, horizontal: str, above: int) -> list[str]:
        """Return the titles of the axes, with that of the horizontal axis at a distance above the lower edge."""
        middle = (self.head + HEIGHT - BOTTOM) / 2
        return [
            f'<text x="{(LEFT + self.width - RIGHT) / 2}" y="{HEIGHT - above}" text-anchor="middle">{horizontal}</text>',
            f'<text x="14" y="{middle}" text-anchor="middle" class="aside" transform="rotate(-90 14 {middle})">probability of a loss in a run</text>',
        ]

    def bars(self, value: Estimate, loss: Estimate) -> list[str]:
        """Return the confidence intervals of a point."""
        x, y = self.x(value.value), self.y(loss.value)
        return [
            f'<line class="bar" x1="{x}" y1="{self.y(loss.low)}" x2="{x}" y2="{self.y(loss.high)}"/>',
            f'<line class="bar" x1="{self.x(value.low)}" y1="{y}" x2="{self.x(value.high)}" y2="{y}"/>',
        ]

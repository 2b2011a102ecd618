"""The state of a link in a few words: its fault, and the messages in both directions."""

from __future__ import annotations

from typing import Final

from rich.style import Style

from tui.analysis.topology import Tie
from tui.rendering.palette import Palette

FAULTS: Final = {
    "cut": ("✕", "bad"), "held": ("‖", "warn"), "slow": ("≈", "warn"), "loss": ("◌", "warn"), "repeats": ("⇄", "warn"), "reorders": ("⇄", "warn"),
}  # fmt: skip
"""The glyph and the style of each fault of a link."""


Parts = list[tuple[str, Style]]


def link_parts(tie: Tie, node: str, paint: Palette, *, brief: bool = False) -> Parts:
    """Return the state of a link as seen from a node: its fault, and the messages in both directions. Empty if the link works and nothing
    is under way.
    """
    parts: Parts = []
    word, way, much = tie.fault_from(node)
    if word:
        glyph, role = FAULTS.get(word, ("!", "warn"))
        style: Style = getattr(paint, role)
        direction = "" if way == "↔" else f" {way}"
        size = much.split(" ")[0] if brief else much
        parts.append((f"{glyph} {size if brief and size else word}{direction}" + (f" {much}" if much and not brief else ""), style))
    out, out_stuck, back, back_stuck = tie.counts_from(node)
    for moving, stuck, arrow in ((out, out_stuck, "→"), (back, back_stuck, "←")):
        if stuck:
            parts.append((f" {arrow}{stuck}" + ("" if brief else " stuck"), paint.bad))
        if moving:
            parts.append((f" {arrow}{moving}", paint.you))
    return [(parts[0][0].lstrip(), parts[0][1]), *parts[1:]] if parts else []


def width_of(parts: Parts) -> int:
    return sum(len(text) for text, _ in parts)

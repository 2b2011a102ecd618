"""What isrlab adds to the page of textual-serve, so that keys work without a click, and phones show the panels."""

from __future__ import annotations

import re
from typing import Final

COLUMNS: Final = 80
"""The number of columns that must fit on a narrow screen, which is the least at which the playground shows its panels."""

LARGEST_FONT: Final = 16
"""The font size, in CSS pixels, on screens on which enough columns fit."""

SMALLEST_FONT: Final = 7
"""The smallest font size that the page chooses, in CSS pixels. Smaller letters cannot be read."""

_HEAD: Final = """
<link rel="icon" href="data:,">
<meta name="viewport" content="width=device-width, initial-scale=1, interactive-widget=resizes-content">
<style>html, body { margin: 0; height: 100%; overflow: hidden; } #terminal { height: 100%; }</style>
"""
"""Phones lay out a page without a viewport at the width of a desktop, and shrink it. While their keyboard is open, the terminal shrinks."""

_SCRIPT: Final = """
<script>
(() => {
  const terminal = document.getElementById("terminal");
  if (!new URLSearchParams(location.search).has("fontsize")) {
    const brush = document.createElement("canvas").getContext("2d");
    brush.font = "100px 'Roboto Mono', Monaco, 'Courier New', monospace";
    // The letters of a phone that is turned keep their size. Therefore, the shorter side of its screen decides.
    const room = Math.min(innerWidth, matchMedia("(pointer: coarse)").matches ? Math.min(screen.width, screen.height) : Infinity);
    const fits = Math.floor(10 * room / COLUMNS / (brush.measureText("0").width / 100)) / 10;
    terminal.dataset.fontSize = Math.max(SMALLEST, Math.min(LARGEST, fits));
  }
  const said = document.body.classList;
  const focus = () => {
    if (document.activeElement && document.activeElement !== document.body) return;
    const target = said.contains("-closed") ? document.querySelector(".closed-dialog button")
      : said.contains("-loaded") ? terminal.querySelector("textarea") : null;
    target?.focus();
  };
  const changed = () => {
    if (said.contains("-closed")) terminal.querySelector("textarea")?.blur();
    focus();
  };
  new MutationObserver(changed).observe(document.body, {attributes: true, attributeFilter: ["class"]});
  addEventListener("focus", focus);
  document.addEventListener("click", focus);
})();
</script>
"""
"""The script sets the font size before the terminal reads it, when the page has loaded. The terminal gets the focus when it is connected, and
when the window gets the focus, or the user clicks beside the terminal. When the session has ended, the button that starts another has it.
"""


def complete(page: str) -> str:
    """Return the page of textual-serve with its viewport, font size, and focus, and without its external font."""
    head = re.sub(r"<link[^>]*fonts\.googleapis\.com[^>]*>", _HEAD, page, count=1)
    script = _SCRIPT.replace("COLUMNS", str(COLUMNS)).replace("SMALLEST", str(SMALLEST_FONT)).replace("LARGEST", str(LARGEST_FONT))
    return head.replace("</body>", f"{script}</body>", 1)

"""Draws the screen with the replication models to an SVG file without a terminal: `python -m tui.model_comparison.screenshot OUT.svg`.

All systems run with the weaker durability settings, and the primary of each is killed after a second.
"""

from __future__ import annotations

import argparse
import asyncio
import sys
from collections.abc import Sequence
from pathlib import Path

from core.sim.units import SECOND
from scenarios.errors import InputError
from scenarios.io.output_files import write_atomically
from scenarios.io.standard_streams import print_messages
from tui.app.screenshot import without_fonts
from tui.main_screen.display_options import DisplayOptions
from tui.model_comparison.app import ModelComparison


async def draw(size: tuple[int, int], seconds: float) -> str:
    """Kill the primary in all systems, let time pass, and return the screen as SVG."""
    app = ModelComparison(display=DisplayOptions(ascii_only=False, palette="dark"))
    async with app.run_test(size=size) as pilot:
        await pilot.press("w")
        app.systems.run_until(SECOND)
        await pilot.press("k")
        app.systems.run_until(int(seconds * SECOND))
        app.look()
        await pilot.pause()
        return app.export_screenshot(title="isrlab")


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command and return the exit code."""
    parser = argparse.ArgumentParser(prog="python -m tui.model_comparison.screenshot", description="Draw the replication models as SVG.")
    parser.add_argument("out", type=Path, help="the file to write")
    parser.add_argument("--seconds", type=float, default=33.0, help="the virtual time of the picture, in seconds")
    options = parser.parse_args(arguments)
    try:
        write_atomically(options.out, without_fonts(asyncio.run(draw((120, 40), options.seconds))))
    except InputError as wrong:
        print_messages(f"tui.model_comparison.screenshot: {wrong}")
        return 2
    return 0


if __name__ == "__main__":
    sys.exit(main())

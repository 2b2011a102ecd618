"""The first line of the screen: the virtual time, the speed, and the title of the session."""

from __future__ import annotations

import math
from functools import lru_cache

import attrs
from textual.strip import Strip

from core.sim.repr_mixin import ReprMixin
from core.sim.units import format_clock, format_duration
from tui.panels.lines import Lines
from tui.rendering.palette import Palette
from tui.rendering.rows import Part, Row, clip


@attrs.frozen(repr=False)
class Clock(ReprMixin):
    """The data of a session that the header shows. `reached` is the actual speed if it is lower than the selected speed."""

    now: int
    playing: bool
    speed: float
    reached: float | None
    task_target: str | None
    release: str
    seed: int
    title: str
    ended: bool = False
    """Whether the scenario has ended."""
    progress: float | None = None
    """The completed share of the running task, from 0 to 1, or None if it is unknown."""
    task_verb: str = "searching for"
    """The verb that describes the running task."""
    branch: str = ""
    """The name of the branch; empty if there is only one branch."""
    past: int = -1
    """The virtual time, in µs, between the current moment and the end of the branch; -1 at the end."""
    events_past: int = 0
    """The number of events between the current moment and the end of the branch."""
    by_steps: bool = False
    """Whether the next step takes no virtual time."""
    coarse: bool = False
    """Whether the virtual time is shown only in tenths of a second, which suits a slow link."""
    faults: tuple[str, ...] = ()
    """Descriptions of the active faults, from the longest to the shortest."""
    by_hand: bool = False
    """Whether a cluster that ran on its own was switched to the pace `by-hand`, which pauses virtual time."""
    cancel_key: str = "Esc"
    hand_key: str = "b"
    end_key: str = "]"


def speed_word(speed: float) -> str:
    """Format a speed, for example `0.5×`, `20×`, or `max`."""
    return "max" if math.isinf(speed) else f"{speed:g}×"


def _pace(clock: Clock) -> str:
    return (
        f"{clock.speed:g} step{'' if clock.speed == 1 else 's'}/s"
        if clock.by_steps and not math.isinf(clock.speed)
        else speed_word(clock.speed)
    )


def _kept(speed: float) -> str:
    return f"{speed:,.0f}×" if speed >= 10 else f"{speed:.2g}×"


def paint_header(clock: Clock, paint: Palette, width: int) -> Strip:
    """Return the first line of the screen."""
    row = Row().add(" isrlab ", paint.brand).add(" ", paint.text)
    if clock.task_target is not None:
        row.add("►‖ ", paint.warn)
    elif clock.playing:
        row.add("►  ", paint.good)
    else:
        row.add("‖  ", paint.warn)
    row.add(format_clock(clock.now)[: -2 if clock.coarse and clock.playing else None], paint.strong).add("  ", paint.text)
    if clock.task_target is not None:
        row.add(f"{clock.task_verb} {clock.task_target}", paint.warn)
        if clock.progress is not None:
            row.add(f"  {clock.progress * 100:.0f}%", paint.strong)
        row.add(f"  {clock.cancel_key} cancels", paint.muted)
    elif clock.by_hand and not clock.playing:
        row.add("by hand", paint.warn).add(f"  {clock.hand_key} resumes", paint.muted)
    elif not clock.playing:
        row.add("paused", paint.warn).add(f"  {_pace(clock)}", paint.muted)
    else:
        row.add(_pace(clock), paint.strong)
        if clock.reached is not None:
            row.add(
                f"  runs at {_kept(clock.reached)}" if math.isinf(clock.speed) else f"  falling behind: {_kept(clock.reached)}", paint.warn
            )
    if clock.ended and not clock.playing:
        row.add("  end of the script", paint.muted)
    if clock.task_target is None and clock.past >= 0:
        far = clock.past // 1_000 * 1_000
        words = (
            format_duration(far) if far or not clock.events_past else f"{clock.events_past:,} event{'' if clock.events_past == 1 else 's'}"
        )
        row.add(f"  {words} before the end", paint.warn).add(f" {clock.end_key}", paint.key)
    if clock.branch:
        row.add(f"  ⑂ {clock.branch}", paint.strong)
    room = width - row.width - 4 - len(f"  Kafka {clock.release} ")
    faults = next((words for words in clock.faults if len(words) <= room), "")
    if faults:
        row.add("  ", paint.text).add(f"! {faults}", paint.warn)
    segments, length = _right(clock.title, clock.release, clock.seed, width - row.width, paint)
    return row.pad(max(row.width, width - length)).put(segments, length).strip(width)


@lru_cache(maxsize=64)
def _right(title: str, release: str, seed: int, room: int, paint: Palette) -> Part:
    """Return the title, the release, and the seed, shortened to fit into the given number of cells."""
    right = Row()
    tail = f"  seed {seed}"
    left = room - 4 - len(f"Kafka {release}  ")
    if len(title) > left - len(tail):
        tail = ""
    title = clip(title, max(0, left - len(tail)))
    if room >= 24:
        right.add(f"{title}  " if title else "", paint.text)
        right.add(f"Kafka {release}", paint.text).add(f"{tail} ", paint.muted)
    elif room >= len(f"  Kafka {release} "):
        right.add(f"Kafka {release} ", paint.text)
    return right.part


class Header(Lines):
    """The widget that shows the header."""

    def update(self, clock: Clock) -> None:
        """Show the given data in the header."""
        self.show([paint_header(clock, self.paint, self.box.width)])

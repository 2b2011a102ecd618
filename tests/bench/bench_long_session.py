"""Measures a long session: the memory of the playground hour by hour, and how much of the engine's speed "as fast as it can" reaches.

    python tests/bench/bench_long_session.py          # half a virtual hour
    python tests/bench/bench_long_session.py 24       # a virtual day, which takes about twenty minutes
    python tests/bench/bench_long_session.py 2 30     # two virtual hours, in which a broker is killed or started every 30 virtual seconds

The playground runs its default cluster (three brokers, 220 records per second) in a pseudo-terminal of 200×60. The engine runs the same cluster
in the same run, without a screen, history, or events. Both speeds are virtual seconds per second of CPU time, because the machine might do
other things. On a busy machine, frames take a larger share of the CPU time than on an idle one; the number of frames tells how large.
"""

from __future__ import annotations

import asyncio
import json
import math
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from bench_playground import FPS, Terminal, told

from core.kafka.release import CURRENT
from core.lab.acts import Kill, Start
from core.lab.cluster import Cluster
from core.sim.units import SECOND
from tui.session.loading import DEFAULT_ACTS, DEFAULT_SPEC, load_session
from tui.session.playback import AS_FAST_AS_IT_CAN

HOURS = 0.5
"""The virtual time of the session, in hours."""

SAMPLES = 6
"""The number of lines of the report about the memory."""

ENGINE_SECONDS = 300
"""The virtual time for which the engine runs alone, in seconds."""

LIMIT_MB = 300
"""The memory that a session of a day must not exceed, in MB."""


def resident() -> float:
    """Return the memory that this process uses now, in MB."""
    fields = Path("/proc/self/status").read_text().splitlines()
    return next(int(field.split()[1]) for field in fields if field.startswith("VmRSS")) / 1024


def playground(hours: float, fault_interval: float) -> None:
    """Run the playground as fast as it can, and send samples: virtual time in hours, memory in MB, CPU time in seconds.

    If `fault_interval`, in virtual seconds, is not 0, a broker is killed or started that often.
    """
    from tui.app.playground import Playground
    from tui.main_screen.display_options import DisplayOptions

    loaded = load_session(None, own_process=True)
    session = loaded.session
    session.playback.set_speed(AS_FAST_AS_IT_CAN)
    app = Playground(loaded, DisplayOptions(fps=FPS))
    samples: list[tuple[float, float, float]] = []
    faults = 0

    def fault() -> None:
        """Kill the next broker, or start the one that was killed last, if it is time to."""
        nonlocal faults
        if fault_interval and session.history.cluster.now >= (faults + 1) * fault_interval * SECOND:
            broker = faults // 2 % len(DEFAULT_SPEC.brokers) + 1
            session.history.do(Start(broker) if faults % 2 else Kill(broker))
            faults += 1

    async def watch() -> None:
        for number in range(SAMPLES + 1):
            while session.history.cluster.now < number / SAMPLES * hours * 3600 * SECOND:
                fault()
                await asyncio.sleep(0.05)
            samples.append((session.history.cluster.now / SECOND / 3600, resident(), time.process_time()))
        cache = session.history.keyframe_cache
        told(
            samples=samples,
            faults=faults,
            frames=app.main_screen.garbage.frames,
            keyframes=len(cache.keyframes),
            wall=time.perf_counter() - began,
        )
        app.exit(0)

    tasks = []
    began = time.perf_counter()
    app.call_later(lambda: tasks.append(asyncio.create_task(watch())))
    app.run()


def engine() -> float:
    """Return the speed of the engine alone, in virtual seconds per second of CPU time."""
    cluster = Cluster(DEFAULT_SPEC, CURRENT)
    for act in DEFAULT_ACTS:
        cluster.do(act)
    cluster.run_until(20 * SECOND)
    start = time.process_time()
    cluster.run_until((20 + ENGINE_SECONDS) * SECOND)
    return ENGINE_SECONDS / (time.process_time() - start)


def main(hours: float = HOURS, fault_interval: float = 0) -> int:
    """Run the benchmark. Return 1 if the session needs more memory than it may."""
    with tempfile.TemporaryDirectory() as directory:
        out = Path(directory) / "out"
        terminal = Terminal([__file__, "playground", str(hours), str(fault_interval)], out)
        terminal.drain()
        if not out.exists():
            raise SystemExit(f"bench: the playground ended without results: {terminal.log[-2000:].decode(errors='replace')}")
        found: dict[str, Any] = json.loads(out.read_text())
    alone = engine()
    (first, _, began), *_, (last, most, ended) = samples = found["samples"]
    for virtual, memory, cpu in samples:
        print(f"after {virtual:6.2f} virtual hours: {memory:6.1f} MB resident, {cpu:7.1f} s of CPU time")
    half = samples[len(samples) // 2]
    reached = (last - first) * 3600 / (ended - began)
    print(
        f"growth in the second half: {(most - half[1]) / max(last - half[0], 1e-9):.1f} MB per virtual hour; {found['keyframes']} keyframes; "
        f"{found['faults']:,} kills and starts"
    )
    print(
        f"as fast as it can: {reached:.0f} virtual seconds per second of CPU time, {reached / alone:.0%} of the engine alone ({alone:.0f}); "
        f"{found['frames']:,} frames in {found['wall']:,.0f} s"
    )
    return int(most > LIMIT_MB or math.isnan(reached))


if __name__ == "__main__":
    if sys.argv[1:2] == ["playground"]:
        playground(*map(float, sys.argv[2:4]))
    else:
        sys.exit(main(*map(float, sys.argv[1:3])))

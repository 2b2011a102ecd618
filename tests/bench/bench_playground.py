"""Measures the CPU time that the playground takes in a real pseudo-terminal of 200×60, and compares it with a DataTable of the same grid in
the same run.

Every measurement runs in a separate process. The time of the simulation is measured separately and left out, so the numbers show the cost
of the view: frames, painting, writing, and collecting garbage. The benchmark counts CPU time, because the machine might do other
things. For single frames, CPU time alone is not enough: on a busy virtual machine, one in a hundred repetitions of the same work takes
several times as much CPU time as usual. The first line of the report shows this effect for the present run. Therefore, the same session
is played several times. The cost of a frame is the minimum over these runs, and the report also shows the values of single runs.
"""

from __future__ import annotations

import asyncio
import fcntl
import importlib
import json
import os
import pty
import random
import resource
import select
import statistics
import struct
import subprocess
import sys
import tempfile
import termios
import time
from collections.abc import Callable, Coroutine, Sequence
from pathlib import Path
from typing import Any

COLUMNS, ROWS = 200, 60
FPS = 30
SECONDS = 6.0
"""The wall time of each measurement, except for those of frames, in seconds."""
FIRST, FRAMES = 30, 180
"""The number of frames before the measurement, and the number of measured frames."""
RUNS = 3
"""The number of times that the same frames are measured."""
ROOT = Path(__file__).parents[2]


# --- what is shown ---------------------------------------------------------------------------------------------------


def build(brokers: int, topics: int, partitions: int) -> Any:
    """Return a session with a cluster under load in which every partition has three replicas."""
    from core.kafka.release import CURRENT
    from core.kafka.topic_spec import TopicSpec
    from core.lab.acts import Load
    from core.lab.spec import BrokerSpec, ClusterSpec
    from core.sim.units import SECOND
    from tui.session.loading import load_session
    from tui.session.play_target import PlayTarget

    spec = ClusterSpec(
        brokers=tuple(BrokerSpec(i) for i in range(1, brokers + 1)),
        topics=tuple(TopicSpec(f"topic{n}", partitions=partitions, replication_factor=3) for n in range(topics)),
        settings=(("min.insync.replicas", 2),),
    )
    loaded = load_session(PlayTarget(None, spec, CURRENT, title="bench"), own_process=True)
    for n in range(topics):
        loaded.session.history.do(Load(f"topic{n}", 200, acks="all", producer=f"load{n}"))
    loaded.session.history.replay_run.advance_to(2 * SECOND)
    return loaded


SMALL, LARGE = (6, 6, 10), (100, 10, 1000)


# --- in the terminal's process ---------------------------------------------------------------------------------------


class Meter:
    """A meter of the CPU time of each frame in seconds, without the time of the simulation.

    Each frame advances the session by the virtual time of a frame that is on time, and can use as much CPU time as it needs for this.
    Therefore, frame n does the same work in every run, however busy the machine is (`moments` proves this).
    """

    def __init__(self, session: Any) -> None:
        self.frames: list[float] = []
        self.moments: list[int] = []
        self._session = session
        self._session_frame = session.playback.frame
        self._shown_since: float | None = None
        session.playback.frame = self._frame
        session.playback._budget = 1.0
        session.playback.pace_frames = lambda interval: None

    def _frame(self, wall: float) -> None:
        if self._shown_since is not None:
            self.frames.append(time.process_time() - self._shown_since)
            self.moments.append(self._session.history.replay_run.event_tap.seq)
        self._session_frame(1 / FPS)
        self._shown_since = time.process_time()


def told(**numbers: object) -> None:
    """Send numbers to the parent process."""
    Path(os.environ["BENCH_OUT"]).write_text(json.dumps(numbers))


def play(size: tuple[int, int, int], then: Callable[[Any], Coroutine[Any, Any, dict[str, object]]]) -> None:
    """Run the playground in this terminal, and start a measurement when it is ready."""
    from tui.app.playground import Playground
    from tui.main_screen.display_options import DisplayOptions

    loaded = build(*size)
    app = Playground(loaded, DisplayOptions(fps=FPS))
    if then is frames:
        app.meter = Meter(loaded.session)  # type: ignore[attr-defined]

    async def measure() -> None:
        await asyncio.sleep(1.0)
        told(**await then(app))
        app.exit(0)

    tasks = []

    def begin() -> None:
        # If this function returned the task, the application would wait for it and stop.
        tasks.append(asyncio.create_task(measure()))

    app.call_later(begin)
    app.run()


async def frames(app: Any) -> dict[str, object]:
    """Measure the CPU time of frames while the session plays at speed 1."""
    meter = app.meter
    while len(meter.frames) < FIRST + FRAMES:
        await asyncio.sleep(0.1)
    moments = meter.moments[FIRST : FIRST + FRAMES]
    return {"frames": meter.frames[FIRST : FIRST + FRAMES], "moments": moments, "events": (moments[-1] - moments[0]) * FPS / (FRAMES - 1)}


async def paused(app: Any) -> dict[str, object]:
    """Measure the CPU time while nothing moves. The bytes are counted outside this process."""
    app.main_screen.session.history.pause()
    app.main_screen.refresh_view()
    await asyncio.sleep(1.0)
    Path(os.environ["BENCH_OUT"] + ".paused").touch()
    start, wall = time.process_time(), time.perf_counter()
    await asyncio.sleep(SECONDS)
    share = (time.process_time() - start) / (time.perf_counter() - wall)
    Path(os.environ["BENCH_OUT"] + ".paused").unlink()
    # The output on exit does not count. The parent process might still be reading.
    await asyncio.sleep(0.5)
    return {"share": share}


async def repaint(app: Any) -> dict[str, object]:
    """Measure the CPU time that it takes to paint every cell again."""
    app.main_screen.session.history.pause()
    app.main_screen.refresh_view()
    await asyncio.sleep(0.5)
    took = []
    for _ in range(40):
        start = time.process_time()
        for widget in app.main_screen.walk_children():
            widget.refresh()
        await asyncio.sleep(0.05)
        took.append(time.process_time() - start)
    idle = []
    for _ in range(40):
        start = time.process_time()
        await asyncio.sleep(0.05)
        idle.append(time.process_time() - start)
    return {"repaint": [one - statistics.median(idle) for one in took]}


async def keys(app: Any) -> dict[str, object]:
    """Measure the CPU time from the arrival of a key until its effect has been written."""
    app.main_screen.session.history.pause()
    app.main_screen.refresh_view()
    await asyncio.sleep(0.5)
    Path(os.environ["BENCH_OUT"] + ".keys").touch()
    await asyncio.sleep(SECONDS)
    return {}


async def seek(app: Any) -> dict[str, object]:
    """Measure the CPU time and the wall time of going to random events of a long session, including the first frame there."""
    session = app.main_screen.session
    session.history.pause()
    while session.history.replay_run.event_tap.seq < 100_000:
        session.history.replay_run.step()
        if session.history.replay_run.steps % 512 == 0:
            session.history.keyframe_cache.maybe_add(session.history.replay_run)
    from core.lab.history.destination import Destination

    dice, cpu, wall = random.Random("bench:seek"), [], []
    for _ in range(30):
        destination = Destination("bench", seq=dice.randint(1, 100_000))
        start, began = time.process_time(), time.perf_counter()
        session.history.go_to(destination)
        while session.history.task_target is not None:
            session.playback.frame(0.03)
        cpu.append(time.process_time() - start)
        wall.append(time.perf_counter() - began)
        await asyncio.sleep(0)
    return {"cpu": cpu, "wall": wall}


async def memory(app: Any) -> dict[str, object]:
    """Return the maximum resident set size in bytes."""
    await asyncio.sleep(SECONDS)
    return {"rss": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024, "now": app.main_screen.session.history.cluster.now}


def memory_without_view(until: int) -> None:
    """Measure the memory of the same session without a view. Modules of the view that a session imports are included."""
    import tui.app.playground  # noqa: F401

    loaded = build(*SMALL)
    loaded.session.history.replay_run.advance_to(until)
    told(rss=resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024)


def memory_of_modules(*names: str) -> None:
    """Measure the memory of the modules alone."""
    for name in names:
        importlib.import_module(name)
    told(rss=resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024)


def view_memory() -> tuple[float, float]:
    """Return the additional memory of the view compared with a session without it, and of the view's modules compared with the modules of
    the laboratory, in MB. Both are differences between maximum resident set sizes."""

    def measured(*arguments: str) -> float:
        with tempfile.TemporaryDirectory() as directory:
            out = Path(directory) / "out"
            environ = {**os.environ, "BENCH_OUT": str(out), "PYTHONPATH": str(ROOT)}
            subprocess.run([sys.executable, __file__, *arguments], env=environ, cwd=ROOT, check=True)
            return float(json.loads(out.read_text())["rss"]) / 2**20

    shown = run("memory")
    beside = shown["rss"] / 2**20 - measured("memory-without-view", str(shown["now"]))
    return beside, measured("memory-of-modules", *LABORATORY, "tui.app.playground") - measured("memory-of-modules", *LABORATORY)


LABORATORY = ("core.lab.cluster", "tui.session.play_target", "scenarios.logs.log_writer")


def machine() -> None:
    """Measure the same work repeatedly, at the rate of frames."""
    took = []
    for _ in range(FRAMES):
        start = time.process_time()
        work = {number: str(number) for number in range(9_000)}
        took.append(time.process_time() - start)
        del work
        time.sleep(1 / FPS)
    told(took=took)


def table() -> None:
    """Show the same grid in a DataTable, in which each frame updates the cells that changed."""
    from textual.app import App, ComposeResult
    from textual.widgets import DataTable

    loaded = build(*SMALL)
    session = loaded.session
    meter = Meter(session)

    class Table(App[int]):
        def compose(self) -> ComposeResult:
            yield DataTable()

        def on_mount(self) -> None:
            grid = self.query_one(DataTable)
            self.columns = grid.add_columns("partition", "status", "leads", "epochs", "ISR", *(f"b{n}" for n in range(1, 7)))
            self.shown: dict[tuple[int, int], str] = {}
            for number, row in enumerate(self.rows()):
                grid.add_row(*row, key=str(number))
                self.shown.update({(number, at): text for at, text in enumerate(row)})
            self.set_interval(1 / FPS, self.frame)
            self.last = time.perf_counter()
            self.call_later(lambda: asyncio.create_task(self.end()))

        def rows(self) -> list[list[str]]:
            found = []
            for p in session.history.view().partitions:
                cells = {
                    replica.broker: f"{'★' if replica.broker == p.leader else ' '}{'█' * 8} {replica.hw}/{replica.leo}"
                    for replica in p.replica_views
                }
                found.append(
                    [str(p.tp), p.status.name, f"b{p.leader}", f"L{p.leader_epoch}", str(p.isr), *(cells.get(n, "") for n in range(1, 7))]
                )
            return found

        def frame(self) -> None:
            now = time.perf_counter()
            wall, self.last = now - self.last, now
            session.playback.frame(wall)
            grid = self.query_one(DataTable)
            for number, row in enumerate(self.rows()):
                for at, text in enumerate(row):
                    if self.shown[number, at] != text:
                        self.shown[number, at] = text
                        grid.update_cell(str(number), self.columns[at], text)

        async def end(self) -> None:
            await asyncio.sleep(1.0 + SECONDS)
            told(frames=meter.frames[10:])
            self.exit(0)

    Table().run()


CHILDREN: dict[str, Callable[[], None]] = {
    "machine": machine,
    "frames": lambda: play(SMALL, frames),
    "large": lambda: play(LARGE, frames),
    "paused": lambda: play(SMALL, paused),
    "repaint": lambda: play(SMALL, repaint),
    "keys": lambda: play(SMALL, keys),
    "seek": lambda: play((3, 1, 6), seek),
    "memory": lambda: play(SMALL, memory),
    "table": table,
}


# --- outside ---------------------------------------------------------------------------------------------------------


class Terminal:
    """A pseudo-terminal with a child process."""

    def __init__(self, arguments: Sequence[str], out: Path) -> None:
        self.master, slave = pty.openpty()
        fcntl.ioctl(slave, termios.TIOCSWINSZ, struct.pack("HHHH", ROWS, COLUMNS, 0, 0))
        environ = {**os.environ, "TERM": "xterm-256color", "COLORTERM": "truecolor", "PYTHONIOENCODING": "utf-8", "BENCH_OUT": str(out)}
        for name in ("NO_COLOR", "PYTHONDONTWRITEBYTECODE"):  # colors, and modules compiled as they are for everybody
            environ.pop(name, None)
        self.process = subprocess.Popen(
            [sys.executable, *arguments], stdin=slave, stdout=slave, stderr=slave, env={**environ, "PYTHONPATH": str(ROOT)}, cwd=ROOT
        )
        os.close(slave)
        self.log = b""

    def read(self, seconds: float) -> bytes:
        """Return the output that arrives within the given time, as soon as there is any."""
        if not select.select([self.master], [], [], seconds)[0]:
            return b""
        try:
            got = os.read(self.master, 1 << 20)
        except OSError:
            return b""
        self.log = (self.log + got)[-20_000:]
        return got

    def drain(self) -> None:
        """Read until the child process ends."""
        while self.process.poll() is None:
            self.read(0.2)
        os.close(self.master)


def run(child: str, during: Callable[[Terminal, Path], dict[str, object]] | None = None) -> dict[str, Any]:
    """Return the measurements of a child process, and those that were taken outside it in the meantime."""
    with tempfile.TemporaryDirectory() as directory:
        out = Path(directory) / "out"
        terminal = Terminal([__file__, child], out)
        more = during(terminal, out) if during is not None else {}
        terminal.drain()
        if not out.exists():
            raise SystemExit(f"bench {child}: the child process ended without results: {terminal.log[-2000:].decode(errors='replace')}")
        return {**json.loads(out.read_text()), **more}


def same_frames(child: str) -> tuple[list[float], list[float], float]:
    """Return, for the same frames in several runs, the minimum CPU seconds of each frame, the CPU seconds of all runs, and the events per
    virtual second.
    """
    runs = [run(child) for _ in range(RUNS)]
    if any(each["moments"] != runs[0]["moments"] for each in runs):
        raise SystemExit(f"bench {child}: the runs did not do the same work")
    return (
        [min(of_one) for of_one in zip(*(each["frames"] for each in runs), strict=True)],
        [one for each in runs for one in each["frames"]],
        runs[0]["events"],
    )


def of_frames(name: str, least: Sequence[float], single: Sequence[float], share: str, most: str, worst: float) -> None:
    """Print two lines about the cost of frames. `worst` is the percentile that has a limit."""
    line(
        f"{name}: view, share of a core (in single runs)",
        f"{statistics.mean(least) * FPS:.1%} ({statistics.mean(single) * FPS:.1%})",
        share,
    )
    word = "max" if worst == 1 else f"p{worst * 100:.0f}"
    line(
        f"{name}: CPU per frame p50 / {word} (in single runs)",
        " / ".join(f"{centile(least, at) * 1000:.1f} ({centile(single, at) * 1000:.1f})" for at in (0.5, worst)) + " ms", most,
    )  # fmt: skip


def count_paused(terminal: Terminal, out: Path) -> dict[str, object]:
    """Count the bytes that are written while nothing moves."""
    flag = Path(f"{out}.paused")
    while not flag.exists() and terminal.process.poll() is None:
        terminal.read(0.05)
    count = 0
    while flag.exists() and terminal.process.poll() is None:
        count += len(terminal.read(0.05))
    return {"bytes": count}


def press_keys(terminal: Terminal, out: Path) -> dict[str, object]:
    """Measure the wall time from a key to the output of the cell that the key changes (the mark of the selected row), and the CPU time of
    the child process during this time."""
    flag = Path(f"{out}.keys")
    while not flag.exists() and terminal.process.poll() is None:
        terminal.read(0.05)
    walls, cpus = [], []
    for number in range(24):
        while terminal.read(0.1):
            pass
        before, start = cpu_of(terminal.process.pid), time.perf_counter()
        os.write(terminal.master, b"\x1b[A" if number % 2 else b"\x1b[B")
        got = b""
        while "►".encode() not in got and time.perf_counter() - start < 1.0:
            got += terminal.read(1.0)
        walls.append(time.perf_counter() - start)
        while terminal.read(0.05):
            pass
        cpus.append(cpu_of(terminal.process.pid) - before)
    return {"walls": walls, "cpus": cpus}


def cpu_of(pid: int) -> float:
    """Return the CPU seconds that a process has used so far."""
    try:
        fields = Path(f"/proc/{pid}/schedstat").read_text().split()
        return int(fields[0]) / 1e9
    except OSError:
        return 0.0


def first_frame() -> tuple[list[float], list[float]]:
    """Measure the wall time and the CPU time in seconds from the start of `isrlab play` until its grid is first painted."""
    walls, cpus = [], []
    code = "import sys; from tui.cli import main; sys.exit(main(sys.argv[1:]))"
    for _ in range(5):
        start = time.perf_counter()
        terminal = Terminal(["-c", code, "play"], Path(os.devnull))
        got = b""
        while b"Partitions" not in got and terminal.process.poll() is None:
            got += terminal.read(0.05)
        walls.append(time.perf_counter() - start)
        cpus.append(cpu_of(terminal.process.pid))
        os.write(terminal.master, b"q")
        terminal.drain()
    return walls, cpus


def centile(numbers: Sequence[float], share: float) -> float:
    """Return a percentile by the nearest rank."""
    return sorted(numbers)[min(len(numbers) - 1, int(len(numbers) * share))]


def line(what: str, got: str, wanted: str) -> None:
    """Print one line of the report."""
    print(f"{what:<86} {got:>28}   {f'wanted {wanted}' if wanted else ''}".rstrip(), flush=True)


def main() -> None:
    """Run all measurements."""
    ms = 1000.0
    took = run("machine")["took"]
    of_machine = " / ".join(f"{centile(took, at) * ms:.1f}" for at in (0, 0.5, 0.99, 1))
    line("this machine now: CPU time of the same work, min / p50 / p99 / max", f"{of_machine} ms", "")
    least, single, events = same_frames("frames")
    grid = run("table")
    of_frames(f"60 partitions × 3, {events:,.0f} events/s, {FPS} fps", least, single, "≤ 10 %", "p99 ≤ 6 ms", 0.99)
    line("the same grid in a DataTable: CPU per frame p50", f"{centile(grid['frames'], 0.5) * ms:.1f} ms", "")
    line("ratio of the two, single runs", f"{centile(grid['frames'], 0.5) / centile(single, 0.5):.1f}×", "≥ 10×")
    least, single, events = same_frames("large")
    of_frames(f"10,000 partitions, 100 brokers, {events:,.0f} events/s", least, single, "≤ 15 %", "max ≤ 33 ms", 1)
    still = run("paused", count_paused)
    line("paused: bytes written / share of a core", f"{still['bytes']} / {still['share']:.2%}", "0 / ≤ 0.5 %")
    line("full repaint p50, CPU", f"{centile(run('repaint')['repaint'], 0.5) * ms:.1f} ms", "≤ 5 ms")
    pressed = run("keys", press_keys)
    line(
        "key to paint p50: wall / CPU",
        f"{centile(pressed['walls'], 0.5) * ms:.0f} / {centile(pressed['cpus'], 0.5) * ms:.1f} ms",
        "≤ 33 ms",
    )
    sought = run("seek")
    line("seek in 100,000 events p50 / max, CPU", f"{centile(sought['cpu'], 0.5) * ms:.0f} / {max(sought['cpu']) * ms:.0f} ms", "≤ 50 ms")
    walls, cpus = first_frame()
    line("first frame after the start: least wall / CPU", f"{min(walls):.2f} / {min(cpus):.2f} s", "≤ 0.6 s")
    beside, modules = view_memory()
    line(
        "memory of the view: largest resident set beside a session without it, and modules",
        f"{beside:.0f} + {modules:.0f} MB",
        "≤ 60 MB",
    )


if __name__ == "__main__":
    if len(sys.argv) > 2 and sys.argv[1] == "memory-without-view":
        memory_without_view(int(sys.argv[2]))
    elif len(sys.argv) > 2 and sys.argv[1] == "memory-of-modules":
        memory_of_modules(*sys.argv[2:])
    elif len(sys.argv) > 1 and sys.argv[1] in CHILDREN:
        CHILDREN[sys.argv[1]]()
    else:
        main()

"""Writes a crash report: saves the session as a script and describes how to resume."""

from __future__ import annotations

import contextlib
import os
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tui.session.loading import LoadedSession


def write_crash_report(loaded: LoadedSession, traceback: str) -> list[str]:
    """Save the session and the traceback, and return the lines of a message for the user. This function never raises an exception."""
    what = traceback.strip().splitlines()[-1][:200] if traceback.strip() else "an error without a description"
    lines = [f"the playground failed: {what}"]
    with contextlib.suppress(Exception):
        loaded.session.history.close()
    base = _free_name(loaded)
    if base is None:
        return [*lines, f"the session is not saved: neither {Path.cwd()} nor {tempfile.gettempdir()} is writable"]
    script, trace = base.with_name(f"{base.name}.yaml"), base.with_name(f"{base.name}.traceback.txt")
    if _write(script, lambda: _script(loaded, script)):
        lines.append(f"the session is saved as {script}; to open it again, run 'isrlab play {script}'")
    else:
        lines.append("the session could not be saved as a script")
    if loaded.log is not None:
        lines.append(f"the event log is {loaded.log}; to open it where it ended, run 'isrlab play {loaded.log}'")
    if _write(trace, lambda: traceback):
        lines.append(f"the traceback is in {trace}; please report it")
    return lines


def _script(loaded: LoadedSession, path: Path) -> str:
    """Return the whole session as a script. If the session cannot be saved up to its end, return a script that ends with the last act."""
    from scenarios.logs.recorded_session import session_script
    from tui.session.loading import script_name

    name = script_name(path)
    try:
        return loaded.script(name)
    except Exception:
        acts = loaded.session.history.branch.timed_acts()
        return session_script(loaded.spec, loaded.release, loaded.seed, acts, acts[-1][0] if acts else 0, name=name)


def _free_name(loaded: LoadedSession) -> Path | None:
    """Return an unused path without an extension, or None if no directory is writable.

    The path is in the directory of the session's own file or, if the session has no file, in the working directory. If that directory is
    not writable, the path is in the directory for temporary files.
    """
    own = loaded.record or loaded.log
    stem = "isrlab-session" if own is None else own.name.split(".jsonl")[0].removesuffix(".yaml")
    for directory in (Path() if own is None else own.parent, Path(tempfile.gettempdir())):
        if not os.access(directory, os.W_OK):
            continue
        for number in range(1, 1_000):
            base = directory / f"{stem}-failed-{number}"
            if not any(base.with_name(base.name + ending).exists() for ending in (".yaml", ".traceback.txt")):
                return base
    return None


def _write(path: Path, text: Callable[[], str]) -> bool:
    """Write a complete file or no file at all. Return whether the file was written."""
    partial = path.with_name(f".partial-{path.name}")
    try:
        partial.write_text(text(), encoding="utf-8")
        partial.replace(path)
    except Exception:
        with contextlib.suppress(OSError):
            partial.unlink(missing_ok=True)
        return False
    return True

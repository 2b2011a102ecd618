"""Acts on dedicated controllers."""

from __future__ import annotations

import attrs

from core.lab.acts.act import Act


@attrs.frozen(eq=False, repr=False)
class KillController(Act, word="kill-controller", does="kill a dedicated controller (kill -9)"):
    """Kill the process of a dedicated controller. The controller's log and vote stay on disk. A combined controller is killed with its
    broker (`kill`).
    """

    node: str


@attrs.frozen(eq=False, repr=False)
class StartController(Act, word="start-controller", does="start a killed controller"):
    """Start the process of a dedicated controller again."""

    node: str


@attrs.frozen(eq=False, repr=False)
class PauseController(Act, word="pause-controller", does="pause a dedicated controller, as a long GC pause would"):
    """Pause a dedicated controller. After a paused controller resumes, it keeps its old state until it learns of a newer epoch."""

    node: str


@attrs.frozen(eq=False, repr=False)
class ResumeController(Act, word="resume-controller", does="resume a paused controller"):
    """Resume a paused controller."""

    node: str

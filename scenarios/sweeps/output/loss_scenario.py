"""Writes an episode of a run as a scenario. When the scenario is run, it reproduces exactly the loss that the sweep counted."""

from __future__ import annotations

from typing import Any

from core.lab.acts import Act
from core.sim.units import format_duration
from scenarios.language.acts import act_as_data
from scenarios.language.cluster import cluster_as_data, write_yaml
from scenarios.language.values import write_duration
from scenarios.sweeps.grid.grid import Cell, Grid
from scenarios.sweeps.simulation.episodes import episodes_of
from scenarios.sweeps.simulation.simulate_episode import EpisodeResult, simulate_episode


def losing_episode(grid: Grid, cell: Cell, seed: int) -> EpisodeResult | None:
    """Return the first episode of a run in which acknowledged records were lost or, if there is none, the first episode of the run.

    Return None if the run has no episodes.
    """
    first: EpisodeResult | None = None
    for episode in episodes_of(grid, cell, seed):
        played = simulate_episode(grid, cell, episode)
        if played.lost_acknowledged:
            return played
        first = first or played
    return first


def script_of(grid: Grid, cell: Cell, seed: int, played: EpisodeResult) -> str:
    """Return the scenario of a simulated episode."""
    episode = played.episode
    outcome = (
        f"{played.lost_acknowledged:,} acknowledged records are lost" if played.lost_acknowledged else "no acknowledged record is lost"
    )
    when = f"episode {episode.number}, {format_duration(episode.start)} into" if grid.around else "the whole of"
    about = f"{outcome[0].upper()}{outcome[1:]}: {when} seed {seed} of sweep {grid.name}, cell {cell.number} ({cell.name})."
    steps: list[dict[str, Any]] = [_step(time, act) for time, act in played.acts]
    steps.append(
        {
            "at": write_duration(played.end),
            "expect": {"lost": played.lost, "lost-acknowledged": played.lost_acknowledged, "lost-read": played.lost_read},
        }
    )
    return write_yaml(
        {
            "scenario": f"{grid.name}-cell-{cell.number}-seed-{seed}",
            "about": about,
            "releases": [cell.release.name],
            "seed": episode.seed,
            "cluster": cluster_as_data(cell.spec),
            "timeline": steps,
        }
    )


def _step(time: int, act: Act) -> dict[str, Any]:
    return {"at": write_duration(time), act.word: act_as_data(act)}

"""Writes an episode of a run as a scenario. When the scenario is run, it reproduces exactly the loss that the sweep counted."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Final

from core.lab.acts import Act
from core.sim.units import format_duration
from scenarios.io.output_files import write_atomically
from scenarios.language.acts import act_as_data
from scenarios.language.cluster import cluster_as_data, write_yaml
from scenarios.language.values import write_duration
from scenarios.sweeps.grid.grid import Grid
from scenarios.sweeps.simulation.kafka.cell import KafkaCell
from scenarios.sweeps.simulation.kafka.episodes import Episode, episodes_of
from scenarios.sweeps.simulation.kafka.rare_windows import draw_strata
from scenarios.sweeps.simulation.kafka.simulate_episode import EpisodeResult, simulate_episode
from scenarios.sweeps.statistics.cell_results import SweepResult

SCENARIOS: Final = 5
"""The maximum number of runs of a cell that are written as scenarios."""


def losing_episode(grid: Grid[KafkaCell], cell: KafkaCell, seed: int) -> EpisodeResult | None:
    """Return the first episode of a run in which acknowledged records were lost or, if there is none, the first episode of the run.

    Return None if the run has no episodes.
    """
    first: EpisodeResult | None = None
    episodes = episodes_of(grid, cell, seed) if cell.rare is None else _windows_of(grid, cell, seed)
    for episode in episodes:
        played = simulate_episode(cell, episode)
        if played.lost_acknowledged:
            return played
        first = first or played
    return first


def _windows_of(grid: Grid[KafkaCell], cell: KafkaCell, seed: int) -> list[Episode]:
    return [drawn.episode for drawn in draw_strata(grid, cell, seed) if drawn.episode is not None]


def replay_of(outcome: SweepResult[KafkaCell]) -> str:
    """Return how to replay the first loss of a sweep."""
    first = next(cell for cell in outcome.cells if cell.losing)
    return (
        f"To replay a loss: isrlab sweep {outcome.grid.source} --cell {first.cell.number} --seed {first.losing[0]} --scenario loss.yaml; "
        "isrlab play loss.yaml"
    )


def script_of(grid: Grid[KafkaCell], cell: KafkaCell, seed: int, played: EpisodeResult) -> str:
    """Return the scenario of a simulated episode."""
    episode = played.episode
    outcome = (
        f"{played.lost_acknowledged:,} acknowledged records are lost" if played.lost_acknowledged else "no acknowledged record is lost"
    )
    if cell.rare is not None:
        when = f"a window with {episode.number} nodes faulty at once, of"
    else:
        when = f"episode {episode.number}, {format_duration(episode.start)} into" if cell.around else "the whole of"
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


def write_scenarios(directory: Path, outcome: SweepResult[KafkaCell]) -> int:
    """For each cell, write the first seeds that lost acknowledged records as scenarios. Return the number of scenarios."""
    wanted = [(cell.cell, seed) for cell in outcome.cells for seed in cell.losing[:SCENARIOS]]
    if not wanted:
        return 0
    directory.mkdir(exist_ok=True)
    for cell, seed in wanted:
        path = directory / f"cell-{cell.number}-seed-{seed}.yaml"
        if not path.exists():
            played = losing_episode(outcome.grid, cell, seed)
            assert played is not None
            write_atomically(path, script_of(outcome.grid, cell, seed, played))
    return len(wanted)

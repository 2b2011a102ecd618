"""The presentations by experiment."""

from __future__ import annotations

from typing import Any, Final

from scenarios.sweeps.grid.grid import Grid
from scenarios.sweeps.output.kafka.presentation import KAFKA_PRESENTATION
from scenarios.sweeps.output.kafka.rare_presentation import RARE_PRESENTATION
from scenarios.sweeps.output.models.presentation import MODEL_PRESENTATION
from scenarios.sweeps.output.presentation import Presentation
from scenarios.sweeps.simulation.kafka.experiment import KafkaRun
from scenarios.sweeps.simulation.kafka.rare_experiment import RareRun
from scenarios.sweeps.simulation.models.experiment import ModelRun

_PRESENTATIONS: Final[dict[type, Presentation[Any]]] = {
    KafkaRun: KAFKA_PRESENTATION,
    RareRun: RARE_PRESENTATION,
    ModelRun: MODEL_PRESENTATION,
}


def presentation_of(grid: Grid) -> Presentation[Any]:
    """Return the presentation for the results of a grid."""
    return _PRESENTATIONS[grid.experiment.run_type]

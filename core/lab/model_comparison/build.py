"""A function that builds a system of any model from its settings."""

from __future__ import annotations

from typing import Final

from core.lab.model_comparison.kafka_system import KafkaSettings, KafkaSystem
from core.lab.model_comparison.systems import Compared
from core.models.elasticsearch.settings import ElasticsearchSettings
from core.models.elasticsearch.system import Elasticsearch
from core.models.mysql.settings import MySQLSettings
from core.models.mysql.system import MySQL
from core.models.quorum.settings import QuorumSettings
from core.models.quorum.system import Quorum
from core.sim.journal import Sink

ModelSettings = KafkaSettings | MySQLSettings | ElasticsearchSettings | QuorumSettings
"""The settings of a model."""

SETTINGS: Final[dict[str, type[ModelSettings]]] = {
    "kafka": KafkaSettings, "mysql": MySQLSettings, "elasticsearch": ElasticsearchSettings, "quorum": QuorumSettings,
}  # fmt: skip
"""The settings of each model."""


def build(settings: ModelSettings, seed: int, sink: Sink) -> Compared:
    """Build a system in a steady state."""
    match settings:
        case KafkaSettings():
            return KafkaSystem(settings, seed, sink)
        case MySQLSettings():
            return MySQL(settings, seed, sink)
        case ElasticsearchSettings():
            return Elasticsearch(settings, seed, sink)
        case QuorumSettings():
            system = Quorum(settings, seed, sink)
            if settings.automatic:
                system.elect_first()
            return system

"""Which producer IDs stand for each other: which transactional.id gets which producer ID is no evidence."""

from __future__ import annotations

import attrs


@attrs.define
class ProducerIds:
    """Which producer ID of the model stands for which recorded one."""

    models: dict[int, int] = attrs.field(factory=dict)

    def in_the_model(self, recorded: int, candidate: int) -> int:
        """The model's ID for a recorded one; the candidate if the recorded one is new."""
        if recorded < 0:
            return recorded
        if recorded not in self.models and candidate not in self.models.values():
            self.models[recorded] = candidate
        return self.models.get(recorded, -recorded)

    def known(self, recorded: int) -> int:
        """The model's ID for a recorded one that has been seen; the recorded one, negative, if it has not been seen."""
        return recorded if recorded < 0 else self.models.get(recorded, -recorded)

"""The correspondence between recorded producer IDs and those of the model. Which transactional.id gets which producer ID does not count."""

from __future__ import annotations

import attrs


@attrs.define
class ProducerIds:
    """A mapping from recorded producer IDs to those of the model."""

    models: dict[int, int] = attrs.field(factory=dict)

    def in_the_model(self, recorded: int, candidate: int) -> int:
        """Return the model's ID for a recorded one, or the candidate if the recorded one is new."""
        if recorded < 0:
            return recorded
        if recorded not in self.models and candidate not in self.models.values():
            self.models[recorded] = candidate
        return self.models.get(recorded, -recorded)

    def known(self, recorded: int) -> int:
        """Return the model's ID for a recorded one that has been seen; otherwise, return the recorded one as a negative number."""
        return recorded if recorded < 0 else self.models.get(recorded, -recorded)

"""Member IDs in the same format as Kafka's random IDs (`Uuid#randomUuid`)."""

from __future__ import annotations

import base64
import hashlib


def new_member_id(seed: str) -> str:
    """Return an ID that is derived from a string. As in Kafka, the ID does not begin with a dash."""
    digest = hashlib.sha256(seed.encode("utf-8", "surrogatepass")).digest()
    found = base64.urlsafe_b64encode(digest[:16]).decode().rstrip("=")
    return new_member_id(found) if found.startswith("-") else found

"""The replicated system: Kafka's replication protocol as deterministic state machines.

This package uses only Python and attrs: it has no I/O, no wall clock, and no user interface. Nodes (brokers, the controller, clients)
communicate only by sending messages through `core.sim.network`. The journal records every change as an event (`core.kafka.events`). User
interfaces read frozen snapshots of the state from `core.lab.views.cluster_view`.
"""


def is_compiled() -> bool:
    """Return whether `compile_core.py` has compiled the performance-critical modules to extension modules."""
    from core.sim import journal

    return not str(journal.__file__).endswith(".py")

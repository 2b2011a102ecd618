"""The replicated system: Kafka's replication protocol as deterministic state machines.

Pure Python and attrs: no I/O, no wall clock, no user interface. Nodes (brokers, the controller, clients) only talk by
messages through `core.sim.network`; every change is an event (`core.kafka.events`) in the journal; whoever shows the state reads frozen
snapshots from `core.lab.views.view`.
"""


def is_compiled() -> bool:
    """Whether the hot modules are extension modules, built by `compile_core.py`."""
    from core.sim import journal

    return not str(journal.__file__).endswith(".py")

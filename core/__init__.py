"""The replicated system: Kafka's replication protocol as deterministic state machines.

Pure Python and attrs: no I/O, no wall clock, no user interface. Nodes (brokers, the controller, clients) only talk by
messages through `core.sim.network`; every change is an event in `core.journal`; whoever shows the state reads frozen
snapshots from `core.view`.
"""

"""Kafka's replication protocol: releases, settings, messages, events, logs, brokers, controllers, ZooKeeper, and clients.

Each node is a deterministic state machine (`core.sim.node`), which exchanges messages with other nodes only through the network.
"""

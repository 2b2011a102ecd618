"""Kafka's replication protocol: releases, settings, messages, events, the log, brokers, controllers, ZooKeeper, and clients.

Each node is a deterministic state machine (`core.sim.node`) that talks to the others only by messages through the network.
"""

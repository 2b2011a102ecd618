"""Assignors: pure functions that assign the partitions of topics to the members of a consumer group.

In groups that use the classic protocol, the leader runs `range_assignor`, `round_robin`, or an assignor in `sticky`. In groups that use the
consumer protocol (KIP-848), the coordinator runs an assignor in `server`.
"""

"""Assignors: pure functions from the members of a consumer group and the partitions of their topics to an assignment.

`range_assignor`, `round_robin`, and the assignors in `sticky` run at the leader of a group of the classic protocol. Those in `server` run at the
coordinator of a group of the consumer protocol (KIP-848).
"""

"""Frozen views of a running cluster.

The classes are in `view`, `partition_detail`, and `durability_report`. The modules `view_builder`, `incremental_view`, and
`partition_detail_builder` build them.
"""

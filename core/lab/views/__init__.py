"""Frozen views of a running cluster.

The classes are in `cluster_view` and in the modules of its parts. The modules `view_builder` and `incremental_view` build the views.
"""

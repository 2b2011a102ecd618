"""Frozen views of a running cluster: what they hold (`view`, `detail`), and how they are taken (`observe`, `glance`, `details`)."""

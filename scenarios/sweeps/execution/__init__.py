"""Executes the runs of a sweep in rounds, on worker processes or on Spark, with a checkpoint directory."""

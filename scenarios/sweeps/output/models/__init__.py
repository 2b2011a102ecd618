"""The results of sweeps over replication models."""

"""The readings of conditions: values that are taken from a frozen view of the cluster and from the recorded events."""

"""Questions that people ask about a cluster, and their answers: exact where a rule decides, else from a run of a copy of the cluster."""
